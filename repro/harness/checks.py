"""Deciding a check: a measured number against what is allowed.

A measurement that is not a finite number comes out red, whatever it is compared with; a bound that
is not finite is refused, since a check that cannot fail is none.
"""

import math
from fractions import Fraction
from typing import Any

from repro.results.types import Check


class ClaimFailed(AssertionError):
    """A check of a claim came out red; nothing else raises this."""


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


def _pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Both in types that compare exactly: python-flint knows none of Python's but integers."""
    if not (_of_flint(a) or _of_flint(b)):
        return a, b
    return _to_flint(a), _to_flint(b)


def _of_flint(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_of_flint(item) for item in value)
    return type(value).__module__.startswith("flint")


def _to_flint(value: Any) -> Any:
    import flint

    if isinstance(value, (list, tuple)):
        return [_to_flint(item) for item in value]
    if isinstance(value, (int, float, Fraction)) and _finite(value):
        return flint.fmpq(*value.as_integer_ratio())
    return flint.fmpq(value) if isinstance(value, flint.fmpz) else value


def _same(a: Any, b: Any) -> bool:
    """a == b, where the two can be compared at all: what cannot is neither equal nor different."""
    a, b = _pair(a, b)
    if a.__eq__(b) is NotImplemented and b.__eq__(a) is NotImplemented:
        raise TypeError(f"{type(a).__name__} and {type(b).__name__} cannot be compared")
    return bool(a == b)


def _finite(value: Any) -> bool:
    """An infinite or undefined measurement is never as recorded, not even beyond a lower bound."""
    if hasattr(value, "is_finite"):  # balls and decimals
        return bool(value.is_finite())
    try:
        return math.isfinite(value)
    except (TypeError, OverflowError):  # not a float at all, or an integer beyond the floats
        return True


def _check_allowed(*values: Any) -> None:
    for value in values:
        if not _finite(value):
            raise ValueError(f"allowed is {value}: such a check could not fail, or not pass")


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


def at_most(measured: Any, allowed: Any) -> Check:
    measured, allowed = scalar(measured), scalar(allowed)
    _check_allowed(allowed)
    a, b = _pair(measured, allowed)
    ok = _finite(measured) and a <= b
    return _outcome(measured, "<=", allowed, ok, _factor(allowed, measured))


def at_least(measured: Any, allowed: Any) -> Check:
    measured, allowed = scalar(measured), scalar(allowed)
    _check_allowed(allowed)
    a, b = _pair(measured, allowed)
    ok = _finite(measured) and a >= b
    return _outcome(measured, ">=", allowed, ok, _factor(measured, allowed))


def within(measured: Any, expected: Any, tolerance: Any) -> Check:
    measured, expected, tolerance = scalar(measured), scalar(expected), scalar(tolerance)
    _check_allowed(expected, tolerance)
    a, b = _pair(measured, expected)
    distance = abs(a - b)
    near, tolerated = _pair(distance, tolerance)
    ok = _finite(measured) and near <= tolerated
    margin = _factor(tolerance, distance)
    return _outcome(measured, "≈", expected, ok, margin, tolerance)


def equals(measured: Any, expected: Any) -> Check:
    measured, expected = _no_array(measured), _no_array(expected)
    for value in (measured, expected):
        if not is_exact(value):
            raise TypeError(
                f"equals compares exact values, got the {type(value).__name__} {value!r}; "
                "a floating-point number needs `within` and the source of its tolerance"
            )
    return _outcome(measured, "=", expected, _same(measured, expected), None)


def _different(a: Any, b: Any) -> bool:
    """Certainly different: two overlapping balls are neither equal nor different."""
    return not _same(a, b) and bool(a != b)


def refutes(measured: Any, relation: str, expected: Any) -> Check:
    """Whether `measured relation expected` is false; what a ball leaves undecided is not."""
    if not (_finite(measured) and _finite(expected)):
        raise ValueError(f"{measured} {relation} {expected}: what is not finite refutes nothing")
    a, b = _pair(_no_array(measured), _no_array(expected))
    false = {
        "<": lambda: a >= b,
        "<=": lambda: a > b,
        "=": lambda: _different(a, b),
        ">=": lambda: a < b,
        ">": lambda: a <= b,
    }
    return _outcome(measured, f"not {relation}", expected, false[relation](), None)


def _outcome(
    measured: Any, relation: str, allowed: Any, ok: Any, margin: float | None, tolerance: Any = None
) -> Check:
    return Check(
        measured=measured,
        relation=relation,
        allowed=allowed,
        tolerance=tolerance,
        ok=bool(ok),
        margin=margin,
    )


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
