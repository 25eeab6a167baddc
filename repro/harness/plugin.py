"""The pytest plugin: hooks, and nothing but hooks. A project loads it with `-p repro.plugin`.

Every process reads the ledger and marks the tests. A worker (or the only process) runs claims and
writes their records; the controller (or the only process) keeps the journal and makes the page.
"""

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from repro import files
from repro.data.sets import Registry
from repro.harness import (
    collected,
    hookspecs,
    imports,
    marking,
    options,
    resources,
    schedule,
    seeds,
)
from repro.harness.checks import ClaimFailed
from repro.harness.claim import Claim
from repro.harness.options import Context
from repro.harness.records import FORKED, Recorder
from repro.harness.time_limit import OutOfTime, time_limit

CONTEXT = pytest.StashKey[Context]()
LEASE = pytest.StashKey[resources.Lease]()
RECORDER = pytest.StashKey[Recorder]()
OLD_SIGTERM = pytest.StashKey[Any]()
PATIENCE = 10.0  # seconds, at the end, for threads that tests have left behind
MOST_RESTARTS = 4  # of workers in a run: a claim that kills its worker is not run again
OPEN = ("running", "passed", "not-run")  # states that a red check turns to failed
NO_XFAIL = "state what is false as a counterexample, and what is not run as a skip"
NOTHING = (
    "this claim checked nothing: use measured(...).at_most and the like, for_all or counterexample"
)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    project = config.hook.pytest_claims_project()
    if project is None:
        return
    if pytest.version_tuple < (9,):
        told = f"claims need pytest 9 or newer, this is {pytest.__version__}"
        raise pytest.UsageError(f"{told}: pip install 'pytest>=9,<10'")
    options.refuse_values_that_look_like_paths(config, project.root)
    marking.register(config)
    context = options.read(config, project)
    config.stash[CONTEXT] = context
    marking.register_papers(config, context.ledger)
    resources.limit_threads(context.threads)
    if getattr(config.option, "maxworkerrestart", 0) is None:  # xdist's own default is 4 per worker
        config.option.maxworkerrestart = str(MOST_RESTARTS)
    config.stash[LEASE] = resources.Lease(context.device)
    if threading.current_thread() is threading.main_thread():
        config.stash[OLD_SIGTERM] = signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    if OLD_SIGTERM in config.stash:
        signal.signal(signal.SIGTERM, config.stash[OLD_SIGTERM])


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    context = config.stash.get(CONTEXT, None)
    if context is None or context.listing or context.worker:
        return
    options.check_machine(context, config.option.store_mode)
    from repro.harness.controller import Controller  # only here: it compiles the templates

    config.pluginmanager.register(Controller(config, context), "claims-controller")


