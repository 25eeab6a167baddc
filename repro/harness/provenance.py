"""The header of a run: what was asked for, by which code, on what."""

import importlib.metadata
import platform
import re
import secrets
import subprocess
import time
from pathlib import Path
from typing import Any

from repro.harness import process, resources
from repro.results.types import Run

PACKAGES = ("torch", "numpy", "scipy", "python-flint", "pytest", "pytest-xdist", "hypothesis")
MEASURED = ("sympy", "pytest-benchmark")  # what else figures depend on


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def new_run() -> str:
    """A name for a run that sorts by time and is nobody else's."""
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)


def run_header(root: Path, run: str, **settings: Any) -> Run:
    return Run(
        id=run, started=now(), **process.this(), **settings, **git_state(root), versions=versions()
    )


def measured_here(root: Path) -> dict[str, Any]:
    """The header of figures: which run, of what code, on which machine."""
    header = {"id": new_run(), "started": now(), **git_state(root)}
    return {**header, "machine": machine()}


def machine() -> dict[str, Any]:
    names = re.findall(r"^model name\s*: (.+)$", _text(Path("/proc/cpuinfo")), flags=re.M)
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": resources.cores(),
        "memory": f"{resources.memory_bytes() / 2**30:.0f} GB",
        **versions(*PACKAGES, *MEASURED),
        "C compiler": _first_line("cc", "--version"),
    }


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "none"
    return done.stdout.partition("\n")[0].strip()


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def versions(*packages: str) -> dict[str, str]:
    found = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    for name in packages or PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


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
