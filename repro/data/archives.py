"""Members of archives: regular files only, and only at places inside their archive.

Nothing is unpacked to disk under a name that an archive chose: callers get the bytes of members one
by one and write what they make of them under names of their own. A link, a device, an absolute name
or one with '..' among the members that are asked for is refused, not skipped, and so is one that
says it has more than LARGEST bytes. Members are read here, not by the caller, so that an archive
that breaks off inside one is named.
"""

import contextlib
import functools
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from repro.data.errors import BadData

LARGEST = 1 << 28  # bytes of a member: a few of them must fit into memory

Wanted = Callable[[str], bool]
Member = tuple[str, bytes]


def of_tar(file: Path, wanted: Wanted) -> Iterator[Member]:
    """(name, content) of the members that are wanted."""
    with _whole(file, "tar archive"), _open_tar(file, mode="r:*") as archive:
        yield from _of_tar(file, archive, wanted)
        assert archive.fileobj is not None
        _to_the_end(archive.fileobj.read)  # where gzip has its checksum


def of_debian(file: Path, wanted: Wanted) -> Iterator[Member]:
    """Those of a Debian package; dpkg-deb only turns it into a tar stream."""
    with (
        _streamed("dpkg-deb", "--fsys-tarfile", str(file), archive=file) as stream,
        _open_tar(fileobj=stream, mode="r|") as archive,
    ):
        yield from _of_tar(file, archive, wanted)


def of_zip(file: Path, wanted: Wanted) -> Iterator[Member]:
    with _whole(file, "zip archive"), zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            name = info.filename
            if not info.is_dir() and _is_inside(file, name) and wanted(name):
                if info.file_size > LARGEST:
                    raise ValueError(
                        f"{name!r} has {info.file_size} bytes, at most {LARGEST} are read"
                    )
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

    By a size below zero it goes back to the same member, without end; in a stream it goes forward
    block by block, which is without end as well for a size of 2^60.
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


@contextlib.contextmanager
def _streamed(*command: str, archive: Path) -> Iterator[IO[bytes]]:
    """What a command writes; it must also end well, for a stream can break off between members.

    Its output is closed before its complaints are read: it may be waiting to write more.
    """
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise RuntimeError(f"{command[0]} is not on this machine: install dpkg") from None
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        damaged = False
        try:
            yield process.stdout
            _to_the_end(process.stdout.read)  # past the padding after the last member
        except BadData:
            raise
        except Exception:  # a damaged archive can raise anything
            damaged = True
        process.stdout.close()
        said = process.stderr.read().decode(errors="replace").strip()
        if process.wait() != 0 or damaged:
            raise BadData(archive, f"expected a whole Debian package ({said})")


def _to_the_end(read: Callable[[int], bytes]) -> None:
    while read(1 << 20):
        pass
