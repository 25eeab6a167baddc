"""The trainings that claims ask for and do not find in the store."""

import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from repro.harness.project import Project
from repro.results import codec
from repro.results.types import Record


@dataclass(frozen=True)
class Missing:
    kind: str
    key: str
    test: str  # a claim that asks for it

    def __str__(self) -> str:
        return f"{self.kind}/{self.key} for {self.test}"


def pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *arguments, "-p", "no:cacheprovider", "-q"]


def missing(root: Path, arguments: list[str]) -> list[Missing]:
    """Run the claims with a store that trains nothing, and see what they asked for."""
    with tempfile.TemporaryDirectory(prefix="prefetch-") as folder:
        command = pytest(*arguments, f"--artifacts={folder}", "--store-mode=readonly")
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):  # 1: a claim failed, which does not matter here
            raise SystemExit(f"{done.stdout}{done.stderr}\npytest could not list the trainings")
        return from_records(Path(folder))


def from_records(artifacts: Path) -> list[Missing]:
    """One entry for each training, with the first claim that asked for it."""
    found: dict[str, Missing] = {}
    for path in sorted(artifacts.glob("claims/*/*/tests/*.json")):
        record = codec.read(Record, path)
        for training in record.trainings:
            if training.reason in ("missing", "damaged"):
                test = shlex.split(record.command)[1]
                found.setdefault(training.key, Missing(training.kind, training.key, test))
    return list(found.values())


def files_that_train(project: Project) -> list[str]:
    """Claim files with `claim.train` in them."""
    texts = {file: file.read_text() for file in project.claim_files()}
    return [str(f.relative_to(project.root)) for f, text in texts.items() if "claim.train" in text]
