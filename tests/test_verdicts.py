"""Verdicts: each row of the table in docs/results.md, what is solid, what the ledger disputes."""

from dataclasses import replace
from pathlib import Path

import pytest

from repro.harness.ledger import Ledger, Statement
from repro.harness.verdicts import disagreements, evidence, solid, verdict
from repro.results.types import Check, Counterexample, Record, Result, Test


def statement(id="demo2025/theorem-1", *, status="holds", scope="finite", uses=()):
    kind, _, number = id.partition("/")[2].partition("-")
    uses = tuple(uses)
    return Statement(id, kind, number, "1", "It", "So.", ("exact",), status, uses=uses, scope=scope)


def record(
    state="passed",
    role="claim",
    evidence="exact",
    *,
    checks=1,
    message="",
    refutes=None,
    printed=True,
):
    """The part of a test's record that verdicts look at."""
    names = {"claim": "test_holds", "control": "test_control_of_it", "erratum": "test_printed_form"}
    found = []
    if refutes:
        about = {"input": {}, "measured": 1, "relation": "=", "expected": 2}
        found = [Counterexample(refutes=refutes, printed=printed, **about)]
    check = Check(name="error", measured=1, relation="<=", allowed=2, ok=state != "failed")
    return Record(
        claim="demo2025/theorem-1", run="r", test=names[role], state=state, role=role,
        message=message, evidence=evidence if role == "claim" else None,
        checks=[check] * checks, counterexamples=found,
    )  # fmt: skip


CLAIM = record()
CONTROL = record(role="control")
ERRATUM = record(role="erratum", refutes="one is two")
READING = record(role="erratum", refutes="another reading", printed=False)
NEEDS = record("not-run", checks=0, message="needs --scale paper")


def of(*tests, unseen=0, **changes):
    return verdict(statement(**changes), tests, unseen)


# --- each verdict --------------------------------------------------------------------------------


TRAINED = record(evidence="train")
NOTHING_ELSE = record(checks=0, refutes="one is two")
VERDICTS = {
    "passed": ([CLAIM, CONTROL], "holds", "1 check passed"),
    "two checks": ([CLAIM, CLAIM, CONTROL], "holds", "2 checks passed"),
    "counterexample alone": ([NOTHING_ELSE, CONTROL], "refuted", "counterexample: one is two"),
    "theorem, trained only": (
        [TRAINED, CONTROL],
        "illustrated",
        "1 check passed, all of them on trained models",
    ),
    "red check": (
        [record("failed", message="red\nand more"), CONTROL],
        "failed",
        "test_holds failed: red",
    ),
    "red control": (
        [CLAIM, record("failed", "control", message="red")],
        "failed",
        "test_control_of_it failed: red",
    ),
    "counterexample that stopped refuting": (
        [CLAIM, CONTROL, record("failed", "erratum")],
        "failed",
        "test_printed_form failed",
    ),
    "exception": (
        [record("error", message="ZeroDivisionError: x"), CONTROL],
        "error",
        "test_holds error: ZeroDivisionError: x",
    ),
    "dead worker": (
        [record("crashed", message="the worker process died"), CONTROL],
        "error",
        "test_holds crashed: the worker process died",
    ),
    "exception in a control": (
        [CLAIM, record("error", "control")],
        "error",
        "test_control_of_it error",
    ),
    "no control": (
        [CLAIM, CLAIM],
        "error",
        "there is no control: nothing shows that the checks can fail",
    ),
    "control still running": (
        [CLAIM, record("running", "control")],
        "not-run",
        "test_control_of_it running",
    ),
    "interrupted": (
        [record("interrupted", message="the run ended"), CONTROL],
        "not-run",
        "test_holds interrupted: the run ended",
    ),
    "needs more": ([NEEDS, CONTROL], "not-run", "needs --scale paper"),
    "control alone": ([CONTROL], "not-run", "no test of the statement itself has run"),
    "nothing": ([], "not-run", "no test of the statement itself has run"),
}


