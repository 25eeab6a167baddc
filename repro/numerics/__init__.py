"""Common rooms: rates, exact arithmetic, bounds on rounding. Knows no paper and no pytest."""

from typing import TYPE_CHECKING

from repro.lazy import submodules

if TYPE_CHECKING:
    from repro.numerics import exact, rates, roundoff

__all__ = ["exact", "rates", "roundoff"]
__getattr__ = submodules(__name__, *__all__)
