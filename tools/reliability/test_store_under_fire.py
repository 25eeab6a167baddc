"""The store under fire: battle.py is the battle, here is what must have come of it."""

from collections import Counter
from pathlib import Path

import pytest
from demo import FULL

from repro import files
from repro.training import Store, Workspace
from tools.reliability.battle import (
    EACH,
    FEW,
    KILLS,
    TRAININGS,
    Line,
    Small,
    complaints,
    digest,
    free_locks,
    read_log,
    run,
    train,
    unfinished,
    where_killed,
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
    "0 was trained again": [GOOD[0], Line("seen", 9, 0, "right"), *GOOD[1:]],
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


BATTLES = [{"seed": 1}, {"seed": 2}, {"seed": 3}, {"mode": "use"}, {"mode": "refresh"}]
TOGETHER = [[battle] for battle in BATTLES] if FULL else [[{"seed": 1}, {"mode": "use"}]]


@pytest.mark.parametrize("battles", TOGETHER, ids=str)
def test_each_training_is_made_once_and_right_whoever_is_killed(tmp_path, battles):
    """At random moments ("seed"), and just before every operation on the disk ("mode")."""
    run(jobs := [{"folder": str(tmp_path / str(n)), **one} for n, one in enumerate(battles)])
    for job in jobs:
        judge = judge_battle if "seed" in job else judge_moments
        judge(**{**job, "folder": Path(job["folder"])})


def judge_battle(folder, seed):
    log, root = read_log(folder / "log"), folder / "store"
    expected = {int(k): v for k, v in files.read_json(folder / "expected.json").items()}
    assert complaints(log, expected) == []
    assert free_locks(root) == TRAININGS
    for number, right in expected.items():
        found = Store(root, "readonly").get(Small(number), train)
        assert digest(found.outcome) == right
    counts, killed = Counter(line.event for line in log), where_killed(log)
    assert counts["start"] - unfinished(log) == counts["published"]
    assert TRAININGS - counts["published"] <= killed["publishing"]  # in place, and killed at once
    assert counts["killed"] >= KILLS
    looks = sum(int(line.more) for line in log if line.event == "looks")
    assert looks > 10 * TRAININGS


def judge_moments(folder, mode):
    log, right = read_log(folder / "log"), digest(train(FEW, Workspace()))
    after = [line.more for line in log if line.event == "killed"]
    results = [line.more.partition(" ") for line in log if line.event == "got"]
    left = Counter(line.more for line in log if line.event == "left")
    assert len(after) > 30 // EACH
    possible = {"absent", right} if mode == "use" else {right}
    assert set(after) == possible if EACH == 1 else set(after) <= possible
    assert {result for result, _, _ in results} == {right}
    assert set(left) <= {"-", ".checkpoint.safetensors"}
