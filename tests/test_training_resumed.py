"""Trainings that take their time: checkpoints, kills, and processes that wait for one another.

Run as a script this file is the other process: `python test_training_resumed.py '{"root": ...}'`.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import nn

from repro.files import DamagedFile
from repro.training import (
    SGD,
    Adam,
    Cosine,
    Diverged,
    OneCycle,
    Outcome,
    Spec,
    Store,
    Workspace,
    entry,
    fit,
    generator_at,
    workspace,
)
from repro.training.outcome import pack_sealed, unpack_sealed
from repro.training.spec import context_of

ROOT = Path(entry.__file__).parents[2]
ADAM, COSINE = Adam(lr=0.02), Cosine()


@pytest.fixture(autouse=True)
def one_thread():
    """Bits depend on the number of threads (batch statistics do), and the other process has one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Curve(Spec):
    """A small network with everything that has state: momentum, batch statistics, dropout."""

    kind: ClassVar[str] = "curve"
    version: ClassVar[int] = 1
    seed: int = 0
    steps: int = 40
    optimizer: Adam | SGD = ADAM
    schedule: Cosine | OneCycle = COSINE
    clip: float | None = 1.0


def train(spec, workspace, hang=None, stop_at=-1, stop: Any = KeyboardInterrupt):
    layers = nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 1)
    model = nn.Sequential(*layers)
    for number, parameter in enumerate(model.parameters()):
        nn.init.normal_(parameter, generator=generator_at(spec.seed, -1 - number))

    def loss(model, step):
        while step == 20 and hang and hang.exists():
            time.sleep(0.01)
        if step == stop_at:
            raise stop
        generator = generator_at(spec.seed, step)
        torch.manual_seed(generator.initial_seed())  # dropout knows no other than torch's own
        x = torch.randn(32, 2, generator=generator)
        return ((model(x).squeeze(1) - x.prod(1)) ** 2).mean()

    recipe = {name: getattr(spec, name) for name in ("steps", "optimizer", "schedule", "clip")}
    curves = fit(model, loss, **recipe, workspace=workspace)
    return Outcome({"loss": curves["loss"][-1]}, curves, model.state_dict())


def same(left, right):
    """Bit for bit."""
    return (left.numbers, left.curves) == (right.numbers, right.curves) and all(
        torch.equal(left.tensors[name], right.tensors[name])
        for name in left.tensors | right.tensors
    )


def interrupt(root, spec):
    """A store in which the training of `spec` was interrupted, and the file of its checkpoint."""
    store = Store(root, checkpoint_every=0.0)
    with pytest.raises(KeyboardInterrupt):
        store.get(spec, partial(train, stop_at=25))
    return store, slot_of(store, spec).beside("checkpoint")


def slot_of(store, spec):
    return entry.Slot.of(store.root, spec, context_of(store.device))


