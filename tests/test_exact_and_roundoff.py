"""Exact numbers that are exact, roundings that are correct, bounds that are the smallest."""

import math
import numbers
from decimal import Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.numerics.exact import rational, rationals, symbols, to_float, vector
from repro.numerics.roundoff import rounded, two_product, unit

q = flint.fmpq
searched = settings(max_examples=200, deadline=None, derandomize=True, database=None)


# --- exact ---------------------------------------------------------------------------------------


class Ratio:
    """As sympy has them: a numerator and a denominator, and no as_integer_ratio."""

    numerator, denominator = 2, 3


numbers.Rational.register(Ratio)
RATIONALS = {
    "int": (3, (3, 1)),
    "huge int": (10**400, (10**400, 1)),
    "bool": (True, (1, 1)),
    "Fraction": (Fraction(-2, 6), (-1, 3)),
    "float": (0.1, (3602879701896397, 36028797018963968)),
    "smallest float": (5e-324, (1, 2**1074)),
    "float32": (np.float32(0.1), (13421773, 134217728)),
    "float64": (np.float64(-0.75), (-3, 4)),
    "Decimal": (Decimal("0.1"), (1, 10)),
    "p/q in words": ("1/3", (1, 3)),
    "decimal in words": ("-0.1", (-1, 10)),
    "fmpq": (q(2, 6), (1, 3)),
    "numpy's int": (np.int64(3), (3, 1)),
    "fmpz": (flint.fmpz(3), (3, 1)),
    "torch's int": (torch.tensor(3), (3, 1)),
    "long double": (np.longdouble(3) / 4, (3, 4)),
    "without as_integer_ratio": (Ratio(), (2, 3)),
}


@pytest.mark.parametrize(("value", "pair"), RATIONALS.values(), ids=RATIONALS)
def test_a_number_becomes_the_rational_that_it_is(value, pair):
    found = rational(value)
    assert type(found) is q
    assert (int(found.p), int(found.q)) == pair


@pytest.mark.parametrize("value", [None, 1j, [1]], ids=str)
def test_what_is_no_number_is_no_rational(value):
    with pytest.raises(TypeError, match="is no rational: give an integer, a Fraction, a float or"):
        rational(value)


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3), (2, 1, 2)], ids=str)
def test_an_array_of_rationals_has_the_shape_of_its_values(shape):
    values = np.arange(math.prod(shape)).reshape(shape) / 4
    found = rationals(values)
    assert (found.shape, found.dtype) == (shape, object)
    assert all(type(value) is q for value in found.ravel())
    assert found.ravel().tolist() == [q(i, 4) for i in range(values.size)]


def test_a_vector_of_polynomials_is_not_taken_apart():
    x, y = symbols("x", "y")
    found = vector([x + 1, y, x * y, 3])
    assert (found.shape, found.dtype) == ((4,), object)
    assert found[2] == x * y
    assert (found @ found) == (x + 1) ** 2 + y**2 + x**2 * y**2 + 9
    assert str(x * y / 3) == "1/3*x*y"
    one = flint.fmpq_poly([1, 2, 3])
    assert vector([one, one]).shape == (2,)


def nearest(value, exact):
    """No neighbour of the float is nearer to the exact number."""
    off = abs(Fraction(value) - exact)
    beside = [math.nextafter(value, end) for end in (-math.inf, math.inf)]
    return all(off <= abs(Fraction(b) - exact) for b in beside if math.isfinite(b))


# With 60 bits above and below, dividing the rounded numbers is wrong in one case of three.
long = st.integers(2**60, 2**70)


@searched
@given(st.builds(Fraction, long, long) | st.fractions(-(10**300), 10**300))
def test_to_float_rounds_correctly(exact):
    value = to_float(rational(exact)).item()
    assert nearest(value, exact)
    assert to_float([exact]).tolist() == [value]


