"""A bound knows what it is made of: `theorem(b, "(4.3)") + rounding_error(4 * u, "two products")`.

Each term has a kind and a reason that a reader can check. Terms add up; the page lists them.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

KINDS = {
    "exact": "no tolerance: both sides are exact",
    "theorem": "a bound that is proved: by the statement, or in the place that the reason names",
    "roundoff": "a derived bound on rounding errors",
    "printed": "half a unit of the last digit that the paper prints, or a printed number itself",
    "stderr": "a stated number of standard errors",
    "grid": "what a grid can miss: its spacing times a Lipschitz constant",
    "chosen": "a threshold that we set; the reason says what it decides, never what was measured",
}


@dataclass(frozen=True)
class Source:
    """One term of a bound: its kind, its value, and the reason for it."""

    kind: str
    value: Any
    why: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"source {self.kind!r} is unknown: there is {', '.join(KINDS)}")
        if not self.why.strip():
            raise ValueError(f"a bound of kind {self.kind!r} must say why")

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


@dataclass(frozen=True)
class Bound:
    value: Any
    sources: tuple[Source, ...]

    def __add__(self, other: "Bound") -> "Bound":
        if not isinstance(other, Bound):
            return NotImplemented
        a, b = in_one_library(self.value, other.value)
        return Bound(a + b, self.sources + other.sources)


def in_one_library(a: Any, b: Any) -> tuple[Any, Any]:
    """Both in types that add and compare exactly: python-flint takes only integers of Python's."""
    return (_to_flint(a), _to_flint(b)) if _of_flint(a) or _of_flint(b) else (a, b)


def _of_flint(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_of_flint(item) for item in value)
    return type(value).__module__.startswith("flint")


def _to_flint(value: Any) -> Any:
    import flint

    if isinstance(value, (list, tuple)):
        return [_to_flint(item) for item in value]
    if hasattr(value, "as_integer_ratio") and value - value == 0:  # finite
        return flint.fmpq(*value.as_integer_ratio())
    return flint.fmpq(value) if isinstance(value, flint.fmpz) else value


def _bound(kind: str, value: Any, why: str) -> Bound:
    return Bound(value, (Source(kind, value, why),))


# Each makes a bound from a value and a reason, of the kind that KINDS describes.
exactly = functools.partial(_bound, "exact")
theorem = functools.partial(_bound, "theorem")
rounding_error = functools.partial(_bound, "roundoff")
as_printed = functools.partial(_bound, "printed")
stderr = functools.partial(_bound, "stderr")
grid_error = functools.partial(_bound, "grid")
chosen = functools.partial(_bound, "chosen")


def last_digit(value: float, digits: int) -> Bound:
    """Half a unit of the last digit of a printed number: 0.005 for 5.58, which has three.

    >>> from repro.bounds import last_digit
    >>> last_digit(5.58, 3).value, last_digit(2.39e-4, 3).value
    (0.005, 5e-07)
    """
    unit = math.floor(math.log10(abs(value))) - digits + 1
    return as_printed(float(f"5e{unit - 1}"), "half a unit of the last printed digit")
