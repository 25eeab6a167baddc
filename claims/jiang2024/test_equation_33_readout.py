"""Equations (33)-(39) (jiang2024, Appendix A.3): the readout passes errors on.

    |F(h) - F^(h^)| <= K_F |h - h^| + |F(h^) - F^(h^)|,                                    (35)-(36)
    sum_t int |F(h^_t) - F^(h^_t)| dx <= tau |I| |F - F^| <= tau |F - F^|.                 (37)-(39)

Proof. Add and subtract F(h^), and use the Lipschitz constant K_F. The second integrand is at most
the largest value of |F - F^| where the averages h^_t lie, and there are tau of them; |I| stands for
the volume of the set over which x is integrated. Softmax weights are positive and of sum 1, so the
averages lie in every convex set in which f^ takes its values: in [0, 1] if f^ does.            QED

Edge case: (39) drops the factor |I|. This is right for a volume of at most 1, as offsets e(t) give
it; for larger rooms the factor is needed (and in (43) and (46), which drop it too).

Checked, in rationals: (35)-(36) for random broken lines F and F^, whose K_F is their steepest
slope; equality if the two errors point in one direction; the averages. For F^ = F + c the sum in
(37) is tau |I| c, for F^ = F + a tent half of tau |I| |F - F^|.
"""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from repro.bounds import theorem

units = st.integers(0, 12).map(lambda k: Fraction(k, 12))
heights = st.lists(st.integers(-4, 4), min_size=5, max_size=5)  # at 0, 1/4, ..., 1
cases = st.tuples(heights, heights, units, units)
tokens = st.lists(st.tuples(st.integers(1, 30), units), min_size=1, max_size=5)  # e^rho^, f^


def line(values, z):
    """The broken line through these heights."""
    k = min(int(4 * z), 3)
    share = 4 * z - k
    return (1 - share) * values[k] + share * values[k + 1]


def steepest(values):
    return max(4 * abs(b - a) for a, b in itertools.pairwise(values))


def largest_difference(first, second):
    """Of two broken lines with the same breaks: it is taken at one of them."""
    return max(abs(a - b) for a, b in zip(first, second, strict=True))


def chain(case, K=None):
    """Left side, middle and right side of (35)-(36), with the largest |F - F^| at the end."""
    F, F_hat, h, h_hat = case
    moved = (steepest(F) if K is None else K) * abs(h - h_hat)
    left = abs(line(F, h) - line(F_hat, h_hat))
    middle = moved + abs(line(F, h_hat) - line(F_hat, h_hat))
    return left, middle, moved + largest_difference(F, F_hat)


@pytest.mark.exact
def test_both_errors_add_up(claim):
    def broken(case):
        left, middle, right = chain(case)
        return (left > middle) + (middle > right)

    examples = claim.at_scale(smoke=40, laptop=400, paper=20000)
    claim.for_all("inequalities that fail", cases, broken, equation="(35)-(37)", examples=examples)


@pytest.mark.exact
def test_they_can_be_equalities(claim):
    """F = 5z and F^ = F + 1: from h^ = 3/4 to h = 1/4 both errors are positive."""
    F = [Fraction(5 * k, 4) for k in range(5)]
    case = F, [v + 1 for v in F], Fraction(1, 4), Fraction(3, 4)
    claim.measured("the three sides", list(chain(case)), equation="(35)-(37)").equals(
        [Fraction(7, 2)] * 3
    )


@pytest.mark.exact
def test_averages_stay_between_the_values(claim):
    def outside(case):
        exponentials, values = zip(*case, strict=True)
        average = sum(e * v for e, v in case) / sum(exponentials)
        return int(not min(values) <= average <= max(values))

    examples = claim.at_scale(smoke=40, laptop=400, paper=20000)
    claim.for_all("averages outside", tokens, outside, equation="(39)", examples=examples)


def summed_error(F, F_hat, lengths):
    """(37) for tokens in [0, L_t] and h^_t = x_t / L_t, where F^ >= F: by trapezoids, exactly."""
    volume, errors = math.prod(lengths), [b - a for a, b in zip(F, F_hat, strict=True)]
    cells = [Fraction(a + b, 2) for a, b in itertools.pairwise(errors)]
    return sum(volume / length * (length / 4 * sum(cells)) for length in lengths)


F_AND_ERRORS = [0, 3, -1, 2, 5], {"constant": [1, 1, 1, 1, 1], "tent": [0, 1, 2, 1, 0]}


@pytest.mark.parametrize("volume", ["1/2", "1", "2"], ids="volume={}".format)
@pytest.mark.exact
def test_the_error_is_multiplied_by_the_volume(volume, claim):
    """tau = 3. A constant error attains (38); the mean of a tent is half of its largest value."""
    F, errors = F_AND_ERRORS
    size, lengths = Fraction(volume), [Fraction(volume), Fraction(1, 2), Fraction(2)]
    for name, share in (("constant", 1), ("tent", Fraction(1, 2))):
        found = summed_error(F, [a + b for a, b in zip(F, errors[name], strict=True)], lengths)
        over = claim.measured("(37) over τ |F − F̂|", found / (3 * max(errors[name])),
                              equation="(38)", error=name)  # fmt: skip
        over.equals(share * size).at_most(theorem(size, "τ |I| |F − F̂|"))


def error_over_a_room_of_length_2(c):
    """tau = 1, F = 0, F^ = c, x in [0, 2]: the integral of c, and tau |F - F^|."""
    from fractions import Fraction

    cells = 10
    integral = sum(Fraction(2, cells) * Fraction(c) for _ in range(cells))
    return integral, 1 * Fraction(c)


def test_printed_the_volume_is_dropped(claim):
    """tau = 1, F = 0, F^ = 1/10, one room [0, 2]: the integral is 2/10, printed is 1/10."""
    claim.counterexample(
        "τ |I| |F − F̂| ≤ τ |F − F̂|, whatever the volume |I| is",
        input={"tau": 1, "I": "[0, 2]", "F": 0, "F^": "1/10"},
        measured=summed_error([0] * 5, [Fraction(1, 10)] * 5, [Fraction(2)]),
        expected=Fraction(1, 10), relation="<=", equation="(39)",
        program=error_over_a_room_of_length_2, c="1/10",
    )  # fmt: skip


def test_control_without_the_lipschitz_constant(claim):
    """F = F^ = 5z, h = 1, h^ = 0: the output moves by 5, and |h - h^| is 1."""
    F = [Fraction(5 * k, 4) for k in range(5)]
    case = F, F, Fraction(1), Fraction(0)
    left, _, right = chain(case, 1)
    claim.measured("left side minus the right one", left - right, equation="(36)").at_least(
        theorem(4, "5 |h − h^| against |h − h^|")
    )


def test_control_averages_without_softmax_leave_the_interval(claim):
    """Weights 1 and 1 for two values 1: the sum is 2, where f^ stays in [0, 1]."""
    weights = [Fraction(1)] * 2
    excess = sum(w * 1 for w in weights) - 1
    claim.measured("average above 1", excess, equation="(39)").at_least(
        theorem(1, "the weights have the sum 2")
    )
