"""However a run ends, no finished claim is lost, and the next run takes up where it stopped.

Every cell of the matrix runs three invented claims: one is finished and published, the next one is
disturbed in its midst, the third comes after it. The first two have trained something before, so
that one sees whether the next run trains again.
"""

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest
from demo import CONFTEST, FULL, recorder, send, wait_for

from repro import files
from repro.harness import records, schedule
from repro.harness.process import alive

IMPORTS = """
import os, resource, time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import pytest
"""
TRAINS = """
from repro.training import Outcome, Spec

@dataclass(frozen=True)
class Small(Spec):
    kind: ClassVar[str] = "small"
    version: ClassVar[int] = 1
    name: str

def train(spec, workspace):
    with Path("trained").open("a") as log:
        log.write(spec.name + "\\n")
    return Outcome({"value": 0.5})

def value(claim, name):
    return claim.train(Small(name), train).outcome.numbers["value"]
"""
DOES_NOT = """
def value(claim, name):
    return 0.5
"""
MEASURES = """
def measure(claim, name):
    claim.record("half_way", value(claim, name))
    claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))
"""
FINISHED = """
@pytest.mark.construct
def test_holds(claim):
    measure(claim, "first")
"""
DISTURBED = """
ENDING = Path("ending").read_text()

@pytest.fixture
def fragile():
    if ENDING == "exception in a fixture":
        raise RuntimeError("the fixture broke")

@pytest.mark.construct
def test_holds(claim, fragile):
    measure(claim, "second")
    if ENDING == "failing claim":
        claim.measured("too much", 2.0, equation="(3)").at_most(theorem(1.0, "invented"))
    if ENDING == "out of memory":
        use_all_memory()
    Path("reached.new").write_text(str(os.getpid()))
    Path("reached.new").rename("reached")
    while ENDING == "disk full":
        claim.record("after", time.time())
        time.sleep(0.1)
    while ENDING != "normal":
        claim.progress(1, 2)
        time.sleep(0.1)

def use_all_memory():
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = pages * resource.getpagesize() + 2**26
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    hoard = []  # the traceback holds it while pytest and the harness go on
    while True:
        hoard.append(bytearray(2**20))
"""
FULL_DISK = """
import errno, os, pathlib

def on_this_disk(real):
    def call(*arguments, **options):
        if pathlib.Path(__file__).with_name("full").exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **options)
    return call

os.replace = on_this_disk(os.replace)
pathlib.Path.write_text = on_this_disk(pathlib.Path.write_text)
"""
SLOW_END = """
import os, time
from pathlib import Path

def pytest_keyboard_interrupt():
    if "PYTEST_XDIST_WORKER" not in os.environ:
        Path("once").touch()
        time.sleep(180)  # the second Ctrl-C comes here, while the run is being ended
"""
FIRST = [  # slowest first: what waits behind the disturbed test is its own control
    "2_demo.py::test_holds", "1_demo.py::test_holds", "2_demo.py::test_control_of_it",
    "1_demo.py::test_control_of_it", "3_demo.py::test_holds", "3_demo.py::test_control_of_it",
]  # fmt: skip
ORDER = {
    f"laptop claims/demo2025/test_lemma_{name}": 100 - place for place, name in enumerate(FIRST)
}


@dataclass(frozen=True)
class Left:
    """What a run must leave when it ends so."""

    exit: int
    run: str
    state: str  # of the disturbed test
    verdict: str  # of its claim, in results.json


