"""One SLURM job: a pytest run that makes one training.

Before SLURM pre-empts a job or ends it, it sends SIGUSR2 to all processes of the job. pytest then
writes a checkpoint of the training and ends (repro.training.store); submitit has the job queued
again, with the same command, and the training resumes from that checkpoint.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Any

INTERRUPTED = 2  # pytest's exit code
WARNED = (-signal.SIGUSR2, INTERRUPTED)  # exit codes of a run that received SIGUSR2
GRACE, TURN = 60.0, 10.0  # seconds; SLURM kills a job 90 seconds after the signal


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
