"""Definition B.5 (wang2024, Appendix B.3, class (17)): TMX, time minus token.

The logit <W_Q x_t, W_K x_{t-s}> + p phi(s) of every head is replaced by
    p (phi(s) - phi(w . x_t)),    w in R^D:
O(D) parameters where the dot product has O(D^2).

Checked, in rationals and for random samples of inputs: without normalisation the share
of x_{t-s} is u^(s - w.x_t) (lin, p = log 1/u) and (w.x_t / s)^p (log). Parameters of a head besides
W_V, counted in built models: D + 1 for TMX, 2D^2 + 1 for W_Q, W_K in R^(D x D), and 2D + 1 for the
rows that the constructions of this package have for them: of rank one the dot product is O(D) too.
Under softmax the second term cancels exactly: outputs do not depend on w.
Control: with softmax the TMX heads miss the pointer of Proposition 5.2 by 1 or more; without it
they follow it.

Edge case: phi(w . x_t) is finite for w . x_t >= 0 (lin) and >= 1 (log) only. For other w the logit
is infinite, and the model refuses.
Readings: the definition starts from (2), which has a softmax; we read it for class (17), which has
none, since the softmax cancels the term with w.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.numerics import exact, logarithms
from repro.wang2024 import exponentials, heads, model, powers

types = pytest.mark.parametrize("rpe", ["lin", "log"])
DIMENSIONS = [4, 6, 8, 16, 32, 64]
tokens = st.lists(st.tuples(*[st.integers(0, 3)] * 2), min_size=3, max_size=6)
weights = st.tuples(st.integers(1, 3), st.integers(0, 2))


def head(rpe, w=None, size=3, W_V=((1, 2), (-1, 1))):
    """p = log `size` or p = `size`."""
    rationals = exact.rationals
    p = logarithms.Log(size) if rpe == "lin" else size
    return model.Head(rationals(W_V), p, w=None if w is None else rationals(w))


def layer(rpe, normalised, *several):
    identity = exact.rationals([[1, 0], [0, 1]])
    return model.Attention(several, identity, rpe, normalised)


@types
@pytest.mark.exact
def test_the_share_is_a_power_of_time_minus_token(rpe, claim):
    """Token entries are integers, the first of them at least 1, so that w . x >= 1."""

    def differ(case):
        x, w, size = case
        window = exact.rationals([(a + 1, b) for a, b in x])
        scores = layer(rpe, False, one := head(rpe, w, size)).scores(one, window)
        wrong = 0
        for t in range(len(x)):
            g = w[0] * (x[t][0] + 1) + w[1] * x[t][1]
            for s in range(t + 1):
                if rpe == "lin":
                    stated = Fraction(size) ** (g - s)
                else:
                    stated = Fraction(g, s) ** size if s else 0
                wrong += scores[t, t - s] != exact.rational(stated)
        return wrong

    cases = st.tuples(tokens, weights, st.integers(1, 4))
    examples = claim.at_scale(smoke=30, laptop=200, paper=3000)
    claim.for_all("shares that differ", cases, differ, equation="Definition B.5", examples=examples)


def count(D, **logit):
    """Parameters of a head besides W_V."""
    one = model.Head(np.zeros((D, D)), 1, **logit)
    return one.parameters_count() - D * D


@pytest.mark.exact
def test_parameters_of_a_head(claim):
    counts = {"dot product, D x D": {}, "dot product, 1 x D": {}, "TMX": {}}
    for D in DIMENSIONS:
        full, row = np.zeros((D, D)), np.zeros((1, D))
        found = [count(D, W_Q=full, W_K=full), count(D, W_Q=row, W_K=row), count(D, w=row[0])]
        for points, number, stated in zip(
            counts.values(), found, [2 * D * D + 1, 2 * D + 1, D + 1], strict=True
        ):
            points[D] = number
            claim.measured("parameters", number, equation="O(D) or O(D²)", D=D).equals(stated)
    for label, order in zip(counts, (2, 1, 1), strict=True):
        small, large = (counts[label][D] - 1 for D in (32, 64))
        grown = claim.measured(
            "parameters less p", large, equation="O(D) or O(D²)", D=64, kind=label
        )
        grown.equals(2**order * small)


def follower(rpe):
    """Exponents and coefficients for every pointer B = 1, 2, 3. The l1 error is for lin, q = 1/256,
    at most q / ((1 - q) (q; q)^2) < 1.02 / 256 (exponentials.py), and for log, powers 20, 40, ...,
    at most (3/4)^20 + (3/5)^20 + ... over prod (1 - z^20), z = 1/3, 1/2, 2/3: less than 0.0033.
    """
    if rpe == "lin":
        phi = exponentials.Interpolant(3, 4, "1/256")
        return phi.exponents, phi.moved()
    phi = powers.adaptive(3, step=20)
    return tuple(exact.rationals(phi.exponents)), phi.coefficients


@types
@pytest.mark.exact
def test_parameters_of_the_heads_that_follow_a_pointer(rpe, claim):
    """Lemmas E.2 and E.5 have tokens of D = 3 entries: 1 for p, and 3 + 3 or 3 for the logit."""
    built, w = heads.moving(rpe, *follower(rpe)), exact.rationals([0, 1, 0])
    tmx = [model.Head(one.W_V, one.p, w=w) for one in built.heads]
    for kind, each, stated in (("dot product of rank one", built.heads, 7), ("TMX", tmx, 4)):
        found = [head.parameters_count() - 9 for head in each]
        number = claim.measured("parameters besides W_V", found, equation="O(D)", kind=kind)
        number.equals([stated] * 4)


@types
@pytest.mark.exact
def test_under_softmax_the_token_cancels(rpe, claim):
    """Two heads, any w and another: the same outputs, exactly, and those without w."""

    def differ(case):
        x, w, other = case
        window = exact.rationals([(a + 1, b) for a, b in x])
        outputs = [
            layer(rpe, True, head(rpe, v), head(rpe, v, 2, ((0, 1), (1, 0))))(window)
            for v in (w, other, None)
        ]
        return sum(int((one != outputs[0]).sum()) for one in outputs[1:])

    cases = st.tuples(tokens, weights, weights)
    examples = claim.at_scale(smoke=20, laptop=100, paper=1000)
    claim.for_all("outputs that differ", cases, differ, equation="(2) with B.5", examples=examples)


def errors_on_four_windows(rpe, normalised):
    """Heads that follow g(x) = x + 2, and the four windows of Proposition 5.2: x_t = -1 has the
    target x_{t-1}, and x_t = 0 has x_{t-2}."""
    rationals = exact.rationals
    past = [[-1, 1], [1, -1]]  # x_{t-2}, x_{t-1}, after three tokens -1
    windows = [[-1, -1, -1, *two, present] for present in (-1, 0) for two in past]
    tokens = rationals([[[x, 1] for x in window] for window in windows])
    followers = [
        model.Head(rationals([[alpha, 0], [0, 0]]), beta, w=rationals([1, 2]))
        for beta, alpha in zip(*follower(rpe), strict=True)
    ]
    outputs = layer(rpe, normalised, *followers)(tokens, queries=1)[:, 0, 0]
    return max(abs(outputs - rationals([1, -1, -1, 1])))


@types
def test_control_with_softmax_the_pointer_is_lost(rpe, claim):
    error = logarithms.ball(errors_on_four_windows(rpe, True))
    least = theorem(1, "it is a layer without dot product then, Proposition 5.2 (B)")
    claim.measured("largest error with softmax", error, equation="class (17)").at_least(least)
    built = logarithms.ball(errors_on_four_windows(rpe, False))
    most = theorem(Fraction(1, 250), "l1 error of the heads, by hand at `follower`")
    claim.measured("largest error without softmax", built, equation="class (17)").at_most(most)


def argument_of_phi_and_the_least_allowed(rpe, w_1):
    """x_t = (1, 0), so w . x_t = w_1. phi_lin is -inf below 0, phi_log is -inf below 1."""
    return w_1, {"lin": 0, "log": 1}[rpe]


@types
def test_printed_w_may_make_the_logit_infinite(rpe, claim):
    """w . x_t = -1 (lin) or 0 (log): phi is -inf there, the share would be infinite."""
    x, w = exact.rationals([(1, 0), (1, 0)]), (-1, 0) if rpe == "lin" else (0, 0)
    one = head(rpe, w)
    with pytest.raises(ValueError, match=f"phi_{rpe}"):
        layer(rpe, False, one).scores(one, x)
    claim.counterexample(
        "p (phi(s) - phi(w . x_t)) is a number for every w",
        input={"x_t": [1, 0], "w": list(w)},
        measured=w[0],
        expected=model.SMALLEST[rpe],
        relation=">=",
        equation="φ(w · x_t) > −∞",
        program=argument_of_phi_and_the_least_allowed,
        rpe=rpe,
        w_1=w[0],
    )
