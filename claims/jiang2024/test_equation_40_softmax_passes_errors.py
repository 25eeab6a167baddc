"""Equations (40)-(43) (jiang2024, Appendix A.3): softmax passes errors on.

(42) says |h_t - h^_t| <= sum_s |f(x_s)| |rho - rho^|(x_t, x_s) + sum_s |f - f^|(x_s), since softmax
is Lipschitz and bounded by 1.

Refuted as printed: a weight moves if another logit does. Two tokens with f = (1, 0) and only the
second logit off: the right side is 0 and the left side is not; nor is the step right term by term.

Repaired, and checked: with sup |f| before the sum, and one half to spare,
    |h_t - h^_t| <= 1/2 sup|f| sum_s |rho - rho^| + max_s |f - f^|
(repro/jiang2024/softmax.py), in balls; 1/2 cannot be lowered. In rationals: (40) and (41) as
printed, and sum_s |sigma - sigma^| <= 2 tanh(omega / 4), omega the oscillation of rho - rho^, in
place of "Lipschitz". The sum over s in (43) is not needed.
"""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import model, softmax
from repro.numerics import logarithms

arb = flint.arb
positive = st.integers(1, 60).map(lambda k: Fraction(k, 6))
values = st.integers(-10, 10).map(lambda k: Fraction(k, 5))
tokens = st.tuples(positive, positive, values, values)  # e^rho, e^rho^, f, f^
cases = st.lists(tokens, min_size=1, max_size=5)


def average(exponentials, values):
    return sum(e * v for e, v in zip(exponentials, values, strict=True)) / sum(exponentials)


def sides(case):
    """|h - h^|, sup |f|, e^(rho^ - rho) for each token and |f - f^|."""
    a, b, f, f_hat = zip(*case, strict=True)
    ratios = [y / x for x, y in zip(a, b, strict=True)]
    off = [abs(x - y) for x, y in zip(f, f_hat, strict=True)]
    return abs(average(a, f) - average(b, f_hat)), max(map(abs, f)), ratios, off


@pytest.mark.exact
def test_what_stands_between_40_and_42_in_rationals(claim):
    """(40), (41), sum sigma^ = 1 and sum |sigma - sigma^| <= 2 tanh(omega/4), in R = e^omega."""

    def broken(case):
        left, top, ratios, off = sides(case)
        a, b, f, f_hat = zip(*case, strict=True)
        pairs = [(x / sum(a), y / sum(b)) for x, y in zip(a, b, strict=True)]
        values = list(zip(pairs, f, f_hat, strict=True))
        summed = sum(abs(p * v - q * w) for (p, q), v, w in values)
        split = sum(abs(v) * abs(p - q) + q * abs(v - w) for (p, q), v, w in values)
        total, R = sum(abs(p - q) for p, q in pairs), max(ratios) / min(ratios)
        chain = left <= summed <= split <= top * total + max(off)
        return (not chain) + ((2 + total) ** 2 > R * (2 - total) ** 2)

    examples = claim.at_scale(smoke=20, laptop=200, paper=10000)
    claim.for_all("inequalities that fail", cases, broken, equation="(40), (41)", examples=examples)


@pytest.mark.certified
def test_the_repaired_inequality_in_balls(claim):
    def undecided_or_false(case):
        left, top, ratios, off = sides(case)
        with flint.ctx.workprec(200):
            ball = logarithms.ball
            logits = sum((abs(ball(r).log()) for r in ratios), arb(0))
            bound = ball(top) * logits / 2 + ball(max(off))
            return int(not (ball(left) <= bound or ball(left) - bound < arb("1e-40")))

    examples = claim.at_scale(smoke=20, laptop=200, paper=10000)
    name = "cases above the bound by more than 1e-40"
    claim.for_all(name, cases, undecided_or_false, equation="(42)", examples=examples)


