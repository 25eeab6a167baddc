"""Jobs that an earlier prefetch left in SLURM's queue: noted in the store, asked of squeue.

    <store>/.submitted/<key>.json     {"job": "77_0"}: written whole, gone when the job is over

Without these notes a training whose job still waits would be missing, and be submitted again.
"""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from repro import files

QUEUE = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
PATIENCE = 60.0  # seconds until squeue counts as silent


class Submitted:
    def __init__(self, store: Path) -> None:
        self._folder = store / ".submitted"

    def note(self, key: str, job: str) -> None:
        files.write_sealed(self._path(key), {"job": job})

    def forget(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def waiting(self, keys: Iterable[str]) -> dict[str, str]:
        """The jobs of these trainings that SLURM has not ended yet; notes of others are removed."""
        noted = {key: job for key in keys if (job := self._job(key))}
        queue = in_queue() if noted else set()
        if queue is None:
            told = "there is no squeue here to ask whether earlier jobs still wait"
            print(f"{told}: {len(noted)} may be submitted twice", flush=True)
            return {}
        for key in [key for key, job in noted.items() if job not in queue]:
            self.forget(key)
            del noted[key]
        return noted

    def _job(self, key: str) -> str:
        """A note that cannot be read is as good as none: what it says is only to save time."""
        try:
            return str(files.read_json(self._path(key), sealed=True).get("job", ""))
        except (FileNotFoundError, files.DamagedFile):
            return ""

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def in_queue() -> set[str] | None:
    """The jobs of ours that wait or run, an array's one by one; None where there is no squeue."""
    if shutil.which(QUEUE[0]) is None:
        return None
    try:
        done = subprocess.run(QUEUE, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(error.stderr or "").strip() or error
        raise SystemExit(f"squeue does not tell what waits ({said}): try again later") from None
    return set(done.stdout.split())
