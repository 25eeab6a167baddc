"""benchmarks.json: what `make bench` measured, what earlier runs had found, and the page on it.

An entry says what was measured, in which unit, against what, which value was aimed at, and the
limit: what a part of the work would give that no way can leave out. Nothing is judged when it is
measured: `Row` tells whether a target is met, and the page shows a miss in red, with the reason
that its benchmark gives.

python -m tools.benchmarks.page writes artifacts/benchmarks.html.
"""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from repro import files
from repro.report.pages import page, write_style

FILE, PAGE = "benchmarks.json", "benchmarks.html"
SCHEMA = 1
KEPT = 50  # earlier values of an entry
NEAR = 0.25  # exponents are "about" a whole number within this: its neighbours are 1 away
TIMES, EXPONENT = "×", "exponent"  # units; others are seconds, milliseconds, gigabytes
NUMBER = ""  # none: the name of the entry says what is counted
PARTS = {
    1: (
        "The zero-error network",
        "A training step of Table 1 of fang2022: 25 000 samples, n directions, a sum of n "
        "polynomials of degree 5 and its gradients.",
    ),
    2: (
        "Exact arithmetic",
        "Lemma 3.3 of fang2022 asks for the solution of a linear system of n_q rational equations.",
    ),
    3: (
        "A linear RNN in kernel form",
        "Section 6 of jiang2024: 128 units convolve with c W^s U. Forward and backward.",
    ),
    4: (
        "Kernels of wang2024",
        "Best l1 approximation of a kernel by heads, with proof; and attention without a dot "
        "product, which is a convolution.",
    ),
    5: (
        "The trainer",
        "Time until the same validation error, ours against the recipe that jiang2024 describes; "
        "and what a step costs. Each row names its device.",
    ),
    6: ("The harness", "What it costs to run a claim as a claim, to list all, to share them out."),
    7: ("Whole runs", "From nothing, on two cores: from the seconds that the last runs left."),
}


# --- the file ------------------------------------------------------------------------------------


def read(artifacts: Path) -> dict[str, Any]:
    """The latest there is: of this folder, or of the committed snapshot in it; empty if none."""
    for folder in (artifacts, artifacts / "reference"):
        try:
            return files.read_json(folder / FILE, schema=SCHEMA)
        except (FileNotFoundError, files.DamagedFile):
            continue
    return {}


def _ordered(entries: list[dict[str, Any]], measured: list[str]) -> list[dict[str, Any]]:
    """By part; as they were measured, if all of a part were."""
    left = {entry["part"] for entry in entries if entry["name"] not in measured}

    def place(entry: Mapping[str, Any]) -> tuple[int, int]:
        part = entry["part"]
        return part, 0 if part in left else measured.index(entry["name"])

    return sorted(entries, key=place)


