"""The store of trainings: what is kept, damage, modes. Trainings here cost nothing.

Kills, waiting and resuming, which need a training that takes its time, are in test_training_resumed.py.
"""

import errno
import importlib.util
import json
import math
import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from repro.files import write_json
from repro.training import NotComputed, Outcome, Spec, Store
from repro.training import entry as entries
from repro.training.spec import context_of
from repro.training.store import DamagedEntry

ROOT = Path(entries.__file__).parents[2]


@dataclass(frozen=True)
class Free(Spec):
    kind: ClassVar[str] = "free"
    version: ClassVar[int] = 1
    value: Any = None


def train(spec, workspace):
    return Outcome({"value": spec.value}, {"loss": [1.0, 0.5]}, {"w": torch.full((2,), 1.5)})


def slot_of(root, spec):
    return entries.Slot.of(root, spec, context_of("cpu"))


def same(left, right):
    """Bit for bit, types of numbers included."""
    return (
        repr((left.numbers, left.curves)) == repr((right.numbers, right.curves))
        and left.tensors.keys() == right.tensors.keys()
        and all(torch.equal(left.tensors[name], right.tensors[name]) for name in left.tensors)
    )


def listing(root):
    """Everything under `root`: names, contents, times."""
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in sorted(root.rglob("*"))
    }


# ---- what is kept --------------------------------------------------------------------------------


def test_the_second_time_it_is_reused_and_equal(tmp_path):
    store = Store(tmp_path)
    computed, reused = store.get(Free(), train), store.get(Free(), train)
    assert computed.reason == "computed: no entry"
    date_version_time = r"20\d\d-\d\d-\d\d by torch \d+\.\d+ in \d+\.\d s"
    assert re.fullmatch(f"reused: computed {date_version_time}", reused.reason)
    assert same(computed.outcome, reused.outcome)
    assert computed.directory == tmp_path / "free" / computed.key
    assert sorted(os.listdir(tmp_path / "free")) == [computed.key, f"{computed.key}.lock"]


def test_what_was_just_computed_is_as_if_it_had_been_read(tmp_path):
    """nan, numpy scalars, tuples, tied or odd tensors: the same from training and from disk."""
    weight = torch.arange(6.0).reshape(2, 3)
    tensors = {"w": weight, "tied": weight, "view": weight.T, "half": weight.bfloat16()}
    odd = Outcome(
        {"nan": math.nan, "list": (1, np.float32(0.1), -math.inf), "int": np.int64(3), "no": None},
        {"loss": [np.float64(0.1), math.inf, 2]},
        {**tensors, "zero": torch.tensor(-0.0)},
    )
    store = Store(tmp_path)
    computed, reused = (store.get(Free(), lambda *_: odd).outcome for _ in range(2))
    assert same(computed, reused)
    assert repr(computed.numbers) == (
        "{'nan': nan, 'list': [1, 0.10000000149011612, -inf], 'int': 3, 'no': None}"
    )
    assert computed.curves == {"loss": [0.1, math.inf, 2.0]}
    assert torch.equal(computed.tensors["view"], weight.T)
    assert math.copysign(1, computed.tensors["zero"].item()) == -1
    assert computed.tensors["half"].dtype == torch.bfloat16


def test_entries_name_no_host(tmp_path):
    folder = Store(tmp_path).get(Free(), train).directory
    text = "".join((folder / name).read_text("latin-1") for name in entries.FILES)
    assert not [
        s for s in (platform.node(), str(tmp_path), str(Path.home()), str(ROOT)) if s in text
    ]


def test_a_training_may_ask_for_another_one(tmp_path):
    store = Store(tmp_path)
    outer = store.get(Free(1), lambda *_: store.get(Free(2), train).outcome)
    assert outer.outcome.numbers == {"value": 2}


# ---- entries that are not sound ------------------------------------------------------------------


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << place % 8
    path.write_bytes(data)


