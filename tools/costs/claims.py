"""What each claim of a run cost, from its results and from what `sampling` saw of it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from repro import files
from tools.costs import sampling

DEAREST = 10
FUNCTIONS = 5  # kept of each claim: those in which it spends most
LARGEST = 5  # claims that take most memory
WAITING = "repro/training/store.py: Store._hold"  # for a training that another worker makes
WITHOUT_DATA = "needs make data"  # what a test says that is not run for want of a data set

KINDS = {  # by what the names of their functions begin with
    "trained networks, judged again": (
        "repro/jiang2024/vit.py", "repro/jiang2024/minilm.py", "repro/jiang2024/convolution.py",
        "repro/jiang2024/translation.py", "repro/jiang2024/scores.py", "repro/jiang2024/bleu.py",
        "repro/jiang2024/trained_", "repro/wang2024/trained_", "repro/wang2024/t5.py",
        "repro/fang2022/experiments.py", "repro/fang2022/comparison.py",
    ),
    "the papers' constructions, in every arithmetic": (
        "repro/fang2022/", "repro/jiang2024/", "repro/wang2024/", "repro/numerics/arrays.py",
    ),
    "exact numbers, balls, linear programs and other numerics": ("repro/numerics/",),
    "drawing cases (hypothesis)": ("repro/harness/claim.py: _search",),
    "trainings and their store": ("repro/training/",),
    "figures": ("repro/figures.py",),
    "the harness, with imports, files and the page": (
        "repro/harness/", "repro/files.py", "repro/report/",
    ),
    "the claims' own lines": ("claims/",),
}  # fmt: skip

Claims = Iterable[Mapping[str, Any]]


def trainings(claims: Claims) -> Iterator[tuple[str, float]]:
    """Kind and seconds of every training that was made by a test of these claims."""
    for entry in (entry for c in claims for test in c["tests"] for entry in test["store"]):
        if str(entry.get("reason")).startswith("computed"):
            yield entry["kind"], float(entry.get("seconds") or 0.0)


def red(claims: Claims) -> list[str]:
    """Tests that failed, as pytest names them, and what they said first."""
    wrong = ("failed", "error", "crashed")
    found = ((claim["file"], test) for claim in claims for test in claim["tests"])
    return [
        f"{file}::{test['test']} ({test['state']}: {test['message'].partition(chr(10))[0]})"
        for file, test in found
        if test["state"] in wrong
    ]


def left_out(claims: Claims) -> int:
    """Tests that did not run to their end for want of a training, or of a data set."""
    return sum(_lacks_something(test) for claim in claims for test in claim["tests"])


def _lacks_something(test: Mapping[str, Any]) -> bool:
    lacking = any(entry.get("reason") in ("missing", "damaged") for entry in test["store"])
    return lacking or str(test.get("message")).startswith(WITHOUT_DATA)


def seconds(claims: Claims) -> float:
    """What their tests took by the clock."""
    return sum(test["seconds"] or 0.0 for claim in claims for test in claim["tests"])


def busy(claims: Claims) -> float:
    """Seconds of work besides trainings: what tests took, less the trainings that they made."""
    return sum(
        max(
            0.0,
            (test["seconds"] or 0.0) - sum(spent for _, spent in trainings([{"tests": [test]}])),
        )
        for claim in claims
        for test in claim["tests"]
    )


class Samples:
    """What all processes of a run left in its folder of artifacts, added up."""

    def __init__(self, artifacts: Path) -> None:
        self.spent: dict[str, dict[sampling.Place, float]] = defaultdict(lambda: defaultdict(float))
        self.peaks: dict[str, int] = {}
        self.added: dict[str, int] = {}
        self.spans: list[tuple[float, float]] = []  # of each process: its first and its last test
        for file in sorted((artifacts / sampling.FOLDER).glob("*.json")):
            found = files.read_json(file)
            self.peaks |= found["peaks"]
            self.added |= found["added"]
            self.spans += [tuple(found["span"])] if found["span"] else []
            for claim, ours, library, function, seconds in found["spent"]:
                self.spent[claim][ours, library, function] += seconds

    def waited(self, claim: str) -> float:
        return sum(spent for (ours, *_), spent in self.spent[claim].items() if ours == WAITING)

    def kinds(self) -> dict[str, float]:
        """Seconds of all claims by what is done in them; most first."""
        found: dict[str, float] = defaultdict(float)
        for places in self.spent.values():
            for (ours, *_), spent in places.items():
                if ours != WAITING:
                    found[kind(ours)] += spent
        return dict(sorted(found.items(), key=lambda one: -one[1]))

    def functions(self, claim: str) -> list[tuple[str, float]]:
        """Our functions at work, each with the library that it has called, and their share."""
        parts: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for (ours, library, function), spent in self.spent[claim].items():
            if ours != WAITING:
                parts[ours, library][function] = spent
        whole = sum(sum(part.values()) for part in parts.values())
        found = [(_name(*place, part), sum(part.values()) / whole) for place, part in parts.items()]
        return sorted(found, key=lambda one: -one[1])

    def largest(self) -> list[tuple[str, int]]:
        """The claims that added most to what their process held, each by its largest test."""
        found: dict[str, tuple[str, int]] = {}
        for test, added in sorted(self.added.items(), key=lambda one: -one[1]):
            found.setdefault(test.partition("::")[0], (test, added))
        return list(found.values())[:LARGEST]


def kind(ours: str) -> str:
    """What is done in a function of ours, by its file; the first of KINDS that has it."""
    for words, places in KINDS.items():
        if ours.startswith(places):
            return words
    return "other"


def _name(ours: str, library: str, part: Mapping[str, float]) -> str:
    """repro/training/loop.py: fit (torch: backward); the last only if it has most of the part."""
    most, spent = max(part.items(), key=lambda one: one[1])
    called = f"{library}: {most}" if most and spent > sum(part.values()) / 2 else library
    return f"{ours} ({called})" if ours and called else ours or called or "elsewhere"


def spent(claims: Claims, samples: Samples) -> list[dict[str, Any]]:
    """Each claim with its seconds, the trainings that it made, and its functions; dearest first.

    Waiting for a training that another worker makes does not count: it counts for the claim that
    makes it.
    """
    rows = []
    for claim in claims:
        kinds: dict[str, float] = defaultdict(float)
        for kind, took in trainings([claim]):
            kinds[kind] += took
        row = {"id": claim["id"], "file": claim["file"]}
        row["seconds"] = max(0.0, seconds([claim]) - samples.waited(claim["file"]))
        row["trainings"] = dict(sorted(kinds.items(), key=lambda one: -one[1]))
        row["functions"] = samples.functions(claim["file"])
        rows.append(row)
    return sorted(rows, key=lambda row: -row["seconds"])


def dearest(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "functions": row["functions"][:FUNCTIONS]} for row in list(rows)[:DEAREST]]
