"""What differs between two results.json, and whether it matters.

It matters when a verdict is another, a check has another outcome or another limit, or something
that was shown is shown no more. A number that moved within its limits does not; it is told with how
far it moved. Limits that are computed may move a little. Times, versions, machines and paths are
not compared.
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
        return f"{self.claim}: {self.what}: {self.before} -> {self.after}{moved}"


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
    claims = results.get("claims")
    if not isinstance(claims, list):
        return "'claims' is missing or not a list"
    for place, claim in enumerate(claims, start=1):
        if not isinstance(claim, dict) or not _has_words(claim, "id", "verdict"):
            return f"claim number {place} has no 'id' or no 'verdict'"
        for key in ("checks", "controls", "table", "counterexamples", "tests"):
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
    if old["verdict"] != new["verdict"]:
        yield Difference(old["id"], "verdict", old["verdict"], new["verdict"], matters=True)
    for label, values in (("check", _checks), ("cell", _cells), ("counterexample", _examples)):
        before, after = values(old), values(new)
        for name in dict.fromkeys([*before, *after]):
            if name in before and name in after:
                yield from _of_entry(old["id"], name, before[name], after[name])
            else:
                states = ("there", "gone") if name in before else ("not there", "there")
                what = f"{label} {name}"
                yield Difference(old["id"], what, *states, matters=name in before)
    before, after = _records(old), _records(new)
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield Difference(old["id"], name, before[name], after[name], matters=False)


def _of_entry(
    id: str, name: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[Difference]:
    """Of a number only the value may move; its outcome and its limits may not."""
    for key in old.keys() | new.keys():
        if old.get(key) != new.get(key):
            what = name if key == "value" else f"{name}, {key}"
            matters = key != "value" and not _nearly(old.get(key), new.get(key))
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


def _records(claim: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"{test['test']}: recorded {name}": value
        for test in claim.get("tests", ())
        for name, value in (test.get("records") or {}).items()
    }


def _apart(name: str, taken: Mapping[str, Any]) -> str:
    """The same name may come several times in a loop of a test."""
    number = 1
    while name in taken:
        number += 1
        name = f"{name.rpartition(' #')[0] or name} #{number}"
    return name


def _share(before: Any, after: Any) -> float | None:
    """How far a number moved, as a part of the larger one; None for what is no number."""
    if any(isinstance(x, bool) or not isinstance(x, (int, float)) for x in (before, after)):
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
