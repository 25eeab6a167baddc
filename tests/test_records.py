"""The record of one test: its life, its end, and damage."""

import contextlib
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from demo import recorder

from repro import files
from repro.bounds import Source
from repro.harness import process, provenance, records
from repro.harness.process import alive
from repro.harness.records import mark, read
from repro.results.types import SCHEMA, Check, Number

NOBODY = 2**31 - 1  # above the largest process id that Linux gives
CHECK = Check(name="error", measured=0.5, relation="<=", allowed=1.0, margin=2.0, ok=True)


@pytest.fixture
def ours(tmp_path):
    return recorder(tmp_path / "tests/a.json")


def whole(path):
    """A record that can be read, without a word."""
    messages = []
    found = read(path, messages)
    assert found is not None
    assert messages == []
    return found


def changed(path, **fields):
    """A record of somebody else, or forged: sealed as ours are."""
    files.write_sealed(path, {**files.read_json(path), **fields})
    return path


def test_a_record_is_there_before_the_work_and_says_running(ours):
    found = whole(ours.path)
    assert (found.claim, found.test, found.run) == ("demo2025/lemma-1", "test_holds", "r")
    assert (found.state, found.pid, found.checks) == ("running", os.getpid(), [])
    assert files.read_json(ours.path, sealed=True)["schema"] == SCHEMA


@pytest.mark.parametrize("state", ["passed", "failed", "error", "not-run", "crashed"])
def test_a_finished_record_keeps_all_it_was_told_also_when_its_process_is_gone(ours, state):
    ours.append("checks", CHECK)
    ours.append("numbers", Number(name="x", value=1))
    ours.progress_path.write_text("{}")
    ours.finish(state, "why")
    found = whole(changed(ours.path, pid=NOBODY))
    assert (found.state, found.message) == (state, "why")
    assert (found.checks, found.numbers) == ([CHECK], [Number(name="x", value=1)])
    assert [path.name for path in ours.path.parent.iterdir()] == ["a.json"], "no sign of life left"


def test_many_changes_in_a_short_time_are_few_writes(ours, monkeypatch):
    monkeypatch.setattr(records, "BETWEEN_WRITES", 60)
    for _ in range(50):
        ours.append("checks", CHECK)
    assert whole(ours.path).checks == []
    ours.finish("passed")
    assert len(whole(ours.path).checks) == 50


@pytest.mark.parametrize("state", ["passed", "not-run", "interrupted"])
def test_what_comes_after_the_end_is_written_at_once_and_a_red_check_fails_the_test(
    ours, monkeypatch, state
):
    monkeypatch.setattr(records, "BETWEEN_WRITES", 60)
    ours.finish(state, "why")
    ours.append("checks", CHECK)
    assert (whole(ours.path).state, whole(ours.path).checks) == (state, [CHECK])
    ours.append("checks", replace(CHECK, ok=False), "too much")
    ours.append("checks", replace(CHECK, ok=False), "again")
    found = whole(ours.path)
    assert (found.state, found.message, len(found.checks)) == ("failed", "too much", 3)


def test_a_red_check_between_the_judgement_and_the_end_is_not_passed(ours):
    ours.append("checks", replace(CHECK, ok=False), "too much")
    ours.finish("passed")
    assert (whole(ours.path).state, whole(ours.path).message) == ("failed", "too much")


def test_a_forked_process_is_told_that_it_cannot_record(ours):
    hears, says = os.pipe()
    child = os.fork()
    if not child:
        try:
            ours.append("checks", CHECK)
        except RuntimeError as error:
            os.write(says, str(error).encode())
        finally:
            os._exit(0)
    os.close(says)
    os.waitpid(child, 0)
    with os.fdopen(hears) as told:
        assert "hand the number back" in told.read()
    ours.finish("passed")
    assert whole(ours.path).checks == []
    assert whole(ours.path).state == "error", "a red check in a fork is lost: no pass"


def test_a_fork_that_outlives_its_test_fails_it(ours):
    ours.finish("passed")
    child = os.fork()
    if not child:
        with contextlib.suppress(RuntimeError):
            ours.append("checks", CHECK)
        os._exit(0)
    os.waitpid(child, 0)
    assert "forked" in whole(ours.path).message
    recorder(ours.path).finish("passed")
    assert whole(ours.path).state == "passed", "the next run begins anew"


