import os
import platform
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from demo import Demo

RATIOS = Path(__file__).parent.parent / "artifacts/benchmarks.json"


def approx(expected, rel=None, abs=None, nan_ok=False):
    """pytest's own, unless its default abs=1e-12 is a good part of the number: that cannot fail."""
    found = np.asarray(expected) if not isinstance(expected, dict) else np.asarray([0.0])
    sizes = np.abs(found[found != 0].astype(float)) if found.dtype.kind in "fi" else np.ones(1)
    if abs is None and sizes.size and sizes.max() < 1e-10:
        raise ValueError(f"approx({expected}, rel={rel}): anything within 1e-12 passes; say abs=0")
    return APPROX(expected, rel=rel, abs=abs, nan_ok=nan_ok)


APPROX, pytest.approx = pytest.approx, approx


def pytest_collection_modifyitems(items):
    """The one test that takes minutes begins first: at the end the other workers would wait."""
    items.sort(key=lambda item: item.path.name != "test_same_numbers.py")


@pytest.fixture
def demo(tmp_path) -> Iterator[Demo]:
    project = Demo(tmp_path)
    yield project
    project.end()


@pytest.fixture(scope="session")
def ratios():
    """What the benchmarks found; written when the last has run, if they were switched on."""
    found = []
    yield found
    if found:
        import torch

        from repro import files

        machine = {
            "cores": os.cpu_count(),
            "platform": platform.machine(),
            "torch": torch.__version__,
        }
        files.write_json(RATIOS, {"ratios": found, "machine": machine})


@pytest.fixture
def switched_on(benchmark):
    """Without --benchmark-enable the bodies run once, so that they cannot rot."""
    return benchmark.enabled


@pytest.fixture
def compare(benchmark, ratios, switched_on):
    """Time `slow` and `fast` in turns; how many times faster `fast` is, in the median of the turns.

    A `fast` that is over too soon for the clock makes several `calls` in its turn.
    """

    def compare(name, *, fast, slow, against, target, rounds=7, calls=1, **params):
        if not switched_on:
            fast()
            slow()
            benchmark(lambda: None)
            return
        pairs = [(seconds(fast, calls), seconds(slow)) for _ in range(rounds)]
        ratio = statistics.median(s / f for f, s in pairs)
        benchmark.pedantic(fast, rounds=3, iterations=1)
        ratios.append(
            {
                "name": name,
                "ratio": ratio,
                "target": target,
                "against": against,
                "limit_ratio": None,
                "params": params,
                "note": "",
            }
        )

    return compare


@pytest.fixture
def growth(benchmark, ratios, switched_on):
    """Time what `prepare(size)` gives, all sizes in turns; p in time ~ size^p, from the fastest turns.

    The first turn does not count. The entry's ratio is the factor of a doubling, 2^p.
    """

    def growth(name, sizes, prepare, *, of, rounds=7, **params):
        from repro.numerics import rates

        runs = [prepare(size) for size in sizes]
        if not switched_on:
            runs[0]()
            benchmark(lambda: None)
            return
        turns = [[seconds(run) for run in runs] for _ in range(rounds + 1)]
        rate = rates.slope(sizes, [min(times) for times in zip(*turns[1:], strict=True)])
        benchmark.pedantic(runs[0], rounds=3, iterations=1)
        ratios.append(
            {
                "name": name,
                "ratio": 2**rate.slope,
                "target": None,
                "against": f"half of {of}: the exponent is {rate.slope:.2f}",
                "limit_ratio": None,
                "params": {of: list(sizes), **params},
                "note": str(rate),
            }
        )

    return growth


def seconds(function, calls=1):
    began = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - began) / calls
