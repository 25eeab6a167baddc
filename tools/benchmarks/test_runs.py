"""What whole runs cost from nothing, and the ten dearest claims: from what earlier runs left.

By `make bench` (measuring.py). The runs are those of `python -m tools.costs --cold`; none is made.
"""

import pytest

from tools.costs import claims

PART = 7
pytestmark = pytest.mark.timing
BY_THE_CLOCK = "one run from an empty store, two workers, by the clock"


@pytest.fixture
def cold(earlier):
    """The latest ones; each scale by itself has to be whole."""
    return lambda scale: earlier("cold", scale, command="python -m tools.costs --cold")


@pytest.mark.parametrize(
    ("scale", "target", "name"),
    [("smoke", 6, "cold smoke run"), ("laptop", 45, "cold laptop run, with data sets")],
)
def test_from_nothing(benchmark, measured, cold, scale, target, name):
    found = benchmark.pedantic(lambda: cold(scale))
    run = found[scale]
    measured(
        name, run["seconds"] / 60, by=found.get("header"), unit="min", relation="<=", target=target, tests=run["tests"],
        against=BY_THE_CLOCK, limit=run["longest"] / 60, limit_is="its longest training or test",
    )  # fmt: skip


def test_laptop_without_data_sets(benchmark, measured, cold):
    """At most, if no worker waits for the other: the longest test may be left for the last."""
    found = benchmark.pedantic(lambda: cold("laptop"))
    run = found["laptop"]
    even, longest = run["work without data"] / run["workers"], run["longest without data"]
    measured(
        "cold laptop run, without data sets, at most", at_most(even, longest, run["workers"]) / 60, unit="min", relation="<=", target=45,
        limit=longest / 60, limit_is="its longest test, with the trainings that it makes", by=found.get("header"),
        against="what such tests and trainings took in that run, in the worst order for two workers, none waiting for the other",
        note=f"{even / 60:.1f} min, shared out evenly",
    )  # fmt: skip


def at_most(even, longest, workers):
    """Whoever is free takes any test (Graham 1969): the last to end began when all were at work."""
    return even + (1 - 1 / workers) * longest


def test_the_worst_order_leaves_the_longest_for_the_last():
    """1, 1 and 2 on two workers: 3 if the 2 comes last, 2 if it comes first."""
    assert at_most(even=2, longest=2, workers=2) == 3


@pytest.mark.parametrize(
    ("when", "kind", "which", "command"),
    [("cold", "cold", "laptop", "--cold"), ("warm", "run", "together", "--run")],
)
def test_the_dearest_claims(benchmark, recorder, switched_on, earlier, when, kind, which, command):
    """Of the same run as its seconds."""
    known = earlier(kind, which, command=f"python -m tools.costs {command}")[which]
    rows = benchmark.pedantic(lambda: known["dearest"])
    assert all(row["functions"] for row in rows), "a claim that was not seen at work"
    if switched_on:
        assert len(rows) == claims.DEAREST
        recorder.tell(**{f"dearest {when}": rows})
