"""artifacts/mutants.html: what was tried, what was seen, and what was not."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools import pages
from tools.mutants import alone, controls, equivalents, results
from tools.mutants.results import Place, Result

PAGE = "mutants.html"


@dataclass
class Row:
    """The mutants of a module, and what became of them."""

    name: str
    fates: Counter[str] = field(default_factory=Counter)

    @property
    def mutants(self) -> int:
        return self.fates.total()

    @property
    def seen(self) -> int:
        return self.fates["seen"]

    @property
    def equivalent(self) -> int:
        return self.fates["equivalent"]

    @property
    def survived(self) -> int:
        return self.fates["survived"]

    @property
    def unsettled(self) -> int:
        return self.fates["unsettled"]

    @property
    def share(self) -> float | None:
        """Of all that are not equivalent. What was not tried is not seen."""
        mistakes = self.mutants - self.equivalent
        return self.seen / mistakes if mistakes else None


@dataclass(frozen=True)
class ClaimRow:
    claim: str
    tried: int
    missed: list[Place]


@dataclass(frozen=True)
class Survivor:
    file: str
    function: str
    line: int
    operator: str
    state: str
    diff: str


@dataclass
class Report:
    rows: list[Row] = field(default_factory=list)
    claims: list[ClaimRow] = field(default_factory=list)
    survivors: list[Survivor] = field(default_factory=list)
    stale: list[equivalents.Same] = field(default_factory=list)
    controls: str = ""

    @property
    def total(self) -> Row:
        return Row("all", sum((row.fates for row in self.rows), Counter()))


def made(root: Path, folder: Path, files: Iterable[str], known: Mapping[str, Result]) -> Report:
    report = Report(controls=controls.last(root))
    same, by_key = equivalents.read(), {}
    for file in files:
        places = results.places(root, file)
        listed = equivalents.standing_for(root, places, same)
        report.stale += equivalents.stale(root, places, same)
        row = Row(file)
        for place in places:
            fate = _fate(root, place, listed, known)
            row.fates[fate] += 1
            by_key[place.key] = place
            if fate == "survived":
                report.survivors.append(_survivor(root, place, known[place.key]))
        report.rows.append(row)
    for claim, states in alone.read(root, folder).items():
        tried = {by_key[key]: state for key, state in states.items() if key in by_key}
        missed = [place for place, state in tried.items() if state not in results.SEEN]
        report.claims.append(ClaimRow(claim, len(tried), missed))
    return report


def _fate(
    root: Path, place: Place, listed: Mapping[str, object], known: Mapping[str, Result]
) -> str:
    one = known.get(place.key)
    if place.key in listed:
        return "equivalent"
    if one is None or one.state in results.SEEN:
        return "seen" if results.confirmed(root, one) else "unsettled"
    return "survived" if one.whole else "unsettled"


def _survivor(root: Path, place: Place, one: Result) -> Survivor:
    old, new = ((root / place.file).read_text(), place.mutant.source)
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    diff = "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))
    return Survivor(
        place.file, place.scope, place.mutant.line, place.mutant.operator, one.state, diff
    )


def write(report: Report, artifacts: Path) -> Path:
    rows = [*report.rows, report.total]
    return pages.write(
        artifacts / PAGE, "mutants/page.html", total=report.total, rows=rows, stale=report.stale,
        claims=report.claims, survivors=report.survivors, controls=report.controls,
    )  # fmt: skip
