"""From the records of a claim's tests to its verdict. Pure functions; docs/results.md is the law.

A red check is `failed`, never `refuted`: a refutation is a counterexample that somebody stored,
in exact or certified arithmetic, and that still refutes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repro.harness.ledger import EVIDENCE, RECORDED, Ledger, Statement

VERDICTS = ("holds", "holds-repaired", "refuted", "illustrated", "not-run", "failed", "error")
SOLID = ("holds", "holds-repaired")
MEASUREMENTS = ("table", "figure")  # kinds for which training is the very thing shown


@dataclass(frozen=True)
class Verdict:
    verdict: str
    why: str


def verdict(statement: Statement, tests: Sequence[Mapping[str, Any]], unseen: int = 0) -> Verdict:
    """`tests`: the records; `unseen`: how many tests of the claim have no record at all."""
    if statement.pending and not tests:
        return Verdict("not-run", "no claim has been written yet")
    by_state: dict[str, list[Mapping[str, Any]]] = {}
    for test in tests:
        by_state.setdefault(test["state"], []).append(test)
    for state, name in (("error", "error"), ("crashed", "error"), ("failed", "failed")):
        if state in by_state:
            return Verdict(name, _first(by_state[state], state))
    unfinished = [test for state in ("running", "interrupted") for test in by_state.get(state, [])]
    if unfinished:
        return Verdict("not-run", _first(unfinished, unfinished[0]["state"]))
    passed = by_state.get("passed", [])
    excused = by_state.get("not-run", [])
    if unseen:
        return Verdict("not-run", f"{unseen} of {unseen + len(tests)} tests have not been run")
    if not any(test["role"] == "claim" for test in passed):
        return Verdict(
            "not-run",
            excused[0]["message"] if excused else "no test of the statement itself has run",
        )
    if not any(test["role"] == "control" for test in passed):
        return Verdict("error", "no control has run: nothing shows that the checks can fail")
    return _of_passed(statement, passed, excused)


def _of_passed(
    statement: Statement, passed: Sequence[Mapping[str, Any]], excused: Sequence[Mapping[str, Any]]
) -> Verdict:
    checks = [check for test in passed if test["role"] == "claim" for check in test["checks"]]
    refuting = [entry for test in passed for entry in test["counterexamples"] if entry["printed"]]
    also = f"; {len(excused)} tests not run ({excused[0]['message']})" if excused else ""
    count = (
        f"{sum(len(test['checks']) for test in passed if test['role'] != 'control')} checks passed"
    )
    if refuting and not checks:
        return Verdict("refuted", f"counterexample: {refuting[0]['refutes']}{also}")
    strongest = evidence(passed)[:1]
    if strongest == ["train"] and statement.kind not in MEASUREMENTS:
        return Verdict("illustrated", f"{count}, all of them on trained models{also}")
    printed = f"as printed, refuted: {refuting[0]['refutes']}; repaired: " if refuting else ""
    if statement.scope == "limit":
        return Verdict(
            "illustrated",
            f"{printed}{count}; a limit or an existence is not decided by finitely many{also}",
        )
    if refuting:
        return Verdict("holds-repaired", f"{printed}{count}{also}")
    return Verdict("holds", f"{count}{also}")


def _first(tests: Sequence[Mapping[str, Any]], state: str) -> str:
    message = str(tests[0].get("message", "")).strip().splitlines()
    more = f" (and {len(tests) - 1} more)" if len(tests) > 1 else ""
    return f"{tests[0]['test']} {state}{more}" + (f": {message[0]}" if message else "")


def evidence(passed: Sequence[Mapping[str, Any]]) -> list[str]:
    """The kinds of evidence that passing tests of the statement gave, strongest first."""
    given = {test["evidence"] for test in passed if test["role"] == "claim" and test["checks"]}
    return [kind for kind in EVIDENCE if kind in given]


def solid(ledger: Ledger, verdicts: Mapping[str, str]) -> dict[str, bool]:
    """A statement is solid when it holds, as printed or repaired, and all that it uses is solid."""
    result: dict[str, bool] = {}
    for id in ledger.order():
        uses = ledger.statements[id].uses
        result[id] = verdicts.get(id) in SOLID and all(result[used] for used in uses)
    return result


def disagreements(claim: Mapping[str, Any]) -> list[str]:
    """What differs between a finished claim and the ledger's record of it."""
    if claim["verdict"] not in RECORDED:
        return []
    found = []
    if claim["verdict"] != claim["status"]:
        found.append(
            f"{claim['id']}: the ledger records {claim['status']!r}, "
            f"this run found {claim['verdict']!r}"
        )
    missing = [kind for kind in claim["aims"] if kind not in claim["evidence"]]
    if missing and all(test["state"] == "passed" for test in claim["tests"]):
        found.append(f"{claim['id']}: evidence aimed at but not shown: {', '.join(missing)}")
    return found
