"""Disks that are full or read-only: what is kept, and what is said."""

import errno
import itertools
import os
import resource
import tempfile
from collections import Counter
from contextlib import contextmanager
from functools import partial

import pytest
import torch

from repro import files
from repro.training import Outcome, Store, Workspace
from repro.training.store import DamagedEntry
from tools.reliability.battle import (
    EACH,
    FEW,
    TO_DISK,
    digest,
    interrupted_at,
    slot_of,
    train,
    visible,
)

pytestmark = pytest.mark.reliability


def fail(number):
    raise OSError(number, os.strerror(number))


def test_a_disk_that_is_full_at_any_moment_costs_no_result(tmp_path, monkeypatch):
    """No room left for the first operation on the disk, for the second, and so on."""
    right, outcomes = digest(train(FEW, Workspace())), Counter()
    for moment in itertools.count(1, EACH):
        struck = outcomes["struck"]
        store = Store(tmp_path / str(moment), checkpoint_every=0.0)
        with monkeypatch.context() as patch:
            interrupted_at(moment, partial(full, outcomes), patch.setattr)
            try:
                store.get(FEW, train)
            except OSError as error:
                outcomes["said" if error.errno == errno.ENOSPC else "other error"] += 1
        seen = visible(slot_of(store.root, FEW))
        outcomes["absent" if seen == "absent" else "whole" if seen == right else "partial"] += 1
        if outcomes["struck"] == struck:  # there were not so many operations
            break
        after = store.get(FEW, train)
        outcomes["resumed"] += "resumed" in after.reason
        outcomes["right"] += digest(after.outcome) == right
    assert outcomes["struck"] > 30 // EACH
    assert outcomes["partial"] == outcomes["other error"] == 0
    assert outcomes["right"] == outcomes["struck"]


def full(outcomes):
    outcomes["struck"] += 1
    fail(errno.ENOSPC)


def test_a_checkpoint_that_finds_no_room_does_not_take_the_one_before_along(tmp_path, monkeypatch):
    store, steps = Store(tmp_path, checkpoint_every=0.0), itertools.count(1)

    def fill_the_disk(event, seed):
        if event == "step" and next(steps) == 3:
            monkeypatch.setattr(tempfile, "mkstemp", lambda **_: fail(errno.ENOSPC))

    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        store.get(FEW, partial(train, note=fill_the_disk))
    monkeypatch.undo()
    assert store.get(FEW, train).reason == "computed: no entry; resumed from step 2 of 3"


@contextmanager
def no_file_larger_than(size):
    """The kernel's own limit; for root as for anybody."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_has_no_room_is_named_and_nothing_of_it_stays(tmp_path):
    def train(spec, workspace):
        return Outcome({}, {}, {"w": torch.ones(100_000)})

    store, slot = Store(tmp_path), slot_of(tmp_path, FEW)
    right = digest(train(FEW, Workspace()))
    with no_file_larger_than(100_000), pytest.raises(OSError, match=r"state\.safetensors") as error:
        store.get(FEW, train)
    assert error.value.errno == errno.EFBIG
    left = {path.name for path in slot.directory.parent.iterdir()} - {f"{slot.key}.lock"}
    assert left == set()
    after = store.get(FEW, train)
    assert after.reason == "computed: no entry"
    assert digest(after.outcome) == right


def only_reading(patch):
    """A disk that is mounted read-only, as root finds it as well."""
    opened, writing = os.open, os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def open_to_read(path, flags, *more, **named):
        return fail(errno.EROFS) if flags & writing else opened(path, flags, *more, **named)

    for module, name in [*TO_DISK, (os, "mkdir")]:
        patch.setattr(module, name, lambda *_, **__: fail(errno.EROFS))
    patch.setattr(os, "open", open_to_read)


def test_a_read_only_disk_gives_what_is_there_and_says_what_it_cannot_make(tmp_path, monkeypatch):
    kept, store = Store(tmp_path).get(FEW, train), Store(tmp_path)
    with monkeypatch.context() as patch:
        only_reading(patch)
        assert digest(store.get(FEW, train).outcome) == digest(kept.outcome)
        with pytest.raises(OSError, match=os.strerror(errno.EROFS)):
            store.get(type(FEW)(seed=8), train)
    (kept.directory / "spec.json").write_bytes(b"")
    with monkeypatch.context() as patch:
        only_reading(patch)
        with pytest.raises(DamagedEntry, match=r"damaged .*spec\.json"):
            Store(tmp_path, "readonly").get(FEW, train)
    assert digest(store.get(FEW, train).outcome) == digest(kept.outcome)


def test_a_damaged_record_on_a_read_only_disk_is_said_where_it_lies(tmp_path, monkeypatch):
    (path := tmp_path / "a.json").write_bytes(b"{")
    messages = []
    only_reading(monkeypatch)
    files.put_away(path, files.DamagedFile(f"{path} is not JSON"), messages)
    monkeypatch.undo()
    assert messages == [f"{path} is not JSON; it cannot be set aside (Read-only file system)"]
    assert path.exists()
