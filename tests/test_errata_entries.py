"""claims/errata: what is wrong in the papers, graded one by one, and programs that show it.

The programs need Python's standard library alone, so that a reader can paste them anywhere. Each is
named after the statement that it is about: `theorem-4.1_exponent.py` is about Theorem 4.1.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from repro.harness import ledger

CLAIMS = Path(__file__).parents[1] / "claims"
PAPERS = ("fang2022", "jiang2024", "wang2024")
GRADES = {"misprint", "edge case", "proof gap", "false"}
PLACES = {"statement", "proof", "text", "experiment"}
FIELDS = {
    "statement", "grade", "where", "place", "printed", "corrected", "survives", "counterexample",
    "why",
}  # fmt: skip
PROGRAMS = sorted((CLAIMS / "errata").glob("*/*.py"))


def entries(paper):
    return tomllib.loads((CLAIMS / f"errata/{paper}.toml").read_text())["erratum"]


@pytest.mark.parametrize("paper", PAPERS)
def test_entries_are_whole_and_point_to_what_shows_them(paper):
    statements = set(ledger.read(CLAIMS / "ledger.toml").statements)
    shown = "".join(path.read_text() for path in (CLAIMS / paper).glob("test_*.py"))
    for entry in entries(paper):
        assert entry.keys() == FIELDS
        assert entry["statement"] in statements
        assert (entry["grade"] in GRADES, entry["where"] in PLACES) == (True, True), entry
        for field in FIELDS - {"counterexample"}:
            assert entry[field].strip(), (entry["statement"], field)
        for name in filter(None, entry["counterexample"].split("; ")):
            assert name in shown, (entry["statement"], name)


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_false_has_a_program(paper):
    false = {entry["statement"] for entry in entries(paper) if entry["grade"] == "false"}
    shown = {f"{paper}/{path.stem.partition('_')[0]}" for path in PROGRAMS}
    # Theorem 4.1 of wang2024 is false by Lemma F.6, whose program says so
    assert false - shown <= {"wang2024/theorem-4.1"}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_programs_show_it_with_the_standard_library_alone(path, tmp_path):
    statements = {e["statement"] for e in entries(path.parent.name) if e["grade"] != "misprint"}
    assert f"{path.parent.name}/{path.stem.partition('_')[0]}" in statements
    command = [sys.executable, "-I", "-S", path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
