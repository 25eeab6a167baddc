"""What the tests of a claim found, a paragraph per test and a line per kind of check.

A claim may have hundreds of checks, most of them one check at other values. Of each kind the page
shows the tightest, and what came out red; numbers.csv beside the page has every one.
"""

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

REDS = 8  # that are shown of a kind
LINES, CELLS = 6, 36  # of recorded numbers that are shown in a table
FEW = 12  # of those that are shown in a sentence
COLUMNS = ("role", "test", "evidence", "name", "equation", "at", "measured", "relation", "allowed",
           "tolerance", "margin", "source", "ok")  # fmt: skip
_VALUE = re.compile(r",? ?[^\s,=]+ ?= ?[^\s,]+")  # `, m = 8` in the name of a check
_NUMBER = re.compile(r"(?<![\w.])[0-9][0-9./]*(?!\w)")

Check = dict[str, Any]
Test = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """Checks of one equation whose names differ in values only."""

    checks: list[Check]

    @property
    def count(self) -> int:
        return len(self.checks)

    @property
    def red(self) -> int:
        return sum(not check.get("ok") for check in self.checks)

    @property
    def exact(self) -> bool:
        """Equalities, all of which hold."""
        return not self.red and all(check.get("relation") == "=" for check in self.checks)

    @property
    def uniform(self) -> bool:
        """Whether all of them ask for the same."""
        return all(check.get("allowed") == self.checks[0].get("allowed") for check in self.checks)

    @property
    def shown(self) -> list[Check]:
        """What came out red, or else the tightest; one without a factor only if none has one."""
        red = [check for check in self.checks if not check.get("ok")]
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
        """What a test that is not repeated wrote down; others have a table of their own."""
        return list((self.tests[0].get("records") or {}).items()) if len(self.tests) == 1 else []

    @property
    def about(self) -> str:
        return next((test["description"] for test in self.tests if test.get("description")), "")

    @property
    def evidence(self) -> str:
        return next((test["evidence"] for test in self.tests if test.get("evidence")), "")

    @property
    def seconds(self) -> float:
        return sum(test.get("seconds") or 0 for test in self.tests)

    @cached_property
    def states(self) -> list[tuple[str, int]]:
        """Other than passed."""
        found = Counter(test.get("state", "") for test in self.tests)
        return [(state, count) for state, count in found.items() if state != "passed"]

    @property
    def stale(self) -> bool:
        return any(test.get("stale") for test in self.tests)

    @property
    def messages(self) -> list[tuple[str, str, bool]]:
        """For which values, what was said, and whether it tells of a failure."""
        return [
            (values(test), test["message"], test.get("state") in ("failed", "error", "crashed"))
            for test in self.tests
            if test.get("message")
        ]

    @property
    def trainings(self) -> list[tuple[str, str, int]]:
        """Kind, whether computed or reused, and how many."""
        entries = [entry for test in self.tests for entry in test.get("store") or ()]
        found = Counter((e["kind"], e["reason"].partition(":")[0]) for e in entries)
        return [(kind, what, count) for (kind, what), count in found.items()]


def by_test(claim: dict[str, Any], *, control: bool) -> list[Tested]:
    """The controls of a claim, or all its other tests, in the order of its file."""
    own = [t for t in claim.get("tests", []) if (t.get("role") == "control") == control]
    checks: dict[str, list[Check]] = {}
    for check in claim.get("controls" if control else "checks", []):
        checks.setdefault(base_name(check), []).append(check)
    by_name = {name: [t for t in own if base_name(t) == name] for name in map(base_name, own)}
    names = dict.fromkeys([*by_name, *checks])
    return [Tested(n, by_name.get(n, []), kinds(checks.get(n, []))) for n in names]


def kinds(checks: list[Check]) -> list[Kind]:
    found: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        found.setdefault((stem(check.get("name", "")), check.get("equation") or ""), []).append(
            check
        )
    return [Kind(members) for members in found.values()]


def stem(name: str) -> str:
    """A check's name without values: that of `error, m = 8` is that of `error, m = 4`."""
    return _NUMBER.sub("…", _VALUE.sub("", name))


def _slack(check: Check) -> float:
    margin = check.get("margin")
    return margin if isinstance(margin, (int, float)) else float("inf")


@dataclass(frozen=True)
class Cost:
    """What the tests of a claim took, and what the trainings that they used had taken."""

    tests: int
    seconds: float
    dearest: Tested | None
    trainings: list[tuple[str, int, float]]  # computed or reused, how many, seconds
    devices: list[str]
    runs: int


def cost(claim: dict[str, Any]) -> Cost:
    tests = claim.get("tests", [])
    groups = by_test(claim, control=False) + by_test(claim, control=True)
    used: dict[str, dict[str, float]] = {}
    for entry in (entry for test in tests for entry in test.get("store") or ()):
        what = entry["reason"].partition(":")[0]
        used.setdefault(what, {})[entry["key"]] = entry.get("seconds") or 0
    return Cost(
        tests=len(tests),
        seconds=sum(test.get("seconds") or 0 for test in tests),
        dearest=max(groups, key=lambda group: group.seconds, default=None),
        trainings=[(what, len(took), sum(took.values())) for what, took in used.items()],
        devices=list(dict.fromkeys(t["device"] for t in tests if t.get("device"))),
        runs=len({test.get("run") for test in tests}),
    )


def table(claim: dict[str, Any]) -> str:
    """Every check, control and recorded number, for a spreadsheet; with all their digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for role in ("check", "control"):
        for check in claim.get(f"{role}s", []):
            at = ", ".join(f"{name} = {value}" for name, value in check.get("params", {}).items())
            writer.writerow({**check, "role": role, "at": at})
    for test in claim.get("tests", []):
        for name, value in (test.get("records") or {}).items():
            writer.writerow(
                {"role": "record", "test": test["test"], "name": name, "measured": value}
            )
    return text.getvalue()


def test_name(test: str) -> str:
    """The part of a pytest node id that differs within a claim's file."""
    return test.rpartition("::")[2]


def base_name(found: dict[str, Any]) -> str:
    """The test, of itself or of a check, without the values that it is repeated for."""
    return test_name(found.get("test", "")).partition("[")[0]


def spoken(name: str) -> str:
    """The name of a test as the sentence that it is."""
    words = name.removeprefix("test_").replace("_", " ")
    words = re.sub(r"^(control|rate|figure) ", r"\1: ", words)
    return words[:1].upper() + words[1:]


def values(test: Test) -> str:
    return test_name(test.get("test", "")).partition("[")[2].removesuffix("]")


@dataclass(frozen=True)
class Records:
    """The numbers that a test recorded, for each of the values that it is repeated for.

    What there is more of goes down the page, names or values: paper is higher than wide.
    """

    test: str
    names: list[str]
    rows: list[tuple[str, list[Any]]]  # the values of the test, the numbers

    @property
    def turned(self) -> bool:
        return len(self.names) >= len(self.rows)

    @property
    def columns(self) -> list[str]:
        return [values for values, _ in self.rows] if self.turned else self.names

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


def records(tests: list[Test]) -> list[Records]:
    """Of tests that are repeated for several values."""
    repeated = Counter(map(base_name, tests))
    kept = [test for test in tests if test.get("records") and repeated[base_name(test)] > 1]
    grouped = groupby(kept, lambda test: (base_name(test), *test["records"]))
    return [
        Records(
            test=key[0],
            names=list(key[1:]),
            rows=[(values(test), list(test["records"].values())) for test in members],
        )
        for key, members in grouped
    ]
