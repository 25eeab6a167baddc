"""The part of README.md that is made from results: a row per paper, one figure, all claims folded.

A test compares README.md with the committed snapshot in artifacts/reference/, so that no number in
it can drift from what was measured.
"""

import re
from collections import Counter

from repro.report import errata
from repro.report.words import VERDICTS, counted
from repro.results.types import Coverage, Result, Results

BEGIN, END = "<!-- made by `python -m repro snapshot`: begin -->", "<!-- end -->"


def filled(readme: str, results: Results, figures: str) -> str:
    """README with its generated part made anew; `figures` is where the snapshot's figures are."""
    if BEGIN not in readme or END not in readme:
        raise ValueError(f"README.md lacks the lines {BEGIN} and {END}")
    head, rest = readme.split(BEGIN, 1)
    return head + BEGIN + "\n" + _generated(results, figures) + END + rest.split(END, 1)[1]


def _generated(results: Results, figures: str) -> str:
    run = results.run
    shown = [claim for claim in results.claims if claim.file]
    lines = [
        "| paper | statements | how they stand | errors found | new results |",
        "|---|---|---|---|---|",
        *[_paper(paper, row, shown) for paper, row in results.coverage.items()],
        "",
        f"Scale {run.scale}, seed {run.seed}, torch {run.versions.get('torch', '?')} "
        f"on {run.versions['platform']}.",
        "",
        *_figure(shown, figures),
        "",
        f"<details><summary>All {len(shown)} claims, one by one</summary>",
        "",
        "| statement | what it says | what we found | verdict | evidence |",
        "|---|---|---|---|---|",
        *[_row(claim) for claim in shown],
        "",
        "</details>",
    ]
    return "\n".join(lines) + "\n"


def _paper(paper: str, row: Coverage, claims: list[Result]) -> str:
    ours = {claim.id: claim for claim in claims if claim.paper == paper}
    findings = sum(claim.kind == "finding" for claim in ours.values())
    found = Counter(row.verdicts)
    stand = ", ".join(f"{found[v]} {word}" for v, (word, _) in VERDICTS.items() if found[v])
    wrong = ", ".join(told for _, told in errata.count(ours)[1])
    return f"| {paper} | {row.with_claims} of {row.statements} | {stand} | {wrong} | {findings} |"


def _row(claim: Result) -> str:
    name = f"[{claim.paper}, {claim.kind} {claim.number}]({claim.file})"
    verdict = f"**{claim.verdict}**" + (", solid" if claim.solid else "")
    cells = (name, claim.title, _found(claim), verdict, ", ".join(claim.evidence))
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _found(claim: Result) -> str:
    """How many checks and controls, and the narrowest factor by which one of them holds."""
    margins = [m for c in claim.checks if isinstance(m := c.margin, (int, float))]
    narrowest = f", the narrowest by a factor of {min(margins):.2f}" if margins else ""
    checks, controls = counted(len(claim.checks), "check"), counted(len(claim.controls), "control")
    hold = "holds" if len(claim.checks) == 1 else "hold"
    fail = "fails as it" if len(claim.controls) == 1 else "fail as they"
    return f"{checks} {hold}{narrowest}; {controls} {fail} must"


def _figure(claims: list[Result], folder: str) -> list[str]:
    for figure in (figure for claim in claims for figure in claim.figures):
        return [f"![{_plain(figure.alt)}]({folder}/{figure.svg})", "", f"*{figure.caption}*"]
    return []


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("|", "\\|"))
