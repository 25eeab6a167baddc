"""However a run ends, finished claims are in results.json and on the page, and the exit code is not 0."""

import os
import signal
import subprocess
import sys
import time

import pytest
from demo import send, wait_for

BLOCKS = """
import pathlib, time, pytest

@pytest.mark.construct
def test_holds(claim):
    claim.record(half_way=0.5)
    claim.at_most(0.5, 1.0, "error", equation="(1)", source="theorem: invented")
    pathlib.Path("pid").write_text(str(__import__("os").getpid()))
    for step in range(600):
        claim.progress(step, 600, loss=0.25)
        time.sleep(0.1)
"""


def begin(demo, *arguments):
    """Start a run, and wait until lemma-1 is finished and published while lemma-2 is at work."""
    demo.claim("lemma-1")
    demo.claim("lemma-2", BLOCKS)
    process = demo.start("-q", *arguments)
    wait_for(demo.root / "pid", process)
    wait_for(demo.artifacts / "results.json", process)
    give_up = time.monotonic() + 30
    while demo.result("lemma-1")["verdict"] != "holds" or not interrupted_test(demo)["records"]:
        assert time.monotonic() < give_up, demo.result("lemma-1")
        time.sleep(0.1)
    return process


def interrupted_test(demo):
    from repro.harness import records

    path = next(demo.artifacts.glob("claims/demo2025/lemma-2/tests/test_holds*.json"))
    found = records.read(path)
    assert found is not None
    return found


def finished_claim_is_kept(demo):
    assert demo.result("lemma-1")["verdict"] == "holds"
    assert "The lemma-1" in demo.page()
    assert "holds" in demo.page()


def numbers_so_far_are_kept(demo, state):
    test = next(test for test in demo.result("lemma-2")["tests"] if test["test"] == "test_holds")
    assert test["state"] == state
    assert test["records"] == {"half_way": 0.5}
    assert demo.result("lemma-2")["checks"][0]["measured"] == 0.5
    assert demo.result("lemma-2")["verdict"] in ("not-run", "error")


@pytest.mark.parametrize("workers", ["-n0", "-n2", "-pno:xdist"])
@pytest.mark.parametrize("ending", ["Ctrl-C", "SIGTERM"])
def test_an_interrupted_run(demo, ending, workers):
    process = begin(demo, workers)
    if ending == "Ctrl-C":
        send(process, signal.SIGINT)
    else:
        process.terminate()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 2, out
    finished_claim_is_kept(demo)
    numbers_so_far_are_kept(demo, "interrupted")
    assert demo.results()["run"]["state"] == "interrupted"
    assert "did not report" in out
    assert "test_lemma_2_demo.py::test_holds: interrupted" in out
    assert "interrupted" in demo.page()


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_double_ctrl_c(demo, workers):
    process = begin(demo, workers)
    send(process, signal.SIGINT)
    time.sleep(0.3)
    if process.poll() is None:
        send(process, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    finished_claim_is_kept(demo)
    rebuild(demo)
    numbers_so_far_are_kept(demo, "interrupted")


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_sigkill_of_everything(demo, workers):
    process = begin(demo, workers)
    send(process, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    finished_claim_is_kept(demo)
    assert demo.results()["run"]["state"] == "running", "nobody was left to say otherwise"
    rebuild(demo)
    finished_claim_is_kept(demo)
    numbers_so_far_are_kept(demo, "interrupted")
    assert demo.results()["run"]["state"] == "interrupted"


def test_a_killed_worker(demo):
    process = begin(demo, "-n2")
    os.kill(int((demo.root / "pid").read_text()), signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1, out
    finished_claim_is_kept(demo)
    numbers_so_far_are_kept(demo, "crashed")
    assert demo.result("lemma-2")["verdict"] == "error"


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


def test_the_next_run_finishes_what_was_interrupted(demo):
    process = begin(demo, "-n2")
    process.terminate()
    process.communicate(timeout=60)
    file = demo.root / "claims/demo2025/test_lemma_2_demo.py"
    file.write_text(file.read_text().replace("range(600)", "range(1)"))
    assert demo.run("-q", str(file)).returncode == 0
    assert demo.result("lemma-2")["verdict"] == "holds"
    assert demo.result("lemma-1")["verdict"] == "holds"


def rebuild(demo):
    subprocess.run(
        [sys.executable, "-m", "repro", "report", "--project", str(demo.root)],
        check=True,
        timeout=60,
    )
