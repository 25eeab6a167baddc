"""python -m repro prefetch: every missing training once, on this machine or through SLURM's commands."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

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

@pytest.mark.train
@pytest.mark.parametrize("who", ["one", "other"])
def test_holds(who, claim):
    specs = [Small(0), Small(1), Small(7, start=Small(6))]
    values = claim.for_each(specs, lambda spec: trained(claim, spec))
    claim.equals(values, [0, 1, 7], "values", equation="(1)")
"""


@pytest.fixture
def project(demo):
    demo.claim("table-1", BODY, evidence=["train"])
    demo.claim("lemma-1")
    return demo


def prefetch(demo, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "repro", "prefetch", *arguments], cwd=demo.root, capture_output=True,
        text=True, timeout=240, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


def made(demo):
    """Who made each training."""
    found = {}
    for path in demo.root.glob("store/demo/*/*.json"):
        numbers = json.loads(path.read_text()).get("numbers", {})
        if "pid" in numbers:
            found[numbers["value"]] = numbers["pid"]
    return found


def test_a_dry_run_lists_each_training_once_and_makes_none(project):
    done = prefetch(project, "--scale", "smoke", "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 trainings are missing; nothing was submitted" in done.stdout, "Small(7) waits for 6"
    assert done.stdout.count("--only-training=") == 3
    assert done.stdout.count("--scale=smoke") == 3
    assert "lemma_1" not in done.stdout
    assert made(project) == {}


def test_four_processes_make_them_and_readonly_claims_pass(project):
    assert project.run("--store-mode", "readonly").returncode == 0
    assert project.result("table-1")["verdict"] == "not-run"
    done = prefetch(project, "--jobs", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 trainings are missing" in done.stdout
    assert "1 training is missing" in done.stdout, "the one that needed another first"
    assert done.stdout.count("\nmade ") == 4
    assert sorted(made(project)) == [0, 1, 6, 7]
    assert len(set(made(project).values())) == 4, "a process for each"
    assert project.run("--store-mode", "readonly").returncode == 0
    assert project.result("table-1")["verdict"] == "holds"
    assert "nothing is missing" in prefetch(project).stdout


def test_a_job_that_fails_is_told_with_its_log_and_the_others_are_made(project):
    file = project.root / "claims/demo2025/test_table_1_demo.py"
    file.write_text(file.read_text().replace("Small(7, start=Small(6))", "Small(99)"))
    done = prefetch(project, "--jobs", "3")
    assert done.returncode == 1
    assert "1 training is still missing: see the logs" in done.stdout
    log = next(line.split("and: ")[1] for line in done.stdout.splitlines() if "and: " in line)
    assert "this one fails" in Path(log).read_text()
    assert sorted(made(project)) == [0, 1]


def test_with_gpus_the_trainings_of_a_gpu_are_listed_where_there_is_none(project):
    """The device is part of a training's name: a job on a GPU would make none of the cpu's."""
    here, there = (prefetch(project, *gpus, "--dry-run") for gpus in ((), ("--gpus", "1")))
    keys = [set(re.findall(r"--only-training=(\w+)", done.stdout)) for done in (here, there)]
    assert [len(found) for found in keys] == [3, 3]
    assert not keys[0] & keys[1]
    assert there.stdout.count("--device=cuda") == 3
    assert "--device" not in here.stdout


def test_a_job_that_ends_well_without_its_training_is_a_failure(monkeypatch, capsys, tmp_path):
    from repro import prefetch as module

    lost = module.Missing("demo", "key", "claims/demo2025/test_table_1_demo.py::test_holds")
    monkeypatch.setattr(module, "missing", lambda *_: [lost])
    monkeypatch.setattr(module, "_make", lambda *_: set())
    assert module.main(["claims", "--project", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "its job ended well, and the training is not in the store" in told
    assert "1 training is still missing" in told


def test_what_is_asked_for_is_read_as_pytest_would(project, capsys):
    from repro import prefetch as module

    done = prefetch(project, "--store", "elsewhere", "--seed=3", "--dry-run")
    assert done.stdout.count("--store=elsewhere") == 3, "and no path to test"
    assert done.stdout.count("--seed=3") == 3
    for words, told in ((["--jobs", "0"], "at least 1, not 0"), (["--scale"], "expected one")):
        with pytest.raises(SystemExit):
            module.main(words)
        assert told in capsys.readouterr().err


def test_an_interrupt_says_how_to_end_what_goes_on():
    from repro import prefetch as module

    assert module._go_on(["7_0", "7_1"], "slurm") == (
        "interrupted: 2 jobs go on; to end them: scancel 7_0 7_1"
    )


def test_a_selection_of_pytest_is_respected(project):
    done = prefetch(project, "claims/demo2025", "-k", "lemma", "--dry-run")
    assert "0 trainings are missing" in done.stdout
    assert prefetch(project, "claims", "--no-such-option").returncode != 0


# --- SLURM ---------------------------------------------------------------------------------------

SBATCH = """#!/usr/bin/env python3
import os, re, subprocess, sys
from pathlib import Path
folder = Path(os.environ["FAKE_SLURM"])
text = Path(sys.argv[-1]).read_text()
(folder / "submitted.sh").write_text(text)
count = int(re.search(r"--array=0-([0-9]+)", text)[1]) + 1
print("Submitted batch job 77", flush=True)
if os.fork():
    sys.exit()
os.setsid()  # the jobs begin when the submission is over
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(1, 2)
for task in range(count):
    environment = {**os.environ, "SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": str(task),
        "SLURM_JOB_ID": str(100 + task), "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1",
        "SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOB_NODELIST": "here"}
    done = subprocess.run(["bash", sys.argv[-1]], env=environment)
    with open(folder / "states", "a") as out:
        out.write(f"77_{task}|{'FAILED' if done.returncode else 'COMPLETED'}|here\\n")
"""
SRUN = """#!/usr/bin/env python3
import os, sys
words, name = sys.argv[1:], None
while words[0].startswith("--"):
    word = words.pop(0)
    if word in ("--output", "--error"):
        name = words.pop(0)
        if word == "--output":
            array = f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
            path = name.replace("%A_%a", array).replace("%j", array).replace("%t", "0")
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
os.execvp(words[0], words)
"""
SACCT = """#!/bin/sh
echo "JobID|State|NodeList"
cat "$FAKE_SLURM/states" 2>/dev/null || true
"""


@pytest.fixture
def slurm(tmp_path_factory):
    """sbatch, srun and sacct that run everything here, one after the other."""
    folder = tmp_path_factory.mktemp("slurm")
    for name, text in (("sbatch", SBATCH), ("srun", SRUN), ("sacct", SACCT)):
        (folder / name).write_text(text.replace("/usr/bin/env python3", sys.executable))
        (folder / name).chmod(stat.S_IRWXU)
    return {"FAKE_SLURM": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}


def test_through_slurm_it_is_one_array_with_the_settings_asked_for(project, slurm):
    file = project.root / "claims/demo2025/test_table_1_demo.py"
    file.write_text(file.read_text().replace("Small(7, start=Small(6))", "Small(7)"))
    done = prefetch(
        project, "--executor", "slurm", "--partition", "long", "--account", "ours", "--gpus", "1",
        "--time", "90", "--jobs", "2", "--device", "cpu", **slurm,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(made(project)) == [0, 1, 7]
    submitted = Path(slurm["FAKE_SLURM"], "submitted.sh").read_text()
    for line in (
        "--array=0-2%2",
        "--partition=long",
        "--account=ours",
        "--gpus-per-node=1",
        "--time=90",
    ):
        assert f"#SBATCH {line}\n" in submitted, line


def test_a_job_that_is_preempted_asks_to_be_queued_again():
    import submitit

    from repro.prefetch import Training

    again = Training(["true"], ".").checkpoint()
    assert isinstance(again, submitit.helpers.DelayedSubmission)
    again.function()  # the same command
