"""Hostile data sets: archives, pickles, texts; and bombs, one by one."""

import contextlib
import os
import pickle
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.data import archives, cifar10, help_texts, minilm, parallel
from repro.data.errors import BadData
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


def made_of(convert, path, folder):
    """Nothing of a hostile archive becomes a data set: what it makes has known checksums."""
    before = sorted(folder.iterdir())
    with pytest.raises(BadData) as caught:
        convert(path, folder / "set")
    says(caught.value, path)
    assert sorted(folder.iterdir()) == before


@PARSERS.add("tar archives", hostile.tars() | hostile.tars().flatmap(hostile.damaged), weight=3)
def feed_tar(content, folder):
    path = folder / "a.tgz"
    path.write_bytes(content)
    made_of(cifar10.convert, path, folder)
    return members(archives.of_tar, path)


@PARSERS.add("zip archives", hostile.zips() | hostile.zips().flatmap(hostile.damaged), weight=2)
def feed_zip(content, folder):
    path = folder / "a.whl"
    path.write_bytes(content)
    made_of(minilm.convert, path, folder)
    return members(archives.of_zip, path)


@PARSERS.add("Debian packages", hostile.tars(), allowed=("subprocess.Popen", "os.posix_spawn"))
def feed_debian(content, folder):
    path = folder / "a.deb"
    path.write_bytes(content)
    with hands_on(folder):
        return members(archives.of_debian, path)


@contextlib.contextmanager
def hands_on(folder):
    """A dpkg-deb that hands on what it is given: what counts is what we make of the stream."""
    (tool := folder / "dpkg-deb").write_text('#!/bin/sh\nexec cat "$2"\n')
    tool.chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}:{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


@PARSERS.add(
    "CIFAR-10, binary", st.binary(max_size=40) | st.integers(0, 3).map(lambda n: bytes(3073 * n))
)
def feed_cifar(content, folder):
    path = folder / "test_batch.bin"
    path.write_bytes(content)
    try:
        pixels, labels = cifar10.read_binary(path)
    except BadData as error:
        return says(error, path)
    assert pixels.shape == (len(labels), 3, 32, 32)
    return "accepted"


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


text_lines = st.lists(hostile.strings, max_size=4).map("\n".join).map(str.encode)


two_texts = st.lists(st.tuples(hostile.strings, hostile.strings), min_size=1, max_size=3).map(
    lambda pairs: tuple("\n".join(side).encode() for side in zip(*pairs, strict=True))
)


@PARSERS.add(
    "parallel text", two_texts | st.tuples(text_lines | st.binary(max_size=20), text_lines)
)
def feed_parallel(case, folder):
    for language, content in zip(("en", "de"), case, strict=True):
        (folder / f"t.{language}").write_bytes(content)
    try:
        pairs = parallel.read(folder, "t")
    except BadData as error:
        return says(error, folder / "t.en", folder / "t.de")
    assert all(english.strip() and german.strip() for english, german in pairs)
    return "accepted"


units = st.dictionaries(
    st.tuples(hostile.strings, st.just("p"), st.just("1")), hostile.strings, max_size=3
)


@PARSERS.add("help texts", st.tuples(units, units))
def feed_help(case, folder):
    english, german = ({k: help_texts.plain(v) for k, v in side.items()} for side in case)
    found = help_texts.pairs(english, german)
    assert len(found) <= len(english)
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
    path = tmp_path / "a"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x", bytes(1001))
    else:
        header = tarfile.TarInfo("x")
        header.size = size
        path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    read = {"tar": archives.of_tar, "zip": archives.of_zip, "Debian package": through_cat}[kind]
    with time_limit(60), pytest.raises(BadData, match=rf"{path}: expected a whole {kind}"):
        list(read(path, lambda _: True))


def through_cat(path, wanted):
    with hands_on(path.parent):
        return list(archives.of_debian(path, wanted))


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
