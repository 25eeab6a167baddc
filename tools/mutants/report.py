"""docs/mutants.md and artifacts/mutants.html: what was tried, what was seen, and what was not."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repro.files import write_atomically
from repro.report.numbers import percent
from repro.report.pages import page, write_style
from tools.mutants import alone, controls, equivalents, results
from tools.mutants.results import Place, Result

MUTANTS = "mutants.html"


@dataclass
class Row:
    """The mutants of a module, or of the functions that a claim runs, and what became of them."""

    file: str
    fates: Counter[str] = field(default_factory=Counter)

    @property
    def mutants(self) -> int:
        return self.fates.total()

    @property
    def killed(self) -> int:
        return self.fates["killed"]

    @property
    def equivalent(self) -> int:
        return self.fates["equivalent"]

    @property
    def survived(self) -> int:
        return self.fates["survived"]

    @property
    def untried(self) -> int:
        return self.fates["untried"]

    @property
    def share(self) -> float | None:
        """Of all mutants that are mistakes: how many were seen. Not tried is not seen."""
        mistakes = self.mutants - self.equivalent
        return self.killed / mistakes if mistakes else None


@dataclass
class ClaimRow(Row):
    """With those that were tried on the claim alone."""

    tried: int = 0
    missed: list[Place] = field(default_factory=list)  # what it does not see

    @property
    def alone(self) -> str:
        if not self.tried:
            return "not tried" if self.mutants else "runs none of it"
        return f"{self.tried - len(self.missed)} of {self.tried}"


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
    claims: list[ClaimRow] = field(default_factory=list)
    survivors: list[Survivor] = field(default_factory=list)
    seen_by: Counter = field(default_factory=Counter)  # test file: mutants it was the first to see
    reasons: list[tuple[equivalents.Same, int]] = field(default_factory=list)
    controls: str = ""  # what their last audit said

    @property
    def total(self) -> Row:
        return Row("all", sum((row.fates for row in self.rows), Counter()))

    @property
    def alone(self) -> str:
        """All claims together; a mutant counts for each that was tried on it."""
        missed = [place for row in self.claims for place in row.missed]
        return ClaimRow("all", tried=sum(row.tried for row in self.claims), missed=missed).alone

    @property
    def findings(self) -> list[equivalents.Same]:
        return [same for same, _ in self.reasons if same.finding]

    @property
    def by_reason(self) -> dict[str, dict[str, list[tuple[equivalents.Same, int]]]]:
        """By module, then by reason: one often stands for several changes."""
        found: dict[str, dict[str, list[tuple[equivalents.Same, int]]]] = {}
        for same, count in sorted(self.reasons, key=lambda pair: pair[0].file):
            found.setdefault(same.file, {}).setdefault(same.reason, []).append((same, count))
        return found

    def packages(self) -> list[Row]:
        """The sums for each package."""
        found: dict[str, Row] = {}
        for row in self.rows:
            name = str(Path(row.file).parent)
            found.setdefault(name, Row(name)).fates += row.fates
        return list(found.values())


def made(root: Path, files: Iterable[str], known: Mapping[str, Result]) -> Report:
    report = Report(controls=controls.last(root))
    same = equivalents.read()
    uses: Counter[equivalents.Same] = Counter()
    functions: dict[alone.Function, Counter[str]] = {}
    by_key: dict[str, Place] = {}
    for file in files:
        places = results.places(root, file)
        listed = equivalents.standing_for(root, places, same)
        row = Row(file)
        for place in places:
            fate = _fate(root, place, listed, known)
            row.fates[fate] += 1
            by_key[place.key] = place
            if place.inside:
                functions.setdefault((file, place.scope), Counter())[fate] += 1
            if fate == "equivalent":
                uses[listed[place.key]] += 1
            elif fate == "killed":
                report.seen_by[known[place.key].by.split("::")[0]] += 1
            elif fate == "survived":
                report.survivors.append(_survivor(root, place, known[place.key]))
        report.rows.append(row)
    report.reasons = [(one, uses[one]) for one in same if uses[one]]
    report.claims = [_claim(one, functions, by_key) for one in alone.read(root)]
    return report


def _fate(
    root: Path, place: Place, listed: Mapping[str, object], known: Mapping[str, Result]
) -> str:
    one = known.get(place.key)
    if place.key in listed:
        return "equivalent"
    if one is None or one.state in results.SEEN:
        return "killed" if results.confirmed(root, one) else "untried"
    return "survived" if one.whole else "untried"


def _claim(
    one: alone.Alone, functions: Mapping[alone.Function, Counter[str]], by_key: Mapping[str, Place]
) -> ClaimRow:
    """Of the code as it is: what has changed since it was tried does not count."""
    fates = (functions[name] for name in one.functions if name in functions)
    states = {key: state for key, state in one.states.items() if key in by_key}
    missed = [by_key[key] for key, state in states.items() if state not in results.SEEN]
    return ClaimRow(one.claim, sum(fates, Counter()), tried=len(states), missed=missed)


def _survivor(root: Path, place: Place, one: Result) -> Survivor:
    old, new = ((root / place.file).read_text(), place.mutant.source)
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    diff = "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))
    return Survivor(
        place.file, place.scope, place.mutant.line, place.mutant.operator, one.state, diff
    )


def write(report: Report, artifacts: Path) -> Path:
    """The page."""
    write_style(artifacts)
    write_atomically(artifacts / MUTANTS, page("mutants.html", report=report))
    return artifacts / MUTANTS


def keep(report: Report, root: Path) -> Path:
    """docs/mutants.md, and the page for `python -m repro preview`."""
    write_atomically(root / "artifacts/reference" / MUTANTS, page("mutants.html", report=report))
    write_atomically(root / "docs/mutants.md", markdown(report))
    return root / "docs/mutants.md"


# --- docs/mutants.md -----------------------------------------------------------------------------

INTRODUCTION = """# Mutants