def merged(
    before: Mapping[str, Any],
    run: Mapping[str, Any],
    found: Iterable[Mapping[str, Any]],
    earlier: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The document after a run: what it measured is new, and what was there goes to the history.

    A run of a part leaves the other entries as they were, with the run that they are of. An entry
    that names a `run` is of one of the `earlier`; told twice, it is not twice in the history.
    """
    entries = {entry["name"]: entry for entry in before.get("ratios", [])}
    found = list(found)
    for entry in found:
        old, by = entries.get(entry["name"]), entry.get("run", run["id"])
        entries[entry["name"]] = {**entry, "run": by, "history": _history(old, by)}
    ordered = _ordered(list(entries.values()), [entry["name"] for entry in found])
    runs = {**before.get("runs", {}), **(earlier or {}), run["id"]: dict(run)}
    used = {one["run"] for entry in ordered for one in (entry, *entry["history"])}
    return {
        "schema": SCHEMA,
        "ratios": ordered,
        "machine": run["machine"],
        "runs": {id: header for id, header in runs.items() if id in used},
    }


def _history(old: Mapping[str, Any] | None, run: str) -> list[dict[str, Any]]:
    if old is None:
        return []
    now = [] if old["run"] == run else [{"run": old["run"], "value": old["value"]}]
    return [*old["history"], *now][-KEPT:]


def part_of(module: ModuleType) -> int:
    """The part of the page that the figures of a file of benchmarks are for."""
    part = getattr(module, "PART", None)
    if part not in PARTS:
        known = "; ".join(f"{number}: {title}" for number, (title, _) in PARTS.items())
        raise ValueError(
            f"{module.__name__} has PART = {part}: at its top write PART = and the number of the "
            f"part that its figures are for ({known}; a new one goes into PARTS of {__name__})"
        )
    return part


# --- the page ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One entry as the page shows it."""

    entry: dict[str, Any]

    @property
    def anchor(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.entry["name"])

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        value, target = self.entry["value"], self.entry["target"]
        if target is None:
            return None
        if self.entry["relation"] == "≈":
            return abs(value - target) <= NEAR
        return value >= target if self.entry["relation"] == ">=" else value <= target

    @property
    def slower(self) -> bool:
        """No gain, and none was aimed at."""
        return self.entry["unit"] == TIMES and self.entry["value"] < 1 and self.met is None

    @property
    def at_least(self) -> str:
        """A sign before a value that is a lower bound: what it is compared with was given up."""
        return "≥ " if self.entry.get("at_least") else ""

    @property
    def missed_by(self) -> str:
        """How far the value is from its target: in percent, or how many times as large it is."""
        factor = self.entry["value"] / self.entry["target"]
        if factor >= 2:
            return f"{factor:.2g} times"
        return f"{100 * abs(factor - 1):.2g} % {'below' if factor < 1 else 'above'}"

    @property
    def earlier(self) -> list[float]:
        """To three digits: no time is known better, and the page is as much shorter."""
        return [float(f"{one['value']:.3g}") for one in self.entry["history"]]

    @property
    def past(self) -> list[float]:
        """The earlier values that the bar shows."""
        return self.earlier[-8:]

    def place(self, value: float) -> float:
        """Where a value is on the bar, in percent: times on a logarithmic scale, others from 0."""
        least, most = self._ends
        if self.entry["unit"] != TIMES:
            return 100 * value / most
        return 100 * math.log(value / least) / math.log(most / least)

    @property
    def ticks(self) -> list[float]:
        """The powers of ten on a logarithmic bar."""
        if self.entry["unit"] != TIMES:
            return []
        first, last = (math.log10(end) for end in self._ends)
        return [10.0**power for power in range(math.ceil(first), math.floor(last) + 1)]

    @property
    def _ends(self) -> tuple[float, float]:
        shown = [self.entry[key] for key in ("value", "target", "limit") if self.entry[key]]
        shown += self.past
        if self.entry["unit"] == TIMES:
            shown.append(1.0)  # as fast as the plain way
        if self.entry["unit"] == EXPONENT:
            shown.append(3.0)  # the largest that is aimed at: one scale for all exponents
        return min(shown) / 1.12, 1.12 * max(shown)


def parts(document: Mapping[str, Any]) -> list[tuple[int, str, str, list[Row]]]:
    """Number, title, what it is about, and the rows of each part."""
    rows = [Row(entry) for entry in document.get("ratios", [])]
    found = {number: [row for row in rows if row.entry["part"] == number] for number in PARTS}
    return [(number, *PARTS[number], ones) for number, ones in found.items() if ones]


def page_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the template needs."""
    rows = [Row(entry) for entry in document.get("ratios", [])]
    runs = document.get("runs", {})
    return {
        "parts": parts(document),
        "aimed": [row for row in rows if row.met is not None],
        "missed": [row for row in rows if row.met is False],
        "machine": document.get("machine", {}),
        "runs": runs,
        "latest": max(runs.values(), key=lambda run: run["started"], default={}),
        "dearest": {when: _told(document.get(f"dearest {when}", [])) for when in ("cold", "warm")},
    }


def _told(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of before told no seconds of the run itself, and are not shown."""
    return [row for row in rows if "seconds" in row]


def main() -> int:
    artifacts = Path("artifacts")
    write_style(artifacts)
    files.write_atomically(
        artifacts / PAGE, page("benchmarks.html", **page_values(read(artifacts)))
    )
    print(artifacts / PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
