"""What whole runs cost from nothing, and the ten dearest claims: from what earlier runs left.

By `make bench` (measuring.py). The runs are those of `python -m repro.costs --cold`; none is made.
"""

from pathlib import Path

import pytest

from repro.costs import claims, runs

PART = 7
pytestmark = pytest.mark.timing
ARTIFACTS = Path(__file__).parent.parent / "artifacts"
BY_THE_CLOCK = "one run from an empty store, two workers, by the clock"


@pytest.fixture
def cold():
    """The latest of each scale; where this machine has made none, the snapshot's."""

    def cold(scale):
        found = runs.read(ARTIFACTS).get("cold", {}).get(scale)
        return found or pytest.skip("python -m repro.costs --cold has not been run")

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
    """Shared out evenly; and at most, whoever is free taking any test: one may be left for the last."""
    run = benchmark.pedantic(lambda: cold("laptop"))
    even, longest = run["work without data"] / run["workers"], run.get("longest without data", 0.0)
    at_most = even + (1 - 1 / run["workers"]) * longest
    measured(
        "cold laptop run, without data sets", even / 60, unit="min", relation="<=", target=45, limit=longest / 60 or None,
        limit_is="its longest test, with the trainings that it makes", at_least=True,
        against="the seconds that such tests and trainings took in that run, over two workers",
        note=f"at most {at_most / 60:.1f} min in whatever order, if none waits for the other's training",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("when", "kind", "which", "command"),
    [("cold", "cold", "laptop", "--cold"), ("warm", "run", "together", "--run")],
)
def test_the_dearest_claims(benchmark, recorder, switched_on, when, kind, which, command):
    """Of the same run as its seconds; what was measured before a run told its claims is left."""
    known = runs.read(ARTIFACTS).get(kind, {}).get(which, {})
    rows = benchmark.pedantic(lambda: known.get("dearest", []))
    if switched_on and not rows:
        pytest.skip(f"python -m repro.costs {command} has not told the dearest claims")
    assert all(row["functions"] for row in rows), "a claim that was not seen at work"
    if switched_on:
        assert len(rows) == claims.DEAREST
        recorder.tell(**{f"dearest {when}": rows})
