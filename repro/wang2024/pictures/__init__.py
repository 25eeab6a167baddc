"""The figures of wang2024's claims: they draw what they are given and measure nothing."""

from typing import TYPE_CHECKING

from repro.lazy import submodules

if TYPE_CHECKING:
    from repro.wang2024.pictures import (
        adaptive,
        barron,
        essential,
        exponentials,
        fixed,
        kernels,
        model,
        nested,
        pointer,
        powers,
    )

__all__ = [
    "adaptive",
    "barron",
    "essential",
    "exponentials",
    "fixed",
    "kernels",
    "model",
    "nested",
    "pointer",
    "powers",
]
__getattr__ = submodules(__name__, *__all__)
