"""prefetch on SLURM, whose commands are replaced by scripts on PATH that run the jobs here."""

import importlib.util
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from repro.__main__ import main
from repro.cluster import prefetch
from repro.cluster import slurm as slurm_jobs
from repro.cluster.prefetch import Missing
from repro.training import Store, Workspace

SBATCH = """#!/usr/bin/env python3
import os, re, subprocess, sys
from pathlib import Path
folder = Path(os.environ["FAKE_SLURM"])
text = Path(sys.argv[-1]).read_text()
(folder / "submitted.sh").write_text(text)
with open(folder / "submissions", "a") as log:
    log.write("one\\n")
tasks = range(int(re.search(r"--array=0-([0-9]+)", text)[1]) + 1)
for task in tasks:
    (folder / f"queue/77_{task}").touch()
print("Submitted batch job 77", flush=True)
if (folder / "full").exists() or os.fork():
    sys.exit()
os.setsid()  # the jobs begin when the submission is over
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(1, 2)
for task in tasks:
    environment = {**os.environ, "SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": str(task),
        "SLURM_JOB_ID": str(100 + task), "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1",
        "SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOB_NODELIST": "here"}
    again = folder / f"requeue-77_{task}"
    again.touch()
    while again.exists():
        again.unlink()
        subprocess.run(["bash", sys.argv[-1]], env=environment)
    (folder / f"queue/77_{task}").unlink()
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
            os.dup2(1, 2)
os.execvp(words[0], words)
"""
SCONTROL = """#!/bin/sh
test "$1" = requeue && touch "$FAKE_SLURM/requeue-$2"
"""
SQUEUE = """#!/bin/sh
test "$*" = "--me --noheader --array --format=%i" && ls "$FAKE_SLURM/queue"
"""
COMMANDS = {"sbatch": SBATCH, "srun": SRUN, "scontrol": SCONTROL, "squeue": SQUEUE}


