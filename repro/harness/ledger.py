"""The ledger: every numbered statement of the papers, and what we recorded about it.

The file is TOML; docs/ledger.md describes it for people. Reading it needs no torch, no numpy
and no pytest, so that listing stays quick.
"""

import functools
import graphlib
import re
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

KINDS = (
    "theorem", "lemma", "proposition", "corollary", "remark", "definition", "equation", "section",
    "table", "figure", "finding",
)  # fmt: skip
EVIDENCE = ("exact", "certified", "best-in-class", "construct", "train")  # strongest first
RECORDED = ("holds", "holds-repaired", "refuted", "illustrated")
STATUSES = (*RECORDED, "pending")
SCOPES = ("finite", "limit", "qualitative")

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
    scope: str = "finite"
    data: str = ""
    note: str = ""
    reason: str = ""

    @property
    def paper(self) -> str:
        return self.id.split("/")[0]

    @property
    def pending(self) -> bool:
        return self.status == "pending"

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
    """Read and check a ledger; every defect is a LedgerError that says where it is."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LedgerError(f"{path}: there is no ledger here") from None
    except OSError as error:
        raise LedgerError(f"{path}: the ledger cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:  # also from numbers and tables without end
        raise LedgerError(f"{path}: not a TOML file: {error}") from None
    known = ("schema", "title", "papers", "statement")
    if unknown := set(raw) - set(known):
        told = f"unknown field {min(unknown)!r} (known: {', '.join(known)})"
        raise LedgerError(f"{path}: {told}")
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
    return Ledger(path, raw["title"], papers, statements)


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
    lists = {name: tuple(entry[name]) for name in ("evidence", "uses") if name in entry}
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
        ("scope", statement.scope, SCOPES),
        *[("evidence", value, EVIDENCE) for value in statement.evidence],
    ]:
        if value not in known:
            told = f"unknown value {value!r} (known: {', '.join(known)})"
            raise LedgerError(f"{where}: field {name!r}: {told}")
    if len(set(statement.uses)) < len(statement.uses):
        raise LedgerError(f"{where}: field 'uses' names something twice")
    if statement.scope != "finite" and statement.status in ("holds", "holds-repaired"):
        told = f"a {statement.scope} statement is at most 'illustrated'"
        raise LedgerError(f"{where}: field 'status': {told}")
    if statement.status in ("holds-repaired", "refuted") and not statement.reason:
        told = "must say what is false as printed and how it is repaired"
        raise LedgerError(f"{where}: field 'reason' {told}")
    return statement


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
        value, many = entry[name], name in ("evidence", "uses")
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
