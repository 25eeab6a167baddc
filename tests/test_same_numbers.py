"""The same numbers, bit for bit on a CPU, with several workers and in one process in reverse order.

`make test` has just run all claims with as many workers as there are cores, into artifacts/smoke;
here they run once more, the other way round, and must agree in everything measured.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from reliability import FULL, keep

ROOT = Path(__file__).parent.parent
LONGEST = 2.0  # seconds
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


def run(artifacts, *arguments, scale="smoke", store=None):
    (artifacts.parent / "reverse.py").write_text(REVERSE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--scale", scale, "--device", "cpu", "--artifacts", str(artifacts),
         "--store", str(store or artifacts / "store"), "-p", "no:cacheprovider", *arguments],
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


def quick():
    """Claim files that take seconds at laptop scale once their trainings are made."""
    claims = json.loads((ROOT / "artifacts/reference/results.json").read_text())["claims"]
    return [claim["file"] for claim in claims if claim["file"] and claim["seconds"] <= LONGEST]


def count(value):
    """How many numbers there are in it; those that JSON lacks are words and do not count."""
    if isinstance(value, (dict, list)):
        return sum(map(count, value.values() if isinstance(value, dict) else value))
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@pytest.mark.reliability
@pytest.mark.skipif(not FULL, reason="minutes of laptop scale: make reliability")
def test_at_laptop_scale_the_numbers_do_not_depend_on_it_either(tmp_path):
    """Trainings come from the store; that they give the same bits anew is shown at smoke scale."""
    ways = {"-n0": ("-n0",), "-n2": ("-n2",), "-n0, reversed": ("-n0", "-p", "reverse")}
    runs = [
        run(tmp_path / str(n), *quick(), *way, scale="laptop", store=ROOT / "store")
        for n, way in enumerate(ways.values())
    ]
    for n, how in list(enumerate(ways))[1:]:
        pair = [str(tmp_path / str(m) / "results.json") for m in (0, n)]
        done = subprocess.run(
            [sys.executable, "-m", "repro", "diff", *pair], cwd=ROOT, capture_output=True, text=True, check=False
        )  # fmt: skip
        *told, last = done.stdout.splitlines()
        numbers, figures = runs[n]
        keep(
            "same-numbers", str(n), first="-n0", second=how, claims=len(quick()),
            numbers=count(numbers), figures=len(figures), differences=len(told),
        )  # fmt: skip
        assert last == "0 that matter, 0 others", done.stdout
        assert runs[n] == runs[0]
        assert figures


def test_another_seed_gives_other_numbers(tmp_path):
    lemma = "claims/fang2022/test_lemma_3_1_multiplication.py"
    first, _ = run(tmp_path / "0", lemma, "-n0")
    other, _ = run(tmp_path / "1", lemma, "-n0", "--seed", "1")
    assert first["fang2022/lemma-3.1"] != other["fang2022/lemma-3.1"]
