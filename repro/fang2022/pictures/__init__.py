"""The figures of fang2022's claims: they draw what they are given and measure nothing."""

from typing import TYPE_CHECKING

from repro.lazy import submodules

if TYPE_CHECKING:
    from repro.fang2022.pictures import (
        approximations,
        architecture,
        blocks,
        experiments,
        pieces,
        precision,
        products,
    )

__all__ = [
    "approximations",
    "architecture",
    "blocks",
    "experiments",
    "pieces",
    "precision",
    "products",
]
__getattr__ = submodules(__name__, *__all__)