def set_schema(path, schema):
    write_json(path, {**json.loads(path.read_bytes()), "schema": schema})


def replace_by_file(folder):
    shutil.rmtree(folder)
    folder.write_text("mine")


def replace_by_lookalike(folder):
    """A sound entry, but of another spec: one that Python calls equal to Free(1)."""
    other = Store(folder.parents[1]).get(Free(1.0), train)
    shutil.rmtree(folder)
    other.directory.rename(folder)


DAMAGES = {
    "no result": (lambda d: (d / "result.json").unlink(), "result.json is missing"),
    "no state": (lambda d: (d / "state.safetensors").unlink(), "state.safetensors is missing"),
    "truncated result": (lambda d: truncate(d / "result.json"), "is not JSON"),
    "flipped spec": (lambda d: flip(d / "spec.json", 40), "checksum of spec.json differs"),
    "flipped state": (lambda d: flip(d / "state.safetensors", -1), "checksum of state.safe"),
    "foreign result": (lambda d: (d / "result.json").write_text("{}"), "has schema None"),
    "forged result": (lambda d: (d / "result.json").write_text('{"schema": 1}'), "checksum of re"),
    "new schema": (lambda d: set_schema(d / "result.json", 2), "schema 2, this version reads 1"),
    "not a folder": (replace_by_file, "result.json is missing"),
    "another spec": (replace_by_lookalike, "spec.json is of another training"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_set_aside_and_recomputed(tmp_path, damage):
    store = Store(tmp_path)
    sound = store.get(Free(1), train)
    break_it, said = DAMAGES[damage]
    break_it(sound.directory)
    with pytest.raises(DamagedEntry, match=said):
        Store(tmp_path, "readonly").get(Free(1), train)
    again = store.get(Free(1), train)
    pattern = r"computed: the entry was damaged \((.*)\) and is set aside as (.*)"
    reason = re.fullmatch(pattern, again.reason)
    assert reason, again.reason
    assert said in reason[1]
    assert (tmp_path / "free" / reason[2]).exists()
    assert same(again.outcome, sound.outcome)
    assert "reused" in store.get(Free(1), train).reason


# ---- an entry is whole or absent -----------------------------------------------------------------


def test_at_no_moment_is_a_partial_entry_visible(tmp_path, monkeypatch):
    """Whenever something reaches the disk, a reader finds no entry or a sound one."""
    slot = slot_of(tmp_path, Free(1))
    seen, fsync = [], os.fsync

    def look(handle):
        seen.append(slot.directory.exists() and entries.read(slot).outcome.numbers)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", look)
    Store(tmp_path).get(Free(1), train)
    assert seen[-1] == {"value": 1}  # the folder above, after the rename
    assert len(seen) == 7  # three files, each with their folder, and the folder above
    assert not any(seen[:-1])
    first = len(seen)
    Store(tmp_path, "refresh").get(Free(1), train)
    later = seen[first:]
    assert later == [{"value": 1}] * len(later)
    assert len(later) > 5


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_a_rename_that_fails_leaves_what_was_there_before(tmp_path, monkeypatch, failure):
    rename = os.rename

    def fail_for_prepared(source, target):
        if target == slot_of(tmp_path, Free()).directory and not str(source).endswith(".old"):
            raise failure
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_for_prepared)
    with pytest.raises(failure):
        Store(tmp_path).get(Free(), train)
    assert [path.suffix for path in (tmp_path / "free").iterdir()] == [".lock"]
    monkeypatch.undo()
    old = Store(tmp_path).get(Free(), train)
    monkeypatch.setattr(os, "rename", fail_for_prepared)
    monkeypatch.setattr(entries, "exchange", lambda *_: False)
    with pytest.raises(failure):
        Store(tmp_path, "refresh").get(Free(), lambda *_: Outcome({"value": "new"}))
    assert same(Store(tmp_path).get(Free(), train).outcome, old.outcome)
    assert len(list((tmp_path / "free").iterdir())) == 2


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL, None], ids=str)
def test_an_entry_made_anew_takes_the_old_ones_place_in_one_step_where_it_can(
    tmp_path, monkeypatch, number
):
    """`number`: what a file system says that cannot exchange two names."""
    Store(tmp_path).get(Free(), train)
    renamed, rename = [], os.rename
    monkeypatch.setattr(os, "rename", lambda *names: renamed.append(names) or rename(*names))
    if number is not None:
        libc = SimpleNamespace(renameat2=lambda *_: -1)
        monkeypatch.setattr(entries.ctypes, "CDLL", lambda *_, **__: libc)
        monkeypatch.setattr(entries.ctypes, "get_errno", lambda: number)
    elif not can_exchange(tmp_path):
        pytest.skip("this file system cannot exchange two names")
    new = Store(tmp_path, "refresh").get(Free(), lambda *_: Outcome({"value": "new"}))
    assert new.outcome.numbers == {"value": "new"}
    assert len(renamed) == (0 if number is None else 2)
    assert len(list((tmp_path / "free").iterdir())) == 2


