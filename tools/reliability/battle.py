"""Trainings that are killed at any moment, and what is to be said about it.

Eight processes ask for the same twenty trainings, each in an order of its own, while a killer sends
SIGKILL and replaces the dead, until all have everything. What happened is read off a log to which
the trainings append; `complaints` judges it.
Run as a script: python battle.py '[{"folder": ..., "seed": 1}]'. Its processes are forked from one
that has trained before and so imported all of torch: a hundredth of the cost of starting them.
"""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import torch

from repro import files
from repro.training import Adam, Outcome, Spec, Store, Workspace, entry, fit, generator_at
from repro.training.outcome import pack, sha256
from repro.training.spec import context_of
from repro.training.store import Mode
from repro.training.workspace import silent

ROOT = Path(entry.__file__).parents[2]
HOLDERS, TRAININGS = 8, 20
STEPS, KILLS = 40, 50  # at least so many kills
LINE = len("step 12345 10 -\n")  # bytes
PATIENCE = 300  # seconds until a test gives up


@dataclass(frozen=True)
class Small(Spec):
    kind: ClassVar[str] = "small"
    version: ClassVar[int] = 1
    seed: int = 0
    steps: int = STEPS


def train(spec, workspace, note=silent):
    """A linear fit by Adam, whose state is in the checkpoint as well."""
    model = torch.nn.Linear(3, 1)
    for number, parameter in enumerate(model.parameters()):
        torch.nn.init.normal_(parameter, generator=generator_at(spec.seed, -1 - number))

    def loss(model, step):
        note("step", spec.seed)
        x = torch.randn(8, 3, generator=generator_at(spec.seed, step))
        return ((model(x).squeeze(1) - x.sum(1)) ** 2).mean()

    note("start", spec.seed)
    curves = fit(model, loss, steps=spec.steps, optimizer=Adam(lr=0.1), workspace=workspace)
    note("finish", spec.seed)
    return Outcome({"loss": curves["loss"][-1]}, curves, model.state_dict())


def digest(outcome):
    """Of every bit of a result."""
    told = repr((outcome.numbers, outcome.curves)).encode()
    return sha256(told + pack(dict(sorted(outcome.tensors.items()))))


def slot_of(root, spec):
    return entry.Slot.of(root, spec, context_of("cpu"))


# ---- the log, and who judges it ------------------------------------------------------------------


class Line(NamedTuple):
    event: str
    process: int
    seed: int = -1
    more: str = ""


class Log:
    """Lines of all processes in one order: the kernel appends each as a whole."""

    def __init__(self, path):
        self.path = path
        self._handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self._permit = path.with_name("permit")
        self.permit(0)

    def when_permitted(self, event, seed):
        """Trainings do not run away from a killer who is slow: he permits the log to grow."""
        while self.size() > self._permitted() and event == "step":
            time.sleep(0.005)
        self(event, seed)

    def permit(self, more):
        """That the log grows by so many bytes from here."""
        self._permit.write_text(str(self.size() + more))

    def size(self):
        return self.path.stat().st_size

    def _permitted(self):
        return int(self._permit.read_text() or 0)  # nothing while it is being written

    def __call__(self, event, seed=-1, more="-", process=0):
        words = (event, process or os.getpid(), seed, more)
        os.write(self._handle, (" ".join(map(str, words)) + "\n").encode())


def read_log(path):
    words = (line.split(maxsplit=3) for line in path.read_text().splitlines())
    return [Line(event, int(process), int(seed), more) for event, process, seed, more in words]


def complaints(log, expected):
    """What must not happen and did; `expected` is the digest of each training."""
    found, dead, told, there = [], set(), Counter(), set()
    at_work = {}
    for event, process, seed, more in log:
        if event == "kill":  # written before the signal is sent
            dead.add(process)
        elif event == "start":
            if seed in there:
                found.append(f"{seed} was trained again after it was published")
            if at_work.get(seed, process) not in {process, *dead}:
                found.append(f"{seed} was trained by two at once")
            at_work[seed] = process
        elif event == "published":
            told[seed] += 1
        elif event in ("partial", "failed"):
            found.append(f"{event}: {seed} {more}")
        if event in ("published", "seen"):
            there.add(seed)
        if event in ("got", "seen") and more != expected[seed]:
            found.append(f"{seed} has another result than without a store")
    found += [f"{seed} was published twice" for seed, times in told.items() if times > 1]
    return found + [f"{seed} was never published" for seed in sorted(set(expected) - there)]


# ---- the battle ----------------------------------------------------------------------------------


