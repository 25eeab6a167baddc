"""What the harness costs: a claim, and the list of all.

In processes of their own, by the clock. A run of all claims is for `make costs`.
"""

import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tools.benchmarks.measuring import seconds
from tools.costs import runs

pytestmark = pytest.mark.timing
ROOT = Path(__file__).parents[2]
PLAIN = """
def test_one():
    assert 0.5 <= 1.0

def test_other():
    assert 2.0 >= 1.0
"""


def test_what_the_harness_adds_to_a_claim(in_rounds, measured, switched_on, demo, tmp_path_factory):
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

    turns = []
    in_rounds(lambda: turns.append((seconds(plain), seconds(claims))), rounds=5)
    bare, ours = map(statistics.median, zip(*turns, strict=True))
    measured(
        "what the harness adds to a small claim", 1000 * (ours - bare) / count, unit="ms", relation="<=", target=20,
        against="as many plain files of two tests; the start of the harness and its pages are included", claims=count,
        plain_file=f"{1000 * bare / count:.1f} ms",
    )  # fmt: skip


def test_listing(in_rounds, measured, switched_on, tmp_path):
    """All claims by name; torch is not imported for that. Python has compiled all files before."""
    environment = runs.keeping_compiled(tmp_path)
    some = "claims" if switched_on else "claims/fang2022/test_section_2_model.py"

    def listing():
        command = [sys.executable, "-m", "pytest", "--co", "-q", some]
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)

    listing()
    turns = []
    in_rounds(lambda: turns.append(seconds(listing)), rounds=5)
    measured(
        "listing all claims", statistics.median(turns), unit="s", relation="<=", target=3,
        against="pytest --co -q",
    )  # fmt: skip
