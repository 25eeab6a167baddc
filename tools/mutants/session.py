"""Some mutants in one pytest session: collected once, then a fork for each mutant.

The parent imports and collects, and runs nothing. A fork changes one function (swap.py), takes a
store and artifacts of its own, runs tests from the fastest on, and ends at the first red one.

A test is believed to have seen a mutant only if it passes without it, run likewise. One that is
late (five times as long as it took when it was looked at, and `patience`) is compared with the same
test without the mutant, run just then: a busy machine slows both.
"""

import dataclasses
import importlib
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tools.mutants import children, results, swap
from tools.mutants.reach import Reach, file_of
from tools.mutants.results import Place

SLOWER = 5.0  # times as long as a test takes as it is, and `patience` seconds: late
TWICE = 2.0  # as long as without the mutant at the same time: too slow
ENOUGH = 60.0  # seconds of tests, as they are: what has survived so much is a survivor


def chosen_tests(place: Place, reach: Reach, first: Sequence[str] = ()) -> list[str]:
    """What to try on a mutant: `first` what saw it before, then the fastest."""
    one = place.mutant
    found = (
        reach.all_tests(place.file)
        if evaluated_at_import(place, reach)
        else reach.tests(place.file, one.line, one.end_line)
    )
    chosen, time_of_all = [test for test in first if test in reach.seconds], 0.0
    for test in found:
        time_of_all += reach.seconds[test]
        if time_of_all > ENOUGH and chosen:
            break
        if test not in chosen:
            chosen.append(test)
    return chosen


def evaluated_at_import(place: Place, reach: Reach) -> bool:
    """Outside of functions; or in a function that is called there."""
    one = place.mutant
    return not place.inside or reach.at_import(place.file, one.line, one.end_line)


Task = tuple[Place, list[str]]  # a mutant, and the tests to try it on


@dataclasses.dataclass
class Job:
    root: Path
    out: Path  # results are appended here
    tasks: list[Task]
    reach: Reach
    deadline: float
    patience: float
    whole: bool
    green: dict[str, bool] = dataclasses.field(default_factory=dict)  # without a mutant

    def run(self) -> None:
        """Those that act when a test runs in one session, the others each in a run of its own."""
        slow = [task for task in self.tasks if evaluated_at_import(task[0], self.reach)]
        quick = [task for task in self.tasks if task not in slow]
        for place, tests in [*slow, *(self._session(quick) if quick else ())]:
            if time.time() < self.deadline:
                self.apart(place, tests)

    def _session(self, tasks: list[Task]) -> list[Task]:
        """Those that are left: their functions cannot take the changed code."""
        names = sorted({file_of(test) for _, tests in tasks for test in tests})
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            left = Path(folder, "left")  # written in the session's process, read in this one
            left.touch()
            ended = children.run(names, plugins=lambda: [_Forks(self, tasks, left)])
            keys = left.read_text().split()
        if ended.code != 0:
            raise RuntimeError(f"{tasks[0][0].file}: the session failed\n{ended.output}")
        return [task for task in tasks if task[0].key in keys]

    def apart(self, place: Place, tests: list[str]) -> None:
        """pytest anew, with the changed module imported."""
        changed = children.Changed(_module(place.file), place.mutant.source)
        began, state, by = time.monotonic(), "not reached", ""

        def anew(tests: Sequence[str], mutated: bool) -> children.Ended:
            mutant = changed if mutated else None
            return children.run([*tests, "-x"], changed=mutant, late=self.late)

        for some in _portions(tests):
            try:
                state, by = self.judged(some, anew)
            except TimeIsUp:
                return
            if state in results.SEEN:
                break
        self.tell(place, state, tests, by=by, seconds=time.monotonic() - began)

    def judged(self, tests: list[str], run: "Runner") -> tuple[str, str]:
        """What becomes of a mutant on these tests, and the one that saw it; or TimeIsUp."""
        run = self._in_time(run)
        while tests:
            ended = run(tests, True)
            if ended.code == 0:
                return "survived", ""
            if self._believed(ended, run):
                return "too slow" if ended.code is None else "killed", ended.at
            others = [test for test in tests if test != ended.at and file_of(test) != ended.at]
            if len(others) == len(tests):
                break  # nobody knows where it ended
            tests = others
        return "not reached", ""

    def _believed(self, ended: children.Ended, run: "Runner") -> bool:
        """Red, or late, only with the mutant; and a crash happens again."""
        if not ended.at:
            return False
        if ended.code is None:
            same = run([ended.at], False)
            return same.code == 0 and TWICE * same.seconds < ended.seconds
        crashed = ended.code not in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
        return self._passes(ended.at, run) and not (crashed and run([ended.at], True).code == 0)

    def _in_time(self, run: "Runner") -> "Runner":
        """Beyond the deadline whatever runs is `late`, and tells nothing."""

        def in_time(tests: Sequence[str], mutated: bool) -> children.Ended:
            ended = run(tests, mutated)
            if time.time() > self.deadline:
                raise TimeIsUp
            return ended

        return in_time

    def _passes(self, test: str, run: "Runner") -> bool:
        if test not in self.green:
            self.green[test] = run([test], False).code == 0
        return self.green[test]

    def late(self, test: str, seconds: float) -> bool:
        """Before the first test there is all that is imported, which nobody has timed."""
        allowed = SLOWER * self.reach.seconds.get(test, self.patience) + self.patience
        return seconds > allowed or time.time() > self.deadline

    def tell(self, place: Place, state: str, tests: Sequence[str], **more: Any) -> None:
        one = results.result(place, state, tests, self.root, whole=self.whole, **more)
        results.append(self.out, one)


