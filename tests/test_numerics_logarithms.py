"""Logarithms of rationals: exact sums, comparisons and exponentials."""

import math
from fractions import Fraction

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.numerics import logarithms
from repro.numerics.logarithms import Log, ball, exp

positive = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50)


@given(positive, positive, st.integers(-6, 6))
def test_logarithms_add_and_multiply_as_exponentials_multiply(r, s, n):
    assert exp(Log(r) + Log(s)) == flint.fmpq(*(r * s).as_integer_ratio())
    assert exp(Log(r) - n * Log(s)) == flint.fmpq(*(r / s**n).as_integer_ratio())
    assert (Log(r) < Log(s)) == (r < s)
    assert (Log(r) > Log(s)) == (r > s)
    assert (Log(r) == Log(s)) == (r == s)
    assert ball(Log(r)).contains(flint.arb(flint.fmpq(*r.as_integer_ratio())).log())


def test_logarithms_refuse_what_is_not_the_logarithm_of_a_rational():
    for wrong in (0, -2):
        with pytest.raises(ValueError, match="needs r > 0"):
            Log(wrong)
    with pytest.raises(ValueError, match="use balls"):
        Fraction(1, 2) * Log(3)
    with pytest.raises(TypeError, match="no rational"):
        Log(2) * Log(3)
    with pytest.raises(TypeError, match="use balls"):
        Log(2) + 1
    with pytest.raises(OverflowError, match="bits"):
        10**12 * Log(3)
    with pytest.raises(ValueError, match="not rational"):
        exp(Fraction(1, 2))
    assert Log(5) - Log(5) == 0
    assert float(Log(2)) == pytest.approx(math.log(2), rel=1e-15)


def test_a_logarithm_compares_as_a_real_number():
    small, large = Log(Fraction(1, 2)), Log(3)
    for a, b in [(small, 0), (0, large), (small, large)]:
        assert a < b
        assert a <= b
        assert b > a
        assert b >= a
        assert a != b
    for zero in (0, Log(1)):
        assert Log(1) <= zero
        assert Log(1) >= zero
        assert not Log(1) < zero
        assert not Log(1) > zero
        assert Log(1) == zero


def test_zero_is_the_only_number_that_is_a_logarithm():
    assert Log(3) != 3
    assert Log(3) + 0 == 0 + Log(3) == Log(3)
    assert 0 - Log(3) == -Log(3) == Log(Fraction(1, 3))
    assert exp(0) == 1
    assert exp(Log(3)) == 3
    with pytest.raises(TypeError, match=r"Log\(3\) \+ 2 is not the logarithm of a rational"):
        2 - -Log(3)


def test_equal_logarithms_are_one_key():
    assert {Log(2): "a", Log(Fraction(4, 2)): "b"} == {Log(2): "b"}
    assert hash(Log(Fraction(2, 3))) != hash(Log(Fraction(3, 2)))


@pytest.mark.parametrize("r", [3, Fraction(1, 3), Fraction(2, 3)], ids=str)
def test_powers_end_where_they_would_have_too_many_bits(r, monkeypatch):
    """Numerator or denominator have two bits, and so their fourth power counts as eight."""
    monkeypatch.setattr(logarithms, "MOST_BITS", 8)
    for n in (4, -4):
        assert n * Log(r) == Log(Fraction(r) ** n)
    for n in (5, -5):
        with pytest.raises(OverflowError, match=rf"e\^\({n} Log\({r}\)\) has more than 8 bits"):
            n * Log(r)


def test_a_ball_holds_the_number_at_the_precision_in_force():
    with flint.ctx.workprec(300):
        assert ball(Log(2)).overlaps(flint.arb.const_log2())
        assert ball(Log(2)).rad() < 1e-85
        assert ball("1/3").contains(flint.fmpq(1, 3))
        assert ball("1/3").rad() < 1e-85
    wide = flint.arb(1, 2)
    assert ball(wide) is wide