@pytest.fixture
def slurm(tmp_path_factory, monkeypatch):
    """SLURM's commands, which run everything here, one after the other; the folder they share."""
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "queue").mkdir()
    for name, text in COMMANDS.items():
        (folder / name).write_text(text.replace("/usr/bin/env python3", sys.executable))
        (folder / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("FAKE_SLURM", str(folder))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


LONG = """
import os, time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import pytest
import torch
from repro.training import Adam, Outcome, Spec, fit, generator_at

@dataclass(frozen=True)
class Long(Spec):
    kind: ClassVar[str] = "demo"
    version: ClassVar[int] = 1
    seed: int

def train(spec, workspace):
    model = torch.nn.Linear(3, 1)
    for number, parameter in enumerate(model.parameters()):
        torch.nn.init.normal_(parameter, generator=generator_at(spec.seed, -1 - number))

    def loss(model, step):
        if spec.seed == 1 and step == 5:
            wait()
        x = torch.randn(8, 3, generator=generator_at(spec.seed, step))
        return ((model(x).squeeze(1) - x.sum(1)) ** 2).mean()

    curves = fit(model, loss, steps=9, optimizer=Adam(lr=0.1), workspace=workspace)
    return Outcome({"loss": curves["loss"][-1]}, curves, model.state_dict())

def wait():
    if Path("hold").exists():
        Path("new").write_text(f"{os.getppid()} {os.getpid()}")
        Path("new").rename("reached")
    while Path("hold").exists():
        time.sleep(0.01)

@pytest.mark.train
def test_holds(claim):
    claim.for_each([Long(0), Long(1)], lambda spec: claim.train(spec, train))
    claim.measured("there", 1, equation="(1)").equals(1)
"""


def test_a_job_that_is_preempted_is_queued_again_and_ends_with_the_same_bits(
    demo, slurm, monkeypatch
):
    """One array with the settings asked for; its second job is pre-empted in its sixth step."""
    file = demo.claim("table-1", LONG, evidence=["train"])
    monkeypatch.chdir(demo.root)
    monkeypatch.setattr(slurm_jobs, "POLL", 0.2)
    (demo.root / "hold").touch()
    preempting = threading.Thread(target=preempt, args=[demo.root], daemon=True)
    preempting.start()
    words = [
        "--executor", "slurm", "--partition", "long", "--account", "ours", "--gpus", "1",
        "--time", "90", "--jobs", "2", "--device", "cpu",
    ]  # fmt: skip
    assert main(["prefetch", *words]) == 0
    preempting.join()
    reasons = [
        entry["reason"]
        for path in demo.root.glob("artifacts/jobs/results/*/claims/*/*/tests/test_holds*.json")
        for entry in json.loads(path.read_text())["trainings"]
    ]
    assert sorted(one for one in reasons if one.startswith("computed")) == [
        "computed: no entry",
        "computed: no entry; resumed from step 6 of 9",
    ]
    [log] = demo.root.glob("artifacts/jobs/77_1_0_log.out")
    assert "this job is preempted" in log.read_text()
    module = loaded(file)
    for seed in range(2):
        kept = Store(demo.root / "store", "readonly").get(module.Long(seed), module.train).outcome
        alone = module.train(module.Long(seed), Workspace())
        assert (kept.numbers, kept.curves) == (alone.numbers, alone.curves)
        assert all(torch.equal(kept.tensors[name], alone.tensors[name]) for name in alone.tensors)
    asked = (slurm / "submitted.sh").read_text()
    for line in ("array=0-1%2", "partition=long", "account=ours", "gpus-per-node=1", "time=90"):
        assert f"#SBATCH --{line}\n" in asked, line
    assert list(demo.root.glob("store/.submitted/*")) == []


def preempt(root):
    """As SLURM does: SIGUSR2 to all processes of the job."""
    give_up = time.monotonic() + 180
    while not (root / "reached").exists() and time.monotonic() < give_up:
        time.sleep(0.02)
    for pid in map(int, (root / "reached").read_text().split()):
        os.kill(pid, signal.SIGUSR2)
    (root / "hold").unlink()


def loaded(file):
    spec: Any = importlib.util.spec_from_file_location("long", file)
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("deaf", ["", "signal.signal(signal.SIGUSR2, signal.SIG_IGN)"])
def test_a_training_is_asked_to_end_and_killed_if_it_does_not(tmp_path, monkeypatch, deaf):
    code = f"import signal, time, pathlib; {deaf}\npathlib.Path('on').touch(); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    while not (tmp_path / "on").exists():
        time.sleep(0.01)
    monkeypatch.setattr(slurm_jobs, "GRACE", 1.0 if deaf else 60.0)
    again = slurm_jobs.Training(["true"], ".", child.pid).checkpoint()
    assert child.wait() == -(signal.SIGKILL if deaf else signal.SIGUSR2)
    again.function()  # the same command


TWO = [Missing("demo", key, f"claims/demo2025/test_table_1_demo.py::{key}") for key in "ab"]


@pytest.fixture
def call(slurm, capfd, monkeypatch, tmp_path):
    """prefetch two trainings on a SLURM that only queues; `pause` is called instead of waiting."""
    (slurm / "full").touch()
    monkeypatch.chdir(tmp_path)

    def run(pause):
        wanted = list(TWO)
        with monkeypatch.context() as patch:
            patch.setattr(prefetch, "missing", lambda *_: wanted)
            patch.setattr(slurm_jobs, "time", SimpleNamespace(sleep=lambda _: pause(wanted)))
            try:
                code = main(["prefetch", "claims", "--executor", "slurm"])
            except SystemExit as end:
                code = str(end)
        submissions = (slurm / "submissions").read_text().count("one")
        return code, capfd.readouterr().out, submissions

    return run


def stop(_):
    raise KeyboardInterrupt


STOPPED = "interrupted: 2 jobs go on; to end them: scancel 77_0 77_1"


def ended(slurm):
    for path in (slurm / "queue").iterdir():
        path.unlink()


def test_a_second_call_waits_for_the_jobs_of_the_first(call, slurm):
    assert call(stop) == (STOPPED, "2 trainings are missing\n", 1)

    def all_are_made(wanted):
        ended(slurm)
        wanted.clear()

    code, out, submissions = call(all_are_made)
    assert (code, submissions) == (0, 1)
    assert "already in SLURM's queue, job 77_0: a\n" in out
    assert out.endswith("nothing is missing\n")
    assert list(Path("store/.submitted").iterdir()) == []


def test_jobs_that_ended_without_their_training_failed_and_the_next_call_submits_again(call, slurm):
    code, out, submissions = call(lambda _: ended(slurm))
    assert (code, submissions) == (1, 1)
    for number, one in enumerate(TWO):
        log = Path(f"artifacts/jobs/77_{number}_0_log.out").resolve()
        assert f"FAILED {one}\n    its job has ended, see {log}\n" in out
    assert "2 trainings are still missing\n" in out
    assert call(stop) == (STOPPED, "2 trainings are missing\n", 2)


def test_squeue_that_fails_ends_the_command_and_nothing_is_submitted_twice(call, slurm):
    call(stop)
    (slurm / "squeue").write_text("#!/bin/sh\necho no answer >&2\nexit 1\n")
    code, _, submissions = call(stop)
    assert code == "squeue failed (no answer): give the same command later"
    assert submissions == 1