def can_exchange(folder):
    for name in ("one", "other"):
        (folder / name).write_text(name)
    can = entries.exchange(folder / "one", folder / "other")
    assert (folder / "one").read_text() == ("other" if can else "one")
    return can


# ---- modes ---------------------------------------------------------------------------------------


def test_refresh_recomputes_once_per_run(tmp_path):
    calls = []

    def ask(store):
        return store.get(Free(), lambda *_: calls.append(1) or Outcome({"call": len(calls)}))

    assert ask(Store(tmp_path)).outcome.numbers == {"call": 1}
    refresh = Store(tmp_path, "refresh", run="tonight")
    assert ask(refresh).reason == "computed: a refresh was asked for"
    for store in (refresh, Store(tmp_path, "refresh", run="tonight"), Store(tmp_path)):
        assert ask(store).outcome.numbers == {"call": 2}
    assert ask(Store(tmp_path, "refresh")).outcome.numbers == {"call": 3}
    assert len(list((tmp_path / "free").iterdir())) == 2


def test_readonly_finds_what_is_there_and_writes_nothing(tmp_path):
    with pytest.raises(NotComputed, match="no entry"):
        Store(tmp_path / "store", "readonly").get(Free(), train)
    assert not listing(tmp_path)
    kept = Store(tmp_path).get(Free(), train)
    before = listing(tmp_path)
    assert same(Store(tmp_path, "readonly").get(Free(), train).outcome, kept.outcome)
    with pytest.raises(NotComputed, match=r"free/[0-9a-f]{20} is not in the read-only store"):
        Store(tmp_path, "readonly").get(Free(1), train)
    assert listing(tmp_path) == before
    truncate(kept.directory / "result.json")
    damaged = listing(tmp_path)
    assert damaged != before  # the comparison can tell
    with pytest.raises(DamagedEntry, match=r"in the read-only store .* is damaged"):
        Store(tmp_path, "readonly").get(Free(), train)
    assert listing(tmp_path) == damaged


def test_changed_training_code_is_said_but_does_not_cost_a_training(tmp_path):
    def trainer(name, text):
        (tmp_path / name).write_text(text)
        spec: Any = importlib.util.spec_from_file_location(name, tmp_path / name)
        module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.train

    text = "from repro.training import Outcome\ndef train(*_): return Outcome({'loss': 1})\n"
    store = Store(tmp_path / "store")
    store.get(Free(), trainer("old.py", text))
    assert store.get(Free(), trainer("moved.py", text)).reason.startswith("reused: ")
    reason = store.get(Free(), trainer("new.py", text + "# a remark\n")).reason
    assert reason.startswith(
        "reused although the training code has changed since (version not bumped): computed 20"
    )
