"""What a training is given besides its spec: a device, checkpoints, a place to report progress.

`Workspace()` without arguments keeps no checkpoints and is silent, for training without a store.

The checkpoint is ONE file, replaced atomically. It records its origin (spec, the file that trains,
this package), and one of another origin is dropped: half a training by old code and half by new
would be neither.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.files import DamagedFile, set_aside, to_json, write_atomically
from repro.training.outcome import pack_sealed, revive, unpack_sealed

if TYPE_CHECKING:
    from torch import Tensor

SCHEMA = 2


Progress = Callable[..., None]  # of step, total, and numbers by name


def silent(*_: Any, **__: Any) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Checkpoint:
    """A training after `step` of its `total` steps, which took `seconds` so far."""

    step: int
    total: int
    tensors: "dict[str, Tensor]"
    curves: dict[str, list[float]]
    seconds: float
    origin: dict[str, str]


class Workspace:
    def __init__(
        self,
        file: Path | None = None,
        *,
        device: str = "cpu",
        origin: Mapping[str, str] | None = None,
        pause: float = 30.0,
        progress: Progress = silent,
        say: Callable[[str], None] = silent,
    ) -> None:
        """`file`: of the checkpoint, if one is to be kept; at most one every `pause` seconds."""
        self.device = device
        self.progress = progress
        self.notes: list[str] = []  # what became of a checkpoint found here
        self._file = file
        self._origin = dict(origin or {})
        self._pause = pause
        self._say = say
        self._resumed = self._stops = False
        self._began = self._saved = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long this training has taken, the time before a resume included."""
        return time.monotonic() - self._began

    def resume(self) -> Checkpoint | None:
        """The checkpoint to go on from; None if there is none that can be used. Once only."""
        if self._resumed:  # a second fit would take the first one's checkpoint for its own
            raise RuntimeError(
                "a workspace serves one fit: make each its own spec, or give one a Workspace()"
            )
        self._resumed = True
        if self._file is None:
            return None
        try:
            found = _read(self._file)
        except FileNotFoundError:
            return None
        except DamagedFile as error:
            aside = set_aside(self._file).name
            self._note(f"the checkpoint was damaged ({error}) and is set aside as {aside}")
            return None
        place = f"step {found.step} of {found.total}"
        for what, value in self._origin.items():
            if found.origin.get(what) != value:
                self._note(f"a checkpoint at {place} was dropped (it is of another {what})")
                self.forget()
                return None
        self._note(f"resumed from {place}")
        self._began -= found.seconds
        return found

    def due(self) -> bool:
        """Whether it is time for a checkpoint: ask before collecting the tensors for one."""
        late = time.monotonic() - self._saved >= self._pause
        return self._file is not None and (late or self._stops)

    def stop_soon(self) -> None:
        """Have the training write a checkpoint at the next occasion, and end there."""
        self._stops = True

    def checkpoint(
        self,
        step: int,
        total: int,
        tensors: "Mapping[str, Tensor]",
        *,
        curves: Mapping[str, list[float]] | None = None,
    ) -> None:
        """Replace the checkpoint by the state after `step` of `total` steps."""
        if self._file is None:
            return
        note = {
            "schema": SCHEMA, "step": step, "total": total, "curves": curves or {},
            "seconds": self.seconds, "origin": self._origin,
        }  # fmt: skip
        write_atomically(self._file, pack_sealed(tensors, to_json(note)), lasting=True)
        self._saved = time.monotonic()
        if self._stops:
            raise KeyboardInterrupt(f"stopped with a checkpoint at step {step} of {total}")

    def forget(self) -> None:
        """Remove the checkpoint: the training is complete, or has failed."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _note(self, message: str) -> None:
        self.notes.append(message)
        self._say(message)


def _read(file: Path) -> Checkpoint:
    tensors, text = unpack_sealed(file.read_bytes())
    note = json.loads(text)
    if (schema := note.pop("schema")) != SCHEMA:
        raise DamagedFile(f"it has schema {schema}, this version reads {SCHEMA}")
    return Checkpoint(tensors=tensors, **{**note, "curves": revive(note["curves"])})
