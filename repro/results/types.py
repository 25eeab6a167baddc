"""What a run finds, from one number to the whole document: defined here and nowhere else.

A test writes a `Record`; the records of a claim make its `Result`; all results make `Results`,
the file results.json. The harness, the pages and `python -m repro diff` use these classes, and
codec.py writes and reads them as JSON, field by field: a new field is one line here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from repro.bounds import Source

SCHEMA = 2
LOOSE = 10.0  # a chosen threshold that is passed by more decides little
OUTCOMES = ("matches", "same order", "differs", "not run")  # of a cell
GRADES = ("false", "proof gap", "edge case", "misprint")  # of an erratum, severest first


@dataclass(frozen=True, kw_only=True)
class Check:
    """A measured number, what was allowed, and where the bound comes from."""

    name: str = ""
    equation: str = ""
    measured: Any
    relation: str  # <=  >=  =  ≈, and "not <=" and the like of a counterexample
    allowed: Any
    tolerance: Any = None  # of ≈
    provenance: tuple[Source, ...] = ()
    margin: float | str | None = None  # how far from red, as a factor; "inf" in a file
    ok: bool
    params: dict[str, Any] = field(default_factory=dict)
    test: str = ""
    line: int = 0  # of the claim's file, where it is asked for
    evidence: str | None = None

    @property
    def refutes(self) -> bool:
        """Whether this is the check of a counterexample."""
        return self.relation.startswith("not ")

    @property
    def loose(self) -> bool:
        """Whether a threshold that we chose is passed by more than a factor of ten."""
        only_chosen = {source.kind for source in self.provenance} == {"chosen"}
        return only_chosen and self.ok and float(self.margin or 0) > LOOSE

    @property
    def ratio(self) -> float | None:
        """How far off, as a factor: above 1 when red."""
        return 1 / self.margin if isinstance(self.margin, float) and self.margin else None


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number that the page shows; nothing is compared."""

    name: str
    value: Any
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A printed cell of a table or figure beside ours."""

    row: str
    column: str
    paper: Any
    ours: Any
    outcome: str = ""  # one of OUTCOMES
    tolerance: tuple[Source, ...] = ()  # within which it would match
    printed_size: str = ""
    run_size: str = ""
    note: str = ""
    test: str = ""
    evidence: str | None = None

    @property
    def reduced(self) -> bool:
        """Whether it was run at another size than the printed one."""
        return bool(self.run_size) and self.run_size != self.printed_size


@dataclass(frozen=True, kw_only=True)
class Counterexample:
    """An input for which `measured relation expected`, as the text has it, is false."""

    refutes: str
    printed: bool  # or else a reading of the text that fails while the statement stands
    input: dict[str, Any]
    measured: Any
    relation: str
    expected: Any
    program: str = ""  # Python that shows it again
    params: dict[str, Any] = field(default_factory=dict)
    test: str = ""
    evidence: str | None = None


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """Something wrong in a paper: what is printed, the correction, and what survives."""

    statement: str
    grade: str  # one of GRADES
    where: str  # statement, proof, text or experiment
    place: str
    printed: str
    corrected: str
    survives: str
    why: str  # the counterexample in two lines, or the line that has it right
    more: str = ""  # what the two lines leave out; not in the letter
    tests: tuple[str, ...] = ()  # functions of the statement's claim that store a counterexample
    program: str = ""  # a file that shows it with Python's standard library alone
    needs: str = ""  # what it takes to show it, where no such program can
    sure: str = ""  # how sure we are, where it is not simply that the program computes it
    version: str = ""  # of the paper in which it was found
    source: str = ""  # what stands in the program


@dataclass(frozen=True, kw_only=True)
class Refutation:
    """One sentence that fails, with every input for which it does."""

    refutes: str
    printed: bool
    examples: tuple[Counterexample, ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    svg: str
    png: str
    caption: str
    alt: str
    test: str = ""
    evidence: str | None = None


@dataclass(frozen=True, kw_only=True)
class Training:
    """A training that a test used: from the store, made now, or missing."""

    kind: str
    key: str
    reason: str
    seconds: float


@dataclass(kw_only=True)
class Test:
    """One test as results.json tells of it."""

    __test__ = False  # pytest need not look here

    test: str
    state: str
    role: str
    evidence: str | None
    description: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    seconds: float = 0.0
    started: str = ""
    run: str
    scale: str = ""
    seed: int = 0
    device: str = ""
    threads: int = 1
    worker: str = ""
    command: str = ""
    stale: bool = False
    numbers: list[Number] = field(default_factory=list)
    trainings: list[Training] = field(default_factory=list)


@dataclass(kw_only=True)
class Record(Test):
    """What one test has measured so far: a file of its own, written by its process alone."""

    __test__ = False

    claim: str
    code: str = ""  # the fingerprint of what it rests on
    pid: int = 0
    host: str = ""
    born: int | None = None
    checks: list[Check] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    counterexamples: list[Counterexample] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def summary(self) -> Test:
        return Test(**{name: getattr(self, name) for name in Test.__dataclass_fields__})


@dataclass(frozen=True, kw_only=True)
class Alone:
    """Mutants of the code that a claim executes, tried on that claim and no other test."""

    seen: int
    tried: int
    code: str  # the fingerprint of what the claim rested on then
    stale: bool = False  # it has another one now


@dataclass(kw_only=True)
class Result:
    """A statement of the ledger with what its tests found."""

    id: str
    paper: str
    kind: str
    number: str
    also: str = ""
    section: str = ""
    title: str = ""
    statement: str = ""
    formula: str = ""
    note: str = ""
    data: str = ""
    why_all: str = ""
    open: str = ""
    uses: tuple[str, ...] = ()
    status: str = "pending"
    pending: bool = False
    aims: tuple[str, ...] = ()
    verdict: str
    why: str = ""
    solid: bool = False
    reduced: bool = False
    errata: tuple[Erratum, ...] = ()
    evidence: list[str] = field(default_factory=list)
    file: str | None = None
    description: str = ""
    command: str = ""
    scale: str | None = None
    seconds: float = 0.0
    run: str | None = None
    stale: bool = False
    checks: list[Check] = field(default_factory=list)
    controls: list[Check] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    counterexamples: list[Counterexample] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    alone: Alone | None = None

    @property
    def refutations(self) -> list[Refutation]:
        """Counterexamples by the sentence that they refute."""
        alike: dict[tuple[str, bool], list[Counterexample]] = {}
        for example in self.counterexamples:
            alike.setdefault((example.refutes, example.printed), []).append(example)
        return [
            Refutation(refutes=refutes, printed=printed, examples=tuple(examples))
            for (refutes, printed), examples in alike.items()
        ]

    def every_check(self) -> Iterator[Check]:
        yield from self.checks
        yield from self.controls


@dataclass(frozen=True, kw_only=True)
class Paper:
    title: str
    authors: str
    version: str


@dataclass(kw_only=True)
class Coverage:
    """Of one paper, our own findings apart: statements, those with a claim, how they stand."""

    statements: int = 0
    with_claims: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)


@dataclass(kw_only=True)
class Run:
    """The header of a run: what was asked for, by which code, on what."""

    id: str
    started: str = ""
    finished: str | None = None
    state: str = "running"
    pid: int = 0
    host: str = ""
    born: int | None = None
    scale: str = ""
    seed: int = 0
    device: str = ""
    threads: int = 1
    workers: int = 0
    argv: list[str] = field(default_factory=list)
    git: str | None = None
    dirty: bool | None = None
    versions: dict[str, str] = field(default_factory=dict)
    collected: int = 0
    reported: int = 0


@dataclass(kw_only=True)
class Results:
    """results.json."""

    title: str
    run: Run
    messages: list[str] = field(default_factory=list)
    papers: dict[str, Paper] = field(default_factory=dict)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    claims: list[Result] = field(default_factory=list)
