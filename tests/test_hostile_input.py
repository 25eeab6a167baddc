"""Hostile input: every parser accepts it and stays sane, or refuses it by name; nothing else.

Each parser is fed by hypothesis. What is refused must raise the error that the parser documents,
with the file or the field in its message; any other exception is a failure. An audit hook sees to
it that meanwhile nothing is written outside of the folder, no code is looked up or run, and no
connection is opened. The number of inputs is counted where they arrive.
"""

import ast
import contextlib
import functools
import io
import itertools
import json
import os
import pickle
import re
import shutil
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import hostile
import numpy as np
import pytest
import torch
from demo import Demo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reliability import FULL, keep
from safetensors.torch import save
from test_report import Page, sample

from repro import __main__, files, report
from repro.data import archives, cifar10, help_texts, minilm, parallel, weights
from repro.data.errors import BadData
from repro.harness import ledger, progress, provenance, records, schedule
from repro.harness.project import ClaimTest, Project, claim_folder
from repro.harness.records import Record
from repro.harness.results import Results
from repro.harness.time_limit import time_limit
from repro.report import mathml
from repro.report.numbers import number
from repro.training import Outcome, Spec, Store, key
from repro.training import entry as entries
from repro.training.outcome import pack_sealed, unpack, unpack_sealed
from repro.training.store import DamagedEntry
from repro.training.workspace import Workspace

pytestmark = pytest.mark.reliability

ROOT = Path(__file__).parent.parent
SIZE = 600 if FULL else 30  # inputs of a parser, times its weight


# ---- what must not happen meanwhile --------------------------------------------------------------


class Watch:
    """Sees every file that is opened to be written, every command, connection and pickled name."""

    WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    PATHS: ClassVar = {"os.mkdir": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.link": 2,
                       "os.symlink": 2, "os.chmod": 1, "os.truncate": 1}  # fmt: skip
    BELOW = ("os.rmdir", "os.remove", "os.mkdir")  # they may name a folder by its descriptor
    NEVER = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork",
             "socket.connect", "ctypes.dlopen")  # fmt: skip

    def __init__(self):
        self.folder, self.seen, self.allowed = None, [], ()
        sys.addaudithook(self._hear)  # cannot be taken off again

    def _hear(self, event, arguments):
        if self.folder is None:
            return
        if event in self.NEVER and event not in self.allowed:
            self.seen.append(f"{event} {arguments[0]!r}")
        elif event == "pickle.find_class" and arguments not in NEEDED_FOR_ARRAYS:
            self.seen.append(f"{event} {arguments!r}")
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & self.WRITING:
            self._check(event, arguments[0])
        for path in arguments[: self.PATHS.get(event, 0)]:
            base = f"/proc/self/fd/{arguments[-1]}" if event in self.BELOW else ""
            known = base and arguments[-1] >= 0
            self._check(event, os.path.join(os.readlink(base), path) if known else path)

    def _check(self, event, path):
        if isinstance(path, (str, bytes, os.PathLike)):
            place = os.path.abspath(os.fsdecode(path))
            if place != os.devnull and not place.startswith(str(self.folder)):
                self.seen.append(f"{event} {place}")

    @contextlib.contextmanager
    def over(self, folder, allowed=()):
        self.folder, self.seen, self.allowed = folder, [], allowed
        try:
            yield
        finally:
            self.folder = None


NEEDED_FOR_ARRAYS = {
    ("numpy", "ndarray"), ("numpy", "dtype"), ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"), ("_codecs", "encode"),
}  # fmt: skip
WATCH = Watch()


def test_the_watch_sees_what_must_not_happen(tmp_path):
    (inside := tmp_path / "inside").mkdir()
    with WATCH.over(inside):
        (inside / "a").write_text("fine")
        (tmp_path / "outside").write_text("not so")
        os.rename(inside / "a", tmp_path / "moved")
        os.system("true")
        os.listdir(tmp_path)
    assert len(WATCH.seen) == 3
    assert [word.split()[0] for word in WATCH.seen] == ["open", "os.rename", "os.system"]
    (tmp_path / "outside").write_text("nobody looks any more")
    assert len(WATCH.seen) == 3


