"""Equations (40)-(43) (jiang2024, Appendix A.3): softmax passes errors on.

(42) says |h_t - h^_t| <= sum_s |f(x_s)| |rho - rho^|(x_t, x_s) + sum_s |f - f^|(x_s), since softmax
is Lipschitz and bounded by 1.

Refuted as printed: a weight moves if another logit does. Two tokens with f = (1, 0) and only the
second logit off: the right side is 0 and the left side is not; nor is the step right term by term.

Repaired, and checked: with sup |f| before the sum, and one half to spare,
    |h_t - h^_t| <= 1/2 sup|f| sum_s |rho - rho^| + max_s |f - f^|
(repro/jiang2024/softmax.py), in balls, for all cases that a search finds to try; 1/2 cannot be
lowered. In rationals: (40) and (41) as printed, and what takes the place of "Lipschitz", sum_s
|sigma - sigma^| <= 2 tanh(omega / 4), omega the oscillation of rho - rho^. The sum over s in (43)
is not needed: a constant error of f moves the average by that error, not by tau times it.
Controls: one half lowered; weights that are not normalised.
"""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import model
from repro.jiang2024 import softmax as softmax_
from repro.numerics import exact as exact_
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
    claim.for_all(
        "cases above the bound by more than 1e-40",
        cases,
        undecided_or_false,
        equation="(42), repaired",
        examples=examples,
    )


@pytest.mark.exact
def test_a_constant_error_of_f_is_not_multiplied(claim):
    """f^ = f + 1/7, logits as they are: h moves by 1/7, where (43) allows tau / 7."""

    def wrong(case):
        moved = [(a, a, f, f + Fraction(1, 7)) for a, _, f, _ in case]
        return sides(moved)[0] - Fraction(1, 7)

    examples = claim.at_scale(smoke=10, laptop=80, paper=2000)
    claim.for_all("move less 1/7", cases, wrong, equation="(43)", examples=examples)


# rho = (0, 0) and rho^ = (0, log 3): the weights are (1/2, 1/2) and (1/4, 3/4)
SNIPPET = (
    "from fractions import Fraction\n"
    "e, e_hat, f = [1, 1], [1, 3], [1, 0]       # e^rho, e^rho^; only the second logit is off\n"
    "h, h_hat = (sum(Fraction(w, sum(e)) * v for w, v in zip(e, f)) for e in (e, e_hat))\n"
    "print(abs(h - h_hat), 'should be at most', abs(f[0]) * 0, '+ 0 * log 3')\n"
)


def test_printed_a_weight_moves_when_another_logit_does(claim):
    Log, softmax = logarithms.Log, model.softmax
    exact = exact_.rationals
    weights, moved = (softmax(np.array([Log(1), Log(r)], dtype=object)) for r in (1, 3))
    claim.counterexample(
        "|σ(ρ) − σ(ρ̂)| <= |ρ − ρ̂|, term by term",
        input={"rho": [0, 0], "rho^": ["0", "log 3"], "s": 1},
        measured=abs(weights[0] - moved[0]),
        expected=0,
        relation="<=",
        equation="(41) to (42)",
        snippet=SNIPPET,
    )
    f = exact([1, 0])
    claim.counterexample(
        "the average moves by at most the sum of |f(x_s)| |ρ − ρ̂|",
        input={"rho": [0, 0], "rho^": ["0", "log 3"], "f": [1, 0], "f^": [1, 0]},
        measured=abs(((weights - moved) * f).sum()),
        expected=0,
        relation="<=",
        equation="(42)",
        snippet=SNIPPET,
    )
    with flint.ctx.workprec(100):
        allowed = arb(3).log() / 2
        left = abs(((weights - moved) * f).sum())
        claim.measured("the same move", arb(left), equation="(42), repaired").at_most(
            theorem(allowed, "sup|f| = 1, half of log 3")
        )


@pytest.mark.certified
def test_one_half_cannot_be_lowered(claim):
    """One logit off by eps moves the average of -1 and 1 by 2 tanh(eps / 4)."""
    with flint.ctx.workprec(200):
        found = needed(arb("1e-4"))
        least = arb("0.5") * (1 - arb("1e-8"))
        claim.measured("constant needed", found, equation="(42), repaired").at_least(
            theorem(least, "2 tanh(ε/4) / ε, which tends to 1/2")
        )
        claim.measured("constant needed", found, equation="(42)").at_most(
            theorem(arb("0.5"), "2 tanh(ε/4) / ε, which tends to 1/2")
        )


def needed(eps):
    """|h - h^| / (sup|f| sum |delta|) for values -1, 1 and logits (eps/2, 0) -> (eps/2, eps)."""
    logits, delta = np.array([eps / 2, arb(0)]), np.array([arb(0), eps])
    values = np.array([[arb(-1)], [arb(1)]])
    return softmax_.moved(logits, delta, values)[0] / eps


def test_control_one_half_lowered_by_a_hundredth(claim):
    with flint.ctx.workprec(200):
        found = needed(arb("0.1"))
        claim.measured("constant needed", found, equation="(42)").at_least(
            theorem(arb("0.495"), "2 tanh(ε/4) / ε at ε = 1/10")
        )


def test_control_weights_that_are_not_normalised(claim):
    """e^rho for sigma: ten tokens with f = 1, e^rho = 1, one logit off by log 3: 2 against .55."""
    e, e_hat, f = [1] * 10, [3] + [1] * 9, [1] * 10

    def summed(exponentials):
        return sum(a * v for a, v in zip(exponentials, f, strict=True))

    moved = summed(e_hat) - summed(e)
    with flint.ctx.workprec(100):
        least = 3 * arb(3).log() / 2
        claim.measured("move", arb(moved), equation="e^ρ for σ").at_least(
            theorem(least, "3 times what (42), repaired, allows")
        )
