"""Lemma 1 (yours2026, Section 1): a softmax head returns the value beside the largest score.

With s_1 >= s_j + 1 for all j > 1, values in an interval of length D, and r = (n - 1) / b,
    |h - v_1| <= D r / (1 + r).                                                     (1)

Proof. Let w_j = b^(s_j - s_1), so that w_1 = 1 and w_j <= 1/b. Their sum S over j > 1 is at most r,
and |h - v_1| = |sum_j w_j (v_j - v_1)| / (1 + S) <= D S / (1 + S) <= D r / (1 + r).

Checked: (1) for rational bases and values and integer scores, exactly, for random
samples; that (1) is attained; that the base of (2) gives the error that was asked for, in
float64. Control: a second score as large as the first.

Not checked: real scores, other than floating-point numbers; values that are vectors.
"""

import sys
from fractions import Fraction

import heads
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem

UNIT = sys.float_info.epsilon / 2


percent = st.integers(0, 100)  # values and bases in hundredths: hypothesis draws integers quickly
behind = st.tuples(st.integers(1, 6), percent)
cases = st.tuples(percent, st.lists(behind, min_size=1, max_size=8), st.integers(101, 10_000))


def worst_case(n):
    """Where (1) is attained: all gaps are 1, the values are 0 and, all others, 1."""
    return [0] + [-1] * (n - 1), [0] + [1] * (n - 1)


@pytest.mark.exact
def test_error_within_the_bound_for_any_scores_and_values(claim):
    def beyond(case):
        first, others, base = case
        scores = [0, *(-gap for gap, _ in others)]
        values = [Fraction(value, 100) for value in (first, *(value for _, value in others))]
        error = abs(heads.head(scores, values, Fraction(base, 100)) - values[0])
        return max(0, error - heads.error_bound(len(scores), Fraction(base, 100)))

    examples = claim.at_scale(smoke=100, laptop=200, paper=10_000)
    claim.for_all("error beyond the bound", cases, beyond, equation="(1)", examples=examples)


@pytest.mark.parametrize("n", [2, 5, 50], ids="n={}".format)
@pytest.mark.exact
def test_the_bound_is_attained(n, claim):
    base = Fraction(7)
    error = heads.head(*worst_case(n), base)
    worst = claim.measured("error in the worst case", error, equation="(1)", b=7)
    worst.equals(Fraction(n - 1, n + 6)).equals(heads.error_bound(n, base))


@pytest.mark.parametrize("eps", [0.1, 1e-3, 1e-6], ids="eps={}".format)
@pytest.mark.construct
def test_the_error_is_the_one_asked_for(eps, claim):
    """float64, n = 64. The weights are powers (2u each), added (n u) and divided, twice; b itself
    has 3 roundings: a relative error of (2n + 8) u at most, since nothing cancels."""
    n = 64
    error = heads.head(*worst_case(n), heads.base_for(eps, n))
    slack = rounding_error((2 * n + 8) * UNIT * eps, "(2n + 8) u eps, derived above")
    claim.measured("error in the worst case", error, equation="(2)").within(eps, slack)


def test_control_without_a_gap_half_of_the_interval_is_missed(claim):
    """Break s_2 <= s_1 - 1 only: s_2 = s_1. The base that promises 1/100 then gives 1/2."""
    eps = Fraction(1, 100)
    error = heads.head([0, 0], [0, 1], heads.base_for(eps, 2))
    half = theorem(Fraction(1, 2), "two equal weights, so the mean of 0 and 1")
    claim.measured("error with a tie", error, equation="(1), no gap").at_least(half)