@searched
@given(st.builds(Fraction, long, long), st.booleans())
def test_to_odd_goes_to_the_neighbour_with_an_odd_last_bit(exact, negative):
    exact = -exact if negative else exact
    value = to_float(rational(exact), to_odd=True).item()
    up, down = math.nextafter(value, math.inf), math.nextafter(value, -math.inf)
    assert Fraction(down) < exact < Fraction(up)
    assert Fraction(value) == exact or int(value / math.ulp(value)) % 2 == 1


def test_what_went_to_odd_can_be_rounded_again():
    """Just above half way between 1 and the next float32, nearest goes to the middle, then to 1."""
    exact = 1 + Fraction(1, 2**24) + Fraction(1, 2**60)
    assert np.float32(to_float(rational(exact)).item()) == 1.0
    assert np.float32(to_float(rational(exact), to_odd=True).item()) == 1 + 2.0**-23


def test_floats_and_small_integers_stay_what_they_are():
    for value in (0.1, 3, -7, 2**53, -(2**53), 5e-324):
        assert to_float([value], to_odd=True).tolist() == [float(value)]
    for sign in (1, -1):  # 2^53 is even in its last bit, 2^53 + 2 is odd
        assert to_float([sign * (2**53 + 1)]).item() == sign * 2.0**53
        assert to_float([sign * (2**53 + 1)], to_odd=True).item() == sign * (2.0**53 + 2)
        assert to_float([sign * (2**54 + 1)], to_odd=True).item() == sign * (2.0**54 + 4)


# --- round-off -----------------------------------------------------------------------------------

# torch calls the spacing above 1 `eps`: 2**-52, 2**-23, 2**-10, 2**-7. The unit is half of it.
UNITS = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


@pytest.mark.parametrize(("dtype", "u"), UNITS.items(), ids=UNITS)
def test_the_unit_is_half_the_spacing_above_one(dtype, u):
    assert unit(dtype) == u
    assert unit(getattr(torch, dtype)) == u
    one = torch.tensor(1.0, dtype=getattr(torch, dtype))
    assert (torch.nextafter(one, 2 * one) - one).item() == 2 * u


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_rounding_goes_to_the_nearest_and_ties_to_the_even(dtype):
    u = UNITS[dtype]
    assert [rounded(1 + k * u, dtype) for k in (0, 0.99, 1, 1.01, 2, 3)] == [
        1, 1, 1, 1 + 2 * u, 1 + 2 * u, 1 + 4 * u,
    ]  # fmt: skip
    assert rounded(-1 - 1.01 * u, dtype) == -1 - 2 * u


@searched
@given(st.floats(1e-4, 6e4) | st.floats(-6e4, -1e-4), st.sampled_from(sorted(UNITS)))
def test_no_rounding_is_off_by_more_than_the_unit(value, dtype):
    assert abs(Fraction(rounded(value, dtype)) - Fraction(value)) <= UNITS[dtype] * Fraction(
        abs(value)
    )


factors = st.just(0.0) | st.floats(2.0**-400, 2.0**400) | st.floats(-(2.0**400), -(2.0**-400))


@searched
@given(st.lists(st.tuples(factors, factors), min_size=1, max_size=20))
def test_a_product_is_the_sum_of_its_two_parts_exactly(pairs):
    x, y = torch.tensor(pairs, dtype=torch.float64).T
    high, low = two_product(x, y)
    assert high.tolist() == (x * y).tolist()
    for (a, b), h, l in zip(pairs, high.tolist(), low.tolist(), strict=True):
        assert Fraction(a) * Fraction(b) == Fraction(h) + Fraction(l)


def test_a_product_is_the_sum_of_two_parts_by_hand():
    a = 1 + 2.0**-30
    high, low = two_product(
        torch.tensor(a, dtype=torch.float64), torch.tensor(a, dtype=torch.float64)
    )
    assert (high.item(), low.item()) == (1 + 2.0**-29, 2.0**-60)
