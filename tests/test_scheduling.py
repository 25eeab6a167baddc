"""Many workers: seeds, order, threads, signs of life."""

import json
import time
from dataclasses import replace

import pytest

from repro.harness.progress import Heartbeat, Reporter, line
from repro.harness.schedule import from_nothing, read_durations, sort_key
from repro.harness.seeds import seed_for
from repro.results.types import Result, Training
from repro.results.types import Test as Tested

SLEEPS = """
import json, os, pathlib, time, pytest

@pytest.mark.parametrize("k", range(4), ids="k={{}}".format)
@pytest.mark.construct
def test_holds(k, claim):
    with open("order.jsonl", "a") as file:
        file.write(json.dumps([{number}, k, os.environ["PYTEST_XDIST_WORKER"], time.time()]) + "\\n")
    time.sleep({seconds})
    claim.measured("error", 1, equation="(1)").at_most(theorem(2, "invented"))
"""


def order(demo):
    return [json.loads(line) for line in (demo.root / "order.jsonl").read_text().splitlines()]


def test_the_second_run_starts_with_the_slowest_and_both_workers_work(demo):
    demo.claim("lemma-1", SLEEPS.format(number=1, seconds=0.02))
    demo.claim("lemma-2", SLEEPS.format(number=2, seconds=0.6))
    assert demo.run("-n2").returncode == 0
    assert order(demo)[0][0] == 1, "nothing was known: order of the files"
    (demo.root / "order.jsonl").unlink()
    assert demo.run("-n2").returncode == 0
    second = order(demo)
    assert [number for number, *_ in second[:4]] == [2, 2, 2, 2], "slowest first"
    slow = [worker for number, _, worker, _ in second if number == 2]
    assert slow.count("gw0") == slow.count("gw1") == 2, "one at a time to whichever is free"


def test_the_first_run_starts_with_what_was_slowest_in_the_snapshot(demo):
    demo.claim("lemma-1", SLEEPS.format(number=1, seconds=0.02))
    demo.claim("lemma-2", SLEEPS.format(number=2, seconds=0.02))
    known = {
        f"laptop claims/demo2025/test_lemma_{number}_demo.py::test_holds[k={k}]": 10.0 * number
        for number in (1, 2)
        for k in range(4)
    }
    reference = demo.artifacts / "reference"
    reference.mkdir(parents=True)
    (reference / "durations.json").write_text(json.dumps(known))
    assert demo.run("-n1", "--artifacts", "elsewhere").returncode == 0
    assert [number for number, *_ in order(demo)] == [2, 2, 2, 2, 1, 1, 1, 1]


def test_the_order_is_the_same_in_every_worker_even_after_a_crash(demo):
    """xdist refuses to go on when a replacement collects another order."""
    demo.claim("lemma-1", SLEEPS.format(number=1, seconds=0.01))
    dies = """
    import os, pytest

    @pytest.mark.construct
    def test_holds(claim):
        os._exit(1)
    """
    demo.claim("lemma-2", dies)
    for _ in range(2):
        done = demo.run("-n2")
        assert done.returncode == 1
        assert "Different tests were collected" not in done.stdout
        assert demo.result("lemma-1")["verdict"] == "holds"
        assert demo.result("lemma-2")["verdict"] == "error"


def test_every_process_gets_its_share_of_threads_before_torch_is_imported(demo):
    body = """
    import os, pytest

    @pytest.mark.construct
    def test_holds(claim):
        import torch
        claim.record("omp", os.environ["OMP_NUM_THREADS"])
        claim.record("torch", torch.get_num_threads())
        claim.measured("error", 1, equation="(1)").at_most(theorem(2, "invented"))
    """
    demo.claim("lemma-1", body)
    for arguments, threads in [(["-n2"], 1), (["-n0"], 1), (["-n0", "--threads", "3"], 3)]:
        assert demo.run(*arguments, OMP_NUM_THREADS="16").returncode == 0
        assert demo.numbers("lemma-1") == {
            "omp": str(threads),
            "torch": threads,
        }
        assert demo.results()["run"]["threads"] == threads


