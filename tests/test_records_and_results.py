"""Records of tests, and results.json made from them: life, damage, what counts, what is shown."""

import json
import os
import signal
import threading
import time
from types import SimpleNamespace

import pytest
from repro.harness.results import Results

from repro import files
from repro.harness import imports, process, records
from repro.harness.process import alive
from repro.harness.project import ClaimTest, Project
from repro.harness.records import Record, mark, read

NOBODY = 2**31 - 1  # above the largest process id that Linux gives
CHECK = {
    "name": "error", "equation": "(1)", "measured": 0.5, "relation": "<=", "allowed": 1.0,
    "tolerance": None, "source": "theorem: x", "margin": 2.0, "ok": True, "params": {},
}  # fmt: skip
IDENTITY = {
    "claim": "demo2025/lemma-1", "test": "test_holds", "role": "claim", "evidence": "construct",
    "run": "1",
}  # fmt: skip


# --- one record ----------------------------------------------------------------------------------


@pytest.fixture
def record(tmp_path):
    return Record(tmp_path / "tests/a.json", **IDENTITY)


def test_a_record_is_there_before_the_work_and_says_running(record):
    found = json.loads(record.path.read_text())
    assert {key: found[key] for key in IDENTITY} == IDENTITY
    assert (found["state"], found["pid"], found["schema"]) == ("running", os.getpid(), 1)
    assert (found["checks"], found["records"]) == ([], {})
    assert len(found.pop("checksum")) == 64
    assert read(record.path, []) == found


@pytest.mark.parametrize("state", ["passed", "failed", "error", "not-run"])
def test_a_finished_record_keeps_its_state_its_message_and_all_it_was_told(record, state):
    record.append("checks", CHECK)
    record.append("table", {"row": "a"})
    record.note("records", {"x": 1})
    record.progress_path.write_text("{}")
    record.finish(state, "why")
    found = json.loads(record.path.read_text())
    assert (found["state"], found["message"]) == (state, "why")
    assert (found["checks"], found["table"], found["records"]) == (
        [CHECK],
        [{"row": "a"}],
        {"x": 1},
    )
    assert [path.name for path in record.path.parent.iterdir()] == ["a.json"], (
        "no sign of life left"
    )


def test_the_seconds_of_a_record_are_those_since_it_began(tmp_path, monkeypatch):
    now = [100.0]
    clock = SimpleNamespace(perf_counter=lambda: now[-1], monotonic=time.monotonic)
    monkeypatch.setattr(records, "time", clock)
    record = Record(tmp_path / "a.json", **IDENTITY)
    assert json.loads(record.path.read_text())["seconds"] == 0
    now.append(142.5)
    record.finish("passed")
    assert json.loads(record.path.read_text())["seconds"] == 42.5


def test_the_first_change_is_written_a_moment_later_by_itself(record):
    record.append("checks", CHECK)
    give_up = time.monotonic() + 10
    while json.loads(record.path.read_text())["checks"] != [CHECK]:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert json.loads(record.path.read_text())["state"] == "running"


def test_many_changes_in_a_short_time_are_few_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "BETWEEN_WRITES", 60)
    record = Record(tmp_path / "a.json", **IDENTITY)
    for _ in range(50):
        record.append("checks", CHECK)
    assert json.loads(record.path.read_text())["checks"] == []
    record.finish("passed")
    assert len(json.loads(record.path.read_text())["checks"]) == 50


def test_a_change_after_a_long_time_is_written_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "BETWEEN_WRITES", 0)
    record = Record(tmp_path / "a.json", **IDENTITY)
    record.note("records", {"x": 1})
    assert json.loads(record.path.read_text())["records"] == {"x": 1}


