"""The controller's hooks: it hears what the workers do, keeps the journal, and closes the run.

Registered in the process that the user started, with or without xdist, never in a worker.
"""

import errno
import json
import sys
from collections import Counter
from typing import Any

import pytest

from repro.harness import changed, options, provenance, schedule
from repro.harness.journal import Journal
from repro.harness.options import Context
from repro.harness.progress import Heartbeat, aligned
from repro.results.types import Result, Results

SETTINGS = ("scale", "seed", "device", "threads", "workers")
LOST = 3  # exit code when a collected claim never reported
DISAGREES = 1
FAILED = ("failed", "error")  # verdicts about this run, not about the paper
FEWER = "for want of memory? then use fewer workers: -n 1"
MAKE_ROOM = "make room and give the same command again: what was measured and trained is kept"


class Controller:
    def __init__(self, config: pytest.Config, context: Context) -> None:
        root, words = context.project.root, config.invocation_params.args
        run = provenance.run_header(
            root,
            context.run,
            **{name: getattr(context, name) for name in SETTINGS},
            argv=[provenance.without_folders(word, root) for word in words],
        )
        if config.option.changed:
            context.unchanged.update(changed.unchanged(context))
        self.config, self.context = config, context
        self.journal = Journal(context, run, show=self._show)
        reference = root / context.project.artifacts / "reference"
        known = map(schedule.read_durations, (reference, context.artifacts))
        self.durations = {test: seconds for one in known for test, seconds in one.items()}
        self.opened = False
        self.heartbeat: Heartbeat | None = None
        self.notices: list[str] = []

    def _show(self, results: Results, changed: set[str] | None) -> None:
        self.config.hook.pytest_claims_show(
            results=results, artifacts=self.context.artifacts, changed=changed
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        sent = {
            "run": self.context.run,
            "worker": node.workerinput["workerid"],
            "workers": self.context.workers,
            "durations": self.durations,
            "unchanged": self.context.unchanged,
        }
        node.workerinput[options.SENT] = json.dumps(sent)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._collected(ids)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._collected([item.nodeid for item in session.items])

    def _collected(self, nodeids: list[str]) -> None:
        if not self.journal.expected:
            self.journal.collected(nodeids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if not self.opened and self.journal.expected:
            self._open()
        self.journal.started(nodeid)

    def _open(self) -> None:
        """The first test starts: whatever was wrong with the command line has been said by now."""
        self.opened = True
        self.journal.publish(everything=True)
        self.journal.publisher.start()
        period = self.config.option.heartbeat
        if period is None:
            period = 10.0 if sys.stderr.isatty() else 60.0
        if period > 0:
            self.heartbeat = Heartbeat(period, self.journal.lines)
            self.heartbeat.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if str(report.when) == "???":  # xdist's word for an item whose worker died
            self.journal.crashed(report.nodeid, f"the worker process died ({FEWER})")
        elif type(report) is pytest.TestReport and (report.when == "call" or not report.passed):
            self.journal.finished(report.nodeid, report.duration)

    # After xdist's workers are gone, before the summary is printed.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Any:
        result = yield
        if self.heartbeat:
            self.heartbeat.stop()
        nothing = exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if self.context.unchanged and nothing:  # has changed: the page shows what is recorded
            self.journal.publish(everything=True)
            session.exitstatus = pytest.ExitCode.OK
            return result
        if not self.journal.expected or (exitstatus and not self.opened):
            return result
        lost = self.journal.reconcile()
        interrupted = bool(lost) or int(exitstatus) not in (0, 1)
        try:
            disagreements = self.journal.close(interrupted=interrupted)
        except OSError as error:
            advice = f"; {MAKE_ROOM}" if error.errno == errno.ENOSPC else ""
            self.notices.append(f"the page could not be written: {error}{advice}")
            disagreements = []
            session.exitstatus = session.exitstatus or LOST
        if failure := self.journal.publisher.failure:
            self.notices.append(f"while running, the page could not be made: {failure!r}")
        if lost:
            self.notices += [f"{len(lost)} claim tests were collected and did not report:", *lost]
            session.exitstatus = session.exitstatus or LOST
        if not session.exitstatus:  # a thread or a fork may have gone red after its test had passed
            failed = [claim for claim in self.journal.ran() if claim.verdict in FAILED]
            disagreements += [f"{claim.id}: {claim.verdict}: {claim.why}" for claim in failed]
        if disagreements:
            self.notices += disagreements
            session.exitstatus = session.exitstatus or DISAGREES
        return result

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """pytest's own last line counts tests; what is wrong besides is said after it."""
        if self.notices and self.opened:
            config.get_terminal_writer().line(f"FAILED: {self.notices[0]}", red=True, bold=True)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if recorded := self.context.unchanged:
            since = min(recorded.values())[:10]
            terminalreporter.line(f"--changed: {len(recorded)} tests are as recorded since {since}")
        if not self.opened:
            return
        terminalreporter.section("claims")
        ran = self.journal.ran()
        for line, claim in zip(_table(ran), ran, strict=True):
            terminalreporter.line(line, red=claim.verdict in FAILED)
        found = Counter(claim.verdict for claim in ran)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in found.items())
        others = len(self.context.ledger.statements) - len(ran)
        plural = "s" * (len(ran) != 1)
        said = f"{len(ran)} statement{plural} ran: {verdicts}. {others} were not selected."
        terminalreporter.line(said)
        for message in [*self.journal.assembly.messages, *self.notices]:
            terminalreporter.line(message, red=True)
        terminalreporter.line(f"page: {self.context.artifacts / 'index.html'}")


def _table(claims: list[Result]) -> list[str]:
    """A line for each statement: what it is, how it stands, and what that rests on."""
    rows = [
        (
            claim.paper,
            f"{claim.kind.capitalize()} {claim.number}",
            claim.title,
            claim.verdict,
            ", ".join(claim.evidence),
            f"{sum(1 for _ in claim.every_check())} checks",
            f"{claim.seconds:.1f} s",
        )
        for claim in claims
    ]
    return aligned(rows)
