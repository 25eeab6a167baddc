"""What the tests of a claim found, a paragraph per test and a line per kind of check.

A claim may have hundreds of checks, most of them one check at other values. Of each kind the page
shows the tightest, and what came out red; numbers.csv beside the page has every one.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from repro.results.types import Check, Result, Test

REDS = 8  # that are shown of a kind
LINES, CELLS = 6, 36  # of recorded numbers that are shown in a table
FEW = 12  # of those that are shown in a sentence
TOLD = {"params": "at", "provenance": "source"}  # fields that a spreadsheet has in words
T = TypeVar("T")
K = TypeVar("K")
COLUMNS = ["role", *(TOLD.get(field.name, field.name) for field in fields(Check))]


@dataclass(frozen=True)
class Kind:
    """Checks of one name and equation, at other settings."""

    checks: list[Check]

    @property
    def count(self) -> int:
        return len(self.checks)

    @property
    def red(self) -> int:
        return sum(not check.ok for check in self.checks)

    @property
    def exact(self) -> bool:
        """Equalities, all of which hold."""
        return not self.red and all(check.relation == "=" for check in self.checks)

    @property
    def uniform(self) -> bool:
        """Whether all of them ask for the same."""
        return all(check.allowed == self.checks[0].allowed for check in self.checks)

    @property
    def shown(self) -> list[Check]:
        """What came out red, or else the tightest; one without a factor only if none has one."""
        red = [check for check in self.checks if not check.ok]
        return red[:REDS] or [min(self.checks, key=_slack)]


@dataclass(frozen=True)
class Tested:
    """One test, with all the values that it is repeated for."""

    name: str
    tests: list[Test]
    kinds: list[Kind]

    @property
    def sentence(self) -> str:
        return spoken(self.name)

    @property
    def exact(self) -> list[Kind]:
        return [kind for kind in self.kinds if kind.exact]

    @property
    def measured(self) -> list[Kind]:
        return [kind for kind in self.kinds if not kind.exact]

    @property
    def recorded(self) -> list[tuple[str, Any]]:
        """Numbers written down at one setting; those at several have a table of their own."""
        table = Recorded.of(self.name, self.tests)
        return list(zip(table.names, table.rows[0][1], strict=True)) if len(table.rows) == 1 else []

    @property
    def about(self) -> str:
        return next((test.description for test in self.tests if test.description), "")

    @property
    def evidence(self) -> str:
        return next((test.evidence for test in self.tests if test.evidence), "")

    @property
    def seconds(self) -> float:
        return sum(test.seconds for test in self.tests)

    @property
    def states(self) -> list[tuple[str, int]]:
        """Other than passed."""
        found = Counter(test.state for test in self.tests)
        return [(state, count) for state, count in found.items() if state != "passed"]

    @property
    def stale(self) -> bool:
        return any(test.stale for test in self.tests)

    @property
    def messages(self) -> list[tuple[str, str, bool]]:
        """For which values, what was said, and whether it tells of a failure."""
        return [
            (values(test), test.message, test.state in ("failed", "error", "crashed"))
            for test in self.tests
            if test.message
        ]

    @property
    def trainings(self) -> list[tuple[str, str, int]]:
        """Kind, whether computed or reused, and how many."""
        used = [training for test in self.tests for training in test.trainings]
        found = Counter((one.kind, one.reason.partition(":")[0]) for one in used)
        return [(kind, what, count) for (kind, what), count in found.items()]


def by_test(claim: Result, *, control: bool) -> list[Tested]:
    """The controls of a claim, or all its other tests, in the order of its file."""
    own = [t for t in claim.tests if (t.role == "control") == control]
    checks = alike(claim.controls if control else claim.checks, lambda one: base_name(one.test))
    tests = alike(own, lambda test: base_name(test.test))
    names = dict.fromkeys([*tests, *checks])
    return [Tested(n, tests.get(n, []), kinds(checks.get(n, []))) for n in names]


def kinds(checks: list[Check]) -> list[Kind]:
    return [Kind(same) for same in alike(checks, lambda one: (one.name, one.equation)).values()]


def alike(entries: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Those with the same key together, in the order in which they come."""
    found: dict[K, list[T]] = {}
    for entry in entries:
        found.setdefault(key(entry), []).append(entry)
    return found


