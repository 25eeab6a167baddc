"""From records to results.json and back: what counts, how it is written, what is read."""

import dataclasses

import pytest
from demo import recorder

from repro import files
from repro.bounds import Source
from repro.files import DamagedFile
from repro.harness import imports
from repro.harness.assembly import Assembly
from repro.harness.project import ClaimTest, Project
from repro.results import codec, types
from repro.results.types import Check, Coverage, Record, Result, Results, Run

CHECK = Check(name="error", measured=0.5, relation="<=", allowed=1.0, margin=2.0, ok=True)
HOLDS, CONTROL = "test_holds", "test_control_of_it"


def leave(demo, id, *tests, state="passed", **identity):
    """Records of these tests as the plugin would leave them, finished; the path of the last."""
    statement = Project(demo.root).read_ledger().statements[f"demo2025/{id}"]
    file = next(demo.root.glob(f"claims/demo2025/{statement.stem}_*.py"))
    code = imports.fingerprint(file, demo.root)
    for test in tests or (CONTROL, HOLDS):
        name = ClaimTest(statement, file, test)
        known = {"claim": statement.id, "test": test, "role": name.role, "code": code}
        known["evidence"] = "construct" if name.role == "claim" else None
        path = name.record(demo.artifacts)
        left = recorder(path, **{**known, **identity})
        left.append("checks", CHECK)
        left.finish(state)
    return path


def assembled(demo):
    project = Project(demo.root)
    return Assembly(project, project.read_ledger(), demo.artifacts)


def test_results_have_every_entry_in_the_order_of_the_ledger(demo):
    demo.claim("theorem-2", uses=["demo2025/lemma-9"])
    demo.entry("lemma-9", status="pending")
    demo.claim("lemma-1")
    leave(demo, "lemma-1", scale="laptop")
    found = assembled(demo).write(Run(id="r"), ["demo2025/lemma-1"])
    assert codec.read_results(demo.artifacts / "results.json") == found
    assert [claim.id[9:] for claim in found.claims] == ["theorem-2", "lemma-9", "lemma-1"]
    claim = found.claims[2]
    folder = demo.artifacts / "claims/demo2025"
    assert codec.read(Result, folder / "lemma-1/result.json") == claim
    assert not (folder / "theorem-2/result.json").exists(), "not changed"
    assert (claim.verdict, claim.solid, claim.evidence) == ("holds", True, ["construct"])
    assert (claim.run, claim.description) == ("r", "Invented lemma-1.")
    assert claim.command == "pytest claims/demo2025/test_lemma_1_demo.py --scale laptop"
    assert (claim.checks, claim.controls) == ([CHECK], [CHECK])
    assert all(type(test) is not Record for test in claim.tests), "summaries, without the checks"


def test_coverage_counts_statements_of_the_papers_and_not_findings(demo):
    for id in ("lemma-1", "lemma-2", "finding-ours"):
        demo.claim(id)
        leave(demo, id, state="failed" if id == "lemma-2" else "passed")
    demo.entry("lemma-3", status="pending")
    counts = {"holds": 1, "failed": 1, "not-run": 1}
    row = Coverage(statements=3, with_claims=2, verdicts=counts)
    assert assembled(demo).coverage() == {"demo2025": row}


def test_refresh_reads_only_what_it_is_told_but_what_is_solid_for_all(demo):
    for id, uses in {"lemma-1": [], "lemma-2": ["demo2025/lemma-1"], "lemma-3": []}.items():
        demo.claim(id, uses=uses)
        leave(demo, id)
    found = assembled(demo)
    leave(demo, "lemma-1", state="failed")
    leave(demo, "lemma-3", state="failed")
    found.refresh(["demo2025/lemma-1"])
    claims = [found.claim(f"demo2025/lemma-{n}") for n in (1, 2, 3)]
    assert [claim.verdict for claim in claims] == ["failed", "holds", "holds"]
    assert [claim.solid for claim in claims] == [False, False, True]


def test_stale_is_what_ran_with_other_code(demo):
    demo.claim("lemma-1")
    leave(demo, "lemma-1", HOLDS, code="another")
    leave(demo, "lemma-1", CONTROL)
    claim = assembled(demo).claim("demo2025/lemma-1")
    assert {test.test: test.stale for test in claim.tests} == {HOLDS: True, CONTROL: False}
    assert claim.stale


def test_damage_in_one_record_is_said_once_and_the_other_claims_are_kept(demo):
    for id in ("lemma-1", "lemma-2"):
        demo.claim(id)
        leave(demo, id)
    leave(demo, "lemma-1", HOLDS).write_text("{")
    found = assembled(demo)
    assert [test.test for test in found.claim("demo2025/lemma-1").tests] == [CONTROL]
    assert found.claim("demo2025/lemma-2").verdict == "holds"
    (message,) = found.results(Run(id="r")).messages
    assert "set aside as test_holds" in message
    assert assembled(demo).messages == []


COLLECTED = {
    "no list": (None, [CONTROL, HOLDS], "holds", "1 check passed"),
    "all, in its order": ([HOLDS, CONTROL], [HOLDS, CONTROL], "holds", "1 check passed"),
    "one has not run": ([HOLDS, "test_x", CONTROL], [HOLDS, CONTROL], "not-run", "1 of 3 tests"),
    "one is left over": ([CONTROL], [CONTROL], "not-run", "no test of the statement"),
    "damaged": ([["test_holds"]], [CONTROL, HOLDS], "holds", "1 check passed"),
}


