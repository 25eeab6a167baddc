"""Finished trainings, kept by content: one training however many ask, and it says why it trained.

A sound entry is read without a lock. Otherwise: lock, look again, train, rename into place. The
lock is the operating system's: it falls with its holder, and whoever waited goes on from the last
checkpoint. Lock files are never unlinked: a waiter may have one open.

What `get` returns is always read from the disk, so a caller sees the same whether its model was
trained or found. A training that raises is not kept, nor is its checkpoint, unless it was
interrupted (KeyboardInterrupt and the like, a kill, a full disk).
"""

import contextlib
import functools
import inspect
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from filelock import FileLock, Timeout

from repro.files import DamagedFile, set_aside, write_atomically
from repro.training import entry as entries
from repro.training.entry import Entry, Slot
from repro.training.outcome import Outcome, sha256
from repro.training.spec import Spec, context_of, minor
from repro.training.workspace import Progress, Workspace, silent

Mode = Literal["use", "refresh", "readonly"]
S = TypeVar("S", bound=Spec)


class NotComputed(LookupError):
    """A store that may not make it was asked for a training that it lacks."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class DamagedEntry(DamagedFile):
    """A store that may not make it anew holds a training that is not sound."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class Busy(RuntimeError):
    """Another process is at this training, and the caller did not want to wait."""


@dataclass(frozen=True)
class Stored:
    """An outcome and how it came here: `reason` is a sentence, `seconds` what training took."""

    outcome: Outcome
    key: str
    directory: Path
    reason: str
    seconds: float


class Store:
    """Finished trainings below a folder.

    >>> import tempfile
    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> from repro.training import Outcome, Spec, Store
    >>> @dataclass(frozen=True)
    ... class Roots(Spec):
    ...     kind: ClassVar[str] = "roots"
    ...     version: ClassVar[int] = 1
    ...     of: float
    >>> def train(spec, workspace):
    ...     return Outcome({"root": spec.of**0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, second = (Store(folder).get(Roots(2.0), train) for _ in range(2))
    >>> first.reason, second.reason[:6]
    ('computed: no entry', 'reused')
    >>> round(second.outcome.numbers["root"], 6)
    1.414214
    """

    def __init__(
        self,
        root: Path,
        mode: Mode = "use",
        *,
        device: str = "cpu",
        run: str | None = None,
        only: str | None = None,
        say: Callable[[str], None] = silent,
        progress: Progress = silent,
        say_every: float = 10.0,
        checkpoint_every: float = 30.0,
    ) -> None:
        """`only`: the key of the one training that may be made; times are in seconds.

        In mode refresh an entry made by this `run` counts as fresh. Each Store is a run of its own,
        unless processes that work together pass one name.
        """
        self.root, self.mode, self.device, self.only = Path(root), mode, device, only
        self.run = run or uuid.uuid4().hex
        self._say, self._progress = say, progress
        self._say_every, self._checkpoint_every = say_every, checkpoint_every

    def get(
        self, spec: S, train: Callable[[S, Workspace], Outcome], *, wait: bool = True
    ) -> Stored:
        """The outcome of `spec`; `train` is called only if there is no sound entry to reuse.

        Without `wait`: Busy, if another process is training it.
        """
        slot = Slot.of(self.root, spec, context_of(self.device))
        source = _source(train)
        entry, why = self._look(slot)
        if entry is None and self.mode == "readonly":
            told = f"{slot} is not in the read-only store {self.root} ({why})"
            raise NotComputed(told, slot.key)
        if entry is None and self.only not in (None, slot.key):
            told = f"{slot} is not in the store {self.root}"
            raise NotComputed(f"{told}, which may make {self.only} alone", slot.key)
        reason = ""
        if entry is None:
            with self._hold(slot, wait):
                entry, why = self._look(slot, clear=True)
                if entry is None:
                    self._say(f"{slot}: training ({why})")
                    entry, notes = self._compute(slot, source, functools.partial(train, spec))
                    reason = "; ".join([f"computed: {why}", *notes])
        reason = reason or _reused(entry, source)
        return Stored(entry.outcome, slot.key, slot.directory, reason, entry.seconds)

    def _look(self, slot: Slot, clear: bool = False) -> tuple[Entry | None, str]:
        """The entry if it can be reused, otherwise why not; `clear` sets a damaged one aside."""
        try:
            entry = entries.read(slot)
        except FileNotFoundError:
            return None, "no entry"
        except DamagedFile as error:
            if self.mode == "readonly":
                told = f"{slot} in the read-only store {self.root} is damaged ({error})"
                raise DamagedEntry(told, slot.key) from None  # what is missing can be left out
            aside = f" and is set aside as {set_aside(slot.directory).name}" if clear else ""
            return None, f"the entry was damaged ({error}){aside}"
        if self.mode == "refresh" and entry.run != self.run:
            return None, "a refresh was asked for"
        return entry, ""

    def _compute(
        self, slot: Slot, source: str, train: Callable[[Workspace], Outcome]
    ) -> tuple[Entry, list[str]]:
        origin = {"spec": slot.identity, "training code": source, "trainer": _trainer()}
        if self.mode == "refresh":
            origin["run"] = self.run  # what an earlier run began is to be trained anew as well
        workspace = Workspace(
            slot.beside("checkpoint"), device=self.device, origin=origin,
            pause=self._checkpoint_every, progress=self._progress,
            say=lambda message: self._say(f"{slot}: {message}"),
        )  # fmt: skip
        with _signed(slot), _warned(workspace):
            try:
                outcome = train(workspace)
            except OSError:  # the next checkpoint had no room: the last one is all there is
                raise
            except Exception:
                workspace.forget()
                raise
        entries.write(slot, outcome, seconds=workspace.seconds, source=source, run=self.run)
        workspace.forget()
        return entries.read(slot), workspace.notes

    @contextlib.contextmanager
    def _hold(self, slot: Slot, wait: bool) -> Iterator[None]:
        """Hold the lock of one training; the operating system frees it if we are killed."""
        slot.directory.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(slot.beside("lock"))
        patience = min(1.0, self._say_every) if wait else 0.0  # a short wait is not worth a word
        while not lock.is_locked:
            try:
                lock.acquire(timeout=patience, poll_interval=0.1)
            except Timeout:
                if not wait:
                    raise Busy(f"{slot}: {_holder(slot)} is training it") from None
                self._say(f"{slot}: waiting for {_holder(slot)}")
                patience = self._say_every
        try:
            slot.sweep()
            yield
        finally:
            lock.release()


