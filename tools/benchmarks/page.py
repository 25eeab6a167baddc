"""artifacts/benchmarks.json, what `make bench` measured, and its page.

A figure that is measured again replaces the one of its name, which stays beside it as `before`; the
others stay as they were, with the date and the commit of their run. Nothing is judged when it is
measured: the page shows a target that is missed in red.

python -m tools.benchmarks.page writes artifacts/benchmarks.html.
"""

import itertools
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from repro import files
from tools import pages

FILE, PAGE = "benchmarks.json", "benchmarks.html"
SCHEMA = 2
NEAR = 0.25  # exponents are "about" a whole number within this: its neighbours are 1 away
TIMES, EXPONENT = "×", "exponent"  # units; others are seconds, milliseconds, megabytes
SIGNS = {">=": "≥", "<=": "≤", "≈": "≈"}


@dataclass(frozen=True)
class Figure:
    part: str  # what its benchmarks are about
    name: str
    value: float
    unit: str
    against: str
    relation: str = ">="
    target: float | None = None
    at_least: bool = False
    note: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)  # its date, commit and machine
    before: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if self.target is None:
            return None
        if self.relation == "≈":
            return abs(self.value - self.target) <= NEAR
        return self.value >= self.target if self.relation == ">=" else self.value <= self.target

    @property
    def told(self) -> str:
        return ("≥ " if self.at_least else "") + _amount(self.value, self.unit)

    @property
    def aim(self) -> str:
        if self.target is None:
            return ""
        return f"{SIGNS[self.relation]} {_amount(self.target, self.unit)}"

    @property
    def earlier(self) -> str:
        return "" if self.before is None else _amount(self.before, self.unit)


def _amount(value: float, unit: str) -> str:
    digits = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits}×" if unit == TIMES else digits if unit == EXPONENT else f"{digits} {unit}"


def read(artifacts: Path) -> dict[str, Figure]:
    try:
        found = files.read_json(artifacts / FILE, schema=SCHEMA)
    except (FileNotFoundError, files.DamagedFile):
        return {}
    return {one["name"]: Figure(**one) for one in found["figures"]}


def add(artifacts: Path, run: dict[str, Any], figure: Figure) -> None:
    """On the disk at once: what ends a run loses none."""
    known = read(artifacts)
    last = known.get(figure.name)
    before = None
    if last is not None:
        before = last.before if last.run == run else last.value
    known[figure.name] = Figure(**{**asdict(figure), "run": run, "before": before})
    figures = [asdict(one) for one in known.values()]
    files.write_json(artifacts / FILE, {"schema": SCHEMA, "figures": figures})


def write(artifacts: Path) -> Path:
    figures = sorted(read(artifacts).values(), key=lambda one: one.part)
    parts = {part: list(ones) for part, ones in itertools.groupby(figures, lambda one: one.part)}
    aimed = [one for one in figures if one.met is not None]
    return pages.write(
        artifacts / PAGE, "benchmarks/page.html", parts=parts, aimed=len(aimed),
        met=sum(bool(one.met) for one in aimed),
    )  # fmt: skip


if __name__ == "__main__":
    print(write(Path("artifacts")))
    sys.exit(0)