@pytest.mark.parametrize(("names", "shown", "verdict", "why"), COLLECTED.values(), ids=COLLECTED)
def test_the_list_of_collected_tests_says_which_count(demo, names, shown, verdict, why):
    demo.claim("lemma-1")
    path = leave(demo, "lemma-1").parent.with_name("collected.json")
    if names is not None:
        files.write_sealed(path, {"tests": names})
    found = assembled(demo)
    claim = found.claim("demo2025/lemma-1")
    assert ([test.test for test in claim.tests], claim.verdict) == (shown, verdict)
    assert claim.why.startswith(why)
    set_aside = [path.name for path in path.parent.glob("collected.json.set-aside-*")]
    assert len(found.messages) == len(set_aside) == (names == [["test_holds"]])


# --- as JSON, and back ---------------------------------------------------------------------------

SOURCES = (Source("theorem", 0.5, "(1)"), Source("roundoff", 1e-16, "two sums"))
TEST = types.Test(
    test=HOLDS, state="passed", role="claim", evidence="exact", run="r",
    numbers=[types.Number(name="slope", value=[1, "1/3", None], params={"n": 4})],
    trainings=[types.Training(kind="relu", key="0f", reason="reused: yesterday", seconds=3.0)],
)  # fmt: skip
FULL = Results(
    title="T",
    run=Run(id="r", git=None, dirty=True, versions={"torch": "1.0"}, argv=["pytest"]),
    messages=["a.json was damaged"],
    papers={"p": types.Paper(title="A", authors="B", version="C")},
    coverage={"p": Coverage(statements=1, with_claims=1, verdicts={"holds": 1})},
    claims=[
        Result(
            id="p/lemma-1", paper="p", kind="lemma", number="1", verdict="holds", uses=("p/lemma-0",),
            checks=[dataclasses.replace(CHECK, provenance=SOURCES, margin="inf", params={"n": 4})],
            controls=[dataclasses.replace(CHECK, margin=None)],
            cells=[types.Cell(row="A", column="MSE", paper=1, ours=1.5)],
            counterexamples=[
                types.Counterexample(
                    refutes="it", printed=True, input={"x": [[1, 2]]}, measured="1/3",
                    relation="=", expected=0,
                )
            ],
            figures=[types.Figure(svg="a.svg", png="", caption="A", alt="B")],
            tests=[TEST],
        )
    ],
)  # fmt: skip


def test_results_are_read_as_they_were_written(tmp_path):
    codec.write(tmp_path / "results.json", FULL)
    assert codec.read_results(tmp_path / "results.json") == FULL
    assert codec.read(Results, tmp_path / "results.json") == FULL


ODD = {
    "unknown field": (lambda c: c.update(more=1), "x.claims[0]: 'more' is no field of Result"),
    "wrong type": (
        lambda c: c["checks"][0].update(ok=1),
        "x.claims[0].checks[0].ok: must be bool, found int",
    ),
    "no list": (lambda c: c.update(tests={}), "x.claims[0].tests: must be list, found dict"),
    "missing": (lambda c: c["tests"][0].pop("state"), "x.claims[0].tests[0]: .*'state'"),
    "a kind of bound that is none": (
        lambda c: c["checks"][0]["provenance"][1].update(kind="guess"),
        "x.claims[0].checks[0].provenance[1]: source 'guess' is unknown",
    ),
}


@pytest.mark.parametrize(("change", "says"), ODD.values(), ids=ODD)
def test_what_does_not_fit_is_damage_and_its_place_is_named(change, says):
    known = codec.encode(FULL)
    change(known["claims"][0])
    with pytest.raises(DamagedFile, match=says.replace("[", r"\[").replace("]", r"\]")):
        codec.decode(Results, known, "x")


@pytest.mark.parametrize("schema", [0, 3, "2", None])
def test_results_of_an_unknown_schema_are_not_read(tmp_path, schema):
    files.write_json(tmp_path / "x.json", {**codec.encode(FULL), "schema": schema})
    with pytest.raises(DamagedFile, match=f"has schema {schema!r}, this version reads 1 and 2"):
        codec.read_results(tmp_path / "x.json")


def test_results_of_schema_1_are_read(tmp_path):
    check = {"name": "slope", "measured": -3.1, "relation": "≈", "allowed": -3, "ok": True}
    check |= {"tolerance": 0.2, "source": "spread: of five seeds"}
    test = {"test": HOLDS, "state": "passed", "role": "claim", "evidence": "exact", "run": "r"}
    training = {"kind": "relu", "key": "0f", "reason": "reused", "seconds": 3}
    claim = {"id": "p/lemma-1", "paper": "p", "kind": "lemma", "number": "1", "verdict": "holds"}
    claim |= {
        "checks": [check],
        "table": [{"row": "A", "column": "MSE", "paper": 1, "ours": 2}],
        "counterexamples": [{"refutes": "it", "printed": True, "input": {}, "measured": 1,
                             "expected": 0, "snippet": "print(1)"}],
        "tests": [{**test, "records": {"x": 1}, "store": [training], "message": None}],
    }  # fmt: skip
    run = {"id": "r", "seed": 7, "a field of then": 1}
    old = {"schema": 1, "title": "T", "run": run, "claims": [claim]}
    files.write_json(tmp_path / "results.json", old)
    found = codec.read_results(tmp_path / "results.json")
    assert (found.run.id, found.run.seed) == ("r", 7)
    (one,) = found.claims
    assert one.checks[0].provenance == (Source("chosen", 0.2, "of five seeds"),)
    assert one.cells == [types.Cell(row="A", column="MSE", paper=1, ours=2)]
    assert (one.counterexamples[0].program, one.counterexamples[0].relation) == ("print(1)", "=")
    assert one.tests[0].numbers == [types.Number(name="x", value=1)]
    assert one.tests[0].trainings == [types.Training(**training)]
    assert one.tests[0].message == ""