def _reused(entry: Entry, source: str) -> str:
    changed = entry.source and source and entry.source != source
    although = " although the training code has changed since (version not bumped)" * bool(changed)
    torch = minor(entry.versions["torch"])
    return f"reused{although}: computed {entry.when[:10]} by torch {torch} in {entry.seconds:.1f} s"


@contextlib.contextmanager
def _signed(slot: Slot) -> Iterator[None]:
    """While we train, those who wait can read who we are."""
    since = f"{time.strftime('%Y-%m-%d %H:%M:%S')} on {socket.gethostname()}"
    signature = slot.beside("holder")
    write_atomically(signature, f"process {os.getpid()}, which has it since {since}")
    try:
        yield
    finally:
        signature.unlink(missing_ok=True)


@contextlib.contextmanager
def _warned(workspace: Workspace) -> Iterator[None]:
    """While we train, SIGUSR2, by which SLURM tells that a job's time is over, is heeded."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGUSR2, lambda *_: workspace.stop_soon())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR2, before)


def _holder(slot: Slot) -> str:
    try:
        return slot.beside("holder").read_text(errors="replace")
    except OSError:
        return "another process"


@functools.cache
def _trainer() -> str:
    """Hash of this package: the loop, the optimisers, the schedules."""
    modules = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(path.read_bytes() for path in modules))


def _source(train: Callable[..., Any]) -> str:
    """Hash of the file that `train` is defined in; empty if there is none (interactive)."""
    while isinstance(train, functools.partial):
        train = train.func
    try:
        file = inspect.getsourcefile(inspect.unwrap(train))
        return sha256(Path(file).read_bytes()) if file else ""
    except (TypeError, OSError):
        return ""
