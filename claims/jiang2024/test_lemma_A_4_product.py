"""Lemma A.4 (jiang2024, Appendix A.3, (31)-(32)): errors of a product.

|a b - a^ b^| <= |a| |b - b^| + |b^| |a - a^| <= |a| |b - b^| + |b| |a - a^| + |a - a^| |b - b^|.

a b - a^ b^ = a (b - b^) + b^ (a - a^), and |b^| <= |b| + |b - b^|: two triangle inequalities. So
(31) is an equality if and only if the two terms do not have opposite signs, and (32) if and only if
a = a^ or b (b^ - b) >= 0.

Checked: both inequalities and both conditions for equality, for random rationals.
"""

from fractions import Fraction

import pytest
from hypothesis import strategies as st

from repro.bounds import theorem

numbers = st.integers(-27, 27).map(lambda k: Fraction(k, 3))
BOTH = "(31), (32)"
cases = st.tuples(numbers, numbers, numbers, numbers)


def sides(case):
    a, b, a_hat, b_hat = case
    left = abs(a * b - a_hat * b_hat)
    middle = abs(a) * abs(b - b_hat) + abs(b_hat) * abs(a - a_hat)
    right = abs(a) * abs(b - b_hat) + abs(b) * abs(a - a_hat) + abs(a - a_hat) * abs(b - b_hat)
    return left, middle, right


def many(claim):
    return claim.at_scale(smoke=30, laptop=400, paper=20000)


@pytest.mark.exact
def test_both_inequalities(claim):
    def broken(case):
        left, middle, right = sides(case)
        return (left > middle) + (middle > right)

    claim.for_all("inequalities that fail", cases, broken, equation=BOTH, examples=many(claim))


@pytest.mark.exact
def test_where_they_are_equalities(claim):
    def unlike(case):
        (a, b, a_hat, b_hat), (left, middle, right) = case, sides(case)
        no_opposite_signs = a * (b - b_hat) * b_hat * (a - a_hat) >= 0
        away_from_0 = a == a_hat or b * (b_hat - b) >= 0
        return ((left == middle) != no_opposite_signs) + ((middle == right) != away_from_0)

    claim.for_all("conditions that fail", cases, unlike, equation=BOTH, examples=many(claim))


@pytest.mark.exact
def test_all_three_sides_can_be_equal(claim):
    """a, b, b^ = 3, 5, 7."""
    for a_hat, expected in ((2, (1, 13, 13)), (4, (13, 13, 13))):
        found = sides((3, 5, a_hat, 7))
        claim.measured("the three sides", found, equation=BOTH, a_hat=a_hat).equals(expected)


def test_control_without_the_product_of_the_errors(claim):
    """(32) with two terms, or (31) with |b| for |b^|: 0 and 0 become 1 and 3, both terms are 0."""
    a, b, a_hat, b_hat = 0, 0, 1, 3
    kept = abs(a) * abs(b - b_hat) + abs(b) * abs(a - a_hat)
    excess = sides((a, b, a_hat, b_hat))[0] - kept
    claim.measured("left side minus two terms", excess, equation="(32)").at_least(
        theorem(3, "the product of the errors itself, 1 · 3")
    )
