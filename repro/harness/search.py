"""Random samples by hypothesis, shrunk to the smallest case that fails."""

import contextlib
from collections.abc import Callable
from typing import Any

from repro.harness.progress import Reporter


def smallest_failure(
    cases: Any, difference: Callable[[Any], Any], seed: int, examples: int, progress: Reporter
) -> tuple[int, tuple[Any, Any] | None]:
    """How many cases hypothesis tried, and the smallest failing one with its difference, if any."""
    import hypothesis

    tried = 0
    worst: tuple[Any, Any] | None = None

    class Found(Exception):
        pass

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=examples, deadline=None, database=None, print_blob=False)
    @hypothesis.given(cases)
    def search(case: Any) -> None:
        nonlocal tried, worst
        tried += 1
        progress(tried, examples)
        found = difference(case)
        if found != 0:
            worst = (case, found)
            raise Found

    with contextlib.suppress(Found):
        search()
    return tried, worst
