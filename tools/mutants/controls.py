"""Controls, audited: with its break taken out, a control must come out red.

A control shows that a check can fail: it breaks one hypothesis, and demands that the result is off
by a stated margin. If it were satisfied without the break as well, it would show nothing. For every
control somebody has written down where the break is, and what stands there without it:

    [[control]]
    test = "fang2022/test_lemma_3_1_multiplication.py::test_control_a_bound_that_is_too_small"
    mend = ["M / r", "M"]           # text of the test, once; the break, and what it replaces
    within = "helper"               # if it stands in another function of the file
    case = "W_2"                    # if only the tests with this in their id are meant
    why = "..."                     # instead of `mend`: why the break cannot be taken out

python -m tools.mutants.controls [PAPER]: runs each control so mended and says which ones pass. One
that raises anything but a failed check is an error of the entry. One that needs more than smoke
scale is run at laptop scale, if its trainings are in the store; what is left is named as not run.
"""

import argparse
import ast
import contextlib
import importlib
import io
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from repro.files import write_atomically
from repro.harness.checks import ClaimFailed
from tools.mutants import swap

LAST = "artifacts/mutants/controls.txt"
FOLDER = Path(__file__).parent / "controls"
PREFIX = "test_control"
PACKAGES = ("fang2022", "jiang2024", "wang2024", "numerics")


@dataclass(frozen=True)
class Entry:
    test: str  # <paper>/<file>::<function>
    mend: tuple[str, str] | None = None
    within: str = ""
    case: str = ""
    why: str = ""

    @property
    def file(self) -> str:
        return self.test.split("::")[0]

    @property
    def function(self) -> str:
        return self.within or self.test.split("::")[1]


class BadEntry(ValueError):
    pass


def read(folder: Path = FOLDER) -> list[Entry]:
    return [
        Entry(**{**entry, "mend": tuple(entry["mend"]) if "mend" in entry else None})
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text()).get("control", [])
    ]


