"""What differs between two results.json, and whether it matters.

It matters when a verdict, the state of a test or a kind of evidence is another, when a check has
another outcome or another limit, a number is none any more, something that was shown is shown no
more, or the two runs had another scale, seed or device. A number that moved within its limits does
not matter; it is told with how far it moved. Limits that are computed may move a little. Times,
versions, machines and paths are not compared.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LITTLE = 1e-3  # of a computed limit: more than rounding elsewhere does to it
TIMES = ("RUN TIME",)  # columns of tables that hold times


@dataclass(frozen=True)
class Difference:
    claim: str
    what: str
    before: Any
    after: Any
    matters: bool

    def __str__(self) -> str:
        moved = _moved(self.before, self.after)
        told = f"{self.claim}: {self.what}: {self.before} -> {self.after}{moved}"
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in told)


SETTINGS = ("scale", "seed", "device")
KEYS = ("schema", "title", "run", "messages", "papers", "coverage", "claims")  # of a results.json


def settings(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """What the runs were asked for; numbers of other settings are other numbers."""
    before, after = (run.get("run") or {} for run in (old, new))
    return [
        Difference("the run", key, before.get(key), after.get(key), matters=True)
        for key in SETTINGS
        if before.get(key) != after.get(key)
    ]


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    before, after = ({claim["id"]: claim for claim in run["claims"]} for run in (old, new))
    found = []
    for id in dict.fromkeys([*before, *after]):
        if id in before and id in after:
            found += _of_claim(before[id], after[id])
        else:
            states = ("there", "gone") if id in before else ("not there", "there")
            found.append(Difference(id, "the claim", *states, matters=id in before))
    return found


def defect(results: Mapping[str, Any]) -> str:
    """What keeps an object from being a results.json, or nothing."""
    if unknown := sorted(set(results) - set(KEYS)):  # also a checksum whose name was damaged
        return f"{unknown[0]!r} is no part of it"
    claims = results.get("claims")
    if not isinstance(claims, list):
        return "'claims' is missing or not a list"
    if not isinstance(results.get("run", {}), dict):
        return "'run' is not an object"
    ids: set[str] = set()
    for place, claim in enumerate(claims, start=1):
        if not isinstance(claim, dict) or not _has_words(claim, "id", "verdict"):
            return f"claim number {place} has no 'id' or no 'verdict'"
        if claim["id"] in ids:
            return f"{claim['id']!r} is there twice"
        ids.add(claim["id"])
        for key in ("checks", "controls", "table", "counterexamples", "tests", "figures"):
            entries = claim.get(key, [])
            if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
                return f"{key!r} of {claim['id']!r} is not a list of objects"
        for test in claim.get("tests", []):
            if not _has_words(test, "test") or not isinstance(test.get("records") or {}, dict):
                return f"a test of {claim['id']!r} has no name, or odd records"
    return ""


def _has_words(entry: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(entry.get(key), str) for key in keys)


def _of_claim(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for key in ("verdict", "solid", "evidence"):
        if old.get(key) != new.get(key):
            yield Difference(old["id"], key, old.get(key), new.get(key), matters=True)
    for label, values in KINDS.items():
        before, after = values(old), values(new)
        for name in dict.fromkeys([*before, *after]):
            if name in before and name in after:
                yield from _of_entry(old["id"], name, before[name], after[name])
            else:
                states = ("there", "gone") if name in before else ("not there", "there")
                what = f"{label} {name}"
                yield Difference(old["id"], what, *states, matters=name in before)


def _of_entry(
    id: str, name: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[Difference]:
    """Of a number only the value may move; its outcome and its limits may not."""
    for key in old.keys() | new.keys():
        if old.get(key) != new.get(key):
            what = name if key == "value" else f"{name}, {key}"
            if key == "value":
                matters = _is_number(old[key]) and not _is_number(new[key])
            else:
                matters = not _nearly(old.get(key), new.get(key))
            yield Difference(id, what, old.get(key), new.get(key), matters=matters)


Entries = dict[str, dict[str, Any]]


def _checks(claim: Mapping[str, Any]) -> Entries:
    found: Entries = {}
    for check in [*claim.get("checks", ()), *claim.get("controls", ())]:
        setting = json.dumps(check.get("params") or {}, sort_keys=True)
        name = f"{check.get('test')}: {check.get('name')} {setting}"
        limits = {key: check.get(key) for key in ("ok", "relation", "allowed", "tolerance")}
        found[_apart(name, found)] = {"value": check.get("measured"), **limits}
    return found


def _cells(claim: Mapping[str, Any]) -> Entries:
    found: Entries = {}
    for cell in claim.get("table", ()):
        if cell.get("column") not in TIMES:
            name = _apart(f"{cell.get('row')}, {cell.get('column')}", found)
            found[name] = {"value": cell.get("ours"), "paper": cell.get("paper")}
    return found


def _examples(claim: Mapping[str, Any]) -> Entries:
    found: Entries = {}
    for example in claim.get("counterexamples", ()):
        name = _apart(str(example.get("refutes")), found)
        found[name] = {key: example.get(key) for key in ("measured", "relation", "expected")}
    return found


def _records(claim: Mapping[str, Any]) -> Entries:
    return {
        f"{test['test']}: recorded {name}": {"value": value}
        for test in claim.get("tests", ())
        for name, value in (test.get("records") or {}).items()
    }


def _tests(claim: Mapping[str, Any]) -> Entries:
    found: Entries = {}
    for test in claim.get("tests", ()):
        found[_apart(test["test"], found)] = {"state": test.get("state")}
    return found


def _figures(claim: Mapping[str, Any]) -> Entries:
    return {str(figure.get("svg")): {} for figure in claim.get("figures", ())}


KINDS = {
    "test": _tests,
    "check": _checks,
    "cell": _cells,
    "counterexample": _examples,
    "number": _records,
    "figure": _figures,
}


def _apart(name: str, taken: Mapping[str, Any]) -> str:
    """The same name may come several times in a loop of a test."""
    number = 1
    while name in taken:
        number += 1
        name = f"{name.rpartition(' #')[0] or name} #{number}"
    return name


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _share(before: Any, after: Any) -> float | None:
    """How far a number moved, as a part of the larger one; None for what is no number."""
    if not (_is_number(before) and _is_number(after)):
        return None
    size = max(abs(before), abs(after))
    try:
        return abs(after - before) / size if size else 0.0
    except OverflowError:  # an integer beyond all floats, and a float
        return 1.0


def _nearly(before: Any, after: Any) -> bool:
    share = _share(before, after)
    return share is not None and share <= LITTLE


def _moved(before: Any, after: Any) -> str:
    share = _share(before, after)
    return "" if share is None else f" ({share:.2g} of it)"