SPECS = {
    "adam-cosine": Curve(),
    "sgd-onecycle": Curve(optimizer=SGD(lr=0.05, momentum=0.9), schedule=OneCycle(), clip=0.1),
    "adam-onecycle": Curve(schedule=OneCycle(), clip=None),
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_an_interrupted_training_is_resumed_and_ends_with_the_same_bits(tmp_path, spec):
    store, checkpoint = interrupt(tmp_path / "store", spec)
    resumed = store.get(spec, train)
    assert resumed.reason == "computed: no entry; resumed from step 25 of 40"
    assert not checkpoint.exists()
    assert same(resumed.outcome, Store(tmp_path / "elsewhere").get(spec, train).outcome)


@pytest.mark.parametrize("lost", ["optimizer", "batch statistics"])
def test_control_a_checkpoint_that_lost_something_does_not_give_the_same_bits(tmp_path, lost):
    store, checkpoint = interrupt(tmp_path / "store", Curve())
    tensors, note = unpack_sealed(checkpoint.read_bytes())
    if lost == "optimizer":
        tensors = {name: t for name, t in tensors.items() if not name.startswith("optimizer.")}
    if lost == "batch statistics":
        tensors["model.1.running_mean"].zero_()
    checkpoint.write_bytes(pack_sealed(tensors, note))
    resumed = store.get(Curve(), train)
    assert "resumed from step 25" in resumed.reason
    assert not same(resumed.outcome, Store(tmp_path / "elsewhere").get(Curve(), train).outcome)


def test_a_training_that_raises_is_not_kept_and_leaves_no_checkpoint(tmp_path):
    store = Store(tmp_path, checkpoint_every=0.0)
    with pytest.raises(Diverged):
        store.get(Curve(), partial(train, stop_at=20, stop=Diverged(20, "on purpose")))
    assert [path.suffix for path in (tmp_path / "curve").iterdir()] == [".lock"]
    assert store.get(Curve(), train).reason == "computed: no entry"


# ---- checkpoints ---------------------------------------------------------------------------------


def test_a_workspace_without_a_store_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alone = Workspace()
    train(Curve(), alone)
    alone.checkpoint(1, 2, {"w": torch.ones(1)})
    assert (alone.due(), list(tmp_path.iterdir())) == (False, [])


def test_a_second_fit_cannot_take_the_first_ones_checkpoint_for_its_own(tmp_path):
    def two_fits(spec, workspace):
        train(spec, workspace)
        return train(spec, workspace)

    with pytest.raises(RuntimeError, match="a workspace serves one fit"):
        Store(tmp_path, checkpoint_every=0.0).get(Curve(), two_fits)


def test_a_checkpoint_gives_back_what_it_was_given_and_adds_up_the_time(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr(workspace.time, "monotonic", lambda: now)
    first = Workspace(tmp_path / "c", pause=30.0)
    assert not first.due()
    now += 30
    assert first.due()
    first.checkpoint(3, 9, {"w": torch.ones(2)}, curves={"loss": [1.0, math.nan]})
    assert not first.due()
    now += 1000  # between the two nobody trains
    second = Workspace(tmp_path / "c")
    found = second.resume()
    assert found is not None
    assert (found.step, found.total, found.curves["loss"][0]) == (3, 9, 1.0)
    assert math.isnan(found.curves["loss"][1])
    assert torch.equal(found.tensors["w"], torch.ones(2))
    now += 5
    assert second.seconds == 35


@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "newer"])
def test_a_damaged_checkpoint_is_set_aside_and_training_starts_anew(tmp_path, damage):
    store, checkpoint = interrupt(tmp_path, Curve())
    data = checkpoint.read_bytes()
    tensors, note = unpack_sealed(data)
    broken = {
        "truncated": data[: len(data) // 2],
        "flipped": data[:-9] + bytes([data[-9] ^ 16]) + data[-8:],
        "foreign": b"hello",
        "newer": pack_sealed(tensors, json.dumps({**json.loads(note), "schema": 3})),
    }
    checkpoint.write_bytes(broken[damage])
    why = "it has schema 3, this version reads 2" if damage == "newer" else "its checksum differs"
    reason = store.get(Curve(), train).reason
    said = f"computed: no entry; the checkpoint was damaged ({why}) and is set aside as "
    assert reason.startswith(said)
    assert checkpoint.with_name(reason.removeprefix(said)).exists()


def test_no_flipped_byte_of_a_checkpoint_goes_unnoticed():
    data = pack_sealed({"w": torch.arange(5.0)}, '{"step": 3}')
    assert unpack_sealed(data)[1] == '{"step": 3}'
    for place in range(len(data)):
        broken = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        with pytest.raises(DamagedFile, match="checksum"):
            unpack_sealed(broken)


def test_a_checkpoint_of_something_else_is_dropped(tmp_path, monkeypatch):
    """Of another spec; of other code, as half by the old and half by the new is neither; stale."""
    store, checkpoint = interrupt(tmp_path / "store", Curve())
    elsewhere = slot_of(store, Curve(seed=1)).beside("checkpoint")
    shutil.copy(checkpoint, elsewhere)
    shutil.copy(checkpoint, tmp_path)
    dropped = "; a checkpoint at step 25 of 40 was dropped (it is of another {})"
    assert store.get(Curve(seed=1), train).reason.endswith(dropped.format("spec"))
    refresh = Store(store.root, "refresh")
    assert refresh.get(Curve(), train).reason.endswith(dropped.format("run"))
    shutil.rmtree(slot_of(store, Curve()).directory)
    shutil.copy(tmp_path / checkpoint.name, checkpoint)
    with monkeypatch.context() as edit:
        edit.setattr("repro.training.store._source", lambda _: "edited")
        assert store.get(Curve(), train).reason.endswith(dropped.format("training code"))
    shutil.rmtree(slot_of(store, Curve()).directory)
    shutil.copy(tmp_path / checkpoint.name, checkpoint)
    monkeypatch.setattr("repro.training.store._trainer", lambda: "edited")
    assert store.get(Curve(), train).reason.endswith(dropped.format("trainer"))


def test_progress_and_messages_reach_the_caller(tmp_path):
    said, steps = [], []
    report = lambda step, total, **numbers: steps.append((step, total, *numbers))  # noqa: E731
    key = Store(tmp_path, say=said.append, progress=report).get(Curve(), train).key
    assert said == [f"curve/{key}: training (no entry)"]
    assert steps == [(step, 40, "loss") for step in range(1, 41)]


# ---- several processes ---------------------------------------------------------------------------


def other_process(root, folder):
    """What this file does as a script: when told to go, ask the store; print what it says."""
    folder = Path(folder)

    def say(message):
        print(message, flush=True)

    def logged(spec, workspace):
        with open(folder / "trained.log", "a") as log:
            log.write(f"{os.getpid()}\n")
        return train(spec, workspace, hang=folder / "hang")

    say("ready")
    wait_for((folder / "go").exists)
    say(Store(Path(root), say=say, say_every=0.2, checkpoint_every=0.0).get(Curve(), logged).reason)


@pytest.fixture
def processes(tmp_path):
    """Start other processes, which go at the same moment; at the end, end those still alive."""
    running = []

    def start(count):
        job = json.dumps({"root": str(tmp_path / "store"), "folder": str(tmp_path)})
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-W", "error", __file__, job]
        for _ in range(count):
            running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env))
        for process in running:
            assert process.stdout.readline() == "ready\n"
        (tmp_path / "go").touch()
        return running

    yield start
    for process in running:
        process.kill()
        process.communicate()


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def steps_done(checkpoint):
    return json.loads(unpack_sealed(checkpoint.read_bytes())[1])["step"]