# ---- parsers -------------------------------------------------------------------------------------
# Each is a function of (input, folder) that returns "accepted" or "refused".

PARSERS: dict[str, Any] = {}


def parser(name, inputs, weight=1.0, allowed=(), needs=()):
    """`allowed`: what the watch lets pass; `needs`: what is made beforehand."""

    def register(feed):
        PARSERS[name] = (inputs, feed, weight, allowed, needs)
        return feed

    return register


def says(error, *words):
    """The message names one of these."""
    assert any(str(word) in str(error) for word in words), f"{error!r} names none of {words}"
    return "refused"


HEAD = 'schema = 1\ntitle = "T"\n[papers.demo2025]\ntitle = "A"\nauthors = "B"\nversion = "1"\n'
OURS = tomllib.loads((ROOT / "claims/ledger.toml").read_text())
SOME = {**OURS, "statement": [{**OURS["statement"][0], "uses": []}]}


def whole_toml(document):
    return "\n".join(f"{json.dumps(k)} = {hostile.toml(v)}" for k, v in document.items())


@parser(
    "ledger",
    hostile.toml_texts.map(str.encode)
    | hostile.toml_texts.map(lambda text: (HEAD + text).encode())
    | hostile.changed(SOME).filter(lambda d: isinstance(d, dict)).map(whole_toml).map(str.encode)
    | hostile.damaged(whole_toml(SOME).encode()),
    weight=3,
)
def feed_ledger(content, folder):
    path = folder / "ledger.toml"
    path.write_bytes(content)
    try:
        found = ledger.read(path)
    except ledger.LedgerError as error:
        return says(error, path)
    for id in found.statements:
        assert is_below(claim_folder(folder, id), folder)
    assert set(found.order()) == set(found.statements)
    return "accepted"


def is_below(path, folder):
    return os.path.normpath(path).startswith(f"{folder}{os.sep}")


NEARLY_IDS = st.from_regex(
    r"demo2025/(lemma|axiom)-[A-Za-z0-9]{1,3}([./-][a-z]{1,2})?", fullmatch=True
)


@parser("claim ids", hostile.strings | NEARLY_IDS, weight=2)
def feed_id(id, folder):
    kind = id.partition("/")[2].partition("-")[0] or "lemma"
    statement = {"id": id, "kind": kind, "number": "1", "section": "1", "title": "T",
                 "statement": "S", "evidence": ["exact"], "status": "holds"}  # fmt: skip
    entry = "".join(f"{key} = {hostile.toml(value)}\n" for key, value in statement.items())
    outcome = feed_ledger(f"{HEAD}\n[[statement]]\n{entry}".encode(), folder)
    try:
        report.render({"claims": [{"id": id, "paper": "p", "kind": "lemma"}]}, folder / "page")
    except ValueError as error:
        assert outcome == "refused" or len(id) > 80
        return says(error, "claim id must read")
    return outcome


@parser("names of tests", hostile.strings)
def feed_test_name(name, folder):
    statement = ledger.Statement(
        "demo2025/lemma-1", "lemma", "1", "1", "T", "S", ("exact",), "holds"
    )
    path = ClaimTest(statement, folder / "x.py", name).record(folder)
    assert is_below(path, folder)
    assert path.parent == folder / "claims/demo2025/lemma-1/tests"
    files.write_json(path, {})
    return "accepted"


@dataclass(frozen=True)
class Free(Spec):
    kind: ClassVar[str] = "free"
    version: ClassVar[int] = 1
    value: Any = None


leaves = hostile.anything | st.sampled_from(
    [float("nan"), np.float64(1), np.ones(2), {1}, b"x", len, object(), "\ud800", 1j, Path("/x")]
)
values = leaves | st.lists(leaves, max_size=3).map(tuple)


@parser("specs", values)
def feed_spec(value, folder):
    try:
        found = key(Free(value), {})
    except TypeError as error:
        return says(error, "Free.value")
    assert re.fullmatch(r"[0-9a-f]{20}", found)
    assert found == key(Free(value), {})
    return "accepted"


