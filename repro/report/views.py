"""results.json arranged for the templates: grouped, counted, linked. Nothing is judged here."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from repro.report import graph
from repro.report.words import VERDICTS

FOLDED = 12  # a group of checks with more rows than this is folded


@dataclass(frozen=True)
class Paper:
    key: str
    about: dict[str, Any]  # title, authors, version
    coverage: dict[str, Any]
    tally: list[tuple[str, int]]  # verdict, how many; pending apart from not-run
    claims: list[dict[str, Any]]
    graph: graph.Graph


@dataclass(frozen=True)
class Group:
    """The checks of one name and equation, over the values that a test is repeated for."""

    name: str
    equation: str
    rows: list[dict[str, Any]]
    red: int
    tightest: float | None

    @property
    def folded(self) -> bool:
        return len(self.rows) > FOLDED


def papers(results: dict[str, Any], claims: dict[str, dict[str, Any]]) -> list[Paper]:
    coverage = results.get("coverage", {})
    return [
        Paper(
            key=key,
            about=about,
            coverage=coverage.get(key, {}),
            tally=tally(coverage.get(key, {})),
            claims=[c for c in claims.values() if c["paper"] == key and c["kind"] != "finding"],
            graph=graph.of_paper(key, claims),
        )
        for key, about in results.get("papers", {}).items()
    ]


def tally(coverage: dict[str, Any]) -> list[tuple[str, int]]:
    """Verdicts in the order of the legend; statements without a claim are named pending."""
    counts = Counter(coverage.get("verdicts", {}))
    pending = coverage.get("statements", 0) - coverage.get("with_claims", 0)
    counts["pending"] = min(max(pending, 0), counts["not-run"])
    counts["not-run"] -= counts["pending"]
    known = [(verdict, counts.pop(verdict, 0)) for verdict in VERDICTS]
    return [(verdict, n) for verdict, n in [*known, *counts.items()] if n]


def total(several: list[Paper]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for paper in several:
        counts.update(dict(paper.tally))
    return sorted(counts.items(), key=lambda item: [*VERDICTS, item[0]].index(item[0]))


def groups(checks: list[dict[str, Any]]) -> list[Group]:
    """In the order in which each name and equation first comes."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for check in checks:
        rows.setdefault((check.get("name", ""), check.get("equation") or ""), []).append(check)
    return [_group(name, equation, members) for (name, equation), members in rows.items()]


def _group(name: str, equation: str, rows: list[dict[str, Any]]) -> Group:
    margins = [m for row in rows if isinstance(m := row.get("margin"), (int, float))]
    return Group(
        name=name,
        equation=equation,
        rows=rows,
        red=sum(not row.get("ok") for row in rows),
        tightest=min(margins, default=None),
    )


def unfinished(claim: dict[str, Any]) -> list[tuple[str, int]]:
    """States of its tests worth a word beside the verdict, and how many tests are in each."""
    states = Counter(test.get("state", "") for test in claim.get("tests", ()))
    return [(s, states[s]) for s in ("running", "interrupted", "crashed", "not-run") if states[s]]


def users(claims: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """For each id, the claims that use it."""
    using: dict[str, list[str]] = {id: [] for id in claims}
    for claim in claims.values():
        for used in dict.fromkeys(claim.get("uses", ())):
            if used in using:
                using[used].append(claim["id"])
    return using