@pytest.mark.exact
def test_a_constant_error_of_f_is_not_multiplied(claim):
    """f^ = f + 1/7, logits as they are: h moves by 1/7, where (43) allows tau / 7."""

    def wrong(case):
        moved = [(a, a, f, f + Fraction(1, 7)) for a, _, f, _ in case]
        return sides(moved)[0] - Fraction(1, 7)

    examples = claim.at_scale(smoke=10, laptop=80, paper=2000)
    claim.for_all("move less 1/7", cases, wrong, equation="(43)", examples=examples)


def move_of_the_average_and_its_bound(f, ratio):
    """e^rho = (1, 1) and e^rho^ = (1, ratio): only the second logit is off, and f_2 = 0."""
    from fractions import Fraction

    h = Fraction(f[0] + f[1], 2)
    h_hat = Fraction(f[0] + ratio * f[1], 1 + ratio)
    return abs(h - h_hat), 0  # |f_1| * 0 + |f_2| * log(ratio), where f_2 = 0


def test_printed_a_weight_moves_when_another_logit_does(claim):
    """rho = (0, 0) and rho^ = (0, log 3): the weights are (1/2, 1/2) and (1/4, 3/4)."""
    Log = logarithms.Log
    weights, moved = (model.softmax(np.array([Log(1), Log(r)], dtype=object)) for r in (1, 3))
    average = abs(((weights - moved) * np.array([1, 0])).sum())
    statements = {
        "(41)-(42)": ("|σ(ρ) − σ(ρ̂)| <= |ρ − ρ̂|, term by term", abs(weights[0] - moved[0])),
        "(42)": ("the average moves by at most the sum of |f(x_s)| |ρ − ρ̂|", average),
    }
    for equation, (refutes, move) in statements.items():
        claim.counterexample(
            refutes,
            input={"rho": [0, 0], "rho^": ["0", "log 3"], "f = f^": [1, 0]},
            measured=move, expected=0, relation="<=", equation=equation,
            program=move_of_the_average_and_its_bound, f=[1, 0], ratio=3,
        )  # fmt: skip
    with flint.ctx.workprec(100):
        allowed = arb(3).log() / 2
    claim.measured("move of the average", arb(average), equation="(42)").at_most(
        theorem(allowed, "sup|f| = 1, half of log 3")
    )


@pytest.mark.certified
def test_one_half_cannot_be_lowered(claim):
    """One logit off by eps moves the average of -1 and 1 by 2 tanh(eps / 4)."""
    with flint.ctx.workprec(200):
        found, least = needed(arb("1e-4")), arb("0.5") * (1 - arb("1e-8"))
    why = "2 tanh(ε/4) / ε, which tends to 1/2"
    constant = claim.measured("constant needed", found, equation="(42)", eps=1e-4)
    constant.at_least(theorem(least, why)).at_most(theorem(arb("0.5"), why))


def needed(eps):
    """|h - h^| / (sup|f| sum |delta|) for values -1, 1 and logits (eps/2, 0) -> (eps/2, eps)."""
    logits, delta = np.array([eps / 2, arb(0)]), np.array([arb(0), eps])
    values = np.array([[arb(-1)], [arb(1)]])
    return softmax.moved(logits, delta, values)[0] / eps


def test_control_one_half_lowered_by_a_hundredth(claim):
    with flint.ctx.workprec(200):
        found, least = needed(arb("0.1")), arb("0.495")
    claim.measured("constant needed", found, equation="(42)", eps=0.1).at_least(
        theorem(least, "2 tanh(ε/4) / ε at ε = 1/10")
    )


def test_control_weights_that_are_not_normalised(claim):
    """e^rho for sigma: ten tokens, f = e^rho = 1, one logit off by log 3; the sum moves by 2."""
    e, e_hat = [1] * 10, [3] + [1] * 9
    moved = sum(e_hat) - sum(e)
    with flint.ctx.workprec(100):
        least = 3 * arb(3).log() / 2
    claim.measured("move without normalisation", arb(moved), equation="(42)").at_least(
        theorem(least, "3 times what (42), repaired, allows")
    )
