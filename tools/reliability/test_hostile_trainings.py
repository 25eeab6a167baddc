"""Hostile specs, entries of the store, checkpoints and tensors."""

import functools
import io
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from safetensors.torch import save

from repro import files
from repro.data import weights
from repro.data.errors import BadData
from repro.training import Outcome, Spec, Store, key
from repro.training import entry as entries
from repro.training.outcome import pack_sealed, unpack, unpack_sealed
from repro.training.store import DamagedEntry
from repro.training.workspace import Workspace
from tools.reliability import hostile
from tools.reliability.fuzzing import Parsers, is_below, says, scratch

pytestmark = pytest.mark.reliability

PARSERS = Parsers()


@dataclass(frozen=True)
class Free(Spec):
    kind: ClassVar[str] = "free"
    version: ClassVar[int] = 1
    value: Any = None


leaves = hostile.anything | st.sampled_from(
    [float("nan"), np.float64(1), np.ones(2), {1}, b"x", len, object(), "\ud800", 1j, Path("/x")]
)
values = leaves | st.lists(leaves, max_size=3).map(tuple)


@PARSERS.add("specs", values)
def feed_spec(value, folder):
    try:
        found = key(Free(value), {})
    except TypeError as error:
        return says(error, "Free.value")
    assert re.fullmatch(r"[0-9a-f]{20}", found)
    assert found == key(Free(value), {})
    return "accepted"


@PARSERS.add(
    "kinds of specs", hostile.strings | st.from_regex(r"[a-z0-9][a-z0-9._-]*", fullmatch=True)
)
def feed_kind(kind, folder):
    hostile_kind = type("Hostile", (Free,), {"kind": kind})
    try:
        slot = entries.Slot.of(folder, dataclass(frozen=True)(hostile_kind)(), {})
    except TypeError as error:
        return says(error, repr(kind))
    assert slot.directory.parent.parent == folder
    assert is_below(slot.directory, folder)
    return "accepted"


@st.composite
def forged_entries(draw):
    good = files.read_json(stored().directory / "result.json")
    return draw(hostile.changed(good) | st.just(good)), draw(st.booleans())


@functools.cache
def stored():
    made = Outcome({"a": 1}, {"c": [0.5]}, {"w": torch.ones(2)})
    return Store(Path(scratch().name, "store")).get(Free(1), lambda *_: made)


@PARSERS.add("entries of the store", forged_entries(), weight=2, needs=[stored])
def feed_entry(case, folder):
    value, sealed = case
    place = folder / "free" / stored().key
    shutil.copytree(stored().directory, place)
    if sealed and isinstance(value, dict):
        value = {**value, "checksum": files._checksum(value)}
    (place / "result.json").write_text(json.dumps(value))
    try:
        found = Store(folder, "readonly").get(Free(1), lambda *_: Outcome())
    except DamagedEntry as error:
        return says(error, "damaged")
    assert torch.equal(found.outcome.tensors["w"], torch.ones(2))
    assert isinstance(found.outcome.numbers, dict)
    return "accepted"


NOTE = {"schema": 2, "step": 1, "total": 3, "numbers": {}, "curves": {"loss": [1.0]},
        "seconds": 0.5, "origin": {"spec": "x"}}  # fmt: skip
SEALED = pack_sealed({"w": torch.ones(2)}, json.dumps(NOTE))


@PARSERS.add(
    "checkpoints",
    hostile.damaged(SEALED)
    | hostile.changed(NOTE).map(lambda n: pack_sealed({"w": torch.ones(2)}, json.dumps(n)))
    | st.just(SEALED)
    | st.binary(max_size=30),
)
def feed_checkpoint(content, folder):
    path = folder / "c.safetensors"
    path.write_bytes(content)
    workspace = Workspace(path)
    found = workspace.resume()
    [note] = workspace.notes
    if found is None:
        return says(note, "damaged")
    assert (type(found.step), type(found.total)) == (int, int)
    return "accepted"


@PARSERS.add(
    "safetensors",
    hostile.tensor_files()
    | hostile.damaged(save({"w": torch.ones(2, 3)}))
    | st.binary(max_size=20),
    weight=3,
)
def feed_tensors(content, folder):
    outcomes = set()
    for read in (unpack, lambda data: unpack_sealed(data)[0]):
        try:
            found = read(content)
        except files.DamagedFile as error:
            outcomes.add(says(error, "safetensors", "checksum", "note"))
            continue
        assert all(map(torch.is_tensor, found.values()))
        outcomes.add("accepted")
    path = folder / "w.safetensors"
    path.write_bytes(content)
    outcomes.add(of_weights(path))
    return "accepted" if "accepted" in outcomes else "refused"


def of_weights(path):
    try:
        found = weights.load(path)
    except BadData as error:
        return says(error, path)
    assert all(map(torch.is_tensor, found.values()))
    return "accepted"


def saved(value):
    torch.save(value, file := io.BytesIO())
    return file.getvalue()


@PARSERS.add("state_dict", hostile.damaged(saved({"w": torch.ones(2)})) | hostile.opcode_soup)
def feed_state_dict(content, folder):
    path = folder / "w.pt"
    path.write_bytes(content)
    return of_weights(path)


@pytest.mark.parametrize("name", PARSERS)
def test_hostile_input_is_accepted_and_sane_or_refused_by_name(name, tmp_path):
    PARSERS.feed(name, tmp_path)
