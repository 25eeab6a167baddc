"""python -m repro prefetch: make the missing trainings, on this machine or on a cluster.

    python -m repro prefetch claims --scale paper --executor slurm --partition gpu --gpus 1
    python -m repro prefetch --scale laptop -m jiang2024 --jobs 4
    python -m repro prefetch --scale paper --dry-run
    pytest claims --scale paper --store-mode readonly

Paths, and what it does not know itself, are passed to pytest. The device is part of a training's
name: with --gpus the trainings of cuda are meant, whether this machine has a GPU or not.

1. It runs the chosen claims with a store that trains nothing, and notes what they ask for in vain.
2. Each missing training becomes one job, however many claims ask for it. A job is a pytest run of a
   claim that asks for it, allowed to make this one training. So nothing travels but names, and the
   store is what it would be without a cluster: renamed into place, never half-written.
3. When all jobs have ended it looks again: a training may have needed another one first.

A job that is pre-empted writes a checkpoint, is queued again and goes on from there. When prefetch
is interrupted, SLURM's jobs go on; the next call waits for them and submits what else is missing.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.harness.project import Project
from repro.job import Training
from repro.submitted import Submitted

ROUNDS = 20  # of trainings that need others first
POLL = 10.0  # seconds between two questions to squeue
GIVEN = ("partition", "account")  # to SLURM, under these names
SETTINGS = ("scale", "seed", "store", "data", "threads")  # of pytest, the same for every job


@dataclass(frozen=True)
class Missing:
    kind: str
    key: str
    test: str  # a claim that asks for it

    def __str__(self) -> str:
        return f"{self.kind}/{self.key} for {self.test}"


def main(arguments: list[str]) -> int:
    options, rest = _parser().parse_known_args(arguments)
    root = options.project.resolve()
    chosen = rest if _has_paths(rest) else [*_files_that_train(root), *rest]
    listing = [
        *chosen,
        *_selection(options),
        *_settings(options),
        *_where(options, "--store-device"),
    ]
    submitted = Submitted(root / (options.store or Project(root).store))
    failed: set[str] = set()
    made: set[str] = set()
    for _ in range(ROUNDS):
        wanted = [one for one in missing(root, listing) if one.key not in failed]
        failed |= _not_found(wanted, made)
        wanted = [one for one in wanted if one.key not in failed]
        if options.dry_run:
            return _tell(wanted, submitted, options)
        if not wanted:
            break
        print(_counted(wanted, "missing"), flush=True)
        waiting = _waiting(wanted, submitted, options)
        new = [one for one in wanted if one.key not in waiting]
        failed |= _make(new, options, root, submitted)
        _wait_for(waiting, submitted)
        made |= {one.key for one in new} - failed
    else:
        print("trainings keep asking for others: gave up", file=sys.stderr)
        return 1
    print(_counted(failed, "still missing: see the logs") if failed else "nothing is missing")
    return 1 if failed else 0


def _tell(wanted: list[Missing], submitted: Submitted, options: argparse.Namespace) -> int:
    waiting = _waiting(wanted, submitted, options)
    for one in wanted:
        if one.key not in waiting:
            print(f"{one}\n    {shlex.join(_command(one, options))}")
    print(f"{_counted(wanted, 'missing')}; nothing was submitted{_asked_of_slurm(options)}")
    return 0


def _waiting(
    wanted: list[Missing], submitted: Submitted, options: argparse.Namespace
) -> dict[str, str]:
    """Jobs by key that an earlier call has left in SLURM's queue."""
    if options.executor != "slurm":
        return {}
    waiting = submitted.waiting(one.key for one in wanted)
    for one in wanted:
        if one.key in waiting:
            print(f"in SLURM's queue since an earlier call, job {waiting[one.key]}: {one}")
    return waiting


def _wait_for(waiting: dict[str, str], submitted: Submitted) -> None:
    try:
        while waiting := submitted.waiting(waiting):
            time.sleep(POLL)
    except KeyboardInterrupt:
        raise SystemExit(_go_on(list(waiting.values()), "slurm")) from None


def _not_found(wanted: list[Missing], made: set[str]) -> set[str]:
    """Jobs that ended well without the training: they made one of another name."""
    lost = [one for one in wanted if one.key in made]
    for one in lost:
        print(
            f"FAILED {one}\n    its job ended well, and the training is not in the store: do jobs "
            "have the same store, the same torch and the device that was asked for?"
        )
    return {one.key for one in lost}


def _asked_of_slurm(options: argparse.Namespace) -> str:
    if options.executor != "slurm":
        return ""
    named = ("partition", "account", "time", "gpus", "cpus", "memory", "jobs")
    return "; of SLURM: " + ", ".join(f"{name} {getattr(options, name)}" for name in named)


def _counted(these: Collection[Any], what: str) -> str:
    return f"1 training is {what}" if len(these) == 1 else f"{len(these)} trainings are {what}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m repro prefetch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--project", type=Path, default=Path(), metavar="FOLDER",
        help="where claims/ is (default: here)",
    )  # fmt: skip
    parser.add_argument(
        "--executor", choices=("local", "slurm"), default="local",
        help="processes on this machine (default), or SLURM",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="list what would be submitted")
    parser.add_argument(
        "--jobs", type=_positive, default=os.cpu_count(), metavar="N",
        help="at the same time, of an array as well (default: the cores of this machine)",
    )  # fmt: skip
    parser.add_argument("--logs", type=Path, default=Path("artifacts/jobs"), metavar="FOLDER")
    ours = parser.add_argument_group("pytest's settings, for all jobs")
    ours.add_argument("-m", metavar="MARKERS")
    ours.add_argument("-k", metavar="NAMES")
    ours.add_argument("--device", metavar="NAME", help="default: cuda with --gpus, else auto")
    for name in SETTINGS:
        ours.add_argument(f"--{name}", metavar="VALUE")
    slurm = parser.add_argument_group("SLURM")
    slurm.add_argument("--partition", metavar="NAME")
    slurm.add_argument("--account", metavar="NAME")
    slurm.add_argument("--time", type=int, default=240, metavar="MINUTES", help="default 240")
    slurm.add_argument("--gpus", type=int, default=0, metavar="N", help="for each job (default 0)")
    slurm.add_argument("--memory", type=int, default=8, metavar="GB", help="default 8")
    slurm.add_argument("--cpus", type=int, default=2, metavar="N", help="default 2")
    return parser


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {number}")
    return number


