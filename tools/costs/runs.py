"""Runs of claims, watched: their seconds, their memory, and what each claim spends."""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import repro
from repro import files
from tools.costs import claims as of_claims
from tools.costs import sampling

FILE = "costs.json"
WORKERS = 2
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


# --- the runs of `python -m tools.costs` ---------------------------------------------------------


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
    """How much of the ideal speed-up two workers reach on the same claims, and what they lose.

    `idle` of a run is, for each worker, all before its first test and after its last; the rest
    passes between two tests.
    """

    reached: float
    without_a_test: Mapping[str, float]  # parts of the workers' time
    longer: float  # how many times as long the tests take as by one worker
    controller: float  # part of a core, of the process that shares out tests and makes the page

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> "Shared":
        together, alone = run["together"], run["alone"]
        whole = together["workers"] * together["seconds"]
        work, by_one = (sum(one["busy"].values()) for one in (together, alone))
        parts = {when: spent / whole for when, spent in together["idle"].items()}
        parts["between two"] = 1 - work / whole - sum(parts.values())
        busy = together["controller"] / together["seconds"]
        return cls(alone["seconds"] / whole, parts, work / by_one, busy)

    @property
    def told(self) -> str:
        """What is lost, and how."""
        idle = ", ".join(f"{_percent(part)} {when}" for when, part in self.without_a_test.items())
        return (
            f"the same tests take {_percent(self.longer - 1)} longer by two workers, of which each "
            "imports and keeps for itself what it needs, beside a third process that shares out "
            f"the tests and makes the page, for {_percent(self.controller)} of the time; and "
            f"{_percent(sum(self.without_a_test.values()))} of the workers' time passes without a "
            f"test: {idle}"
        )


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def measured_run(root: Path, *chosen: str) -> dict[str, Any]:
    """All claims, or those chosen: by two workers, and by one."""
    found = {}
    for name, workers in (("together", WORKERS), ("alone", 1)):
        _say(f"all claims at laptop scale, nothing trained; workers: {workers}")
        found[name] = warm_run(root, workers, *(chosen or ("claims",)))
    return found


def all_in(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The runs that were measured together: by two workers and by one, or at both scales."""
    return [found[name] for name in ("together", "alone", "smoke", "laptop") if name in found]


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
