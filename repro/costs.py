"""python -m repro.costs: what a run of all claims costs, and on what claims spend it.

--run        all claims at laptop scale, two workers; some of them again, one worker: minutes
--profiles   where the time of the dearest claims goes: a quarter of an hour
--cold       all claims from an empty store, at smoke scale and then at laptop scale: an hour
FILE ...     profiles of these claim files, printed

But for --cold, finished trainings are taken from the store and none is made: what is not there is
left out. All but the last write artifacts/costs.json, which `make bench` puts beside its own
figures.
"""

import argparse
import contextlib
import os
import pstats
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from repro import files
from repro.harness import provenance

FILE = "costs.json"
WORKERS = 2
DEAREST = 10
FUNCTIONS, SHOWN = 4, 25  # of each claim, by the time spent in them: kept, and printed
ALONE = (4.0, 12.0)  # seconds of claims that are run again by one worker: long enough, and many
PAUSE = 0.5  # between two looks at the memory of workers


# --- from results.json ---------------------------------------------------------------------------


def trainings(claims: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    """Seconds of every training that these claims rest on, by kind and key: each once."""
    return {
        (entry["kind"], entry["key"]): float(entry.get("seconds") or 0)
        for claim in claims
        for test in claim["tests"]
        for entry in test["store"]
    }


def busy(claims: Iterable[Mapping[str, Any]]) -> float:
    """Seconds of work besides trainings: what tests took, less the trainings that they made."""
    found = 0.0
    for test in (test for claim in claims for test in claim["tests"]):
        made = (e for e in test["store"] if str(e.get("reason")).startswith("computed"))
        found += max(0.0, (test["seconds"] or 0.0) - sum(e.get("seconds") or 0.0 for e in made))
    return found


def from_nothing(claims: Sequence[Mapping[str, Any]]) -> float:
    """Seconds of work if no training were there."""
    return busy(claims) + sum(trainings(claims).values())


def dearest(
    claims: Iterable[Mapping[str, Any]], when: str = "cold", count: int = DEAREST
) -> list[dict[str, Any]]:
    """The claims that cost most, with their trainings ("cold") or without ("warm").

    Trainings that several claims share count for each of them.
    """
    rows = []
    for claim in claims:
        kinds: dict[str, float] = {}
        for (kind, _), spent in trainings([claim]).items():
            kinds[kind] = kinds.get(kind, 0.0) + spent
        by_size = dict(sorted(kinds.items(), key=lambda item: -item[1]))
        warm = busy([claim])
        cost = {"warm": warm, "cold": warm + sum(kinds.values())}
        rows.append({"id": claim["id"], "file": claim["file"], **cost, "trainings": by_size})
    return sorted(rows, key=lambda row: -row[when])[:count]


def left_by_runs(artifacts: Path) -> dict[str, Any]:
    """What `--run` measures, from the last runs at laptop scale; empty if they trained anything."""
    claims = [claim for claim in latest_results(artifacts).get("claims", []) if claim["tests"]]
    tests = [test for claim in claims for test in claim["tests"]]
    headers = [_first(artifacts / "runs" / f"{id}.json") for id in {test["run"] for test in tests}]
    whole = all(run.get("finished") and run.get("scale") == "laptop" for run in headers)
    trained = any(str(e.get("reason")).startswith("computed") for t in tests for e in t["store"])
    if not headers or not whole or trained:
        return {}
    return {
        "together": {
            "workers": max(1, min(run["workers"] for run in headers)),
            "seconds": sum(_moment(run["finished"]) - _moment(run["started"]) for run in headers),
            "busy": {claim["file"]: busy([claim]) for claim in claims},
            "tests": len(tests),
            "peak": None,
        },
        "alone": None,
    }


def _moment(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()


# --- by running ----------------------------------------------------------------------------------


WARM = ("--scale", "laptop", "--store-mode", "readonly")  # no training is made


def pytest_command(folder: Path, *arguments: str) -> list[str]:
    """Claims with results in a folder of their own."""
    return ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--artifacts={folder}", *arguments]


def keeping_compiled(folder: Path) -> dict[str, str]:
    """An environment in which Python keeps compiled files, as it does unless told not to."""
    known = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**known, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


@dataclass(frozen=True)
class Timed:
    """A run: its seconds by the clock, the claims that it ran, the largest process at its peak."""

    workers: int
    seconds: float
    claims: list[dict[str, Any]]
    peak: int

    def told(self) -> dict[str, Any]:
        tests = sum(len(claim["tests"]) for claim in self.claims)
        known = {"workers": self.workers, "seconds": self.seconds}
        return {**known, "tests": tests, "peak": self.peak}


def timed(root: Path, workers: int, *arguments: str) -> Timed:
    """All is compiled before; `{folder}` in an argument is a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        given = [argument.replace("{folder}", folder) for argument in arguments]
        silent: Any = {"cwd": root, "env": keeping_compiled(Path(folder))}
        silent["stdout"] = subprocess.DEVNULL
        listing = pytest_command(Path(folder) / "listed", "--co", *given)
        subprocess.run([sys.executable, *listing], **silent, check=False)
        command = pytest_command(Path(folder), f"-n{workers}", *given)
        began = time.monotonic()
        process = subprocess.Popen([sys.executable, *command], **silent)
        with _watched(process.pid) as peaks:
            process.wait()
        spent = time.monotonic() - began
        claims = files.read_json(Path(folder) / "results.json")["claims"]
    ran = [claim for claim in claims if claim["tests"]]
    return Timed(workers, spent, ran, max(peaks.values(), default=0))


def warm_run(root: Path, workers: int, *arguments: str) -> dict[str, Any]:
    """At laptop scale, with how long the tests of each claim worked."""
    run = timed(root, workers, *WARM, *arguments)
    return {**run.told(), "busy": {claim["file"]: busy([claim]) for claim in run.claims}}


def cold_run(root: Path, scale: str, *arguments: str) -> dict[str, Any]:
    """From an empty store; with the seconds of its tests and trainings, each training once."""
    run = timed(root, WORKERS, "--scale", scale, "--store={folder}/store", *arguments)
    everywhere = [claim for claim in run.claims if not claim["data"]]
    work = {"work": from_nothing(run.claims), "work without data": from_nothing(everywhere)}
    tests = (test["seconds"] or 0.0 for claim in run.claims for test in claim["tests"])
    longest = max(*trainings(run.claims).values(), *tests)
    return {**run.told(), **work, "longest": longest, "claims": len(run.claims)}


@contextlib.contextmanager
def _watched(pid: int) -> Iterator[dict[int, int]]:
    """Peak memory, in bytes, of a process and of its children, by process (Linux)."""
    peaks: dict[int, int] = {}
    done = threading.Event()

    def look() -> None:
        while not done.wait(PAUSE):
            for one in (pid, *_children(pid)):
                status = _text(Path(f"/proc/{one}/status"))
                for peak in re.findall(r"VmHWM:\s*(\d+) kB", status):
                    peaks[one] = 1024 * int(peak)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield peaks
    finally:
        done.set()
        watcher.join()


def _children(pid: int) -> list[int]:
    return [int(word) for word in _text(Path(f"/proc/{pid}/task/{pid}/children")).split()]


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the process is over
        return ""


def profiled(root: Path, *claim_files: str) -> list[tuple[str, float]]:
    """Where the time of a warm run of these files goes: functions and their share, largest first.

    What C code spends that Python cannot see, python-flint's above all, counts for its caller.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "profile"
        command = pytest_command(Path(folder) / "artifacts", *WARM, "-p", "no:xdist", *claim_files)
        run = [sys.executable, "-m", "cProfile", "-o", str(out), *command]
        subprocess.run(run, cwd=root, stdout=subprocess.DEVNULL, check=False)
        stats: Any = pstats.Stats(str(out))
    own: dict[str, float] = defaultdict(float)
    for place, (_, _, spent, *_) in stats.stats.items():
        own[_named(root, *place)] += spent / stats.total_tt
    return sorted(own.items(), key=lambda item: -item[1])


def _named(root: Path, file: str, line: int, function: str) -> str:
    """repro/numerics/l1.py: best; a library by its name; a built-in function as it is."""
    if file == "~":
        return function.strip("<>")
    for part in (f"{root}{os.sep}", f"site-packages{os.sep}"):
        if part in file:
            return f"{file.split(part)[-1]}: {function}"
    return f"{Path(file).name}: {function}"


# --- the command ---------------------------------------------------------------------------------


def measured_run(root: Path) -> dict[str, Any]:
    """Two workers on all claims, and one alone on some of them."""
    _say(f"all claims at laptop scale, {WORKERS} workers, nothing trained")
    together = warm_run(root, WORKERS, "claims")
    low, high = ALONE
    chosen = [file for file, spent in together["busy"].items() if low <= spent <= high]
    _say(f"{len(chosen)} of {len(together['busy'])} claims again, one worker")
    alone = warm_run(root, 1, *chosen) if chosen else None
    return {"together": together, "alone": alone}


def measured_profiles(root: Path, claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The functions in which the dearest claims spend most, by the claim's id."""
    found = {}
    for row in [*dearest(claims, "warm"), *dearest(claims, "cold")]:
        if row["id"] not in found:
            _say(f"profile of {row['id']}")
            found[row["id"]] = profiled(root, row["file"])[:FUNCTIONS]
    return found


def measured_cold(root: Path) -> dict[str, Any]:
    found = {}
    for scale in ("smoke", "laptop"):
        _say(f"all claims at {scale} scale from an empty store, {WORKERS} workers")
        found[scale] = cold_run(root, scale, "claims")
    return found


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


def read(artifacts: Path) -> dict[str, Any]:
    """The latest there is: of this folder, or of the committed snapshot in it; empty if none."""
    return _first(artifacts / FILE, artifacts / "reference" / FILE)


def latest_results(artifacts: Path) -> dict[str, Any]:
    return _first(artifacts / "results.json", artifacts / "reference" / "results.json")


def _first(*several: Path) -> dict[str, Any]:
    for file in several:
        with contextlib.suppress(FileNotFoundError, files.DamagedFile):
            return files.read_json(file)
    return {}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m repro.costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", action="store_true", help="time a run of all claims")
    parser.add_argument("--profiles", action="store_true", help="profile the dearest claims")
    parser.add_argument("--cold", action="store_true", help="time runs from nothing")
    parser.add_argument("files", nargs="*", metavar="FILE", help="claim files to profile")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    for name, share in profiled(root, *options.files)[:SHOWN] if options.files else ():
        print(f"{100 * share:5.1f} %  {name}")
    known, artifacts = read(root / "artifacts"), root / "artifacts"
    if options.run:
        known |= {"run": {"started": provenance.now(), **measured_run(root)}}
    if options.profiles:
        claims = [c for c in latest_results(artifacts).get("claims", []) if c["tests"]]
        known |= {"profiles": measured_profiles(root, claims)}
    if options.cold:
        known |= {"cold": {"started": provenance.now(), **measured_cold(root)}}
    if options.run or options.profiles or options.cold:
        files.write_json(artifacts / FILE, known)
        print(artifacts / FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
