"""results.json -> a static site: artifacts/index.html, a page for each claim, and a few others.

The pages need no network and no script. The report judges nothing: it shows what the results say.
"""

import contextlib
import re
from pathlib import Path

from repro.files import DamagedFile, write_atomically
from repro.report.pages import Site, write_style
from repro.results import codec
from repro.results.types import Results, Run

WORKSHOP = ("mutants.html", "benchmarks.html")  # pages that others may have left beside ours


def render(results: Results, artifacts: Path, only: set[str] | None = None) -> Path:
    """Write artifacts/index.html and one page per claim; returns the path of index.html.

    `only` limits the claim pages to these ids; the index is always written, and last, so that a
    reader who reloads it finds the pages it links to. Other pages stay as they were, with the
    verdicts of that time: begin and finish a run with a render of everything.
    """
    site = Site(results, _headers(results, artifacts))
    write_style(artifacts)
    for id in site.claims:
        if only is None or id in only:
            folder = artifacts / "claims" / id
            write_atomically(folder / "numbers.csv", site.numbers_table(id))
            write_atomically(folder / "index.html", site.claim_page(id))
    if only is None:
        for paper in results.papers:
            write_atomically(artifacts / f"letter-{paper}.html", site.letter(paper))
        write_atomically(artifacts / "open.html", site.left_open())
    index = artifacts / "index.html"
    others = {name for name in WORKSHOP if (artifacts / name).exists()}
    write_atomically(index, site.index(others))
    return index


def _headers(results: Results, artifacts: Path) -> dict[str, Run]:
    """Of the earlier runs that measured what is shown, as far as they are there."""
    found: dict[str, Run] = {}
    for run in filter(re.compile(r"[\w-]+").fullmatch, {str(one.run) for one in results.claims}):
        with contextlib.suppress(FileNotFoundError, DamagedFile):
            found[run] = codec.read(Run, artifacts / "runs" / f"{run}.json")
    return found
