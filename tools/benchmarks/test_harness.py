"""What the harness costs: a claim, and the list of all.

By `make bench` (measuring.py), in processes of their own. A run of all claims is for `make costs`.
"""

import os
import statistics
import subprocess
import sys
from dataclasses import astuple, dataclass
from pathlib import Path

import pytest

from tools.costs import runs

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
        note=f"of these {bare.clock:.2f} s import pytest and its plugins; {listed.processor:.2f} s of the processor; {first.clock:.1f} s the first time, when Python compiles all files;"
        " then it keeps them",
    )  # fmt: skip
