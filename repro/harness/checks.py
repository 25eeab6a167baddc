"""Deciding a check: a measured number against what is allowed.

A measurement that is not a finite number comes out red, whatever it is compared with; a bound that
is not finite is refused, since a check that cannot fail is none.
"""

import math
from fractions import Fraction
from typing import Any

from repro.bounds import in_one_library
from repro.results.types import Check


class ClaimFailed(AssertionError):
    """A check of a claim came out red; nothing else raises this."""


def at_most(measured: Any, allowed: Any) -> Check:
    measured, allowed = scalar(measured), _finite_bound(allowed)
    a, b = in_one_library(measured, allowed)
    ok = _is_finite(measured) and a <= b
    return _check(measured, "<=", allowed, ok, margin=_factor(allowed, measured))


def at_least(measured: Any, allowed: Any) -> Check:
    measured, allowed = scalar(measured), _finite_bound(allowed)
    a, b = in_one_library(measured, allowed)
    ok = _is_finite(measured) and a >= b
    return _check(measured, ">=", allowed, ok, margin=_factor(measured, allowed))


def within(measured: Any, expected: Any, tolerance: Any) -> Check:
    measured, expected = scalar(measured), _finite_bound(expected)
    tolerance = _finite_bound(tolerance)
    a, b = in_one_library(measured, expected)
    near, tolerated = in_one_library(abs(a - b), tolerance)
    ok = _is_finite(measured) and near <= tolerated
    margin = _factor(tolerance, abs(a - b))
    return _check(measured, "≈", expected, ok, margin=margin, tolerance=tolerance)


def equals(measured: Any, expected: Any) -> Check:
    measured, expected = _no_array(measured), _no_array(expected)
    for value in (measured, expected):
        if not is_exact(value):
            raise TypeError(
                f"equals compares exact values, got the {type(value).__name__} {value!r}; "
                "a floating-point number needs `within` and the source of its tolerance"
            )
    return _check(measured, "=", expected, _same(measured, expected))


def refutes(measured: Any, relation: str, expected: Any) -> Check:
    """Whether `measured relation expected` is false; what a ball leaves undecided is not."""
    if not (_is_finite(measured) and _is_finite(expected)):
        raise ValueError(f"{measured} {relation} {expected}: what is not finite refutes nothing")
    a, b = in_one_library(_no_array(measured), _no_array(expected))
    false = {
        "<": lambda: a >= b,
        "<=": lambda: a > b,
        "=": lambda: not _same(a, b) and a != b,  # overlapping balls are neither
        ">=": lambda: a < b,
        ">": lambda: a <= b,
    }
    return _check(measured, f"not {relation}", expected, false[relation]())


def outcome(paper: Any, ours: Any, tolerance: Any, order: bool) -> str:
    """Of a printed cell: does ours match, does the comparison drawn from it come out, or not?"""
    if ours is None:
        return "not run"
    if tolerance is not None:
        same = within(ours, paper, tolerance).ok
    else:  # a float matches within a tolerance that was stated beforehand, or not at all
        alike = isinstance(paper, str) == isinstance(ours, str)
        same = alike and is_exact(paper) and is_exact(ours) and _same(paper, ours)
    return "matches" if same else "same order" if order else "differs"


def is_exact(value: Any) -> bool:
    """Integers, rationals, polynomials and words are exact; floating-point numbers are not."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(is_exact(item) for item in value)
    if isinstance(value, dict):
        return all(is_exact(item) for item in value.values())
    if type(value).__name__ in ("arf", "Decimal"):  # floating point by other names
        return False
    if hasattr(value, "dtype"):  # numpy and torch
        return "int" in str(value.dtype) or "bool" in str(value.dtype)
    return not isinstance(value, (float, complex))


def scalar(value: Any) -> Any:
    """The one number in `value`; several numbers in one check would hide the worst of them."""
    if isinstance(value, (list, tuple, set, dict)):
        raise TypeError(f"a check compares one number, got {type(value).__name__}: reduce it first")
    return _no_array(value)


def _no_array(value: Any) -> Any:
    if getattr(value, "shape", ()) != ():
        what = f"an array of shape {tuple(value.shape)}"
        raise TypeError(f"a check compares one number, got {what}: reduce it first")
    return value.item() if hasattr(value, "item") else value


def _finite_bound(value: Any) -> Any:
    value = scalar(value)
    if not _is_finite(value):
        raise ValueError(f"allowed is {value}: such a check could not fail, or not pass")
    return value


def _is_finite(value: Any) -> bool:
    """An infinite or undefined measurement is never as recorded, not even beyond a lower bound."""
    if hasattr(value, "is_finite"):  # balls and decimals
        return bool(value.is_finite())
    try:
        return math.isfinite(value)
    except (TypeError, OverflowError):  # not a float at all, or an integer beyond the floats
        return True


def _same(a: Any, b: Any) -> bool:
    """a == b, where the two can be compared at all: what cannot is neither equal nor different."""
    a, b = in_one_library(a, b)
    if a.__eq__(b) is NotImplemented and b.__eq__(a) is NotImplemented:
        raise TypeError(f"{type(a).__name__} and {type(b).__name__} cannot be compared")
    return bool(a == b)


def _check(measured: Any, relation: str, allowed: Any, ok: Any, **more: Any) -> Check:
    return Check(measured=measured, relation=relation, allowed=allowed, ok=bool(ok), **more)


def _factor(large: Any, small: Any) -> float | None:
    """large/small; None where no factor makes sense (signs, nan, both zero, not numbers)."""
    try:
        above, below = _fraction(large), _fraction(small)
    except (TypeError, ValueError, OverflowError):
        return None
    if above < 0 or below < 0 or above == below == 0:
        return None
    try:
        return math.inf if below == 0 else float(above / below)
    except OverflowError:
        return math.inf


def _fraction(value: Any) -> Fraction:
    """A finite number, exactly; OverflowError or ValueError for inf and nan."""
    if type(value).__name__ == "fmpq":
        return Fraction(int(value.p), int(value.q))
    return Fraction(value if isinstance(value, (int, Fraction)) else float(value))