def test_without_memory_for_a_thread_it_is_written_at_once(tmp_path, monkeypatch):
    def none_left(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    record = Record(tmp_path / "a.json", **IDENTITY)
    for number in range(3):
        record.note("records", {"x": number})
        assert json.loads(record.path.read_text())["records"] == {"x": number}


def whole(path):
    """A record that can be read."""
    found = read(path, [])
    assert found is not None
    return found


def changed(record, **fields):
    """A record of somebody else, or forged: sealed as ours are."""
    files.write_sealed(record.path, {**files.read_json(record.path), **fields})
    return record.path


def test_running_means_running_only_while_its_process_lives(record):
    assert whole(record.path)["state"] == "running"
    assert whole(changed(record, pid=NOBODY))["state"] == "interrupted"
    assert whole(changed(record, pid=None))["state"] == "interrupted"
    ours = process.this()
    assert whole(changed(record, **ours))["state"] == "running"
    assert whole(changed(record, **{**ours, "host": "another"}))["state"] == "interrupted"
    assert json.loads(record.path.read_text())["state"] == "running", "reading changes nothing"


@pytest.mark.parametrize("state", ["passed", "failed", "error", "not-run", "crashed"])
def test_a_final_state_stays_when_the_process_is_gone(record, state):
    record.finish(state)
    assert whole(changed(record, pid=NOBODY))["state"] == state


def test_a_process_is_alive_until_it_has_ended(monkeypatch):
    ours = process.this()
    assert alive(ours)
    child = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
    known = ours | {"pid": child, "born": process._state_and_birth(child)[1]}
    assert alive(known)
    os.kill(child, signal.SIGKILL)
    give_up = time.monotonic() + 60
    while alive(known):  # dead, and not yet buried
        assert time.monotonic() < give_up
        time.sleep(0.01)
    os.waitpid(child, 0)
    assert not alive(known)

    def not_allowed(pid, signal):
        raise PermissionError

    monkeypatch.setattr(os, "kill", not_allowed)
    assert alive(ours), "a process of another user"


@pytest.mark.parametrize(
    "who",
    [
        {"host": "another"},
        {"host": None},
        {"born": 0},
        {"born": None},
        *[{"pid": pid} for pid in (NOBODY, None, "", [], {}, 0, -1, True, 2**70, float("inf"))],
    ],
    ids=repr,
)
def test_a_process_elsewhere_or_before_ours_or_none_is_not_alive(who):
    """Our pid, on another machine or given out again, is not the process that is meant."""
    assert not alive({**process.this(), **who})


def test_our_pid_alone_or_as_text_is_no_process():
    assert not alive({"pid": os.getpid()}), "as it was written before"
    assert not alive({**process.this(), "pid": str(os.getpid())})


def test_a_machine_that_was_started_again_is_another(monkeypatch, tmp_path):
    before = process.this()
    (again := tmp_path / "boot_id").write_text("another")
    monkeypatch.setattr(process, "BOOT", again)
    process.host.cache_clear()
    try:
        assert not alive(before)
        again.unlink()
        process.host.cache_clear()
        assert alive(process.this()), "a system that does not tell"
    finally:
        process.host.cache_clear()


def test_a_mark_is_for_records_that_could_not_end_by_themselves(record):
    mark(record.path, "crashed", "the worker died")
    found = whole(record.path)
    assert (found["state"], found["message"]) == ("crashed", "the worker died")
    mark(record.path, "interrupted", "again")
    assert whole(record.path)["message"] == "the worker died"
    mark(record.path.with_name("none.json"), "crashed", "x")
    assert not record.path.with_name("none.json").exists()


# --- damage --------------------------------------------------------------------------------------


def sealed(value):
    return json.dumps({**value, "checksum": files._checksum(value)})


DAMAGE = {
    "truncated": (lambda known: json.dumps(known)[:50], "is not JSON"),
    "empty": (lambda known: "", "is not JSON"),
    "a list": (lambda known: json.dumps([known]), "does not hold an object"),
    "newer": (lambda known: sealed({**known, "schema": 2}), "has schema 2, this version reads 1"),
    "no checksum": (json.dumps, "the checksum of a.json differs"),
    "another word": (
        lambda known: sealed(known).replace('"checksum"', '"chechsum"'),
        "the checksum of a.json differs",
    ),
    "foreign": (lambda known: sealed({"schema": 1}), "'claim' is missing or not a word"),
    "no list": (
        lambda known: sealed({**known, "checks": {}}),
        "'checks' is missing or not a list",
    ),
    "no numbers": (
        lambda known: sealed({**known, "records": []}),
        "'records' or 'seconds' is missing or odd",
    ),
}


@pytest.mark.parametrize(("damage", "says"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_record_is_set_aside_and_said(record, damage, says):
    content = damage(files.read_json(record.path))
    record.path.write_text(content)
    messages = []
    assert read(record.path, messages) is None
    (aside,) = record.path.parent.iterdir()
    assert aside.name.startswith("a.json.set-aside-")
    assert aside.read_text() == content
    (message,) = messages
    assert message.startswith(f"{record.path} ")
    assert says in message
    assert message.endswith(f"; set aside as {aside.name}")


def test_a_record_that_is_not_there_is_not_said(tmp_path):
    messages = []
    assert read(tmp_path / "none.json", messages) is None
    assert messages == []


def test_a_record_that_another_process_sets_aside_first_is_not_said(record, monkeypatch):
    record.path.write_text("")
    monkeypatch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(FileNotFoundError()))
    messages = []
    assert read(record.path, messages) is None
    assert messages == []


def test_the_message_names_the_file_also_when_a_list_is_missing(record):
    known = files.read_json(record.path)
    del known["table"]
    files.write_sealed(record.path, known)
    messages = []
    read(record.path, messages)
    assert messages[0].startswith(f"{record.path} ")


# --- results -------------------------------------------------------------------------------------


def leave(demo, id, test="test_holds", state="passed", numbers=None, **identity):
    """A record as the plugin would leave it, finished; returns its path."""
    project = Project(demo.root)
    statement = project.read_ledger().statements[f"demo2025/{id}"]
    file = next(demo.root.glob(f"claims/demo2025/{statement.stem}_*.py"))
    name = ClaimTest(statement, file, test)
    code = imports.fingerprint(file, demo.root)
    known = {"claim": statement.id, "test": test, "role": name.role, "code": code, "run": "1"}
    evidence = "construct" if name.role == "claim" else None
    known = {**known, "evidence": evidence, "scale": "smoke", "seed": 0, **identity}
    record = Record(name.record(demo.artifacts), **known)
    record.append("checks", CHECK)
    record.note("records", numbers or {})
    record.finish(state)
    return record.path


def leave_all(demo, id, **identity):
    leave(demo, id, **identity)
    leave(demo, id, "test_control_of_it", **identity)


def results(demo):
    project = Project(demo.root)
    return Results(project, project.read_ledger(), demo.artifacts)


def collected(demo, id, tests):
    path = demo.artifacts / f"claims/demo2025/{id}/collected.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tests if isinstance(tests, str) else sealed({"tests": tests}))
    return path


def names_of(found, id):
    return [test["test"] for test in found.claim(f"demo2025/{id}")["tests"]]


DOCUMENTED = """
    id paper kind number also section title statement formula note scope data reason uses aims
    status verdict why pending solid evidence description file command scale seconds run stale
    checks controls table counterexamples figures tests"""
OF_A_TEST = """
    test state role evidence seconds run scale seed device threads worker records store message
    command description stale"""
OF_A_CHECK = """
    name equation measured relation allowed tolerance source margin ok evidence test params"""


def test_results_json_is_strict_and_has_every_entry_in_the_order_of_the_ledger(demo):
    demo.claim("theorem-2", uses=["demo2025/lemma-9"])
    demo.entry("lemma-9", status="pending")
    demo.claim("lemma-1")
    leave_all(demo, "lemma-1")
    leave(demo, "theorem-2", numbers={"x": float("nan"), "y": float("inf")})
    run = {"id": "1", "state": "finished"}
    results(demo).write(run, ["demo2025/lemma-1"])
    text = (demo.artifacts / "results.json").read_text()
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert [claim["id"][9:] for claim in found["claims"]] == ["theorem-2", "lemma-9", "lemma-1"]
    assert (found["schema"], found["title"], found["run"]) == (1, "Invented statements", run)
    assert found["papers"]["demo2025"] == {
        "title": "A Demonstration",
        "authors": "N. N.",
        "version": "none",
    }
    assert found["claims"][0]["tests"][0]["records"] == {"x": "nan", "y": "inf"}
    for claim in found["claims"]:
        assert set(claim) == set(DOCUMENTED.split())
    assert set(found["claims"][2]["tests"][0]) == set(OF_A_TEST.split())
    assert set(found["claims"][2]["checks"][0]) == set(OF_A_CHECK.split())
    one = files.read_json(demo.artifacts / "claims/demo2025/lemma-1/result.json", sealed=True)
    assert one == {"schema": 1, **found["claims"][2]}
    assert not (demo.artifacts / "claims/demo2025/theorem-2/result.json").exists(), "not changed"


def test_a_claim_shows_what_its_tests_left(demo):
    demo.claim("lemma-1", evidence=["exact", "construct"])
    leave(demo, "lemma-1", run="2", scale="laptop")
    path = leave(demo, "lemma-1", "test_control_of_it")
    known = files.read_json(path)
    files.write_sealed(path, {**known, "started": "2000-01-01T00:00:00Z", "seconds": 1000.5})
    claim = results(demo).claim("demo2025/lemma-1")
    assert (claim["verdict"], claim["solid"], claim["pending"]) == ("holds", True, False)
    assert claim["evidence"] == ["construct"]
    assert list(claim["aims"]) == ["exact", "construct"]
    assert (claim["run"], claim["scale"]) == ("2", "laptop"), "of the newest test"
    assert claim["seconds"] > 1000
    assert claim["description"] == "Invented lemma-1."
    assert claim["file"] == "claims/demo2025/test_lemma_1_demo.py"
    assert claim["command"] == "pytest claims/demo2025/test_lemma_1_demo.py --scale laptop"
    assert claim["checks"] == [{**CHECK, "test": "test_holds", "evidence": "construct"}]
    assert [check["test"] for check in claim["controls"]] == ["test_control_of_it"]


def test_a_claim_without_file_reads_no_records(demo):
    file = demo.claim("lemma-1")
    leave_all(demo, "lemma-1")
    file.unlink()
    claim = results(demo).claim("demo2025/lemma-1")
    assert (claim["verdict"], claim["tests"], claim["file"]) == ("not-run", [], None)


def test_coverage_counts_statements_of_the_papers_and_not_findings(demo):
    for id in ("lemma-1", "lemma-2", "finding-ours"):
        demo.claim(id)
        leave_all(demo, id)
    demo.entry("lemma-3", status="pending")
    demo.entry("finding-more", status="pending")
    leave(demo, "lemma-2", state="failed")
    row = {"statements": 3, "with_claims": 2, "verdicts": {"holds": 1, "failed": 1, "not-run": 1}}
    assert results(demo).coverage() == {"demo2025": row}


def test_refresh_reads_only_what_it_is_told_but_what_is_solid_for_all(demo):
    for id, uses in {"lemma-1": [], "lemma-2": ["demo2025/lemma-1"], "lemma-3": []}.items():
        demo.claim(id, uses=uses)
        leave_all(demo, id)
    found = results(demo)
    assert all(found.claim(f"demo2025/lemma-{n}")["solid"] for n in (1, 2, 3))
    leave(demo, "lemma-1", state="failed")
    leave(demo, "lemma-3", state="failed")
    found.refresh(["demo2025/lemma-1"])
    claims = [found.claim(f"demo2025/lemma-{n}") for n in (1, 2, 3)]
    assert [claim["verdict"] for claim in claims] == ["failed", "holds", "holds"]
    assert [claim["solid"] for claim in claims] == [False, False, True]


def test_stale_is_what_ran_with_other_code(demo):
    demo.claim("lemma-1")
    leave(demo, "lemma-1", code="another")
    leave(demo, "lemma-1", "test_control_of_it")
    claim = results(demo).claim("demo2025/lemma-1")
    assert [test["stale"] for test in claim["tests"]] == [False, True], (
        "control first, by file name"
    )
    assert claim["stale"]


def test_damage_in_one_record_is_said_and_the_other_claims_are_kept(demo):
    for id in ("lemma-1", "lemma-2"):
        demo.claim(id)
        leave_all(demo, id)
    leave(demo, "lemma-1").write_text('{"schema": 1')
    found = results(demo)
    assert names_of(found, "lemma-1") == ["test_control_of_it"]
    assert found.claim("demo2025/lemma-2")["verdict"] == "holds"
    (message,) = found.document({})["messages"]
    assert "is not JSON" in message
    assert "set aside as test_holds" in message
    assert results(demo).messages == [], "said once"


# --- collected.json ------------------------------------------------------------------------------


HOLDS, CONTROL = "test_holds", "test_control_of_it"
COLLECTED = {
    "no list": (None, [CONTROL, HOLDS], "holds", "1 check passed"),
    "all, in its order": ([HOLDS, CONTROL], [HOLDS, CONTROL], "holds", "1 check passed"),
    "one has not run": ([HOLDS, "test_x", CONTROL], [HOLDS, CONTROL], "not-run", "1 of 3 tests"),
    "one is left over": ([CONTROL], [CONTROL], "not-run", "no test of the statement"),
    "all are left over": ([], [], "not-run", "no test of the statement"),
}


@pytest.mark.parametrize(("names", "shown", "verdict", "why"), COLLECTED.values(), ids=COLLECTED)
def test_the_list_of_collected_tests_says_which_count(demo, names, shown, verdict, why):
    demo.claim("lemma-1")
    leave_all(demo, "lemma-1")
    if names is not None:
        collected(demo, "lemma-1", names)
    found = results(demo)
    assert names_of(found, "lemma-1") == shown
    assert found.claim("demo2025/lemma-1")["verdict"] == verdict
    assert found.claim("demo2025/lemma-1")["why"].startswith(why)


@pytest.mark.parametrize(
    "damage",
    ["", "[1]", sealed({"names": []}), '{"tests": ["test_holds"]}'],
    ids=["empty", "a list", "other", "no checksum"],
)
def test_a_damaged_list_of_tests_is_set_aside_and_said(demo, damage):
    demo.claim("lemma-1")
    leave_all(demo, "lemma-1")
    path = collected(demo, "lemma-1", damage)
    found = results(demo)
    assert found.claim("demo2025/lemma-1")["verdict"] == "holds"
    assert len(found.messages) == 1
    assert "set aside as collected.json.set-aside-" in found.messages[0]
    assert not path.exists()


# --- known bugs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [None, 3, [["test_holds"]]], ids=["null", "number", "nested"])
def test_a_list_of_tests_that_is_none_does_not_end_everything(demo, names):
    demo.claim("lemma-1")
    leave_all(demo, "lemma-1")
    collected(demo, "lemma-1", names)
    assert len(results(demo).messages) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"seconds": None},
        {"evidence": None, "checks": [1]},
        {"counterexamples": [{}]},
        {"checks": [{**CHECK, "params": "n=1"}]},
        {"store": [{"kind": "k", "key": "0f", "reason": "reused", "seconds": "long"}]},
    ],
    ids=["seconds", "check", "counterexample", "params", "training"],
)
def test_a_record_with_odd_contents_does_not_end_everything(demo, odd):
    demo.claim("lemma-1")
    leave_all(demo, "lemma-1")
    path = leave(demo, "lemma-1")
    files.write_sealed(path, {**files.read_json(path), **odd})
    assert len(results(demo).messages) == 1


def test_the_record_of_another_claim_does_not_count(demo):
    demo.claim("lemma-1")
    demo.claim("lemma-2")
    leave_all(demo, "lemma-1")
    for path in (demo.artifacts / "claims/demo2025/lemma-1/tests").iterdir():
        copy = demo.artifacts / "claims/demo2025/lemma-2/tests" / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    assert results(demo).claim("demo2025/lemma-2")["verdict"] == "not-run"


def test_who_only_looks_moves_nothing(tmp_path):
    damaged = tmp_path / "a.json"
    damaged.write_text("{")
    assert read(damaged) is None
    assert damaged.exists()
