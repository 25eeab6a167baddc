"""The model (5): networks and their round-off, selections, bounds on the softmax, gauge."""

import flint
import numpy as np
import pytest
import torch

from repro.jiang2024 import encodings, gauge, model, networks, softmax
from repro.numerics.exact import rational, rationals, vector
from repro.numerics.logarithms import Log


def uniform(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


UNIT = 2.0**-53
q, arb = flint.fmpq, flint.arb


@pytest.mark.parametrize("kind", ["exact", "float"])
def test_the_hard_maximum_shares_its_weight(kind):
    """Ties are exact: 2 log 2 = log 4; 0 is log 1."""
    logs = vector([Log(4), 2 * Log(2), q(0), Log(3), q(0), Log(q(1, 2))]).reshape(2, 3)
    floats = torch.tensor([[1.0, 1.0, 0.0], [2.0, -1.0, 0.0]])
    logits, half = (logs, q(1, 2)) if kind == "exact" else (floats, 0.5)
    found = model.hard_max(logits)
    assert found.tolist() == [[half, half, 0], [1, 0, 0]]


def test_encodings_and_networks_by_hand():
    for x in (rationals([[1, 2], [3, 4]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])):
        assert encodings.appended(x).tolist() == [[1, 2, 1], [3, 4, 2]]
    assert encodings.rooms(torch.tensor([[2.0, 9.0], [2.7, 9.0], [5.0, 9.0]])).tolist() == [1, 1, 2]
    net = networks.FeedForward(*map(rationals, ([[1, -2], [3, 0]], [1, -5], [[2, -1]], [7])))
    assert net(rationals([[1, 1], [4, 0]])).tolist() == [[2 * 0 - 0 + 7], [2 * 5 - 7 + 7]]


def affine_error(x, e, W, b):
    """Of W x + b: |W| e + (k + 1) u (|W| |x| + |b|), for one token, entry by entry."""
    return [
        sum(abs(w) * e_j for w, e_j in zip(row, e, strict=True))
        + (len(x) + 1) * UNIT * (sum(abs(w * v) for w, v in zip(row, x, strict=True)) + abs(b_i))
        for row, b_i in zip(W, b, strict=True)
    ]


def test_round_off_is_the_bound_of_the_text_entry_by_entry():
    """All sizes differ: d = 1, n = 3, m_h = 2, d_v = 4, tau = 5, six neurons; W_Q has two units
    more, being of logarithms. Some logit that is not the largest is off by most."""
    rng, (d, n, m_h, d_v, tau, width) = np.random.default_rng(6), (1, 3, 2, 4, 5, 6)
    sizes = [(width, d), (width,), (n, width), (n,), (m_h, n), (m_h, n), (d_v, n)]
    sizes += [(width, d_v), (width,), (1, width), (1,)]
    arrays = [rng.normal(size=size) for size in sizes]
    A, a, B, b, W_Q, W_K, W_V, C, c, D, e = arrays
    x = rng.normal(size=(tau, d))
    hidden = np.maximum(x @ A.T + a, 0)
    h = hidden @ B.T + b
    pairs = zip(x, hidden, strict=True)
    e_h = [affine_error(z, affine_error(token, [0] * d, A, a), B, b) for token, z in pairs]
    (Q, e_Q), (K, e_K), (V, e_V) = (
        (h @ W.T, e_h @ abs(W).T + (n + more) * UNIT * abs(h) @ abs(W).T)
        for W, more in ((W_Q, 2), (W_K, 0), (W_V, 0))
    )
    expected = []
    for t in range(tau):
        logits = K @ Q[t]
        off = [
            abs(Q[t]) @ e_K[s] + e_Q[t] @ abs(K[s]) + m_h * UNIT * abs(Q[t]) @ abs(K[s])
            + UNIT * (max(logits) - logits[s]) + 2 * UNIT
            for s in range(tau)
        ]  # fmt: skip
        weights = np.exp(logits) / np.exp(logits).sum()
        moved = max(off) / 2 * (V.max(0) - V.min(0))
        e_mean = moved + weights @ e_V + 2 * tau * UNIT * weights @ abs(V)
        inner = np.maximum(C @ (weights @ V) + c, 0)
        expected += affine_error(inner, affine_error(weights @ V, e_mean, C, c), D, e)
    A, a, B, b, W_Q, W_K, W_V, C, c, D, e = map(torch.tensor, arrays)
    first, last = networks.FeedForward(A, a, B, b), networks.FeedForward(C, c, D, e)
    found = networks.Networks(first, W_Q, W_K, W_V, last).roundoff(torch.tensor(x))
    expected = [1.01 * value for value in expected]
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=0)
    assert (first.neurons, last.neurons) == (6, 6)


def test_bounds_of_many_sequences_at_once():
    values, delta = uniform(4, 6, 2), uniform(4, 6)
    D = [float(max((a - b).norm() for a in row for b in row)) for row in values]
    omega = [float(max(row) - min(row)) for row in delta]
    expected = [d * w / 4 for d, w in zip(D, omega, strict=True)]
    assert softmax.bounds(values, delta)["D ω/4"].tolist() == pytest.approx(expected, rel=1e-12)


def test_a_move_is_the_same_in_every_arithmetic():
    logits, delta, values = softmax.extremal(Log(2))
    assert softmax.moved(logits, delta, values) == [q(3, 5)]
    first, second = (torch.tensor([float(v) for v in part]).double() for part in (logits, delta))
    moved = softmax.moved(first, second, torch.tensor([[0.0], [1.0]]).double())
    assert float(moved[0]) == pytest.approx(0.6)
    ball = softmax.moved(*softmax.extremal(arb(2).log()))[0]
    assert ball.overlaps(arb(rational("3/5")))


def test_a_gauge_divides_and_shows_by_how_much():
    """f' = (f/g, 1/g), which is at most 1 for g >= 1."""
    H = model.Target(lambda z: z[..., 0], lambda x: x, lambda u, v: 0 * u * v.T)
    moved = gauge.gauged(H, lambda x: 1 + 4 * x[..., 0])
    x = rationals([["1/2"], [0]])
    assert moved.f(x).tolist() == [[rational("1/6"), rational("1/3")], [0, 1]]
    assert moved(x).tolist() == H(x).tolist() == [rational("1/4")] * 2


def test_recovering_a_coupling():
    """Weights (1/4, 3/4) of 0 and 2: the average is 3/2, the odds are 3; e^D = 4, tau = 3: w = 2/3."""
    for average, low, high, tau, odds in (
        ("3/2", 0, 2, 2, 3),
        ("1/2", 0, 2, 4, 1),
        ("7/3", 1, 3, 3, 4),
    ):
        assert gauge.recovered(rational(average), rational(low), rational(high), tau) == odds
