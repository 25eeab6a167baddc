"""The same numbers, bit for bit on a CPU, with two workers and in one process in reverse order.

Two runs of all claims differ in both ways at once, and must still agree in everything measured.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
REVERSE = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.reverse()
"""


def numbers(tmp_path, name, arguments):
    """Everything that was measured: checks, recorded numbers, tables, counterexamples, figures' bytes."""
    artifacts = tmp_path / name
    (tmp_path / "reverse.py").write_text(REVERSE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--scale", "smoke", "--device", "cpu", "--artifacts", str(artifacts),
         "--store", str(artifacts / "store"), "-p", "no:cacheprovider", *arguments],
        cwd=ROOT, capture_output=True, text=True, env={**__import__("os").environ, "PYTHONPATH": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    claims = json.loads((artifacts / "results.json").read_text())["claims"]
    for claim in claims:  # the one column that is a time
        claim["table"] = [cell for cell in claim["table"] if cell["column"] != "RUN TIME"]
    measured = {
        claim["id"]: [
            claim[key] for key in ("verdict", "checks", "controls", "table", "counterexamples")
        ]
        + sorted([test["test"], test["records"], test["seed"]] for test in claim["tests"])
        for claim in claims
    }
    figures = {path.relative_to(artifacts): path.read_bytes() for path in artifacts.rglob("*.svg")}
    return measured, figures


def test_the_numbers_do_not_depend_on_how_the_claims_are_run(tmp_path):
    measured, figures = numbers(tmp_path, "two workers", ["claims", "-n2"])
    again, drawn = numbers(tmp_path, "reverse", ["claims", "-n0", "-p", "reverse"])
    assert measured == again
    assert figures == drawn
    assert figures


def test_another_seed_gives_other_numbers(tmp_path):
    lemma = "claims/fang2022/test_lemma_3_1_multiplication.py"
    measured, _ = numbers(tmp_path, "seed 0", [lemma, "-n0"])
    other, _ = numbers(tmp_path, "seed 1", [lemma, "-n0", "--seed", "1"])
    assert measured["fang2022/lemma-3.1"] != other["fang2022/lemma-3.1"]
