"""The model (5): networks and their round-off, selections, bounds on the softmax, gauge."""

import flint
import pytest
import torch

from repro.jiang2024 import encodings, gauge, model, networks, softmax
from repro.numerics.exact import rational, rationals, vector
from repro.numerics.logarithms import Log


def uniform(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


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
