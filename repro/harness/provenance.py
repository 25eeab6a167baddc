"""The header of a run: what was asked for, by which code, on what."""

import importlib.metadata
import platform
import re
import secrets
import subprocess
import time
from pathlib import Path
from typing import Any

from repro.harness import process
from repro.results.types import Run

PACKAGES = ("torch", "numpy", "scipy", "python-flint", "pytest", "pytest-xdist", "hypothesis")
# The folders of a path from the root of the file system.
ABSOLUTE = re.compile(r"(?<![^\s=:('\"<\[])/(?:[^\s/:'\"]+/)+")


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def new_run() -> str:
    """A name for a run that sorts by time and is nobody else's."""
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)


def without_folders(text: str, root: Path) -> str:
    """A message or command that does not tell where on whose machine it was made.

    Files of the project are named from its root, others by their last part.
    """
    return ABSOLUTE.sub("…/", text.replace(f"{root}/", ""))


def run_header(root: Path, run: str, **settings: Any) -> Run:
    return Run(
        id=run, started=now(), **process.this(), **settings, **git_state(root), versions=versions()
    )


def versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }


def git_state(root: Path) -> dict[str, Any]:
    """The commit and whether the work tree differs from it; both None outside a repository."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(root), *arguments],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "--short=12", "HEAD")
    status = git("status", "--porcelain") if commit else None
    return {"git": commit, "dirty": None if status is None else bool(status)}
