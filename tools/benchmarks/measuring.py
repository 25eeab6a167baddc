"""Fixtures of the benchmarks: two things timed in turns in one process, written as they are found.

No time is asserted. Without --benchmark-enable every body runs once, small, so that it cannot rot,
and nothing is written.
"""

import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from repro import files
from repro.harness import provenance
from tools.benchmarks import page as benchmarks
from tools.costs import runs

ARTIFACTS = Path(__file__).parents[2] / "artifacts"
RECORDER = pytest.StashKey()


class Recorder:
    """The entries of this run, put into benchmarks.json one by one: what ends a run loses none."""

    def __init__(self, folder, run, say):
        self.folder, self.run, self.entries, self.say = folder, run, [], say
        self.before = benchmarks.read(folder)
        self.tables, self.earlier = {}, {}

    def add(self, entry, by=None):
        """`by` is the header of the run that has measured it, if it is not this one."""
        if entry["name"] in {one["name"] for one in self.entries}:
            raise ValueError(f"two benchmarks are called {entry['name']!r}")
        if by:
            entry = {**entry, "run": by["id"]}
            self.earlier[by["id"]] = by
        self.entries.append(entry)
        self._write()
        met = benchmarks.Row(entry).met
        target = (
            f" ({entry['relation']} {entry['target']:.3g}{'' if met else ': MISSED'})"
            if met is not None
            else ""
        )
        bound = "at least " if entry.get("at_least") else ""
        self.say(f"\n    {entry['name']}: {bound}{entry['value']:.3g} {entry['unit']}{target}")

    def tell(self, **tables):
        """Whatever else the page shows."""
        self.tables |= tables
        self._write()

    def leave_out_others(self):
        """After a run of all benchmarks: an entry that none of them has made is of one that is gone."""
        names = {one["name"] for one in self.entries}
        kept = [one for one in self.before.get("ratios", []) if one["name"] in names]
        self.before = {**self.before, "ratios": kept}
        self._write()

    def _write(self):
        now = benchmarks.merged(self.before, self.run, self.entries, self.earlier)
        files.write_json(self.folder / benchmarks.FILE, {**self.before, **now, **self.tables})


@pytest.fixture(scope="session")
def recorder(request):
    plugins = request.config.pluginmanager
    terminal, capture = plugins.getplugin("terminalreporter"), plugins.getplugin("capturemanager")

    def say(line):
        with capture.global_and_fixture_disabled():
            terminal.write_line(line)

    recorder = Recorder(ARTIFACTS, provenance.measured_here(ARTIFACTS.parent), say)
    request.config.stash[RECORDER] = recorder
    return recorder


def pytest_sessionfinish(session, exitstatus):
    """Whether every benchmark has run to its end: none chosen, skipped, red, or cut off."""
    config = session.config
    recorder, terminal = (
        config.stash.get(RECORDER, None),
        config.pluginmanager.getplugin("terminalreporter"),
    )
    if recorder is None or not recorder.entries or exitstatus != pytest.ExitCode.OK:
        return
    of_all = [Path(name).name for name in config.args] == [
        "benchmarks"
    ] and not config.option.keyword
    if of_all and not terminal.stats.get("skipped"):
        recorder.leave_out_others()


@pytest.fixture
def switched_on(benchmark):
    return benchmark.enabled


@pytest.fixture
def in_rounds(benchmark):
    return benchmark.pedantic


@pytest.fixture
def measured(request, recorder, switched_on):
    """Record one figure of the module's PART, in its unit, beside target and limit.

    `at_least` says that the figure is a lower bound: something was given up before its end. `by` is
    the header of an earlier run that has measured it, if it is not this one.
    """

    def measured(
        name, value, *, unit, relation, target, against, at_least=False, limit=None, limit_is="", why="", note="", by=None,
        **params,
    ):  # fmt: skip
        entry = {
            "part": benchmarks.part_of(request.module), "name": name, "value": float(value), "at_least": at_least, "unit": unit,
            "relation": relation, "target": target, "against": against, "limit": limit, "limit_is": limit_is,
            "why": why, "note": note, "params": params,
        }  # fmt: skip
        if switched_on:
            recorder.add(entry, by=by)

    return measured


