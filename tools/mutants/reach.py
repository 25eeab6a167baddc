"""Which tests execute which lines, and how long each takes: from one run as the code is.

Every test file runs in a child of its own, so that nothing that an earlier file has computed and
kept hides a line from a later one. Within a file what is kept (a cache, a fixture) shows up in the
first test that asks for it only; so a mutant is tried on the tests that execute its line, and then
on the others of their files.

What was seen of a file is kept until the file, or a module that it executes, changes.
"""

import hashlib
import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from repro import files
from repro.harness import imports
from tools.mutants import children

RUNNING = ("repro/harness/", "repro/report/", "repro/training/", "repro/figures")
JUDGES = tuple(f"repro/harness/{name}.py" for name in ("checks", "verdicts", "claim"))


@dataclass(frozen=True)
class Reach:
    """`lines[file][test]` are the lines of `file` that `test` executes; `seconds` its time.

    `importers[file]` are the files in tests/ that import `file`: they may read its constants
    without executing anything of it. `imported[file]` are lines that run when it is imported.
    """

    lines: dict[str, dict[str, list[int]]]
    seconds: dict[str, float]
    importers: dict[str, set[str]] = field(default_factory=dict)
    imported: dict[str, set[int]] = field(default_factory=dict)

    def at_import(self, file: str, first: int, last: int) -> bool:
        """Whether one of these lines runs before any test."""
        return any(first <= n <= last for n in self.imported.get(file, ()))

    def tests(self, file: str, first: int, last: int) -> list[str]:
        """Those that execute one of these lines, fastest first; then the others of their files."""
        by_test = self.lines.get(file, {})
        direct = {test for test, lines in by_test.items() if any(first <= n <= last for n in lines)}
        return self._and_beside(direct)

    def all_tests(self, file: str) -> list[str]:
        """Those that execute something of `file` and those beside an import of it, likewise."""
        importers = self.importers.get(file, set())
        beside = {test for test in self.seconds if file_of(test) in importers}
        return self._and_beside(beside | set(self.lines.get(file, {})))

    def _and_beside(self, direct: set[str]) -> list[str]:
        files = {file_of(test) for test in direct}
        others = [test for test in self.seconds if file_of(test) in files and test not in direct]
        return sorted(direct, key=self._time) + sorted(others, key=self._time)

    def _time(self, test: str) -> float:
        return self.seconds[test]


def file_of(test: str) -> str:
    return test.split("::")[0]


def test_files(root: Path, mutated: Iterable[Path]) -> list[Path]:
    """The claims and tests that import one of these modules, directly or not."""
    wanted = set(mutated)
    found = [*(root / "claims").glob("*/test_*.py"), *(root / "tests").glob("test_*.py")]
    return sorted(path for path in found if wanted & imports.closure(path, root))


def read(root: Path, folder: Path, tests: Iterable[Path]) -> Reach:
    """What `look` has left in the folder about these test files."""
    known = Reach({}, {})
    for path in tests:
        found = kept(root, folder, path)
        if found is None:
            continue
        known.seconds.update(found["seconds"])
        for file, by_test in found["lines"].items():
            known.lines.setdefault(file, {}).update(by_test)
        for file, lines in found["imported"].items():
            known.imported.setdefault(file, set()).update(lines)
        for source in imports.imported(path, root) if path.parent.name == "tests" else ():
            importers = known.importers.setdefault(str(source.relative_to(root)), set())
            importers.add(str(path.relative_to(root)))
    return known


def missing(root: Path, folder: Path, tests: Iterable[Path]) -> list[Path]:
    return [path for path in tests if kept(root, folder, path) is None]


def look(root: Path, folder: Path, path: Path) -> str | None:
    """Run one test file under coverage and keep what it reaches; what it printed if it is red."""
    name = str(path.relative_to(root))
    out = _place(root, folder, path)
    part = out.with_suffix(".part")
    out.parent.mkdir(parents=True, exist_ok=True)
    ended = children.run([name], plugins=lambda: [_Watcher(root, part, _modules(root, path))])
    if ended.code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        part.unlink(missing_ok=True)
        return ended.output
    found = json.loads(part.read_text())
    found["digest"] = _digest(root, name, found["lines"])
    files.write_json(out, found)
    part.unlink()
    return None


def _modules(root: Path, path: Path) -> list[str]:
    """The modules of the package that a test file can come to import."""
    sources = [one.relative_to(root) for one in imports.closure(path, root) if one.suffix == ".py"]
    ours = [one for one in sources if one.parts[0] == "repro" and not one.stem.startswith("__")]
    return sorted(".".join(one.with_suffix("").parts) for one in ours)


class _Watcher:
    """In the child: coverage's tracer, told which test is running."""

    def __init__(self, root: Path, out: Path, modules: Sequence[str]) -> None:
        self._root, self._out, self._modules = root, out, modules
        self._seconds: dict[str, float] = {}

    def pytest_configure(self) -> None:
        import coverage

        omit = [f"{self._root}/{name}/*" for name in ("tests", "claims", "tools", ".venv")]
        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, include=[f"{self._root}/*"], omit=omit
        )
        self._coverage.start()

    def pytest_collection_finish(self) -> None:
        """Import what claims import when they run: it is no test that executes a module's text."""
        for name in self._modules:
            importlib.import_module(name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self._seconds.get(report.nodeid, 0.0)
        self._seconds[report.nodeid] = before + report.duration
        if report.skipped:
            self._seconds[report.nodeid] = float("nan")

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        ran = {test: time for test, time in self._seconds.items() if time == time}
        lines = dict(self._lines({"", *ran}))  # "": before the first test
        imported = {file: by_test.pop("") for file, by_test in lines.items() if "" in by_test}
        executed = {file: by_test for file, by_test in lines.items() if by_test}
        found = {"seconds": ran, "lines": executed, "imported": imported}
        self._out.write_text(json.dumps(found))

    def _lines(self, wanted: set[str]) -> Iterator[tuple[str, dict[str, list[int]]]]:
        data = self._coverage.get_data()
        for file in data.measured_files():
            by_test: dict[str, list[int]] = {}
            for line, contexts in data.contexts_by_lineno(file).items():
                for test in wanted.intersection(contexts):
                    by_test.setdefault(test, []).append(line)
            yield str(Path(file).relative_to(self._root)), by_test


def kept(root: Path, folder: Path, path: Path) -> dict[str, Any] | None:
    place = _place(root, folder, path)
    if not place.exists():
        return None
    found = json.loads(place.read_text())
    if "imported" not in found:
        return None  # of before it was looked at
    fresh = found["digest"] == _digest(root, str(path.relative_to(root)), found["lines"])
    return found if fresh else None


def _place(root: Path, folder: Path, path: Path) -> Path:
    return folder / "reach" / path.relative_to(root).with_suffix(".json")


def _digest(root: Path, name: str, lines: dict[str, Any]) -> str:
    """Of the test file and of every module that it executes, but for what only runs it."""
    whole = hashlib.sha256()
    executed = {file for file in lines if not file.startswith(RUNNING) or file in JUDGES}
    for file in sorted({name, *executed}):
        path = root / file
        whole.update(path.read_bytes() if path.exists() else b"gone")
    return whole.hexdigest()
