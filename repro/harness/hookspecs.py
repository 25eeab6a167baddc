"""The one hook that a project implements to use the harness."""

import pytest

from repro.harness.project import Project


@pytest.hookspec(firstresult=True)
def pytest_claims_project() -> Project | None:  # type: ignore[empty-body]
    """Say where this repository keeps its claims; without an answer the plugin does nothing."""
