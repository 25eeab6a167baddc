"""SLURM: a job is a pytest run that makes one training.

Before SLURM pre-empts a job or ends it, it sends SIGUSR2 to all processes of the job. pytest then
writes a checkpoint of the training and ends (repro.training.store); submitit has the job queued
again, with the same command, and the training resumes from that checkpoint.

    <store>/.submitted/<key>.json     {"job": "77_0"}, removed when the job has ended

With these notes a second call of prefetch waits for the jobs of the first one, and does not submit
the same trainings again.
"""

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro import files

POLL = 10.0  # seconds between two questions to squeue
QUEUE = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
PATIENCE = 60.0  # seconds to wait for squeue
INTERRUPTED = 2  # pytest's exit code
WARNED = (-signal.SIGUSR2, INTERRUPTED)  # exit codes of a run that received SIGUSR2
GRACE, TURN = 60.0, 10.0  # seconds; SLURM kills a job 90 seconds after the signal

Commands = dict[str, list[str]]  # by the key of the training that each makes


@dataclass
class Training:
    """submitit calls it, and calls `checkpoint` when SLURM sends its signal."""

    command: list[str]
    cwd: str
    pid: int | None = None  # of pytest, while it runs

    def __call__(self) -> None:
        child = subprocess.Popen(self.command, cwd=self.cwd)
        self.pid = child.pid
        code = child.wait()
        self.pid = None
        if code in WARNED:  # submitit received the signal as well: let its handler run
            time.sleep(TURN)
        if code != 0:
            raise RuntimeError(f"exit code {code}: {shlex.join(self.command)}")

    def checkpoint(self) -> Any:
        """End pytest, which writes a checkpoint; queue the same command again."""
        import submitit

        if self.pid is not None:
            _end(self.pid)
        return submitit.helpers.DelayedSubmission(Training(self.command, self.cwd))


def _end(pid: int) -> None:
    """We are in a signal handler that interrupted `wait`, so the child must not be reaped here."""
    for number, patience in ((signal.SIGUSR2, GRACE), (signal.SIGKILL, TURN)):
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, number)
            give_up = time.monotonic() + patience
            while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                if time.monotonic() > give_up:
                    break
                time.sleep(0.1)
            else:
                return


def make(
    commands: Commands, root: Path, store: Path, logs: Path, options: argparse.Namespace
) -> dict[str, Path]:
    """Submit what no earlier call has left in the queue, wait for all of it; the log of each."""
    notes = store / ".submitted"
    jobs = _waiting(notes, commands)
    for key, job in jobs.items():
        print(f"already in SLURM's queue, job {job}: {key}", flush=True)
    new = {key: command for key, command in commands.items() if key not in jobs}
    for key, job in _submit(new, root, logs, options).items():
        files.write_sealed(notes / f"{key}.json", {"job": job})
        jobs[key] = job
    left = jobs
    try:
        while left := _waiting(notes, left):
            time.sleep(POLL)
    except KeyboardInterrupt:
        told = f"interrupted: {len(left)} jobs go on; to end them: scancel "
        raise SystemExit(told + " ".join(left.values())) from None
    return {key: logs / f"{job}_0_log.out" for key, job in jobs.items()}


def _submit(
    commands: Commands, root: Path, logs: Path, options: argparse.Namespace
) -> dict[str, str]:
    """One array of jobs; their ids."""
    try:
        import submitit
    except ImportError:
        needed = "SLURM jobs need submitit: pip install 'attention-claims[cluster]'"
        raise SystemExit(needed) from None
    if not commands:
        return {}
    executor = submitit.AutoExecutor(folder=logs, cluster="slurm")
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
        jobs = [executor.submit(Training(words, str(root))) for words in commands.values()]
    return {key: job.job_id for key, job in zip(commands, jobs, strict=True)}


def _waiting(notes: Path, keys: Iterable[str]) -> dict[str, str]:
    """The jobs of these trainings that wait or run; notes of jobs that ended are removed."""
    noted = {key: job for key in keys if (job := _noted(notes / f"{key}.json"))}
    queue = _in_queue() if noted else set()
    for key in [key for key, job in noted.items() if job not in queue]:
        (notes / f"{key}.json").unlink(missing_ok=True)
        del noted[key]
    return noted


def _noted(note: Path) -> str:
    """A damaged note counts as none: the training is submitted again."""
    try:
        return str(files.read_json(note, sealed=True).get("job", ""))
    except (FileNotFoundError, files.DamagedFile):
        return ""


def _in_queue() -> set[str]:
    """The ids of the user's jobs that wait or run, those of an array one by one."""
    try:
        done = subprocess.run(QUEUE, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except FileNotFoundError:
        raise SystemExit("there is no squeue here: run this where SLURM is installed") from None
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(error.stderr or "").strip() or error
        raise SystemExit(f"squeue failed ({said}): give the same command later") from None
    return set(done.stdout.split())
