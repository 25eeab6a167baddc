"""results.json by paper: what the index shows beside the rows of single claims."""

from collections import Counter
from dataclasses import dataclass

from repro.report import graph
from repro.report.rows import Row, rows
from repro.report.words import VERDICTS
from repro.results import types
from repro.results.types import Coverage, Result, Results


@dataclass(frozen=True)
class Paper:
    key: str
    about: types.Paper
    coverage: Coverage
    tally: list[tuple[str, int]]  # verdict, how many; pending apart from not-run
    rows: list[Row]
    graph: graph.Graph


def papers(results: Results, claims: dict[str, Result]) -> list[Paper]:
    found = []
    for key, about in results.papers.items():
        coverage, drawn = results.coverage[key], graph.of_paper(key, claims)
        own = [claim for claim in claims.values() if claim.paper == key and not _ours(claim)]
        found.append(Paper(key, about, coverage, tally(coverage), rows(own, results.run), drawn))
    return found


def findings(results: Results, claims: dict[str, Result]) -> list[Row]:
    own = [claim for claim in claims.values() if _ours(claim)]
    return rows(own, results.run, with_paper=True)


def _ours(claim: Result) -> bool:
    return claim.kind == "finding"


def tally(coverage: Coverage) -> list[tuple[str, int]]:
    """Verdicts in the order of the legend; statements without a claim are named pending."""
    counts = Counter(coverage.verdicts)
    pending = coverage.statements - coverage.with_claims
    counts["pending"] = min(max(pending, 0), counts["not-run"])
    counts["not-run"] -= counts["pending"]
    known = [(verdict, counts.pop(verdict, 0)) for verdict in VERDICTS]
    return [(verdict, n) for verdict, n in [*known, *counts.items()] if n]


def total(several: list[Paper]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for paper in several:
        counts.update(dict(paper.tally))
    return sorted(counts.items(), key=lambda item: [*VERDICTS, item[0]].index(item[0]))


def users(claims: dict[str, Result]) -> dict[str, list[str]]:
    """For each id, the claims that use it."""
    using: dict[str, list[str]] = {id: [] for id in claims}
    for claim in claims.values():
        for used in dict.fromkeys(claim.uses):
            if used in using:
                using[used].append(claim.id)
    return using