@pytest.mark.parametrize(("tests", "wanted", "why"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_and_its_reason(tests, wanted, why):
    found = of(*tests)
    assert (found.verdict, found.why) == (wanted, why)


def test_a_counterexample_to_the_printed_form_leaves_the_repaired_one():
    found = of(CLAIM, CONTROL, ERRATUM)
    assert found.verdict == "holds-repaired"
    assert found.why.startswith("printed, and false: one is two; repaired: ")


def test_a_counterexample_to_a_reading_changes_nothing():
    found = of(CLAIM, CONTROL, READING)
    assert found.verdict == "holds"
    assert "refuted" not in found.why
    assert of(CLAIM, CONTROL, READING, ERRATUM).verdict == "holds-repaired"


def test_a_pending_statement_without_tests_has_not_run():
    assert of(status="pending").why == "no claim has been written yet"
    assert of(status="pending").verdict == "not-run"


def test_a_pending_statement_with_tests_is_judged_like_any_other():
    assert of(CLAIM, CONTROL, status="pending").verdict == "holds"


@pytest.mark.parametrize("status", ["holds", "refuted", "holds-repaired"])
@pytest.mark.parametrize(
    "others", [[], [ERRATUM], [READING]], ids=["alone", "with erratum", "with reading"]
)
def test_a_red_check_never_refutes(status, others):
    for role in ("claim", "control", "erratum"):
        red = record("failed", role, refutes="one is two")
        assert of(red, CLAIM, CONTROL, *others, status=status).verdict == "failed"


@pytest.mark.parametrize("status", ["holds", "holds-repaired", "refuted", "illustrated", "pending"])
def test_the_verdict_does_not_depend_on_what_the_ledger_recorded(status):
    assert of(CLAIM, CONTROL, status=status).verdict == "holds"
    assert of(CLAIM, CONTROL, ERRATUM, status=status).verdict == "holds-repaired"


def test_what_is_worse_is_told_first():
    order = ["error", "crashed", "failed", "running", "interrupted", "not-run", "passed"]
    verdicts = ["error", "error", "failed", "not-run", "not-run", "holds", "holds"]
    tests = [record(state) for state in order]
    found = [of(*tests[i:], CLAIM, CONTROL) for i in range(len(tests))]
    assert [v.verdict for v in found] == verdicts
    assert [v.why.split()[1] for v in found[:5]] == order[:5]


def test_several_tests_in_a_bad_state_are_counted():
    bad = record("error", message="first")
    assert of(*[bad] * 3).why == "test_holds error (and 2 more): first"
    assert of(*[bad] * 2).why == "test_holds error (and 1 more): first"


# --- scope and evidence --------------------------------------------------------------------------


def test_a_limit_is_only_illustrated_by_what_passes():
    found = of(CLAIM, CONTROL, scope="limit")
    assert found.verdict == "illustrated"
    assert found.why == "1 check passed; finitely many do not decide a limit or an existence"


def test_a_statement_without_a_number_is_only_illustrated():
    found = of(CLAIM, CONTROL, scope="qualitative")
    assert found.verdict == "illustrated"
    assert found.why == "1 check passed; the statement names no number that would decide it"


def test_a_limit_whose_printed_form_is_refuted_says_so():
    found = of(CLAIM, CONTROL, ERRATUM, scope="limit")
    assert found.verdict == "illustrated"
    assert found.why.startswith("printed, and false: one is two; repaired: ")


def test_a_limit_can_be_refuted_by_one_counterexample():
    assert of(NOTHING_ELSE, CONTROL, scope="limit").verdict == "refuted"


@pytest.mark.parametrize("state", ["failed", "error", "not-run"])
def test_a_limit_excuses_nothing(state):
    assert of(record(state), CONTROL, scope="limit").verdict == state


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("theorem", "illustrated"),
        ("remark", "illustrated"),
        ("finding", "illustrated"),
        ("table", "holds"),
        ("figure", "holds"),
    ],
)
def test_training_alone_shows_a_table_and_illustrates_a_theorem(kind, wanted):
    assert of(TRAINED, CONTROL, id=f"demo2025/{kind}-1").verdict == wanted
    assert of(TRAINED, CLAIM, CONTROL, id=f"demo2025/{kind}-1").verdict == "holds"


