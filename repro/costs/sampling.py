"""A pytest plugin for runs that are measured: where their time goes, and how much memory they take.

`-p repro.costs.sampling`, as the runs of `python -m repro.costs` have it; no other run is watched.
In each process that runs claims a thread looks every 20 ms at the function that is at work, and
adds the time since its last look to it, for the claim that runs. C code that does not let other
threads run delays a look, and the time goes to its caller. A function of a library counts for the
function of ours that called it, with the library's name: "repro/training/loop.py: step (torch)".

At the end each process leaves its sums in the folder of artifacts, under costs/.
"""

import contextlib
import functools
import re
import sys
import sysconfig
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import repro
from repro import files
from repro.harness.plugin import CONTEXT

FOLDER = "costs"  # in the folder of artifacts: a file for each process
PAUSE = 0.02  # seconds between two looks
LIBRARIES = [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")]


def pytest_configure(config: pytest.Config) -> None:
    context = config.stash.get(CONTEXT, None)
    if context and not context.listing and (context.worker or not context.workers):
        out = context.artifacts / FOLDER / f"{context.worker or 'alone'}.json"
        config.pluginmanager.register(Watch(context.project.root, out), "claims-costs")


class Watch:
    """The hooks of one process: which claim runs, and what its tests took when they are over."""

    def __init__(self, root: Path, out: Path) -> None:
        self.sampler, self.out = Sampler(root), out
        self.peaks: dict[str, int] = {}

    def pytest_sessionstart(self) -> None:
        self.sampler.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.sampler.claim = item.nodeid.partition("::")[0]
        _forget_peak()
        try:
            return (yield)
        finally:
            self.sampler.claim = ""
            self.peaks[item.nodeid] = peak()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self.sampler.end()
        files.write_json(self.out, {"spent": self.sampler.spent, "peaks": self.peaks})


class Sampler(threading.Thread):
    """Seconds by claim and function, of the thread that made it."""

    def __init__(self, root: Path) -> None:
        super().__init__(name="costs", daemon=True)
        self.claim = ""  # the file of the claim that runs; nothing counts between two
        self.spent: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._watched = threading.get_ident()
        self._over = threading.Event()
        self._ours = {root / "claims": "claims", Path(repro.__file__).parent: "repro"}
        self._known = functools.cache(self._named)

    def run(self) -> None:
        last = time.perf_counter()
        while not self._over.wait(PAUSE):
            place, now = self._look(), time.perf_counter()
            if self.claim:
                self.spent[self.claim][place] += now - last
            last = now

    def end(self) -> None:
        self._over.set()
        self.join()

    def _look(self) -> str:
        """No frame is kept beyond this: it would keep the arrays of its function alive."""
        inner = frame = sys._current_frames().get(self._watched)
        while frame and not self._known(frame.f_code.co_filename):
            frame = frame.f_back
        return self._told(frame, inner)

    def _told(self, ours: FrameType | None, inner: FrameType | None) -> str:
        called = library(inner.f_code.co_filename) if inner and inner is not ours else ""
        if ours is None:
            return called or "elsewhere"
        function = re.sub(r"\.<\w+>", "", ours.f_code.co_qualname)  # what is in it is part of it
        name = f"{self._known(ours.f_code.co_filename)}: {function}"
        return f"{name} ({called})" if called else name

    def _named(self, file: str) -> str:
        """A file of ours by its path from the root; others have none."""
        for folder, name in self._ours.items():
            if Path(file).is_relative_to(folder):
                return f"{name}/{Path(file).relative_to(folder).as_posix()}"
        return ""


@functools.cache
def library(file: str) -> str:
    """The package or module that a file is of; none if it is not installed."""
    for folder in LIBRARIES:
        if Path(file).is_relative_to(folder):
            return Path(file).relative_to(folder).parts[0].removesuffix(".py")
    return ""


# --- memory (Linux) ------------------------------------------------------------------------------


def peak(process: Any = "self") -> int:
    """The most memory that a process has held, in bytes; 0 if it is over, or on other systems."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text()
        return 1024 * sum(int(kilobytes) for kilobytes in re.findall(r"VmHWM:\s*(\d+) kB", status))
    return 0


def _forget_peak() -> None:
    """So that each test has a peak of its own; where this is refused, peaks only rise."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
