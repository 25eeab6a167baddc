"""One finished training on disk: a folder that is there whole or not at all.

    root/<kind>/<key>/spec.json           what was trained; its hash is the key
    root/<kind>/<key>/result.json         numbers, curves, checksums, how it came about
    root/<kind>/<key>/state.safetensors   tensors
    root/<kind>/<key>.lock, .holder, .checkpoint  while it is being trained
    root/<kind>/.<key>.*                  unfinished; swept by the next who holds the lock

A folder is prepared beside its final place and appears by one rename. Reading compares the spec and
the checksums of all files.
"""

import ctypes
import errno
import importlib.metadata
import json
import os
import platform
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from repro.files import (
    DamagedFile,
    read_json,
    sync_folder,
    write_atomically,
    write_json,
    write_sealed,
)
from repro.training.outcome import Outcome, pack, revive, sha256, unpack
from repro.training.spec import Spec, dump, identity, key

SCHEMA = 1
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of renameat2
CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
CONTENT = ("spec.json", "state.safetensors")
FILES = ("result.json", *CONTENT)


@dataclass(frozen=True)
class Slot:
    """The place of one training in a store, whether or not anything is there."""

    root: Path
    kind: str
    key: str
    identity: str

    @classmethod
    def of(cls, root: Path, spec: Spec, context: dict[str, str]) -> "Slot":
        text = identity(spec, context)
        return cls(root, spec.kind, key(spec, context), text)

    def __str__(self) -> str:
        return f"{self.kind}/{self.key}"

    @property
    def directory(self) -> Path:
        return self.root / self.kind / self.key

    def beside(self, ending: str) -> Path:
        return self.root / self.kind / f"{self.key}.{ending}"

    def sweep(self) -> None:
        """Remove what a killed process left half-written. Only for the holder of the lock."""
        for leftover in self.directory.parent.glob(f".{self.key}.*"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()


@dataclass(frozen=True)
class Entry:
    """A sound entry as it was read."""

    outcome: Outcome
    seconds: float
    when: str
    versions: dict[str, str]
    source: str
    run: str


def write(slot: Slot, outcome: Outcome, *, seconds: float, source: str, run: str) -> None:
    """Put an entry in its place; one that is there is replaced (refresh)."""
    import torch

    parent = slot.directory.parent
    prepared = Path(tempfile.mkdtemp(dir=parent, prefix=f".{slot.key}."))
    try:
        os.chmod(prepared, 0o755)  # mkdtemp makes it private
        write_json(prepared / "spec.json", json.loads(slot.identity), lasting=True)
        write_atomically(prepared / "state.safetensors", pack(outcome.tensors), lasting=True)
        packages = ("torch", "numpy", "safetensors")
        versions = {name: importlib.metadata.version(name) for name in packages}
        result = {
            "schema": SCHEMA,
            "numbers": outcome.numbers,
            "curves": {name: [float(x) for x in curve] for name, curve in outcome.curves.items()},
            "files": {name: sha256((prepared / name).read_bytes()) for name in CONTENT},
            "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "versions": {"python": platform.python_version(), **versions},
            "threads": torch.get_num_threads(),
            "seconds": seconds,
            "source": source,
            "run": run,
        }
        write_sealed(prepared / "result.json", result, lasting=True)
        _swap_in(prepared, slot.directory)
        sync_folder(parent)
    finally:
        shutil.rmtree(prepared, ignore_errors=True)  # the old entry, or what was not renamed


def read(slot: Slot) -> Entry:
    """The entry, checked. FileNotFoundError if there is none, DamagedFile if it is not sound."""
    folder = slot.directory
    if not os.path.lexists(folder):
        raise FileNotFoundError(f"{slot} is not in the store")
    for name in FILES:
        if not (folder / name).is_file():
            raise DamagedFile(f"{name} is missing")
    result = read_json(folder / "result.json", schema=SCHEMA, sealed=True)
    content = {name: (folder / name).read_bytes() for name in CONTENT}
    for name, data in content.items():
        if result["files"].get(name) != sha256(data):
            raise DamagedFile(f"checksum of {name} differs")
    if dump(json.loads(content["spec.json"])) != slot.identity:  # as text: 1 == 1.0 == True
        raise DamagedFile("spec.json is of another training")
    tensors = unpack(content["state.safetensors"])
    return Entry(
        Outcome(revive(result["numbers"]), revive(result["curves"]), tensors),
        **{name: result[name] for name in ("seconds", "when", "versions", "source", "run")},
    )


def _swap_in(prepared: Path, final: Path) -> None:
    """In one step: a rename, or two entries change places and the old one is then removed.

    Where they cannot (NFS), there are two renames and a moment without either entry between them;
    the old one comes back if the second fails.
    """
    if not os.path.lexists(final):
        os.rename(prepared, final)
        return
    if exchange(prepared, final):
        return
    old = prepared.with_name(f"{prepared.name}.old")
    os.rename(final, old)
    try:
        os.rename(prepared, final)
    except BaseException:
        os.rename(old, final)
        raise
    shutil.rmtree(old, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Two names change places at once; False if the system or this file system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # of Linux
    if rename is None:
        return False
    names = (AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other))
    if rename(*names, RENAME_EXCHANGE) == 0:
        return True
    if (number := ctypes.get_errno()) in CANNOT_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), os.fspath(other))
