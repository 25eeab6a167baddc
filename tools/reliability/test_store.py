"""The store of trainings: holders that are killed, disks that are full, files that are damaged.

battle.py is the battle; here is what must have come of it.
"""

import contextlib
import errno
import itertools
import os
import random
import shutil
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from repro import files
from repro.cluster import prefetch
from repro.training import Outcome, Spec, Store, Workspace, entry
from repro.training.store import DamagedEntry
from tools.reliability.battle import (
    FEW,
    KILLS,
    TO_DISK,
    TRAININGS,
    Line,
    Small,
    complaints,
    digest,
    interrupted_at,
    read_log,
    run,
    slot_of,
    train,
    visible,
)

pytestmark = pytest.mark.reliability

GOOD = [
    Line("start", 1, 0),
    Line("kill", 1),
    Line("start", 2, 0),
    Line("published", 2, 0),
    Line("seen", 9, 0, "right"),
    Line("got", 2, 0, "right"),
]
BAD = {
    "trained by two at once": [GOOD[0], GOOD[2], *GOOD[3:]],
    "trained again after it was published": [*GOOD, Line("start", 3, 0)],
    "published twice": [*GOOD, Line("published", 4, 0)],
    "never published": GOOD[:3],
    "another result": [*GOOD, Line("got", 3, 0, "wrong")],
    "partial: 0 half": [*GOOD, Line("partial", 9, 0, "half")],
    "failed: -1 exit": [*GOOD, Line("failed", 9, -1, "exit")],
}


def test_the_judge_of_the_log_complains_when_it_should():
    assert complaints(GOOD, {0: "right"}) == []
    for said, log in BAD.items():
        assert any(said in one for one in complaints(log, {0: "right"})), said


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_training_is_made_once_and_right_whoever_is_killed(tmp_path, seed):
    run([{"folder": str(tmp_path / "battle"), "seed": seed}])
    log, root = read_log(tmp_path / "battle/log"), tmp_path / "battle/store"
    known = files.read_json(tmp_path / "battle/expected.json")
    expected = {int(number): right for number, right in known.items()}
    assert complaints(log, expected) == []
    for number, right in expected.items():
        assert digest(Store(root, "readonly").get(Small(number), train).outcome) == right
    counts = Counter(line.event for line in log)
    assert counts["killed"] >= KILLS
    assert sum(int(line.more) for line in log if line.event == "looks") > 10 * TRAININGS


@pytest.mark.parametrize("mode", ["use", "refresh"])
def test_a_holder_killed_before_any_operation_on_the_disk_leaves_all_or_nothing(tmp_path, mode):
    run([{"folder": str(tmp_path / "moments"), "mode": mode}])
    log, right = read_log(tmp_path / "moments/log"), digest(train(FEW, Workspace()))
    after = [line.more for line in log if line.event == "killed"]
    assert len(after) > 30
    assert set(after) == ({"absent", right} if mode == "use" else {right})
    results = {line.more.partition(" ")[0] for line in log if line.event == "got"}
    assert results == {right}


# --- disks ---------------------------------------------------------------------------------------


def fail(number):
    raise OSError(number, os.strerror(number))


class NoRoom(OSError):
    pass


