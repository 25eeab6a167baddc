"""The record of one test: written before the work, during it, and after its end.

These files are the truth from which results.json and the page are made. Each is replaced by an
atomic rename, so that a killed process leaves what it had measured, marked as running.
"""

import contextlib
import threading
import time
from pathlib import Path
from typing import Any

from repro import files
from repro.harness import process, provenance

SCHEMA = 1
ANY = object  # a number, or whatever was measured
LISTS: dict[str, dict[str, Any]] = {  # what a record lists, and what each entry must have
    "checks": {
        "name": str, "equation": str, "measured": ANY, "relation": str, "allowed": ANY,
        "source": str, "margin": ANY, "ok": bool, "params": dict,
    },
    "table": {"row": str, "column": str, "paper": ANY, "ours": ANY},
    "counterexamples": {
        "refutes": str, "printed": bool, "input": dict, "measured": ANY, "expected": ANY,
    },
    "figures": {"svg": str, "png": str, "caption": str, "alt": str},
    "store": {"kind": str, "key": str, "reason": str, "seconds": int | float},
}  # fmt: skip
WORDS = ("claim", "test", "state", "role", "run")
WORDS_OF_ENTRIES = ("relation", "snippet", "note")  # if they are there
MORE_WORDS = ("message", "description", "command", "started", "worker", "scale", "device", "code")
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
            **process.this(),
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
            files.write_sealed(self.path, self.data)
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
            try:
                self._later.start()
            except RuntimeError:  # no memory for another thread
                self.write()

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
        data = files.read_json(path, schema=SCHEMA, sealed=True)
        defect = _defect(data)
        if defect:
            raise files.DamagedFile(f"{path} is no record: {defect}")
    except FileNotFoundError:
        return None
    except files.DamagedFile as damage:
        if messages is None:
            return None
        files.put_away(path, damage, messages)
        return None
    if data["state"] == "running" and not process.alive(data):
        data["state"] = "interrupted"
    return data


def _defect(data: dict[str, Any]) -> str:
    """What keeps an object from being a record, or nothing."""
    for key in WORDS:
        if not isinstance(data.get(key), str):
            return f"{key!r} is missing or not a word"
    for key in MORE_WORDS:
        if not isinstance(data.get(key, ""), str):
            return f"{key!r} is not a word"
    if not isinstance(data.get("evidence", ...), str | None):
        return "'evidence' is missing or not a word"
    for key, needed in LISTS.items():
        entries = data.get(key)
        if not isinstance(entries, list):
            return f"{key!r} is missing or not a list"
        if not all(_has(entry, needed) for entry in entries):
            return f"{key!r} holds something odd"
    for figure in data["figures"]:
        if not all(_is_of_claim(figure[kind], data["claim"]) for kind in ("svg", "png")):
            return "'figures' names a file that is not the claim's"
    if not isinstance(data.get("records"), dict) or type(data.get("seconds")) not in (int, float):
        return "'records' or 'seconds' is missing or odd"
    return ""


def _has(entry: Any, needed: dict[str, Any]) -> bool:
    return (
        isinstance(entry, dict)
        and all(key in entry and isinstance(entry[key], kind) for key, kind in needed.items())
        and all(isinstance(entry.get(key, ""), str) for key in WORDS_OF_ENTRIES)
    )


def _is_of_claim(file: str, claim: str) -> bool:
    """The page shows it and a snapshot copies it, so it must lie where `Claim.figure` puts it."""
    folder, _, name = file.rpartition("/")
    return folder == f"claims/{claim}" and name not in ("", ".", "..")


def mark(path: Path, state: str, message: str) -> None:
    """Give a record that its own process could not finish its last state.

    On a full disk it stays as it is; once its process is gone it is read as interrupted.
    """
    data = read(path)
    if data is not None and data["state"] in ("running", "interrupted"):
        with contextlib.suppress(OSError):
            files.write_sealed(path, {**data, "state": state, "message": message})
