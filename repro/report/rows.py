"""What the index shows of a claim, in one row."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from repro.report import badges, numbers, words


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
    compared: tuple[tuple[str, Markup, Markup], ...] | None  # None: the table has no such column
    time: str


def rows(
    claims: list[dict[str, Any]], run: dict[str, Any], *, with_paper: bool = False
) -> list[Row]:
    compares = any(claim.get("table") for claim in claims)
    return [
        Row(
            id=claim["id"],
            of=claim["paper"],
            kind=claim["kind"],
            name=words.short(claim),
            paper=claim["paper"] if with_paper else "",
            title=claim.get("title", ""),
            statement=claim.get("statement", ""),
            verdict=words.verdict_of(claim),
            solid=solidity(claim),
            marks=marks(claim, run),
            shown=" ".join(claim.get("evidence", ())),
            evidence=badges.chips(claim),
            checks=len(claim.get("checks", ())),
            controls=len(claim.get("controls", ())),
            compared=tuple(_pair(cell) for cell in claim.get("table", ())) if compares else None,
            time=numbers.seconds(claim.get("seconds")) if claim.get("tests") else "",
        )
        for claim in claims
    ]


def _pair(cell: dict[str, Any]) -> tuple[str, Markup, Markup]:
    name = ", ".join(str(cell[key]) for key in ("row", "column") if cell.get(key))
    return name, numbers.printed(cell.get("paper")), numbers.number(cell.get("ours"))


def solidity(claim: dict[str, Any]) -> str:
    """`solid`, `hollow` for what holds on something that does not, and nothing for the rest."""
    if claim.get("solid"):
        return "solid"
    return "hollow" if claim.get("verdict") in ("holds", "holds-repaired") else ""


def marks(claim: dict[str, Any], run: dict[str, Any]) -> tuple[Mark, ...]:
    states = Counter(test.get("state", "") for test in claim.get("tests", ()))
    found = [
        Mark(f"{words.counted(states[state], 'test')} {word}", kind=state, sign=sign)
        for state, (word, sign) in words.STATES.items()
        if states[state] and state in ("running", "interrupted", "crashed")
    ]
    if claim.get("stale"):
        why = "The code this result rests on has changed since it was measured"
        found.append(Mark("code changed since", why, kind="stale"))
    if claim.get("run") and claim["run"] != run.get("id", claim["run"]):
        scale = f", {claim['scale']} scale" if claim.get("scale") else ""
        found.append(Mark(f"earlier run{scale}", f"From run {claim['run']}"))
    return tuple(found)
