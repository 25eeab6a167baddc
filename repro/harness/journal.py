"""The controller's book of a run: what was collected, what runs, what has reported, and the page.

Lives in the controlling process only (the only process without xdist). It reads the records that
the workers write, never anything that crossed a process border except node ids and outcomes.
"""

import threading
import time
from collections.abc import Callable

from filelock import FileLock

from repro import files
from repro.harness import progress, provenance, records, schedule, verdicts
from repro.harness.assembly import Assembly
from repro.harness.options import Context
from repro.harness.project import ClaimTest, claim_test
from repro.results import codec
from repro.results.types import Result, Results, Run

SHARE = 0.05  # of the time of a run that making the page may take: it has no core of its own
PATIENCE = 60.0  # seconds for another run on the same folder to finish its page


class Journal:
    def __init__(
        self, context: Context, run: Run, show: Callable[[Results, set[str] | None], None]
    ) -> None:
        """`show` makes the page of these results, of all claims or of some that changed."""
        self.project, self.ledger = context.project, context.ledger
        self.artifacts, self.rootpath = context.artifacts, context.rootpath
        self.run, self.show = run, show
        self.expected: dict[str, ClaimTest] = {}
        self.reported: set[str] = set()
        self.durations: dict[str, float] = {}
        self.running: dict[str, float] = {}
        self.assembly = Assembly(self.project, self.ledger, self.artifacts)
        self.publisher = Publisher(self.publish)

    def collected(self, nodeids: list[str]) -> None:
        for nodeid in nodeids:
            if name := claim_test(self.project, self.ledger, self.rootpath, nodeid):
                self.expected[nodeid] = name
        self.run.collected = len(self.expected)

    def started(self, nodeid: str) -> None:
        if nodeid in self.expected:
            self.running[nodeid] = time.monotonic()
            self.publisher.wake.set()

    def finished(self, nodeid: str, seconds: float) -> None:
        if nodeid in self.expected:
            self.running.pop(nodeid, None)
            self.reported.add(nodeid)
            self.durations[f"{self.run.scale} {nodeid}"] = round(seconds, 3)
            self.run.reported = len(self.reported)
            self.publisher.wake.set()

    def crashed(self, nodeid: str, message: str) -> None:
        if nodeid in self.expected:
            records.mark(self.expected[nodeid].record(self.artifacts), "crashed", message)
            self.finished(nodeid, 0.0)

    def lines(self) -> list[str]:
        """For the heartbeat: a few words on each running claim."""
        return [
            progress.line(
                f"{name.statement.id} {name.test}",
                time.monotonic() - since,
                name.record(self.artifacts).with_suffix(".progress"),
            )
            for nodeid, since in list(self.running.items())
            if (name := self.expected.get(nodeid))
        ]

    def ran(self) -> list[Result]:
        """The statements that this run was about, in the order of the ledger."""
        touched = {name.statement.id for name in self.expected.values()}
        return [self.assembly.claim(id) for id in self.ledger.statements if id in touched]

    def reconcile(self) -> list[str]:
        """Tests that were collected and never reported; their records get their last state."""
        lost = []
        for nodeid, name in self.expected.items():
            if nodeid in self.reported:
                continue
            path = name.record(self.artifacts)
            records.mark(path, "interrupted", "the run ended while this was running")
            found = records.read(path, self.assembly.messages)
            of_this_run = found is not None and found.run == self.run.id
            state = found.state if found and of_this_run else "not run"
            ended = " (unreported)" if state in ("passed", "failed") else ""
            lost.append(f"{nodeid}: {state}{ended}")
        return lost

    def close(self, *, interrupted: bool) -> list[str]:
        """Stop publishing, write everything once more; returns where ledger and run disagree."""
        self.publisher.stop()
        self.run.state = "interrupted" if interrupted else "finished"
        self.run.finished = provenance.now()
        if self.durations:
            known = schedule.read_durations(self.artifacts)
            files.write_json(self.artifacts / schedule.FILE, {**known, **self.durations})
        self.publish(everything=True)
        self._forget_old_runs()
        return [line for claim in self.ran() for line in verdicts.disagreements(claim)]

    def _forget_old_runs(self) -> None:
        """Headers of runs of which nothing is shown any more."""
        claims = map(self.assembly.claim, self.ledger.statements)
        shown = {self.run.id, *(test.run for claim in claims for test in claim.tests)}
        for path in self.artifacts.glob("runs/*.json"):
            if path.stem not in shown:
                path.unlink(missing_ok=True)

    def publish(self, *, everything: bool = False) -> None:
        """Write results.json and the page anew, for `everything` or for what has been recorded.

        Two runs may share the folder. Whoever writes has read all that is there, so the last word
        of the one is not lost to a page that the other had begun before.
        """
        headers = self.artifacts / "runs"
        codec.write(headers / f"{self.run.id}.json", self.run)
        with FileLock(headers / ".lock", timeout=PATIENCE):
            ids = set(self.ledger.statements) if everything else self.assembly.outdated()
            self.assembly.refresh(ids)
            self.show(self.assembly.write(self.run, ids), None if everything else ids)


class Publisher(threading.Thread):
    """Makes the page again after every change: at once, but in no more than SHARE of the time."""

    def __init__(self, publish: Callable[[], None]) -> None:
        super().__init__(name="publisher", daemon=True)
        self.publish, self.wake = publish, threading.Event()
        self.failure: Exception | None = None
        self._stopped = threading.Event()

    def run(self) -> None:
        while self.wake.wait() and not self._stopped.is_set():
            self.wake.clear()
            began = time.monotonic()
            try:
                self.publish()
            except Exception as failure:  # told at the end of the run, where it is seen
                self.failure = failure
            spent = time.monotonic() - began
            self._stopped.wait(spent * (1 - SHARE) / SHARE)

    def stop(self) -> None:
        self._stopped.set()
        self.wake.set()
        if self.is_alive():
            self.join()
