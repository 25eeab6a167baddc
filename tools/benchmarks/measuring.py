"""Fixtures of the benchmarks: two things timed in turns in one process, written as they are found.

No time is asserted. Without --benchmark-enable every body runs once, small, so that it cannot rot,
and nothing is written.
"""

import platform
import re
import statistics
import subprocess
import time
from pathlib import Path

import pytest

from repro.harness import provenance, resources
from tools.benchmarks import page

ARTIFACTS = Path(__file__).parents[2] / "artifacts"


@pytest.fixture(scope="session")
def run():
    """The header of figures: which run, of what code, on which machine."""
    state = provenance.git_state(ARTIFACTS.parent)
    return {
        "id": provenance.new_run(), "started": provenance.now(), **state, "machine": machine()
    }  # fmt: skip


def machine():
    names = re.findall(r"^model name\s*: (.+)$", _text(Path("/proc/cpuinfo")), flags=re.M)
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": resources.cores(),
        "memory": f"{resources.memory_bytes() / 2**30:.0f} GB",
        **provenance.versions([*provenance.PACKAGES, "sympy", "pytest-benchmark"]),
        "C compiler": _first_line("cc", "--version"),
    }


def _first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "none"
    return done.stdout.partition("\n")[0].strip()


def _text(file):
    return file.read_text() if file.exists() else ""


@pytest.fixture
def switched_on(benchmark):
    return benchmark.enabled


@pytest.fixture
def in_rounds(benchmark):
    return benchmark.pedantic


@pytest.fixture
def write(run):
    return lambda figure: page.add(ARTIFACTS, run, figure)


@pytest.fixture
def measured(request, switched_on, write, capsys):
    """Write down one figure, in its unit, beside its target if it has one.

    `at_least`: the figure is a lower bound, as something was given up before its end.
    """

    def measured(
        name, value, *, unit, against, relation=">=", target=None, at_least=False, note="", **params
    ):
        part = (request.module.__doc__ or "").partition("\n")[0]
        figure = page.Figure(
            part, name, float(value), unit, against, relation, target, at_least, note, params
        )
        if switched_on:
            write(figure)
            with capsys.disabled():
                print(f"\n    {name}: {figure.told}{' MISSED' if figure.met is False else ''}")

    return measured


@pytest.fixture
def compare(in_rounds, measured):
    """Time `slow` and `fast` in turns; how many times faster `fast` is, in the median turn.

    The first turn warms up and is not timed: in it `same(fast(), slow())` asserts that both compute
    the same. A `fast` that is over too soon for the clock makes several `calls` in its turn; what
    makes several steps in one call says so with `repeats`. Whatever else is given is the setting.
    """

    def compare(
        name, *, fast, slow, same, against, target=None, rounds=7, calls=1, repeats=1, **setting
    ):
        same(fast(), slow())
        turns = []
        in_rounds(lambda: turns.append((seconds(fast, calls), seconds(slow))), rounds=rounds)
        ratios = [slow / fast for fast, slow in turns]
        each = [statistics.median(times) / repeats for times in zip(*turns, strict=True)]
        measured(
            name, statistics.median(ratios), unit=page.TIMES, target=target, against=against,
            seconds=" against ".join(f"{one:.3g}" for one in each),
            turns=f"{len(ratios)}, from {min(ratios):.3g} to {max(ratios):.3g}", **setting,
        )  # fmt: skip

    return compare


@pytest.fixture
def growth(in_rounds, measured, switched_on):
    """Time what `prepare(size)` gives, all sizes in turns; p in time ~ size^p, from the fastest.

    The first turn is not timed: in it `right(size, result)` asserts that the results are right.
    """

    def growth(name, sizes, prepare, *, right, of, about=None, at_most=None, rounds=7, **params):
        from repro.numerics import rates

        runs, turns = [prepare(size) for size in sizes], []
        for size, run in zip(sizes, runs, strict=True):
            right(size, run())
        in_rounds(lambda: turns.append([seconds(run) for run in runs]), rounds=rounds)
        if switched_on:
            fastest = [min(times) for times in zip(*turns, strict=True)]
            relation, target = ("≈", about) if at_most is None else ("<=", at_most)
            measured(
                name, rates.slope(sizes, fastest).slope, unit=page.EXPONENT, relation=relation,
                target=target, against=f"the exponent p in time ~ {of}^p", **{of: list(sizes)},
                seconds=f"{fastest[0]:.3g} to {fastest[-1]:.3g}", **params,
            )  # fmt: skip

    return growth


def seconds(function, calls=1):
    began = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - began) / calls


def agree(found, wanted, allowed):
    """No number is further from that of the other way than is allowed for it; and 0 would be.

    Three lists: of tensors, of tensors, and of what the two may be apart, as tensors or numbers.
    """
    for a, b, most in zip(found, wanted, allowed, strict=True):
        assert a.shape == b.shape
        gap = (a - b).abs()
        assert (gap <= most).all(), f"two ways are apart by up to {gap.max():.3g}"
        assert (b.abs() > most).any(), "so much is allowed that zeros would agree"


def within(part):
    """For `compare`: no number of the one is further off than this part of that of the other."""
    return lambda found, wanted: agree(found, wanted, [part * b.abs() for b in wanted])


identical = within(0)


@pytest.fixture
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
