"""The ledger: every statement of the papers, what we recorded about it, and the errata.

The files are TOML; docs/ledger.md describes them for people. Reading them needs no torch, no numpy
and no pytest, so that listing stays quick.
"""

import functools
import graphlib
import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from repro.results.types import GRADES, Erratum

KINDS = (
    "theorem", "lemma", "proposition", "corollary", "remark", "definition", "equation", "section",
    "table", "figure", "finding",
)  # fmt: skip
EVIDENCE = ("exact", "certified", "best-in-class", "construct", "train")  # strongest first
RECORDED = (
    "holds", "corrected", "supported", "refuted",
    "reproduced", "partly-reproduced", "not-reproduced",
)  # fmt: skip
STATUSES = (*RECORDED, "pending")
LISTS = ("evidence", "uses", "tests")  # fields that hold several words
COVERS = ("definition", "identity", "proof", "certificate", "exhaustive", "machine-checked")
WHY = 300  # characters
PLACES = ("statement", "proof", "text", "experiment")

_WHY_ALL = re.compile(rf"({'|'.join(COVERS)}): .+", re.DOTALL)
_PAPER = re.compile(r"[a-z]+[0-9]{4}[a-z]?")
_ID = re.compile(
    rf"(?P<paper>{_PAPER.pattern})/(?P<kind>[a-z]+)-(?P<name>[A-Za-z0-9]+([.-][A-Za-z0-9]+)*)"
)


class LedgerError(ValueError):
    """The ledger cannot be used; the message names the file, the entry and the field."""


@dataclass(frozen=True)
class Paper:
    key: str
    title: str
    authors: str
    version: str


@dataclass(frozen=True)
class Statement:
    """One entry. `status` is what we recorded; the verdict is computed anew by every run."""

    id: str
    kind: str
    number: str
    section: str
    title: str
    statement: str
    evidence: tuple[str, ...]
    status: str
    formula: str = ""
    uses: tuple[str, ...] = ()
    also: str = ""
    data: str = ""
    note: str = ""
    why_all: str = ""
    open: str = ""

    @property
    def paper(self) -> str:
        return self.id.split("/")[0]

    @property
    def pending(self) -> bool:
        return self.status == "pending"

    @property
    def finding(self) -> bool:
        """Whether it is a result of our own."""
        return self.kind == "finding"

    @property
    def stem(self) -> str:
        """How the name of this statement's claim file begins: `test_lemma_3_1`."""
        return "test_" + re.sub(r"[.-]", "_", self.id.split("/")[1])


@dataclass(frozen=True)
class Ledger:
    path: Path
    title: str
    papers: dict[str, Paper]
    statements: dict[str, Statement] = field(repr=False)
    errata: dict[str, tuple[Erratum, ...]] = field(repr=False)  # of a statement, by its id

    @functools.cached_property
    def _by_stem(self) -> dict[tuple[str, str], Statement]:
        return {(s.paper, s.stem): s for s in self.statements.values()}

    def of_file(self, path: Path) -> Statement | None:
        """The statement that a claim file shows, by its folder and the start of its name."""
        words = path.stem.split("_")
        starts = ("_".join(words[:end]) for end in range(len(words), 0, -1))
        found = (self._by_stem.get((path.parent.name, start)) for start in starts)
        return next(filter(None, found), None)

    def order(self) -> list[str]:
        """All ids, each after everything that it uses."""
        return list(_sorted(self.statements).static_order())


def _sorted(statements: dict[str, Statement]) -> graphlib.TopologicalSorter[str]:
    return graphlib.TopologicalSorter({id: statement.uses for id, statement in statements.items()})


