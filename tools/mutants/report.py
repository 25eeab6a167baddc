"""artifacts/mutants.html: what was tried, what was seen, and what was not."""

import difflib
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from pathlib import Path

from tools import pages
from tools.mutants import alone, controls, equivalents, results
from tools.mutants.results import Place, Result

FATES = ("seen", "equivalent", "survived", "unsettled")  # what has not been tried is not seen


def write(root: Path, folder: Path, files: Iterable[str], known: Mapping[str, Result]) -> Path:
    same = equivalents.read()
    rows: list[tuple[str, Counter[str]]] = []
    survivors, by_key = [], {}
    for file in files:
        places = results.places(root, file)
        listed = equivalents.standing_for(root, places, same)
        fates = {place: fate(root, place, listed, known) for place in places}
        by_key |= {place.key: place for place in places}
        survivors += [
            (place, known[place.key].state, difference(root, place))
            for place, one in fates.items()
            if one == "survived"
        ]
        rows.append((file, Counter(fates.values())))
    total = sum((counts for _, counts in rows), Counter())
    claims = alone.found(root, folder, by_key.values())
    return pages.write(
        root / "artifacts/mutants.html", "mutants/page.html", rows=[*rows, ("all", total)],
        total=total, claims=claims, survivors=survivors, controls=controls.last(root), fates=FATES,
    )  # fmt: skip


def fate(root: Path, place: Place, listed: Container[str], known: Mapping[str, Result]) -> str:
    one = known.get(place.key)
    if place.key in listed:
        return "equivalent"
    if one is None or one.state in results.SEEN:
        return "seen" if results.confirmed(root, one) else "unsettled"
    return "survived" if one.whole else "unsettled"


def difference(root: Path, place: Place) -> str:
    old, new = (root / place.file).read_text(), place.mutant.source
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))
