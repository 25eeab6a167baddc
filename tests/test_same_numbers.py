"""The same numbers, bit for bit on a CPU, at -n0, at -n2 and in reverse order."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
REVERSE = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.reverse()
"""
WAYS = {"one process": ["-n0"], "two workers": ["-n2"], "reverse order": ["-n0", "-p", "reverse"]}


def numbers(tmp_path, name, arguments):
    """Everything that was measured: checks, recorded numbers, tables, counterexamples, figures' bytes."""
    artifacts = tmp_path / name
    (tmp_path / "reverse.py").write_text(REVERSE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "claims", "-q", "--scale", "smoke", "--device", "cpu", "--artifacts", str(artifacts),
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


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return numbers(tmp_path_factory.mktemp("reference"), "one process", WAYS["one process"])


@pytest.mark.parametrize("way", ["two workers", "reverse order"])
def test_the_numbers_do_not_depend_on_how_the_claims_are_run(way, reference, tmp_path):
    measured, figures = numbers(tmp_path, way, WAYS[way])
    assert measured == reference[0]
    assert figures == reference[1]
    assert figures


def test_another_seed_gives_other_numbers(reference, tmp_path):
    measured, _ = numbers(tmp_path, "seed 1", ["-n0", "--seed", "1"])
    assert measured["fang2022/lemma-3.1"] != reference[0]["fang2022/lemma-3.1"]
