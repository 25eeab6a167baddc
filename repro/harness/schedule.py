"""Order and distribution: the slowest claim first, one at a time to whichever worker is free.

xdist's own schedulers hand out blocks, which ruins slowest-first; and its groups do nothing with
pytest 9.2. The order must be the same in every worker, also in one that is started later: the
controller reads the durations once and sends them along.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from repro import files
from repro.harness.project import SCALES
from repro.results.types import Result

FILE = "durations.json"
LONGEST = 10**9  # seconds


def from_nothing(claims: Iterable[Result]) -> dict[str, float]:
    """Seconds of each test if its trainings had to be made: for a first run, kept in a snapshot."""
    found = {}
    for claim in claims:
        for test in claim.tests:
            reused = (one for one in test.trainings if one.reason.startswith("reused"))
            seconds = test.seconds + sum(one.seconds for one in reused)
            found[f"{test.scale} {claim.file}::{test.test}"] = round(seconds, 1)
    return found


def read_durations(artifacts: Path) -> dict[str, float]:
    """Seconds by 'scale nodeid' of earlier runs; a damaged file costs only the order."""
    try:
        found = files.read_json(artifacts / FILE)
    except (FileNotFoundError, files.DamagedFile):
        return {}
    numbers = {key: value for key, value in found.items() if isinstance(value, (int, float))}
    return {key: float(value) for key, value in numbers.items() if abs(value) < LONGEST}


def sort_key(nodeid: str, scale: str, durations: Mapping[str, float]) -> tuple[float, str]:
    """Slowest first, by this scale or else by another; what has never run may be slow: before."""
    keys = (f"{one} {nodeid}" for one in (scale, *SCALES))
    known = next((durations[key] for key in keys if key in durations), float("inf"))
    return (-known, nodeid)


def one_at_a_time(config: Any, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class OneClaimAtATime(LoadScopeScheduling):
        """Every test is a scope of its own, and a test that killed its worker is not run again."""

        def _split_scope(self, nodeid: str) -> str:
            return nodeid

        def _reschedule(self, node: Any) -> None:
            """A worker starts a test only when it knows the next: one at work, one waiting."""
            if not self.workqueue or self._pending_of(self.assigned_work[node]) < 2:
                super()._reschedule(node)

        def remove_node(self, node: Any) -> str | None:
            """The test at which the worker died; those that waited behind it go to the others."""
            units = self.assigned_work.pop(node).values()
            waiting = [nodeid for unit in units for nodeid, done in unit.items() if not done]
            for nodeid in reversed(waiting[1:]):
                self.workqueue[nodeid] = {nodeid: False}
                self.workqueue.move_to_end(nodeid, last=False)
            for other in self.assigned_work:
                self._reschedule(other)
            return waiting[0] if waiting else None

    return OneClaimAtATime(config, log)
