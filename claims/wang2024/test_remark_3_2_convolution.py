"""Remark 3.2 (wang2024, Section 3.2): without dot product, attention is a fixed causal convolution.

With W_Q = W_K = 0 the share of x_{t-s} in Attn(x_t) is e^{p phi(s)} / sum_j e^{p phi(j)}, so that
    Attn(x_t) = sum_s K(s) x_{t-s},    K(s) = sum_h W_O W_V^(h) e^{p phi(s)} / sum_j e^{p phi(j)}.

Checked, in rationals, for lin and log, for random samples of inputs: the model's
layer is sum_s K(s) x_{t-s}, K being computed from the formula. Without softmax K is the same at all
times, and a shifted input gives the shifted output. With softmax the sum over j ends at the start
of the window, and that is all that depends on t: times (1 - u^{t+1}) the lin head is the infinite
convolution with u^s (1 - u), and times sum_{j <= t} j^-p the log head is that with s^-p. A head
with W_Q = W_K = 0 written out gives what a head without them gives.
Control: with a dot product the layer is not even additive.

Not checked: the infinite normaliser of log-RPE, zeta(p), which is not rational.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import exactly
from repro.numerics import exact, logarithms
from repro.wang2024 import model

D = 2
sixths = st.tuples(*[st.integers(-12, 12)] * D).map(lambda x: [Fraction(v, 6) for v in x])
tokens = st.lists(sixths, min_size=1, max_size=7)
types = pytest.mark.parametrize("rpe", ["lin", "log"])


def layer(rpe, normalised, dot_product=None, first=1):
    """Random integer weights; u = 1/2, 1/3 for lin, p = 1, 2 for log; if `first` is 0, before them
    u = 1 or p = 0."""
    rng = np.random.default_rng(5)

    def draw():
        return exact.rationals(rng.integers(-3, 4, (D, D)).tolist())

    def head(h):
        p = logarithms.Log(h + 1) if rpe == "lin" else h
        return model.Head(draw(), p, **(dot_product or {}))

    return model.Attention([head(h) for h in range(first, 3)], draw(), rpe, normalised)


def share(rpe, h, s):
    """e^{p phi(s)}: u^s with u = 1/(h+1), or s^-h."""
    q = exact.rational
    if rpe == "lin":
        return q(h + 1) ** -s
    return q(s) ** -h if s >= 1 else q(0)


def convolution(attention, x, t):
    """sum_s K(s) x_{t-s}, the sums ending at the start of the window; heads 0, 1, 2."""
    total = exact.rationals([0] * D)
    for s in range(t + 1):
        K = 0
        for h, head in enumerate(attention.heads):
            sums = sum(share(attention.rpe, h, j) for j in range(t + 1))
            weight = share(attention.rpe, h, s) / (sums if attention.normalised else 1)
            K = K + (attention.W_O @ head.W_V) * weight
        total = total + K @ x[t - s]
    return total


@types
@pytest.mark.parametrize("normalised", [True, False], ids=["softmax", "no softmax"])
@pytest.mark.exact
def test_the_layer_is_the_convolution(rpe, normalised, claim):
    """Of a batch of two windows, the second being the first with the other sign."""
    attention = layer(rpe, normalised, first=0)

    def differ(x):
        x = exact.rationals([[0] * D, *x])
        y, minus = attention(np.stack([x, -x]))
        times = range(attention.first, len(x))
        wanted = [convolution(attention, x, t) for t in times]
        wrong = sum(bool((a != b).any()) for a, b in zip(y, wanted, strict=True))
        return wrong + int((minus != -y).sum())

    examples = claim.at_scale(smoke=20, laptop=100, paper=3000)
    claim.for_all("tokens that differ", tokens, differ, equation="Remark 3.2", examples=examples)


@types
@pytest.mark.exact
def test_without_softmax_it_commutes_with_shifts(rpe, claim):
    """Zeros before the sequence, as many as one likes, only shift the output."""
    attention = layer(rpe, False)

    def differ(x):
        x = exact.rationals(x)
        later = np.concatenate([0 * x[:1], 0 * x[:1], 0 * x[:1], x])
        return int((attention(later)[3:] != attention(x)).sum())

    examples = claim.at_scale(smoke=20, laptop=100, paper=3000)
    claim.for_all("entries that differ", tokens, differ, equation="Remark 3.2", examples=examples)


@types
@pytest.mark.exact
def test_the_window_enters_the_softmax_by_one_factor(rpe, claim):
    """Shares times their sum, (1 - u^{t+1})/(1 - u) for lin, are e^{p phi(s)}, whatever t."""
    attention, n, wrong = layer(rpe, True), 9, 0
    for h, head in enumerate(attention.heads, start=1):
        u = exact.rational(1) / (h + 1)
        scores = attention.scores(head, exact.rationals([[0] * D] * n))
        for t in range(attention.first, n):
            finite = sum(exact.rational(j) ** -h for j in range(1, t + 1))
            sums = (1 - u ** (t + 1)) / (1 - u) if rpe == "lin" else finite
            row = scores[t - attention.first]
            wrong += sum(bool(row[t - s] * sums != share(rpe, h, s)) for s in range(t + 1))
    claim.measured("shares with another factor", wrong, equation="Remark 3.2").equals(0)


def zeros():
    return {"W_Q": exact.rationals([[0] * D]), "W_K": exact.rationals([[0] * D])}


@types
@pytest.mark.exact
def test_zero_matrices_are_the_same_as_none(rpe, claim):
    x = exact.rationals(np.random.default_rng(3).integers(-3, 4, (7, D)).tolist())
    differ = int((layer(rpe, True, zeros())(x) != layer(rpe, True)(x)).sum())
    claim.measured("entries that differ", differ, equation="W_Q = W_K = 0").equals(0)


@types
def test_control_with_a_dot_product_it_is_not_even_additive(rpe, claim):
    """W_Q = (log 2, 0), W_K = (1, 0): f(x + x) is not f(x) + f(x)."""
    dot = zeros()
    dot["W_Q"][0, 0], dot["W_K"][0, 0] = logarithms.Log(2), 1
    attention = layer(rpe, True, dot)
    x = exact.rationals([[1, 0], [1, 1], [2, 1], [1, -1]])
    off = abs(attention(2 * x) - 2 * attention(x)).max()
    tenth = exact.rational("1/10")
    least = exactly(tenth, "one input, in rationals")
    claim.measured("largest |f(2x) − 2f(x)|", off, equation="Remark 3.2").at_least(least)
    free = layer(rpe, True)
    off = abs(free(2 * x) - 2 * free(x)).max()
    claim.measured("without dot product", off, equation="Remark 3.2").equals(0)
