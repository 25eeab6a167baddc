"""Verdicts: each row of the table in docs/results.md, what is solid, what the ledger disputes."""

from dataclasses import replace
from pathlib import Path

import pytest

from repro.harness.ledger import Ledger, Statement
from repro.harness.verdicts import disagreements, evidence, solid, verdict
from repro.results.types import Check, Counterexample, Figure, Record, Result, Test


def statement(id="demo2025/theorem-1", *, status="holds", scope="finite", uses=()):
    kind, _, number = id.partition("/")[2].partition("-")
    uses = tuple(uses)
    return Statement(id, kind, number, "1", "It", "So.", ("exact",), status, uses=uses, scope=scope)


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
PRINTED = "printed, and false: one is two; repaired: 1 check passed"


def of(*tests, unseen=0, **changes):
    return verdict(statement(**changes), tests, unseen)


VERDICTS = {
    "passed": ([CLAIM, CONTROL], "holds", "1 check passed"),
    "two checks": ([CLAIM, CLAIM, CONTROL], "holds", "2 checks passed"),
    "erratum": ([CLAIM, CONTROL, ERRATUM], "holds-repaired", PRINTED),
    "another reading": ([CLAIM, CONTROL, READING], "holds", "1 check passed"),
    "both": ([CLAIM, CONTROL, READING, ERRATUM], "holds-repaired", PRINTED),
    "erratum alone": ([ERRATUM, CONTROL], "refuted", "counterexample: one is two"),
    "counterexample in a claim": ([REFUTES, CONTROL], "refuted", "counterexample: one is two"),
    "reading alone": ([READING, CONTROL], "not-run", "no test of the statement itself has run"),
    "theorem, trained only": (
        [TRAINED, CONTROL], "illustrated", "1 check passed, all of them on trained models"),
    "theorem, trained only, erratum": (
        [TRAINED, CONTROL, ERRATUM], "illustrated", f"{PRINTED}, all of them on trained models"),
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
    "repaired form needs more": ([ERRATUM, CONTROL, NEEDS], "not-run", "needs --scale paper"),
    "control needs more": ([CLAIM, NO_GPU], "not-run", "needs --device cuda"),
    "one control needs more": (
        [ERRATUM, CONTROL, NO_GPU],
        "refuted", "counterexample: one is two; 1 tests not run (needs --device cuda)"),
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
@pytest.mark.parametrize("status", ["holds", "refuted", "holds-repaired"])
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


SCOPES = {
    "limit": "finitely many do not decide a limit or an existence",
    "qualitative": "the statement names no number that would decide it",
}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_limit_or_a_statement_without_a_number_is_only_illustrated(scope):
    found = of(CLAIM, CONTROL, scope=scope)
    assert (found.verdict, found.why) == ("illustrated", f"1 check passed; {SCOPES[scope]}")
    assert of(CLAIM, CONTROL, ERRATUM, scope=scope).why.startswith(PRINTED)
    assert of(ERRATUM, CONTROL, scope=scope).verdict == "refuted"
    for state in ("failed", "error", "not-run"):
        assert of(record(state), CONTROL, scope=scope).verdict == state


@pytest.mark.parametrize("kind", ["theorem", "remark", "finding", "table", "figure"])
def test_training_alone_shows_a_table_and_illustrates_a_theorem(kind):
    shows = kind in ("table", "figure")
    found = of(TRAINED, CONTROL, id=f"demo2025/{kind}-1").verdict
    assert found == ("holds" if shows else "illustrated")
    assert of(TRAINED, CLAIM, CONTROL, id=f"demo2025/{kind}-1").verdict == "holds"


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
    book = Ledger(Path("ledger.toml"), "x", {}, {s.id: s for s in made})
    found = solid(book, {name(key): verdict for key, verdict in verdicts.items()})
    return "".join(sorted(id[-1] for id, is_solid in found.items() if is_solid))


CHAIN = {"c": "b", "b": "a", "a": "", "d": ""}


@pytest.mark.parametrize("a", ["holds", "holds-repaired"])
def test_what_holds_on_what_holds_is_solid(a):
    assert solid_letters(CHAIN, a=a, b="holds-repaired", c="holds", d="holds") == "abcd"


@pytest.mark.parametrize("a", ["refuted", "illustrated", "not-run", "failed", "error", None])
def test_whatever_does_not_hold_makes_all_that_uses_it_unsolid(a):
    known = {} if a is None else {"a": a}
    assert solid_letters(CHAIN, **known, b="holds", c="holds", d="holds") == "d"


def test_what_holds_in_the_middle_of_a_diamond_does_not_save_the_top():
    uses = {"t": "lr", "l": "x", "r": "x", "x": ""}
    assert solid_letters(uses, t="holds", l="holds", r="illustrated", x="holds") == "lx"


# --- disagreements -------------------------------------------------------------------------------


def claim(verdict="holds", status="holds", aims=("exact",), shown=("exact",), states=("passed",)):
    tests = [Test(test="t", state=state, role="claim", evidence=None, run="r") for state in states]
    return Result(
        id="demo2025/lemma-1", paper="demo2025", kind="lemma", number="1", verdict=verdict,
        status=status, aims=aims, evidence=list(shown), tests=tests,
    )  # fmt: skip


@pytest.mark.parametrize("verdict", ["holds", "holds-repaired", "refuted", "illustrated"])
@pytest.mark.parametrize("status", ["holds", "holds-repaired", "refuted", "illustrated", "pending"])
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
    """An erratum needs --scale paper; without it the repaired form alone looks like `holds`."""
    assert disagreements(claim(shown=(), states=("passed", "not-run"))) == []
    assert disagreements(claim("holds", "holds-repaired", states=("passed", "not-run"))) == []
