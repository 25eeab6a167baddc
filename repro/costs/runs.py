"""Runs of claims, watched: their seconds, their memory, and what each claim spends."""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import repro
from repro import files
from repro.costs import claims as of_claims
from repro.costs import sampling

FILE = "costs.json"
WORKERS = 2
MIDDLING = slice(10, 28)  # of the claims, dearest first: those that are run again, in turns
TURNS = 3
KEPT = ("workers", "busy", "exit", "left out", "red")  # of the runs of a turn
PAUSE = 0.5  # between two looks at the memory of workers
WARM = ("--scale", "laptop", "--store-mode", "readonly")  # no training is made
COMPILE = [sys.executable, "-m", "compileall", "-q", str(Path(repro.__file__).parent)]


@dataclass(frozen=True)
class Timed:
    """A run: its seconds by the clock, its claims, and what was seen of them."""

    workers: int
    seconds: float
    exit: int
    claims: list[dict[str, Any]]
    samples: of_claims.Samples
    peak: int  # of the largest process
    idle: dict[str, float]  # seconds in which a worker had no test, of all workers
    controller: float = 0.0  # seconds that the process worked which shares out the tests

    @property
    def rows(self) -> list[dict[str, Any]]:
        return of_claims.spent(self.claims, self.samples)

    def told(self) -> dict[str, Any]:
        return {
            "workers": self.workers,
            "seconds": self.seconds,
            "exit": self.exit,
            "tests": sum(len(claim["tests"]) for claim in self.claims),
            "red": of_claims.red(self.claims),
            "left out": of_claims.left_out(self.claims),
            "peak": self.peak,
            "largest": self.samples.largest(),
            "dearest": of_claims.dearest(self.rows),
            "kinds": self.samples.kinds(),
            "idle": self.idle,
            "controller": self.controller,
        }


