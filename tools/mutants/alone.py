"""What a claim sees by itself: mutants of the code that it runs, tried on that claim and no test.

Most mutants fall to a unit test long before a claim is run, which says nothing of the claim. So a
few of those on lines that a claim executes are tried on that claim alone: those of statements,
bounds, floors and targets first (STATED), then the others. Within both it is always the same ones,
the first by a digest of the claim's name and their key, so as good as drawn at random for each
claim. Left out are those that are listed as equivalent, what judges, and what runs when a module is
imported, such as the targets of other claims.

What is known of a claim is kept until the claim, or a module that it executes, changes.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from repro import files
from tools.mutants import equivalents, reach, results, session
from tools.mutants.results import Place
from tools.mutants.run import Run, modules, say

FOLDER = "alone"
STATED = re.compile(  # a name in a paper's wing: what is claimed, rather than how it is built
    r"repro/(?!numerics/).*(allowed|bound|budget|complexity|cost|enough|floor|least|limit|"
    r"necess|needed|needle|norms|printed|rate\b|target|tasks|width)"
)


def claims(root: Path) -> list[Path]:
    return sorted((root / "claims").glob("*/test_*.py"))


def drawn(places: Iterable[Place], known: reach.Reach, claim: str, count: int) -> list[Place]:
    """Of those that this claim, with its reach `known`, executes."""

    def order(place: Place) -> tuple[bool, str]:
        stated = STATED.match(f"{place.file} {place.scope}")
        return not stated, hashlib.sha256(f"{claim} {place.key}".encode()).hexdigest()

    return sorted((place for place in places if _runs(known, place)), key=order)[:count]


def _runs(known: reach.Reach, place: Place) -> bool:
    first, last = place.mutant.line, place.mutant.end_line
    by_test = known.lines.get(place.file, {}).values()
    runs = any(first <= n <= last for lines in by_test for n in lines)
    return runs and not session.evaluated_at_import(place, known)


def go(run: Run, paths: Sequence[Path], count: int) -> bool:
    """Try `count` mutants on each of these claims, several at a time; whether all were tried."""
    if run.prepared(paths) is None:
        return False
    waiting = [path for path in paths if not _fresh(run, path, count)]
    mathematics = [file for file in modules(run.root) if file not in reach.JUDGES]
    places = [place for file in mathematics for place in results.places(run.root, file)]
    listed = equivalents.standing_for(run.root, places, equivalents.read())
    mistakes = [place for place in places if place.key not in listed]
    say(f"{len(paths)} claims, {len(waiting)} to try on {count} mutants each")

    def do(path: Path) -> int:
        _one(run, path, mistakes, count)
        return 0

    for done, (path, _) in enumerate(run.parallel(waiting, do), 1):
        say(f"  {done}/{len(waiting)} {path.relative_to(run.root)}")
    return all(_fresh(run, path, count) for path in paths)


def _one(run: Run, path: Path, mistakes: list[Place], count: int) -> None:
    known, claim = reach.read(run.root, run.folder, [path]), str(path.relative_to(run.root))
    chosen = drawn(mistakes, known, claim, count)
    out = _place(run, path).with_suffix(".jsonl")
    out.parent.mkdir(parents=True, exist_ok=True)
    last = results.read(out)
    left = [place for place in chosen if not results.confirmed(run.root, last.get(place.key))]
    tasks = [(place, session.chosen_tests(place, known)) for place in left]
    session.Job(run.root, out, tasks, known, run.deadline, run.patience, whole=False).run()
    found = results.read(out)
    if any(found.get(place.key) == last.get(place.key) for place in left):
        return  # the time was up
    states = {place.key: found[place.key].state for place in chosen}
    for place in chosen:
        if states[place.key] not in results.SEEN:
            say(f"    {states[place.key]}: {place.file}:{place.mutant.line} {place.scope}: "
                f"{place.mutant.before} -> {place.mutant.after}")  # fmt: skip
    about = {"claim": claim, "digest": _digest(run, path), "asked": count}
    files.write_json(_place(run, path), {**about, "states": states})


def _place(run: Run, path: Path) -> Path:
    return run.folder / FOLDER / path.relative_to(run.root / "claims").with_suffix(".json")


def _digest(run: Run, path: Path) -> str | None:
    found = reach.kept(run.root, run.folder, path)
    return found["digest"] if found else None


def _fresh(run: Run, path: Path, count: int) -> bool:
    """Or its file is red as it is: then there is nothing to try."""
    digest, place = _digest(run, path), _place(run, path)
    if digest is None:
        return True
    if not place.exists():
        return False
    last = json.loads(place.read_text())
    return last["digest"] == digest and last["asked"] >= count


def read(root: Path, folder: Path) -> dict[str, dict[str, str]]:
    """Of each claim that is still there: what became of each mutant that was tried, by its key."""
    found = [json.loads(path.read_text()) for path in sorted((folder / FOLDER).rglob("*.json"))]
    return {one["claim"]: one["states"] for one in found if (root / one["claim"]).exists()}
