"""The errata of the papers with their programs, and what the ledger says covers every case.

The programs need Python's standard library alone, so that a reader can paste them anywhere.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from repro.harness import ledger

CLAIMS = Path(__file__).parents[1] / "claims"
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


def test_what_covers_every_case_names_a_place_that_is_there():
    """A module of the wing or of numerics, a test of the claim, or the claim's docstring."""
    known = ((LEDGER.of_file(path), path) for path in CLAIMS.glob("*/test_*.py"))
    files = {statement.id: path for statement, path in known if statement}
    for statement in LEDGER.statements.values():
        kind, _, told = statement.why_all.partition(": ")
        names = re.findall(r"`([^`]+)`", told)
        for name in names:
            if name.endswith(".py"):
                rooms = (CLAIMS.parent / "repro" / room for room in (statement.paper, "numerics"))
                assert any((room / name).exists() for room in rooms), (statement.id, name)
            elif name.startswith("test_"):
                assert f"def {name}(" in files[statement.id].read_text(), (statement.id, name)
        if kind in ("proof", "certificate"):
            assert names or "docstring" in told, (statement.id, told)
