"""Two ways of doing the same thing, timed in turns in one process, and the table of what was found.

No time is asserted. Without --benchmark-enable every body runs once, small, so that it cannot rot,
and nothing is written. `make bench` keeps the figures in artifacts/benchmarks.json and shows them
in artifacts/benchmarks.html; one that is measured again replaces the one of its name.
"""

import platform
import re
import statistics
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from repro import files
from repro.harness import provenance
from tools import pages

ARTIFACTS = Path(__file__).parents[2] / "artifacts"
SCHEMA = 3
NEAR = 0.25  # exponents are "about" a whole number within this: its neighbours are 1 away
TIMES, EXPONENT = "×", "exponent"  # units; others are seconds and milliseconds
SIGNS = {">=": "≥", "<=": "≤", "≈": "≈"}


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str
    against: str
    relation: str = ">="
    target: float | None = None
    setting: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)  # its date, commit and processor

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if self.target is None:
            return None
        if self.relation == "≈":
            return abs(self.value - self.target) <= NEAR
        return self.value >= self.target if self.relation == ">=" else self.value <= self.target

    @property
    def told(self) -> str:
        return self._amount(self.value)

    @property
    def aim(self) -> str:
        return "" if self.target is None else f"{SIGNS[self.relation]} {self._amount(self.target)}"

    def _amount(self, value: float) -> str:
        digits = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return digits + {TIMES: TIMES, EXPONENT: ""}.get(self.unit, f" {self.unit}")


def add(artifacts: Path, figure: Figure) -> Path:
    """Write the table again, with this figure in it; its place is returned."""
    try:
        kept = files.read_json(artifacts / "benchmarks.json", schema=SCHEMA)["figures"]
    except (FileNotFoundError, files.DamagedFile):
        kept = []
    known = {one["name"]: Figure(**one) for one in kept} | {figure.name: figure}
    figures = [known[name] for name in sorted(known)]
    document = {"schema": SCHEMA, "figures": [asdict(one) for one in figures]}
    files.write_json(artifacts / "benchmarks.json", document)
    return pages.write(artifacts / "benchmarks.html", "benchmarks/page.html", figures=figures)


# --- fixtures ------------------------------------------------------------------------------------


@pytest.fixture
def switched_on(benchmark):
    return benchmark.enabled


@pytest.fixture
def in_rounds(benchmark):
    return benchmark.pedantic


@pytest.fixture
def write():
    return lambda figure: add(ARTIFACTS, figure)


@pytest.fixture
def measured(switched_on, write, capsys):
    """Write down one figure, in its unit, beside its target if it has one."""

    def measured(name, value, *, unit, against, relation=">=", target=None, **setting):
        git = provenance.git_state(ARTIFACTS.parent)["git"]
        run = {"started": provenance.now(), "git": git, "processor": processor()}
        figure = Figure(name, float(value), unit, against, relation, target, setting, run)
        if switched_on:
            write(figure)
            with capsys.disabled():
                print(f"\n    {name}: {figure.told}{' MISSED' if figure.met is False else ''}")

    return measured


def processor():
    file = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*: (.+)$", file.read_text(), re.M) if file.exists() else None
    return named[1] if named else platform.processor()


@pytest.fixture
def compare(in_rounds, measured):
    """Time `slow` and `fast` in turns; how many times faster `fast` is, in the median turn.

    The first turn warms up and is not timed: in it `same(fast(), slow())` asserts that both compute
    the same. A `fast` that is over too soon for the clock makes several `calls` in its turn.
    Whatever else is given is the setting.
    """

    def compare(name, *, fast, slow, same, against, target=None, rounds=7, calls=1, **setting):
        same(fast(), slow())
        turns = []
        in_rounds(lambda: turns.append((seconds(fast, calls), seconds(slow))), rounds=rounds)
        ratios = [slow / fast for fast, slow in turns]
        each = [f"{statistics.median(times):.3g}" for times in zip(*turns, strict=True)]
        measured(
            name, statistics.median(ratios), unit=TIMES, target=target, against=against,
            seconds=" against ".join(each),
            turns=f"{len(ratios)}, from {min(ratios):.3g} to {max(ratios):.3g}", **setting,
        )  # fmt: skip

    return compare


@pytest.fixture
def growth(in_rounds, measured, switched_on):
    """Time what `prepare(size)` gives, all sizes in turns; p in time ~ size^p, from the fastest.

    The first turn is not timed: in it `right(size, result)` asserts that the results are right.
    """

    def growth(name, sizes, prepare, *, right, of, about, rounds):
        from repro.numerics import rates

        runs, turns = [prepare(size) for size in sizes], []
        for size, run in zip(sizes, runs, strict=True):
            right(size, run())
        in_rounds(lambda: turns.append([seconds(run) for run in runs]), rounds=rounds)
        if switched_on:
            fastest = [min(times) for times in zip(*turns, strict=True)]
            measured(
                name, rates.slope(sizes, fastest).slope, unit=EXPONENT, relation="≈", target=about,
                against=f"the exponent p in time ~ {of}^p", **{of: list(sizes)},
                seconds=f"{fastest[0]:.3g} to {fastest[-1]:.3g}",
            )  # fmt: skip

    return growth


def seconds(function, calls=1):
    began = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - began) / calls


def within(part):
    """For `compare`: no number is further off than this part of the other; and 0 would be."""

    def same(found, wanted):
        for a, b in zip(found, wanted, strict=True):
            assert a.shape == b.shape
            gap, most = (a - b).abs(), part * b.abs()
            assert (gap <= most).all(), f"two ways are apart by up to {gap.max():.3g}"
            assert (b.abs() > most).any(), "so much is allowed that zeros would agree"

    return same


identical = within(0)


@pytest.fixture
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
