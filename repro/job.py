"""What a job of prefetch does: one pytest run that makes one training, and heeds a warning.

SLURM warns a job before it ends or pre-empts it, by SIGUSR2 to all its processes. pytest's then
writes a checkpoint of the training and ends (repro.training.store); submitit's has the job queued
again, with the same command, which goes on from that checkpoint.
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
WARNED = (-signal.SIGUSR2, INTERRUPTED)  # how a run ends that SLURM has warned
GRACE, TURN = 60.0, 10.0  # seconds; SLURM ends a job 90 seconds after its warning
AT_WORK: list[int] = []  # the process that this job is


@dataclass(frozen=True)
class Training:
    """One job; submitit calls it, and asks it how to go on after a pre-emption."""

    command: list[str]
    cwd: str

    def __call__(self) -> None:
        at_work = subprocess.Popen(self.command, cwd=self.cwd)
        AT_WORK[:] = [at_work.pid]
        code = at_work.wait()
        AT_WORK.clear()
        if code in WARNED:  # SLURM warns every process of a job: submitit's turn comes as well
            time.sleep(TURN)
        if code != 0:
            raise RuntimeError(f"exit code {code}: {shlex.join(self.command)}")

    def checkpoint(self) -> Any:
        """submitit has heard the warning: have the training write its checkpoint, and end."""
        import submitit

        for pid in AT_WORK:
            _end(pid)
        return submitit.helpers.DelayedSubmission(self)


def _end(pid: int) -> None:
    """We are in the handler of a signal, amid `wait`: the child is asked about, not buried."""
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
