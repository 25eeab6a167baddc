"""python -m repro prefetch: every missing training once, as processes on this machine.

Each listing and each job is a pytest of its own, with torch: few of them show what is to be seen.
"""

import json
import re
from pathlib import Path

import pytest
from demo import FULL

from repro import prefetch
from repro.prefetch import Missing

BODY = """
from dataclasses import dataclass
import os
from typing import ClassVar
import pytest
from repro.training import Outcome, Spec

@dataclass(frozen=True)
class Small(Spec):
    kind: ClassVar[str] = "demo"
    version: ClassVar[int] = 1
    seed: int
    start: "Small | None" = None

def train(spec, workspace):
    if spec.seed == 99:
        raise RuntimeError("this one fails")
    return Outcome({"value": spec.seed, "pid": os.getpid()})

def trained(claim, spec):
    if spec.start is not None:
        trained(claim, spec.start)
    return claim.train(spec, train).outcome.numbers["value"]
"""
HOLDS = """
@pytest.mark.train
@pytest.mark.parametrize("who", ["one", "other"])
def test_holds(who, claim):
    specs = [*map(Small, SEEDS), Small(7, start=Small(6))]
    values = claim.for_each(specs, lambda spec: trained(claim, spec))
    claim.equals(values, [*SEEDS, 7], "values", equation="(1)")
"""
FAILS = """
@pytest.mark.train
def test_holds(claim):
    claim.equals(trained(claim, Small(99)), 99, "value", equation="(1)")
"""
SEEDS = [0, 1] if FULL else []


@pytest.fixture
def project(demo, monkeypatch):
    demo.claim("table-1", f"{BODY}\nSEEDS = {SEEDS}\n{HOLDS}", evidence=["train"])
    demo.claim("lemma-1")
    monkeypatch.chdir(demo.root)
    return demo


@pytest.fixture
def said(capfd):
    """Run prefetch in this process; its exit code and what it said."""

    def run(*words):
        capfd.readouterr()
        code = prefetch.main(list(words))
        return code, capfd.readouterr().out

    return run


def made(demo):
    """Who made each training."""
    found = {}
    for path in demo.root.glob("store/demo/*/result.json"):
        numbers = json.loads(path.read_text())["numbers"]
        found[numbers["value"]] = numbers["pid"]
    return found


@pytest.mark.reliability
def test_a_dry_run_lists_each_training_once_and_makes_none(project, said):
    """And with --gpus those of a GPU, where there is none: the device is part of their names."""
    code, here = said("--scale", "smoke", "--dry-run")
    _, there = said("--scale", "smoke", "--dry-run", "--gpus", "1")
    count = len(SEEDS) + 1
    assert code == 0, here
    assert f"{count} training{'s are' if FULL else ' is'} missing; nothing was submitted" in here
    assert "Small(7)" not in here, "it waits for another"
    keys = [re.findall(r"--only-training=(\w+)", out) for out in (here, there)]
    assert [len(found) for found in keys] == [count, count]
    assert not set(keys[0]) & set(keys[1])
    assert here.count("--scale=smoke") == there.count("--device=cuda") == count
    assert "--device" not in here
    assert "lemma_1" not in here
    assert made(project) == {}


@pytest.mark.reliability
def test_each_is_made_by_a_process_one_that_fails_is_told_and_readonly_claims_pass(project, said):
    if FULL:
        project.claim("table-2", BODY + FAILS, evidence=["train"])
    code, out = said("--jobs", "4")
    assert code == (1 if FULL else 0), out
    assert "1 training is missing" in out, "the one that needed another first"
    assert out.count("made ") == len(made(project)) == len(SEEDS) + 2
    assert sorted(made(project)) == [*SEEDS, 6, 7]
    assert len(set(made(project).values())) == len(SEEDS) + 2, "a process for each"
    if FULL:
        assert "4 trainings are missing" in out
        assert "1 training is still missing: see the logs" in out
        log = next(line.split("and: ")[1] for line in out.splitlines() if "and: " in line)
        assert "this one fails" in Path(log).read_text()
    assert project.run("--store-mode", "readonly").returncode == 0
    assert project.result("table-1")["verdict"] == "holds"
    if FULL:
        assert project.result("table-2")["verdict"] == "not-run"


# --- without a job -------------------------------------------------------------------------------

LOST = Missing("demo", "key", "claims/demo2025/test_table_1_demo.py::test_holds")


def test_a_job_that_ends_well_without_its_training_is_a_failure(monkeypatch, said, tmp_path):
    monkeypatch.setattr(prefetch, "missing", lambda *_: [LOST])
    monkeypatch.setattr(prefetch, "_make", lambda *_: set())
    code, told = said("claims", "--project", str(tmp_path))
    assert code == 1
    assert "its job ended well, and the training is not in the store" in told
    assert "1 training is still missing" in told


def test_what_is_asked_for_is_read_as_pytest_would(monkeypatch, said, capfd, project):
    asked = []
    monkeypatch.setattr(prefetch, "missing", lambda _, words: asked.append(words) or [LOST])
    _, out = said("--store", "elsewhere", "--seed=3", "-k", "lemma", "--dry-run")
    file = "claims/demo2025/test_table_1_demo.py"
    assert asked == [[file, "-k", "lemma", "--seed=3", "--store=elsewhere"]], "all that train"
    assert f"{LOST.test} --seed=3 --store=elsewhere " in out
    said("claims/demo2025", "--dry-run")
    assert asked[1] == ["claims/demo2025"], "paths are pytest's"
    for words, told in ((["--jobs", "0"], "at least 1, not 0"), (["--scale"], "expected one")):
        with pytest.raises(SystemExit):
            prefetch.main(words)
        assert told in capfd.readouterr().err


def test_what_pytest_refuses_ends_it(project):
    with pytest.raises(SystemExit, match=r"no-such-option(.|\n)*could not list the trainings"):
        prefetch.main(["claims", "--no-such-option"])
