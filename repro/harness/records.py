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
from repro.harness import provenance

SCHEMA = 1
LISTS = {  # what a record lists, and what each entry must have
    "checks": {"name", "equation", "measured", "relation", "allowed", "source", "margin", "ok"},
    "table": {"row", "column", "paper", "ours"},
    "counterexamples": {"refutes", "printed", "input", "measured", "expected"},
    "figures": {"svg", "png", "caption", "alt"},
    "store": {"kind", "key", "reason"},
}
BETWEEN_WRITES = 0.2  # seconds; a killed test loses at most this much of its numbers


class Record:
    """What one test has measured so far."""

    def __init__(self, path: Path, **identity: Any) -> None:
        self.path = path
        self.data: dict[str, Any] = {
            "schema": SCHEMA,
            **identity,
            "state": "running",
            "started": provenance.now(),
            "seconds": 0.0,
            "pid": os.getpid(),
            "message": "",
            "records": {},
            "checks": [],
            "table": [],
            "counterexamples": [],
            "figures": [],
            "store": [],
        }
        self._began = time.perf_counter()
        self._written = 0.0
        self._guard = threading.Lock()
        self._later: threading.Timer | None = None
        self.write()

    def write(self) -> None:
        with self._guard:
            self._later = None
            self.data["seconds"] = round(time.perf_counter() - self._began, 3)
            files.write_json(self.path, self.data)
            self._written = time.monotonic()

    def append(self, key: str, entry: dict[str, Any]) -> None:
        with self._guard:
            self.data[key].append(entry)
        self._write_soon()

    def note(self, key: str, values: dict[str, Any]) -> None:
        with self._guard:
            self.data[key].update(values)
        self._write_soon()

    def _write_soon(self) -> None:
        """At once if the last write is old enough, else in a moment; at most one write waits."""
        wait = self._written + BETWEEN_WRITES - time.monotonic()
        if wait <= 0:
            self.write()
        elif self._later is None:
            self._later = threading.Timer(wait, self._write_late)
            self._later.daemon = True
            self._later.start()

    def _write_late(self) -> None:
        with contextlib.suppress(
            OSError
        ):  # a full disk is told by the next write of the test itself
            if self.data["state"] == "running":
                self.write()

    def finish(self, state: str, message: str = "") -> None:
        if self._later is not None:
            self._later.cancel()
        self.data["state"] = state
        self.data["message"] = message
        self.progress_path.unlink(missing_ok=True)
        self.write()

    @property
    def progress_path(self) -> Path:
        return self.path.with_suffix(".progress")


def read(path: Path, messages: list[str] | None = None) -> dict[str, Any] | None:
    """A test's record, or None. With `messages`, a damaged one is set aside and said there."""
    try:
        data = files.read_json(path, schema=SCHEMA)
        defect = _defect(data)
        if defect:
            raise files.DamagedFile(f"{path} is no record: {defect}")
    except FileNotFoundError:
        return None
    except files.DamagedFile as damage:
        if messages is None:
            return None
        try:
            aside = files.set_aside(path)
        except OSError:  # another process was quicker
            return None
        messages.append(f"{damage}; set aside as {aside.name}")
        return None
    if data["state"] == "running" and not alive(data.get("pid")):
        data["state"] = "interrupted"
    return data


def _defect(data: dict[str, Any]) -> str:
    """What keeps an object from being a record, or nothing."""
    for key in ("claim", "test", "state", "role", "run"):
        if not isinstance(data.get(key), str):
            return f"{key!r} is missing or not a word"
    for key, needed in LISTS.items():
        entries = data.get(key)
        if not isinstance(entries, list):
            return f"{key!r} is missing or not a list"
        if not all(isinstance(entry, dict) and needed <= set(entry) for entry in entries):
            return f"{key!r} holds something odd"
    if not isinstance(data.get("records"), dict) or type(data.get("seconds")) not in (int, float):
        return "'records' or 'seconds' is missing or odd"
    return ""


def mark(path: Path, state: str, message: str) -> None:
    """Give a record that its own process could not finish its last state."""
    data = read(path)
    if data is not None and data["state"] in ("running", "interrupted"):
        files.write_json(path, {**data, "state": state, "message": message})


def alive(pid: Any) -> bool:
    """Whether that process still works; one that is dead and not yet buried does not."""
    if type(pid) is not int or not 0 < pid < 2**31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # no /proc here, or gone by now
        return True
