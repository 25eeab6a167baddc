"""What the harness costs: a claim, the list of all, two workers, their memory.

By `make bench` (measuring.py). The run of all claims is that of `make costs`.
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from demo import PASSES

from repro.costs import runs

PART = 6
pytestmark = pytest.mark.timing
ROOT = Path(__file__).parent.parent
LATER = "a run of all claims with all trainings in the store, by the clock (`make costs`)"


def work(function):
    """Seconds of the processor, of processes that a function starts: what else runs adds little."""
    before = os.times()
    function()
    after = os.times()
    return (
        after.children_user - before.children_user + after.children_system - before.children_system
    )


def test_what_the_harness_adds_to_a_claim(benchmark, measured, switched_on, demo):
    """Many claim tests in one file against as many plain tests that do as little."""
    count = 200 if switched_on else 2
    many = f"\nimport pytest\n\n@pytest.mark.parametrize('k', range({count}))"
    claims = PASSES.replace("\nimport pytest\n", many).replace("(claim)", "(claim, k)")
    demo.claim("lemma-1", claims)
    (demo.root / "test_plain.py").write_text(f"{many}\ndef test_plain(k):\n    assert 0.5 <= 1.0\n")
    turns = []

    def turn():
        plain = work(lambda: demo.run("-q", "test_plain.py"))
        turns.append((plain, work(lambda: demo.run("-q", "claims"))))

    benchmark.pedantic(turn, rounds=3)
    added, bare = (
        statistics.median(times) for times in zip(*((c - p, p) for p, c in turns), strict=True)
    )
    measured(
        "what the harness adds to a claim", 1000 * added / count, unit="ms", relation="<=", target=20, tests=count,
        against="as many plain tests, by processor time; the start of the harness and its page are included",
        note=f"a plain test takes {1000 * bare / count:.1f} ms, its start shared out",
    )  # fmt: skip


def test_listing(benchmark, measured, switched_on, tmp_path):
    """All claims by name; torch is not imported for that. The first time everything is compiled."""
    some = ["claims"] if switched_on else ["claims/fang2022/test_section_2_model.py"]
    environment = runs.keeping_compiled(tmp_path)
    turns = []

    def run(*arguments):
        command = [sys.executable, *arguments]
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)

    def turn():
        bare = work(lambda: run("-c", "import pytest, xdist, pytest_benchmark, hypothesis"))
        turns.append((bare, work(lambda: run("-m", "pytest", "--co", "-q", *some))))

    turn()
    (_, first), *_ = turns
    benchmark.pedantic(turn, rounds=5)
    bare, listed = (statistics.median(times) for times in zip(*turns[1:], strict=True))
    measured(
        "listing all claims", listed, unit="s", relation="<=", target=3, against="pytest --co -q, by processor time",
        limit=bare, limit_is="to import pytest and its plugins",
        note=f"{first:.1f} s the first time, when Python compiles all files; then it keeps them",
        why="the modules of all claims are imported and the ids of their tests sorted",
    )  # fmt: skip


NOTHING = {"workers": 2, "seconds": 1.0, "busy": {"claims/x.py": 1.5}, "peak": 1, "tests": 1}


@pytest.fixture
def run(switched_on):
    """Of `make costs`, or what the last runs left."""
    found = runs.read(ROOT / "artifacts").get("run") or runs.left_by_runs(ROOT / "artifacts")
    if switched_on:
        _check(found)
    return found or {"together": NOTHING, "alone": NOTHING}


def _check(found):
    """Only a whole run has figures to tell."""
    if not found:
        pytest.skip("make costs has not been run")
    for one in filter(None, (found["together"], found["alone"])):
        if one.get("exit") or one.get("left out"):
            tests = (
                f"{one['left out']} tests had no trainings in the store, exit code {one['exit']}"
            )
            pytest.skip(f"the last `make costs` was not whole: {tests}; run `make claims` first")


def test_a_warm_run(benchmark, measured, run):
    warm = benchmark.pedantic(lambda: run["together"])
    even = sum(warm["busy"].values()) / warm["workers"]
    measured(
        "warm laptop run", warm["seconds"], unit="s", relation="<=", target=60, against=LATER, tests=warm["tests"],
        workers=warm["workers"], limit=even, limit_is="the seconds of its tests, shared out evenly",
        why="what is not a training is computed anew in every run: trained networks are judged again, exact and "
        "certified arithmetic is done again; the table below has the claims on which the seconds go",
    )  # fmt: skip


def test_two_workers(benchmark, measured, run):
    reached, told = benchmark.pedantic(lambda: runs.shared(run["together"], run["alone"]))
    measured(
        "two workers, of the ideal speed-up", reached, unit="of 1", relation=">=", target=0.85, limit=1.0,
        limit_is="both always at work, neither slower for the other", against=LATER,
        note=told,
        why="two workers share caches and memory, and virtual cores may be threads of one; at the end one waits",
    )  # fmt: skip


def largest_of(run):
    """The peak of a run, and the claims that added most to it; runs of before told only the peak."""
    claims = [(Path(test.partition("::")[0]), added) for test, added in run.get("largest", [])[:3]]
    told = [f"{file.parent.name}/`{file.name}` {added / 1e9:.2f} GB" for file, added in claims]
    return run.get("peak") or 0, ", ".join(told)


def test_the_memory_of_a_worker(benchmark, measured, switched_on, run):
    """Of the warm run, or of the one from nothing (`python -m repro.costs --cold`) if that is more."""
    cold = runs.read(ROOT / "artifacts").get("cold", {}).get("laptop", {})
    peak, told = benchmark.pedantic(lambda: max(map(largest_of, (run["together"], cold))))
    if switched_on and not peak:
        pytest.skip("make costs has not been run")
    measured(
        "largest process of a laptop run, at its peak", peak / 1e9, unit="GB",
        relation="<=", target=2, against="all claims at laptop scale, with and without trainings in the store",
        limit=imported() / 1e9 if switched_on else None, limit_is="a process that has imported torch",
        note=told and f"added most: {told}", why="the claims that add most are told beside it",
    )  # fmt: skip


def imported():
    """Bytes of a process that has imported torch."""
    code = "import torch; from repro.costs import sampling; print(sampling.peak())"
    return int(subprocess.check_output([sys.executable, "-c", code], cwd=ROOT))
