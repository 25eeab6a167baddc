"""SLURM's queue, and which of our jobs are in it.

    <store>/.submitted/<key>.json     {"job": "77_0"}, removed when the job has ended

With these notes a second call of prefetch waits for the jobs of the first one, and does not submit
the same trainings again.
"""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from repro import files

QUEUE = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
PATIENCE = 60.0  # seconds to wait for squeue


class Submitted:
    def __init__(self, store: Path) -> None:
        self._folder = store / ".submitted"

    def note(self, key: str, job: str) -> None:
        files.write_sealed(self._path(key), {"job": job})

    def waiting(self, keys: Iterable[str]) -> dict[str, str]:
        """The jobs of these trainings that wait or run; notes of jobs that ended are removed."""
        noted = {key: job for key in keys if (job := self._job(key))}
        queue = in_queue() if noted else set()
        for key in [key for key, job in noted.items() if job not in queue]:
            self._path(key).unlink(missing_ok=True)
            del noted[key]
        return noted

    def _job(self, key: str) -> str:
        """A damaged note counts as none: the training is submitted again."""
        try:
            return str(files.read_json(self._path(key), sealed=True).get("job", ""))
        except (FileNotFoundError, files.DamagedFile):
            return ""

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def in_queue() -> set[str]:
    """The ids of the user's jobs that wait or run, those of an array one by one."""
    try:
        done = subprocess.run(QUEUE, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except FileNotFoundError:
        raise SystemExit("there is no squeue here: run this where SLURM is installed") from None
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(error.stderr or "").strip() or error
        raise SystemExit(f"squeue failed ({said}): give the same command later") from None
    return set(done.stdout.split())