@parser("kinds of specs", hostile.strings | st.from_regex(r"[a-z0-9][a-z0-9._-]*", fullmatch=True))
def feed_kind(kind, folder):
    hostile_kind = type("Hostile", (Free,), {"kind": kind})
    try:
        slot = entries.Slot.of(folder, dataclass(frozen=True)(hostile_kind)(), {})
    except TypeError as error:
        return says(error, repr(kind))
    assert slot.directory.parent.parent == folder
    assert is_below(slot.directory, folder)
    return "accepted"


# --- results.json and what it is made of


REFERENCE = json.loads((ROOT / "artifacts/reference/results.json").read_text())
SHORT = {**REFERENCE, "claims": [
    {**claim, **{k: claim[k][:1] for k in ("checks", "controls", "tests", "table", "counterexamples")}}
    for claim in REFERENCE["claims"][:3]
]}  # fmt: skip


def with_schema(value):
    return {"schema": 1, **value} if isinstance(value, dict) else value


@parser(
    "results.json (diff)",
    hostile.changed(SHORT).map(with_schema).map(json.dumps)
    | hostile.anything.map(with_schema).map(json.dumps)
    | hostile.json_texts
    | hostile.damaged(json.dumps(SHORT)[-3000:].encode()).map(lambda b: b.decode("latin1")),
    weight=2,
)
def feed_results(text, folder):
    old, new = folder / "old.json", folder / "new.json"
    old.write_text(json.dumps(SHORT))
    new.write_text(text, encoding="utf-8")
    code, _, err = said_by("diff", old, new)
    assert code in (0, 1, 2)
    return says(err, new) if code == 2 else "accepted"


def said_by(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = __main__.main([str(word) for word in words])
        except SystemExit as end:  # argparse
            code = end.code
    return code, out.getvalue(), err.getvalue()


class Ran:
    """A project with a claim that has run."""

    def __init__(self, folder):
        self.demo = Demo(folder)
        self.demo.claim("lemma-1")
        self.project = Project(self.demo.root)
        self.ledger = self.project.read_ledger()
        self.paths = {}
        statement = self.ledger.statements["demo2025/lemma-1"]
        [file] = self.project.claim_files()
        for name in ("test_holds", "test_control_of_it"):
            test = ClaimTest(statement, file, name)
            record = Record(test.record(self.demo.artifacts), **identity(test))
            record.append("checks", CHECK)
            record.append("table", {"row": "a", "column": "b", "paper": 1, "ours": 1.5, "note": ""})
            record.append("counterexamples", EXAMPLE)
            record.append("figures", FIGURE)
            record.append("store", {"kind": "k", "key": "0f", "reason": "reused", "seconds": 1})
            record.note("records", {"error": 0.5, "list": [1, 2]})
            record.finish("passed")
            self.paths[name] = record.path
        run = provenance.run_header(self.demo.root, "1", scale="smoke", seed=0, device="cpu",
                                    threads=1, workers=0, argv=[])  # fmt: skip
        self.paths["header"] = self.demo.artifacts / "runs/1.json"
        self.paths["collected"] = self.demo.artifacts / "claims/demo2025/lemma-1/collected.json"
        files.write_sealed(self.paths["header"], run)
        files.write_sealed(self.paths["collected"], {"tests": ["test_holds", "test_control_of_it"]})
        self.good = {name: files.read_json(path) for name, path in self.paths.items()}


CHECK = {"name": "error", "equation": "(1)", "measured": 0.5, "relation": "<=", "allowed": 1.0,
         "tolerance": None, "source": "theorem: x", "margin": 2.0, "ok": True, "params": {"n": 1}}  # fmt: skip
EXAMPLE = {"refutes": "it", "printed": False, "input": {"x": [1, 2]}, "measured": "1/3",
           "relation": "=", "expected": 1, "snippet": ""}  # fmt: skip
FIGURE = {"svg": "claims/demo2025/lemma-1/a.svg", "png": "claims/demo2025/lemma-1/a.png",
          "caption": "c", "alt": "a"}  # fmt: skip


def identity(test):
    return {"claim": test.statement.id, "test": test.test, "role": test.role, "run": "1",
            "evidence": "construct" if test.role == "claim" else None, "description": "d",
            "scale": "smoke", "seed": 0, "device": "cpu", "threads": 1, "worker": "main",
            "command": "pytest x", "code": "0"}  # fmt: skip


@functools.cache
def scratch():
    """A folder that goes with the process."""
    return tempfile.TemporaryDirectory(prefix="hostile-")


@functools.cache
def ran():
    return Ran(Path(scratch().name, "project"))


@st.composite
def artifacts_with_a_change(draw):
    """One file of artifacts, changed; or forged, which is to say: sealed after the change."""
    name = draw(st.sampled_from(["test_holds", "test_holds", "test_control_of_it", *ran().paths]))
    good = ran().good[name]
    if draw(st.integers(0, 3)) == 0:
        return name, draw(hostile.damaged(json.dumps(good).encode()))
    value = draw(hostile.changed(good, hostile.strings | hostile.anything))
    if isinstance(value, dict):
        value = {"schema": 1, **value} if draw(st.booleans()) else value
        value = {**value, "checksum": files._checksum(value)} if draw(st.booleans()) else value
    return name, json.dumps(value).encode()


@parser(
    "records, lists of tests and headers of runs",
    artifacts_with_a_change(),
    weight=2,
    needs=[ran, lambda: known_markup()],
)
def feed_artifacts(case, folder):
    name, content = case
    for other, path in ran().paths.items():
        place = folder / path.relative_to(ran().demo.artifacts)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if other == name else path.read_bytes())
    results = Results(ran().project, ran().ledger, folder)
    document = results.write(__main__._latest_run(results), ran().ledger.statements)
    report.render(document, folder)
    assert json.loads((folder / "results.json").read_text())["claims"]
    check_markup(folder)
    return says(results.messages, folder) if results.messages else "accepted"


