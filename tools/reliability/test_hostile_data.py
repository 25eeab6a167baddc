"""Hostile data sets: archives and pickles; and bombs, one by one."""

import dataclasses
import pickle
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.data import archives, cifar10, minilm
from repro.data.catalogue import CIFAR10, MINILM
from repro.data.errors import BadData
from repro.data.sets import Registry
from repro.harness.time_limit import time_limit
from tools.reliability import hostile
from tools.reliability.fuzzing import Parsers, says

pytestmark = pytest.mark.reliability

PARSERS = Parsers()


def members(read, path, **named):
    try:
        found = list(read(path, lambda _: True, **named))
    except BadData as error:
        return says(error, path)
    assert all(len(content) <= archives.LARGEST for _, content in found)
    assert not any(".." in name.split("/") or name.startswith("/") for name, _ in found)
    return "accepted"


def refused_as(one, convert, path, folder):
    """Nothing of a hostile archive becomes a data set: what is made of it has known checksums."""
    made = dataclasses.replace(one, fetch=lambda into, *_: convert(path, into))
    with pytest.raises(BadData) as caught:
        Registry([made], folder).fetch(one.name, lambda _: None)
    says(caught.value, path, one.name)
    assert not made.place(folder).exists()


@PARSERS.add("tar archives", hostile.tars() | hostile.tars().flatmap(hostile.damaged), weight=3)
def feed_tar(content, folder):
    path = folder / "a.tgz"
    path.write_bytes(content)
    refused_as(CIFAR10, cifar10.convert, path, folder)
    return members(archives.of_tar, path)


@PARSERS.add("zip archives", hostile.zips() | hostile.zips().flatmap(hostile.damaged), weight=2)
def feed_zip(content, folder):
    path = folder / "a.whl"
    path.write_bytes(content)
    refused_as(MINILM, minilm.convert, path, folder)
    return members(archives.of_zip, path)


@PARSERS.add(
    "CIFAR-10, Python",
    hostile.opcode_soup
    | st.sampled_from([1, 2, 5]).map(hostile.cifar_pickle)
    | st.sampled_from([1, 2, 5]).map(hostile.cifar_pickle).flatmap(hostile.damaged),
    weight=3,
)
def feed_pickle(content, folder):
    path = folder / "test_batch"
    path.write_bytes(content)
    try:
        pixels, labels = cifar10.read_python(path)
    except BadData as error:
        return says(error, path)
    assert pixels.shape == (len(labels), 3, 32, 32)
    return "accepted"


@pytest.mark.parametrize("name", PARSERS)
def test_hostile_input_is_accepted_and_sane_or_refused_by_name(name, tmp_path):
    PARSERS.feed(name, tmp_path)


@pytest.mark.parametrize("size", [-1, 1001, 2**60])
@pytest.mark.parametrize("kind", ["tar", "zip", "Debian package"])
def test_a_member_with_an_impossible_size_is_refused_before_it_is_read(
    tmp_path, monkeypatch, kind, size
):
    """In a stream Python would go on to byte 2^60 block by block, and back by -1 for ever."""
    monkeypatch.setattr(archives, "LARGEST", 1000)
    (tool := tmp_path / "dpkg-deb").write_text('#!/bin/sh\nexec cat "$2"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path = tmp_path / "a"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x", bytes(1001))
    else:
        header = tarfile.TarInfo("x")
        header.size = size
        path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    readers = {"tar": archives.of_tar, "zip": archives.of_zip}
    read = readers.get(kind, archives.of_debian)
    with time_limit(60), pytest.raises(BadData, match=rf"{path}: expected a whole {kind}"):
        list(read(path, lambda _: True))


def test_a_pickle_that_asks_for_all_memory_is_refused_before_it_gets_it(tmp_path):
    (path := tmp_path / "test_batch").write_bytes(b"Nr\xff\xff\xff\x7f.")  # None, kept at 2^31 - 1
    with pytest.raises(BadData, match="room for 2147483647 objects"):
        cifar10.read_python(path)


def test_lists_in_lists_without_end_are_no_labels(tmp_path):
    labels: list = [1]
    for _ in range(60):
        labels = [labels, labels]
    content = pickle.dumps({"data": np.zeros((1, 3072), dtype=np.uint8), "labels": labels})
    (path := tmp_path / "test_batch").write_bytes(content)
    with time_limit(60), pytest.raises(BadData, match="labels that are no integers"):
        cifar10.read_python(path)
