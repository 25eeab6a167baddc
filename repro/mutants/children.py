"""pytest in a forked child: what takes long to import is imported once, in the parent.

A child gets the changed source of one module before anything of the package is imported; nothing on
disk is touched. What it prints goes to a file, which the parent reads if it has to tell why.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ALWAYS = ("pytest", "xdist", "pytest_benchmark", "hypothesis")
HEAVY = ("numpy", "scipy.optimize", "scipy.linalg", "scipy.special", "scipy.stats", "torch",
         "torch.func", "flint", "matplotlib.figure", "safetensors.torch", "filelock", "jinja2",
         "latex2mathml.converter")  # fmt: skip


def warm_up(packages: Collection[str]) -> None:
    """Import what takes long, as far as it belongs to these packages."""
    for name in (*ALWAYS, *(name for name in HEAVY if name.split(".")[0] in packages)):
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.startswith("repro.")]:
        if not name.startswith("repro.mutants"):
            del sys.modules[name]  # a child imports it anew: it may be what is changed


@dataclass(frozen=True)
class Changed(importlib.abc.MetaPathFinder):
    """Finds one module, and gives it this source."""

    module: str
    source: str

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        if name != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(name, spec.origin, self.source)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> Any:
        return compile(self._source, self.path, "exec", dont_inherit=True)


current: Changed | None = None  # in a child: what sabotage.py puts in


RED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


def first_red(output: str) -> str:
    """The first test that pytest's summary calls red; "collection" if it did not come that far."""
    found = RED.search(output)
    return found[1] if found and "::" in found[1] else "collection"


@dataclass(frozen=True)
class Ended:
    code: int | None  # None: it took too long
    seconds: float
    output: str


def run(
    arguments: Sequence[str],
    *,
    changed: Changed | None = None,
    limit: float,
    plugins: Callable[[], list[Any]] = list,
) -> Ended:
    """pytest with these arguments, at smoke scale, with a store and artifacts of its own."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        log = Path(folder, "log")
        child = os.fork()
        if child == 0:
            os._exit(_tests(arguments, changed, plugins, folder, log))
        code = wait(child, lambda: time.monotonic() > started + limit)
        text = log.read_text(errors="replace") if log.exists() else ""
    return Ended(code, time.monotonic() - started, text)


def _tests(
    arguments: Sequence[str],
    changed: Changed | None,
    plugins: Callable[[], list[Any]],
    folder: str,
    log: Path,
) -> int:
    os.setsid()  # with what it may start, so that all of it can be ended
    with _output_to(log):
        try:
            global current
            current = changed
            import pytest

            places = ["--artifacts", f"{folder}/artifacts", "--store", f"{folder}/store"]
            quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported
            loaded = ["-p", "repro.mutants.sabotage", "-p", "no:cacheprovider"]
            options = ["-q", "-n0", "--scale", "smoke", *loaded, *quiet, *places]
            return int(pytest.main([*options, *arguments], plugins=plugins()))
        except BaseException as error:
            print(repr(error), flush=True)
            return 3


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    with log.open("w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
        yield
        sys.stdout.flush()
        sys.stderr.flush()


def wait(child: int, late: Callable[[], bool]) -> int | None:
    """The exit code; None if it was late, and has been ended."""
    pause = 0.005
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if late():
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(0.1, 1.5 * pause)
