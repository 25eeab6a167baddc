"""What the claims of fang2022 search over: what the docstrings promise, and its ends."""

from fractions import Fraction

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis.errors import NoSuchExample

from repro.fang2022 import inputs
from repro.numerics.exact import rational

searched = settings(max_examples=120, deadline=None, derandomize=True, database=None)
met = settings(searched, max_examples=3000, phases=[Phase.generate])
LARGEST = {1: 4, 3: 2}


@searched
@given(inputs.factors())
def test_factors_are_at_most_M(case):
    n, q, M, t, x, y = case
    assert 1 <= n <= 6
    assert 3 <= q <= 7
    assert rational("1/100") <= M <= 100
    assert len(t) == len(x) == len(y) == n
    assert all(abs(v) <= M for v in (*x, *y))
    assert all(abs(v) <= 10**6 for v in t)


MET = {
    "one token": lambda n, q, M, t, x, y: n == 1,
    "six tokens": lambda n, q, M, t, x, y: n == 6,
    "three slots": lambda n, q, M, t, x, y: q == 3,
    "seven slots": lambda n, q, M, t, x, y: q == 7,
    "M below 1": lambda n, q, M, t, x, y: M < 1,
    "M above 50": lambda n, q, M, t, x, y: M > 50,
    "the two ends": lambda n, q, M, t, x, y: (x == M).any() and (x == -M).any(),
    "zero": lambda n, q, M, t, x, y: (x == 0).any(),
    "inner numbers": lambda n, q, M, t, x, y: any(0 < abs(v) < M for v in y),
    "negative ones": lambda n, q, M, t, x, y: any(-M < v < 0 for v in y),
    "large t": lambda n, q, M, t, x, y: any(abs(v) > 1000 for v in t) and any(v < 0 for v in t),
}


@pytest.mark.parametrize("kind", MET)
def test_factors_of_every_kind_are_met(kind):
    find(inputs.factors(), lambda case: bool(MET[kind](*case)), settings=met)


ENDS = {
    "M, smallest": (inputs.bounds, Fraction(1, 100)),
    "M, largest": (inputs.bounds, 100),
    "t, smallest": (inputs.numbers, -(10**6)),
    "t, largest": (inputs.numbers, 10**6),
    "coefficients, smallest": (inputs.coefficients, -100),
    "coefficients, largest": (inputs.coefficients, 100),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_ends_of_ranges_are_met(end):
    strategy, value = ENDS[end]
    find(strategy, lambda found: found == value, settings=settings(met, max_examples=20_000))


def _below_one(share):
    """Thousandths of |a| and of b - |a|, for the share a/b."""
    a, b = abs(share.numerator), share.denominator
    return a / 1000, (b - a) / 1000


BEYOND = {
    "M": (inputs.bounds, lambda M: not Fraction(1, 100) <= M <= 100),
    "t": (inputs.numbers, lambda t: abs(t) > 10**6 or t.denominator > 9),
    "shares": (inputs.shares, lambda share: max(abs(share), *_below_one(share)) > 1),
    "coefficients": (inputs.coefficients, lambda c: abs(c) > 100 or c.denominator > 30),
}


@pytest.mark.parametrize("range_of", BEYOND)
def test_nothing_is_met_beyond_the_ends(range_of):
    strategy, beyond = BEYOND[range_of]
    with pytest.raises(NoSuchExample):
        find(strategy, beyond, settings=settings(met, max_examples=1000))


@searched
@given(inputs.polynomials(LARGEST))
def test_polynomials_are_of_degree_at_most_q(case):
    q, Q = case
    assert Q.d in LARGEST
    assert 1 <= q <= LARGEST[Q.d]
    assert Q.degree <= q
    assert all(abs(c) <= 100 for c in Q.coefficients.values())


KINDS = {
    "degree 1": lambda q, Q: q == Q.degree == 1,
    "the largest degree": lambda q, Q: (q, Q.d, Q.degree) == (4, 1, 4),
    "more variables": lambda q, Q: (q, Q.d) == (2, 3),
    "a constant": lambda q, Q: Q.degree == 0 and Q.at_zero() != 0,
    "nothing": lambda q, Q: not Q.coefficients,
    "dense": lambda q, Q: q == 4 and len(Q.coefficients) == 5,
    "both signs": lambda q, Q: min(Q.coefficients.values(), default=0) < 0,
}


@pytest.mark.parametrize("kind", KINDS)
def test_polynomials_of_every_kind_are_met(kind):
    find(inputs.polynomials(LARGEST), lambda case: KINDS[kind](*case), settings=met)