def forked(function):
    """The number of a new process that does this and ends."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        function()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended(pid, flags=0):
    """How a process ended: its exit code, or minus the signal; None while it runs (WNOHANG)."""
    done, status = os.waitpid(pid, flags)
    return os.waitstatus_to_exitcode(status) if done else None


def holder(root, log, order):
    """Ask for all trainings; log when one is in its place, and what one gets."""
    write = entry.write

    def logged(slot, *arguments, **named):
        write(slot, *arguments, **named)
        log("published", json.loads(slot.identity)["spec"]["seed"])

    entry.write = logged
    store = Store(root, checkpoint_every=0.0)
    for seed in order:
        found = store.get(Small(seed), partial(train, note=log.when_permitted))
        log("got", seed, digest(found.outcome))


def reader(root, log, stop):
    """Look at all entries again and again: each is absent, or whole and right."""
    slots = {seed: slot_of(root, Small(seed)) for seed in range(TRAININGS)}
    looks, seen = 0, set()
    while not stop.exists():
        for seed, slot in slots.items():
            looks += 1
            try:
                found = digest(entry.read(slot).outcome)
            except FileNotFoundError:
                continue
            except files.DamagedFile as error:
                log("partial", seed, str(error))
                continue
            if seed not in seen:
                log("seen", seed, found)
                seen.add(seed)
        time.sleep(0.02)
    log("looks", more=str(looks))


def reference(folder):
    """What the trainings give without store, checkpoints and kills."""
    outcomes = {seed: train(Small(seed), Workspace()) for seed in range(TRAININGS)}
    found = {seed: digest(outcome) for seed, outcome in outcomes.items()}
    files.write_json(folder / "expected.json", found)


def battle(folder, seed):
    folder, chance = Path(folder), random.Random(seed)
    log, root, stop = Log(folder / "log"), folder / "store", folder / "stop"
    reference(folder)
    watcher = forked(partial(reader, root, log, stop))
    places = [slot_of(root, Small(seed)).directory for seed in range(TRAININGS)]
    pace = TRAININGS * STEPS // (3 * KILLS)  # lines of the log from one kill to the next
    alive, kills = set(), 0

    def fill_up():
        while len(alive) < HOLDERS:
            order = chance.sample(range(TRAININGS), TRAININGS)
            alive.add(forked(partial(holder, root, log, order)))

    while not all(place.exists() for place in places):
        fill_up()
        log.permit(2 * pace * LINE if kills < KILLS else sys.maxsize // 2)
        wait_for_lines(log, chance.randint(1, 2 * pace))
        time.sleep(chance.random() * 0.005)
        alive.remove(victim := chance.choice(sorted(alive)))
        kills += kill(victim, log)
    fill_up()
    for pid in [*alive]:
        if code := ended(pid):
            log("failed", process=pid, more=f"exit code {code}")
    stop.touch()
    assert ended(watcher) == 0


def kill(pid, log):
    log("kill", process=pid)
    os.kill(pid, signal.SIGKILL)
    code = ended(pid)
    if code == -signal.SIGKILL:
        log("killed", process=pid)
    elif code:  # it had ended before, and not well
        log("failed", process=pid, more=f"exit code {code}")
    return code == -signal.SIGKILL


def wait_for_lines(log, count):
    """Until the log has grown by about so many lines; or for a second, if all are waiting."""
    start, give_up = log.size(), time.monotonic() + 1
    while log.size() < start + count * LINE and time.monotonic() < give_up:
        time.sleep(0.001)


def run(jobs):
    """This file as a script, in a process group of its own, which does not outlive the test."""
    command = [sys.executable, __file__, json.dumps(jobs)]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    alone = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}  # threads do not survive a fork
    env = {**os.environ, **alone, "PYTHONPATH": paths}
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert process.returncode == 0, said


# ---- killed at every moment, one after another ---------------------------------------------------

TO_DISK = [
    (os, "fsync"), (os, "replace"), (os, "rename"), (os, "unlink"), (os, "chmod"), (os, "rmdir"),
    (tempfile, "mkstemp"), (tempfile, "mkdtemp"), (entry, "exchange"),
]  # fmt: skip
FEW = Small(seed=7, steps=3)


def interrupted_at(moment, strike, patch=setattr):
    """From now on, `strike` comes just before the operation on the disk with this number."""
    passed = itertools.count(1)

    def wrapped(operation, *arguments, **named):
        if next(passed) == moment:
            strike()
        return operation(*arguments, **named)

    for module, name in TO_DISK:
        patch(module, name, partial(wrapped, getattr(module, name)))


def moments(folder, mode):
    """Kill a holder before its first operation on the disk, before its second, and so on."""
    folder = Path(folder)
    log = Log(folder / "log")

    def ask(root, mode: Mode = "use"):
        found = Store(root, mode, checkpoint_every=0.0).get(FEW, train)
        log("got", FEW.seed, f"{digest(found.outcome)} {found.reason}")

    def ask_and_die(root, moment):
        die = partial(os.kill, os.getpid(), signal.SIGKILL)
        interrupted_at(moment, die)
        ask(root, mode)

    for moment in itertools.count(1):
        root = folder / f"store-{moment}"
        if mode == "refresh":
            assert ended(forked(partial(ask, root))) == 0
        code = ended(forked(partial(ask_and_die, root, moment)))
        log("killed" if code == -signal.SIGKILL else "survived", more=visible(slot_of(root, FEW)))
        assert ended(forked(partial(ask, root, mode))) == 0
        if code == 0:
            return


def visible(slot):
    try:
        return digest(entry.read(slot).outcome)
    except FileNotFoundError:
        return "absent"
    except files.DamagedFile as error:
        return f"partial: {error}"


if __name__ == "__main__":
    torch.set_num_threads(1)
    train(FEW, Workspace())
    for job in json.loads(sys.argv[1]):
        Path(job["folder"]).mkdir()
        (moments if "mode" in job else battle)(**job)
