"""Where the claims of this project are."""

from pathlib import Path

from repro.harness import Project


def pytest_claims_project() -> Project:
    return Project(root=Path(__file__).parent)
