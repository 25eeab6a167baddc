"""What a claim sees by itself: mutants of the code that it runs, tried on that claim and no test.

Most mutants fall to a unit test long before a claim is run, which says nothing of the claim. So a
few of those on lines that a claim executes are tried on that claim alone: those of statements,
bounds, floors and targets first (STATED), then the others. Within both it is always the same ones,
the first by a digest of the claim's name and their key, so as good as drawn at random for each
claim. Left out are those that are listed as equivalent, what judges, and what runs when a module is
imported, such as the targets of other claims.

What is known of a claim is kept until the claim, or a module that it executes, changes. `keep`
writes the counts where the report finds them. A mutant that a claim does not see by itself is
listed in unseen.txt, with the reason why it need not, or should not.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro import files
from repro.harness import imports
from repro.harness.assembly import ALONE
from repro.harness.configured import project_in
from tools.mutants import equivalents, reach, results, session
from tools.mutants.results import Place
from tools.mutants.run import Run, modules, say

FOLDER = "alone"
UNSEEN = Path(__file__).with_name("unseen.txt")
GOAL, LEAST = 0.92, 0.75  # the share that all claims see together, and that any of them sees
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


def mistakes(root: Path) -> list[Place]:
    """All mutants of the mathematics but equivalent ones."""
    mathematics = [file for file in modules(root) if file not in reach.JUDGES]
    places = [place for file in mathematics for place in results.places(root, file)]
    same = equivalents.standing_for(root, places, equivalents.read())
    return [place for place in places if place.key not in same]


def go(run: Run, paths: Sequence[Path], places: list[Place], count: int) -> bool:
    """Try `count` mutants on each of these claims, several at a time; whether all were tried."""
    if run.prepared(paths) is None:
        return False
    waiting = [path for path in paths if not _fresh(run, path, count)]
    say(f"{len(paths)} claims, {len(waiting)} to try on {count} mutants each")

    def do(path: Path) -> int:
        _one(run, path, places, count)
        return 0

    for done, (path, _) in enumerate(run.parallel(waiting, do), 1):
        say(f"  {done}/{len(waiting)} {path.relative_to(run.root)}")
    return all(_fresh(run, path, count) for path in paths)


def _one(run: Run, path: Path, places: list[Place], count: int) -> None:
    known, claim = reach.read(run.root, run.folder, [path]), str(path.relative_to(run.root))
    chosen = drawn(places, known, claim, count)
    out = _place(run, path).with_suffix(".jsonl")
    out.parent.mkdir(parents=True, exist_ok=True)
    last = results.read(out)
    left = [place for place in chosen if not results.confirmed(run.root, last.get(place.key))]
    tasks = [(place, session.chosen_tests(place, known)) for place in left]
    session.Job(run.root, out, tasks, known, run.deadline, run.patience, whole=False).run()
    now = results.read(out)
    if any(now.get(place.key) == last.get(place.key) for place in left):
        return  # the time was up
    states = {place.key: now[place.key].state for place in chosen}
    for place in chosen:
        if states[place.key] not in results.SEEN:
            say(f"    {states[place.key]}: {named(place)}")
    about = {"claim": claim, "digest": _digest(run, path), "asked": count}
    files.write_json(_place(run, path), {**about, "states": states})


@dataclass(frozen=True)
class Alone:
    """Of one claim: the mutants that were tried on it, and those of them that it did not see."""

    claim: str
    tried: int
    missed: tuple[tuple[Place, str], ...]  # each with its reason, "" if none is listed

    @property
    def share(self) -> float:
        return 1 - len(self.missed) / self.tried if self.tried else 1.0


def found(root: Path, folder: Path, places: Iterable[Place]) -> list[Alone]:
    """Of all claims that were tried, as far as their mutants are still there."""
    by_key, reasons = {place.key: place for place in places}, unseen()
    every = []
    for claim, states in read(root, folder).items():
        tried = {by_key[key]: state for key, state in states.items() if key in by_key}
        alive = [place for place, state in tried.items() if state not in results.SEEN]
        missed = tuple((place, reasons.get((claim, named(place)), "")) for place in alive)
        every.append(Alone(claim, len(tried), missed))
    return every


def named(place: Place) -> str:
    one, scope = place.mutant, place.scope or equivalents.OUTSIDE
    return f"{place.file.removeprefix('repro/')} {scope}: {one.before} -> {one.after}"


def unseen(path: Path = UNSEEN) -> dict[tuple[str, str], str]:
    """The reason for each mutant, named as `named` does, that a claim is known not to see."""
    listed = equivalents.listed(path)
    return {(f"claims/{claim}", words): reason for claim, words, reason in listed}


def keep(root: Path, every: Iterable[Alone]) -> None:
    """The counts of claims that were just tried, for their pages; those of others stay."""
    project = project_in(root)
    ledger, path = project.read_ledger(), root / project.artifacts / ALONE
    table = files.read_json(path) if path.exists() else {}
    for one in every:
        statement = ledger.of_file(root / one.claim)
        if statement is not None and one.tried:
            code = imports.fingerprint(root / one.claim, root)
            seen = one.tried - len(one.missed)
            table[statement.id] = {"seen": seen, "tried": one.tried, "code": code}
    files.write_json(path, {id: table[id] for id in ledger.statements if id in table})


def told(every: Sequence[Alone]) -> int:
    """Say what was found; 1 if that is not what we ask for."""
    tried, missed = sum(one.tried for one in every), sum(len(one.missed) for one in every)
    share = f"{100 * (1 - missed / max(tried, 1)):.1f} % ({100 * GOAL:g} % are asked for)"
    print(f"\n{len(every)} claims see {tried - missed} of {tried} mutants by themselves, {share}")
    low = [one for one in every if one.share < LEAST]
    for one in low:
        print(f"below {100 * LEAST:g} %: {one.claim}, {one.tried - len(one.missed)} of {one.tried}")
    silent = [(one.claim, place) for one in every for place, why in one.missed if not why]
    for claim, place in silent:
        print(f"not seen, without a reason in {UNSEEN.name}: {claim}\n    {named(place)}")
    return int(bool(low or silent) or missed > (1 - GOAL) * tried)


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
