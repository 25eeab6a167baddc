"""The header of a run: what was asked for, by which code, on what."""

import dataclasses
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
# Where a path may begin, so that 1/2/3, a/b/c, "x / y", f'/2/3 and </math> stay as they are.
BEGINS = r"(?<![^\s=:('\"<\[{`,;|@])(?:(?<!\w')|(?=/\w\w))(?=/[^\W\d]|/[._~])"
ABSOLUTE = re.compile(BEGINS + r"/(?:[^\s/:'\"`<>{}|]+/)+")  # the folders, from the root
HOMES = rf"(?:{re.escape(str(Path.home()))}|/(?:home|Users)/[\w.@+-]+)"
HOME = re.compile(BEGINS + HOMES + r"(?![\w@+-]|\.\w|/[\w.@+-])/?")  # alone, with nothing below it
FILE_URL = re.compile(r"file://[^\s/]*(?=/)")


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def new_run() -> str:
    """A name for a run that sorts by time and is nobody else's."""
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)


def without_folders(text: str, root: Path) -> str:
    """A text that does not tell where on whose machine it was made.

    Files of the project are named from its root, others by their last part, a home not at all.
    """
    ours = FILE_URL.sub("file:", text).replace(f"{root}/", "")
    return ABSOLUTE.sub("…/", HOME.sub("…", ours))


def published(value: Any, root: Path) -> Any:
    """The same value, or object of repro.results.types, with every text in it without folders."""
    if isinstance(value, str | Path):
        return without_folders(str(value), root)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [one.name for one in dataclasses.fields(value)]
        return dataclasses.replace(
            value, **{name: published(getattr(value, name), root) for name in fields}
        )
    if isinstance(value, list | tuple):
        items = [published(item, root) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {published(key, root): published(item, root) for key, item in value.items()}
    return value


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
