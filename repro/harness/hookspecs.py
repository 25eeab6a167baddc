"""The hooks of the harness: one that a project answers, one that whoever makes pages answers."""

from pathlib import Path

import pytest

from repro.harness.project import Project
from repro.results.types import Results


@pytest.hookspec(firstresult=True)
def pytest_claims_project() -> Project | None:  # type: ignore[empty-body]
    """Say where this repository keeps its claims; without an answer the plugin does nothing."""


@pytest.hookspec
def pytest_claims_show(results: Results, artifacts: Path, changed: set[str] | None) -> None:
    """Show the results in `artifacts`; `changed` names the claims that are new, None: all are.

    Called from a thread of the controlling process while claims run, and at the end.
    """
