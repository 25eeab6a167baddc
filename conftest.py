"""How this repository uses the harness."""

import sys
from pathlib import Path

try:
    from repro.data.catalogue import CIFAR10, ENGLISH_GERMAN, MINILM
    from repro.harness import Project
except ModuleNotFoundError as missing:  # the pytest of another environment
    sys.exit(
        f"{sys.executable} has no {missing.name}: run make once, then `. .venv/bin/activate`; "
        "or pip install -e ."
    )


def pytest_claims_project() -> Project:
    return Project(root=Path(__file__).parent, data=(CIFAR10, ENGLISH_GERMAN, MINILM))
