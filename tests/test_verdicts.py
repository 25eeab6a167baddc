"""Verdicts: each row of the table in docs/results.md, what is solid, what the ledger disputes."""

from dataclasses import replace
from pathlib import Path

import pytest

from repro.harness.ledger import Ledger, Statement
from repro.harness.verdicts import disagreements, evidence, solid, verdict
from repro.results.types import Cell, Check, Counterexample, Erratum, Figure, Record, Result, Test

WHY_ALL = "identity: both sides are the same polynomial"


def statement(id="demo2025/theorem-1", *, status="holds", why_all=WHY_ALL, uses=()):
    kind, _, number = id.partition("/")[2].partition("-")
    more = {"uses": tuple(uses), "why_all": why_all}
    return Statement(id, kind, number, "1", "It", "So.", ("exact",), status, **more)


def erratum(grade, *tests):
    about = {
        "where": "statement",
        "place": "(1)",
        "corrected": "two",
        "survives": "all",
        "why": "1",
    }
    about |= {"statement": "demo2025/theorem-1", "printed": "One is two."}
    return Erratum(grade=grade, tests=tests or ("test_printed_form",), **about)


NAMES = {"claim": "test_holds", "control": "test_control_of_it", "erratum": "test_printed_form"}


def record(
    state="passed", role="claim", evidence="exact", *, checks=1, message="", refutes=None, **more
):
    """The part of a test's record that verdicts look at."""
    relation = "not =" if refutes else "<="
    check = Check(name="error", measured=1, relation=relation, allowed=2, ok=state != "failed")
    found = []
    if refutes:
        about = {"input": {}, "measured": 1, "relation": "=", "expected": 2, "printed": True}
        found = [Counterexample(refutes=refutes, **{**about, **more})]
    return Record(
        claim="demo2025/theorem-1", run="r", test=NAMES[role], state=state, role=role,
        message=message, evidence=evidence if role == "claim" else None,
        checks=[check] * checks, counterexamples=found,
    )  # fmt: skip


CLAIM = record()
CONTROL = record(role="control")
ERRATUM = record(role="erratum", refutes="one is two")
READING = record(role="erratum", refutes="another reading", printed=False)
NEEDS = record("not-run", checks=0, message="needs --scale paper")
NO_GPU = record("not-run", "control", checks=0, message="needs --device cuda")
TRAINED = record(evidence="train")
REFUTES = record(refutes="one is two")
DRAWS = replace(CLAIM, figures=[Figure(svg="a.svg", png="", caption="A", alt="A")])
PRINTED = "False as printed: One is two. Corrected: 1 check passed"
NONE_KNOWN = "False as printed: One is two. No corrected form is known"
FALSE = erratum("false")


def of(*tests, unseen=0, errata=None, **changes):
    """With an erratum of grade `false` wherever a test stores what it needs."""
    if errata is None:
        storing = [t.test for t in tests for e in t.counterexamples if e.printed]
        errata = [erratum("false", *dict.fromkeys(storing))] if storing else []
    return verdict(statement(**changes), tests, unseen, errata)