@pytest.fixture
def earlier(switched_on):
    """Runs that `tools.costs` has measured here, all of them whole, or that which is named.

    For a small run of a benchmark, those of the snapshot will do.
    """

    def earlier(kind, name=None, *, command):
        snapshot = runs.own(ARTIFACTS / "reference")
        found = runs.own(ARTIFACTS).get(kind) if switched_on else snapshot[kind]
        if not found:
            pytest.skip(f"{command} has not been run here")
        needed = [found[name]] if name else runs.all_in(found)
        for reason in filter(None, map(runs.not_whole, needed)):
            pytest.skip(f"the last run of {command} was not whole: {reason}")
        return found

    return earlier


@dataclass
class Turns:
    """Seconds of `fast`, `slow` and of parts of the work, each timed once in every turn."""

    times: list[dict[str, float]] = field(default_factory=list)

    def ratios(self, over, under):
        return [turn[over] / turn[under] for turn in self.times]

    def share(self, part):
        """Of the time of `fast`, in percent; None if that part was not timed."""
        known = [turn[part] / turn["fast"] for turn in self.times if part in turn]
        return f"{100 * statistics.median(known):.0f} %" if known else None

    def told(self, repeats):
        """What one of so many steps takes."""
        each = [
            statistics.median(turn[way] for turn in self.times) / repeats
            for way in ("fast", "slow")
        ]
        return " against ".join(f"{seconds:.3g}" for seconds in each) + (
            " a step" if repeats > 1 else ""
        )


@pytest.fixture
def compare(in_rounds, measured):
    """Time `slow`, `fast` and `limit` in turns; how many times faster `fast` is, in the median turn.

    With `at_most` the figure is how many times as long `fast` takes, and so much at most is aimed at.

    The first turn warms up and is not timed: in it `same(fast(), slow())` asserts that both compute
    the same. `limit` is a part of the work that no way can leave out: it tells how much faster than
    `slow` one could be at most. `part` is another part of `fast`: then `why` says {part} and {limit}
    where their shares of its time go.
    A `fast` that is over too soon for the clock makes several `calls` in its turn. What makes several
    steps in one call says so with `repeats`: seconds are told for one of them.

    Whatever else is given is told as the setting.
    """

    def compare(
        name, *, fast, slow, same, against, target=None, at_most=None, limit=None, limit_is="", part=None, rounds=7,
        calls=1, repeats=1, why="", **setting,
    ):  # fmt: skip
        same(fast(), slow())
        short = {"limit": limit, "part": part, "fast": fast}
        short = {way: function for way, function in short.items() if function}
        for function in filter(None, (limit, part)):
            function()
        turns = Turns()

        def turn():
            times = {way: seconds(function, calls) for way, function in short.items()}
            turns.times.append({**times, "slow": seconds(slow)})

        in_rounds(turn, rounds=rounds)
        aim = {"unit": benchmarks.TIMES, "relation": ">=", "target": target}
        ratios = turns.ratios("slow", "fast")
        if at_most is not None:
            aim = {"unit": benchmarks.NUMBER, "relation": "<=", "target": at_most}
            ratios = turns.ratios("fast", "slow")
        of_each = f" of {repeats} steps" if repeats > 1 else ""
        measured(
            name, statistics.median(ratios), **aim, against=against,
            limit=statistics.median(turns.ratios("slow", "limit")) if limit else None, limit_is=limit_is,
            why=why.format(limit=turns.share("limit"), part=turns.share("part")), seconds=turns.told(repeats),
            turns=f"{len(ratios)}{of_each}, from {min(ratios):.3g} to {max(ratios):.3g}", **setting,
        )  # fmt: skip

    return compare


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
def growth(in_rounds, measured, switched_on):
    """Time what `prepare(size)` gives, all sizes in turns; p in time ~ size^p, from the fastest turns.

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
            rate = rates.slope(sizes, fastest)
            measured(
                name, rate.slope, unit=benchmarks.EXPONENT, relation="≈" if at_most is None else "<=",
                target=about if at_most is None else at_most, against=f"the exponent p in time ~ {of}^p",
                note=f"between {rate.low:.2f} and {rate.high:.2f}, from the scatter",
                seconds=f"{fastest[0]:.3g} to {fastest[-1]:.3g}", **{of: list(sizes)}, **params,
            )  # fmt: skip

    return growth


def seconds(function, calls=1):
    began = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - began) / calls


@pytest.fixture
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
