"""The same numbers, bit for bit on a CPU, with several workers and in one process in reverse order.

`make test` has just run all claims with as many workers as there are cores, into artifacts/smoke;
here they run once more, the other way round, and must agree in everything measured.
"""

import json
import os
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


def measured(artifacts):
    """Checks, recorded numbers, tables, counterexamples, and the bytes of the figures."""
    claims = json.loads((artifacts / "results.json").read_text())["claims"]
    for claim in claims:  # the one column that is a time
        claim["table"] = [cell for cell in claim["table"] if cell["column"] != "RUN TIME"]
    numbers = {
        claim["id"]: [
            claim[key] for key in ("verdict", "checks", "controls", "table", "counterexamples")
        ]
        + sorted([test["test"], test["records"], test["seed"]] for test in claim["tests"])
        for claim in claims
    }
    names = [figure["svg"] for claim in claims for figure in claim["figures"]]
    return numbers, {name: (artifacts / name).read_bytes() for name in names}


def run(artifacts, *arguments):
    (artifacts.parent / "reverse.py").write_text(REVERSE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--scale", "smoke", "--device", "cpu", "--artifacts", str(artifacts),
         "--store", str(artifacts / "store"), "-p", "no:cacheprovider", *arguments],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(artifacts.parent)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return measured(artifacts)


def of_this_code(artifacts):
    """Whether `make test` has run all claims of the code as it is now committed, on a CPU."""
    if not (artifacts / "results.json").exists():
        return False
    run = json.loads((artifacts / "results.json").read_text())["run"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    whole = run["state"] == "finished" and run["reported"] == run["collected"]
    plain = run["argv"][:1] == ["claims"] and not {"-k", "-m"} & set(run["argv"])
    same = head.stdout.startswith(run["git"] or "?") and not run["dirty"]
    return whole and plain and same and run["seed"] == 0 and run["device"] != "cuda"


def test_the_numbers_do_not_depend_on_how_the_claims_are_run(tmp_path):
    smoke = ROOT / "artifacts" / "smoke"
    forward = measured(smoke) if of_this_code(smoke) else run(tmp_path / "a", "claims", "-n2")
    numbers, figures = run(tmp_path / "b", "claims", "-n0", "-p", "reverse")
    assert numbers == forward[0]
    assert figures == forward[1]
    assert figures


def test_another_seed_gives_other_numbers(tmp_path):
    lemma = "claims/fang2022/test_lemma_3_1_multiplication.py"
    first, _ = run(tmp_path / "0", lemma, "-n0")
    other, _ = run(tmp_path / "1", lemma, "-n0", "--seed", "1")
    assert first["fang2022/lemma-3.1"] != other["fang2022/lemma-3.1"]
