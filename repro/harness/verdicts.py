"""From the records of a claim's tests to its verdict. Pure functions; docs/results.md is the law.

A red check is `failed`, whatever the state of its test, and never `refuted`: a refutation is a
counterexample that somebody stored, in exact or certified arithmetic, and that still refutes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from repro.harness.ledger import EVIDENCE, RECORDED, Ledger, Statement
from repro.results.types import Record, Result

VERDICTS = ("holds", "holds-repaired", "refuted", "illustrated", "not-run", "failed", "error")
SOLID = ("holds", "holds-repaired")
UNFINISHED = ("running", "interrupted")
UNDECIDED = {
    "limit": "finitely many do not decide a limit or an existence",
    "qualitative": "the statement names no number that would decide it",
}
MEASUREMENTS = ("table", "figure")  # kinds for which training is the very thing shown


class Verdict(NamedTuple):
    verdict: str
    why: str


def verdict(statement: Statement, tests: Sequence[Record], unseen: int = 0) -> Verdict:
    """`tests`: the records; `unseen`: how many tests of the claim have no record at all."""
    if statement.pending and not tests:
        return Verdict("not-run", "no claim has been written yet")
    red = [test for test in tests if test.state == "failed" or not all(c.ok for c in test.checks)]
    for name, found in (
        ("error", [test for test in tests if test.state in ("error", "crashed")]),
        ("failed", red),
        ("not-run", [test for test in tests if test.state in UNFINISHED]),
    ):
        if found:
            return Verdict(name, _first(found))
    passed = [test for test in tests if test.state == "passed"]
    excused = [test for test in tests if test.state == "not-run"]
    if len(passed) + len(excused) < len(tests):
        return Verdict("error", "a test is in a state that this version does not know")
    drawn = Counter(figure.svg for test in tests for figure in test.figures)
    if twice := [svg for svg, count in drawn.items() if count > 1]:
        return Verdict("error", f"two tests draw {twice[0]}: give one of the figures another name")
    if unseen:
        return Verdict("not-run", f"{unseen} of {unseen + len(tests)} tests have not been run")
    controls = {test.state: test for test in tests if test.role == "control"}
    if tests and not controls:
        return Verdict("error", "there is no control: nothing shows that the checks can fail")
    if tests and "passed" not in controls:
        return Verdict("not-run", controls["not-run"].message)
    return _of_passed(statement, passed, excused)


def _of_passed(
    statement: Statement, passed: Sequence[Record], excused: Sequence[Record]
) -> Verdict:
    refuting = [entry for test in passed for entry in test.counterexamples if entry.printed]
    also = f"; {len(excused)} tests not run ({excused[0].message})" if excused else ""
    if not evidence(passed):
        if refuting and not any(test.role == "claim" for test in excused):
            return Verdict("refuted", f"counterexample: {refuting[0].refutes}{also}")
        nothing = "no test of the statement itself has run"
        return Verdict("not-run", excused[0].message if excused else nothing)
    checks = [check for test in passed if test.role != "control" for check in test.checks]
    count = sum(not check.refutes for check in checks)
    printed = f"printed, and false: {refuting[0].refutes}; repaired: " if refuting else ""
    why = f"{printed}{count} {'check' if count == 1 else 'checks'} passed"
    if evidence(passed) == ["train"] and statement.kind not in MEASUREMENTS:
        return Verdict("illustrated", f"{why}, all of them on trained models{also}")
    if statement.scope in UNDECIDED:
        return Verdict("illustrated", f"{why}; {UNDECIDED[statement.scope]}{also}")
    return Verdict("holds-repaired" if refuting else "holds", f"{why}{also}")


def _first(tests: Sequence[Record]) -> str:
    message = tests[0].message.strip().splitlines()
    more = f" (and {len(tests) - 1} more)" if len(tests) > 1 else ""
    return f"{tests[0].test} {tests[0].state}{more}" + (f": {message[0]}" if message else "")


def evidence(tests: Sequence[Record]) -> list[str]:
    """The kinds of evidence that those of the statement that passed gave, strongest first.

    A counterexample is no evidence for the statement, wherever it stands.
    """
    passed = [test for test in tests if (test.role, test.state) == ("claim", "passed")]
    given = {test.evidence for test in passed if any(not check.refutes for check in test.checks)}
    return [kind for kind in EVIDENCE if kind in given]


def solid(ledger: Ledger, verdicts: Mapping[str, str]) -> dict[str, bool]:
    """A statement is solid when it holds, as printed or repaired, and all that it uses is solid."""
    result: dict[str, bool] = {}
    for id in ledger.order():
        uses = ledger.statements[id].uses
        result[id] = verdicts.get(id) in SOLID and all(result[used] for used in uses)
    return {id: result[id] for id in ledger.statements}


def disagreements(claim: Result) -> list[str]:
    """An error, or what differs between a claim whose tests all ran and the ledger's record."""
    if claim.verdict == "error":
        return [f"{claim.id}: error: {claim.why}"]
    if claim.verdict not in RECORDED or any(t.state != "passed" for t in claim.tests):
        return []
    found = []
    if claim.verdict != claim.status:
        found.append(
            f"{claim.id}: the ledger records {claim.status!r}, this run found {claim.verdict!r}"
        )
    missing = [kind for kind in claim.aims if kind not in claim.evidence]
    if missing:
        found.append(f"{claim.id}: evidence aimed at but not shown: {', '.join(missing)}")
    return found
