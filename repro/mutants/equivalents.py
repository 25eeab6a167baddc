"""Mutants that are no mistakes: written down by hand, one by one, each with its reason.

    [[same]]
    file = "repro/numerics/plateau.py"
    function = "fit"
    line = "middle = int(np.argmin(residuals))"       # the line of the file, without its indent
    change = ["argmin", "argmax"]                     # what the mutant replaces, and by what
    reason = "why no result can depend on it"

An entry stands for the mutants of that line with that change. One that stands for none any more
(the code has changed) is an error: whoever changed the line has to look again.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from repro.mutants.results import Place

FOLDER = Path(__file__).parent / "equivalent"


@dataclass(frozen=True)
class Same:
    file: str
    function: str
    line: str
    before: str
    after: str
    reason: str

    @property
    def name(self) -> tuple[str, str, str, str, str]:
        return self.file, self.function, self.line, self.before, self.after


def read(folder: Path = FOLDER) -> list[Same]:
    found = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text()).get("same", []):
            before, after = entry.pop("change")
            found.append(Same(before=before, after=after, **entry))
    return found


def named(place: Place, lines: list[str]) -> tuple[str, str, str, str, str]:
    one = place.mutant
    return place.file, place.scope, lines[one.line - 1].strip(), one.before, one.after


def reasons(root: Path, places: list[Place], known: list[Same]) -> dict[str, str]:
    """The reason for each mutant that is listed, by its key."""
    listed = {same.name: same.reason for same in known}
    lines = {place.file: (root / place.file).read_text().splitlines() for place in places}
    names = {place.key: named(place, lines[place.file]) for place in places}
    return {key: listed[name] for key, name in names.items() if name in listed}


def stale(root: Path, places: list[Place], known: list[Same]) -> list[Same]:
    """Entries of the files of these places that stand for no mutant."""
    lines = {place.file: (root / place.file).read_text().splitlines() for place in places}
    names = {named(place, lines[place.file]) for place in places}
    return [same for same in known if same.file in lines and same.name not in names]
