"""One check: a measured number, what was allowed, and where the tolerance comes from.

A check is made by comparing; it never raises on a bad value, it comes out red. In particular a
nan is never within anything.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

SOURCES = {
    "theorem": "the bound of the statement itself",
    "roundoff": "a derived bound on rounding errors",
    "printed": "half a unit of the last printed digit",
    "stderr": "a stated number of standard errors over seeds",
    "grid": "grid spacing times a Lipschitz constant",
    "spread": "the measured spread over declared settings",
    "exact": "no tolerance: exact arithmetic",
}


class ClaimFailed(AssertionError):
    """A check of a claim came out red; nothing else raises this."""


@dataclass(frozen=True)
class Check:
    name: str
    equation: str
    measured: Any
    relation: str
    allowed: Any
    source: str
    ok: bool
    tolerance: Any = None
    margin: float | None = None
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How far off, as a factor: above 1 when red."""
        return 1 / self.margin if self.margin else None


def check_source(source: str) -> str:
    kind, colon, why = source.partition(":")
    if kind not in SOURCES or not colon or not why.strip():
        raise ValueError(
            f"source {source!r} must read '<kind>: <why>' with a kind of {', '.join(SOURCES)}"
        )
    return source


def scalar(value: Any) -> Any:
    """The one number in `value`; several numbers in one check would hide the worst of them."""
    if getattr(value, "shape", ()) != () or isinstance(value, (list, tuple, set, dict)):
        raise TypeError(f"a check compares one number, got {type(value).__name__}: reduce it first")
    return value.item() if hasattr(value, "item") else value


def is_exact(value: Any) -> bool:
    """Integers, rationals, polynomials and words are exact; floating-point numbers are not."""
    return not isinstance(value, (float, complex)) and not hasattr(value, "dtype")


def at_most(measured: Any, allowed: Any) -> dict[str, Any]:
    measured, allowed = scalar(measured), scalar(allowed)
    return _outcome(measured, "<=", allowed, measured <= allowed, _factor(allowed, measured))


def at_least(measured: Any, allowed: Any) -> dict[str, Any]:
    measured, allowed = scalar(measured), scalar(allowed)
    return _outcome(measured, ">=", allowed, measured >= allowed, _factor(measured, allowed))


def within(measured: Any, expected: Any, tolerance: Any) -> dict[str, Any]:
    measured, expected, tolerance = scalar(measured), scalar(expected), scalar(tolerance)
    distance = abs(measured - expected)
    outcome = _outcome(measured, "≈", expected, distance <= tolerance, _factor(tolerance, distance))
    return {**outcome, "tolerance": tolerance}


def equals(measured: Any, expected: Any) -> dict[str, Any]:
    for value in (measured, expected):
        if not is_exact(value):
            raise TypeError(
                f"equals compares exact values, got the {type(value).__name__} {value!r}; "
                "a floating-point number needs `within` and the source of its tolerance"
            )
    return _outcome(measured, "=", expected, measured == expected, None)


RELATIONS = {"<=": at_most, ">=": at_least, "=": equals}


def _outcome(
    measured: Any, relation: str, allowed: Any, ok: Any, margin: float | None
) -> dict[str, Any]:
    return {
        "measured": measured,
        "relation": relation,
        "allowed": allowed,
        "ok": bool(ok),
        "margin": margin,
    }


def _factor(large: Any, small: Any) -> float | None:
    """large/small as a float; None where no factor makes sense (signs, nan, both zero)."""
    try:
        large, small = (
            float(Fraction(int(v.p), int(v.q))) if hasattr(v, "q") else float(v)
            for v in (large, small)
        )
    except (TypeError, ValueError):
        return None
    if large < 0 or small < 0 or math.isnan(large) or math.isnan(small) or large == small == 0:
        return None
    if math.isinf(large) and math.isinf(small):
        return None
    return math.inf if small == 0 else large / small
