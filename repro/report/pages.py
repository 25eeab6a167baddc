"""The two kinds of page: the index, and the page of a claim."""

import re
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import ChainableUndefined, Environment, FileSystemLoader
from markupsafe import Markup

from repro.report import badges, mathematics, numbers, views, words
from repro.report.graph import Graph

_TEMPLATES = Path(__file__).parent / "templates"
_ID = re.compile(r"[\w-]+/[\w-]+(\.[\w-]+)*")  # also the claim's folder: no way out of artifacts/


class Site:
    """One state of results.json; pages are made when asked for."""

    def __init__(self, results: dict[str, Any]):
        self.results = results
        self.claims = {_checked(claim["id"]): claim for claim in results.get("claims", [])}

    @cached_property
    def users(self) -> dict[str, list[str]]:
        return views.users(self.claims)

    def index(self) -> str:
        papers = views.papers(self.results, self.claims)
        return _INDEX.render(
            root="",
            title=self.results.get("title") or "Every numbered statement, put to the test",
            run=self.results.get("run", {}),
            messages=self.results.get("messages", []),
            papers=papers,
            total=views.total(papers),
            claims=self.claims,
            findings=[c for c in self.claims.values() if c["kind"] == "finding"],
        )

    def claim_page(self, id: str) -> str:
        claim = self.claims[id]
        return _CLAIM.render(
            root="../../../",
            run=self.results.get("run", {}),
            paper=self.results.get("papers", {}).get(claim["paper"], {}),
            claim=claim,
            claims=self.claims,
            users=self.users[id],
            checks=views.groups(claim.get("checks", [])),
            controls=views.groups(claim.get("controls", [])),
        )


def _checked(id: str) -> str:
    if not _ID.fullmatch(id):
        raise ValueError(f"claim id must read <paper>/<kind>-<number>, found {id!r}")
    return id


def _path(path: str) -> str:
    """A file below artifacts/ as part of an address."""
    return quote(path, safe="/")


def _anchor(id: str) -> str:
    return "claim-" + id.replace("/", "-")


def _test_name(test: str) -> str:
    """The part of a pytest node id that differs within a claim's file."""
    return test.rpartition("::")[2]


@lru_cache(maxsize=64)
def _drawing(graph: Graph) -> Markup:
    return Markup(_GRAPH.render(graph=graph))


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "anchor": _anchor,
        "badge": badges.badge,
        "chips": badges.chips,
        "counted": words.counted,
        "drawing": _drawing,
        "formula": mathematics.formula,
        "indented": numbers.indented,
        "label": words.label,
        "margin": numbers.margin,
        "moment": numbers.moment,
        "number": numbers.number,
        "origin": numbers.origin,
        "path": _path,
        "printed": numbers.printed,
        "prose": mathematics.prose,
        "relation": numbers.relation,
        "seconds": numbers.seconds,
        "spelled": words.spelled,
        "state_badge": badges.state_badge,
        "test_name": _test_name,
        "unfinished": views.unfinished,
        "unmarked": mathematics.unmarked,
        "verdict": words.verdict_of,
    }
    environment.globals |= {
        "css": Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8")),
        "evidence_words": words.EVIDENCE,
        "sign": badges.sign,
        "state_words": words.STATES,
        "verdict_words": words.VERDICTS,
    }
    return environment


_ENVIRONMENT = _environment()
_INDEX = _ENVIRONMENT.get_template("index.html")
_CLAIM = _ENVIRONMENT.get_template("claim.html")
_GRAPH = _ENVIRONMENT.get_template("graph.html")