def test_a_long_claim_gives_signs_of_life(demo):
    body = """
    import time, pytest

    @pytest.mark.construct
    def test_holds(claim):
        for step in range(40):
            claim.progress(step, 40, loss=0.08)
            time.sleep(0.1)
        claim.measured("error", 1, equation="(1)").at_most(theorem(2, "invented"))
    """
    demo.claim("lemma-1", body)
    for workers in ("-n0", "-n2"):
        done = demo.run(workers, "--heartbeat", "0.4")
        assert "[running] demo2025/lemma-1 test_holds" in done.stderr
        assert "/40 loss=0.08" in done.stderr
    assert "[running]" not in demo.run("--heartbeat", "0").stderr
    assert not list(demo.artifacts.glob("claims/*/*/tests/*.progress"))


def test_seeds_are_the_same_on_every_machine_and_differ_by_name():
    assert seed_for(0, "fang2022/lemma-3.1") == 936518239035230644
    names = [
        (base, claim, stream)
        for base in (0, 1)
        for claim in ("a/b-1", "a/b-11")
        for stream in ("", "x")
    ]
    assert len({seed_for(*name) for name in names}) == len(names)
    assert all(0 <= seed_for(*name) < 2**63 for name in names)


def test_the_slowest_comes_first_and_the_unknown_before_all():
    durations = {"smoke a": 1.0, "smoke b": 5.0, "laptop a": 100.0, "smoke c": 5.0}
    order = sorted(["a", "c", "b", "new"], key=lambda nodeid: sort_key(nodeid, "smoke", durations))
    assert order == ["new", "b", "c", "a"]


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (None, {}),
        ("[]", {}),
        ("{", {}),
        ('{"smoke a": 1, "smoke b": "nan", "smoke c": null}', {"smoke a": 1.0}),
    ],
    ids=["none", "list", "damaged", "no numbers"],
)
def test_durations_that_are_no_numbers_are_left_out(content, known, tmp_path):
    if content is not None:
        (tmp_path / "durations.json").write_text(content)
    assert read_durations(tmp_path) == known


def test_a_first_run_goes_by_what_tests_take_with_their_trainings():
    made = Training(kind="relu", key="0f", reason="computed: no entry", seconds=30.0)
    found = replace(made, reason="reused: computed yesterday")
    known = {"state": "passed", "role": "claim", "evidence": "train", "run": "r", "scale": "laptop"}
    tests = [
        {**known, "test": "test_a", "seconds": 31.0, "trainings": [made]},
        {**known, "test": "test_b[x]", "seconds": 1.0, "trainings": [found, found]},
    ]
    claim = Result(
        id="p/lemma-1", paper="p", kind="lemma", number="1", verdict="holds",
        file="claims/p/test_x.py", tests=[Tested(**test) for test in tests],
    )  # fmt: skip
    assert from_nothing([claim]) == {
        "laptop claims/p/test_x.py::test_a": 31.0,
        "laptop claims/p/test_x.py::test_b[x]": 61.0,
    }


def test_progress_is_written_at_most_five_times_a_second(tmp_path):
    path = tmp_path / "a.progress"
    Reporter(tmp_path / "no such folder" / "a.progress").say("a full disk costs this and no more")
    report = Reporter(path)
    for step in range(1000):
        report(step, 1000, loss=0.123456)
    assert line("x", 12.4, path).startswith("x 0/1000 loss=0.1235, 12 s")
    assert [found.name for found in tmp_path.iterdir()] == ["a.progress"]


@pytest.mark.parametrize("content", [None, "{", '{"step": 1}'], ids=["none", "damaged", "foreign"])
def test_a_line_says_what_it_can(content, tmp_path):
    if content is not None:
        (tmp_path / "a.progress").write_text(content)
    assert line("x", 12.6, tmp_path / "a.progress") == "x, 13 s"


def test_the_heart_beats_while_something_runs_and_then_stops(capfd):
    running = [["one", "two"]]
    heart = Heartbeat(0.02, lambda: running[0])
    heart.start()
    time.sleep(0.2)
    heart.stop()
    assert not heart.is_alive()
    said = capfd.readouterr().err
    assert said.count("\n[running] one | two\n") >= 2
