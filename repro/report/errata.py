"""What is false or missing as printed, and what this project leaves open: from results.json."""

from dataclasses import dataclass

from repro.report import prose
from repro.results.types import Erratum, Result

LEFT_OPEN = ("Not checked:", "Reduced:", "Not done:")


@dataclass(frozen=True)
class Entry:
    """What is wrong with one statement."""

    claim: Result
    errata: list[Erratum]  # of what is printed
    checks: int  # that the repaired statement passed


@dataclass(frozen=True)
class Open:
    """What one claim leaves open, in the words of its file, and which of its tests did not run."""

    claim: Result
    texts: list[prose.Block]
    not_run: list[str]  # reasons


def errata(claims: dict[str, Result]) -> dict[str, list[Entry]]:
    """By paper; findings are ours and have none."""
    found: dict[str, list[Entry]] = {}
    for claim in claims.values():
        refuted = [erratum for erratum in claim.errata if erratum.printed]
        if claim.kind != "finding" and (refuted or claim.reason):
            checks = sum(check.ok for check in claim.checks)
            found.setdefault(claim.paper, []).append(Entry(claim, refuted, checks))
    return found


def left_open(claims: dict[str, Result]) -> dict[str, list[Open]]:
    """By paper."""
    found: dict[str, list[Open]] = {}
    for claim in claims.values():
        texts = [one for one in prose.blocks(claim.description) if one.label in LEFT_OPEN]
        reasons = dict.fromkeys(test.message for test in claim.tests if test.state == "not-run")
        if texts or reasons:
            found.setdefault(claim.paper, []).append(Open(claim, texts, list(reasons)))
    return found
