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
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from repro.cluster.job import Training
from repro.cluster.listing import Missing, files_that_train, missing, pytest
from repro.cluster.queue import Submitted
from repro.harness.project import Project

POLL = 10.0  # seconds between two questions to squeue
SETTINGS = ("scale", "seed", "store", "data", "threads")  # pytest's, the same for every job

Logs = dict[str, Path]  # by key


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
    slurm = parser.add_argument_group("SLURM")
    slurm.add_argument("--partition", metavar="NAME")
    slurm.add_argument("--account", metavar="NAME")
    slurm.add_argument("--time", type=int, default=240, metavar="MINUTES", help="default 240")
    slurm.add_argument("--gpus", type=int, default=0, metavar="N", help="for each job (default 0)")
    slurm.add_argument("--memory", type=int, default=8, metavar="GB", help="default 8")
    slurm.add_argument("--cpus", type=int, default=2, metavar="N", help="default 2")


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {number}")
    return number


def run(project: Project, options: argparse.Namespace, rest: list[str]) -> int:
    """`rest` is what the parser did not know: paths and options for pytest."""
    paths = [] if any(not word.startswith("-") for word in rest) else files_that_train(project)
    given = {flag: value for flag in "mk" if (value := getattr(options, flag))}
    chosen = [word for flag, value in given.items() for word in (f"-{flag}", value)]
    listing = [*paths, *rest, *chosen, *_settings(options)]
    device = _device(options)
    if device not in (None, "auto"):  # of a device the listing needs only the kind
        listing.append(f"--store-device={device.partition(':')[0]}")
    logs: Logs = {}
    while True:
        wanted = missing(project.root, listing)
        new = [one for one in wanted if one.key not in logs]
        if options.dry_run:
            return _show(new, project, options)
        if not new:
            return _end(wanted, logs)
        print(_counted(new, "missing"), flush=True)
        logs |= MAKE[options.executor](new, project, options)


def _show(wanted: list[Missing], project: Project, options: argparse.Namespace) -> int:
    for one in wanted:
        print(f"{one}\n    {shlex.join(_command(one, project, options))}")
    print(f"{_counted(wanted, 'missing')}; nothing was submitted")
    return 0


def _end(failed: list[Missing], logs: Logs) -> int:
    for one in failed:
        print(f"FAILED {one}\n    its job has ended, see {logs[one.key]}")
    if not failed:
        print("nothing is missing")
        return 0
    print(_counted(failed, "still missing"))
    print("If a log says that all went well: the jobs need the same store, torch and device.")
    return 1


def _counted(these: Collection[Any], what: str) -> str:
    return f"1 training is {what}" if len(these) == 1 else f"{len(these)} trainings are {what}"


def _command(one: Missing, project: Project, options: argparse.Namespace) -> list[str]:
    """One claim, which may make one training; its results go beside the logs and do not count."""
    device = _device(options)
    return pytest(
        one.test,
        *_settings(options),
        *([f"--device={device}"] if device else []),
        f"--artifacts={_logs(project) / 'results' / one.key}",
        f"--only-training={one.key}",
    )


def _settings(options: argparse.Namespace) -> list[str]:
    given = {name: getattr(options, name) for name in SETTINGS}
    return [f"--{name}={value}" for name, value in given.items() if value is not None]


def _device(options: argparse.Namespace) -> str | None:
    return options.device or ("cuda" if options.gpus else None)


def _logs(project: Project) -> Path:
    return project.root / project.artifacts / "jobs"


def _here(wanted: list[Missing], project: Project, options: argparse.Namespace) -> Logs:
    """Make them in processes of this machine; where the log of each is."""
    logs = {one.key: _logs(project) / f"{one.key}.log" for one in wanted}
    _logs(project).mkdir(parents=True, exist_ok=True)

    def make(one: Missing) -> None:
        with logs[one.key].open("w") as log:
            command = _command(one, project, options)
            subprocess.run(command, cwd=project.root, stdout=log, stderr=log, check=False)
        print(f"ended {one}", flush=True)

    pool = ThreadPoolExecutor(options.jobs)
    try:
        list(pool.map(make, wanted))
    finally:
        pool.shutdown(cancel_futures=True)
    return logs


def _on_slurm(wanted: list[Missing], project: Project, options: argparse.Namespace) -> Logs:
    """Submit what no earlier call has left in the queue, and wait for all of it."""
    submitted = Submitted(project.root / (options.store or project.store))
    jobs = submitted.waiting(one.key for one in wanted)
    for key, job in jobs.items():
        print(f"already in SLURM's queue, job {job}: {key}", flush=True)
    new = [one for one in wanted if one.key not in jobs]
    for one, job in _submit(new, project, options).items():
        submitted.note(one.key, job)
        jobs[one.key] = job
    waiting = jobs
    try:
        while waiting := submitted.waiting(waiting):
            time.sleep(POLL)
    except KeyboardInterrupt:
        told = f"interrupted: {len(waiting)} jobs go on; to end them: scancel "
        raise SystemExit(told + " ".join(waiting.values())) from None
    return {key: _logs(project) / f"{job}_0_log.out" for key, job in jobs.items()}


def _submit(
    wanted: list[Missing], project: Project, options: argparse.Namespace
) -> dict[Missing, str]:
    """One array of jobs; their ids."""
    try:
        import submitit
    except ImportError:
        needed = "SLURM jobs need submitit: pip install 'attention-claims[cluster]'"
        raise SystemExit(needed) from None
    if not wanted:
        return {}
    executor = submitit.AutoExecutor(folder=_logs(project), cluster="slurm")
    named = {f"slurm_{name}": getattr(options, name) for name in ("partition", "account")}
    executor.update_parameters(
        name="claims",
        timeout_min=options.time,
        slurm_array_parallelism=options.jobs,
        gpus_per_node=options.gpus,
        cpus_per_task=options.cpus,
        mem_gb=options.memory,
        **{name: value for name, value in named.items() if value},
    )
    with executor.batch():
        jobs = {
            one: executor.submit(Training(_command(one, project, options), str(project.root)))
            for one in wanted
        }
    return {one: job.job_id for one, job in jobs.items()}


MAKE = {"local": _here, "slurm": _on_slurm}
