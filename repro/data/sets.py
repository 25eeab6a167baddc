"""Data sets that a project registers: how each is fetched, verified and found.

    def write_words(folder, scratch, say):
        (folder / "words.txt").write_text("...")

    DataSet("words", "a list of 1000 words", write_words, {"words.txt": "sha256:..."})

A set is a folder that gets its name when all files have their checksums. An interrupted fetch keeps
what has arrived in `scratch`, and the next one goes on from there.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.data.download import Say, checksum
from repro.data.errors import BadData
from repro.files import set_aside

Fetch = Callable[[Path, Path, Say], None]


@dataclass(frozen=True)
class DataSet:
    """`fetch(folder, scratch, say)` writes the files into `folder`, which is empty.

    `scratch` is a second folder, for downloads; `say` prints a line.
    """

    name: str
    about: str  # what it is, for people
    fetch: Fetch
    files: Mapping[str, str]  # with their checksums, "sha256:..." or "md5:..."; "" if none is known
    own: str = ""  # environment variable that points at a user's own copy, which is not verified
    folder: str = ""  # below the project's data folder; its name if not given

    def own_copy(self) -> Path | None:
        given = os.environ.get(self.own) if self.own else None
        if given and not Path(given).exists():
            raise FileNotFoundError(f"{self.own}={given}: there is nothing at this place")
        return Path(given) if given else None

    def place(self, root: Path) -> Path:
        return root / (self.folder or self.name)

    def find(self, root: Path) -> Path | None:
        """A user's own copy if the variable is set, else the fetched one if all files are there."""
        if own := self.own_copy():
            return own
        place = self.place(root)
        return place if all((place / name).is_file() for name in self.files) else None

    def verify(self, folder: Path) -> None:
        """BadData unless all files are there and have the checksums that are known."""
        for name, known in self.files.items():
            file = f"{self.name}/{name}"
            if not (folder / name).is_file():
                raise BadData(file, "expected this file in the set, it is missing")
            method, _, digest = known.partition(":")
            if digest and (found := checksum(folder / name, method)) != digest:
                raise BadData(file, f"expected {method} {digest}, got {found}")

    @property
    def verified(self) -> str:
        known = sum(map(bool, self.files.values()))
        return f"checksums of {known} of {len(self.files)} files compared"

    @property
    def told(self) -> str:
        """What stands in a record: which data were used."""
        own = self.own_copy()
        return f"{self.name}: a user's own ({self.own})" if own else f"{self.name}: {self.about}"


class UnknownData(LookupError):
    """A name under which no set is registered; says which are."""


class Registry:
    """The sets of a project by name, and the folder in which they are kept."""

    def __init__(self, sets: Iterable[DataSet], root: Path) -> None:
        self.root = root
        self._sets: dict[str, DataSet] = {}
        for one in sets:
            if one.name in self._sets:
                raise ValueError(f"two data sets are registered as {one.name!r}")
            self._sets[one.name] = one

    def __iter__(self) -> Iterator[DataSet]:
        return iter(self._sets.values())

    def __getitem__(self, name: str) -> DataSet:
        if name not in self._sets:
            known = ", ".join(self._sets) or "none"
            raise UnknownData(f"no data set {name!r} is registered (registered: {known})")
        return self._sets[name]

    def find(self, name: str) -> Path | None:
        return self[name].find(self.root)

    def fetch(self, name: str, say: Say) -> None:
        """Unless it is there and undamaged; a damaged one is set aside."""
        one = self[name]
        place, scratch = one.place(self.root), self._scratch / name
        if own := one.own_copy():
            say(f"{name}: your own copy at {own}, not verified")
            return
        if place.exists():
            try:
                one.verify(place)
            except BadData as error:
                say(f"{error}; set aside as {set_aside(place).name}, fetched again")
            else:
                say(f"{name}: is at {place}, {one.verified}")
                return
        say(f"{name}: {one.about}")
        scratch.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(dir=self.root, prefix=f".{place.name}-") as made:
                (prepared := Path(made) / place.name).mkdir()
                one.fetch(prepared, scratch, say)
                one.verify(prepared)
                prepared.rename(place)
        except BadData:
            shutil.rmtree(scratch)
            raise
        shutil.rmtree(scratch)
        say(f"{name}: ready at {place}, {one.verified}")

    def unfinished(self) -> list[Path]:
        """What has arrived of sets that are not complete."""
        return sorted(file for file in self._scratch.rglob("*") if file.is_file())

    @property
    def _scratch(self) -> Path:
        return self.root / ".fetching"
