"""Runs of claims, watched: their seconds, and what each claim spends."""

import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import repro
from repro import files
from tools.costs import sampling

WARM = ("--scale", "laptop", "--store-mode", "readonly")  # no training is made
COMPILE = [sys.executable, "-m", "compileall", "-q", str(Path(repro.__file__).parent)]
WAITING = "repro/training/store.py: Store._hold"  # for a training that another worker makes
SHOWN, FUNCTIONS = 10, 5  # slowest claims, and functions of each


@dataclass(frozen=True)
class Claim:
    """A claim file: its seconds without waiting for another worker, and the shares of functions."""

    file: str
    seconds: float
    functions: list[tuple[str, float]]
    added: float  # bytes at the peak of its largest test


@dataclass(frozen=True)
class Timed:
    workers: int
    seconds: float  # by the clock
    exit: int
    said: str  # the end of what pytest printed
    claims: list[Claim]  # slowest first
    peak: float  # bytes, of the largest process

    def told(self) -> Iterator[str]:
        yield (
            f"{len(self.claims)} claim files, {self.workers} worker(s): {self.seconds:.0f} s; "
            f"largest process {self.peak / 1e9:.2f} GB"
        )
        if self.exit:
            yield f"NOT A WHOLE RUN, pytest ended with {self.exit}:\n{self.said}"
        yield "slowest claims, and the functions in which they spend their time"
        for one in self.claims[:SHOWN]:
            yield f"  {one.seconds:6.1f} s {one.file}"
            yield from (f"    {100 * s:5.1f} % {name}" for name, s in one.functions[:FUNCTIONS])
        yield "claims that add most to the memory of their process"
        for one in sorted(self.claims, key=lambda one: -one.added)[:FUNCTIONS]:
            yield f"  {one.added / 1e9:6.2f} GB {one.file}"


def timed(root: Path, workers: int, *arguments: str) -> Timed:
    """All is compiled before; `{folder}` in an argument is a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = [argument.replace("{folder}", name) for argument in arguments]
        here = str(Path(__file__).parents[2])  # where sampling is found
        environment: Any = {"cwd": root, "env": {**keeping_compiled(), "PYTHONPATH": here}}
        for prepare in (COMPILE, _pytest(folder / "listed", "--co", *given)):
            subprocess.run(prepare, **environment, stdout=subprocess.DEVNULL, check=False)
        command = _pytest(folder, f"-n{workers}", "-p", sampling.__name__, *given)
        began = time.monotonic()
        done = subprocess.run(
            command, **environment, stdout=subprocess.PIPE, text=True, check=False
        )
        took = time.monotonic() - began
        found = [files.read_json(path) for path in (folder / sampling.FOLDER).glob("*.json")]
    tests = {name: test for process in found for name, test in process["tests"].items()}
    said = "\n".join(done.stdout.splitlines()[-20:])
    peak = max((test["peak"] for test in tests.values()), default=0)
    return Timed(workers, took, done.returncode, said, claims(found, tests), peak)


def claims(found: list[dict[str, Any]], tests: dict[str, dict[str, float]]) -> list[Claim]:
    """From what all processes of a run have left."""
    spent: dict[str, dict[tuple[str, str], float]] = defaultdict(lambda: defaultdict(float))
    for process in found:
        for claim, ours, library, seconds in process["spent"]:
            spent[claim][ours, library] += seconds
    by_file: dict[str, list[dict[str, float]]] = defaultdict(list)
    for name, test in tests.items():
        by_file[name.partition("::")[0]].append(test)
    rows = []
    for file, some in by_file.items():
        waited = sum(s for (ours, _), s in spent[file].items() if ours == WAITING)
        parts = {place: s for place, s in spent[file].items() if place[0] != WAITING}
        whole = sum(parts.values())
        shares = sorted(((_name(*place), s / whole) for place, s in parts.items()), key=_least)
        seconds = max(0.0, sum(test["seconds"] for test in some) - waited)
        rows.append(Claim(file, seconds, shares, max(test["added"] for test in some)))
    return sorted(rows, key=lambda row: -row.seconds)


def _least(one: tuple[str, float]) -> float:
    return -one[1]


def _name(ours: str, library: str) -> str:
    return f"{ours} ({library})" if ours and library else ours or library or "elsewhere"


def _pytest(folder: Path, *arguments: str) -> list[str]:
    """Claims with results in a folder of their own."""
    options = ("-q", "-p", "no:cacheprovider", f"--artifacts={folder}")
    return [sys.executable, "-m", "pytest", *options, *arguments]


def keeping_compiled(folder: Path | None = None) -> dict[str, str]:
    """An environment in which Python keeps compiled files, as it does unless told not to.

    Beside the sources, where those of libraries are already; or all anew, in a folder.
    """
    known = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return known if folder is None else {**known, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
