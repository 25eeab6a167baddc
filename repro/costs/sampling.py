"""A pytest plugin for runs that are measured: where their time goes, and how much memory they take.

`-p repro.costs.sampling`, as the runs of `python -m repro.costs` have it; no other run is watched.
In each process that runs claims a thread looks every 50 ms at the function that is at work, and
adds the time since its last look to it, for the claim that runs. C code that does not let other
threads run delays a look, and the time goes to its caller. A function of a library counts for the
function of ours that called it: a place is ours, the library, and the function that it is in.

Python lets a waiting thread in after 5 ms, or sooner where the one at work gives way of its own
accord (numpy's get_state does, which hypothesis calls before every example): such a place would
catch each look of the 5 ms before it. So while a process is watched threads change places at once.

At the end each process leaves its sums in the folder of artifacts, under costs/, and when its first
test began and its last ended.
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
PAUSE = 0.05  # seconds between two looks
AT_ONCE = 1e-4  # seconds that a look waits for its turn
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
        self.added: dict[str, int] = {}  # at the peak, to what the process held before the test
        self.span: list[float] = []  # when the first test began and the last ended

    def pytest_sessionstart(self) -> None:
        self.sampler.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.sampler.claim = item.nodeid.partition("::")[0]
        began = self.span[0] if self.span else time.monotonic()
        _forget_peak()
        before = memory("VmRSS")
        try:
            return (yield)
        finally:
            self.sampler.claim = ""
            self.span = [began, time.monotonic()]
            self.peaks[item.nodeid] = peak()
            self.added[item.nodeid] = peak() - before

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self.sampler.end()
        spent = [
            [claim, *place, seconds]
            for claim, places in self.sampler.spent.items()
            for place, seconds in places.items()
        ]
        held = {"peaks": self.peaks, "added": self.added}
        files.write_json(self.out, {"spent": spent, **held, "span": self.span})


Place = tuple[str, str, str]  # a function of ours, and a library with its function, or nothing


class Sampler(threading.Thread):
    """Seconds by claim and place, of the thread that made it."""

    def __init__(self, root: Path) -> None:
        super().__init__(name="costs", daemon=True)
        self.claim = ""  # the file of the claim that runs; nothing counts between two
        self.spent: dict[str, dict[Place, float]] = defaultdict(lambda: defaultdict(float))
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

    def start(self) -> None:
        self._before = sys.getswitchinterval()
        sys.setswitchinterval(AT_ONCE)
        super().start()

    def end(self) -> None:
        self._over.set()
        self.join()
        sys.setswitchinterval(self._before)

    def _look(self) -> Place:
        """No frame is kept beyond this: it would keep the arrays of its function alive."""
        return self.place(sys._current_frames().get(self._watched))

    def place(self, inner: FrameType | None) -> Place:
        frame = inner
        while frame and (_pretends(frame) or not self._known(frame.f_code.co_filename)):
            frame = frame.f_back
        ours = f"{self._known(frame.f_code.co_filename)}: {_function(frame)}" if frame else ""
        called = library(inner.f_code.co_filename) if inner and inner is not frame else ""
        return ours, called, _function(inner) if inner and called else ""

    def _named(self, file: str) -> str:
        """A file of ours by its path from the root; others have none."""
        for folder, name in self._ours.items():
            if Path(file).is_relative_to(folder):
                return f"{name}/{Path(file).relative_to(folder).as_posix()}"
        return ""


def _pretends(frame: FrameType) -> bool:
    """hypothesis runs a function within one that it makes, and gives that the function's file."""
    return str(frame.f_globals.get("__name__")).startswith("hypothesis_temporary_module")


def _function(frame: FrameType) -> str:
    """Its name; a comprehension or a lambda is part of the function around it."""
    return re.sub(r"\.<\w+>", "", frame.f_code.co_qualname)


@functools.cache
def library(file: str) -> str:
    """The package or module that a file is of; none if it is not installed."""
    if file.startswith("<frozen importlib"):
        return "importlib"
    for folder in LIBRARIES:
        if Path(file).is_relative_to(folder):
            return Path(file).relative_to(folder).parts[0].removesuffix(".py")
    return ""


# --- memory (Linux) ------------------------------------------------------------------------------


def peak(process: Any = "self") -> int:
    """The most memory that a process has held, in bytes; 0 if it is over, or on other systems."""
    return memory("VmHWM", process)


def memory(kind: str, process: Any = "self") -> int:
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text()
        return 1024 * sum(map(int, re.findall(rf"{kind}:\s*(\d+) kB", status)))
    return 0


def _forget_peak() -> None:
    """So that each test has a peak of its own; where this is refused, peaks only rise."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