def read(path: Path) -> Ledger:
    """Read and check a ledger, and the errata beside it; a LedgerError says where a defect is."""
    raw = _toml(path, ("schema", "title", "papers", "statement"))
    if type(raw.get("schema")) is not int or raw["schema"] != 1:
        raise LedgerError(f"{path}: field 'schema' must be 1, found {raw.get('schema')!r}")
    if not isinstance(raw.get("title"), str) or not raw["title"].strip():
        raise LedgerError(f"{path}: field 'title' must be a few words")
    tables, entries = raw.get("papers", {}), raw.get("statement", [])
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        raise LedgerError(f"{path}: field 'papers' must hold tables ([papers.key])")
    if not isinstance(entries, list):
        raise LedgerError(f"{path}: field 'statement' must be an array of tables ([[statement]])")
    papers = {key: _paper(path, key, entry) for key, entry in tables.items()}
    statements: dict[str, Statement] = {}
    stems: dict[tuple[str, str], str] = {}
    for position, entry in enumerate(entries, start=1):
        statement = _statement(path, position, entry)
        where = f"{path}: entry {statement.id}: field 'id'"
        if statement.id in statements:
            raise LedgerError(f"{where} stands twice")
        if statement.paper not in papers:
            raise LedgerError(f"{where} names no paper of [papers]")
        twin = stems.setdefault((statement.paper, statement.stem), statement.id)
        if twin != statement.id:
            raise LedgerError(f"{where} reads like {twin} in a file's name")
        statements[statement.id] = statement
    _check_uses(path, statements)
    errata = [
        _erratum(beside, position, entry, statements)
        for beside in sorted((path.parent / "errata").glob("*.toml"))
        for position, entry in enumerate(_toml(beside, ("erratum",))["erratum"], start=1)
    ]
    dated = [replace(e, version=e.version or papers[_paper_of(e)].version) for e in errata]
    of_statement = {id: tuple(one for one in dated if one.statement == id) for id in statements}
    for id, statement in statements.items():
        _check_grades(path, statement, of_statement[id])
    return Ledger(path, raw["title"], papers, statements, of_statement)


def _paper_of(erratum: Erratum) -> str:
    return erratum.statement.split("/")[0]