def pytest_report_header(config: pytest.Config) -> list[str]:
    context = config.stash.get(CONTEXT, None)
    if context is None:
        return []
    return [
        f"claims: scale {context.scale}, seed {context.seed}, device {context.device}, "
        f"{context.threads} thread(s) per process, artifacts in {context.artifacts}"
    ]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    return resources.automatic_workers(config.option.device)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.stash.get(CONTEXT, None) and config.getoption("dist") == "load":
        return schedule.one_at_a_time(config, log)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    context = config.stash.get(CONTEXT, None)
    if context is None:
        return
    marking.mark(items, context)
    if not context.listing and context.worker in (None, "gw0") and not session.testsfailed:
        collected.note(items, config, context)
    if context.unchanged:
        names = {item: marking.name_of(item, context) for item in items}
        known = [item for item, name in names.items() if name and name.key in context.unchanged]
        items[:] = [item for item in items if item not in set(known)]
        config.hook.pytest_deselected(items=known)
    if context.worker:
        items.sort(
            key=lambda item: schedule.sort_key(item.nodeid, context.scale, context.durations)
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    context = item.config.stash.get(CONTEXT, None)
    name = marking.name_of(item, context) if context else None
    if context is None or name is None:
        return
    item.stash[RECORDER] = Recorder(
        name.record(context.artifacts),
        context.project.root,
        **marking.identity(item, name, context),
    )
    marking.check_form(item, name)
    if imports.uses_torch(name.file, context.project.root):
        resources.make_deterministic(context.threads)
    unmet = marking.unmet_needs(item, context)
    if unmet:
        pytest.skip(unmet)


@pytest.fixture
def claim(request: pytest.FixtureRequest) -> Iterator[Claim]:
    """The statement under test: verbs that check and record, seeds, scale, device, store."""
    item = request.node
    context = request.config.stash.get(CONTEXT, None)
    name = marking.name_of(item, context) if context else None
    if context is None or name is None:
        pytest.fail(
            "the fixture `claim` works in claim files only: "
            "claims/<paper>/test_<kind>_<number>_<words>.py"
        )

    def store(**settings: Any) -> Any:
        from repro.training import Store

        option = request.config.option
        settings |= {"run": context.run, "only": option.only_training}
        settings["device"] = option.store_device or settings["device"]
        return Store(context.store, option.store_mode, **settings)

    seeds.seed_global_state(seeds.seed_for(context.seed, name.statement.id))
    yield Claim(
        name,
        item.stash[RECORDER],
        artifacts=context.artifacts,
        scale=context.scale,
        base_seed=context.seed,
        params=marking.params(item),
        lease=request.config.stash[LEASE],
        store=store,
        data=Registry(context.project.data, context.data),
    )
    resources.free_memory()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """A worker has another claim next, or none."""
    if RECORDER in item.stash and (nextitem is None or nextitem.path != item.path):
        resources.return_memory()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Threads that outlive their tests may still go red: before the run is closed, not after."""
    if session.config.stash.get(CONTEXT, None) is None:
        return
    give_up = time.monotonic() + PATIENCE
    ours = threading.main_thread(), threading.current_thread()
    for thread in threading.enumerate():
        if not thread.daemon and thread not in ours:
            thread.join(max(0.0, give_up - time.monotonic()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    seconds = item.config.option.time_limit
    if RECORDER not in item.stash or not seconds:
        return (yield)
    with time_limit(seconds):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report: pytest.TestReport = yield
    recorder = item.stash.get(RECORDER, None)
    if recorder is not None:
        try:
            report.user_properties = [
                (str(key), files.plain(value)) for key, value in report.user_properties
            ]
            _settle(report, call, recorder)
        except Exception as error:  # a full disk, a property without a text: told, not shown
            report.user_properties = []
            item.user_properties.clear()
            report.outcome = "failed"
            told = f"the record cannot be written: {type(error).__name__}: {error}"
            report.longrepr = f"{report.longreprtext}\n\n{told}".strip()
            recorder.give_up(told)
    return report


def _settle(report: pytest.TestReport, call: pytest.CallInfo[None], recorder: Recorder) -> None:
    """Write the state that this phase of the test left behind.

    A red check makes the test red, whatever became of its exception: swallowed, raised in a
    thread, or followed by a skip.
    """
    error = call.excinfo.value if call.excinfo else None
    if hasattr(report, "wasxfail"):
        _fail(report, recorder, "error", f"a claim must not fail as expected: {NO_XFAIL}")
    elif recorder.red and not isinstance(error, ClaimFailed) and recorder.record.state in OPEN:
        _fail(report, recorder, "failed", recorder.red)
    elif recorder.lost and recorder.record.state in OPEN:
        _fail(report, recorder, "error", FORKED)
    elif report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        recorder.finish("not-run", reason.removeprefix("Skipped: "))
    elif report.failed and isinstance(error, ClaimFailed):
        recorder.finish("failed", str(error))
    elif report.failed and isinstance(error, OutOfTime):
        recorder.finish("interrupted", str(error))
    elif report.failed:
        recorder.finish("error", f"{type(error).__name__}: {error}\n\n{report.longreprtext}")
    elif report.when == "call" and not recorder.record.checks:
        _fail(report, recorder, "error", NOTHING)
    elif report.when == "call":
        recorder.finish("passed")


def _fail(report: pytest.TestReport, recorder: Recorder, state: str, message: str) -> None:
    if hasattr(report, "wasxfail"):
        del report.wasxfail
    report.outcome, report.longrepr = "failed", message
    recorder.finish(state, message)
