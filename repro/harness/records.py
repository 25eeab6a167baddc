"""The record of one test: written before the work, during it, and after its end.

These files are the truth from which results.json and the page are made. Each is replaced by an
atomic rename, so that a killed process leaves what it had measured, marked as running.
"""

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import Any

from repro import files
from repro.harness import process, provenance
from repro.results import codec
from repro.results.types import Record

BETWEEN_WRITES = 0.2  # seconds; a killed test loses at most this much of its numbers
FORKED = (
    "this process was forked from that of the test, and what it records would be lost: "
    "hand the number back, and measure, check and record in the test's own process"
)


class Recorder:
    """Keeps the record of the test that runs now."""

    def __init__(self, path: Path, root: Path, **identity: Any) -> None:
        self.path, self.root = path, root
        identity |= {"state": "running", "started": provenance.now(), **process.this()}
        for given in ("params", "description"):
            if given in identity:
                identity[given] = provenance.published(identity[given], root)
        self.record = Record(**identity)
        self.red = ""  # what the first red check said
        self._began = time.perf_counter()
        self._written = 0.0
        self._guard = threading.Lock()
        self._later: threading.Timer | None = None
        self._lost.unlink(missing_ok=True)
        self.write()

    def write(self) -> None:
        with self._guard:
            self._later = None
            self.record.seconds = round(time.perf_counter() - self._began, 3)
            codec.write(self.path, self.record)
            self._written = time.monotonic()

    def append(self, key: str, entry: Any, red: str = "") -> None:
        """To one of the record's lists: its checks, numbers, cells, figures...

        `red`: what a red check says. A thread may outlive its test: what it finds is written at
        once, and a red check fails the test even then.
        """
        if os.getpid() != self.record.pid:
            self._lost.touch()
            raise RuntimeError(FORKED)
        with self._guard:
            getattr(self.record, key).append(provenance.published(entry, self.root))
            self.red = self.red or red
            late = self.record.state != "running"
            if late and red and self.record.state not in ("failed", "error"):
                self._end("failed", red)
        if late:
            self.write()
        else:
            self._write_soon()

    def _write_soon(self) -> None:
        """At once if the last write is old enough, else in a moment; at most one write waits."""
        wait = self._written + BETWEEN_WRITES - time.monotonic()
        if wait <= 0:
            self.write()
        elif self._later is None:
            self._later = threading.Timer(wait, self._write_late)
            self._later.daemon = True
            try:
                self._later.start()
            except RuntimeError:  # no memory for another thread
                self.write()

    def _write_late(self) -> None:
        with contextlib.suppress(OSError):  # a full disk is told by the next write of the test
            if self.record.state == "running":
                self.write()

    def finish(self, state: str, message: str = "") -> None:
        with self._guard:
            if self._later is not None:
                self._later.cancel()
            if state == "passed" and self.red:  # since the test was judged, by one of its threads
                state, message = "failed", self.red
            elif state == "passed" and self.lost:
                state, message = "error", FORKED
            self._end(state, message)
        self.progress_path.unlink(missing_ok=True)
        self.write()

    def _end(self, state: str, message: str) -> None:
        self.record.state = state
        self.record.message = provenance.without_folders(message, self.root)

    def give_up(self, message: str) -> None:
        """The last word on a test whose record could not be written as it is."""
        with contextlib.suppress(Exception):  # a full disk stays full: the test is red anyway
            self.finish("error", message)

    @property
    def lost(self) -> bool:
        """Whether a process that was forked from this one wanted to record something."""
        return self._lost.exists()

    @property
    def _lost(self) -> Path:
        return _lost(self.path)

    @property
    def progress_path(self) -> Path:
        return self.path.with_suffix(".progress")


def _lost(path: Path) -> Path:
    return path.with_suffix(".lost")


def read(path: Path, messages: list[str] | None = None) -> Record | None:
    """A test's record, or None. With `messages`, a damaged one is set aside and said there."""
    try:
        record = codec.read(Record, path)
        _check_figures(record, path)
    except (FileNotFoundError, codec.OlderSchema):
        return None
    except files.DamagedFile as damage:
        if messages is not None:
            files.put_away(path, damage, messages)
        return None
    if record.state == "running" and not process.alive(vars(record)):
        record.state = "interrupted"
    if _lost(path).exists() and record.state == "passed":  # by a process that outlived its test
        record.state, record.message = "error", FORKED
    return record


def _check_figures(record: Record, path: Path) -> None:
    """The page shows them and a snapshot copies them: they lie where `Claim.figure` puts them."""
    for figure in record.figures:
        for file in (figure.svg, figure.png):
            folder, _, name = file.rpartition("/")
            if folder != f"claims/{record.claim}" or name in ("", ".", ".."):
                raise files.DamagedFile(f"{path} names a figure that is not the claim's: {file}")


def mark(path: Path, state: str, message: str) -> None:
    """Give a record that its own process could not finish its last state.

    On a full disk it stays as it is; once its process is gone it is read as interrupted.
    """
    record = read(path)
    if record is not None and record.state in ("running", "interrupted"):
        record.state, record.message = state, message
        with contextlib.suppress(OSError):
            codec.write(path, record)
