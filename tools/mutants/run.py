"""All mutants of some files against all that imports them: in parallel, and where it stopped last.

First every file in tests/ that imports a changed file itself, and is not known yet, is run once as
it is, under coverage (reach.py). Then the mutants without a result meet those tests, in jobs of one
file each (session.py), several jobs at a time. Most are seen by then. For the rest the other tests
are looked at likewise, and in the end claims, which takes longest.
"""

import functools
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro.harness import imports
from tools.mutants import children, equivalents, reach, results, session
from tools.mutants.results import Place, Result

PACKAGES = ("fang2022", "jiang2024", "wang2024", "numerics")
LEFT_OUT = ("pictures", "__init__")  # they draw, or only import
AT_ONCE = 80  # mutants in a job
TELL_EVERY = 20  # seconds


def modules(root: Path) -> list[str]:
    """What judges, and everything that claims compute with."""
    found = [path for name in PACKAGES for path in sorted((root / "repro" / name).rglob("*.py"))]
    chosen = [path.relative_to(root) for path in found]
    return [
        *reach.JUDGES,
        *(str(path) for path in chosen if not any(w in str(path) for w in LEFT_OUT)),
    ]


say = functools.partial(print, flush=True)


@dataclass
class Run:
    root: Path
    folder: Path  # results.jsonl, and what tests reach
    workers: int = 2
    deadline: float = float("inf")
    patience: float = 20.0
    operator: str | None = None  # only this one
    listed: bool = False  # those that are listed as equivalent, and only they
    red: list[str] = field(default_factory=list)  # test files that do not pass as they are
    asked: int = 0  # mutants, in the last run
    tried: int = 0

    @property
    def results(self) -> Path:
        return self.folder / "results.jsonl"

    def go(self, files: Sequence[str]) -> list[Result]:
        """Results of all chosen mutants that are settled by now, in the order of the files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        results.mend(self.results)
        tests = reach.test_files(self.root, [self.root / file for file in files])
        places = [place for file in files for place in self._places(file)]
        before = results.read(self.results)
        left = [one for one in places if not results.confirmed(self.root, before.get(one.key))]
        say(f"{len(places)} mutants, {len(left)} to settle")
        for _, turn in itertools.groupby(sorted(left, key=_turn(before)), _turn(before)):
            self._settle(list(turn), tests)
        now = results.read(self.results)
        self.asked = len(places)
        self.tried = sum(now.get(one.key) != before.get(one.key) for one in places)
        return [now[one.key] for one in places if self._settled(now.get(one.key))]

    def _settled(self, one: Result | None) -> bool:
        return results.confirmed(self.root, one) or (one is not None and self._survives(one))

    @staticmethod
    def _survives(one: Result) -> bool:
        return one.whole and one.state not in results.SEEN

    def _settle(self, places: list[Place], tests: Sequence[Path]) -> None:
        """On the nearest tests first; what they do not see, on more; what none sees, on all."""
        for some in self._nearer(places, tests):
            left = self._for_units(places)
            if left and (known := self.prepared(some)):
                self._try(left, known, whole=False)
        now = results.read(self.results)
        left = [one for one in places if not results.confirmed(self.root, now.get(one.key))]
        if left and (known := self.prepared(tests)):
            self._try(left, known, whole=True)

    def _nearer(self, places: list[Place], tests: Sequence[Path]) -> list[list[Path]]:
        """Parts of the tests, each larger than the one before: to look at all takes minutes.

        What imports the changed files itself; all of tests/. The whole is not among them.
        """
        changed = {self.root / place.file for place in places}
        units = [path for path in tests if path.parent.name == "tests"]
        near = [path for path in units if changed & set(imports.imported(path, self.root))]
        parts = [part for part in (near, units) if part and len(part) < len(tests)]
        return parts[:1] if len(near) == len(units) else parts

    def _for_units(self, places: list[Place]) -> list[Place]:
        """Those that are not settled, but for what a claim has seen, or no test and no claim."""
        now = results.read(self.results)
        return [one for one in places if self._may_see(now.get(one.key))]

    def _may_see(self, last: Result | None) -> bool:
        if last is None or results.confirmed(self.root, last):
            return last is None
        return not last.whole if last.state not in results.SEEN else last.by.startswith("tests/")

    def _places(self, file: str) -> list[Place]:
        found = results.places(self.root, file)
        listed = equivalents.standing_for(self.root, found, equivalents.read())
        asked = [one for one in found if self.operator in (None, one.mutant.operator)]
        return [one for one in asked if (one.key in listed) == self.listed]

    def prepared(self, tests: Sequence[Path]) -> reach.Reach | None:
        """What these files reach, each run once if need be; None if there was no time for all."""
        children.warm_up({name for path in tests for name in self._imported(path)})
        if not self._look(tests):
            say("the time was up before all of them had run")
            return None
        return reach.read(self.root, self.folder, tests)

    def _imported(self, path: Path) -> set[str]:
        """By a test file; and by the harness, for a claim."""
        claims = {"jinja2", "latex2mathml", "matplotlib", "filelock", "safetensors", "torch"}
        harness = claims if "claims" in path.parts else set()
        return harness | imports.packages(path, self.root)

    def _look(self, tests: Sequence[Path]) -> bool:
        """Whether there was time for all."""
        waiting = reach.missing(self.root, self.folder, tests)
        if waiting:
            say(f"{len(waiting)} test files are run once as they are, to see what they reach")

        def look(path: Path) -> int:
            said = reach.look(self.root, self.folder, path)
            if said is not None:
                print(f"{path.name} does not pass as it is:\n{said}", file=sys.stderr, flush=True)
            return int(said is not None)

        done = 0
        for path, code in self.parallel(waiting, look):
            done += 1
            say(f"  {done}/{len(waiting)} {path.relative_to(self.root)}")
            if code:
                self.red.append(str(path.relative_to(self.root)))
        return done == len(waiting)

    def _try(self, places: list[Place], known: reach.Reach, *, whole: bool) -> None:
        before = results.read(self.results)
        tasks: dict[str, list[tuple[Place, list[str]]]] = {}
        for place in places:
            last = before.get(place.key)
            by = [last.by] if last and last.by else []
            tests = session.chosen_tests(place, known, by)
            if last is not None and self._holds(last, tests, whole=whole):
                continue
            if tests:
                tasks.setdefault(place.file, []).append((place, tests))
            else:
                out = results.result(place, "not reached", [], self.root, whole=whole)
                results.append(self.results, out)
        job = functools.partial(
            session.Job, self.root, self.results, reach=known, deadline=self.deadline,
            patience=self.patience, whole=whole,
        )  # fmt: skip
        jobs = [
            job(tasks=todo[k : k + AT_ONCE])
            for todo in sorted(tasks.values(), key=len, reverse=True)
            for k in range(0, len(todo), AT_ONCE)
        ]
        total = sum(len(job.tasks) for job in jobs)
        say(f"{total} to try")
        for _ in self.parallel(jobs, _do, lambda: self._progress(before, total)):
            pass

    def _holds(self, last: Result, tests: list[str], *, whole: bool) -> bool:
        if last.state in results.SEEN:
            return results.confirmed(self.root, last)
        return last.whole >= whole and last.rests_on == results.digest(self.root, tests)

    def _progress(self, before: dict[str, Result], total: int) -> None:
        now = results.read(self.results)
        new = [one for key, one in now.items() if before.get(key) != one]
        alive = sum(one.state not in results.SEEN for one in new)
        say(f"  {len(new)}/{total} tried, {alive} survived")

    def parallel(
        self, work: Sequence, do: Callable, tell: Callable[[], None] = lambda: None
    ) -> Iterable[tuple]:
        """Each piece of work in a fork; yields (piece, exit code) as they end."""
        waiting, running = list(work)[::-1], {}
        try:
            yield from self._shared_out(waiting, running, do, tell)
        finally:
            for child in running:
                children.end(child)

    def _shared_out(
        self, waiting: list, running: dict[int, Any], do: Callable, tell: Callable[[], None]
    ) -> Iterable[tuple]:
        told = time.monotonic()
        while waiting or running:
            while waiting and len(running) < self.workers and time.time() < self.deadline:
                piece = waiting.pop()
                running[children.fork(functools.partial(do, piece))] = piece
            if not running:
                return
            for child in list(running):
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    yield running.pop(child), os.waitstatus_to_exitcode(status)
            if time.monotonic() - told > TELL_EVERY:
                told = time.monotonic()
                tell()
            time.sleep(0.05)


def _turn(known: Mapping[str, Result]) -> Callable[[Place], int]:
    """What was never tried comes first, then what was not seen; what was seen is confirmed last."""

    def turn(place: Place) -> int:
        last = known.get(place.key)
        return 0 if last is None else 1 if last.state not in results.SEEN else 2

    return turn


def _do(job: session.Job) -> int:
    job.run()
    return 0