def _slack(check: Check) -> float:
    return check.margin if isinstance(check.margin, float) else float("inf")


@dataclass(frozen=True)
class Cost:
    """What the tests of a claim took, and what the trainings that they used had taken."""

    tests: int
    seconds: float
    dearest: Tested | None
    trainings: list[tuple[str, int, float]]  # computed or reused, how many, seconds
    devices: list[str]
    runs: int


def cost(claim: Result) -> Cost:
    tests = claim.tests
    groups = by_test(claim, control=False) + by_test(claim, control=True)
    used: dict[str, dict[str, float]] = {}
    for training in (training for test in tests for training in test.trainings):
        what = training.reason.partition(":")[0]
        used.setdefault(what, {})[training.key] = training.seconds
    return Cost(
        tests=len(tests),
        seconds=sum(test.seconds for test in tests),
        dearest=max(groups, key=lambda group: group.seconds, default=None),
        trainings=[(what, len(took), sum(took.values())) for what, took in used.items()],
        devices=list(dict.fromkeys(t.device for t in tests if t.device)) or ["cpu"],
        runs=len({test.run for test in tests}),
    )


def table(claim: Result) -> str:
    """Every check, control and recorded number, for a spreadsheet; with all their digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for role, checks in (("check", claim.checks), ("control", claim.controls)):
        for check in checks:
            source = " + ".join(map(str, check.provenance))
            told = {"role": role, "at": settings(check.params), "source": source}
            writer.writerow({**vars(check), **told})
    for test in claim.tests:
        for number in test.numbers:
            told = {"role": "record", "test": test.test, "at": settings(number.params)}
            writer.writerow({**told, "name": number.name, "measured": number.value})
    return text.getvalue()


def test_name(test: str) -> str:
    """The part of a pytest node id that differs within a claim's file."""
    return test.rpartition("::")[2]


def base_name(test: str) -> str:
    """A test without the values that it is repeated for."""
    return test_name(test).partition("[")[0]


def settings(params: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in params.items())


def spoken(name: str) -> str:
    """The name of a test as the sentence that it is."""
    words = name.removeprefix("test_").replace("_", " ")
    words = re.sub(r"^(control|rate|figure) ", r"\1: ", words)
    return words[:1].upper() + words[1:]


def values(test: Test) -> str:
    return test_name(test.test).partition("[")[2].removesuffix("]")


@dataclass(frozen=True)
class Recorded:
    """The numbers that a test wrote down, a row for each setting.

    What there is more of goes down the page, names or settings: paper is higher than wide.
    """

    test: str
    names: list[str]
    rows: list[tuple[str, list[Any]]]  # the setting, the numbers

    @classmethod
    def of(cls, name: str, tests: list[Test]) -> "Recorded":
        table: dict[str, dict[str, Any]] = {}
        for number in (number for test in tests for number in test.numbers):
            table.setdefault(settings(number.params), {})[number.name] = number.value
        names = list(dict.fromkeys(name for row in table.values() for name in row))
        return cls(name, names, [(at, [row.get(n) for n in names]) for at, row in table.items()])

    @property
    def turned(self) -> bool:
        return len(self.names) >= len(self.rows)

    @property
    def columns(self) -> list[str]:
        return [at for at, _ in self.rows] if self.turned else self.names

    @property
    def lines(self) -> list[tuple[str, list[Any]]]:
        if not self.turned:
            return self.rows
        columns = zip(*(numbers for _, numbers in self.rows), strict=True)
        return [(name, list(numbers)) for name, numbers in zip(self.names, columns, strict=True)]

    @property
    def fitting(self) -> int:
        """How many lines are shown."""
        return max(LINES, CELLS // max(len(self.columns), 1))


def recorded(tests: list[Test]) -> list[Recorded]:
    """Of tests that wrote numbers down at several settings."""
    named = alike(tests, lambda test: base_name(test.test))
    tables = (Recorded.of(name, some) for name, some in named.items())
    return [table for table in tables if len(table.rows) > 1]