def test_three_processes_that_ask_at_once_train_once(processes, tmp_path):
    """Two others and this one, which asks while one trains and the other waits."""
    hang, log = tmp_path / "hang", tmp_path / "trained.log"
    hang.touch()
    running = processes(2)
    wait_for(lambda: log.exists() and log.read_text().endswith("\n"))
    trainer, waiter = sorted(running, key=lambda process: process.pid != int(log.read_text()))
    waiting = f"waiting for process {trainer.pid}, which has it since 20"
    assert any(waiting in line for line in waiter.stdout)

    def say(message):
        said.append(message)
        hang.unlink(missing_ok=True)

    said = []
    here = Store(tmp_path / "store", say=say, say_every=0.2).get(Curve(), train).reason
    assert waiting in said[0]
    there, too = (
        process.communicate(timeout=60)[0].splitlines()[-1] for process in (trainer, waiter)
    )
    assert there == "computed: no entry"
    assert here == too
    assert here.startswith("reused: computed 20")
    assert log.read_text() == f"{trainer.pid}\n"


def test_when_the_holder_is_killed_who_waited_resumes_and_ends_with_the_same_bits(
    processes, tmp_path
):
    (tmp_path / "hang").touch()
    (holder,) = processes(1)
    slot = slot_of(Store(tmp_path / "store"), Curve())
    checkpoint = slot.beside("checkpoint")
    wait_for(lambda: checkpoint.exists() and steps_done(checkpoint) == 20)
    said = []

    def say(message):
        said.append(message)
        holder.kill()

    resumed = Store(tmp_path / "store", say=say, say_every=0.2).get(Curve(), train)
    assert f"waiting for process {holder.pid}, which has it since 20" in said[0]
    assert resumed.reason == "computed: no entry; resumed from step 20 of 40"
    assert same(resumed.outcome, Store(tmp_path / "elsewhere").get(Curve(), train).outcome)
    assert sorted(path.suffix for path in slot.directory.parent.iterdir()) == ["", ".lock"]


if __name__ == "__main__":
    other_process(**json.loads(sys.argv[1]))
