"""Make the trainings that claims need and that are not in the store.

    python -m repro prefetch claims --scale paper --executor slurm --partition gpu --gpus 1
    python -m repro prefetch --scale laptop -m jiang2024 --jobs 4
    python -m repro prefetch --scale paper --dry-run
    pytest claims --scale paper --store-mode readonly

Paths and unknown options are passed to pytest. The device is part of a training's key: with --gpus
the trainings on cuda are meant, whether this machine has a GPU or not.

1. The chosen claims run with a store that trains nothing; what they ask for is listed.
2. Each missing training becomes one job, however many claims ask for it: a pytest run of one claim
   that may make this training and no other.
3. When all jobs have ended the claims are listed again, since a training may start from another.

A pre-empted job writes a checkpoint, is queued again and resumes. When you interrupt this command,
the jobs of SLURM go on; the next call waits for them.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from repro.cluster import slurm
from repro.harness.project import Project
from repro.results import codec
from repro.results.types import Record

SETTINGS = ("scale", "seed", "store", "data", "threads")  # pytest's, the same for every job


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--executor", choices=("local", "slurm"), default="local",
        help="processes on this machine (default), or SLURM",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="list what is missing, make nothing")
    parser.add_argument(
        "--jobs", type=_positive, default=os.cpu_count(), metavar="N",
        help="how many run at the same time (default: the cores of this machine)",
    )  # fmt: skip
    ours = parser.add_argument_group("pytest's settings, for all jobs")
    ours.add_argument("-m", metavar="MARKERS")
    ours.add_argument("-k", metavar="NAMES")
    ours.add_argument("--device", metavar="NAME", help="default: cuda with --gpus, else auto")
    for name in SETTINGS:
        ours.add_argument(f"--{name}", metavar="VALUE")
    queue = parser.add_argument_group("SLURM")
    queue.add_argument("--partition", metavar="NAME")
    queue.add_argument("--account", metavar="NAME")
    queue.add_argument("--time", type=int, default=240, metavar="MINUTES", help="default 240")
    queue.add_argument("--gpus", type=int, default=0, metavar="N", help="for each job (default 0)")
    queue.add_argument("--memory", type=int, default=8, metavar="GB", help="default 8")
    queue.add_argument("--cpus", type=int, default=2, metavar="N", help="default 2")


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {number}")
    return number


def run(project: Project, options: argparse.Namespace, rest: list[str]) -> int:
    """`rest` is what the parser did not know: paths and options for pytest."""
    paths = [] if any(not word.startswith("-") for word in rest) else _files_that_train(project)
    given = {flag: value for flag in "mk" if (value := getattr(options, flag))}
    chosen = [word for flag, value in given.items() for word in (f"-{flag}", value)]
    listing = [*paths, *rest, *chosen, *_settings(options)]
    device = _device(options)
    if device not in (None, "auto"):  # of a device the listing needs only the kind
        listing.append(f"--store-device={device.partition(':')[0]}")
    folder, store = project.root / project.artifacts / "jobs", options.store or project.store
    logs: dict[str, Path] = {}  # by key
    while True:
        wanted = {one.key: one for one in missing(project.root, listing)}
        new = [one for key, one in wanted.items() if key not in logs]
        commands = {one.key: _command(one.test, one.key, folder, options) for one in new}
        if options.dry_run:
            for one in new:
                print(f"{one}\n    {shlex.join(commands[one.key])}")
            print(f"{_counted(len(new), 'missing')}; nothing was submitted")
            return 0
        if not new:
            break
        print(_counted(len(new), "missing"), flush=True)
        if options.executor == "slurm":
            logs |= slurm.make(commands, project.root, project.root / store, folder, options)
        else:
            logs |= _make(commands, project.root, folder, options.jobs)
    for key, one in wanted.items():
        print(f"FAILED {one}\n    its job has ended, see {logs[key]}")
    if not wanted:
        print("nothing is missing")
        return 0
    print(_counted(len(wanted), "still missing"))
    print("If a log says that all went well: the jobs need the same store, torch and device.")
    return 1


@dataclass(frozen=True)
class Missing:
    kind: str
    key: str
    test: str  # the first claim that asks for it

    def __str__(self) -> str:
        return f"{self.kind}/{self.key} for {self.test}"


def missing(root: Path, arguments: list[str]) -> list[Missing]:
    """Run the claims with a store that trains nothing, and see what they asked for."""
    with tempfile.TemporaryDirectory(prefix="prefetch-") as folder:
        command = _pytest(*arguments, f"--artifacts={folder}", "--store-mode=readonly")
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):  # 1: a claim failed, which does not matter here
            raise SystemExit(f"{done.stdout}{done.stderr}\npytest could not list the trainings")
        return from_records(Path(folder))


def from_records(artifacts: Path) -> list[Missing]:
    found: dict[str, Missing] = {}
    for path in sorted(artifacts.glob("claims/*/*/tests/*.json")):
        record = codec.read(Record, path)
        for training in record.trainings:
            if training.reason in ("missing", "damaged"):
                test = shlex.split(record.command)[1]
                found.setdefault(training.key, Missing(training.kind, training.key, test))
    return list(found.values())


def _files_that_train(project: Project) -> list[str]:
    files = (file for file in project.claim_files() if "claim.train" in file.read_text())
    return [str(file.relative_to(project.root)) for file in files]


def _pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *arguments, "-p", "no:cacheprovider", "-q"]


def _counted(count: int, what: str) -> str:
    return f"1 training is {what}" if count == 1 else f"{count} trainings are {what}"


def _command(test: str, key: str, folder: Path, options: argparse.Namespace) -> list[str]:
    """One claim, which may make one training; its results go beside the logs and do not count."""
    device = _device(options)
    return _pytest(
        test,
        *_settings(options),
        *([f"--device={device}"] if device else []),
        f"--artifacts={folder / 'results' / key}",
        f"--only-training={key}",
    )


def _settings(options: argparse.Namespace) -> list[str]:
    given = {name: getattr(options, name) for name in SETTINGS}
    return [f"--{name}={value}" for name, value in given.items() if value is not None]


def _device(options: argparse.Namespace) -> str | None:
    return options.device or ("cuda" if options.gpus else None)


def _make(commands: slurm.Commands, root: Path, folder: Path, jobs: int) -> dict[str, Path]:
    """Make them in processes of this machine; where the log of each is."""
    logs = {key: folder / f"{key}.log" for key in commands}
    folder.mkdir(parents=True, exist_ok=True)

    def make(key: str) -> None:
        with logs[key].open("w") as log:
            subprocess.run(commands[key], cwd=root, stdout=log, stderr=log, check=False)
        print(f"ended {key}", flush=True)

    pool = ThreadPoolExecutor(jobs)
    try:
        list(pool.map(make, commands))
    finally:
        pool.shutdown(cancel_futures=True)
    return logs
