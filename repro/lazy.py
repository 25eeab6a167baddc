"""Packages whose modules are imported when first used.

Claim files say `from repro import fang2022` and then `fang2022.multiplication.block(...)`: so
`pytest --co` lists every claim without waiting for torch.
"""

import importlib
from collections.abc import Callable
from types import ModuleType


def submodules(package: str, *names: str) -> Callable[[str], ModuleType]:
    """A `__getattr__` for a package's `__init__`."""

    def __getattr__(name: str) -> ModuleType:
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__
