"""Common rooms: rates, exact arithmetic, bounds on rounding. Knows no paper and no pytest."""

from typing import TYPE_CHECKING

from repro.lazy import submodules

if TYPE_CHECKING:
    from repro.numerics import (
        arrays,
        barron,
        exact,
        l1,
        logarithms,
        lowrank,
        minimax,
        plateau,
        pod,
        polylogarithms,
        rates,
        roundoff,
        superposition,
        vertices,
    )

__all__ = [
    "arrays",
    "barron",
    "exact",
    "l1",
    "logarithms",
    "lowrank",
    "minimax",
    "plateau",
    "pod",
    "polylogarithms",
    "rates",
    "roundoff",
    "superposition",
    "vertices",
]
__getattr__ = submodules(__name__, *__all__)
