"""Packages whose modules are imported when first used.

A claim file that says `from repro.fang2022 import multiplication` gets a stand-in, so that
`pytest --co` lists every claim without waiting for torch.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class Later(ModuleType):
    """Stands for a module that has not been imported yet; monkeypatch changes the module itself.

    pytest asks everything that it finds in a claim file for `__test__`, `_mock_name` and the like:
    these do not load it.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "_mock")):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(self.__name__), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(importlib.import_module(self.__name__), name, value)

    @property
    def __dict__(self) -> dict[str, Any]:
        """Where monkeypatch looks, once it has loaded the module, for what it must put back."""
        module = sys.modules.get(self.__name__)
        return {} if module is None else vars(module)


def submodules(package: str) -> Callable[[str], ModuleType]:
    """A `__getattr__` for a package's `__init__`."""

    def __getattr__(name: str) -> ModuleType:
        if name.startswith("__") or importlib.util.find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return Later(f"{package}.{name}")

    return __getattr__
