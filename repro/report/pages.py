"""The kinds of page: the index, the page of a claim, and others by their template."""

import re
from collections.abc import Set
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import ChainableUndefined, Environment, FileSystemLoader, Template
from markupsafe import Markup

from repro.files import write_atomically
from repro.report import (
    badges,
    errata,
    filters,
    mathematics,
    measurements,
    numbers,
    overview,
    placeholders,
    prose,
    rows,
    spelling,
    words,
)
from repro.report.controls import visible
from repro.report.graph import Graph
from repro.results.types import Results, Run

_TEMPLATES = Path(__file__).parent / "templates"
STYLE = "style.css"
_USE = re.compile(r'<use href="#(sign-[\w-]+)"')
_SYMBOL = re.compile(r'<symbol id="(sign-[\w-]+)".*?</symbol>\n')
OF_NUMBERS = (
    numbers.brief, numbers.indented, numbers.margin, numbers.moment, numbers.number,
    numbers.origins, numbers.percent, numbers.printed, numbers.recorded, numbers.relation,
    numbers.seconds,
)  # fmt: skip
HEADINGS = {
    "false": "False statements",
    "false step": "False lines of proofs",
    "proof gap": "Gaps in arguments",
    "edge case": "Edge cases",
}
_ID = re.compile(r"[\w-]+/[\w-]+(\.[\w-]+)*")  # also the claim's folder: no way out of artifacts/


class Site:
    """One state of results.json; pages are made when asked for."""

    def __init__(self, results: Results, headers: dict[str, Run]):
        self.results = results
        self.headers = headers | {results.run.id: results.run}
        self.claims = {_checked(claim.id): placeholders.filled(claim) for claim in results.claims}
        self.users = overview.users(self.claims)

    def index(self, others: Set[str] = frozenset()) -> str:
        """`others`: pages that are not about claims, to link to."""
        papers = overview.papers(self.results, self.claims)
        findings = overview.findings(self.results, self.claims)
        rows_of_all = [row for paper in papers for row in paper.rows] + findings
        return _with_glyphs(
            _INDEX,
            root="",
            title=self.results.title,
            run=self.results.run,
            messages=self.results.messages,
            papers=papers,
            total=overview.total(papers),
            claims=self.claims,
            errata=errata.count(self.claims),
            findings=findings,
            choices=filters.choices(rows_of_all),
            others=others,
        )

    def letter(self, paper: str) -> str:
        """To the authors: the errata of their paper, severest first."""
        return page(
            "letter.html",
            key=paper,
            paper=self.results.papers[paper],
            run=self.results.run,
            errata=errata.of_paper(self.claims, paper),
            grades=words.GRADES,
            headings=HEADINGS,
            style=Markup((_TEMPLATES / STYLE).read_text(encoding="utf-8")),
        )

    def left_open(self) -> str:
        return page(
            "open.html",
            papers=self.results.papers,
            left=errata.left_open(self.claims),
            limits=[claim for claim in self.claims.values() if claim.open],
        )

    def claim_page(self, id: str) -> str:
        claim = self.claims[id]
        return _with_glyphs(
            _CLAIM,
            root="../../../",
            run=self.results.run,
            paper=self.results.papers.get(claim.paper),
            claim=claim,
            marks=rows.marks(claim, self.results.run),
            claims=self.claims,
            users=self.users[id],
            checks=measurements.by_test(claim, control=False),
            controls=measurements.by_test(claim, control=True),
            errata=[errata.Entry(claim, one) for one in claim.errata],
            refutations=claim.refutations,
            recorded=measurements.recorded(claim.tests),
            cost=measurements.cost(claim),
            made=self.headers.get(claim.run) if claim.run else self.results.run,
        )

    def numbers_table(self, id: str) -> str:
        return measurements.table(self.claims[id])


def write_style(artifacts: Path) -> None:
    """The style sheet of all pages; to be there before them."""
    style, there = (_TEMPLATES / STYLE).read_bytes(), artifacts / STYLE
    if not there.exists() or there.read_bytes() != style:
        write_atomically(there, style)


def page(template: str, **values: Any) -> str:
    """A page that is not about claims; it has a name of its own in artifacts/."""
    return _with_glyphs(_ENVIRONMENT.get_template(template), root="", **values)


def _with_glyphs(template: Template, **values: Any) -> str:
    """A page, with the glyphs that it uses: from another file a browser would take none."""
    page = visible(template.render(**values))
    used = set(_USE.findall(page))
    return _SYMBOL.sub(lambda symbol: symbol[0] if symbol[1] in used else "", page)


def _checked(id: str) -> str:
    if not _ID.fullmatch(id):
        raise ValueError(f"claim id must read <paper>/<kind>-<number>, found {id!r}")
    return id


def _anchor(id: str) -> str:
    return "claim-" + id.replace("/", "-")


@lru_cache(maxsize=2048)
def _drawn(part: Graph | rows.Row) -> Markup:
    """A part of the index that is seldom another one than before."""
    if isinstance(part, Graph):
        return Markup(_GRAPH.render(graph=part))
    return Markup(_ROW.render(row=part))


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=ChainableUndefined,
        finalize=lambda value: "" if value is None else value,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "anchor": _anchor,
        "badge": badges.badge,
        **{one.__name__: one for one in OF_NUMBERS},
        "blocks": prose.blocks,
        "chips": badges.chips,
        "counted": words.counted,
        "drawn": _drawn,
        "formula": mathematics.formula,
        "label": words.label,
        "pairs": words.pairs,
        "path": quote,  # a file below artifacts/ as part of an address
        "prose": mathematics.prose,
        "solidity": rows.solidity,
        "place": words.place,
        "sentence": spelling.spelled,
        "severity": words.severity,
        "spelled": words.spelled,
        "spoken": measurements.spoken,
        "state_badge": badges.state_badge,
        "test_name": measurements.test_name,
        "unmarked": mathematics.unmarked,
        "verdict": words.verdict_of,
    }
    environment.globals |= {
        "filter_script": Markup((_TEMPLATES / "filter.js").read_text(encoding="utf-8")),
        "evidence_words": words.EVIDENCE,
        "outcome_words": words.OUTCOMES,
        "few": measurements.FEW,
        "sign": badges.sign,
        "state_words": words.STATES,
        "verdict_words": words.VERDICTS,
    }
    return environment


_ENVIRONMENT = _environment()
_INDEX = _ENVIRONMENT.get_template("index.html")
_CLAIM = _ENVIRONMENT.get_template("claim.html")
_GRAPH = _ENVIRONMENT.get_template("graph.html")
_ROW = _ENVIRONMENT.get_template("row.html")
