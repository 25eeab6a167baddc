"""How this repository uses the harness."""

from pathlib import Path

from repro.data.catalogue import CIFAR10, ENGLISH_GERMAN, MINILM
from repro.harness import Project


def pytest_claims_project() -> Project:
    return Project(root=Path(__file__).parent, data=(CIFAR10, ENGLISH_GERMAN, MINILM))
