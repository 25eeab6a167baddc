"""The project in a folder, as its conftest.py describes it: for commands without pytest."""

import runpy
import sys
from pathlib import Path

from repro.harness.project import Project


def project_in(root: Path) -> Project:
    """What `pytest_claims_project` of the conftest.py there returns, or the defaults."""
    conftest = root / "conftest.py"
    if not conftest.is_file():
        return Project(root)
    before = list(sys.path)
    sys.path.insert(0, str(root))  # as pytest does: a conftest.py may import its neighbours
    try:
        hook = runpy.run_path(str(conftest)).get("pytest_claims_project")
        return (hook() if hook else None) or Project(root)
    finally:
        sys.path[:] = before