A green claim means something only if a wrong construction turns it red. `make mutants` changes the
code that the claims compute with, in small wrong ways, one at a time, and runs the claims and tests
that reach the change. A change that turns nothing red has *survived*.

```sh
make mutants                                          # all; interrupt it, and it goes on next time
make mutants MUTANTS="repro/wang2024/moving.py"       # one module
make mutants MUTANTS="--budget 28800"                 # stop after eight hours
make mutants MUTANTS="--alone 8"                      # what does each claim see by itself?
make controls                                         # every control without its break
python -m tools.mutants --help
```

What is changed: a sign, a dropped term or factor, a product for a quotient, an exponent, a number
doubled, an index off by one, an inequality turned or moved by its edge, a branch, min for max, a
transposition (`tools/mutants/operators.py`), in the four packages that compute and in what judges
(`checks.py`, `verdicts.py` and `claim.py` of the harness). Not changed: what draws figures, what is
raised, what only a type checker sees; nor `fused.c`, which tests hold against torch, bit for bit.
Each mutant meets the tests that execute its line, at smoke scale, from the fastest on, for up to a
minute of tests; the first red one ends it, if it is green without the mutant. A test that takes
five times as long and 20 s, and twice as long as without the mutant just then, has seen it too.

`make controls` does the reverse: it takes the break out of every control, one at a time, and each
must come out red (`tools/mutants/controls/` says where the breaks are).

Mutants that are no mistakes are listed by hand in `tools/mutants/equivalent/`, each with its
reason, and are neither tried nor counted; `--listed` tries them, and none may turn a test red.
Not settled: not tried yet, or only on a part of the tests, or seen by a test that has changed
since; it counts as not seen.

This page is made by `python -m tools.mutants --keep`.
"""


BY_CLAIM = """The mutants of the functions that a claim runs, and what became of them on all tests:
most fall to a unit test before any claim is run, so that this says little of the claim. So some of
those on lines that the claim executes, drawn for each claim and always the same, were tried on that
claim alone, at smoke scale (`make mutants MUTANTS="--alone 8"`): the first column. A claim need not
see them all: it runs code for other cases than its own, and a bound that is wider than it should be
holds all the same. What it does not see is listed below the table, and is seen by unit tests.
"""


FINDINGS = """Where a statement needs less than it says, a change of what it does not need survives.
The claim checks that, and the ledger tells it:
"""


def markdown(report: Report) -> str:
    parts = [INTRODUCTION, "## By package\n", _table([*report.packages(), report.total])]
    parts += ["## By module\n", _table(report.rows)]
    parts += ["## By claim\n", BY_CLAIM, f"All claims together: {report.alone}.\n"]
    parts += [_table(report.claims), "Not seen by a claim alone:\n"]
    parts += [
        f"- {row.file}: " + "; ".join(map(_missed, row.missed))
        for row in report.claims
        if row.missed
    ]
    parts.append("")
    parts += ["## What saw them\n", "The first red test of each mutant stood in:\n"]
    parts.append("| file | mutants |\n|---|---:|")
    parts += [f"| {name} | {count} |" for name, count in report.seen_by.most_common()]
    parts += ["\n## Controls without their break\n", report.controls or "Not audited yet."]
    parts += ["\n## Survivors\n"]
    parts += [_told(one) for one in report.survivors] or ["None."]
    parts += ["\n## Survivors that became findings\n", FINDINGS]
    parts += [f"- {one.finding}, {_change(one)}: {one.reason}" for one in report.findings]
    parts += ["\n## No mistakes"]
    for file, reasons in report.by_reason.items():
        parts.append(f"\n### {file}\n")
        for reason, changes in reasons.items():
            parts.append(f"- {reason}")
            parts += [f"  - {same.function or 'module'}, {_change(same)}{_times(count)}"
                      for same, count in changes]  # fmt: skip
    return "\n".join(parts) + "\n"


def _missed(place: Place) -> str:
    one = place.mutant
    return f"{place.file}:{one.line}, `{one.before}` becomes `{one.after}`"


def _times(count: int) -> str:
    return f" ({count} places)" if count > 1 else ""


def _change(same: equivalents.Same) -> str:
    return f"in `{same.line}`, `{same.before}` becomes `{same.after}`"


FATES = ("mutants", "seen", "no mistakes", "survived", "not settled yet")


def _table(rows: Sequence[Row]) -> str:
    """Of a claim first what it sees by itself; the other columns tell what any test saw."""
    claims = any(isinstance(row, ClaimRow) for row in rows)
    head = ["", *(["seen by it alone"] if claims else []), *FATES]
    head.append("seen by any test" if claims else "seen, of mistakes")
    lines = [_line(head), "|---|" + (len(head) - 1) * "---:|"]
    for row in rows:
        cells = [row.file, *([row.alone] if isinstance(row, ClaimRow) else [])]
        cells += [row.mutants, row.killed, row.equivalent, row.survived, row.untried]
        lines.append(_line(map(str, [*cells, percent(row.share)])))
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _told(one: Survivor) -> str:
    place = f"{one.file}:{one.line} {one.function}".rstrip()
    return f"{place}, {one.operator} ({one.state})\n\n```diff\n{one.diff}\n```\n"