def test_evidence_comes_from_passing_claims_with_checks_strongest_first():
    kinds = ["train", "construct", "exact", "best-in-class", "certified", "exact"]
    tests = [*(record(evidence=kind) for kind in kinds), CONTROL, ERRATUM]
    assert evidence(tests) == ["exact", "certified", "best-in-class", "construct", "train"]
    assert evidence([record(evidence="exact", checks=0), record(evidence="train")]) == ["train"]
    assert evidence([replace(CONTROL, evidence="exact"), replace(ERRATUM, evidence="exact")]) == []
    for state in ("failed", "error", "running", "not-run"):
        red = record(state, evidence="exact")
        assert evidence([red, record(evidence="train")]) == ["train"], state


# --- tests that did not run ----------------------------------------------------------------------


def test_as_a_rule_every_test_has_a_record():
    assert verdict(statement(), [CLAIM, CONTROL]).verdict == "holds"


def test_tests_without_a_record_keep_the_verdict_open():
    found = of(CLAIM, CONTROL, unseen=3)
    assert (found.verdict, found.why) == ("not-run", "3 of 5 tests have not been run")


@pytest.mark.parametrize(("state", "wanted"), [("failed", "failed"), ("error", "error")])
def test_a_bad_end_counts_though_others_were_not_run(state, wanted):
    assert of(record(state), unseen=3).verdict == wanted


@pytest.mark.parametrize(
    ("tests", "wanted"),
    [
        ([CLAIM, CONTROL], "holds"),
        ([CLAIM, CONTROL, ERRATUM], "holds-repaired"),
        ([TRAINED, CONTROL], "illustrated"),
    ],
    ids=["holds", "repaired", "trained"],
)
def test_an_excused_test_changes_no_verdict_but_is_told(tests, wanted):
    found = of(*tests, NEEDS, NEEDS)
    assert found.verdict == wanted
    assert found.why.endswith("; 2 tests not run (needs --scale paper)")


def test_a_refutation_waits_for_the_repaired_form_but_not_for_more_controls():
    found = of(ERRATUM, CONTROL, NEEDS)
    assert (found.verdict, found.why) == ("not-run", "needs --scale paper")
    more = record("not-run", "control", checks=0, message="needs --device cuda")
    found = of(ERRATUM, CONTROL, more)
    assert found.verdict == "refuted"
    assert found.why.endswith("; 1 tests not run (needs --device cuda)")


def test_a_control_that_needs_more_is_not_an_error():
    excused = record("not-run", "control", checks=0, message="needs --device cuda")
    found = of(CLAIM, excused)
    assert (found.verdict, found.why) == ("not-run", "needs --device cuda")
    assert of(CLAIM, excused, CONTROL).verdict == "holds"


# --- refutations ---------------------------------------------------------------------------------


def test_a_stored_counterexample_without_a_repaired_form_refutes():
    """What the plugin leaves of a test_printed_ test: the counterexample and the check it makes."""
    found = of(ERRATUM, CONTROL)
    assert (found.verdict, found.why) == ("refuted", "counterexample: one is two")


def test_a_counterexample_to_a_reading_alone_shows_nothing():
    assert of(READING, CONTROL).verdict == "not-run"


def test_a_refutation_needs_a_control_too():
    assert of(ERRATUM).verdict == "error"


