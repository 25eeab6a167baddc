"""What whole runs cost from nothing, and the ten dearest claims: from what earlier runs left.

By `make bench` (measuring.py). The runs are those of `python -m repro.costs --cold`; none is made.
"""

from pathlib import Path

import pytest

from repro import costs

PART = 7
pytestmark = pytest.mark.timing
ARTIFACTS = Path(__file__).parent.parent / "artifacts"
BY_THE_CLOCK = "one run from an empty store, two workers, by the clock"
NOTHING = {"seconds": 1.0, "workers": 2, "work without data": 1.0, "longest": 1.0, "tests": 1}


def ran(folder):
    return [claim for claim in costs.latest_results(folder).get("claims", []) if claim["tests"]]


@pytest.fixture
def cold(switched_on):
    def cold(scale):
        found = costs.read(ARTIFACTS).get("cold", {}).get(scale)
        if switched_on and not found:
            pytest.skip("python -m repro.costs --cold has not been run")
        return found or NOTHING

    return cold


@pytest.mark.parametrize(
    ("scale", "target", "name"),
    [("smoke", 6, "cold smoke run"), ("laptop", 45, "cold laptop run, with data sets")],
)
def test_from_nothing(benchmark, measured, cold, scale, target, name):
    run = benchmark.pedantic(lambda: cold(scale))
    measured(
        name, run["seconds"] / 60, unit="min", relation="<=", target=target, tests=run["tests"],
        against=BY_THE_CLOCK, limit=run["longest"] / 60, limit_is="its longest training or test",
        why="trainings on images and sentences that need `make data` come on top of what everyone can run",
    )  # fmt: skip


def test_laptop_without_data_sets(benchmark, measured, cold):
    run = benchmark.pedantic(lambda: cold("laptop"))
    measured(
        "cold laptop run, without data sets", run["work without data"] / run["workers"] / 60, unit="min",
        relation="<=", target=45, limit=run["longest"] / 60, limit_is="its longest training or test",
        against="the seconds that such tests and trainings took in that run, over two workers",
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
