"""Signs of life from long work: small files by the workers, now and then a line by the controller.

Under xdist nothing that a worker prints is seen, and without xdist pytest captures it. So a claim
writes how far it is into a file, and a thread of the controller prints it to a descriptor that was
duplicated before the capturing began.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repro import files

BETWEEN_WRITES = 0.2


class Reporter:
    """The claim's side: at most five small writes a second, without waiting for the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written = 0.0

    def __call__(self, step: int, total: int, **numbers: Any) -> None:
        if time.monotonic() - self._written < BETWEEN_WRITES:
            return
        self._written = time.monotonic()
        self._write({"words": f"{step}/{total}", "numbers": numbers})

    def say(self, message: str) -> None:
        """Words in place of a step: what is waited for, why something is trained."""
        self._write({"words": message, "numbers": {}})

    def _write(self, state: dict[str, Any]) -> None:
        temporary = self.path.with_suffix(".progress.new")
        with contextlib.suppress(OSError):  # a sign of life is not worth a training
            temporary.write_text(files.to_json(state))
            os.replace(temporary, self.path)


def line(label: str, seconds: float, path: Path) -> str:
    """`fang2022/lemma-3.1 test_control_trained 300/2000 loss=0.08, 12 s`"""
    text = label
    with contextlib.suppress(FileNotFoundError, files.DamagedFile, KeyError, AttributeError):
        found = files.read_json(path)
        numbers = " ".join(f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}"
                           for key, value in found["numbers"].items())  # fmt: skip
        text += f" {found['words']} {numbers}".rstrip()
    return f"{text}, {seconds:.0f} s"


class Heartbeat(threading.Thread):
    """The controller's side: every `period` seconds one line that names all running claims."""

    def __init__(self, period: float, running: Callable[[], list[str]]) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self.period, self.running = period, running
        self._stop_now = threading.Event()
        self._descriptor = os.dup(2)

    def run(self) -> None:
        while not self._stop_now.wait(self.period):
            lines = self.running()
            if lines:
                os.write(self._descriptor, f"\n[running] {' | '.join(lines)}\n".encode())

    def stop(self) -> None:
        self._stop_now.set()
        self.join()
        os.close(self._descriptor)


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Lines in which each column begins below itself."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, wide)).rstrip() for row in rows]
