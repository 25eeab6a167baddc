"""What the claims of fang2022 search over: the ranges that the docstrings promise, and their ends."""

from fractions import Fraction

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis.errors import NoSuchExample

from repro.fang2022 import inputs
from repro.numerics.exact import rational

searched = settings(max_examples=120, deadline=None, derandomize=True, database=None)
met = settings(searched, max_examples=20_000, phases=[Phase.generate])
LARGEST = {1: 4, 3: 2}


@searched
@given(inputs.factors())
def test_factors_are_at_most_M(case):
    n, q, M, t, x, y = case
    assert (1 <= n <= 6, 3 <= q <= 7, rational("1/100") <= M <= 100) == (True,) * 3
    assert len(t) == len(x) == len(y) == n
    assert all(abs(v) <= M for v in (*x, *y))
    assert all(abs(v) <= 10**6 for v in t)


@searched
@given(inputs.polynomials(LARGEST))
def test_polynomials_are_of_degree_at_most_q(case):
    q, Q = case
    assert 1 <= q <= LARGEST[Q.d]
    assert Q.degree <= q
    assert all(abs(c) <= 100 for c in Q.coefficients.values())


FACTORS, POLYNOMIALS = inputs.factors(), inputs.polynomials(LARGEST)
MET = {
    "one token": (FACTORS, lambda case: case[0] == 1),
    "six tokens": (FACTORS, lambda case: case[0] == 6),
    "three slots": (FACTORS, lambda case: case[1] == 3),
    "seven slots": (FACTORS, lambda case: case[1] == 7),
    "the two ends": (FACTORS, lambda case: {case[2], -case[2]} <= set(case[4])),
    "zero": (FACTORS, lambda case: (case[4] == 0).any()),
    "inner numbers": (FACTORS, lambda case: any(-case[2] < v < 0 for v in case[5])),
    "large t": (FACTORS, lambda case: max(case[3]) > 1000 and min(case[3]) < 0),
    "degree 1": (POLYNOMIALS, lambda case: case[0] == case[1].degree == 1),
    "the largest degree": (POLYNOMIALS, lambda case: case[1].d == 1 and case[1].degree == 4),
    "more variables": (POLYNOMIALS, lambda case: (case[0], case[1].d) == (2, 3)),
    "a constant": (POLYNOMIALS, lambda case: case[1].degree == 0 and case[1].at_zero() != 0),
    "nothing": (POLYNOMIALS, lambda case: not case[1].coefficients),
    "dense": (POLYNOMIALS, lambda case: case[0] == 4 and len(case[1].coefficients) == 5),
    "both signs": (POLYNOMIALS, lambda case: min(case[1].coefficients.values(), default=0) < 0),
    "M, smallest": (inputs.bounds, lambda M: Fraction(1, 100) == M),
    "M, largest": (inputs.bounds, lambda M: M == 100),
    "t, smallest": (inputs.numbers, lambda t: t == -(10**6)),
    "t, largest": (inputs.numbers, lambda t: t == 10**6),
    "coefficients, smallest": (inputs.coefficients, lambda c: c == -100),
    "coefficients, largest": (inputs.coefficients, lambda c: c == 100),
}


@pytest.mark.parametrize("kind", MET)
def test_inputs_of_every_kind_are_met(kind):
    strategy, found = MET[kind]
    find(strategy, lambda case: bool(found(case)), settings=met)


BEYOND = {
    "M": (inputs.bounds, lambda M: not Fraction(1, 100) <= M <= 100),
    "t": (inputs.numbers, lambda t: abs(t) > 10**6 or t.denominator > 9),
    "shares": (
        inputs.shares,
        lambda s: abs(s) > 1 or max(abs(s.numerator), s.denominator - abs(s.numerator)) > 1000,
    ),
    "coefficients": (inputs.coefficients, lambda c: abs(c) > 100 or c.denominator > 30),
}


@pytest.mark.parametrize("range_of", BEYOND)
def test_nothing_is_met_beyond_the_ends(range_of):
    strategy, beyond = BEYOND[range_of]
    with pytest.raises(NoSuchExample):
        find(strategy, beyond, settings=settings(met, max_examples=1000))
