"""prefetch through SLURM's commands, which here are scripts on PATH: arrays, warnings, the queue."""

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
import submitit
import torch

from repro import job, prefetch
from repro.prefetch import Missing
from repro.submitted import Submitted
from repro.training import Store, Workspace

SBATCH = """#!/usr/bin/env python3
import os, re, subprocess, sys
from pathlib import Path
folder = Path(os.environ["FAKE_SLURM"])
text = Path(sys.argv[-1]).read_text()
(folder / "submitted.sh").write_text(text)
with open(folder / "submissions", "a") as log:
    log.write("one\\n")
array = re.search(r"--array=0-([0-9]+)", text)
print("Submitted batch job 77", flush=True)
if (folder / "full").exists() or os.fork():
    sys.exit()
os.setsid()  # the jobs begin when the submission is over
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(1, 2)
for task in range(int(array[1]) + 1):
    environment = {**os.environ, "SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": str(task),
        "SLURM_JOB_ID": str(100 + task), "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1",
        "SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOB_NODELIST": "here"}
    again = folder / f"requeue-77_{task}"
    again.touch()
    while again.exists():
        again.unlink()
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
            os.dup2(1, 2)
os.execvp(words[0], words)
"""
SACCT = """#!/bin/sh
echo "JobID|State|NodeList"
cat "$FAKE_SLURM/states" 2>/dev/null || true
"""
SCONTROL = """#!/bin/sh
test "$1" = requeue && touch "$FAKE_SLURM/requeue-$2"
"""
SQUEUE = """#!/bin/sh
test "$*" = "--me --noheader --array --format=%i" && cat "$FAKE_SLURM/queue"
"""
COMMANDS = {
    "sbatch": SBATCH, "srun": SRUN, "sacct": SACCT, "scontrol": SCONTROL, "squeue": SQUEUE,
}  # fmt: skip


@pytest.fixture
def slurm(tmp_path_factory, monkeypatch):
    """SLURM's commands, which run everything here, one after the other; the folder they share."""
    folder = tmp_path_factory.mktemp("slurm")
    for name, text in COMMANDS.items():
        (folder / name).write_text(text.replace("/usr/bin/env python3", sys.executable))
        (folder / name).chmod(stat.S_IRWXU)
    submitit.SlurmJob.watcher.clear()  # it remembers the jobs of other tests
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
    claim.equals(1, 1, "there", equation="(1)")
"""


def test_a_job_that_slurm_warns_is_queued_again_and_ends_with_the_same_bits(
    demo, slurm, monkeypatch
):
    """One array with the settings asked for. Its second job is warned in its sixth step."""
    file = demo.claim("table-1", LONG, evidence=["train"])
    monkeypatch.chdir(demo.root)
    (demo.root / "hold").touch()
    killer = threading.Thread(target=warn, args=[demo.root], daemon=True)
    killer.start()
    words = [
        "--executor", "slurm", "--partition", "long", "--account", "ours", "--gpus", "1",
        "--time", "90", "--jobs", "2", "--device", "cpu",
    ]  # fmt: skip
    assert prefetch.main(words) == 0
    killer.join()
    reasons = [
        entry["reason"]
        for path in demo.root.glob("artifacts/jobs/results/*/claims/*/*/tests/test_holds*.json")
        for entry in json.loads(path.read_text())["store"]
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


def warn(root):
    """As SLURM does before it takes a job's place: SIGUSR2 to all its processes."""
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


def test_a_training_that_submitit_alone_is_told_to_end_is_told_and_waited_for(tmp_path):
    """And one that does not heed it is killed."""
    for deaf in ("", "signal.signal(signal.SIGUSR2, signal.SIG_IGN)"):
        code = f"import signal, time, pathlib; {deaf}\npathlib.Path('on').touch(); time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
        while not (tmp_path / "on").exists():
            time.sleep(0.01)
        (tmp_path / "on").unlink()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(job, "AT_WORK", [child.pid])
            patch.setattr(job, "GRACE", 1.0 if deaf else 60.0)
            again = job.Training(["true"], ".").checkpoint()
        assert child.wait() == -(signal.SIGKILL if deaf else signal.SIGUSR2)
        again.function()  # the same command


TWO = [Missing("demo", key, f"claims/demo2025/test_table_1_demo.py::{key}") for key in "ab"]


@pytest.fixture
def call(slurm, capfd, monkeypatch, tmp_path):
    """A prefetch of these trainings by a SLURM that only queues; `pause` is done for waiting."""
    (slurm / "full").touch()
    (slurm / "queue").write_text("77_0\n77_1\n")
    monkeypatch.chdir(tmp_path)

    def run(pause, *words):
        wanted = list(TWO)
        with monkeypatch.context() as patch:
            patch.setattr(prefetch, "missing", lambda *_: wanted)
            clock = SimpleNamespace(sleep=lambda _: pause(wanted))  # subprocess keeps its own
            patch.setattr(prefetch, "time", clock)
            try:
                code = prefetch.main(["claims", "--executor", "slurm", *words])
            except (SystemExit, KeyboardInterrupt) as end:
                code = str(end)
        submissions = (slurm / "submissions").read_text().count("one")
        return code, capfd.readouterr().out, submissions

    return run


def stop(_):
    raise KeyboardInterrupt


def test_what_waits_in_the_queue_is_waited_for_and_not_submitted_again(call, slurm):
    assert call(stop) == (
        "interrupted: 2 jobs go on; to end them: scancel 77_0 77_1",
        "2 trainings are missing\n",
        1,
    )

    def all_are_made(wanted):
        (slurm / "queue").write_text("9_1\n")
        wanted.clear()

    code, out, submissions = call(stop, "--dry-run")
    assert (code, submissions) == (0, 1)
    assert "--only-training" not in out
    assert "2 trainings are missing; nothing was submitted" in out
    assert call(stop)[0] == "interrupted: 2 jobs go on; to end them: scancel 77_0 77_1"
    code, out, submissions = call(all_are_made)
    assert (code, submissions) == (0, 1)
    for number, one in enumerate(TWO):
        assert f"in SLURM's queue since an earlier call, job 77_{number}: {one}\n" in out
    assert out.endswith("nothing is missing\n")
    assert list(Path("store/.submitted").iterdir()) == []


def test_what_is_no_longer_in_the_queue_is_submitted_again(call, slurm):
    call(stop)
    (slurm / "queue").write_text("")
    code, out, submissions = call(stop)
    assert code == "interrupted: 2 jobs go on; to end them: scancel 77_0 77_1"
    assert submissions == 2
    assert "earlier call" not in out


def test_without_squeue_it_is_said_and_submitted_and_a_silent_one_ends_it(call, slurm):
    call(stop)
    (slurm / "queue").unlink()
    code, _, submissions = call(stop)
    assert code.startswith("squeue does not tell what waits (cat: ")
    assert submissions == 1
    (slurm / "squeue").unlink()
    _, out, submissions = call(stop)
    assert "there is no squeue here to ask whether earlier jobs still wait: 2 may be" in out
    assert submissions == 2


def test_a_note_that_is_damaged_is_none(tmp_path):
    notes = Submitted(tmp_path)
    notes.note("a", "77_0")
    [path] = tmp_path.glob(".submitted/*")
    path.write_text(path.read_text().replace("77_0", "77_1"))
    assert notes.waiting(["a", "b"]) == {}
