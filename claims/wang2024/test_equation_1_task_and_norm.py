"""Equation (1) (wang2024, Section 3.1): causal maps of sequences, and their norm.

y_t = H_t(X) = f(x_t, x_{t-1}, ...) with ||x_t||_2 <= 1, and ||H|| = sup_t sup_X |H_t(X)|.

Checked, for causal convolutions y_t = sum_s <k(s), x_{t-s}> made of dot-product-free heads: on a
window of n tokens the norm is sum_s ||k(s)||_2 (Cauchy and Schwarz for each s, and equality for
each s). No random rational input exceeds it, at any time; the input
x_{t-s} = k(s) / ||k(s)||_2 attains it, exactly, in the model's own layer, for tokens of dimension 1
(signs) and 2. It grows with t, so that the last token of a window has the largest; what lies beyond
the window is at most a tail that is summed in closed form.
Control: the largest output over 20 random inputs is less than two thirds of the norm.

Not checked: that a supremum over all of Z is attained; it is the limit of the windows.
"""

from fractions import Fraction

import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.numerics import exact, logarithms
from repro.wang2024 import model

DIRECTIONS = {1: ["1"], 2: ["3/5", "4/5"]}  # rational vectors of length 1
WEIGHTS = [("3/4", 1), ("1/2", -7), ("1/5", 9)]  # u_h (lin), or h + 2 as p_h (log), and alpha_h
n = 12
cases = pytest.mark.parametrize(
    ("rpe", "d"),
    [(rpe, d) for rpe in ("lin", "log") for d in DIRECTIONS],
    ids=[f"{rpe}-d={d}" for rpe in ("lin", "log") for d in DIRECTIONS],
)


def attention(rpe, d):
    """Heads without softmax, so that the kernel is the same at all times; output 0 is y_t."""
    Log, rationals = logarithms.Log, exact.rationals
    direction, zeros = rationals(DIRECTIONS[d]), rationals([[0] * d] * (d - 1)).reshape(d - 1, d)
    heads = []
    for h, (u, alpha) in enumerate(WEIGHTS):
        W_V = exact.vector([*(alpha * direction), *zeros.ravel()]).reshape(d, d)
        p = Log(1 / exact.rational(u)) if rpe == "lin" else h + 2
        heads.append(model.Head(W_V, p))
    W_O = rationals([[int(i == j) for i in range(d)] for j in range(d)])
    return model.Attention(heads, W_O, rpe, normalised=False)


def kernel(rpe, s):
    """c(s) with k(s) = c(s) e, e the direction: sum_h alpha_h u_h^s, or sum_h alpha_h s^-p_h."""
    q = exact.rational
    if rpe == "lin":
        return sum(alpha * q(u) ** s for u, alpha in WEIGHTS)
    return sum(alpha * q(s) ** -(h + 2) for h, (_, alpha) in enumerate(WEIGHTS)) if s else q(0)


def norm(rpe, length):
    return sum(abs(kernel(rpe, s)) for s in range(length))


def sign(value):
    return 1 if value >= 0 else -1


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.exact
def test_the_norm_of_three_tokens_by_hand(rpe, claim):
    """lin: c(0) = 1 - 7 + 9 = 3, c(1) = 3/4 - 7/2 + 9/5 = -19/20, c(2) = 9/16 - 7/4 + 9/25 =
    -331/400, so the norm is 3 + 380/400 + 331/400. log: c(1) = 1 - 7 + 9 = 3, c(2) = 1/4 - 7/8 +
    9/16 = -1/16. The tokens are (-s, -s, 1) for lin and (-s, s, 1) with any last one for log.
    """
    signs, stated = {"lin": ([-1, -1, 1], "1911/400"), "log": ([-1, 1, 1], "49/16")}[rpe]
    y = attention(rpe, 1)(exact.rationals(signs)[:, None])[:, 0]
    claim.measured("output at the last token", y[-1], equation="(1), ‖H‖", tokens=3).equals(
        exact.rational(stated)
    )