def _toml(path: Path, known: tuple[str, ...]) -> dict[str, Any]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LedgerError(f"{path}: there is no ledger here") from None
    except OSError as error:
        raise LedgerError(f"{path}: the ledger cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:  # also from numbers and tables without end
        raise LedgerError(f"{path}: not a TOML file: {error}") from None
    if unknown := set(raw) - set(known):
        told = f"unknown field {min(unknown)!r} (known: {', '.join(known)})"
        raise LedgerError(f"{path}: {told}")
    return raw


def _paper(path: Path, key: str, entry: dict[str, Any]) -> Paper:
    where = f"{path}: paper {key}"
    if not _PAPER.fullmatch(key):
        raise LedgerError(f"{where}: field 'papers': a key must read like fang2022")
    _check_fields(where, entry, Paper, ignore=frozenset({"key"}))
    return Paper(key=key, **entry)


def _statement(path: Path, position: int, entry: Any) -> Statement:
    if not isinstance(entry, dict):
        raise LedgerError(f"{path}: entry number {position}: must be a table")
    where = f"{path}: entry {entry.get('id', f'number {position}')}"
    _check_fields(where, entry, Statement)
    lists = {name: tuple(entry[name]) for name in LISTS if name in entry}
    statement = Statement(**{**entry, **lists})
    matched = _ID.fullmatch(statement.id)
    if not matched or len(statement.id) > 80:
        raise LedgerError(f"{where}: field 'id' must read <paper>/<kind>-<number>")
    if matched["kind"] != statement.kind:
        told = f"is {statement.kind!r}, but the id says {matched['kind']!r}"
        raise LedgerError(f"{where}: field 'kind' {told}")
    for name, value, known in [
        ("kind", statement.kind, KINDS),
        ("status", statement.status, STATUSES),
        *[("evidence", value, EVIDENCE) for value in statement.evidence],
    ]:
        if value not in known:
            told = f"unknown value {value!r} (known: {', '.join(known)})"
            raise LedgerError(f"{where}: field {name!r}: {told}")
    if len(set(statement.uses)) < len(statement.uses):
        raise LedgerError(f"{where}: field 'uses' names something twice")
    if statement.why_all and not _WHY_ALL.fullmatch(statement.why_all):
        told = f"begins with what covers every case, one of: {', '.join(COVERS)}; then a colon"
        raise LedgerError(f"{where}: field 'why_all' {told}")
    if statement.status in ("holds", "corrected") and not statement.why_all:
        told = "must say what covers every case, or else the statement is 'supported'"
        raise LedgerError(f"{where}: field 'why_all' {told}")
    if statement.status == "supported" and not statement.open:
        told = "must say what finite evidence leaves open"
        raise LedgerError(f"{where}: field 'open' {told}")
    return statement


def _erratum(path: Path, position: int, entry: Any, statements: dict[str, Statement]) -> Erratum:
    if not isinstance(entry, dict):
        raise LedgerError(f"{path}: entry number {position}: must be a table")
    where = f"{path}: entry number {position} ({entry.get('statement', 'of no statement')})"
    _check_fields(where, entry, Erratum, ignore=frozenset({"source"}))
    erratum = Erratum(**{**entry, "tests": tuple(entry.get("tests", ()))})
    for name, value, known in [
        ("statement", erratum.statement, statements),
        ("grade", erratum.grade, GRADES),
        ("where", erratum.where, PLACES),
    ]:
        if value not in known:
            raise LedgerError(f"{where}: field {name!r}: unknown value {value!r}")
    if len(erratum.why) > WHY:
        told = f"has {len(erratum.why)} characters, two lines have {WHY}: the rest is for 'more'"
        raise LedgerError(f"{where}: field 'why' {told}")
    if erratum.grade == "false" and not erratum.tests:
        told = "must name the test that stores the counterexample"
        raise LedgerError(f"{where}: field 'tests' {told}")
    if erratum.grade != "misprint" and not (erratum.program or erratum.needs):
        told = "a program, or what it needs where none of the standard library can show it"
        raise LedgerError(f"{where}: field 'program' or 'needs' must say: {told}")
    if not erratum.program:
        return erratum
    program = path.parent / path.stem / erratum.program
    if not program.is_file():
        raise LedgerError(f"{where}: field 'program': there is no {program}")
    return replace(erratum, source=program.read_text(encoding="utf-8"))


def _check_grades(path: Path, statement: Statement, errata: tuple[Erratum, ...]) -> None:
    """A verdict changes by `false` alone; tables and figures are judged by their cells."""
    false = any(erratum.grade == "false" for erratum in errata)
    measured = statement.status.endswith("reproduced")
    if false != (statement.status in ("corrected", "refuted")) and not (
        measured or statement.pending
    ):
        told = "an erratum of grade 'false'" if not false else "no erratum of grade 'false'"
        where = f"{path}: entry {statement.id}: field 'status'"
        raise LedgerError(f"{where}: {statement.status!r} goes with {told}")


def _check_fields(
    where: str, entry: dict[str, Any], record: type, ignore: frozenset[str] = frozenset()
) -> None:
    known = {f.name: f for f in fields(record) if f.name not in ignore}
    for name in entry:
        if name not in known:
            raise LedgerError(f"{where}: unknown field {name!r} (known: {', '.join(known)})")
    for name, spec in known.items():
        required = spec.default is spec.default_factory  # both MISSING
        if required and name not in entry:
            raise LedgerError(f"{where}: field {name!r} is missing")
        if name not in entry:
            continue
        value, many = entry[name], name in LISTS
        if many and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            raise LedgerError(f"{where}: field {name!r} must be a list of strings, found {value!r}")
        if not many and not isinstance(value, str):
            raise LedgerError(f"{where}: field {name!r} must be a string, found {value!r}")
        if required and not value:
            raise LedgerError(f"{where}: field {name!r} is empty")


def _check_uses(path: Path, statements: dict[str, Statement]) -> None:
    for statement in statements.values():
        for used in statement.uses:
            if used not in statements:
                told = f"field 'uses' names {used!r}, which is no entry"
                raise LedgerError(f"{path}: entry {statement.id}: {told}")
    try:
        _sorted(statements).prepare()
    except graphlib.CycleError as error:
        cycle = error.args[1][::-1]  # from a statement to what it uses, and so on back to it
        told = f"field 'uses' closes a cycle: {' -> '.join(cycle)}"
        raise LedgerError(f"{path}: entry {cycle[0]}: {told}") from None
