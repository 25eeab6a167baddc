"""python -m repro prefetch, with processes on this machine; SLURM is in test_prefetch_slurm.py."""

import json
import re
from pathlib import Path

import pytest

from repro.__main__ import main
from repro.cluster import prefetch
from repro.cluster.prefetch import Missing

CLAIM = """
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
    value = trained(claim, Small(7, start=Small(6)))
    claim.measured("value", value, equation="(1)").equals(7)
    claim.cell("value", who, paper=7, ours=value)
"""
FAILS = """
@pytest.mark.train
def test_holds(claim):
    claim.measured("value", trained(claim, Small(99)), equation="(1)").equals(99)
"""


@pytest.fixture
def project(demo, monkeypatch):
    demo.claim("table-1", CLAIM + HOLDS, evidence=["train"], status="reproduced")
    demo.claim("lemma-1")
    monkeypatch.chdir(demo.root)
    return demo


@pytest.fixture
def said(capfd):
    """Run prefetch in this process; its exit code and what it said."""

    def run(*words):
        capfd.readouterr()
        code = main(["prefetch", *words])
        return code, capfd.readouterr().out

    return run


def made(demo):
    """The process that made each training."""
    found = [
        json.loads(path.read_text())["numbers"]
        for path in demo.root.glob("store/demo/*/result.json")
    ]
    return {numbers["value"]: numbers["pid"] for numbers in found}


def test_a_dry_run_lists_each_training_once_and_makes_none(project, said):
    """With --gpus it lists those of a GPU, where there is none: the device is part of the key."""
    code, here = said("--scale", "smoke", "--dry-run")
    _, there = said("--scale", "smoke", "--dry-run", "--gpus", "1")
    assert code == 0, here
    assert "1 training is missing; nothing was submitted" in here  # Small(7) comes after Small(6)
    keys = [re.findall(r"--only-training=(\w+)", out) for out in (here, there)]
    assert [len(found) for found in keys] == [1, 1]
    assert keys[0] != keys[1]
    assert here.count("--scale=smoke") == there.count("--device=cuda") == 1
    assert "--device" not in here
    assert made(project) == {}


def test_each_is_made_by_a_process_and_one_that_fails_is_reported_with_its_log(project, said):
    project.claim("table-2", CLAIM + FAILS, evidence=["train"])
    code, out = said("--jobs", "4")
    assert code == 1, out
    assert "2 trainings are missing" in out
    assert "1 training is missing" in out  # the second round
    assert sorted(made(project)) == [6, 7]
    assert len(set(made(project).values())) == 2
    assert "1 training is still missing" in out
    log = re.search(r"FAILED .*test_table_2.*\n.* see (.*)", out)
    assert log
    assert "this one fails" in Path(log[1]).read_text()
    assert project.run("--store-mode", "readonly").returncode == 0
    assert project.result("table-1")["verdict"] == "reproduced"
    assert project.result("table-2")["verdict"] == "not-run"


ONE = Missing("demo", "key", "claims/demo2025/test_table_1_demo.py::test_holds")


def test_options_reach_pytest(monkeypatch, said, capfd, project):
    asked = []
    monkeypatch.setattr(prefetch, "missing", lambda _, words: asked.append(words) or [ONE])
    _, out = said("--store", "elsewhere", "--seed=3", "-k", "lemma", "--dry-run")
    file = "claims/demo2025/test_table_1_demo.py"
    assert asked == [[file, "-k", "lemma", "--seed=3", "--store=elsewhere"]]  # all that train
    assert f"{ONE.test} --seed=3 --store=elsewhere " in out
    said("claims/demo2025", "--unknown", "--dry-run")
    assert asked[1] == ["claims/demo2025", "--unknown"]
    for words, told in ((["--jobs", "0"], "at least 1, not 0"), (["--scale"], "expected one")):
        with pytest.raises(SystemExit):
            main(["prefetch", *words])
        assert told in capfd.readouterr().err


def test_an_option_that_pytest_refuses_ends_it(project):
    with pytest.raises(SystemExit, match=r"no-such-option(.|\n)*could not list the trainings"):
        main(["prefetch", "claims", "--no-such-option"])
