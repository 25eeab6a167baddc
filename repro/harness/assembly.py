"""From the ledger and the records of all tests to `Results`, the content of results.json."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from repro import files
from repro.harness import imports, provenance, records, verdicts
from repro.harness.ledger import Ledger, Statement
from repro.harness.project import Project, claim_folder
from repro.results import codec
from repro.results.types import Alone, Coverage, Paper, Record, Result, Results, Run

FROM_LEDGER = (
    "id", "paper", "kind", "number", "also", "section", "title", "statement", "formula", "note",
    "data", "why_all", "open", "uses", "status", "pending",
)  # fmt: skip


ALONE = "reference/alone.json"  # in artifacts; tools/mutants writes it


class Assembly:
    """All claims of a project, as the files under artifacts/ tell; reads again what changed."""

    def __init__(self, project: Project, ledger: Ledger, artifacts: Path) -> None:
        self.project, self.ledger, self.artifacts = project, ledger, artifacts
        self.messages: list[str] = []
        self._alone = self._seen_alone()
        self._ours: set[Path] = set()  # files known to be of this version
        self._files = {s.id: file for file in project.claim_files() if (s := ledger.of_file(file))}
        self._claims: dict[str, Result] = {}
        self._read_at: dict[str, int] = {}
        self.refresh(ledger.statements)

    def refresh(self, ids: Iterable[str]) -> None:
        """Read the records of these claims again."""
        for id in ids:
            statement = self.ledger.statements[id]
            self._read_at[id] = self._written_at(id)
            self._claims[id] = self._result(statement, self._files.get(id))
        found = {id: claim.verdict for id, claim in self._claims.items()}
        for id, is_solid in verdicts.solid(self.ledger, found).items():
            self._claims[id].solid = is_solid

    def _seen_alone(self) -> dict[str, Alone]:
        path = self.project.root / self.project.artifacts / ALONE
        try:
            return codec.decode(dict[str, Alone], files.read_json(path), str(path))
        except FileNotFoundError:
            return {}
        except files.DamagedFile as damage:
            self.messages.append(str(damage))
            return {}

    def outdated(self) -> set[str]:
        """Claims with records that were written since they were read, perhaps by another run."""
        return {id for id, moment in self._read_at.items() if moment != self._written_at(id)}

    def _written_at(self, id: str) -> int:
        """Every record comes by a rename, which changes the time of its folder."""
        folder = claim_folder(self.artifacts, id) / "tests"
        return folder.stat().st_mtime_ns if folder.exists() else 0

    def claim(self, id: str) -> Result:
        return self._claims[id]

    def results(self, run: Run) -> Results:
        papers = {
            paper.key: Paper(title=paper.title, authors=paper.authors, version=paper.version)
            for paper in self.ledger.papers.values()
        }
        return Results(
            title=self.ledger.title,
            run=run,
            messages=provenance.published(self.messages, self.project.root),
            papers=papers,
            coverage=self.coverage(),
            claims=[self._claims[id] for id in self.ledger.statements],
        )

    def coverage(self) -> dict[str, Coverage]:
        table = {key: Coverage() for key in self.ledger.papers}
        for claim in self._claims.values():
            if claim.kind != "finding":
                row = table[claim.paper]
                row.statements += 1
                row.with_claims += claim.file is not None
                row.verdicts[claim.verdict] = row.verdicts.get(claim.verdict, 0) + 1
        return table

    def write(self, run: Run, changed: Iterable[str]) -> Results:
        for id in changed:
            self._write(claim_folder(self.artifacts, id) / "result.json", self._claims[id])
        results = self.results(run)
        self._write(self.artifacts / "results.json", results)
        return results

    def _write(self, path: Path, value: Result | Results) -> None:
        """What is damaged, by another version or not ours is set aside and not written over."""
        if path not in self._ours:
            self._ours.add(path)
            try:
                codec.check_schema(files.read_json(path).get("schema"), path)
            except (FileNotFoundError, codec.OlderSchema):
                pass
            except files.DamagedFile as damage:
                files.put_away(path, damage, self.messages)
        codec.write(path, value)

    def _result(self, statement: Statement, file: Path | None) -> Result:
        folder = claim_folder(self.artifacts, statement.id)
        tests, unseen = read_tests(folder, statement.id, file, self.messages) if file else ([], 0)
        code = imports.fingerprint(file, self.project.root) if file else ""
        for test in tests:
            test.stale = test.code != code
        errata, alone = self.ledger.errata[statement.id], self._alone.get(statement.id)
        found = verdicts.verdict(statement, tests, unseen, errata)
        where = str(file.relative_to(self.project.root)) if file else None
        newest = max(tests, key=lambda test: test.started, default=None)
        scale = newest.scale if newest else None
        controls = [test for test in tests if test.role == "control"]
        others = [test for test in tests if test.role != "control"]
        told = [check for check in _all(others, "checks") if not (check.refutes and check.ok)]
        cells = _all(tests, "cells")
        return Result(
            **{name: getattr(statement, name) for name in FROM_LEDGER},
            errata=errata,
            cells=cells,
            reduced=any(cell.reduced for cell in cells),
            counterexamples=_all(tests, "counterexamples"),
            figures=_all(tests, "figures"),
            aims=statement.evidence,
            verdict=found.verdict,
            why=found.why,
            evidence=verdicts.evidence(tests),
            file=where,
            description=imports.docstring(file) if file else "",
            command=f"pytest {where} --scale {scale or 'laptop'}" if where else "",
            scale=scale,
            seconds=round(sum(test.seconds for test in tests), 3),
            run=newest.run if newest else None,
            stale=any(test.stale for test in tests),
            checks=told,  # green ones of counterexamples are told there
            controls=_all(controls, "checks"),
            tests=[test.summary() for test in tests],
            alone=alone and replace(alone, stale=alone.code != code),
        )


def _all(tests: list[Record], key: str) -> list[Any]:
    return [entry for test in tests for entry in getattr(test, key)]


def read_tests(folder: Path, id: str, file: Path, messages: list[str]) -> tuple[list[Record], int]:
    """The records of a claim's tests, in the order of the file, and how many tests have none.

    `collected.json` lists the tests that the claim file has; records of other tests are left over
    from an earlier version of the file and do not count. As long as only single tests were asked
    for, by their ids, there is no list, and the functions of the file are counted.
    """
    found: dict[str, Record] = {}
    for path in sorted(folder.glob("tests/*.json")):
        record = records.read(path, messages)
        if record and record.claim == id:
            found[record.test] = record
        elif record:
            messages.append(f"{path} is a record of {record.claim} and does not count here")
    path = folder / "collected.json"
    try:
        expected = files.read_json(path, sealed=True).get("tests")
        if not isinstance(expected, list) or not all(isinstance(name, str) for name in expected):
            raise files.DamagedFile(f"{path} does not list tests")
    except (FileNotFoundError, files.DamagedFile) as damage:
        if isinstance(damage, files.DamagedFile):
            files.put_away(path, damage, messages)
        seen = {name.split("[")[0] for name in found}
        return list(found.values()), len(imports.test_functions(file) - seen)
    return [found[name] for name in expected if name in found], len(set(expected) - set(found))
