"""A pytest plugin for runs that are measured: where their time goes, and how much memory they take.

`-p tools.costs.sampling`, as the runs of `python -m tools.costs` have it; no other run is watched.
In each process that runs claims an alarm rings every 50 ms: the function that is at work then gets
the time since the last look, for the claim that runs. While C code runs, the alarm waits, and the
time goes to its caller. A function of a library counts for the function of ours that called it: a
place is ours, and the library.

(Another thread, looking from outside, would do without the alarm, but Python 3.11 does not bear
that: frames that are looked at from another thread while they come and go are not always whole, and
claims crashed, or failed for no reason of theirs.)

At the end each process leaves its sums in the folder of artifacts, under costs/, with the seconds
of each test and the memory that it added at its peak.
"""

import contextlib
import functools
import re
import signal
import sysconfig
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import repro
from repro import files
from repro.harness.plugin import CONTEXT

FOLDER = "costs"  # in the folder of artifacts: a file for each process
PAUSE = 0.05  # seconds between two looks
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
        self.tests: dict[str, dict[str, float]] = {}

    def pytest_sessionstart(self) -> None:
        self.sampler.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.sampler.claim = item.nodeid.partition("::")[0]
        forget_peak()
        began, before = time.monotonic(), memory("VmRSS")
        try:
            return (yield)
        finally:
            self.sampler.claim = ""
            self.tests[item.nodeid] = {
                "seconds": time.monotonic() - began, "peak": peak(), "added": peak() - before,
            }  # fmt: skip

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self.sampler.end()
        spent = [
            [claim, *place, seconds]
            for claim, places in self.sampler.spent.items()
            for place, seconds in places.items()
        ]
        files.write_json(self.out, {"spent": spent, "tests": self.tests})


Place = tuple[str, str]  # a function of ours, and a library or nothing


class Sampler:
    """Seconds by claim and place, of the main thread, in which pytest runs its tests."""

    def __init__(self, root: Path) -> None:
        self.claim = ""  # the file of the claim that runs; nothing counts between two
        self.spent: dict[str, dict[Place, float]] = defaultdict(lambda: defaultdict(float))
        self._ours = {root / "claims": "claims", Path(repro.__file__).parent: "repro"}
        self._known = functools.cache(self._named)
        self._last = 0.0

    def start(self) -> None:
        self._last = time.perf_counter()
        self._before = signal.signal(signal.SIGALRM, self._look)
        signal.siginterrupt(signal.SIGALRM, False)  # C code that waits goes on waiting
        signal.setitimer(signal.ITIMER_REAL, PAUSE, PAUSE)

    def end(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _look(self, _: int, frame: FrameType | None) -> None:
        """No frame is kept beyond this: it would keep the arrays of its function alive."""
        now = time.perf_counter()
        if self.claim:
            self.spent[self.claim][self.place(frame)] += now - self._last
        self._last = now

    def place(self, inner: FrameType | None) -> Place:
        frame = inner
        while frame and (_pretends(frame) or not self._known(frame.f_code.co_filename)):
            frame = frame.f_back
        ours = f"{self._known(frame.f_code.co_filename)}: {_function(frame)}" if frame else ""
        return ours, library(inner.f_code.co_filename) if inner and inner is not frame else ""

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


def peak() -> int:
    """The most memory that this process has held, in bytes; 0 on other systems."""
    return memory("VmHWM")


def memory(kind: str) -> int:
    with contextlib.suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return 1024 * sum(map(int, re.findall(rf"{kind}:\s*(\d+) kB", status)))
    return 0


def forget_peak() -> None:
    """So that each test has a peak of its own; where this is refused, peaks only rise."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
