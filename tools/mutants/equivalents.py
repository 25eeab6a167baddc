"""Mutants that are no mistakes: written down by hand, one by one, each with its reason.

    [[same]]
    file = "repro/numerics/plateau.py"
    function = "fit"
    line = "middle = int(np.argmin(residuals))"       # the line of the file, without its indent
    changes = [["argmin", "argmax"]]                  # what mutants replace, and by what
    reason = "why no result can depend on it"
    finding = "wang2024/lemma-E.5"                    # if a statement needs less than it says

A finding is checked in the claim of the statement that it names, and told in the ledger. An entry
stands for the mutants of that line with one of these changes; `place = 2` for the second place with
that change only, from the left. One that stands for none any more (the code has changed) is an
error: whoever changed the line has to look again.
"""

import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.results import Place

FOLDER = Path(__file__).parent / "equivalent"
Name = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Same:
    file: str
    function: str
    line: str
    before: str
    after: str
    reason: str
    place: int = 0  # all of them
    finding: str = ""

    @property
    def name(self) -> Name:
        return self.file, self.function, self.line, self.before, self.after


def read(folder: Path = FOLDER) -> list[Same]:
    found = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text()).get("same", []):
            changes = entry.pop("changes")
            found += [Same(before=before, after=after, **entry) for before, after in changes]
    return found


def standing_for(root: Path, places: list[Place], known: list[Same]) -> dict[str, Same]:
    """The entry for each mutant that is listed, by its key; `places` as they stand in the file."""
    listed = {(same.name, same.place): same for same in known}
    lines = {place.file: (root / place.file).read_text().splitlines() for place in places}
    count: Counter[Name] = Counter()
    found = {}
    for place in places:
        name = _named(place, lines[place.file])
        count[name] += 1
        same = listed.get((name, count[name])) or listed.get((name, 0))
        if same is not None:
            found[place.key] = same
    return found


def stale(root: Path, places: list[Place], known: list[Same]) -> list[Same]:
    """Entries of the files of these places that stand for no mutant."""
    used = set(standing_for(root, places, known).values())
    files = {place.file for place in places}
    return [same for same in known if same.file in files and same not in used]


def _named(place: Place, lines: list[str]) -> Name:
    one = place.mutant
    return place.file, place.scope, lines[one.line - 1].strip(), one.before, one.after