def timed(root: Path, workers: int, *arguments: str) -> Timed:
    """All is compiled before; `{folder}` in an argument is a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = [argument.replace("{folder}", name) for argument in arguments]
        silent: Any = {"cwd": root, "env": keeping_compiled(), "stdout": subprocess.DEVNULL}
        for prepare in (COMPILE, pytest_command(folder / "listed", "--co", *given)):
            subprocess.run(prepare, **silent, check=False)
        command = pytest_command(folder, f"-n{workers}", "-p", sampling.__name__, *given)
        began = time.monotonic()
        process = subprocess.Popen(command, **silent)
        with _watched(process.pid) as seen:
            process.wait()
        ended = time.monotonic()
        samples = of_claims.Samples(folder)
        known = _first(folder / "results.json").get("claims", [])
    ran = [claim for claim in known if claim["tests"]]
    peak = max([*seen.peaks.values(), *samples.peaks.values()], default=0)
    idle = {
        "before a worker's first test": sum(first - began for first, _ in samples.spans),
        "after its last": sum(ended - last for _, last in samples.spans),
    }
    took = ended - began
    return Timed(workers, took, process.returncode, ran, samples, peak, idle, seen.worked)


def pytest_command(folder: Path, *arguments: str) -> list[str]:
    """Claims with results in a folder of their own."""
    options = ("-q", "-p", "no:cacheprovider", f"--artifacts={folder}")
    return [sys.executable, "-m", "pytest", *options, *arguments]


def keeping_compiled(folder: Path | None = None) -> dict[str, str]:
    """An environment in which Python keeps compiled files, as it does unless told not to.

    Beside the sources, where those of libraries are already; or all anew, in a folder.
    """
    known = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return known if folder is None else {**known, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


@dataclass
class _Seen:
    """Of a process: peak memory in bytes, with that of its children; seconds that it worked."""

    peaks: dict[int, int]
    worked: float = 0.0


@contextlib.contextmanager
def _watched(pid: int) -> Iterator[_Seen]:
    seen = _Seen({})
    done = threading.Event()

    def look() -> None:
        while not done.wait(PAUSE):
            seen.worked = max(seen.worked, sampling.processor(pid))
            for one in (pid, *_children(pid)):
                seen.peaks[one] = max(seen.peaks.get(one, 0), sampling.peak(one))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):  # the process is over, or not on this system
        return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


# --- the runs of `python -m repro.costs` ---------------------------------------------------------


def warm_run(root: Path, workers: int, *arguments: str) -> dict[str, Any]:
    """At laptop scale, with how long the tests of each claim worked."""
    run = timed(root, workers, *WARM, *arguments)
    return {**run.told(), "busy": {claim["file"]: of_claims.busy([claim]) for claim in run.claims}}


def cold_run(root: Path, scale: str, *arguments: str) -> dict[str, Any]:
    """From an empty store; with the seconds of its tests and of the trainings that they made."""
    run = timed(root, WORKERS, "--scale", scale, "--store={folder}/store", *arguments)
    return {**run.told(), **with_and_without_data(run.claims, run.rows), "claims": len(run.claims)}


def with_and_without_data(claims: of_claims.Claims, rows: of_claims.Claims) -> dict[str, float]:
    """Seconds of work, and of the longest test, of all claims and of those that need no data."""
    claims, rows, found = list(claims), list(rows), {}
    everywhere = {claim["id"] for claim in claims if not claim["data"]}
    for words, ids in (("", {claim["id"] for claim in claims}), (" without data", everywhere)):
        tests = (test for claim in claims if claim["id"] in ids for test in claim["tests"])
        found[f"work{words}"] = sum(row["seconds"] for row in rows if row["id"] in ids)
        found[f"longest{words}"] = max((test["seconds"] or 0.0 for test in tests), default=0.0)
    return found


@dataclass(frozen=True)
class Shared:
    """How much of the ideal speed-up is reached: all at work, and none slower for the others.

    `idle` of a run is, for each worker, all before its first test and after its last; the rest
    passes between two tests. Each turn ran the same claims once alone and once beside another
    worker: `slower` is how many times as long they took, turn by turn. `controller` is the part of
    a core that the process takes which shares out the tests and makes the page.
    """

    at_work: float
    controller: float
    without_a_test: Mapping[str, float]
    slower: list[float]

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> "Shared":
        together = run["together"]
        whole = together["workers"] * together["seconds"]
        at_work = sum(together["busy"].values()) / whole
        parts = {when: spent / whole for when, spent in together["idle"].items()}
        parts["between two"] = 1 - at_work - sum(parts.values())
        took = [[sum(turn[way]["busy"].values()) for way in WAYS] for turn in run["turns"]]
        slower = [beside / alone for alone, beside in took]
        return cls(at_work, together["controller"] / together["seconds"], parts, slower)

    @property
    def reached(self) -> list[float]:
        return [self.at_work / slower for slower in self.slower]

    @property
    def told(self) -> str:
        """What is lost, and how."""
        idle = ", ".join(f"{_percent(part)} {when}" for when, part in self.without_a_test.items())
        slower = statistics.median(self.slower)
        return (
            f"{_percent(1 - self.at_work)} of the workers' time passes without a test: {idle}; "
            f"tests take {_percent(slower - 1)} longer beside another worker than alone; the "
            "process that shares them out and makes the page works "
            f"{_percent(self.controller)} of the time"
        )


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def measured_run(root: Path, *chosen: str) -> dict[str, Any]:
    """Two workers on all claims, or on those chosen; some again in turns, by one and by two."""
    _say(f"all claims at laptop scale, {WORKERS} workers, nothing trained")
    together = warm_run(root, WORKERS, *(chosen or ("claims",)))
    dearest_first = sorted(together["busy"], key=lambda file: -together["busy"][file])
    again = dearest_first[MIDDLING] or dearest_first
    turns = []
    for turn in range(TURNS):
        _say(f"{len(again)} of {len(together['busy'])} claims again, turn {turn + 1} of {TURNS}")
        turns.append({way: _again(root, workers, again) for way, workers in WAYS.items()})
    return {"together": together, "turns": turns}


WAYS = {"alone": 1, "beside another": WORKERS}


def _again(root: Path, workers: int, claims: Sequence[str]) -> dict[str, Any]:
    run = warm_run(root, workers, *claims)
    return {name: run[name] for name in KEPT}


def all_in(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The runs that were measured together: of two workers and of all turns, or of both scales."""
    turns = found.get("turns", [])
    named = [found[name] for name in ("together", "smoke", "laptop") if name in found]
    return named + [run for turn in turns for run in turn.values()]


def measured_cold(root: Path, *chosen: str) -> dict[str, Any]:
    found = {}
    for scale in ("smoke", "laptop"):
        _say(f"all claims at {scale} scale from an empty store, {WORKERS} workers")
        found[scale] = cold_run(root, scale, *(chosen or ("claims",)))
    return found


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


# --- what is known from before -------------------------------------------------------------------


def own(artifacts: Path) -> dict[str, Any]:
    """What was measured in this folder, and in no other; empty if nothing was."""
    return _first(artifacts / FILE)


def not_whole(run: Mapping[str, Any]) -> str:
    """Why the seconds of a run tell nothing; empty if they do."""
    left, code = run.get("left out", 0), run.get("exit", 0)
    if not left and not code:
        return ""
    told = [f"{left} tests had no training or no data set"] if left else []
    told += [f"pytest ended with {code}"] if code else []
    told += run.get("red", [])
    return ", ".join(told)


def _first(*several: Path) -> dict[str, Any]:
    for file in several:
        with contextlib.suppress(FileNotFoundError, files.DamagedFile):
            return files.read_json(file)
    return {}
