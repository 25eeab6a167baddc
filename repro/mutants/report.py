"""docs/mutants.md and artifacts/mutants.html: what was tried, what was seen, and what was not."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro.files import write_atomically
from repro.mutants import controls, equivalents, results
from repro.mutants.results import Place, Result
from repro.report import MUTANTS
from repro.report.numbers import percent
from repro.report.pages import page, write_style


@dataclass
class Row:
    """One module."""

    file: str
    mutants: int = 0
    killed: int = 0
    equivalent: int = 0
    survived: int = 0

    @property
    def untried(self) -> int:
        return self.mutants - self.killed - self.equivalent - self.survived

    @property
    def share(self) -> float | None:
        """Of all mutants that are mistakes: how many were seen. Not tried is not seen."""
        mistakes = self.mutants - self.equivalent
        return self.killed / mistakes if mistakes else None


@dataclass(frozen=True)
class Survivor:
    file: str
    function: str
    line: int
    operator: str
    state: str
    diff: str


@dataclass
class Report:
    rows: list[Row] = field(default_factory=list)
    survivors: list[Survivor] = field(default_factory=list)
    seen_by: Counter = field(default_factory=Counter)  # test file: mutants it was the first to see
    reasons: list[tuple[equivalents.Same, int]] = field(default_factory=list)
    controls: str = ""  # what their last audit said

    @property
    def total(self) -> Row:
        names = ("mutants", "killed", "equivalent", "survived")
        sums = {name: sum(getattr(row, name) for row in self.rows) for name in names}
        return Row("all", **sums)

    def packages(self) -> list[Row]:
        """The sums for each package."""
        found: dict[str, Report] = {}
        for row in self.rows:
            found.setdefault(str(Path(row.file).parent), Report()).rows.append(row)
        return [Row(**{**vars(part.total), "file": name}) for name, part in found.items()]


def made(root: Path, files: Iterable[str], known: Mapping[str, Result]) -> Report:
    audit = root / controls.LAST
    report = Report(controls=audit.read_text().strip() if audit.exists() else "")
    same = equivalents.read()
    uses = Counter()
    for file in files:
        places = results.places(root, file)
        listed = equivalents.standing_for(root, places, same)
        row = Row(file, len(places))
        for place in places:
            if place.key in listed:
                row.equivalent += 1
                uses[listed[place.key]] += 1
            elif place.key in known and known[place.key].state in results.SEEN:
                row.killed += 1
                report.seen_by[_file(known[place.key])] += 1
            elif place.key in known and known[place.key].whole:
                row.survived += 1
                report.survivors.append(_survivor(root, place, known[place.key]))
        report.rows.append(row)
    report.reasons = [(one, uses[one]) for one in same if uses[one]]
    return report


def _file(one: Result) -> str:
    return one.by.split("::")[0] if "::" in one.by else one.state


def _survivor(root: Path, place: Place, one: Result) -> Survivor:
    old, new = ((root / place.file).read_text(), place.mutant.source)
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    diff = "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))
    return Survivor(
        place.file, place.scope, place.mutant.line, place.mutant.operator, one.state, diff
    )


def write(report: Report, root: Path, artifacts: Path) -> None:
    write_atomically(root / "docs" / "mutants.md", markdown(report))
    write_style(artifacts)
    write_atomically(artifacts / MUTANTS, page("mutants.html", report=report))


# --- docs/mutants.md -----------------------------------------------------------------------------

INTRODUCTION = """# Mutants

A green claim means something only if a wrong construction turns it red. `make mutants` changes the
code that the claims compute with, in small wrong ways, one at a time, and runs the claims and tests
that reach the change. A change that turns nothing red has *survived*.

```sh
make mutants                                          # all; interrupt it, and it goes on next time
make mutants MUTANTS="repro/wang2024/moving.py"       # one module
make mutants MUTANTS="--budget 28800"                 # stop after eight hours
make controls                                         # every control without its break
python -m repro.mutants --help
```

What is changed: a sign, a dropped term or factor, a product for a quotient, an exponent, a number
doubled, an index off by one, an inequality turned or moved by its edge, a branch, min for max, a
transposition (`repro/mutants/operators.py`). Not changed: what draws figures, what is raised, what
only a type checker sees. Each mutant meets the tests that execute its line, at smoke scale, from
the fastest on, for up to a minute of tests; the first red one ends it. One that takes five times as
long as the code as it is counts as seen.

`make controls` does the reverse: it takes the break out of every control, one at a time, and each
must come out red (`repro/mutants/controls/` says where the breaks are).

Mutants that are no mistakes are listed by hand in `repro/mutants/equivalent/`, each with its
reason, and are not counted. Not settled: not tried yet, or only on a part of the tests; it
counts as not seen.

This page is made by `python -m repro.mutants --report`.
"""


def markdown(report: Report) -> str:
    parts = [INTRODUCTION, "## By package\n", _table([*report.packages(), report.total])]
    parts += ["## By module\n", _table(report.rows)]
    parts += ["## What saw them\n", "The first red test of each mutant stood in:\n"]
    parts.append("| file | mutants |\n|---|---:|")
    parts += [f"| {name} | {count} |" for name, count in report.seen_by.most_common()]
    parts += ["\n## Controls without their break\n", report.controls or "Not audited yet."]
    parts += ["\n## Survivors\n"]
    parts += [_told(one) for one in report.survivors] or ["None."]
    parts += ["\n## No mistakes\n"]
    for same, count in report.reasons:
        times = f" ({count} places)" if count > 1 else ""
        change = f"`{same.before}` becomes `{same.after}`"
        parts.append(f"- {same.file}, {same.function or 'module'}: {change}{times}: {same.reason}")
    return "\n".join(parts) + "\n"


def _table(rows: list[Row]) -> str:
    head = "| | mutants | seen | no mistakes | survived | not settled yet | seen, of mistakes |"
    lines = [head, "|---|---:|---:|---:|---:|---:|---:|"]
    lines += [
        f"| {row.file} | {row.mutants} | {row.killed} | {row.equivalent} | {row.survived} "
        f"| {row.untried} | {percent(row.share)} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _told(one: Survivor) -> str:
    place = f"{one.file}:{one.line} {one.function}".rstrip()
    return f"{place}, {one.operator} ({one.state})\n\n```diff\n{one.diff}\n```\n"