VERDICTS = {
    "passed": ([CLAIM, CONTROL], "holds", "1 check passed"),
    "two checks": ([CLAIM, CLAIM, CONTROL], "holds", "2 checks passed"),
    "erratum": ([CLAIM, CONTROL, ERRATUM], "corrected", PRINTED),
    "another reading": ([CLAIM, CONTROL, READING], "holds", "1 check passed"),
    "both": ([CLAIM, CONTROL, READING, ERRATUM], "corrected", PRINTED),
    "erratum alone": ([ERRATUM, CONTROL], "refuted", NONE_KNOWN),
    "counterexample in a claim": ([REFUTES, CONTROL], "refuted", NONE_KNOWN),
    "reading alone": ([READING, CONTROL], "not-run", "no test of the statement itself has run"),
    "theorem, trained only": (
        [TRAINED, CONTROL], "supported", "1 check passed, all of them on trained models"),
    "theorem, trained only, erratum": (
        [TRAINED, CONTROL, ERRATUM], "supported", "1 check passed, all of them on trained models"),
    "red check": (
        [record("failed", message="red\nand more"), CONTROL], "failed", "test_holds failed: red"),
    "red control": (
        [CLAIM, record("failed", "control", message="red")],
        "failed", "test_control_of_it failed: red"),
    "red check in a test that passed": (
        [replace(CLAIM, checks=record("failed").checks), CONTROL], "failed", "test_holds passed"),
    "counterexample that stopped refuting": (
        [CLAIM, CONTROL, record("failed", "erratum")], "failed", "test_printed_form failed"),
    "exceptions": (
        [*[record("error", message="first")] * 3, CONTROL],
        "error", "test_holds error (and 2 more): first"),
    "dead worker": (
        [record("crashed", message="it died"), CONTROL], "error", "test_holds crashed: it died"),
    "exception in a control": (
        [CLAIM, record("error", "control")], "error", "test_control_of_it error"),
    "no control": (
        [ERRATUM, CLAIM], "error", "there is no control: nothing shows that the checks can fail"),
    "two figures of one name": (
        [DRAWS, DRAWS, CONTROL],
        "error", "two tests draw a.svg: give one of the figures another name"),
    "unknown state": (
        [CLAIM, CONTROL, record("exploded")],
        "error", "a test is in a state that this version does not know"),
    "control still running": (
        [CLAIM, record("running", "control")], "not-run", "test_control_of_it running"),
    "interrupted": (
        [record("interrupted", message="the run ended"), CONTROL],
        "not-run", "test_holds interrupted: the run ended"),
    "needs more": ([NEEDS, CONTROL], "not-run", "needs --scale paper"),
    "some need more": (
        [CLAIM, NEEDS, NEEDS, CONTROL],
        "holds", "1 check passed; 2 tests not run (needs --scale paper)"),
    "corrected form needs more": ([ERRATUM, CONTROL, NEEDS], "not-run", "needs --scale paper"),
    "control needs more": ([CLAIM, NO_GPU], "not-run", "needs --device cuda"),
    "one control needs more": (
        [ERRATUM, CONTROL, NO_GPU],
        "refuted", f"{NONE_KNOWN}; 1 tests not run (needs --device cuda)"),
    "control alone": ([CONTROL], "not-run", "no test of the statement itself has run"),
    "nothing": ([], "not-run", "no test of the statement itself has run"),
}  # fmt: skip