def test_the_check_of_a_counterexample_is_no_repaired_form():
    only = record(refutes="one is two")
    only.checks = [Check(measured=1, relation="not =", allowed=2, ok=True)]
    assert evidence([only]) == []
    assert of(only, CONTROL).verdict == "refuted"


def test_an_unknown_state_is_an_error():
    found = of(CLAIM, CONTROL, record("exploded"))
    assert (found.verdict, found.why) == (
        "error",
        "a test is in a state that this version does not know",
    )


def test_a_theorem_trained_only_still_says_that_its_printed_form_is_refuted():
    found = of(TRAINED, CONTROL, ERRATUM)
    assert found.verdict == "illustrated"
    assert found.why.startswith("printed, and false: one is two; repaired: ")


# --- solid ---------------------------------------------------------------------------------------


def ledger(**uses):
    """Lemmas by letter: ledger(a="", b="a") has b use a."""
    name = "demo2025/lemma-{}".format
    made = [statement(name(key), uses=map(name, used)) for key, used in uses.items()]
    return Ledger(Path("ledger.toml"), "x", {}, {s.id: s for s in made})


def solid_letters(book, **verdicts):
    named = {f"demo2025/lemma-{key}": found for key, found in verdicts.items()}
    return "".join(sorted(id[-1] for id, is_solid in solid(book, named).items() if is_solid))


CHAIN = {"c": "b", "b": "a", "a": "", "d": ""}


@pytest.mark.parametrize("a", ["holds", "holds-repaired"])
def test_what_holds_on_what_holds_is_solid(a):
    assert solid_letters(ledger(**CHAIN), a=a, b="holds-repaired", c="holds", d="holds") == "abcd"


@pytest.mark.parametrize("a", ["refuted", "illustrated", "not-run", "failed", "error"])
def test_whatever_does_not_hold_makes_all_that_uses_it_unsolid(a):
    assert solid_letters(ledger(**CHAIN), a=a, b="holds", c="holds", d="holds") == "d"


def test_a_statement_without_verdict_blocks_like_one_that_has_not_run():
    assert solid_letters(ledger(**CHAIN), b="holds", c="holds", d="holds") == "d"


def test_what_holds_in_the_middle_of_a_diamond_does_not_save_the_top():
    book = ledger(top="lr", l="x", r="x", x="")
    wanted = {
        "demo2025/lemma-x": True,
        "demo2025/lemma-l": True,
        "demo2025/lemma-r": False,
        "demo2025/lemma-top": False,
    }
    verdicts = {"demo2025/lemma-r": "illustrated"}
    assert solid(book, {**dict.fromkeys(book.statements, "holds"), **verdicts}) == wanted


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


@pytest.mark.parametrize("verdict", ["not-run", "failed"])
def test_what_came_to_no_verdict_disagrees_with_nothing(verdict):
    assert disagreements(claim(verdict, "refuted", shown=())) == []


def test_an_error_is_told_whatever_the_ledger_records():
    broken = replace(claim("error", "holds", shown=()), why="there is no control")
    assert disagreements(broken) == ["demo2025/lemma-1: error: there is no control"]


def test_evidence_aimed_at_and_not_shown_is_told():
    found = disagreements(claim(aims=("exact", "construct", "train"), shown=("construct",)))
    assert found == ["demo2025/lemma-1: evidence aimed at but not shown: exact, train"]


def test_more_evidence_than_aimed_at_is_welcome():
    assert disagreements(claim(shown=("exact", "construct"))) == []


def test_evidence_is_not_missed_while_a_test_is_excused():
    assert disagreements(claim(shown=(), states=("passed", "not-run"))) == []


def test_both_disagreements_are_told():
    assert len(disagreements(claim("holds", "refuted", shown=()))) == 2


def test_a_verdict_disagrees_only_if_all_tests_ran():
    """The erratum needs --scale paper; without it the repaired form alone looks like `holds`."""
    assert disagreements(claim("holds", "holds-repaired", states=("passed", "not-run"))) == []
