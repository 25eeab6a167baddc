"""Hostile results, records, lists of tests, headers, pages and command lines."""

import contextlib
import functools
import io
import json
import os
import re
import unicodedata
from pathlib import Path

import hostile
import pytest
from demo import Demo
from fuzzing import ROOT, Parsers, says, scratch
from hypothesis import strategies as st
from test_report import Page, sample

from repro import __main__, files, report
from repro.harness import progress, provenance, records, schedule
from repro.harness.project import ClaimTest, Project
from repro.harness.records import Record
from repro.harness.results import Results
from repro.harness.time_limit import time_limit
from repro.report import mathml
from repro.report.controls import visible
from repro.report.numbers import number

pytestmark = pytest.mark.reliability

PARSERS = Parsers()


REFERENCE = json.loads((ROOT / "artifacts/reference/results.json").read_text())
SHORT = {**REFERENCE, "claims": [
    {**claim, **{k: claim[k][:1] for k in ("checks", "controls", "tests", "table", "counterexamples")}}
    for claim in REFERENCE["claims"][:3]
]}  # fmt: skip


def with_schema(value):
    return {"schema": 1, **value} if isinstance(value, dict) else value


@PARSERS.add(
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


@PARSERS.add(
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
    # beside a stale test; around a very long number; indices and powers in names of checks
    seldom = {("br",), ("span", "title"), ("sub",), ("sup",)}
    return seldom.union(*(markup(Page(path)) for path in folder.rglob("*.html")))


def check_markup(folder):
    for path in folder.rglob("*.html"):
        page = Page(path)
        assert markup(page) <= known_markup()
        assert not any(map(is_unseen, set(page.source)))
        assert len(page.all("script")) == (path == folder / "index.html")
        assert len(page.all("style")) <= 2
        assert not [link for link in page.links if re.match(r"\s*\w+:", link)]


def is_unseen(letter):
    """By Unicode's own tables: a control character, or one that turns the writing round."""
    turns = unicodedata.bidirectional(letter) in BIDI or letter in "\u061c\u200e\u200f"
    return turns or (unicodedata.category(letter) == "Cc" and letter not in "\t\n")


BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def test_what_is_not_seen_is_shown_by_its_name(tmp_path):
    every = "".join(letter for letter in map(chr, range(0x3000)) if is_unseen(letter))
    assert len(every) == 63 + 12
    report.render(everywhere(f"a{every}z"), tmp_path)
    check_markup(tmp_path)
    shown = Page(tmp_path / "index.html").text
    for name in (r"\x00", r"\x1b", r"\x9f", r"\u202e", r"\u2066", r"\u200f"):
        assert name in shown
    assert visible("é\t\n\u00a0\u2061") == "é\t\n\u00a0\u2061", "the others stay"


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


@PARSERS.add("pages of the report", hostile.strings, weight=0.5, needs=[known_markup])
def feed_pages(text, folder):
    report.render(everywhere(text), folder)
    check_markup(folder)
    assert " ".join(visible(text).split()) in Page(folder / "index.html").text
    return "accepted"


@PARSERS.add(
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


arguments = hostile.strings.filter(lambda word: "\0" not in word and not word.startswith("-"))


@PARSERS.add(
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


@pytest.mark.parametrize("name", PARSERS)
def test_hostile_input_is_accepted_and_sane_or_refused_by_name(name, tmp_path):
    PARSERS.feed(name, tmp_path)


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