Runner = Callable[[Sequence[str], bool], children.Ended]  # tests, and whether with the mutant


class TimeIsUp(Exception):
    """A mutant is left as it was: not tried."""


def _module(file: str) -> str:
    return ".".join(Path(file).with_suffix("").parts)


def _portions(tests: Sequence[str]) -> list[list[str]]:
    """Unit tests, which are quick, then claims."""
    claims = [test for test in tests if test.startswith("claims/")]
    others = [test for test in tests if test not in claims]
    return [portion for portion in (others, claims) if portion]


class _Forks:
    """In the session's process: instead of running the tests, run them once for each mutant."""

    def __init__(self, job: Job, tasks: list[Task], left: Path) -> None:
        self._job, self._tasks, self._left = job, tasks, left

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.config.pluginmanager.has_plugin("claims-controller"):
            session.config.pluginmanager.unregister(name="claims-controller")
        self._items = {item.nodeid: item for item in session.items}
        self._living = {file: self._holders(file) for file in {one.file for one, _ in self._tasks}}
        for place, tests in self._tasks:
            if time.time() > self._job.deadline:
                break
            self._one(place, [test for test in tests if test in self._items])
        return True

    def _holders(self, file: str) -> swap.Living:
        importlib.import_module(_module(file))  # a claim may do so late, when it is run
        return swap.functions(str(self._job.root / file))

    def _one(self, place: Place, tests: list[str]) -> None:
        began = time.monotonic()

        def forked(tests: Sequence[str], mutated: bool) -> children.Ended:
            return self._fork(tests, place if mutated else None)

        try:
            state, by = self._job.judged(tests, forked)
        except _NotSwapped:  # nor is it seen by an import: here all is imported already
            with self._left.open("a") as left:
                print(place.key, file=left)
            return
        except TimeIsUp:
            return
        self._job.tell(place, state, tests, by=by, seconds=time.monotonic() - began)

    def _fork(self, tests: Sequence[str], place: Place | None) -> children.Ended:
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            path = Path(folder)
            ended = children.forked(
                lambda: self._child(tests, place, path), path / "at", self._job.late
            )
        if ended.code == NO_SWAP:
            raise _NotSwapped
        return ended

    def _child(self, tests: Sequence[str], place: Place | None, folder: Path) -> int:
        try:
            if place is not None:
                path = self._job.root / place.file
                swap.put(place.mutant, path.read_text(), str(path), self._living[place.file])
        except (ValueError, SyntaxError):  # 1[0] is one, when warnings are errors
            return NO_SWAP
        return _run([self._items[test] for test in tests], folder)


NO_SWAP = 77


class _NotSwapped(Exception):
    """The function cannot take the changed code."""


def _run(items: list[pytest.Item], folder: Path) -> int:
    from repro.harness.plugin import CONTEXT

    config = items[0].config
    config.pluginmanager.register(_Stop(folder / "at"), "stop-at-red")
    if CONTEXT in config.stash:
        config.stash[CONTEXT] = dataclasses.replace(
            config.stash[CONTEXT], artifacts=folder / "artifacts", store=folder / "store"
        )
    for place, item in enumerate(items):
        (folder / "at").write_text(item.nodeid)  # whatever happens now
        after = items[place + 1] if place + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
    return 0


class _Stop:
    def __init__(self, at: Path) -> None:
        self._at = at

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._at.write_text(report.nodeid)
            os._exit(1)
