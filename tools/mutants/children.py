"""pytest in a forked child: what takes long to import is imported once, in the parent.

A child gets the changed source of one module before anything of the package is imported; nothing on
disk is touched. What it prints goes to a file, which the parent reads if it has to tell why. A
child ends with its parent, however that ends.
"""

import contextlib
import ctypes
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
from dataclasses import dataclass, replace
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
    """The first that pytest's summary calls red: if no test has begun, a file."""
    found = RED.search(output)
    return found[1] if found else ""


@dataclass(frozen=True)
class Ended:
    code: int | None  # None: it was late
    at: str  # the test that was red, or that ran when it ended; "" if none had begun
    seconds: float  # since that test began
    output: str = ""


Late = Callable[[str, float], bool]  # the test that runs, and the seconds since it began


def never(test: str, seconds: float) -> bool:
    return False


def run(
    arguments: Sequence[str],
    *,
    changed: Changed | None = None,
    late: Late = never,
    plugins: Callable[[], list[Any]] = list,
) -> Ended:
    """pytest with these arguments, at smoke scale, with a store and artifacts of its own."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        log, at = Path(folder, "log"), Path(folder, "at")
        ended = forked(
            lambda: _tests(arguments, changed, [*plugins(), Beginning(at)], folder, log), at, late
        )
        text = log.read_text(errors="replace") if log.exists() else ""
        return replace(ended, at=ended.at or first_red(text), output=text)


class Beginning:
    """A plugin that writes down which test has begun."""

    def __init__(self, at: Path) -> None:
        self._at = at

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._at.write_text(nodeid)


def _tests(
    arguments: Sequence[str],
    changed: Changed | None,
    plugins: list[Any],
    folder: str,
    log: Path,
) -> int:
    with _output_to(log):
        try:
            global current
            current = changed
            import pytest

            places = ["--artifacts", f"{folder}/artifacts", "--store", f"{folder}/store"]
            quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported
            loaded = ["-p", "tools.mutants.sabotage", "-p", "no:cacheprovider"]
            options = ["-q", "-n0", "--scale", "smoke", *loaded, *quiet, *places]
            return int(pytest.main([*options, *arguments], plugins=plugins))
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


def forked(do: Callable[[], int], at: Path, late: Late) -> Ended:
    """`do` in a child, which writes the name of a test into `at` when that begins."""
    began = time.time()
    child = fork(do)

    def now() -> tuple[str, float]:
        if not at.exists():
            return "", time.time() - began
        return at.read_text(), time.time() - at.stat().st_mtime

    code = wait(child, lambda: late(*now()))
    return Ended(code, *now())


def fork(do: Callable[[], int]) -> int:
    """`do` in a child, which is a session of its own, so that all that it starts can be ended."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    code = 3
    try:
        os.setsid()
        _end_with(parent)
        code = do()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def _end_with(parent: int) -> None:
    """Linux ends this process when its parent ends; elsewhere `wait` does, if it can."""
    if sys.platform == "linux":
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(3)


def wait(child: int, late: Callable[[], bool]) -> int | None:
    """The exit code; None if it was late, and has been ended."""
    pause = 0.005
    try:
        while not late():
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(pause)
            pause = min(0.1, 1.5 * pause)
    except BaseException:
        end(child)
        raise
    end(child)
    return None


def end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has not become a session yet
        os.killpg(child, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