def controls(claims: Path) -> Iterator[str]:
    """Every control of the claims, by the name that an entry has for it."""
    for path in sorted(claims.glob("*/test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith(PREFIX):
                yield f"{path.parent.name}/{path.name}::{node.name}"


def mended(source: str, path: str, entry: Entry) -> CodeType:
    """The code of the function without its break."""
    assert entry.mend is not None
    before, after = entry.mend
    tree = ast.parse(source)
    nodes = [node for node in tree.body if getattr(node, "name", "") == entry.function]
    text = (ast.get_source_segment(source, nodes[0]) or "") if nodes else ""
    if text.count(before) != 1:
        raise BadEntry(
            f"{entry.test}: {before!r} stands {text.count(before)} times in it, not once"
        )
    changed = source.replace(text, text.replace(before, after))
    codes = swap.outermost(compile(changed, path, "exec"))
    return next(code for code in codes if code.co_name == entry.function)


class Mending:
    """A plugin: runs the chosen controls without their breaks; `passed` are the bad ones."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = [entry for entry in entries if entry.mend]
        self._tried: set[Entry] = set()
        self.red: list[str] = []
        self.passed: list[str] = []
        self.errors: dict[str, str] = {}
        self._why: dict[Entry, str] = {}  # a test says itself that it needs more

    @property
    def not_run(self) -> list[Entry]:
        """Because its test needs data or a larger scale."""
        left = [entry for entry in self._entries if entry not in self._tried]
        return [entry for entry in left if entry.test not in self.errors]

    def join(self, other: "Mending") -> None:
        """What another run of some of the entries found."""
        self._tried |= other._tried
        self.red += other.red
        self.passed += other.passed
        self.errors |= other.errors

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        fitting = {entry for item in items for entry in self._of(item)}
        for entry in self._entries:
            if entry not in fitting:
                self.errors[entry.test] = f"no such test, or none with {entry.case!r} in its id"
        items[:] = [item for item in items if any(True for _ in self._of(item))]

    def _of(self, item: pytest.Item) -> Iterator[Entry]:
        name = f"{item.path.parent.name}/{item.path.name}::{getattr(item, 'originalname', '')}"
        for entry in self._entries:
            if entry.test == name and entry.case in item.name:
                yield entry

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        """In place of the test: once for each of its entries."""
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        entries = list(self._of(pyfuncitem))
        for entry in entries:
            self._once(pyfuncitem, entry, arguments)
        if not any(entry in self._tried for entry in entries):
            pytest.skip(self._why[entries[0]])
        return True

    def _once(self, item: pytest.Function, entry: Entry, arguments: dict[str, Any]) -> None:
        told = f"{item.nodeid}: {entry.mend}"
        self._tried.add(entry)
        try:
            code = mended(item.path.read_text(), str(item.path), entry)
        except BadEntry as error:
            self.errors[told] = str(error)
            return
        for name in PACKAGES:  # a mend names modules in full, whatever the claim imports
            vars(item.module).setdefault(name, importlib.import_module(f"repro.{name}"))
        held = getattr(item.module, entry.function)
        function = getattr(held, "__wrapped__", held)  # what a cache wraps
        before, function.__code__ = function.__code__, code
        getattr(held, "cache_clear", lambda: None)()
        try:
            item.obj(**arguments)
            self.passed.append(told)
        except (ClaimFailed, pytest.fail.Exception):
            self.red.append(told)
        except pytest.skip.Exception as reason:
            self._tried.discard(entry)
            self._why[entry] = str(reason)
        except Exception as error:
            self.errors[told] = f"{type(error).__name__}: {error}"
        finally:
            function.__code__ = before
            getattr(held, "cache_clear", lambda: None)()


def run(root: Path, entries: list[Entry], scale: str = "smoke") -> Mending:
    """Above smoke scale trainings are only taken from the project's store."""
    mending = Mending(entries)
    files = sorted({str(root / "claims" / entry.file) for entry in entries if entry.mend})
    with tempfile.TemporaryDirectory() as folder:
        places = [f"--artifacts={folder}/artifacts"]
        places += [f"--store={folder}/store"] if scale == "smoke" else ["--store-mode=readonly"]
        quiet = ["-s", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        arguments = [*files, "-n0", "--scale", scale, *quiet, *places]
        with contextlib.redirect_stdout(io.StringIO()) as said:  # "passed" is not what it says
            code = pytest.main(arguments, plugins=[mending])
    # The harness calls a test red if a check of it is, as most of these must be.
    if code not in (0, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        mending.errors["pytest"] = f"ended with {code!r}\n{said.getvalue()}"
    return mending


def last(root: Path) -> str:
    """What the last audit of all said; "" if there was none."""
    return (root / LAST).read_text().strip() if (root / LAST).exists() else ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants.controls",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("only", nargs="?", default="", metavar="PAPER", help="a paper, or a file")
    options = parser.parse_args(arguments)
    root, only = Path.cwd(), options.only.removeprefix("claims/")
    entries = [entry for entry in read() if entry.test.startswith(only)]
    all_of_them = [name for name in controls(root / "claims") if name.startswith(only)]
    if not all_of_them:
        raise SystemExit(f"no control's name begins with {options.only}, such as wang2024/test_...")
    missing = sorted(set(all_of_them) - {entry.test for entry in entries})
    done = run(root, entries)
    if done.not_run:
        print("at laptop scale, with trainings of the store, what needs more than smoke scale:")
        done.join(run(root, done.not_run, "laptop"))
    for name in missing:
        print(f"no entry: {name}")
    for told, error in done.errors.items():
        print(f"error: {told}: {error}")
    not_run = [f"{entry.test} {entry.case}".strip() for entry in done.not_run]
    for told in not_run:
        print(f"not run: {told}")
    for told in done.passed:
        print(f"BAD CONTROL, passes without its break: {told}")
    kept = sum(entry.why != "" for entry in entries)
    told = (
        f"{len(all_of_them)} controls: {len(done.red)} tests red without their break, "
        f"{len(done.passed)} not, {kept} whose break cannot be taken out, "
        f"{len(missing)} without an entry, {len(done.errors)} errors, {len(not_run)} not run"
    )
    print(told)
    if not only:
        of_them = "".join(f"\n- not run: {name}" for name in not_run)
        write_atomically(root / LAST, f"{told}\n{of_them}".strip() + "\n")  # for the report
    return 1 if missing or done.passed or done.errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
