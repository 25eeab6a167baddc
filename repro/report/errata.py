"""What is wrong in a paper, by severity, for the letter to its authors; and what we left open."""

from collections import Counter
from dataclasses import dataclass

from repro.report import prose
from repro.report.words import GRADES, graded, severity
from repro.results.types import Erratum, Result

LEFT_OPEN = ("Not checked:", "Reduced:", "Not done:")


@dataclass(frozen=True)
class Entry:
    """One erratum and the claim of its statement."""

    claim: Result
    erratum: Erratum

    @property
    def sure(self) -> str:
        """How sure we are, from what shows it."""
        if self.erratum.sure:
            return self.erratum.sure
        kept = " A run of this project stores the counterexample in exact numbers."
        if self.erratum.program:
            alone = "The program computes it in exact arithmetic, with the standard library alone."
            return alone + (kept if self.erratum.tests else "")
        return f"To compute it one needs {self.erratum.needs}." + (
            kept if self.erratum.tests else ""
        )


@dataclass(frozen=True)
class Open:
    """What one claim leaves open, in the words of its file, and which of its tests did not run."""

    claim: Result
    texts: list[prose.Block]
    not_run: list[str]  # reasons


def of_paper(claims: dict[str, Result], paper: str) -> dict[str, list[Entry]]:
    """By severity, the worst first; within one in the order of the paper."""
    found = [
        Entry(claim, one) for claim in claims.values() if claim.paper == paper
        for one in claim.errata
    ]  # fmt: skip
    kinds = {kind: [one for one in found if severity(one.erratum) == kind] for kind in GRADES}
    return {kind: entries for kind, entries in kinds.items() if entries}


def count(claims: dict[str, Result]) -> tuple[int, list[tuple[str, str]]]:
    """How many errata the claims that ran have, and of each grade: `2 false statements`."""
    ran = [claim for claim in claims.values() if claim.tests]
    found = Counter(severity(one) for claim in ran for one in claim.errata)
    return found.total(), graded(found)


def left_open(claims: dict[str, Result]) -> dict[str, list[Open]]:
    """By paper."""
    found: dict[str, list[Open]] = {}
    for claim in claims.values():
        texts = [one for one in prose.blocks(claim.description) if one.label in LEFT_OPEN]
        reasons = dict.fromkeys(test.message for test in claim.tests if test.state == "not-run")
        if texts or reasons:
            found.setdefault(claim.paper, []).append(Open(claim, texts, list(reasons)))
    return found