def markup(page):
    """Every tag with the names of its attributes, but those of formulas."""
    found = {(tag, *sorted(attributes)) for tag, attributes in page.tags}
    return {one for one in found if not is_mathematics(*one)} - {("code", "class")}


def is_mathematics(tag, *attributes):
    """What mathml.py lets through: it can neither load nor run anything."""
    known = re.compile(f"{mathml._ATTRIBUTE.pattern}|mathvariant")
    return bool(mathml._TAG.fullmatch(tag)) and all(map(known.fullmatch, attributes))


@functools.cache
def known_markup():
    """Of the pages of a harmless sample, which has all that templates make."""
    folder = Path(scratch().name, "plain")
    one_of_each = {claim["verdict"]: claim for claim in sample()["claims"]}
    report.render(sample() | {"claims": list(one_of_each.values())}, folder)
    report.render(everywhere("word"), folder / "words")
    seldom = {("br",), ("span", "title")}  # beside a stale test; around a very long number
    return seldom.union(*(markup(Page(path)) for path in folder.rglob("*.html")))


def check_markup(folder):
    for path in folder.rglob("*.html"):
        page = Page(path)
        assert markup(page) <= known_markup()
        assert len(page.all("script")) == (path == folder / "index.html")
        assert len(page.all("style")) <= 2
        assert not [link for link in page.links if re.match(r"\s*\w+:", link)]


SHOWN = {"fang2022/remark-3.4", "jiang2024/lemma-A.4", "fang2022/table-1"}
KEPT = ("id", "paper", "kind", "uses", "svg", "png")  # the ledger and the records vouch for these