HOME = Path.home()
PATHS = {
    "`/home/a/x`": "`…/x`",
    "file:///home/a/x": "file:…/x",
    "file://server/home/a/x": "file:…/x",
    "a,/home/b/z": "a,…/z",
    "'/home/alice'": "'…'",
    "/Users/bob/ and /home/alice": "… and …",
    "/home/alice/x/y.txt:3: no": "…/y.txt:3: no",
    f"in {HOME}": "in …",
    f"{HOME}/store/entry": "…/entry",
    "PosixPath('/mnt/disk/x')": "PosixPath('…/x')",
    "{/mnt/disk/x}|/mnt/disk/y": "{…/x}|…/y",
}
MATHEMATICS = [
    "1/2/3", "a/b/c", "x / y", "</math>", "<b>1</b></p></li>", "n//2//3", "f'/2/3", "f'/g/h",
    "a / b / c", "(x)/2/3", "O(1/n), /2/3", "https://arxiv.org/abs/1/2", "claims/a/b.svg",
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), [*PATHS.items(), *((one, one) for one in MATHEMATICS)])
def test_no_text_that_a_record_keeps_tells_a_folder_and_mathematics_stays(tmp_path, text, told):
    ours = recorder(tmp_path / "a.json", params={"given": text}, description=text)
    source = Source("chosen", text, text)
    ours.append("numbers", Number(name=text, value=[text, {text: text}], params={"at": text}))
    ours.append("checks", replace(CHECK, provenance=(source,), name=text, equation=text))
    ours.append("numbers", Number(name="a path", value=Path(text)))
    ours.finish("passed", text)
    found = whole(ours.path)
    assert (found.params, found.description, found.message) == ({"given": told}, told, told)
    number, path = found.numbers
    assert number == Number(name=told, value=[told, {told: told}], params={"at": told})
    assert path.value == provenance.without_folders(str(Path(text)), ours.root)
    (check,) = found.checks
    assert (check.name, check.equation, check.provenance) == (
        told, told, (Source("chosen", told, told),),
    )  # fmt: skip


def test_running_means_running_only_while_its_process_lives(ours):
    assert whole(ours.path).state == "running"
    for who in ({"pid": NOBODY}, {**process.this(), "host": "another"}):
        assert whole(changed(ours.path, **who)).state == "interrupted"
    assert files.read_json(ours.path)["state"] == "running", "reading changes nothing"


def test_a_process_is_alive_until_it_has_ended():
    child = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
    known = {**process.this(), "pid": child, "born": process._state_and_birth(child)[1]}
    assert alive(known)
    os.kill(child, signal.SIGKILL)
    give_up = time.monotonic() + 60
    while alive(known):  # dead, and not yet buried
        assert time.monotonic() < give_up
        time.sleep(0.01)
    os.waitpid(child, 0)
    assert not alive(known)


@pytest.mark.parametrize(
    "who", [{"host": "another"}, {"born": 0}, {"born": None}, {"pid": NOBODY}, {"pid": 0}], ids=repr
)
def test_a_process_elsewhere_or_before_ours_or_none_is_not_alive(who):
    """Our pid, on another machine or given out again, is not the process that is meant."""
    assert alive(process.this())
    assert not alive({**process.this(), **who})


def test_a_machine_that_was_started_again_is_another(monkeypatch, tmp_path):
    before = process.this()
    (tmp_path / "boot_id").write_text("another")
    monkeypatch.setattr(process, "BOOT", tmp_path / "boot_id")
    process.host.cache_clear()
    try:
        assert not alive(before)
    finally:
        process.host.cache_clear()


def test_a_mark_is_for_records_that_could_not_end_by_themselves(ours):
    mark(ours.path, "crashed", "the worker died")
    mark(ours.path, "interrupted", "again")
    assert (whole(ours.path).state, whole(ours.path).message) == ("crashed", "the worker died")
    mark(ours.path.with_name("none.json"), "crashed", "x")
    assert not ours.path.with_name("none.json").exists()


def sealed(value):
    return json.dumps({**value, "checksum": files._checksum(value)})


DAMAGE = {
    "truncated": (lambda known: json.dumps(known)[:50], "is not JSON"),
    "newer": (lambda known: sealed({**known, "schema": SCHEMA + 1}), f"has schema {SCHEMA + 1}"),
    "no checksum": (json.dumps, "the checksum of a.json differs"),
    "no list": (lambda known: sealed({**known, "checks": {}}), "a.json.checks: must be list"),
}


@pytest.mark.parametrize(("damage", "says"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_or_newer_record_is_set_aside_and_said(ours, damage, says):
    content = damage(files.read_json(ours.path))
    ours.path.write_text(content)
    assert read(ours.path) is None
    assert ours.path.exists(), "who only looks moves nothing"
    messages = []
    assert read(ours.path, messages) is None
    (aside,) = ours.path.parent.iterdir()
    assert aside.name.startswith("a.json.set-aside-")
    assert aside.read_text() == content
    (message,) = messages
    assert message.startswith(str(ours.path))
    assert says in message
    assert message.endswith(f"; set aside as {aside.name}")


def test_an_older_record_is_ignored_in_silence_and_so_is_none(ours):
    messages = []
    assert read(changed(ours.path, schema=SCHEMA - 1), messages) is None
    assert read(ours.path.with_name("none.json"), messages) is None
    assert ours.path.exists()
    assert messages == []
