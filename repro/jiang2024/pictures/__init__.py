"""The figures of jiang2024's claims: they draw what they are given and measure nothing."""

from typing import TYPE_CHECKING

from repro.lazy import submodules

if TYPE_CHECKING:
    from repro.jiang2024.pictures import (
        attention,
        head_sizes,
        rate,
        recurrent,
        reordered,
        representation,
        shape,
        tables,
        tasks,
        trained_rate,
    )

__all__ = [
    "attention",
    "head_sizes",
    "rate",
    "recurrent",
    "reordered",
    "representation",
    "shape",
    "tables",
    "tasks",
    "trained_rate",
]
__getattr__ = submodules(__name__, *__all__)
