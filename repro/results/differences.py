"""What differs between two results.json, and whether it matters.

It matters when a verdict, the state of a test or a kind of evidence is another, when a check has
another outcome or another limit, a number is none any more, something that was shown is shown no
more, or the two runs had another scale, seed or device. A number that moved within its limits does
not matter; it is told with how far it moved. Limits that are computed may move a little. A check
or number that was renamed is found again by what it says, or by its place in its test. Times,
versions, machines and paths are not compared.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from repro.results.types import Check, Number, Result, Results

LITTLE = 1e-3  # of a computed limit: more than rounding elsewhere does to it
TIMES = ("RUN TIME",)  # columns of tables that hold times
BALL = re.compile(r"\[(-?[0-9.]+(?:E[+-]?[0-9]+)?), (-?[0-9.]+(?:E[+-]?[0-9]+)?)\]")
SETTINGS = ("scale", "seed", "device")


@dataclass(frozen=True)
class Difference:
    claim: str
    what: str
    before: Any
    after: Any
    matters: bool

    def __str__(self) -> str:
        share = _share(self.before, self.after)
        moved = "" if share is None else f" ({share:.2g} of it)"
        told = f"{self.claim}: {self.what}: {self.before} -> {self.after}{moved}"
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in told)


def differences(old: Results, new: Results) -> list[Difference]:
    found = [
        Difference("the run", key, before, after, matters=True)
        for key in SETTINGS
        if (before := getattr(old.run, key)) != (after := getattr(new.run, key))
    ]
    before, after = ({claim.id: claim for claim in run.claims} for run in (old, new))
    for id in dict.fromkeys([*before, *after]):
        if id in before and id in after:
            found += _of_claim(before[id], after[id])
        else:
            found.append(_one_sided(id, "the claim", there_before=id in before))
    return found


def _one_sided(id: str, what: str, *, there_before: bool) -> Difference:
    states = ("there", "gone") if there_before else ("not there", "there")
    return Difference(id, what, *states, matters=there_before)


def _of_claim(old: Result, new: Result) -> Iterator[Difference]:
    for key in ("verdict", "solid", "evidence"):
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            yield Difference(old.id, key, before, after, matters=True)
    for label, entries in KINDS.items():
        before, after = entries(old), entries(new)
        pairs = _pairs(before, after)
        for name, other in pairs.items():
            yield from _of_entry(old.id, other, before[name].values, after[other].values)
        for some, found in ((before, pairs.keys()), (after, pairs.values())):
            for name in some:
                if name not in found:
                    yield _one_sided(old.id, f"{label} {name}", there_before=some is before)


@dataclass(frozen=True)
class Entry:
    """Something of a claim by its name: its value may move, what else it says may not."""

    values: dict[str, Any]
    test: str = ""

    @property
    def limits(self) -> dict[str, Any]:
        return {key: value for key, value in self.values.items() if key != "value"}


Entries = dict[str, Entry]


def _pairs(before: Entries, after: Entries) -> dict[str, str]:
    """Old name -> new one. An entry that was renamed or moved is found by what it says, or by its
    place among those of its test that are left."""
    pairs: dict[str, str] = {}

    def pair(key: Callable[[str, Entry], Any]) -> None:
        free: dict[Any, list[str]] = {}
        taken = set(pairs.values())
        for name, entry in after.items():
            if name not in taken:
                free.setdefault(key(name, entry), []).append(name)
        for name, entry in before.items():
            same = free.get(key(name, entry)) if name not in pairs else None
            if same:
                pairs[name] = same.pop(0)

    pair(lambda name, entry: (name, str(entry.values)))
    pair(lambda name, entry: (entry.test or name, str(entry.values)))
    # one of several alike is first sought among those with its limits
    pair(lambda name, entry: (name.partition(" #")[0], str(entry.limits)))
    pair(lambda name, _: name)
    gone = Counter(entry.test for name, entry in before.items() if name not in pairs)
    new = Counter(entry.test for name, entry in after.items() if name not in pairs.values())
    as_many = {test for test, count in gone.items() if test and new[test] == count}
    pair(lambda name, entry: entry.test if entry.test in as_many else name)
    return pairs


def _of_entry(id: str, name: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    """Of a number only the value may move; its outcome and its limits may not."""
    for key in old.keys() & new.keys():
        before, after = old[key], new[key]
        if before == after:
            continue
        if key == "value":
            lost = _is_number(before) and not _is_number(after)
            yield Difference(id, name, before, after, matters=lost)
        else:
            share = _share(before, after)
            moved = share is None or share > LITTLE
            yield Difference(id, f"{name}, {key}", before, after, matters=moved)


def _checks(claim: Result) -> Entries:
    found: Entries = {}
    for check in claim.every_check():
        limits = {key: getattr(check, key) for key in ("ok", "relation", "allowed", "tolerance")}
        name = _apart(_at(check.test, check), found)
        found[name] = Entry({"value": check.measured, **limits}, check.test)
    return found


def _numbers(claim: Result) -> Entries:
    found: Entries = {}
    for test in claim.tests:
        for number in test.numbers:
            found[_apart(_at(test.test, number), found)] = Entry({"value": number.value}, test.test)
    return found


def _at(test: str, one: Check | Number) -> str:
    return f"{test}: {one.name} {json.dumps(one.params, sort_keys=True)}"


def _cells(claim: Result) -> Entries:
    found: Entries = {}
    for cell in claim.cells:
        if cell.column not in TIMES:
            name = _apart(f"{cell.row}, {cell.column}", found)
            said = {"outcome": cell.outcome} if cell.outcome else {}  # schema 1 had none
            found[name] = Entry({"value": cell.ours, "paper": cell.paper, **said})
    return found


def _examples(claim: Result) -> Entries:
    found: Entries = {}
    for example in claim.counterexamples:
        values = {key: getattr(example, key) for key in ("measured", "relation", "expected")}
        found[_apart(example.refutes, found)] = Entry(values, example.test)
    return found


def _errata(claim: Result) -> Entries:
    found: Entries = {}
    for one in claim.errata:
        found[_apart(f"{one.place} ({one.printed})", found)] = Entry({"grade": one.grade})
    return found


def _tests(claim: Result) -> Entries:
    return {test.test: Entry({"state": test.state}) for test in claim.tests}


def _figures(claim: Result) -> Entries:
    return {figure.svg: Entry({}) for figure in claim.figures}


KINDS: dict[str, Callable[[Result], Entries]] = {
    "test": _tests,
    "check": _checks,
    "cell": _cells,
    "counterexample": _examples,
    "erratum": _errata,
    "number": _numbers,
    "figure": _figures,
}


def _apart(name: str, taken: Entries) -> str:
    """The same name may come several times in a loop of a test."""
    number = 1
    while name in taken:
        number += 1
        name = f"{name.rpartition(' #')[0] or name} #{number}"
    return name


def _is_number(value: Any) -> bool:
    return as_number(value) is not None


def as_number(value: Any) -> int | float | None:
    """A number, or the middle of a ball; None for what is neither."""
    if isinstance(value, str) and (ends := BALL.fullmatch(value)):
        return sum(map(float, ends.groups())) / 2
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _share(before: Any, after: Any) -> float | None:
    """How far a number moved, as a part of the larger one; None for what is no number."""
    a, b = as_number(before), as_number(after)
    if a is None or b is None:
        return None
    size = max(abs(a), abs(b))
    try:
        return abs(b - a) / size if size else 0.0
    except OverflowError:  # an integer beyond all floats, and a float
        return 1.0
