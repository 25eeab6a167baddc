"""The checks, tests and records of a claim, grouped over the values that a test is repeated for."""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

FOLDED = 12  # a group of checks with more rows than this is folded


@dataclass(frozen=True)
class Group:
    """The checks of one name and equation, over the values that a test is repeated for."""

    name: str
    equation: str
    about: str  # what its test is about, unless the group before says the same
    rows: list[dict[str, Any]]
    red: int
    tightest: float | None

    @property
    def folded(self) -> bool:
        return len(self.rows) > FOLDED

    @property
    def graded(self) -> bool:
        return any(row.get("evidence") for row in self.rows)


def groups(checks: list[dict[str, Any]], tests: list[dict[str, Any]]) -> list[Group]:
    """In the order in which each name and equation first comes; folded ones last."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for check in checks:
        rows.setdefault((check.get("name", ""), check.get("equation") or ""), []).append(check)
    told = {test.get("test"): test.get("description") or "" for test in tests}
    about = ""
    found: list[Group] = []
    for (name, equation), members in sorted(rows.items(), key=lambda item: len(item[1]) > FOLDED):
        before, about = about, told.get(members[0].get("test"), "")
        found.append(_group(name, equation, about if about != before else "", members))
    return found


def _group(name: str, equation: str, about: str, rows: list[dict[str, Any]]) -> Group:
    margins = [m for row in rows if isinstance(m := row.get("margin"), (int, float))]
    return Group(
        name=name,
        equation=equation,
        about=about,
        rows=rows,
        red=sum(not row.get("ok") for row in rows),
        tightest=min(margins, default=None),
    )


def test_name(test: str) -> str:
    """The part of a pytest node id that differs within a claim's file."""
    return test.rpartition("::")[2]


def base_name(test: dict[str, Any]) -> str:
    """The test without the values that it is repeated for."""
    return test_name(test.get("test", "")).partition("[")[0]


def rows_of_tests(tests: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Tests that share a row: one test for several values, all passed, under like conditions."""

    def conditions(test: dict[str, Any]) -> tuple[Any, ...]:
        alone = test.get("state") != "passed" or test.get("store") or test.get("message")
        shared = [test.get(key) for key in ("role", "run", "scale", "seed", "device", "stale")]
        return (test_name(test.get("test", "")) if alone else base_name(test), *shared)

    return [list(members) for _, members in groupby(tests, conditions)]


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


def records(tests: list[dict[str, Any]]) -> list[Records]:
    kept = [test for test in tests if test.get("records")]
    grouped = groupby(kept, lambda test: (base_name(test), *test["records"]))
    return [
        Records(
            test=key[0],
            names=list(key[1:]),
            rows=[
                (test_name(test["test"]).removeprefix(key[0])[1:-1], list(test["records"].values()))
                for test in members
            ],
        )
        for key, members in grouped
    ]
