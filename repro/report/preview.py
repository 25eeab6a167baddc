"""The pages of a committed snapshot, for readers who do not want to run anything yet."""

import shutil
from dataclasses import replace
from pathlib import Path

from repro.report import render
from repro.results import codec


def preview(reference: Path, folder: Path) -> Path:
    """Write them into `folder`. A snapshot keeps figures as SVG only, so PNGs are not linked."""
    results = codec.read_results(reference / "results.json.gz")
    for claim in results.claims:
        for figure in claim.figures:
            (folder / figure.svg).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(reference / figure.svg, folder / figure.svg)
        claim.figures = [replace(figure, png="") for figure in claim.figures]
    return render(results, folder)