def _selection(options: argparse.Namespace) -> list[str]:
    return [
        word for flag in "mk" if (value := getattr(options, flag)) for word in (f"-{flag}", value)
    ]


def _settings(options: argparse.Namespace) -> list[str]:
    given = {name: getattr(options, name) for name in SETTINGS}
    return [f"--{name}={value}" for name, value in given.items() if value is not None]


def _where(options: argparse.Namespace, option: str) -> list[str]:
    """For a job its device; for the listing, which trains nothing and may be made anywhere, the
    kind of device that is part of the trainings' names."""
    device = options.device or ("cuda" if options.gpus else None)
    if device is None or (option == "--store-device" and device == "auto"):
        return []
    return [f"{option}={device.split(':')[0] if option == '--store-device' else device}"]


# --- what is missing -----------------------------------------------------------------------------


def missing(root: Path, arguments: list[str]) -> list[Missing]:
    """One entry for each training, with the first claim that asked for it."""
    with tempfile.TemporaryDirectory(prefix="prefetch-") as folder:
        command = [*_pytest(arguments), f"--artifacts={folder}", "--store-mode", "readonly", "-q"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):  # 1: a claim is red; that is not asked here
            raise SystemExit(f"{done.stdout}{done.stderr}\npytest could not list the trainings")
        return asked_in_vain(Path(folder))


def asked_in_vain(artifacts: Path) -> list[Missing]:
    found: dict[str, Missing] = {}
    for path in sorted(artifacts.glob("claims/*/*/tests/*.json")):
        record = json.loads(path.read_text())
        for entry in record.get("store", ()):
            if entry["reason"] in ("missing", "damaged"):
                test = shlex.split(record["command"])[1]
                one = Missing(entry["kind"], entry["key"], test)
                found.setdefault(one.key, one)
    return list(found.values())


def _pytest(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", *arguments, "-p", "no:cacheprovider"]


def _has_paths(words: list[str]) -> bool:
    return any(not word.startswith("-") for word in words)


def _files_that_train(root: Path) -> list[str]:
    """Claims that train say so: `claim.train` stands in them."""
    files = Project(root).claim_files()
    return [str(path.relative_to(root)) for path in files if "claim.train" in path.read_text()]


# --- making it -----------------------------------------------------------------------------------


def _command(one: Missing, options: argparse.Namespace) -> list[str]:
    """The same settings, another selection: one test, and one training that it may make.

    Its results go beside the logs: a claim that lacks other trainings is no result.
    """
    same = [*_settings(options), *_where(options, "--device")]
    own = ["-q", f"--artifacts={options.logs}/results/{one.key}", f"--only-training={one.key}"]
    return [*_pytest([one.test, *same]), *own]


def _make(
    wanted: list[Missing], options: argparse.Namespace, root: Path, submitted: Submitted
) -> set[str]:
    """Submit, wait, tell; the keys of those that failed."""
    if not wanted:
        return set()
    executor = _executor(options, root)
    jobs, failed, waiting = {}, set(), list(wanted)

    def submit(one: Missing) -> None:
        jobs[one] = executor.submit(Training(_command(one, options), str(root)))

    if options.executor == "slurm":  # it keeps to `jobs` by itself
        with executor.batch():
            for one in waiting:
                submit(one)
        for one, job in jobs.items():
            submitted.note(one.key, job.job_id)
        waiting = []
    try:
        while waiting or jobs:
            while waiting and len(jobs) < options.jobs:
                submit(waiting.pop(0))
            for one, job in list(jobs.items()):
                if job.done():
                    del jobs[one]
                    submitted.forget(one.key)
                    if not _ended_well(one, job):
                        failed.add(one.key)
            time.sleep(0.2)
    except KeyboardInterrupt:
        raise SystemExit(_go_on([job.job_id for job in jobs.values()], options.executor)) from None
    return failed


def _go_on(jobs: list[str], executor: str) -> str:
    told = f"interrupted: {len(jobs)} jobs go on"
    return f"{told}; to end them: scancel {' '.join(jobs)}" if executor == "slurm" else told


def _ended_well(one: Missing, job: Any) -> bool:
    error = job.exception()
    if error is None:
        print(f"made {one}", flush=True)
        return True
    print(f"FAILED {one}\n    log: {job.paths.stderr}\n    and: {job.paths.stdout}", flush=True)
    return False


def _executor(options: argparse.Namespace, root: Path) -> Any:
    try:
        import submitit
    except ImportError:
        told = "prefetch needs submitit: pip install 'attention-claims[cluster]'"
        raise SystemExit(told) from None
    executor = submitit.AutoExecutor(folder=root / options.logs, cluster=options.executor)
    executor.update_parameters(timeout_min=options.time, name="claims")
    if options.executor == "slurm":
        given = {f"slurm_{name}": word for name in GIVEN if (word := getattr(options, name))}
        executor.update_parameters(
            slurm_array_parallelism=options.jobs,
            gpus_per_node=options.gpus,
            cpus_per_task=options.cpus,
            mem_gb=options.memory,
            **given,
        )
    return executor
