"""The pages of a committed snapshot, for readers who do not want to run anything yet."""

import shutil
from pathlib import Path

from repro import files
from repro.report import render

SCHEMA = 1  # of results.json


def preview(reference: Path, folder: Path) -> Path:
    """Write them into `folder`. A snapshot keeps figures as SVG only, so PNGs are not linked."""
    results = files.read_json(reference / "results.json", schema=SCHEMA)
    for figure in (figure for claim in results["claims"] for figure in claim["figures"]):
        (folder / figure["svg"]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(reference / figure["svg"], folder / figure["svg"])
        figure["png"] = None
    return render(results, folder)
