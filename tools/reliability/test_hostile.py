"""Files of strangers: pickles and tensors are read whole, or refused by name; nothing else.

Each reader is fed by hypothesis, half with nonsense and half with a good file that is damaged. An
audit hook sees to it that meanwhile nothing is written, no code is looked up or run, and no
connection is opened.
"""

import contextlib
import io
import itertools
import json
import os
import pickle
import pickletools
import struct
import sys
from collections import Counter
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from repro.data import cifar10, weights
from repro.data.errors import BadData
from repro.harness.time_limit import time_limit

pytestmark = pytest.mark.reliability
SIZE = 1000  # inputs of a reader


class Watch:
    """Sees every command, connection, library and pickled name; and folders that are made."""

    NEVER = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork",
             "socket.connect", "ctypes.dlopen", "os.mkdir", "os.rename", "os.remove", "os.link",
             "os.symlink", "os.chmod")  # fmt: skip
    ARRAYS: ClassVar = {
        ("numpy", "ndarray"), ("numpy", "dtype"), ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"), ("_codecs", "encode"),
    }  # fmt: skip

    def __init__(self):
        self.on, self.seen = False, []
        sys.addaudithook(self._hear)  # cannot be taken off again

    def _hear(self, event, arguments):
        looked_up = event == "pickle.find_class" and arguments not in self.ARRAYS
        writes = event == "open" and set(str(arguments[1])) & set("wax+")
        if self.on and (event in self.NEVER or looked_up or writes):
            self.seen.append(f"{event} {arguments!r}")

    @contextlib.contextmanager
    def watching(self):
        self.on, self.seen = True, []
        try:
            yield
        finally:
            self.on = False


WATCH = Watch()


def test_the_watch_sees_what_must_not_happen(tmp_path):
    with WATCH.watching():
        (tmp_path / "a").write_text("not so")
        os.rename(tmp_path / "a", tmp_path / "b")
        os.system("true")
    assert [word.split()[0] for word in WATCH.seen] == ["open", "os.rename", "os.system"]


# --- what is fed ---------------------------------------------------------------------------------


@st.composite
def damaged(draw, good):
    """A good file with a few bytes flipped, cut out, doubled or replaced."""
    data = good
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 64)))
        middle = draw(st.sampled_from([b"", 2 * data[start:end]]) | st.binary(max_size=8))
        data = data[:start] + middle + data[end:]
    return data


@st.composite
def tensor_files(draw):
    shapes = st.lists(st.integers(0, 3) | st.sampled_from([-1, 2**63, 10**30]), max_size=3)
    one = {"dtype": st.sampled_from(["F32", "BF16", "F4", "X"]), "shape": shapes,
           "data_offsets": st.lists(st.integers(-1, 40), max_size=3)}  # fmt: skip
    head = json.dumps(
        draw(st.dictionaries(st.text(max_size=5), st.fixed_dictionaries(one)))
    ).encode()
    length = draw(st.just(len(head)) | st.sampled_from([0, 1, 2**32, 2**63]))
    return struct.pack("<Q", length) + head + draw(st.binary(max_size=48))


def cifar_pickle(protocol):
    data = np.zeros((2, 3072), dtype=np.uint8)
    return pickle.dumps({"data": data, "labels": [1, 2]}, protocol=protocol)


def state_dict():
    torch.save({"w": torch.ones(2)}, file := io.BytesIO())
    return file.getvalue()


OPCODES = [opcode.code.encode("latin1") for opcode in pickletools.opcodes]
GLOBALS = [b"cos\nsystem\n", b"cbuiltins\neval\n", b"cnumpy\nndarray\n", b"cnumpy\nload\n"]
ARGUMENTS = [b"\0", b"\1\0\0\0", b"\xff\xff\xff\x7f", b"x\n", b"5\n", b"(K\1K\2t", b"U\1a"]
soup = st.lists(st.sampled_from([*OPCODES, *GLOBALS, *ARGUMENTS]), max_size=12).map(
    lambda parts: b"".join(parts) + b"."
)
pickles = st.sampled_from([1, 2, 5]).map(cifar_pickle)


# --- who reads it --------------------------------------------------------------------------------


def images(path):
    pixels, labels = cifar10.read_python(path)
    assert pixels.shape == (len(labels), 3, 32, 32)


def tensors(path):
    assert all(map(torch.is_tensor, weights.load(path).values()))


READERS = {
    "CIFAR-10, Python": (soup | pickles.flatmap(damaged), "test_batch", images),
    "safetensors": (tensor_files() | damaged(save({"w": torch.ones(2, 3)})), "w.safetensors", tensors),
    "state_dict": (damaged(state_dict()) | soup, "w.pt", tensors),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_hostile_input_is_read_whole_or_refused_by_name(name, tmp_path):
    inputs, file, read = READERS[name]
    counts, folders = Counter(), itertools.count()

    @settings(
        max_examples=SIZE, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )  # fmt: skip
    @given(inputs)
    def fed(content):
        (folder := tmp_path / str(next(folders))).mkdir()
        (path := folder / file).write_bytes(content)
        said = ""
        try:
            with time_limit(60), WATCH.watching():
                read(path)
        except BadData as error:
            said = str(error)
        assert WATCH.seen == []
        assert not said or str(path) in said
        counts["refused" if said else "accepted"] += 1

    fed()
    assert counts["accepted"]
    assert counts["refused"]


def test_a_pickle_that_asks_for_all_memory_is_refused_before_it_gets_it(tmp_path):
    (path := tmp_path / "test_batch").write_bytes(b"Nr\xff\xff\xff\x7f.")  # None, kept at 2^31 - 1
    with pytest.raises(BadData, match="room for 2147483647 objects"):
        cifar10.read_python(path)
