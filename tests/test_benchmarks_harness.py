"""What the harness costs: a claim, the list of all, two workers, their memory.

By `make bench` (measuring.py). Claims and the list are run here, in processes of their own; the run
of all claims is that of `make costs`.
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from demo import PASSES

from repro.costs import runs, sampling

PART = 6
pytestmark = pytest.mark.timing
ROOT = Path(__file__).parent.parent


# --- processes that are run here -----------------------------------------------------------------


def work(function):
    """Seconds of the processor, of processes that a function starts: what else runs adds little."""
    before = os.times()
    function()
    after = os.times()
    user, system = (
        getattr(after, kind) - getattr(before, kind)
        for kind in ("children_user", "children_system")
    )
    return user + system


@pytest.fixture
def in_turns(in_rounds):
    """What each of two functions works, in turns; the medians."""

    def in_turns(*functions, rounds):
        turns = []
        in_rounds(lambda: turns.append([work(one) for one in functions]), rounds=rounds)
        return [statistics.median(times) for times in zip(*turns, strict=True)]

    return in_turns


def test_what_the_harness_adds_to_a_claim(in_turns, measured, switched_on, demo):
    """Many claim tests in one file against as many plain tests that do as little."""
    count = 200 if switched_on else 2
    many = f"\nimport pytest\n\n@pytest.mark.parametrize('k', range({count}))"
    demo.claim(
        "lemma-1", PASSES.replace("\nimport pytest\n", many).replace("(claim)", "(claim, k)")
    )
    (demo.root / "test_plain.py").write_text(f"{many}\ndef test_plain(k):\n    assert 0.5 <= 1.0\n")
    plain, claims = in_turns(
        lambda: demo.run("-q", "test_plain.py"), lambda: demo.run("-q", "claims"), rounds=3
    )
    measured(
        "what the harness adds to a claim", 1000 * (claims - plain) / count, unit="ms", relation="<=", target=20,
        against="as many plain tests, by processor time; the start of the harness and its page are included",
        note=f"a plain test takes {1000 * plain / count:.1f} ms, its start shared out", tests=count,
    )  # fmt: skip


def test_listing(in_turns, measured, switched_on, tmp_path):
    """All claims by name; torch is not imported for that. The first time everything is compiled."""
    environment = runs.keeping_compiled(tmp_path)

    def python(*arguments):
        command = [sys.executable, *arguments]
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)

    def imports():
        python("-c", "import pytest, xdist, pytest_benchmark, hypothesis")

    def lists():
        some = "claims" if switched_on else "claims/fang2022/test_section_2_model.py"
        python("-m", "pytest", "--co", "-q", some)

    imports()
    first = work(lists)
    bare, listed = in_turns(imports, lists, rounds=5)
    measured(
        "listing all claims", listed, unit="s", relation="<=", target=3, against="pytest --co -q, by processor time",
        limit=bare, limit_is="to import pytest and its plugins",
        note=f"{first:.1f} s the first time, when Python compiles all files; then it keeps them",
        why="the modules of all claims are imported and the ids of their tests sorted",
    )  # fmt: skip


# --- the run of `make costs` ---------------------------------------------------------------------

WARM = "a run of all claims with all trainings in the store, by the clock (`make costs`)"
ANEW = (
    "all of it is computed anew: nothing but trainings and searches is kept between runs, as a claim that only compares"
    " stored numbers would check nothing"
)


@pytest.fixture
def run(earlier):
    """The latest of `make costs`."""
    return earlier("run", "together", "alone", command="make costs")


def made_of(kinds):
    """On what a run spends its seconds, most first; runs of before did not tell."""
    whole = sum(kinds.values())
    return ", ".join(f"{100 * spent / whole:.0f} % on {kind}" for kind, spent in kinds.items())


def test_a_warm_run(benchmark, measured, run):
    warm = benchmark.pedantic(lambda: run["together"])
    told = made_of(warm.get("kinds", {}))
    measured(
        "warm laptop run", warm["seconds"], unit="s", relation="<=", target=60, against=WARM,
        limit=sum(warm["busy"].values()) / warm["workers"], limit_is="the seconds of its tests, shared out evenly",
        why=f"its tests spend {told}; {ANEW}" if told else ANEW, tests=warm["tests"], workers=warm["workers"], by=run.get("header"),
    )  # fmt: skip


def test_two_workers(benchmark, measured, run):
    reached, lost = benchmark.pedantic(lambda: runs.shared(run["together"], run["alone"]))
    measured(
        "two workers, of the ideal speed-up", reached, unit="of 1", relation=">=", target=0.85, against=WARM,
        limit=1.0, limit_is="both always at work, neither slower for the other", why=lost, lost=lost, by=run.get("header"),
    )  # fmt: skip


def largest_of(run):
    """The peak of a run, and the claims that added most to it; runs of before told only the peak."""
    claims = [(Path(test.partition("::")[0]), added) for test, added in run.get("largest", [])[:3]]
    told = [f"{file.parent.name}/`{file.name}` {added / 1e9:.2f} GB" for file, added in claims]
    return run.get("peak") or 0, ", ".join(told)


def test_the_largest_process_is_told_with_what_added_most():
    run = {"peak": 3 * 10**9, "largest": [["claims/p/test_a.py::test_b[c]", 2 * 10**9]]}
    assert largest_of(run) == (3 * 10**9, "p/`test_a.py` 2.00 GB")


def test_the_memory_of_a_worker(benchmark, measured, run, earlier):
    """Of the warm run, or of the one from nothing if that is more."""
    cold = earlier("cold", "laptop", command="python -m repro.costs --cold")
    found = {largest_of(run["together"]): run, largest_of(cold["laptop"]): cold}
    peak, told = benchmark.pedantic(lambda: max(found))
    measured(
        "largest process of a laptop run, at its peak", peak / 1e9, unit="GB", relation="<=", target=2,
        against="all claims at laptop scale, with and without trainings in the store",
        limit=with_torch_imported() / 1e9, limit_is="a process that has imported torch",
        note=told and f"added most: {told}", why="the claims that add most are told beside it",
        by=found[peak, told].get("header"),
    )  # fmt: skip


def with_torch_imported():
    """Bytes of a process that has done nothing else."""
    code = f"import torch; from {sampling.__name__} import peak; print(peak())"
    return int(subprocess.check_output([sys.executable, "-c", code], cwd=ROOT))
