"""A small project of invented statements, for trying the harness in processes of its own."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from repro.harness.records import Recorder

FULL = os.environ.get("RELIABILITY") == "full"  # by `make reliability`
CONFTEST = """
from pathlib import Path
from repro.data.catalogue import CIFAR10
from repro.harness import Project

def pytest_claims_project():
    return Project(root=Path(__file__).parent, data=[CIFAR10])
"""
PYPROJECT = """
[tool.pytest]
strict = true
addopts = ["-p", "repro.plugin", "--import-mode=importlib", "-p", "no:cacheprovider"]
"""
HEAD = """
schema = 1
title = "Invented statements"
[papers.demo2025]
title = "A Demonstration"
authors = "N. N."
version = "none"
"""
PASSES = """
import pytest

@pytest.mark.construct
def test_holds(claim):
    claim.measured("error", 0.5, equation="(1)").at_most(theorem(1.0, "invented"))
"""
CONTROL = """
def test_control_of_it(claim):
    claim.measured("wrong", 2.0, equation="(2)").at_least(theorem(1.0, "invented"))
"""


def _surroundings() -> dict[str, str]:
    """Those of a user: no worker of ours is one of the run that it starts."""
    return {name: value for name, value in os.environ.items() if "PYTEST_XDIST" not in name}


def _listen_to_ctrl_c() -> None:
    """Background jobs of some shells ignore SIGINT, and so would their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def recorder(path: Path, **identity: Any) -> Recorder:
    """Of a test of demo2025/lemma-1, without a run around it."""
    known = {"claim": "demo2025/lemma-1", "test": "test_holds", "role": "claim", "run": "r"}
    return Recorder(
        path, path.parent, **{**known, "evidence": "exact", "command": "pytest", **identity}
    )


class Demo:
    """Write statements and claim files, run pytest on them, read what it left."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.artifacts = root / "artifacts"
        self.started: list[subprocess.Popen[str]] = []
        self._entries: dict[str, str] = {}
        (root / "claims/demo2025").mkdir(parents=True)
        (root / "conftest.py").write_text(CONFTEST)
        (root / "pyproject.toml").write_text(PYPROJECT)
        self.ledger()

    def entry(self, id: str, **fields: object) -> None:
        """Add a statement to the ledger, or change one."""
        kind, _, number = id.partition("-")
        known = {
            "id": f"demo2025/{id}", "kind": kind, "number": number, "section": "1", "title": f"The {id}",
            "statement": "It is so: $x = y$.", "evidence": ["construct"], "status": "holds", **fields,
        }  # fmt: skip
        if known["status"] in ("holds", "corrected"):
            known.setdefault("why_all", "identity: x is y")
        elif known["status"] == "supported":
            known.setdefault("open", "all other numbers")
        self._entries[id] = "[[statement]]\n" + "".join(
            f"{key} = {json.dumps(value)}\n" for key, value in known.items()
        )
        self.ledger()

    def erratum(self, id: str, grade: str, **fields: object) -> None:
        """The one erratum of the paper."""
        known = {
            "statement": f"demo2025/{id}", "grade": grade, "where": "statement", "place": "(1)",
            "printed": "It is so.", "corrected": "It is not.", "survives": "nothing", "why": "No.",
            "needs": "nothing", **fields,
        }  # fmt: skip
        folder = self.root / "claims/errata"
        folder.mkdir(exist_ok=True)
        text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in known.items())
        (folder / "demo2025.toml").write_text("[[erratum]]\n" + text)

    def ledger(self, text: str | None = None) -> None:
        (self.root / "claims/ledger.toml").write_text(
            text or HEAD + "\n".join(self._entries.values())
        )

    def claim(
        self, id: str, body: str = PASSES, *, control: str = CONTROL, **fields: object
    ) -> Path:
        """A statement with its claim file; a control is added unless told otherwise."""
        self.entry(id, **fields)
        file = self.root / f"claims/demo2025/test_{id.replace('-', '_').replace('.', '_')}_demo.py"
        head = f'"""Invented {id}."""\n\nfrom repro.bounds import theorem\n'
        file.write_text(head + textwrap.dedent(body) + control)
        return file

    def run(
        self, *arguments: str, timeout: float = 120, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*arguments), cwd=self.root, env=_surroundings() | environment,
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """In a process group of its own, so that a signal reaches what Ctrl-C would reach."""
        process = subprocess.Popen(
            self._command(*arguments), cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=_surroundings(),
            start_new_session=True,
            preexec_fn=_listen_to_ctrl_c,
        )  # fmt: skip
        self.started.append(process)
        return process

    def end(self) -> None:
        """Nothing that a test started outlives it."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pytest", *arguments]

    def results(self) -> dict:
        return json.loads((self.artifacts / "results.json").read_text())

    def result(self, id: str) -> dict:
        return next(claim for claim in self.results()["claims"] if claim["id"] == f"demo2025/{id}")

    def numbers(self, id: str) -> dict[str, Any]:
        """What the tests of a claim wrote down, by name."""
        tests = self.result(id)["tests"]
        return {one["name"]: one["value"] for test in tests for one in test["numbers"]}

    def page(self) -> str:
        return (self.artifacts / "index.html").read_text()


def wait_for(path: Path, process: subprocess.Popen[str], seconds: float = 60) -> None:
    """Until a test has made this file; an error if the run ends before."""
    give_up = time.monotonic() + seconds
    while not path.exists():
        if process.poll() is not None or time.monotonic() > give_up:
            process.kill()
            raise AssertionError(
                f"{path.name} never came: {process.stdout.read() if process.stdout else ''}"
            )
        time.sleep(0.05)


def send(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """To the whole process group, as a terminal does."""
    os.killpg(process.pid, number)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    project = Demo(tmp_path)
    yield project
    project.end()
