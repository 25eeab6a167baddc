"""Logarithms of rationals: what test_l1.py does not ask of them."""

from fractions import Fraction

import flint
import pytest

from repro.numerics import logarithms
from repro.numerics.logarithms import Log, ball, exp


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
