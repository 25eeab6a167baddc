"""Hostile ledgers, ids of claims and names of tests; fuzzing.py says what must not happen."""

import json
import os
import tomllib

import hostile
import pytest
from fuzzing import ROOT, WATCH, Parsers, is_below, says
from hypothesis import strategies as st

from repro import files, report
from repro.harness import ledger
from repro.harness.project import ClaimTest, claim_folder

pytestmark = pytest.mark.reliability

PARSERS = Parsers()


HEAD = 'schema = 1\ntitle = "T"\n[papers.demo2025]\ntitle = "A"\nauthors = "B"\nversion = "1"\n'
OURS = tomllib.loads((ROOT / "claims/ledger.toml").read_text())
SOME = {**OURS, "statement": [{**OURS["statement"][0], "uses": []}]}


def whole_toml(document):
    return "\n".join(f"{json.dumps(k)} = {hostile.toml(v)}" for k, v in document.items())


@PARSERS.add(
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


NEARLY_IDS = st.from_regex(
    r"demo2025/(lemma|axiom)-[A-Za-z0-9]{1,3}([./-][a-z]{1,2})?", fullmatch=True
)


@PARSERS.add("claim ids", hostile.strings | NEARLY_IDS, weight=2)
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


@PARSERS.add("names of tests", hostile.strings)
def feed_test_name(name, folder):
    statement = ledger.Statement(
        "demo2025/lemma-1", "lemma", "1", "1", "T", "S", ("exact",), "holds"
    )
    path = ClaimTest(statement, folder / "x.py", name).record(folder)
    assert is_below(path, folder)
    assert path.parent == folder / "claims/demo2025/lemma-1/tests"
    files.write_json(path, {})
    return "accepted"


@pytest.mark.parametrize("name", PARSERS)
def test_hostile_input_is_accepted_and_sane_or_refused_by_name(name, tmp_path):
    PARSERS.feed(name, tmp_path)


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
