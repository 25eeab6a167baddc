"""What whole runs cost from nothing, and the ten dearest claims: from what the last runs left.

By `make bench` (measuring.py). Seconds of tests and trainings are in results.json; nothing is run.
"""

from pathlib import Path

import pytest

from repro import costs

PART = 7
pytestmark = pytest.mark.timing
ARTIFACTS = Path(__file__).parent.parent / "artifacts"
CORES = 2
HOW = "sum of the seconds of all tests and trainings, each training once, over two cores"


def ran(folder):
    return [claim for claim in costs.latest_results(folder).get("claims", []) if claim["tests"]]


def minutes(claims):
    return costs.from_nothing(claims) / CORES / 60


def longest(claims):
    """The longest chain that cannot be shared out: one training, or one test."""
    tests = (test["seconds"] or 0.0 for claim in claims for test in claim["tests"])
    return max(*costs.trainings(claims).values(), *tests) / 60


@pytest.mark.parametrize(("data", "told"), [(False, "without data sets"), (True, "with data sets")])
def test_laptop_from_nothing(benchmark, measured, data, told):
    claims = [claim for claim in ran(ARTIFACTS) if data or not claim["data"]]
    measured(
        f"cold laptop run, {told}", benchmark.pedantic(lambda: minutes(claims)), unit="min", relation="<=",
        target=45, against=HOW, limit=longest(claims), limit_is="the longest training or test", claims=len(claims),
        why="trainings on images and sentences that need `make data` come on top of what everyone can run",
        note="seconds by the clock of the run in which each was made, with whatever else ran then",
    )  # fmt: skip


def test_smoke_from_nothing(benchmark, measured, switched_on):
    claims = ran(ARTIFACTS / "smoke")
    if switched_on and not claims:
        pytest.skip("make test has not been run")
    found = benchmark.pedantic(lambda: minutes(claims))
    measured(
        "cold smoke run", found, unit="min", relation="<=", target=6, against=HOW, claims=len(claims),
        limit=longest(claims) if claims else None, limit_is="the longest training or test",
    )  # fmt: skip


@pytest.mark.parametrize("when", ["cold", "warm"])
def test_the_dearest_claims(benchmark, recorder, switched_on, when):
    """With the profiles of `python -m repro.costs --profiles`, where there are some."""
    rows = benchmark.pedantic(lambda: costs.dearest(ran(ARTIFACTS), when))
    known = costs.read(ARTIFACTS).get("profiles", {})
    assert len(rows) == costs.DEAREST
    if switched_on:
        recorder.tell(
            **{f"dearest {when}": [{**row, "functions": known.get(row["id"], [])} for row in rows]}
        )
