"""Common rooms: rates, exact arithmetic, bounds on rounding. Knows no paper and no pytest."""

from typing import TYPE_CHECKING

from repro.lazy import submodules

if TYPE_CHECKING:
    from repro.numerics import exact, minimax, rates, roundoff

__all__ = ["exact", "minimax", "rates", "roundoff"]
__getattr__ = submodules(__name__, *__all__)