def test_a_disk_that_is_full_at_any_moment_costs_no_result(tmp_path, monkeypatch):
    """No room left for the first operation on the disk, for the second, and so on."""
    right, struck = digest(train(FEW, Workspace())), []
    for moment in itertools.count(1):
        store, before = Store(tmp_path / str(moment), checkpoint_every=0.0), len(struck)

        def strike():
            struck.append(moment)  # noqa: B023
            raise NoRoom(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            interrupted_at(moment, strike, patch.setattr)
            with contextlib.suppress(NoRoom):
                store.get(FEW, train)
        assert visible(slot_of(store.root, FEW)) in ("absent", right)
        if len(struck) == before:  # there were not so many operations
            break
        assert digest(store.get(FEW, train).outcome) == right
    assert len(struck) > 30


def only_reading(patch):
    """A disk that is mounted read-only, as root finds it as well."""
    opened, writing = os.open, os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def open_to_read(path, flags, *more, **named):
        return fail(errno.EROFS) if flags & writing else opened(path, flags, *more, **named)

    for module, name in [*TO_DISK, (os, "mkdir")]:
        patch.setattr(module, name, lambda *_, **__: fail(errno.EROFS))
    patch.setattr(os, "open", open_to_read)


def test_a_read_only_disk_gives_what_is_there_and_says_what_it_cannot_make(tmp_path, monkeypatch):
    kept, store = Store(tmp_path).get(FEW, train), Store(tmp_path)
    with monkeypatch.context() as patch:
        only_reading(patch)
        assert digest(store.get(FEW, train).outcome) == digest(kept.outcome)
        with pytest.raises(OSError, match=os.strerror(errno.EROFS)):
            store.get(type(FEW)(seed=8), train)
    (kept.directory / "spec.json").write_bytes(b"")
    with monkeypatch.context() as patch:
        only_reading(patch)
        with pytest.raises(DamagedEntry, match=r"damaged .*spec\.json"):
            Store(tmp_path, "readonly").get(FEW, train)
    assert digest(store.get(FEW, train).outcome) == digest(kept.outcome)


# --- damage --------------------------------------------------------------------------------------


def flipped(data, chance):
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


DAMAGES: dict[str, Any] = {
    "truncated": lambda data, chance: data[: chance.randrange(1, len(data) - 1)],
    "bit flipped": flipped,
    "emptied": lambda data, chance: b"",
    "foreign": lambda data, chance: b'{"schema": 1, "hello": "world"}',
}
OFTEN = {"truncated": 40, "bit flipped": 200}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [*entry.FILES, "checkpoint"])
def test_a_damaged_file_is_set_aside_and_the_next_result_is_right(tmp_path, name, damage):
    """Only a flipped bit may change no value, and so be let through: 1E-05."""
    chance, slot = random.Random(f"{name} {damage}"), slot_of(tmp_path, FEW)
    store, outcomes = Store(tmp_path, checkpoint_every=0.0), Counter()
    right, half = digest(store.get(FEW, train).outcome), checkpoint_of_half(tmp_path / "half")
    for _ in range(OFTEN.get(damage, 1)):
        if name in entry.FILES:
            path = slot.directory / name
        else:
            shutil.rmtree(slot.directory)
            (path := slot.beside(name)).write_bytes(half)
        path.write_bytes(DAMAGES[damage](path.read_bytes(), chance))
        found = store.get(FEW, train)
        assert digest(found.outcome) == right
        outcomes["set aside" if "is set aside as" in found.reason else "same"] += 1
    assert outcomes["same"] == 0 or damage == "bit flipped"
    assert outcomes["set aside"] > outcomes["same"]
    assert outcomes["set aside"] == len(list(tmp_path.glob("small/*.set-aside-*")))


def checkpoint_of_half(root):
    """Of a training that was stopped in the third of its steps."""
    steps = itertools.count(1)

    def stop(event, seed):
        if event == "step" and next(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store(root, checkpoint_every=0.0).get(FEW, partial(train, note=stop))
    return slot_of(root, FEW).beside("checkpoint").read_bytes()


# --- claims --------------------------------------------------------------------------------------

TRAINED = Path(__file__).with_name("trained_claim.py").read_text()


@dataclass(frozen=True)
class Slow(Spec):
    """As the claims have it."""

    kind: ClassVar[str] = "slow"
    version: ClassVar[int] = 1
    name: str = "lemma-1"


def test_a_damaged_entry_makes_a_readonly_run_red_and_prefetch_makes_it_anew(demo):
    """What is missing is not run, and says so; what is damaged must not look like that."""
    for id in ("lemma-1", "lemma-2"):
        demo.claim(id, TRAINED.replace("NAME", id))
    entry = Store(demo.root / "store").get(Slow(), lambda *_: Outcome({"value": 0.5}))
    path = entry.directory / "state.safetensors"
    path.write_bytes(flipped(path.read_bytes(), random.Random(0)))
    done = demo.run("--store-mode", "readonly", "-n0")
    assert done.returncode == 1, done.stdout
    assert "checksum of state.safetensors differs" in done.stdout
    assert "to train it anew: run without --store-mode readonly" in done.stdout
    verdicts = [demo.result(id)["verdict"] for id in ("lemma-1", "lemma-2")]
    assert verdicts == ["error", "not-run"]
    missing = prefetch.from_records(demo.artifacts)
    assert entry.key in {one.key for one in missing}
    assert len(missing) == 2


def test_two_runs_on_one_store_and_one_folder_of_artifacts(demo):
    """The first training does not end before both runs have asked: one makes it, one waits."""
    ids = [f"lemma-{number}" for number in range(1, 5)]
    for id in ids:
        demo.claim(id, TRAINED.replace("NAME", id))
    runs = [demo.start("-n0", "claims") for _ in range(2)]
    said = [run.communicate(timeout=240)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], "\n".join(said)
    made = Counter((demo.root / "trained.log").read_text().split())
    assert made == dict.fromkeys(ids, 1)
    assert len(demo.results()["claims"]) == len(ids)
    assert list(demo.root.rglob("*.set-aside-*")) == []
    assert len(set((demo.root / "asked.log").read_text().split())) == 2
