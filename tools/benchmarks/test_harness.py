"""What the harness costs: a claim, the list of all, two workers, their memory.

By `make bench` (measuring.py). Claims and the list are run here, in processes of their own; the run
of all claims is that of `make costs`.
"""

import os
import statistics
import subprocess
import sys
from dataclasses import astuple, dataclass
from pathlib import Path

import pytest

from tools.costs import claims as of_claims
from tools.costs import runs, sampling

PART = 6
pytestmark = pytest.mark.timing
ROOT = Path(__file__).parents[2]


# --- processes that are run here -----------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """Of the processes that a function starts: seconds by the clock, and of the processor."""

    clock: float
    processor: float

    @classmethod
    def of(cls, function):
        before = os.times()
        function()
        spent = [now - then for now, then in zip(os.times(), before, strict=True)]
        _, _, user, system, elapsed = spent
        return cls(elapsed, user + system)

    def beyond(self, other, count):
        """Milliseconds more for each of so many."""
        return Cost(
            *(1000 * (a - b) / count for a, b in zip(astuple(self), astuple(other), strict=True))
        )


@pytest.fixture
def in_turns(in_rounds):
    """What each of two functions costs, in turns; the medians."""

    def median(costs):
        return Cost(*(statistics.median(kind) for kind in zip(*map(astuple, costs), strict=True)))

    def in_turns(*functions, rounds):
        turns = []
        in_rounds(lambda: turns.append([Cost.of(one) for one in functions]), rounds=rounds)
        return [median(costs) for costs in zip(*turns, strict=True)]

    return in_turns


def test_what_is_added_is_told_for_each_in_milliseconds():
    assert Cost(3.0, 2.5).beyond(Cost(1.0, 2.0), 100) == Cost(20.0, 5.0)


PLAIN = """
def test_one():
    assert 0.5 <= 1.0

def test_other():
    assert 2.0 >= 1.0
"""


def test_what_the_harness_adds_to_a_claim(in_turns, measured, switched_on, demo, tmp_path_factory):
    """Many claims, each a test and a control in a file, against as many plain files of two tests."""
    count, plain_files = 100 if switched_on else 2, tmp_path_factory.mktemp("plain")
    for k in range(count):
        demo.claim(f"lemma-{k}")
        (plain_files / f"test_plain_{k}.py").write_text(PLAIN)

    def claims():
        passed(demo.run("-q", "claims"))

    def plain():
        command = f"{sys.executable} -m pytest -q -p no:cacheprovider --rootdir=. .".split()
        passed(subprocess.run(command, cwd=plain_files, capture_output=True, text=True, check=False))  # fmt: skip

    def passed(run):
        assert f"{2 * count} passed" in run.stdout, run.stdout

    bare, ours = in_turns(plain, claims, rounds=5)
    added = ours.beyond(bare, count)
    measured(
        "what the harness adds to a small claim, by the clock", added.clock, unit="ms", relation="<=", target=20,
        against="as many plain files of two tests, by the clock; the start of the harness and its pages are included",
        note=f"{added.processor:.1f} ms of the processor; a plain file takes {1000 * bare.clock / count:.1f} ms by the clock, its"
        " start shared out", claims=count,
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
    first = Cost.of(lists)
    bare, listed = in_turns(imports, lists, rounds=5)
    measured(
        "listing all claims", listed.clock, unit="s", relation="<=", target=3, against="pytest --co -q, by the clock",
        limit=bare.clock, limit_is="to import pytest and its plugins",
        note=f"{listed.processor:.2f} s of the processor; {first.clock:.1f} s the first time, when Python compiles all files;"
        " then it keeps them",
    )  # fmt: skip


# --- the run of `make costs` ---------------------------------------------------------------------

WARM = "a run of all claims with all trainings in the store, by the clock (`make costs`)"
HARNESS = of_claims.kind("repro/harness/plugin.py")
ANEW = (
    "all of it is computed anew: nothing but trainings and searches is kept between runs, as a claim that only compares"
    " stored numbers would check nothing"
)


@pytest.fixture
def run(earlier):
    """The latest of `make costs`."""
    return earlier("run", command="make costs")


def made_of(kinds):
    """On what a run spends most of its seconds."""
    whole = sum(kinds.values())
    most = [f"{100 * spent / whole:.0f} % on {kind}" for kind, spent in [*kinds.items()][:3]]
    return "; ".join(most)


def test_a_warm_run(benchmark, measured, run):
    warm = benchmark.pedantic(lambda: run["together"])
    each = 1000 / len(warm["busy"])
    measured(
        "warm laptop run", warm["seconds"], unit="s", relation="<=", target=60, against=WARM,
        limit=sum(warm["busy"].values()) / warm["workers"], limit_is="the seconds of its tests, shared out evenly",
        why=f"its tests spend {made_of(warm['kinds'])}; {ANEW}",
        note=f"a claim costs {each * warm['kinds'][HARNESS]:.0f} ms for {HARNESS}, in workers, and"
        f" {each * warm['controller']:.0f} ms in the process that shares out the tests", tests=warm["tests"], workers=warm["workers"], by=run.get("header"),
    )  # fmt: skip


def test_two_workers(benchmark, measured, run):
    found = benchmark.pedantic(lambda: runs.Shared.of(run))
    measured(
        "two workers against one, of the ideal speed-up", found.reached, unit="of 1", relation=">=", target=0.85,
        against="the same run by one worker: half its seconds over those of two", limit=1.0, limit_is="half the time",
        why=found.told, by=run.get("header"),
        seconds=f"{run['alone']['seconds']:.0f} by one, {run['together']['seconds']:.0f} by two",
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
    cold = earlier("cold", "laptop", command="python -m tools.costs --cold")
    found = {largest_of(run["together"]): run, largest_of(cold["laptop"]): cold}
    peak, told = benchmark.pedantic(lambda: max(found))
    measured(
        "largest process of a laptop run, at its peak", peak / 1e9, unit="GB", relation="<=", target=2,
        against="all claims at laptop scale, with and without trainings in the store",
        limit=with_torch_imported() / 1e9, limit_is="a process that has imported torch, now",
        note=told and f"added most: {told}", by=found[peak, told].get("header"),
    )  # fmt: skip


def with_torch_imported():
    """Bytes of a process that has done nothing else."""
    code = f"import torch; from {sampling.__name__} import peak; print(peak())"
    return int(subprocess.check_output([sys.executable, "-c", code], cwd=ROOT))
