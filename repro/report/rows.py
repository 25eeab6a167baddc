"""What the index shows of a claim, in one row."""

from collections import Counter
from dataclasses import dataclass

from markupsafe import Markup

from repro.report import badges, numbers, words
from repro.results.types import Cell, Result, Run


@dataclass(frozen=True)
class Mark:
    """What a reader must know before trusting the verdict beside it."""

    text: str
    why: str = ""
    kind: str = ""
    sign: str = ""


@dataclass(frozen=True)
class Row:
    """What the table of the index shows of a claim; equal rows are drawn once."""

    id: str
    of: str  # the paper
    kind: str
    name: str
    paper: str  # only where the table is not about one paper
    title: str
    statement: str
    verdict: str
    solid: str
    marks: tuple[Mark, ...]
    shown: str  # kinds of evidence
    evidence: Markup
    checks: int
    controls: int
    outcomes: str  # of the cells of a table or figure
    compared: tuple[tuple[str, Markup, Markup], ...] | None  # None: the table has no such column
    time: str


def rows(claims: list[Result], run: Run, *, with_paper: bool = False) -> list[Row]:
    compares = any(claim.cells for claim in claims)
    return [
        Row(
            id=claim.id,
            of=claim.paper,
            kind=claim.kind,
            name=words.short(claim),
            paper=claim.paper if with_paper else "",
            title=claim.title,
            statement=claim.statement,
            verdict=words.verdict_of(claim),
            solid=solidity(claim),
            marks=marks(claim, run),
            shown=" ".join(claim.evidence),
            evidence=badges.chips(claim),
            checks=len(claim.checks),
            controls=len(claim.controls),
            outcomes=_outcomes(claim.cells),
            compared=tuple(map(_pair, filter(_of_numbers, claim.cells))) if compares else None,
            time=numbers.seconds(claim.seconds) if claim.tests else "",
        )
        for claim in claims
    ]


def _outcomes(cells: list[Cell]) -> str:
    found = Counter(cell.outcome for cell in cells)
    told = ", ".join(f"{one} {found[one]}" for one in words.OUTCOMES if found[one])
    return f"{words.counted(len(cells), 'cell')}: {told}" if told else ""


def _of_numbers(cell: Cell) -> bool:
    return isinstance(cell.paper, (int, float))


def _pair(cell: Cell) -> tuple[str, Markup, Markup]:
    name = ", ".join(filter(None, (cell.row, cell.column)))
    return name, numbers.printed(cell.paper), numbers.number(cell.ours)


def solidity(claim: Result) -> str:
    """`solid`, `hollow` for what holds on something that does not, and nothing for the rest."""
    if claim.solid:
        return "solid"
    return "hollow" if claim.verdict in ("holds", "corrected") else ""


def marks(claim: Result, run: Run) -> tuple[Mark, ...]:
    states = Counter(test.state for test in claim.tests)
    found = [
        Mark(f"{words.counted(states[state], 'test')} {word}", kind=state, sign=sign)
        for state, (word, sign) in words.STATES.items()
        if states[state] and state in ("running", "interrupted", "crashed")
    ]
    found += [
        Mark(told, words.GRADES[grade], kind=f"g-{grade.replace(' ', '-')}")
        for grade, told in words.graded(Counter(map(words.severity, claim.errata)))
    ]
    if claim.reduced:
        found.append(Mark("reduced size", "Some cells were run smaller than printed"))
    if claim.stale:
        why = "The code this result rests on has changed since it was measured"
        found.append(Mark("code changed since", why, kind="stale"))
    if claim.run and claim.run != run.id:
        scale = f", {claim.scale} scale" if claim.scale else ""
        day = max((test.started for test in claim.tests), default="")[:10]
        found.append(Mark(f"recorded {day}{scale}", f"From run {claim.run}"))
    return tuple(found)
