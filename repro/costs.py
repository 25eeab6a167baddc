"""python -m repro.costs: what a warm run of all claims costs, and on what the dearest claims
spend it.

    python -m repro.costs                    all at laptop scale, then profiles of the dearest:
                                             a quarter of an hour
    python -m repro.costs claims/x/test_y.py    profile these claim files, and say what was found

Finished trainings are taken from the store and none is made: what is not there is left out. The
first form writes artifacts/costs.json, which `make bench` puts beside its own figures.
"""

import argparse
import contextlib
import json
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
from pathlib import Path
from typing import Any

from repro import files
from repro.harness import provenance
from repro.harness.resources import automatic_workers

FILE = "costs.json"
DEAREST = 10
FUNCTIONS = 4  # of each claim, by the time spent in them
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


# --- by running ----------------------------------------------------------------------------------


def pytest_command(folder: Path, *arguments: str) -> list[str]:
    """Claims at laptop scale, no training made, results in a folder of their own."""
    quiet = ("-q", "-p", "no:cacheprovider", "--scale", "laptop", "--store-mode", "readonly")
    return ["-m", "pytest", *quiet, f"--artifacts={folder}", *arguments]


def warm_run(root: Path, workers: int, *arguments: str) -> dict[str, Any]:
    """Seconds of a run, how long its tests worked, and the largest process at its peak."""
    with tempfile.TemporaryDirectory() as folder:
        command = pytest_command(Path(folder), f"-n{workers}", *arguments)
        began = time.monotonic()
        process = subprocess.Popen([sys.executable, *command], cwd=root, stdout=subprocess.DEVNULL)
        with _watched(process.pid) as peaks:
            process.wait()
        spent = time.monotonic() - began
        claims = files.read_json(Path(folder) / "results.json")["claims"]
    ran = [claim for claim in claims if claim["tests"]]
    return {
        "workers": workers,
        "seconds": spent,
        "busy": {claim["id"]: busy([claim]) for claim in ran},
        "tests": sum(len(claim["tests"]) for claim in ran),
        "peak": max(peaks.values(), default=0),
    }


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
        command = pytest_command(Path(folder) / "artifacts", "-p", "no:xdist", *claim_files)
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


def measured(root: Path, claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What artifacts/costs.json holds."""
    workers = max(2, automatic_workers("cpu"))
    _say(f"all claims at laptop scale, {workers} workers, nothing trained")
    together = warm_run(root, workers, "claims")
    low, high = ALONE
    some = {id for id, spent in together["busy"].items() if low <= spent <= high}
    chosen = [claim["file"] for claim in claims if claim["id"] in some]
    _say(f"{len(chosen)} of them again, one worker")
    alone = warm_run(root, 1, *chosen) if chosen else None
    functions = {}
    for row in [*dearest(claims, "warm"), *dearest(claims, "cold")]:
        if row["id"] not in functions:
            _say(f"profile of {row['id']}")
            functions[row["id"]] = profiled(root, row["file"])[:FUNCTIONS]
    header = {"started": provenance.now(), **provenance.git_state(root)}
    return {**header, "together": together, "alone": alone, "functions": functions}


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
    parser.add_argument("files", nargs="*", metavar="FILE", help="claim files to profile")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    if options.files:
        for name, share in profiled(root, *options.files)[:25]:
            print(f"{100 * share:5.1f} %  {name}")
        return 0
    claims = [c for c in latest_results(root / "artifacts").get("claims", []) if c["tests"]]
    if not claims:
        print("there are no results yet: make claims", file=sys.stderr)
        return 1
    found = json.loads(files.to_json(measured(root, claims)))
    files.write_json(root / "artifacts" / FILE, found)
    print(root / "artifacts" / FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
