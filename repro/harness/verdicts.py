"""From the records of a claim's tests to its verdict. Pure functions; docs/results.md is the law.

A red check is `failed`, whatever the state of its test. Only an erratum of grade `false` changes
what a statement is called, and only if this run stored the counterexample that it names.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from repro.harness.ledger import EVIDENCE, RECORDED, Ledger, Statement
from repro.results.types import OUTCOMES, Cell, Erratum, Record, Result

VERDICTS = (*RECORDED, "not-run", "failed", "error")
SOLID = ("holds", "corrected")
UNFINISHED = ("running", "interrupted")
MEASUREMENTS = ("table", "figure")  # kinds whose verdict is that of their cells


class Verdict(NamedTuple):
    verdict: str
    why: str


def verdict(
    statement: Statement,
    tests: Sequence[Record],
    unseen: int = 0,
    errata: Sequence[Erratum] = (),
) -> Verdict:
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
    if tests and not statement.finding and (odd := _unmatched(tests, errata)):
        return Verdict("error", odd)
    if tests and "passed" not in controls:
        return Verdict("not-run", controls["not-run"].message)
    return _of_passed(statement, passed, excused, errata)


def _unmatched(tests: Sequence[Record], errata: Sequence[Erratum]) -> str:
    """An erratum without the counterexample that it names, or a counterexample without erratum."""
    known = {function(test.test) for test in tests}
    named = {name for erratum in errata for name in erratum.tests}
    if unknown := named - known:
        return f"an erratum names {min(unknown)}, which is no test of this claim"
    storing = {
        function(test.test)
        for test in tests
        if any(example.printed for example in test.counterexamples)
    }
    ran = {function(test.test) for test in tests if test.state == "passed"}
    if idle := (named & ran) - storing:
        return f"an erratum names {min(idle)}, which stores no counterexample to what is printed"
    if ungraded := storing - named:
        return f"{min(ungraded)} stores a counterexample to what is printed: no erratum grades it"
    return ""


def _of_passed(
    statement: Statement,
    passed: Sequence[Record],
    excused: Sequence[Record],
    errata: Sequence[Erratum],
) -> Verdict:
    also = f"; {len(excused)} tests not run ({excused[0].message})" if excused else ""
    if statement.kind in MEASUREMENTS:
        unrun = sum(test.role == "claim" for test in excused)
        found = of_cells([cell for test in (*passed, *excused) for cell in test.cells], unrun)
        return Verdict(found.verdict, f"{found.why}{also}")
    false = [erratum for erratum in errata if erratum.grade == "false"]
    shown = {function(test.test) for test in passed if test.counterexamples}
    if hidden := [one for one in false if not shown.intersection(one.tests)]:
        return Verdict("not-run", f"the counterexample has not been run: {hidden[0].printed}")
    printed = f"False as printed: {false[0].printed} " if false else ""
    shows = evidence(passed)
    if not shows:
        if false and not any(test.role == "claim" for test in excused):
            return Verdict("refuted", f"{printed}No corrected form is known{also}")
        nothing = "no test of the statement itself has run"
        return Verdict("not-run", excused[0].message if excused else nothing)
    checks = [check for test in passed if test.role != "control" for check in test.checks]
    count = sum(not check.refutes for check in checks)
    why = f"{count} {'check' if count == 1 else 'checks'} passed"
    if shows == ["train"]:
        return Verdict("supported", f"{why}, all of them on trained models{also}")
    if false and not statement.why_all:
        return Verdict("refuted", f"{printed}No corrected form is known for every case{also}")
    if false:
        return Verdict("corrected", f"{printed}Corrected: {why}{also}")
    if not statement.why_all:
        return Verdict("supported", f"{why}; its page says what stays open{also}")
    return Verdict("holds", f"{why}{also}")


def of_cells(cells: Iterable[Cell], unrun: int = 0) -> Verdict:
    """Reproduced: every cell matches at its printed size. Partly: some match or keep the order.

    `unrun`: how many claim tests were not run; each counts as a cell that was not run.
    """
    found = Counter(cell.outcome for cell in cells)
    if not found and unrun:
        return Verdict("not-run", "no cell of the table or figure has been run")
    if not found:
        return Verdict("error", "a table or figure without a cell: use claim.cell")
    told = ", ".join(f"{one} {found[one]}" for one in OUTCOMES if found[one])
    smaller = any(cell.reduced for cell in cells)
    why = f"cells: {told}" + (", some at a reduced size" if smaller else "")
    if set(found) == {"matches"} and not smaller and not unrun:
        return Verdict("reproduced", why)
    partly = found["matches"] or found["same order"]
    return Verdict("partly-reproduced" if partly else "not-reproduced", why)


def function(test: str) -> str:
    """The function of a test, without the values that it is repeated for."""
    return test.partition("[")[0]


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
    """A statement is solid when it holds, as printed or corrected, and all that it uses is."""
    result: dict[str, bool] = {}
    for id in ledger.order():
        uses = ledger.statements[id].uses
        result[id] = verdicts.get(id) in SOLID and all(result[used] for used in uses)
    return {id: result[id] for id in ledger.statements}


def disagreements(claim: Result) -> list[str]:
    """An error, or what differs between a claim whose tests all ran and the ledger's record.

    What is recorded of tables and figures is what laptop scale gives; smaller cases may differ.
    """
    if claim.verdict == "error":
        return [f"{claim.id}: error: {claim.why}"]
    if claim.verdict not in RECORDED or any(t.state != "passed" for t in claim.tests):
        return []
    found = []
    smaller = claim.kind in MEASUREMENTS and claim.scale == "smoke"
    if claim.verdict != claim.status and not smaller:
        found.append(
            f"{claim.id}: the ledger records {claim.status!r}, this run found {claim.verdict!r}"
        )
    missing = [kind for kind in claim.aims if kind not in claim.evidence]
    if missing:
        found.append(f"{claim.id}: evidence aimed at but not shown: {', '.join(missing)}")
    return found
