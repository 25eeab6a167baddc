"""Members of archives by name, in memory: nothing is unpacked to disk.

Whoever fetched an archive has compared its checksum: what is read here is what was published.
"""

import io
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

Wanted = Callable[[str], bool]
Member = tuple[str, bytes]


def of_tar(file: Path, wanted: Wanted) -> Iterator[Member]:
    """(name, content) of the regular files that are wanted."""
    with tarfile.open(file) as archive:
        yield from _regular(archive, wanted)


def of_debian(file: Path, wanted: Wanted) -> Iterator[Member]:
    """Those of a Debian package, which dpkg-deb turns into a tar archive."""
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", file], stdout=subprocess.PIPE, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        yield from _regular(archive, wanted)


def of_zip(file: Path, wanted: Wanted) -> Iterator[Member]:
    with zipfile.ZipFile(file) as archive:
        for name in filter(wanted, archive.namelist()):
            yield name, archive.read(name)


def _regular(archive: tarfile.TarFile, wanted: Wanted) -> Iterator[Member]:
    for member in archive:
        if member.isfile() and wanted(member.name):
            opened = archive.extractfile(member)
            assert opened is not None
            yield member.name, opened.read()
