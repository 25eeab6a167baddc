"""--time-limit: a claim test that takes longer is stopped where it is, and the run goes on.

The alarm is no Exception, so neither a claim nor the store takes it for a failure of the work: a
training that is stopped keeps its checkpoint, and the next run goes on from there. A call into C,
one long product of matrices, is stopped when it returns.
"""

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


class OutOfTime(BaseException):
    """The test has taken as long as it may."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """For the main thread, where pytest and its workers run tests."""

    def stop(*_: Any) -> None:
        raise OutOfTime(f"stopped after {seconds:g} s (--time-limit)")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