def with_text(value, text):
    """The same with `text` in place of every string."""
    if isinstance(value, dict):
        return {key: item if key in KEPT else with_text(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [with_text(item, text) for item in value]
    return text if isinstance(value, str) else value


def everywhere(text):
    """A small sample with `text` for every string in it."""
    results = sample()
    chosen = [claim for claim in results["claims"] if claim["id"] in SHOWN]
    results |= {name: with_text(results[name], text) for name in ("run", "papers", "messages")}
    return results | {"claims": with_text(chosen, text), "title": text}


@parser("pages of the report", hostile.strings, weight=0.5, needs=[known_markup])
def feed_pages(text, folder):
    report.render(everywhere(text), folder)
    check_markup(folder)
    assert " ".join(text.split()) in Page(folder / "index.html").text
    return "accepted"


@parser(
    "durations and signs of life",
    hostile.json_texts
    | st.dictionaries(hostile.strings, hostile.numbers, max_size=3).map(json.dumps),
)
def feed_durations(text, folder):
    for name in (schedule.FILE, "a.progress"):
        (folder / name).write_text(text, encoding="utf-8")
    found = schedule.read_durations(folder)
    assert all(isinstance(value, float) for value in found.values())
    assert progress.line("label", 1.0, folder / "a.progress").startswith("label")
    return "accepted" if found else "refused"


# --- the store


@st.composite
def forged_entries(draw):
    good = files.read_json(stored().directory / "result.json")
    return draw(hostile.changed(good) | st.just(good)), draw(st.booleans())


@functools.cache
def stored():
    made = Outcome({"a": 1}, {"c": [0.5]}, {"w": torch.ones(2)})
    return Store(Path(scratch().name, "store")).get(Free(1), lambda *_: made)


@parser("entries of the store", forged_entries(), weight=2, needs=[stored])
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


@parser(
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


@parser(
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


@parser("state_dict", hostile.damaged(saved({"w": torch.ones(2)})) | hostile.opcode_soup)
def feed_state_dict(content, folder):
    path = folder / "w.pt"
    path.write_bytes(content)
    return of_weights(path)


# --- data sets


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


@parser("tar archives", hostile.tars() | hostile.tars().flatmap(hostile.damaged), weight=3)
def feed_tar(content, folder):
    path = folder / "a.tgz"
    path.write_bytes(content)
    made_of(cifar10.convert, path, folder)
    return members(archives.of_tar, path)


@parser("zip archives", hostile.zips() | hostile.zips().flatmap(hostile.damaged), weight=2)
def feed_zip(content, folder):
    path = folder / "a.whl"
    path.write_bytes(content)
    made_of(minilm.convert, path, folder)
    return members(archives.of_zip, path)


@parser("Debian packages", hostile.tars(), allowed=("subprocess.Popen", "os.posix_spawn"))
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


@parser(
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


@parser(
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


@parser("parallel text", two_texts | st.tuples(text_lines | st.binary(max_size=20), text_lines))
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


@parser("help texts", st.tuples(units, units))
def feed_help(case, folder):
    english, german = ({k: help_texts.plain(v) for k, v in side.items()} for side in case)
    found = help_texts.pairs(english, german)
    assert len(found) <= len(english)
    return "accepted"


# --- the command line, where it names files


arguments = hostile.strings.filter(lambda word: "\0" not in word and not word.startswith("-"))


@parser(
    "command line",
    st.tuples(st.sampled_from(["list", "report", "diff", "data"]), arguments, arguments),
    needs=[ran],
)
def feed_command(case, folder):
    command, one, other = case
    inside = folder / "artifacts" / one.replace("..", "").lstrip("/~")
    words = [one, other] if command == "diff" else [f"--project={other}"]
    if command == "report":
        words = [f"--project={ran().demo.root}", f"--artifacts={inside}"]
    before = os.getcwd()
    os.chdir(folder)
    try:
        code, out, err = said_by(command, *words)
    finally:
        os.chdir(before)
    assert code in (0, 1, 2, 4)
    assert code == 0 or err.strip() or out.strip()
    return "accepted" if code == 0 else "refused"


# ---- the test ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARSERS)
def test_hostile_input_is_accepted_and_sane_or_refused_by_name(name, tmp_path):
    inputs, feed, weight, allowed, needs = PARSERS[name]
    for make in needs:
        make()
    counts, folders = Counter(), itertools.count()

    @settings(
        max_examples=int(SIZE * weight),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
    @given(inputs)
    def fed(case):
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        with WATCH.over(folder, allowed), time_limit(60):
            outcome = feed(case, folder)
        assert WATCH.seen == []
        counts[outcome] += 1

    fed()
    keep(
        "hostile-input",
        re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
        parser=name,
        inputs=counts.total(),
        accepted=counts["accepted"],
        refused_by_name=counts["refused"],
        anything_else=counts.total() - counts["accepted"] - counts["refused"],
    )
    if FULL:  # inputs that are all good or all bad would show little
        assert counts["accepted"]
        assert counts["refused"] or name in ACCEPT_ALL


ACCEPT_ALL = ("names of tests", "help texts", "pages of the report")  # any text is fine for them


# ---- bombs, one by one ---------------------------------------------------------------------------


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


def test_a_pipe_in_the_place_of_a_file_does_not_stop_the_run(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    (tmp_path / "b.json").mkdir()
    for name in ("a.json", "b.json"):
        with time_limit(60), pytest.raises(files.DamagedFile, match=f"{name} is not a file"):
            files.read_json(tmp_path / name)


NOT_OURS = {
    '{"a": ["\\ud800"]}': "half a character",
    '{"\\udfff": 1}': "half a character",
    '{"a": {"b": -1e999}}': "a number that is too large",
    '{"a": ' + "[" * 100 + "]" * 100 + "}": "more than 100 deep",
}


@pytest.mark.parametrize(("text", "says"), NOT_OURS.items(), ids=["value", "key", "number", "deep"])
def test_what_would_break_the_page_is_no_file_of_ours(tmp_path, text, says):
    (path := tmp_path / "a.json").write_text(text)
    with pytest.raises(files.DamagedFile, match=rf"{path} holds .*{says}"):
        files.read_json(path)


def test_a_long_number_over_zero_is_a_text():
    assert number("1" * 60 + "/0") == f'<span class="long">{"1" * 60}/0</span>'


def test_a_snapshot_copies_no_file_from_outside(tmp_path):
    """A record cannot name a figure that is not the claim's."""
    path = ran().paths["test_holds"]
    for svg in (
        "../../../secret.svg",
        "/etc/passwd",
        "claims/demo2025/lemma-1/..",
        "claims/x/a.svg",
    ):
        value = {**ran().good["test_holds"], "figures": [{**FIGURE, "svg": svg}]}
        files.write_sealed(tmp_path / path.name, value)
        messages = []
        assert records.read(tmp_path / path.name, messages) is None
        assert "'figures' names a file that is not the claim's" in messages[0]


# ---- nothing is unpickled or evaluated -----------------------------------------------------------

BANNED = re.compile(
    r"eval|exec|__import__|(pickle|marshal|dill|cloudpickle|joblib|shelve)\.\w+|yaml\.\w*load\w*"
    r"|(np|numpy)\.load|torch\.load|os\.(system|popen)|runpy\.\w+|\w+\.exec_module"
)
ARGUED = {
    ("repro/data/cifar10.py", "pickle.Unpickler"): "base of one that finds no name but an array's",
    ("repro/data/cifar10.py", "pickle.UnpicklingError"): "an error is no unpickling",
    ("repro/data/weights.py", "torch.load"): "weights_only=True, which the test below asks for",
}


def banned(source):
    """Names in a module that could run what they read; and commands that a shell would read."""
    found = []
    for node in ast.walk(ast.parse(source)):
        name = ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
        if BANNED.fullmatch(name):
            found.append(name)
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [name for name in names if BANNED.fullmatch(name)]
        if isinstance(node, ast.Call):
            keywords = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if keywords.get("shell", "False") != "False":
                found.append("shell=True")
            if ast.unparse(node.func) == "torch.load" and keywords.get("weights_only") != "True":
                found.append("torch.load without weights_only=True")
    return found


def test_no_module_unpickles_or_evaluates_what_it_reads():
    """submitit hands jobs over by pickles of its own; they lie in a folder that only we write."""
    found = {
        (str(path.relative_to(ROOT)), name)
        for path in sorted((ROOT / "repro").rglob("*.py"))
        for name in banned(path.read_text())
    }
    assert found == set(ARGUED)


@pytest.mark.parametrize(
    "source",
    ["eval(x)", "exec(x)", "pickle.load(f)", "from pickle import loads", "np.load(f)", "torch.load(f)",
     "torch.load(f, weights_only=False)", "subprocess.run(x, shell=True)", "yaml.load(x)",
     "os.system(x)", "yaml.unsafe_load(x)", "loader.exec_module(m)", "class A(pickle.Unpickler): 0"],
)  # fmt: skip
def test_the_search_finds(source):
    assert banned(source)


def test_the_search_lets_through_what_is_harmless():
    assert banned("model.eval()\njson.load(f)\nsubprocess.run(x, shell=False)\nre.compile(x)") == []
