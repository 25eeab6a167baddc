"""Some mutants in one pytest session: collected once, then a fork for each mutant.

The parent imports and collects, and runs nothing. A fork changes one function (swap.py), takes a
store and artifacts of its own, runs tests from the fastest on, and ends at the first red one.
"""

import dataclasses
import importlib
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from repro.mutants import children, results, swap
from repro.mutants.reach import Reach
from repro.mutants.results import Place

SLOWER = 5.0  # times as long as the tests take as they are, and `patience` seconds: too slow
ENOUGH = 60.0  # seconds of tests, as they are: what has survived so much is a survivor


def chosen_tests(
    place: Place, reach: Reach, first: Sequence[str] = (), enough: float = ENOUGH
) -> list[str]:
    """What to try on a mutant: `first` what saw it before, then the fastest."""
    one = place.mutant
    found = (
        reach.tests(place.file, one.line, one.end_line)
        if place.inside
        else reach.all_tests(place.file)  # evaluated at import
    )
    chosen, time_of_all = [test for test in first if test in reach.seconds], 0.0
    for test in found:
        time_of_all += reach.seconds[test]
        if time_of_all > enough and chosen:
            break
        if test not in chosen:
            chosen.append(test)
    return chosen


@dataclasses.dataclass
class Job:
    root: Path
    out: Path  # results are appended here
    tasks: list[tuple[Place, list[str]]]
    reach: Reach
    deadline: float
    patience: float
    whole: bool

    def run(self) -> None:
        """Those inside of functions in one session, the others each in a run of its own."""
        quick = [task for task in self.tasks if task[0].inside]
        names = sorted({test.split("::")[0] for _, tests in quick for test in tests})
        slow = [task for task in self.tasks if not task[0].inside]
        if quick:
            forks = _Forks(self, quick)
            ended = children.run(names, limit=10**6, plugins=lambda: [forks])
            if ended.code != 0:
                raise RuntimeError(f"{quick[0][0].file}: the session failed\n{ended.output}")
        for place, tests in slow:
            if time.time() < self.deadline:
                self.apart(place, tests)

    def apart(self, place: Place, tests: list[str]) -> None:
        """pytest anew, with the changed module imported."""
        changed = children.Changed(_module(place.file), place.mutant.source)
        state, by, seconds = "not reached", "", 0.0
        for some in _portions(tests):
            ended = children.run([*some, "-x"], changed=changed, limit=self.limit(some))
            seconds += ended.seconds
            state = {0: "survived", None: "too slow"}.get(ended.code, "killed")
            if state != "survived":
                by = children.first_red(ended.output) if state == "killed" else ""
                break
        self.tell(place, state, tests, by=by, seconds=seconds)

    def limit(self, tests: Sequence[str]) -> float:
        return SLOWER * sum(self.reach.seconds[test] for test in tests) + self.patience

    def tell(self, place: Place, state: str, tests: Sequence[str], **more: Any) -> None:
        one = results.result(place, state, tests, self.root, whole=self.whole, **more)
        results.append(self.out, one)


def _module(file: str) -> str:
    return ".".join(Path(file).with_suffix("").parts)


def _portions(tests: Sequence[str]) -> list[list[str]]:
    """Unit tests, which are quick, then claims."""
    claims = [test for test in tests if test.startswith("claims/")]
    others = [test for test in tests if test not in claims]
    return [portion for portion in (others, claims) if portion]


class _Forks:
    """In the session's process: instead of running the tests, run them once for each mutant."""

    def __init__(self, job: Job, tasks: list[tuple[Place, list[str]]]) -> None:
        self._job, self._tasks = job, tasks
        self._sound: dict[str, bool] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.config.pluginmanager.has_plugin("claims-controller"):
            session.config.pluginmanager.unregister(name="claims-controller")
        self._items = {item.nodeid: item for item in session.items}
        self._living = {
            file: self._holders(file) for file in {place.file for place, _ in self._tasks}
        }
        for place, tests in self._tasks:
            if time.time() > self._job.deadline:
                break
            self._one(place, [test for test in tests if test in self._items])
        return True

    def _holders(self, file: str) -> swap.Living:
        importlib.import_module(_module(file))  # a claim may do so late, when it is run
        return swap.functions(str(self._job.root / file))

    def _one(self, place: Place, tests: list[str]) -> None:
        """A test is believed to have seen the mutant if it passes without it, in a fork as well."""
        began = time.monotonic()
        state, by = "not reached", ""
        while tests:
            code, red = self._fork(tests, place)
            if code == NO_SWAP:
                return self._job.apart(place, tests)
            state = {0: "survived", None: "too slow"}.get(code, "killed")
            if state != "killed":
                break
            if self._is_sound(red):
                by = red
                break
            state, tests = "not reached", [test for test in tests if test != red]
        self._job.tell(place, state, tests, by=by, seconds=time.monotonic() - began)

    def _is_sound(self, test: str) -> bool:
        if test not in self._sound:
            self._sound[test] = self._fork([test], None)[0] == 0
        return self._sound[test]

    def _fork(self, tests: list[str], place: Place | None) -> tuple[int | None, str]:
        """The exit code (None: it took too long), and the test that was red."""
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            now = time.monotonic()
            child = os.fork()
            if child == 0:
                os._exit(self._child(tests, place, Path(folder)))
            said, limit = Path(folder, "by"), self._job.limit(tests)
            code = children.wait(child, lambda: time.monotonic() > now + limit or self._hangs(said))
            return code, said.read_text() if said.exists() else "a crash"

    def _hangs(self, said: Path) -> bool:
        """The test that runs, whose name was written when it began, takes too long by itself."""
        if not said.exists() or (test := said.read_text()) not in self._items:
            return False
        return time.time() > said.stat().st_mtime + self._job.limit([test])

    def _child(self, tests: list[str], place: Place | None, folder: Path) -> int:
        os.setsid()
        try:
            if place is not None:
                path = self._job.root / place.file
                swap.put(place.mutant, path.read_text(), str(path), self._living[place.file])
        except (ValueError, SyntaxError):  # 1[0] is one, when warnings are errors
            return NO_SWAP
        return _run([self._items[test] for test in tests], folder)


NO_SWAP = 77


def _run(items: list[pytest.Item], folder: Path) -> int:
    from repro.harness.plugin import CONTEXT

    config = items[0].config
    config.pluginmanager.register(_Stop(folder / "by"), "stop-at-red")
    if CONTEXT in config.stash:
        config.stash[CONTEXT] = dataclasses.replace(
            config.stash[CONTEXT], artifacts=folder / "artifacts", store=folder / "store"
        )
    for place, item in enumerate(items):
        (folder / "by").write_text(item.nodeid)  # whatever happens now
        after = items[place + 1] if place + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
    return 0


class _Stop:
    def __init__(self, by: Path) -> None:
        self._by = by

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._by.write_text(report.nodeid)
            os._exit(1)
