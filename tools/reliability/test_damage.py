"""Damaged files in the store and in artifacts, and two runs at once."""

import itertools
import json
import random
import shutil
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import pytest
from demo import FULL, Demo

from repro import __main__, files
from repro.cluster import listing
from repro.harness import provenance
from repro.harness.journal import Journal
from repro.harness.project import ClaimTest, Project
from repro.harness.records import Record
from repro.training import Outcome, Spec, Store, entry
from tools.reliability.battle import FEW, digest, slot_of, train

pytestmark = pytest.mark.reliability


# ---- damage --------------------------------------------------------------------------------------


def flipped(data, chance):
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


DAMAGES: dict[str, Any] = {
    "truncated": lambda data, chance: data[: chance.randrange(1, len(data) - 1)],
    "bit flipped": flipped,
    "emptied": lambda data, chance: b"",
    "foreign": lambda data, chance: b'{"schema": 1, "hello": "world"}',
}
OFTEN = {"truncated": 40, "bit flipped": 200} if FULL else {"truncated": 2, "bit flipped": 8}


def judged(where, file, damage, outcomes):
    """Keep a row; nothing may be wrong, and only a flipped bit may change no value (1E-05)."""
    assert outcomes["wrong"] == 0
    assert outcomes["same"] == 0 or damage == "bit flipped"
    assert outcomes["set aside"] > outcomes["same"]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [*entry.FILES, "checkpoint.safetensors"])
def test_a_damaged_file_of_the_store_is_set_aside_and_the_next_result_is_right(
    tmp_path, name, damage
):
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
        harmless = "set aside" if "is set aside as" in found.reason else "same"
        outcomes[harmless if digest(found.outcome) == right else "wrong"] += 1
    judged("store", name, damage, outcomes)
    assert outcomes["set aside"] == len(list(tmp_path.glob("small/*.set-aside-*")))


