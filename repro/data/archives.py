"""Members of archives: regular files only, and only at places inside their archive.

Nothing is unpacked to disk: callers get the bytes of members one by one. A link, a device, an
absolute name or one with '..' among the members that are asked for is refused, not skipped, and so
is one that says it has more than LARGEST bytes.
"""

import contextlib
import functools
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from repro.data.errors import BadData

LARGEST = 1 << 28  # bytes of a member: a few of them must fit into memory

Wanted = Callable[[str], bool]
Member = tuple[str, bytes]


def of_tar(file: Path, wanted: Wanted) -> Iterator[Member]:
    """(name, content) of the members that are wanted."""
    with _whole(file, "tar archive"), _open_tar(file, mode="r:*") as archive:
        yield from _of_tar(file, archive, wanted)
        assert archive.fileobj is not None
        while archive.fileobj.read(1 << 20):  # to the end, where gzip has its checksum
            pass


def of_debian(file: Path, wanted: Wanted) -> Iterator[Member]:
    """Those of a Debian package, which dpkg-deb turns into a tar archive and checks."""
    command = ["dpkg-deb", "--fsys-tarfile", str(file)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        raise RuntimeError("dpkg-deb is not on this machine: install dpkg") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise BadData(file, f"expected a whole Debian package ({said})")
    stream = io.BytesIO(done.stdout)
    with _whole(file, "Debian package"), _open_tar(fileobj=stream) as archive:
        yield from _of_tar(file, archive, wanted)


def of_zip(file: Path, wanted: Wanted) -> Iterator[Member]:
    with _whole(file, "zip archive"), zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            name = info.filename
            if not info.is_dir() and _is_inside(file, name) and wanted(name):
                if (size := info.file_size) > LARGEST:
                    raise ValueError(f"{name!r} has {size} bytes, at most {LARGEST} are read")
                yield name, archive.read(info)


def _of_tar(file: Path, archive: tarfile.TarFile, wanted: Wanted) -> Iterator[Member]:
    for member in archive:
        _is_inside(file, member.name)
        if member.isdir() or not wanted(member.name):
            continue
        if not member.isfile():
            raise BadData(file, f"expected a regular file at {member.name!r}, it is a link")
        opened = archive.extractfile(member)
        assert opened is not None
        with opened:
            yield member.name, opened.read()


class _Header(tarfile.TarInfo):
    """Refuses what a header says before Python believes it.

    By a size below zero it goes back to the same member, without end.
    """

    def _block(self, count: int) -> int:
        if not 0 <= count <= LARGEST:
            raise ValueError(f"a member says that it has {count} bytes, at most {LARGEST} are read")
        return super()._block(count)  # type: ignore[misc]


_open_tar = functools.partial(tarfile.open, tarinfo=_Header)


def _is_inside(file: Path, name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0]:
        raise BadData(file, f"expected members inside the archive, {name!r} leads out of it")
    return True


@contextlib.contextmanager
def _whole(file: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except BadData:
        raise
    except Exception as error:  # a damaged archive can raise anything
        raise BadData(file, f"expected a whole {kind} ({error})") from None
