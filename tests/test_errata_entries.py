"""claims/errata: what is wrong in the papers, graded one by one, and programs that show it.

The programs need Python's standard library alone, so that a reader can paste them anywhere.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from repro.harness import ledger

CLAIMS = Path(__file__).parents[1] / "claims"
PAPERS = ("fang2022", "jiang2024", "wang2024")
PROGRAMS = sorted((CLAIMS / "errata").glob("*/*.py"))


LEDGER = ledger.read(CLAIMS / "ledger.toml")
ERRATA = [one for errata in LEDGER.errata.values() for one in errata]


def test_every_program_belongs_to_an_erratum_that_names_it():
    named = {f"{one.statement.split('/')[0]}/{one.program}" for one in ERRATA if one.program}
    assert named == {f"{path.parent.name}/{path.name}" for path in PROGRAMS}


@pytest.mark.parametrize("paper", LEDGER.papers)
def test_an_erratum_is_of_its_paper_and_says_everything(paper):
    raw = tomllib.loads((CLAIMS / f"errata/{paper}.toml").read_text())["erratum"]
    assert {entry["statement"].split("/")[0] for entry in raw} == {paper}
    for entry in raw:
        assert LEDGER.statements[entry["statement"]].kind != "finding"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_programs_show_it_with_the_standard_library_alone(path, tmp_path):
    command = [sys.executable, "-I", "-S", path]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "a program prints what it shows"