@pytest.mark.parametrize(("tests", "wanted", "why"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_and_its_reason(tests, wanted, why):
    found = of(*tests)
    assert (found.verdict, found.why) == (wanted, why)


def test_a_pending_statement_is_judged_by_its_tests_if_it_has_any():
    found = of(status="pending")
    assert (found.verdict, found.why) == ("not-run", "no claim has been written yet")
    assert of(CLAIM, CONTROL, status="pending").verdict == "holds"


@pytest.mark.parametrize("role", NAMES)
@pytest.mark.parametrize("status", ["holds", "refuted", "corrected"])
def test_a_red_check_never_refutes_whatever_the_ledger_recorded(status, role):
    red = record("failed", role, refutes="one is two")
    for others in ([], [ERRATUM], [READING]):
        assert of(red, CLAIM, CONTROL, *others, status=status).verdict == "failed"


def test_what_is_worse_is_told_first():
    order = ["error", "crashed", "failed", "running", "interrupted", "not-run", "passed"]
    verdicts = ["error", "error", "failed", "not-run", "not-run", "holds", "holds"]
    tests = [record(state) for state in order]
    found = [of(*tests[i:], CLAIM, CONTROL) for i in range(len(tests))]
    assert [v.verdict for v in found] == verdicts
    assert [v.why.split()[1] for v in found[:5]] == order[:5]


def test_without_what_covers_every_case_a_statement_is_only_supported():
    found = of(CLAIM, CONTROL, why_all="")
    told = "1 check passed; its page says what stays open"
    assert (found.verdict, found.why) == ("supported", told)
    assert of(CLAIM, CONTROL, ERRATUM, why_all="").verdict == "refuted"
    for state in ("failed", "error", "not-run"):
        assert of(record(state), CONTROL, why_all="").verdict == state


@pytest.mark.parametrize("kind", ["theorem", "remark", "finding"])
def test_training_alone_supports(kind):
    assert of(TRAINED, CONTROL, id=f"demo2025/{kind}-1").verdict == "supported"
    assert of(TRAINED, CLAIM, CONTROL, id=f"demo2025/{kind}-1").verdict == "holds"


# --- errata --------------------------------------------------------------------------------------


@pytest.mark.parametrize("grade", ["misprint", "edge case", "proof gap"])
def test_nothing_but_false_changes_a_verdict(grade):
    assert of(CLAIM, CONTROL, ERRATUM, errata=[erratum(grade)]).verdict == "holds"
    assert of(CLAIM, CONTROL, ERRATUM, errata=[erratum(grade), FALSE]).verdict == "corrected"


def test_what_is_false_is_shown_by_this_run():
    excused = replace(ERRATUM, state="not-run", counterexamples=[], message="needs --scale paper")
    found = of(CLAIM, CONTROL, excused, errata=[FALSE])
    told = "the counterexample has not been run: One is two."
    assert (found.verdict, found.why) == ("not-run", told)


MATCHED = {
    "no such test": ([CLAIM, CONTROL], [FALSE], "names test_printed_form, which is no test"),
    "nothing stored": (
        [CLAIM, CONTROL, replace(ERRATUM, counterexamples=[])], [FALSE],
        "names test_printed_form, which stores no counterexample"),
    "only a reading": ([CLAIM, CONTROL, READING], [FALSE], "which stores no counterexample"),
    "not graded": (
        [CLAIM, CONTROL, ERRATUM], [],
        "test_printed_form stores a counterexample to what is printed: no erratum grades it"),
}  # fmt: skip


@pytest.mark.parametrize(("tests", "errata", "told"), MATCHED.values(), ids=MATCHED)
def test_errata_and_counterexamples_belong_together(tests, errata, told):
    found = of(*tests, errata=errata)
    assert found.verdict == "error"
    assert told in found.why


# --- tables and figures --------------------------------------------------------------------------


def table(*outcomes, run_size="", **changes):
    cell = Cell(row="a", column="b", paper=1, ours=1, printed_size="100", run_size=run_size)
    cells = [replace(cell, outcome=outcome) for outcome in outcomes]
    return of(replace(TRAINED, cells=cells), CONTROL, id="demo2025/table-1", **changes)


CELLS = {
    ("matches", "matches"): "reproduced",
    ("matches", "same order"): "partly-reproduced",
    ("matches", "not run"): "partly-reproduced",
    ("same order",): "partly-reproduced",
    ("differs", "matches"): "partly-reproduced",
    ("differs", "not run"): "not-reproduced",
    ("not run",): "not-reproduced",
    (): "error",
}


@pytest.mark.parametrize(("outcomes", "wanted"), CELLS.items(), ids=str)
def test_the_verdict_of_a_table_is_that_of_its_cells(outcomes, wanted):
    assert table(*outcomes).verdict == wanted
    assert table(*outcomes, why_all="").verdict == wanted


def test_what_was_run_smaller_is_not_reproduced_in_full():
    assert table("matches", run_size="100").verdict == "reproduced"
    found = table("matches", run_size="10")
    assert (found.verdict, found.why) == (
        "partly-reproduced", "cells: matches 1, some at a reduced size",
    )  # fmt: skip


def test_a_table_of_which_a_test_was_not_run_is_not_reproduced_in_full():
    cells = [Cell(row="a", column="b", paper=1, ours=1, outcome="matches")]
    found = of(replace(TRAINED, cells=cells), CONTROL, NEEDS, id="demo2025/table-1")
    told = "cells: matches 1; 1 tests not run (needs --scale paper)"
    assert (found.verdict, found.why) == ("partly-reproduced", told)
    again = of(replace(TRAINED, cells=cells), CONTROL, NO_GPU, id="demo2025/table-1")
    assert again.verdict == "reproduced", "a second control compares no cell"


def test_a_table_whose_cells_all_wait_for_something_is_not_run():
    found = of(NEEDS, CONTROL, id="demo2025/table-1")
    assert found.verdict == "not-run"
    assert "needs --scale paper" in found.why


def test_a_red_check_comes_before_the_cells():
    red = replace(record("failed"), cells=[Cell(row="a", column="b", paper=1, ours=1)])
    assert of(red, CONTROL, id="demo2025/figure-1").verdict == "failed"


def test_evidence_comes_from_passing_claims_with_checks_strongest_first():
    kinds = ["train", "construct", "exact", "best-in-class", "certified", "exact"]
    tests = [*(record(evidence=kind) for kind in kinds), CONTROL, ERRATUM]
    assert evidence(tests) == ["exact", "certified", "best-in-class", "construct", "train"]
    assert evidence([record(evidence="exact", checks=0), record(evidence="train")]) == ["train"]
    assert evidence([replace(CONTROL, evidence="exact"), replace(ERRATUM, evidence="exact")]) == []
    assert evidence([REFUTES]) == []
    for state in ("failed", "error", "running", "not-run"):
        red = record(state, evidence="exact")
        assert evidence([red, record(evidence="train")]) == ["train"], state


def test_tests_without_a_record_keep_the_verdict_open_unless_it_is_bad():
    found = of(CLAIM, CONTROL, unseen=3)
    assert (found.verdict, found.why) == ("not-run", "3 of 5 tests have not been run")
    for state in ("failed", "error"):
        assert of(record(state), unseen=3).verdict == state


# --- solid ---------------------------------------------------------------------------------------


def solid_letters(uses, **verdicts):
    """Lemmas by letter: {"a": "", "b": "a"} has b use a; those that are solid."""
    name = "demo2025/lemma-{}".format
    made = [statement(name(key), uses=map(name, used)) for key, used in uses.items()]
    book = Ledger(Path("ledger.toml"), "x", {}, {s.id: s for s in made}, {})
    found = solid(book, {name(key): verdict for key, verdict in verdicts.items()})
    return "".join(sorted(id[-1] for id, is_solid in found.items() if is_solid))


CHAIN = {"c": "b", "b": "a", "a": "", "d": ""}


@pytest.mark.parametrize("a", ["holds", "corrected"])
def test_what_holds_on_what_holds_is_solid(a):
    assert solid_letters(CHAIN, a=a, b="corrected", c="holds", d="holds") == "abcd"


@pytest.mark.parametrize("a", ["refuted", "supported", "not-run", "failed", "error", None])
def test_whatever_does_not_hold_makes_all_that_uses_it_unsolid(a):
    known = {} if a is None else {"a": a}
    assert solid_letters(CHAIN, **known, b="holds", c="holds", d="holds") == "d"


def test_what_holds_in_the_middle_of_a_diamond_does_not_save_the_top():
    uses = {"t": "lr", "l": "x", "r": "x", "x": ""}
    assert solid_letters(uses, t="holds", l="holds", r="supported", x="holds") == "lx"


# --- disagreements -------------------------------------------------------------------------------


def claim(verdict="holds", status="holds", aims=("exact",), shown=("exact",), states=("passed",)):
    tests = [Test(test="t", state=state, role="claim", evidence=None, run="r") for state in states]
    return Result(
        id="demo2025/lemma-1", paper="demo2025", kind="lemma", number="1", verdict=verdict,
        status=status, aims=aims, evidence=list(shown), tests=tests,
    )  # fmt: skip


@pytest.mark.parametrize("verdict", ["holds", "corrected", "refuted", "supported"])
@pytest.mark.parametrize("status", ["holds", "corrected", "refuted", "supported", "pending"])
def test_a_verdict_disagrees_with_every_other_record(verdict, status):
    said = f"demo2025/lemma-1: the ledger records {status!r}, this run found {verdict!r}"
    assert disagreements(claim(verdict, status)) == ([] if verdict == status else [said])


def test_an_error_is_told_whatever_the_ledger_records():
    broken = replace(claim("error", "holds", shown=()), why="there is no control")
    assert disagreements(broken) == ["demo2025/lemma-1: error: there is no control"]


def test_evidence_aimed_at_and_not_shown_is_told():
    found = disagreements(claim(aims=("exact", "construct", "train"), shown=("construct",)))
    assert found == ["demo2025/lemma-1: evidence aimed at but not shown: exact, train"]
    assert len(disagreements(claim("holds", "refuted", shown=()))) == 2
    assert disagreements(claim(shown=("exact", "construct"))) == []


@pytest.mark.parametrize("verdict", ["not-run", "failed"])
def test_what_came_to_no_verdict_disagrees_with_nothing(verdict):
    assert disagreements(claim(verdict, "refuted", shown=())) == []


def test_while_a_test_is_excused_nothing_disagrees():
    """An erratum needs --scale paper; without it the corrected form alone looks like `holds`."""
    assert disagreements(claim(shown=(), states=("passed", "not-run"))) == []
    assert disagreements(claim("holds", "corrected", states=("passed", "not-run"))) == []


def test_tables_are_recorded_at_laptop_scale():
    smaller = replace(claim("partly-reproduced", "reproduced"), kind="table", scale="smoke")
    assert disagreements(smaller) == []
    assert len(disagreements(replace(smaller, scale="laptop"))) == 1
    assert len(disagreements(replace(smaller, kind="lemma"))) == 1
