"""Where a project keeps its claims, and which statement a test belongs to."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.data import DataSet
from repro.harness.ledger import Ledger, LedgerError, Statement, read

SCALES = ("smoke", "laptop", "paper")  # smallest first


@dataclass(frozen=True)
class Project:
    """What a conftest.py says about its repository; paths are relative to `root`."""

    root: Path
    claims: str = "claims"
    ledger: str = "claims/ledger.toml"
    artifacts: str = "artifacts"
    store: str = "store"
    data_folder: str = "data"
    data: Sequence[DataSet] = ()  # the sets that `claim.data` finds

    def claim_files(self) -> list[Path]:
        return sorted((self.root / self.claims).glob("*/test_*.py"))

    def read_ledger(self) -> Ledger:
        """The ledger, after checking that every claim file shows one of its statements."""
        ledger = read(self.root / self.ledger)
        shown: dict[str, Path] = {}
        for file in self.claim_files():
            statement = ledger.of_file(file)
            where = file.relative_to(self.root)
            if statement is None:
                raise LedgerError(
                    f"{where}: no entry of {self.ledger} belongs to this claim file; add a "
                    f"[[statement]] with an id such as {file.parent.name}/{_suggested(file)}, "
                    "or rename the file"
                )
            if other := shown.get(statement.id):
                raise LedgerError(f"{where}: {other.name} already shows {statement.id}")
            shown[statement.id] = file
        return ledger

    def is_claim(self, path: Path) -> bool:
        inside = path.parent.parent == self.root / self.claims
        return inside and path.name.startswith("test_")


def _suggested(file: Path) -> str:
    kind, *rest = file.stem.removeprefix("test_").split("_")
    number = [part for part in rest if re.fullmatch(r"[0-9]+|[A-Z]", part)]
    return f"{kind}-{'.'.join(number) or '-'.join(rest) or 'number'}"


@dataclass(frozen=True)
class ClaimTest:
    """A test of a claim: the statement it belongs to, and its own name with parameters."""

    statement: Statement
    file: Path
    test: str

    @property
    def function(self) -> str:
        return self.test.split("[")[0].split("::")[-1]

    @property
    def key(self) -> str:
        return f"{self.statement.id}::{self.test}"

    @property
    def role(self) -> str:
        if self.function.startswith("test_control_"):
            return "control"
        erratum = self.function.startswith(("test_printed_", "test_reading_"))
        return "erratum" if erratum else "claim"

    def record(self, artifacts: Path) -> Path:
        """Where this test writes: a readable name made safe, and a digest against clashes."""
        safe = re.sub(r"[^A-Za-z0-9=.,+-]+", "_", self.test)[:80].strip("_.")
        digest = hashlib.sha256(self.test.encode()).hexdigest()[:8]
        return claim_folder(artifacts, self.statement.id) / "tests" / f"{safe}-{digest}.json"


def claim_folder(artifacts: Path, id: str) -> Path:
    return artifacts / "claims" / id


def claim_test(project: Project, ledger: Ledger, root: Path, nodeid: str) -> ClaimTest | None:
    """The claim test behind a pytest node id, or None for any other test."""
    path, _, test = nodeid.partition("::")
    file = root / path
    if not test or not project.is_claim(file):
        return None
    statement = ledger.of_file(file)
    return ClaimTest(statement, file, test) if statement else None
