"""The same numbers, bit for bit on a CPU, with several workers and in one process in reverse order.

`make test` has just run all claims with as many workers as there are cores, into artifacts/smoke;
here the cheap ones, and of each paper one that trains, run once more, the other way round, and must
agree in everything measured. `make reliability` runs them all once more.
"""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from demo import FULL

from repro.harness import schedule
from repro.results import codec

ROOT = Path(__file__).parent.parent
LONGEST = 2.0  # seconds
CHEAP = 35  # claim files: a count, as seconds are those of some machine
LEMMA = "claims/fang2022/test_lemma_3_1_multiplication.py"  # draws, and trains
TRAIN = (
    LEMMA,
    "claims/jiang2024/test_figure_6_selection.py",
    "claims/wang2024/test_lemma_F_6_one_over_root_m.py",
)
REVERSE = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    items.reverse()
"""


def measured(artifacts, chosen=("claims",)):
    """Checks, recorded numbers, tables, counterexamples, and the bytes of the figures.

    Of all claims, or of those whose files are chosen.
    """
    claims = json.loads((artifacts / "results.json").read_text())["claims"]
    claims = [claim for claim in claims if {"claims", claim["file"]} & set(chosen)]
    for claim in claims:  # the one column that is a time
        claim["cells"] = [cell for cell in claim["cells"] if cell["column"] != "RUN TIME"]
    numbers = {
        claim["id"]: [
            claim[key] for key in ("verdict", "checks", "controls", "cells", "counterexamples")
        ]
        + sorted([test["test"], test["numbers"], test["seed"]] for test in claim["tests"])
        for claim in claims
    }
    names = [figure["svg"] for claim in claims for figure in claim["figures"]]
    return numbers, {name: (artifacts / name).read_bytes() for name in names}


def run(artifacts, chosen, *arguments, scale="smoke", store=None):
    (artifacts.parent / "reverse.py").write_text(REVERSE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--scale", scale, "--device", "cpu", "--artifacts", str(artifacts),
         "--store", str(store or artifacts / "store"), "-p", "no:cacheprovider", *chosen, *arguments],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(artifacts.parent)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return measured(artifacts, chosen)


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


def cheap():
    """The claim files that take least from nothing, and of each paper one that trains."""
    seconds: dict[str, float] = {}
    for test, taken in schedule.read_durations(ROOT / "artifacts/reference").items():
        file = test.partition(" ")[2].partition("::")[0]
        seconds[file] = seconds.get(file, 0.0) + taken
    others = (file for file in sorted(seconds, key=lambda file: seconds[file]) if file not in TRAIN)
    return [*TRAIN, *itertools.islice(others, CHEAP)]


@pytest.fixture(scope="module")
def chosen():
    return ["claims"] if FULL else cheap()


@pytest.fixture(scope="module")
def backward(tmp_path_factory, chosen):
    """One process, in reverse order, all trainings made anew."""
    return run(tmp_path_factory.mktemp("backward") / "b", chosen, "-n0", "-p", "reverse")


@pytest.mark.reliability
def test_the_numbers_do_not_depend_on_how_the_claims_are_run(tmp_path, chosen, backward):
    smoke = ROOT / "artifacts" / "smoke"
    known = of_this_code(smoke)
    forward = measured(smoke, chosen) if known else run(tmp_path / "a", chosen, "-n2")
    numbers, figures = backward
    assert numbers == forward[0]
    assert figures == forward[1]
    assert figures
    assert len(numbers) >= 30
    assert {id.partition("/")[0] for id in numbers} == {"fang2022", "jiang2024", "wang2024"}


@pytest.mark.reliability
def test_another_seed_gives_other_numbers(tmp_path, backward):
    other, _ = run(tmp_path / "1", [LEMMA], "-n0", "--seed", "1")
    assert other["fang2022/lemma-3.1"] != backward[0]["fang2022/lemma-3.1"]


def quick():
    """Claim files that take seconds at laptop scale once their trainings are made."""
    claims = codec.read_results(ROOT / "artifacts/reference/results.json.gz").claims
    return [claim.file for claim in claims if claim.file and claim.seconds <= LONGEST]


@pytest.mark.reliability
@pytest.mark.skipif(not FULL, reason="minutes of laptop scale: make reliability")
def test_at_laptop_scale_the_numbers_do_not_depend_on_it_either(tmp_path):
    """Trainings come from the store; that they give the same bits anew is shown at smoke scale."""
    ways = (("-n0",), ("-n2",), ("-n0", "-p", "reverse"))
    runs = [
        run(tmp_path / str(n), quick(), *way, scale="laptop", store=ROOT / "store")
        for n, way in enumerate(ways)
    ]
    for n in range(1, len(ways)):
        pair = [str(tmp_path / str(m) / "results.json") for m in (0, n)]
        done = subprocess.run(
            [sys.executable, "-m", "repro", "diff", *pair], cwd=ROOT, capture_output=True, text=True, check=False
        )  # fmt: skip
        assert done.stdout.splitlines()[-1] == "0 that matter, 0 others", done.stdout
        assert runs[n] == runs[0]
        assert runs[n][1]
