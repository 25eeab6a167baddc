"""results.json: every entry of the ledger with what its tests found, made from the records."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from repro import files
from repro.harness import imports, records, verdicts
from repro.harness.ledger import Ledger, Statement
from repro.harness.project import Project, claim_folder

SCHEMA = 1
LEDGER_FIELDS = (
    "id",
    "paper",
    "kind",
    "number",
    "also",
    "section",
    "title",
    "statement",
    "formula",
    "note",
)
MORE_LEDGER_FIELDS = ("scope", "data", "reason", "uses", "status", "pending")
OF_A_TEST = (
    "test",
    "state",
    "role",
    "evidence",
    "seconds",
    "run",
    "scale",
    "seed",
    "device",
    "threads",
    "worker",
)
MORE_OF_A_TEST = ("records", "store", "message", "command", "description")


class Results:
    """All claims of a project, as the files under artifacts/ tell; reads again what changed."""

    def __init__(self, project: Project, ledger: Ledger, artifacts: Path) -> None:
        self.project, self.ledger, self.artifacts = project, ledger, artifacts
        self.messages: list[str] = []
        self._ours: set[Path] = set()  # files known to be of this version
        self._files = {s.id: file for file in project.claim_files() if (s := ledger.of_file(file))}
        self._claims: dict[str, dict[str, Any]] = {}
        self._read_at: dict[str, int] = {}
        self.refresh(ledger.statements)

    def refresh(self, ids: Iterable[str]) -> None:
        """Read the records of these claims again."""
        for id in ids:
            statement = self.ledger.statements[id]
            self._read_at[id] = self._written_at(id)
            self._claims[id] = claim_object(
                self.project, statement, self._files.get(id), self.artifacts, self.messages
            )
        found = {id: claim["verdict"] for id, claim in self._claims.items()}
        for id, is_solid in verdicts.solid(self.ledger, found).items():
            self._claims[id]["solid"] = is_solid

    def outdated(self) -> set[str]:
        """Claims with records that were written since they were read, perhaps by another run."""
        return {id for id, moment in self._read_at.items() if moment != self._written_at(id)}

    def _written_at(self, id: str) -> int:
        """Every record comes by a rename, which changes the time of its folder."""
        folder = claim_folder(self.artifacts, id) / "tests"
        return folder.stat().st_mtime_ns if folder.exists() else 0

    def claim(self, id: str) -> dict[str, Any]:
        return self._claims[id]

    def document(self, run: dict[str, Any]) -> dict[str, Any]:
        papers = {
            paper.key: {"title": paper.title, "authors": paper.authors, "version": paper.version}
            for paper in self.ledger.papers.values()
        }
        return {
            "schema": SCHEMA,
            "title": self.ledger.title,
            "run": run,
            "messages": list(self.messages),
            "papers": papers,
            "coverage": self.coverage(),
            "claims": [self._claims[id] for id in self.ledger.statements],
        }

    def coverage(self) -> dict[str, dict[str, Any]]:
        """Per paper, findings of ours apart: statements, those with a claim, and how they stand."""
        table: dict[str, dict[str, Any]] = {
            key: {"statements": 0, "with_claims": 0, "verdicts": {}} for key in self.ledger.papers
        }
        for claim in self._claims.values():
            if claim["kind"] != "finding":
                row = table[claim["paper"]]
                row["statements"] += 1
                row["with_claims"] += claim["file"] is not None
                row["verdicts"][claim["verdict"]] = row["verdicts"].get(claim["verdict"], 0) + 1
        return table

    def write(self, run: dict[str, Any], changed: Iterable[str]) -> dict[str, Any]:
        for id in changed:
            self._make_way(claim_folder(self.artifacts, id) / "result.json", "verdict")
            files.write_sealed(
                claim_folder(self.artifacts, id) / "result.json",
                {"schema": SCHEMA, **self._claims[id]},
            )
        self._make_way(self.artifacts / "results.json", "claims")
        document = self.document(run)
        files.write_sealed(self.artifacts / "results.json", document)
        return document

    def _make_way(self, path: Path, key: str) -> None:
        """What is damaged, by a newer version or not ours is set aside and not written over."""
        if path in self._ours:
            return
        self._ours.add(path)
        try:
            if key not in files.read_json(path, schema=SCHEMA, sealed=True):
                raise files.DamagedFile(f"{path} is not ours: it has no {key!r}")
        except FileNotFoundError:
            return
        except files.DamagedFile as damage:
            files.put_away(path, damage, self.messages)


def claim_object(
    project: Project, statement: Statement, file: Path | None, artifacts: Path, messages: list[str]
) -> dict[str, Any]:
    folder = claim_folder(artifacts, statement.id)
    tests, unseen = read_tests(folder, statement.id, file, messages) if file else ([], 0)
    code = imports.fingerprint(file, project.root) if file else ""
    for test in tests:
        test["stale"] = test.get("code") != code
    found = verdicts.verdict(statement, tests, unseen)
    where = str(file.relative_to(project.root)) if file else None
    newest = max(tests, key=lambda test: str(test.get("started", "")), default={})
    return {
        **{name: getattr(statement, name) for name in (*LEDGER_FIELDS, *MORE_LEDGER_FIELDS)},
        "aims": statement.evidence,
        "verdict": found.verdict,
        "why": found.why,
        "solid": False,
        "evidence": verdicts.evidence(tests),
        "file": where,
        "description": imports.docstring(file) if file else "",
        "command": f"pytest {where} --scale {newest.get('scale', 'laptop')}" if where else "",
        "scale": newest.get("scale"),
        "seconds": round(sum(float(test["seconds"]) for test in tests), 3),
        "run": newest.get("run"),
        "stale": any(test["stale"] for test in tests),
        "checks": [
            check
            for check in gathered(tests, "checks", control=False)
            if not (verdicts.refutes(check) and check["ok"])  # told under counterexamples
        ],
        "controls": gathered(tests, "checks", control=True),
        **{key: gathered(tests, key) for key in ("table", "counterexamples", "figures")},
        "tests": [
            {key: test.get(key) for key in (*OF_A_TEST, *MORE_OF_A_TEST, "stale")} for test in tests
        ],
    }


def read_tests(
    folder: Path, id: str, file: Path, messages: list[str]
) -> tuple[list[dict[str, Any]], int]:
    """The records of a claim's tests, in the order of the file, and how many tests have none.

    `collected.json` lists the tests that the claim file has; records of other tests are left over
    from an earlier version of the file and do not count. As long as only single tests were asked
    for, by their ids, there is no list, and the functions of the file are counted.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("tests/*.json")):
        test = records.read(path, messages)
        if test and test["claim"] == id:
            found[test["test"]] = test
        elif test:
            messages.append(f"{path} is a record of {test['claim']} and does not count here")
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


def gathered(
    tests: list[dict[str, Any]], key: str, control: bool | None = None
) -> list[dict[str, Any]]:
    """What all tests, or only controls, or only the others, list under `key`."""
    return [
        {**entry, "test": test["test"], "evidence": test["evidence"]}
        for test in tests
        if control is None or (test["role"] == "control") == control
        for entry in test[key]
    ]