STOPPED = Left(2, "interrupted", "interrupted", "not-run")
ENDINGS = {
    "normal": Left(0, "finished", "passed", "holds"),
    "failing claim": Left(1, "finished", "failed", "failed"),
    "exception in a fixture": Left(1, "finished", "error", "error"),
    "out of memory": Left(1, "finished", "error", "error"),
    "time limit": Left(1, "finished", "interrupted", "not-run"),
    "worker killed": Left(1, "finished", "crashed", "error"),
    "Ctrl-C": STOPPED,
    "Ctrl-C twice": Left(-signal.SIGINT, "interrupted", "interrupted", "not-run"),
    "TERM": STOPPED,
    "KILL": Left(-signal.SIGKILL, "running", "interrupted", "not-run"),
    "KILL of all": Left(-signal.SIGKILL, "running", "interrupted", "not-run"),
    "disk full": Left(1, "running", "interrupted", "not-run"),
}
GOES_ON = ("normal", "failing claim", "exception in a fixture", "out of memory", "time limit")
RUNS = {"-n0": "-n0", "-n2": "-n2", "no xdist": "-pno:xdist"}
LIMIT = 20  # seconds: more than a small training takes on a busy machine
CELLS = [
    (ending, how)
    for ending in ENDINGS
    for how in RUNS
    if ending != "worker killed" or how == "-n2"  # else there is none
]
FEW = [  # for `make test`, and without trainings: to import torch takes its time
    *[(ending, "-n0") for ending in ("Ctrl-C twice", "disk full")],
    *[(ending, "-n2") for ending in ("worker killed", "TERM")],
    *[(ending, "no xdist") for ending in ("out of memory", "Ctrl-C", "KILL")],
]


@pytest.mark.reliability
@pytest.mark.parametrize(("ending", "how"), CELLS if FULL else FEW)
def test_no_finished_claim_is_lost_and_the_next_run_goes_on(demo, ending, how):
    process = begin(demo, ending, how)
    if ending in GOES_ON:
        finished = {"lemma-1", "lemma-3"} | ({"lemma-2"} if ending == "normal" else set())
    else:
        finished = published(demo, process, how)
        disturb(demo, process, ending)
    out, _ = process.communicate(timeout=300)
    wait_for_the_last_worker(demo)
    verdicts = {id: demo.result(id)["verdict"] for id in ("lemma-1", "lemma-2", "lemma-3")}
    lost = {id for id in finished if verdicts[id] != "holds" or f"The {id}" not in demo.page()}
    run, disturbed = demo.results()["run"]["state"], disturbed_test(demo)
    if run == "running":
        assert state_after_report(demo) == "interrupted"
    again = next_run(demo, how)
    trained = (demo.root / "trained").read_text().split()
    assert not lost, out
    left = ENDINGS[ending]
    assert process.returncode == left.exit, out
    found = Left(process.returncode, run, disturbed.state, verdicts["lemma-2"])
    assert found == left, out
    if ending != "exception in a fixture":
        assert disturbed.numbers[0].value == disturbed.checks[0].measured == 0.5
    if left == STOPPED:
        assert "did not report" in out
        assert "test_lemma_2_demo.py::test_holds: interrupted" in out
    assert again == "all hold"
    assert sorted(trained) == (["first", "second"] if FULL else [])


def begin(demo, ending, how):
    """Start a run of the three claims."""
    work = IMPORTS + (TRAINS if FULL else DOES_NOT) + MEASURES
    demo.claim("lemma-1", work + FINISHED)
    demo.claim("lemma-2", work + DISTURBED)
    demo.claim("lemma-3")
    (demo.root / "ending").write_text(ending)
    (demo.root / "trained").touch()
    more = {"disk full": FULL_DISK, "Ctrl-C twice": SLOW_END}
    (demo.root / "conftest.py").write_text(CONFTEST + more.get(ending, ""))
    if how == "-n2" and ending not in GOES_ON:
        files.write_json(demo.artifacts / schedule.FILE, ORDER)
    limit = ["--time-limit", str(LIMIT)] if ending == "time limit" else []
    return demo.start("-q", RUNS[how], *limit)


