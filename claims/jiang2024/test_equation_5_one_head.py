"""Equations (5)-(6) (jiang2024, Section 3): the Transformer with one layer and one head.

h^(s) = f^(x(s)), and H^_t(x) = F^( sum_s sigma[(W_Q h^(t)) . W_K h^(.)](s) W_V h^(s) ), with two
feed-forward networks f^ : R^d -> R^n and F^ : R^{d_v} -> R, W_Q, W_K in R^{m_h x n}, W_V in
R^{d_v x n}, sigma the softmax; no residual, no normalisation.

Checked: the forward pass of repro/jiang2024/model.py, with random ReLU networks, equals the
displayed formula, written out number by number in rationals; also for the hard maximum of Appendix
B.1, and a model is evaluated by hand. In float64, batched, the outputs differ by no more than a
derived round-off, which is written out as well.

Not checked: feed-forward networks with other activations; model.py takes any functions.

Readings: W_o is declared and never used, so we leave it out. m_v and d_v are one number.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error
from repro.jiang2024 import model, networks
from repro.numerics import exact, logarithms

UNIT = 2.0**-53


def listed(array) -> Any:
    """Nested lists of fractions; a logarithm is given by what it is the logarithm of."""
    return [listed(v) if np.ndim(v) else Fraction(str(getattr(v, "of", v))) for v in array]


def times(W, x, b=None):
    offsets = [0] * len(W) if b is None else listed(b)
    rows = zip(listed(W), offsets, strict=True)
    return [sum((w * a for w, a in zip(row, x, strict=True)), start=c) for row, c in rows]


def network(net, x):
    hidden = [max(a, 0) for a in times(net.W_1, x, net.b_1)]
    return times(net.W_2, hidden, net.b_2)


def exponential(net, h_t, h_s):
    """e^{(W_Q h(t)) . W_K h(s)}, W_Q being of logarithms log r: a product of powers of these r."""
    out = Fraction(1)
    for row, k in zip(listed(net.W_Q), times(net.W_K, h_s), strict=True):
        for r, h in zip(row, h_t, strict=True):
            out *= r ** int(h * k)
    return out


def displayed(net, xs, broken=""):
    """(5), for t = 1, ..., tau; or what a reader might take for it."""
    h = [network(net.f, x) for x in listed(xs)]
    out = []
    for h_t in h:
        pairs = [(s, h_t) if broken == "queries for keys" else (h_t, s) for s in h]
        e = [exponential(net, *pair) for pair in pairs]
        if broken == "hard maximum":
            e = [Fraction(value == max(e)) for value in e]
        total = 1 if broken == "no denominator" else sum(e)
        values = zip(*(times(net.W_V, h_s) for h_s in h), strict=True)
        average = [sum(w * v for w, v in zip(e, c, strict=True)) / total for c in values]
        if broken == "a residual":
            average = [a + v for a, v in zip(average, times(net.W_V, h_t), strict=True)]
        out.append(network(net.F, average)[0])
    return exact.rationals(out)


small = st.integers(1, 3)
seeds = st.integers(0, 2**32 - 1)
cases = st.tuples(seeds, small, small, small, small, st.integers(1, 4))


def drawn(case):
    seed, d, n, m_h, d_v, tau = case
    rng = np.random.default_rng(seed)
    net = networks.drawn(rng, d, n, m_h, d_v)
    return net, networks.tokens(rng, tau, d)


@pytest.mark.exact
def test_the_forward_pass_is_the_displayed_formula(claim):
    def wrong(case):
        net, xs = drawn(case)
        return int((net.transformer()(xs) != displayed(net, xs)).sum())

    examples = claim.at_scale(smoke=15, laptop=120, paper=4000)
    claim.for_all("wrong outputs", cases, wrong, equation="(5)", examples=examples)


@pytest.mark.exact
def test_the_hard_maximum_takes_the_place_of_the_softmax(claim):
    """All weight on the largest e^{(W_Q h(t)) . W_K h(s)}, in equal parts at ties."""

    def wrong(case):
        net, xs = drawn(case)
        ours = net.transformer(model.hard_max)(xs)
        return int((ours != displayed(net, xs, "hard maximum")).sum())

    examples = claim.at_scale(smoke=15, laptop=120, paper=4000)
    claim.for_all("wrong outputs", cases, wrong, equation="(5), σ_H of B.1", examples=examples)


def identity(n):
    one, zero = exact.rationals(np.eye(n, dtype=int)), exact.rational_zeros(n)
    return networks.FeedForward(one, zero, one, zero)


def small_model():
    """Logits log 2 times x_1(t) x_2(s), values x_1 + x_2; networks that change no positive
    number."""
    W_Q = np.array([[logarithms.Log(2), logarithms.Log(1)]], dtype=object)
    W_K, W_V = exact.rationals([[0, 1]]), exact.rationals([[1, 1]])
    net = networks.Networks(identity(2), W_Q, W_K, W_V, identity(1))
    return net, exact.rationals([[1, 1], [2, 0], [0, 3]])


@pytest.mark.exact
def test_a_small_model_by_hand(claim):
    """e^logits (2, 1, 8), (4, 1, 64), (1, 1, 1), values 2, 2, 3: 30/11, 202/69 and 7/3."""
    net, xs = small_model()
    for t, (p, q) in enumerate(((30, 11), (202, 69), (7, 3))):
        found = net.transformer()(xs)[t]
        claim.measured("output", found, equation="(5)", t=t + 1).equals(exact.rational(f"{p}/{q}"))


def error_over_bound(claim, dtype, seed):
    """Largest |floating point - exact| over the bound of float64, for four sequences at once."""
    import torch

    rng = np.random.default_rng(seed)
    net = networks.drawn(rng, 2, 3, 2, 2)
    xs = np.stack([networks.tokens(rng, 5, 2) for _ in range(4)])
    tokens = torch.tensor(exact.to_float(xs), device=claim.device)
    bound = net.to(torch.float64, claim.device).roundoff(tokens).cpu().numpy()
    floats = net.to(getattr(torch, dtype), claim.device).transformer()
    ours = floats(tokens.to(getattr(torch, dtype))).double().cpu().numpy()
    stated = np.stack([displayed(net, x) for x in xs])
    return float((exact.to_float(abs(exact.rationals(ours) - stated)) / bound).max())


@pytest.mark.construct
def test_float64_is_within_the_derived_round_off(claim):
    worst = max(error_over_bound(claim, "float64", seed) for seed in range(4))
    claim.measured("error over its bound", worst, equation="(5)").at_most(
        rounding_error(1, "u K A, derived in repro/jiang2024/networks.py")
    )


def affine_error(x, e, W, b):
    """Of W x + b: |W| e + (k + 1) u (|W| |x| + |b|), for one token."""
    return abs(W) @ e + (len(x) + 1) * UNIT * (abs(W) @ abs(x) + abs(b))


@pytest.mark.construct
def test_the_round_off_is_the_bound_of_the_text_entry_by_entry(claim):
    """All sizes differ: d = 1, n = 3, m_h = 2, d_v = 4, tau = 5, six neurons; W_Q has two units
    more, being of logarithms. Some logit that is not the largest is off by most."""
    import torch

    rng, (d, n, m_h, d_v, tau, width) = np.random.default_rng(6), (1, 3, 2, 4, 5, 6)
    sizes = [(width, d), (width,), (n, width), (n,), (m_h, n), (m_h, n), (d_v, n)]
    sizes += [(width, d_v), (width,), (1, width), (1,)]
    arrays = [rng.normal(size=size) for size in sizes]
    A, a, B, b, W_Q, W_K, W_V, C, c, D, e = arrays
    x = rng.normal(size=(tau, d))
    hidden = np.maximum(x @ A.T + a, 0)
    h = hidden @ B.T + b
    inner = [affine_error(token, 0 * token, A, a) for token in x]
    e_h = np.array([affine_error(z, e, B, b) for z, e in zip(hidden, inner, strict=True)])
    (Q, e_Q), (K, e_K), (V, e_V) = (
        (h @ W.T, e_h @ abs(W).T + (n + more) * UNIT * abs(h) @ abs(W).T)
        for W, more in ((W_Q, 2), (W_K, 0), (W_V, 0))
    )
    first, last = (
        networks.FeedForward(*map(torch.tensor, w)) for w in ((A, a, B, b), (C, c, D, e))
    )
    head_weights = [torch.tensor(w) for w in (W_Q, W_K, W_V)]
    model_of_arrays = networks.Networks(
        first, head_weights[0], head_weights[1], head_weights[2], last
    )
    found = model_of_arrays.roundoff(torch.tensor(x)).tolist()
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
        [by_hand] = 1.01 * affine_error(inner, affine_error(weights @ V, e_mean, C, c), D, e)
        ratio = claim.measured("round-off over hand", found[t] / by_hand, equation="(5)", t=t + 1)
        ratio.within(1, rounding_error(1e-12, "a hundred operations in float64"))


def test_control_float32_exceeds_the_bound_of_float64(claim):
    worst = max(error_over_bound(claim, "float32", seed) for seed in range(4))
    claim.measured(
        "error over the bound of float64", worst, equation="(5)", dtype="float32"
    ).at_least(rounding_error(1, "u K A with the u of float64"))


BROKEN = {"queries for keys": 3, "hard maximum": 2, "no denominator": 3, "a residual": 3}


@pytest.mark.parametrize("broken", BROKEN)
def test_control_another_formula_gives_other_outputs(broken, claim):
    """One change to the formula; the hard maximum shares its weight equally at the last token."""
    net, xs = small_model()
    outside = int((net.transformer()(xs) != displayed(net, xs, broken)).sum())
    claim.measured("outputs that differ, of 3", outside, equation="(5)").equals(BROKEN[broken])
