"""What is false or missing as printed, and what this project leaves open: from results.json."""

from dataclasses import dataclass
from typing import Any

from repro.report import measurements, prose

LEFT_OPEN = ("Not checked:", "Reduced:", "Not done:")


@dataclass(frozen=True)
class Example:
    """Counterexamples to the same sentence, but for numbers in it."""

    first: dict[str, Any]
    others: list[dict[str, Any]]


@dataclass(frozen=True)
class Erratum:
    claim: dict[str, Any]
    examples: list[Example]  # to what is printed
    checks: int  # that the repaired statement passed


@dataclass(frozen=True)
class Open:
    """What one claim leaves open, in the words of its file, and which of its tests did not run."""

    claim: dict[str, Any]
    texts: list[prose.Block]
    not_run: list[str]  # reasons


def errata(claims: dict[str, dict[str, Any]]) -> dict[str, list[Erratum]]:
    """By paper; findings are ours and have none."""
    found: dict[str, list[Erratum]] = {}
    for claim in claims.values():
        refuting = [example for example in examples(claim) if example.first.get("printed")]
        if claim["kind"] != "finding" and (refuting or claim.get("reason")):
            checks = sum(bool(check.get("ok")) for check in claim.get("checks", []))
            found.setdefault(claim["paper"], []).append(Erratum(claim, refuting, checks))
    return found


def examples(claim: dict[str, Any]) -> list[Example]:
    alike: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for example in claim.get("counterexamples", []):
        key = measurements.stem(example.get("refutes", "")), bool(example.get("printed"))
        alike.setdefault(key, []).append(example)
    return [Example(first, others) for first, *others in alike.values()]


def left_open(claims: dict[str, dict[str, Any]]) -> dict[str, list[Open]]:
    """By paper."""
    found: dict[str, list[Open]] = {}
    for claim in claims.values():
        blocks = prose.blocks(claim.get("description") or "")
        texts = [block for block in blocks if block.label in LEFT_OPEN]
        skipped = [test for test in claim.get("tests", []) if test.get("state") == "not-run"]
        reasons = [test.get("message") or "" for test in skipped]
        if texts or reasons:
            found.setdefault(claim["paper"], []).append(
                Open(claim, texts, list(dict.fromkeys(reasons)))
            )
    return found