@cases
@pytest.mark.exact
def test_the_input_of_signs_attains_the_sum_of_the_kernel(rpe, d, claim):
    direction = exact.rationals(DIRECTIONS[d])
    x = [sign(kernel(rpe, n - 1 - t)) * direction for t in range(n)]
    y = attention(rpe, d)(exact.rationals(x))[:, 0]
    claim.measured("output at the last token", y[-1], equation="(1), ‖H‖").equals(norm(rpe, n))
    signs = [sign(kernel(rpe, s)) for s in range(n)]
    claim.measured(
        "signs of the kernel (with one only, a constant input would do)",
        len(set(signs[1:])),
        equation="(1)",
    ).equals(2)


def in_the_ball(d):
    """Rational tokens with ||x||_2 <= 1: a rational multiple of (1 - r^2, 2r) / (1 + r^2)."""
    size = st.integers(-9, 9).map(lambda c: Fraction(c, 9))
    if d == 1:
        return st.tuples(size)
    slope = st.integers(-6, 6).map(lambda r: Fraction(r, 2))
    return st.builds(
        lambda c, r: (c * (1 - r * r) / (1 + r * r), c * 2 * r / (1 + r * r)), size, slope
    )


@cases
@pytest.mark.exact
def test_no_input_gives_more_at_any_time(rpe, d, claim):
    layer, norms = attention(rpe, d), [norm(rpe, t + 1) for t in range(n)]

    def excess(x):
        y = layer(exact.rationals(x))[:, 0]
        return sum(bool(abs(value) > most) for value, most in zip(y, norms, strict=False))

    inputs = st.lists(in_the_ball(d), min_size=1, max_size=n)
    examples = claim.at_scale(smoke=20, laptop=100, paper=3000)
    claim.for_all("outputs beyond the norm", inputs, excess, equation="(1)", examples=examples)


@pytest.mark.exact
def test_the_window_leaves_out_no_more_than_the_tail(claim):
    """lin: sum_{s >= n} |c(s)| <= sum_h |alpha_h| u_h^n / (1 - u_h), in rationals."""
    lengths = [n, 2 * n, 4 * n]
    norms = [norm("lin", length) for length in lengths]
    heads = [(exact.rational(u), abs(alpha)) for u, alpha in WEIGHTS]
    tails = [sum(a * u**length / (1 - u) for u, a in heads) for length in lengths]
    beyond = sum(norms[-1] - part > tail for part, tail in zip(norms, tails, strict=True))
    claim.measured("windows whose norm misses more than the tail", beyond, equation="(1)").equals(0)
    quarter = Fraction(1, 4)
    most = theorem(quarter, "4 (3/4)¹² = 0.127 and two smaller terms")
    claim.measured("tail beyond 12 tokens", tails[0], equation="(1)").at_most(most)


def test_control_random_inputs_fall_short_of_the_norm(claim):
    """The supremum replaced by 20 random inputs of signs; one head, u = 49/50, 400 tokens.

    By Hoeffding's inequality one random output exceeds 5 ||c||_2 with probability 2 e^{-25/2}.
    """
    u, length = exact.rational("49/50"), 400
    one = exact.rationals([[1]])
    head = model.Head(one, logarithms.Log(1 / u))
    layer = model.Attention([head], one, "lin", normalised=False)
    signs = exact.rationals(claim.rng("signs").choice([-1, 1], (20, length, 1)))
    best = float(logarithms.ball(abs(layer(signs, queries=1)).max()))
    claim.record("best", best)
    least = theorem(49.98 / 3, "5‖c‖₂ = 25.1, exceeded with probability below 2e-4; ‖c‖₁ = 49.98")
    claim.measured(
        "norm less the largest of 20 random outputs", 49.98 - best, equation="(1)"
    ).at_least(least)