def published(demo, process, how):
    """Wait until lemma-2 is in its midst, and in results.json what can be; which claims hold there."""
    expected = {"lemma-1", "lemma-3"} if how == "-n2" else {"lemma-1"}
    wait_for(demo.root / "reached", process, seconds=180)
    give_up = time.monotonic() + 180
    while True:
        claims = demo.results()["claims"] if (demo.artifacts / "results.json").exists() else []
        holding = {f"lemma-{claim['number']}" for claim in claims if claim["verdict"] == "holds"}
        if holding == expected and disturbed_test(demo).checks:
            return holding
        assert time.monotonic() < give_up, claims
        time.sleep(0.1)


def disturb(demo, process, ending):
    at_work = int((demo.root / "reached").read_text())
    if ending == "worker killed":
        os.kill(at_work, signal.SIGKILL)
    elif ending in ("Ctrl-C", "Ctrl-C twice"):
        send(process, signal.SIGINT)
        if ending == "Ctrl-C twice":
            wait_for(demo.root / "once", process, seconds=180)
            send(process, signal.SIGINT)
    elif ending == "TERM":
        process.terminate()
    elif ending == "KILL":
        process.kill()
    elif ending == "KILL of all":
        send(process, signal.SIGKILL)
    else:
        assert ending == "disk full"
        (demo.root / "full").touch()


def disturbed_test(demo):
    path = next(demo.artifacts.glob("claims/demo2025/lemma-2/tests/test_holds*.json"))
    found = records.read(path)
    assert found is not None
    return found


def wait_for_the_last_worker(demo):
    """One whose controller was killed takes a moment to notice, and another to die."""
    give_up = time.monotonic() + 180
    while alive(vars(disturbed_test(demo))):
        assert time.monotonic() < give_up
        time.sleep(0.05)


def state_after_report(demo):
    """When nobody was left to say how the run ended, `python -m repro report` does."""
    (demo.root / "full").unlink(missing_ok=True)  # room was made
    command = [sys.executable, "-m", "repro", "report", "--project", str(demo.root)]
    subprocess.run(command, check=True, timeout=120)
    assert disturbed_test(demo).state == "interrupted"
    assert "interrupted" in demo.page()
    return demo.results()["run"]["state"]


def next_run(demo, how):
    (demo.root / "ending").write_text("normal")
    (demo.root / "full").unlink(missing_ok=True)
    done = demo.run("-q", RUNS[how])
    verdicts = [claim["verdict"] for claim in demo.results()["claims"]]
    if done.returncode == 0 and verdicts == ["holds"] * 3:
        return "all hold"
    return f"exit code {done.returncode}: {', '.join(verdicts)}\n{done.stdout}"


# --- what is told when something was not written or not run --------------------------------------


def test_a_disk_that_is_full_from_the_start_is_told_before_any_claim_runs(demo):
    demo.claim("lemma-1")
    (demo.root / "conftest.py").write_text(CONFTEST + FULL_DISK)
    (demo.root / "full").touch()
    done = demo.run()
    assert done.returncode == 4
    assert "artifacts cannot be written (No space left on device)" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_on_a_full_disk_a_record_keeps_the_state_that_it_has(tmp_path, monkeypatch):
    """A worker died, or the run was stopped, and not even that can be written."""
    record = recorder(tmp_path / "a.json")

    def full(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    records.mark(record.path, "crashed", "the worker process died")
    monkeypatch.undo()
    assert getattr(records.read(record.path), "state", None) == "running"
    records.mark(record.path, "crashed", "the worker process died")
    assert getattr(records.read(record.path), "state", None) == "crashed"


def test_a_claim_that_is_lost_without_a_word_makes_the_exit_code_nonzero(demo):
    """A worker that leaves with exit code 0 and no report: pytest alone may say that all is well."""
    demo.claim("lemma-1")
    plugin = """
def pytest_runtest_protocol(item):
    if "lemma_1" in item.nodeid and "control" in item.nodeid:
        return True  # as if it had run
"""
    (demo.root / "swallow.py").write_text(plugin)
    done = demo.run("-p", "swallow", PYTHONPATH=str(demo.root))
    assert done.returncode == 3
    assert "1 claim tests were collected and did not report" in done.stdout
    assert "test_control_of_it: not run" in done.stdout