def checkpoint_of_half(root):
    """Of a training that was stopped in the third of its steps."""
    steps = itertools.count(1)

    def stop(event, seed):
        if event == "step" and next(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store(root, checkpoint_every=0.0).get(FEW, partial(train, note=stop))
    return slot_of(root, FEW).beside("checkpoint.safetensors").read_bytes()


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A project whose one claim has been run."""
    demo = Demo(tmp_path_factory.mktemp("ran"))
    demo.claim("lemma-1")
    done = demo.run("-n0")
    assert done.returncode == 0, done.stdout
    return demo


OF_ARTIFACTS = {
    "record": "claims/demo2025/lemma-1/tests/test_holds-*.json",
    "collected": "claims/demo2025/lemma-1/collected.json",
    "result": "claims/demo2025/lemma-1/result.json",
    "results": "results.json",
    "run": "runs/*.json",
}


def report(demo, artifacts, capsys):
    """What `python -m repro report` makes of the files: its words, and the one claim."""
    where = ["--project", str(demo.root), "--artifacts", str(artifacts)]
    assert __main__.main(["report", *where]) == 0
    results = files.read_json(artifacts / "results.json")
    return capsys.readouterr().out, in_any_order(results["claims"][0]), results["run"]


def in_any_order(claim):
    """Without the list of collected tests, they come in another order."""
    return {
        key: sorted(map(files.to_json, value)) if isinstance(value, list) else value
        for key, value in claim.items()
    }


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", OF_ARTIFACTS)
def test_a_damaged_file_of_artifacts_is_set_aside_and_no_number_is_wrong(
    ran, tmp_path, capsys, name, damage
):
    chance, outcomes = random.Random(f"{name} {damage}"), Counter()
    shutil.copytree(ran.artifacts, tmp_path / "whole")
    _, claim, run = report(ran, tmp_path / "whole", capsys)
    without = {**claim, "verdict": "not-run"}
    for number in range(OFTEN.get(damage, 1)):
        shutil.copytree(tmp_path / "whole", artifacts := tmp_path / str(number))
        [path] = artifacts.glob(OF_ARTIFACTS[name])
        before = path.read_bytes()
        path.write_bytes(after := DAMAGES[damage](before, chance))
        said, found, header = report(ran, artifacts, capsys)
        noticed = "; set aside as " in said and any(artifacts.rglob("*.set-aside-*"))
        assert noticed or json.loads(before) == json.loads(after), "it says what it said"
        expected = without if noticed and name == "record" else claim
        right = found["verdict"] == expected["verdict"] and header in (
            [run, {}] if noticed else [run]
        )
        right = right and (expected is without or found == claim)
        outcomes[("set aside" if noticed else "same") if right else "wrong"] += 1
    judged("results", name, damage, outcomes)


@pytest.mark.parametrize("name", OF_ARTIFACTS)
def test_a_flipped_bit_in_the_word_checksum_is_seen(ran, tmp_path, capsys, name):
    """The seal is asked for: a file whose seal goes by another name has none."""
    for bit in range(64) if FULL else (0, 37):
        shutil.copytree(ran.artifacts, artifacts := tmp_path / str(bit))
        [path] = artifacts.glob(OF_ARTIFACTS[name])
        content = path.read_bytes()
        place = content.rindex(b'"checksum"') + 1 + bit // 8
        flipped = bytes([content[place] ^ 1 << bit % 8])
        path.write_bytes(content[:place] + flipped + content[place + 1 :])
        said, _, _ = report(ran, artifacts, capsys)
        assert f"{path.name}.set-aside-" in said


def test_results_whose_checksum_goes_by_another_name_are_not_compared(ran, tmp_path, capsys):
    """A snapshot has no seal, so `diff` asks for none; but it knows all keys of a results.json."""
    whole = ran.artifacts / "results.json"
    (path := tmp_path / "a.json").write_text(whole.read_text().replace('"checksum"', '"chechsum"'))
    assert __main__.main(["diff", str(whole), str(path)]) == 2
    assert f"{path} is no results.json: 'chechsum' is no part of it" in capsys.readouterr().err


@pytest.mark.parametrize("damage", DAMAGES if FULL else ["bit flipped"])
def test_the_next_run_is_right_whatever_was_damaged(ran, damage):
    chance, before = random.Random(damage), ran.result("lemma-1")
    for pattern in OF_ARTIFACTS.values():
        for path in ran.artifacts.glob(pattern):
            path.write_bytes(DAMAGES[damage](path.read_bytes(), chance))
    done = ran.run("-n0")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("; set aside as ") >= 3
    after = ran.result("lemma-1")
    assert (after["verdict"], after["checks"]) == ("holds", before["checks"])


# ---- two runs at once ----------------------------------------------------------------------------

TRAINED = """
import os, time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import pytest
import torch
from repro.training import Outcome, Spec

HERE = Path(__file__).parents[2]

@dataclass(frozen=True)
class Slow(Spec):
    kind: ClassVar[str] = "slow"
    version: ClassVar[int] = 1
    name: str = "NAME"

def note(file, *words):
    with open(HERE / file, "a") as log:
        print(*words, file=log)

def train(spec, workspace):
    note("trained.log", spec.name)
    give_up = time.monotonic() + 60
    while len(set((HERE / "asked.log").read_text().split())) < 2 and time.monotonic() < give_up:
        time.sleep(0.01)
    return Outcome({"value": 0.5}, {}, {"w": torch.ones(3)})

@pytest.mark.train
def test_holds(claim):
    note("asked.log", os.getpid())
    found = claim.train(Slow(), train).outcome
    claim.at_most(found.numbers["value"], 1.0, "value", equation="(1)", source="theorem: invented")
"""


@dataclass(frozen=True)
class Slow(Spec):
    """As the claims have it."""

    kind: ClassVar[str] = "slow"
    version: ClassVar[int] = 1
    name: str = "lemma-1"


def test_a_damaged_entry_makes_a_readonly_run_red_and_prefetch_makes_it_anew(demo):
    """What is missing is not run, and says so; what is damaged must not look like that."""
    demo.claim("lemma-1", TRAINED.replace("NAME", "lemma-1"), evidence=["train"])
    demo.claim("lemma-2", TRAINED.replace("NAME", "lemma-2"), evidence=["train"])
    entry = Store(demo.root / "store").get(Slow(), lambda *_: Outcome({"value": 0.5}))
    path = entry.directory / "state.safetensors"
    path.write_bytes(flipped(path.read_bytes(), random.Random(0)))
    done = demo.run("--store-mode", "readonly", "-n0")
    assert done.returncode == 1, done.stdout
    assert "checksum of state.safetensors differs" in done.stdout
    assert "to set it aside and train it anew: run without --store-mode readonly" in done.stdout
    verdicts = [demo.result(id)["verdict"] for id in ("lemma-1", "lemma-2")]
    assert verdicts == ["error", "not-run"]
    missing = listing.from_records(demo.artifacts)
    assert entry.key in {one.key for one in missing}
    assert len(missing) == 2


@pytest.mark.parametrize("time", range(5 if FULL else 1))
def test_two_runs_on_one_store_and_one_folder_of_artifacts(demo, time):
    """The first training does not end before both runs have asked: one makes it, one waits."""
    ids = [f"lemma-{number}" for number in range(1, 5)]
    for id in ids:
        body = TRAINED.replace("NAME", id)
        demo.claim(id, body, evidence=["train"], status="illustrated")
    runs = [demo.start("-n0", "claims") for _ in range(2)]
    said = [run.communicate(timeout=240)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], "\n".join(said)
    made = Counter((demo.root / "trained.log").read_text().split())
    verdicts = Counter(claim["verdict"] for claim in demo.results()["claims"])
    assert made == dict.fromkeys(ids, 1)
    assert verdicts == {"illustrated": len(ids)}
    set_aside = list(demo.root.rglob("*.set-aside-*"))
    assert set_aside == []
    assert len(set((demo.root / "asked.log").read_text().split())) == 2


def finish(demo, id):
    """A record as a test of another process leaves it."""
    project = Project(demo.root)
    [file] = demo.root.glob(f"claims/demo2025/test_{id.replace('-', '_')}_*.py")
    statement = project.read_ledger().statements[f"demo2025/{id}"]
    for name in ("test_holds", "test_control_of_it"):
        test = ClaimTest(statement, file, name)
        identity = {"claim": statement.id, "test": name, "role": test.role, "run": "other"}
        record = Record(test.record(demo.artifacts), **identity, evidence="construct")
        shape = {
            "name": "error",
            "equation": "(1)",
            "measured": 0.5,
            "relation": "<=",
            "allowed": 1,
        }
        record.append(
            "checks", {**shape, "source": "theorem: x", "margin": 2.0, "ok": True, "params": {}}
        )
        record.finish("passed")


def test_a_page_in_the_making_does_not_hide_what_another_run_has_finished(demo):
    """The journal of a run knows of what another has finished since it last looked."""
    for id in ("lemma-1", "lemma-2"):
        demo.claim(id)
    project = Project(demo.root)
    run = provenance.run_header(
        demo.root, "ours", scale="smoke", seed=0, device="cpu", threads=1, workers=0, argv=[]
    )
    journal = Journal(project, project.read_ledger(), demo.artifacts, demo.root, run)
    finish(demo, "lemma-2")
    journal.publish({"demo2025/lemma-1"})
    assert demo.result("lemma-2")["verdict"] == "holds"
    assert journal.results.outdated() == set()
