"""Mutants that are equivalent: they change nothing, whatever the input. equivalents.txt lists them.

    fang2022/powers.py
        least: (i + 1) % 2 -> (i - 1) % 2
            only the parity of the sum is used

A module, its function (or `module`), a part of its text and what it becomes, and the reason.
Without `->` every change within that part is meant; `;` stands between several changes of a
function, and one reason may follow several lines. The text is as `ast.unparse` writes it: neither
lines nor formatting matter. Settings do not belong here: settings.py leaves them alone by rule.
"""

import ast
import functools
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.mutants import results
from tools.mutants.results import Place

LIST = Path(__file__).with_name("equivalents.txt")
OUTSIDE = "module"


@dataclass(frozen=True)
class Same:
    file: str
    function: str  # "" outside of functions
    before: str
    after: str  # "" for whatever it becomes
    reason: str


def read(path: Path = LIST) -> list[Same]:
    return [
        one
        for file, words, reason in listed(path)
        for one in _entries(f"repro/{file}", words, reason)
    ]


def listed(path: Path) -> Iterator[tuple[str, str, str]]:
    """Of a list like the above: the line without indent, a line below it, and its reason."""
    file, waiting = "", []
    for line in path.read_text().splitlines():
        words = line.strip()
        indent = len(line) - len(line.lstrip())
        if not words or words.startswith("#"):
            continue
        if indent == 0:
            file = words
        elif indent == 4:
            waiting.append(words)
        else:
            yield from ((file, changes, words) for changes in waiting)
            waiting = []
    if waiting:
        raise ValueError(f"{path}: no reason is given for {waiting}")


def _entries(file: str, words: str, reason: str) -> Iterator[Same]:
    function, _, changes = words.partition(": ")
    for change in changes.split("; "):
        before, _, after = change.partition(" -> ")
        yield Same(file, "" if function == OUTSIDE else function, before, after, reason)


def standing_for(root: Path, places: Iterable[Place], known: Iterable[Same]) -> dict[str, Same]:
    """The entry for each mutant that is listed, by its key."""
    by_function: dict[tuple[str, str], list[Same]] = {}
    for same in known:
        by_function.setdefault((same.file, same.function), []).append(same)
    found = {}
    for place in places:
        for same in by_function.get((place.file, place.scope), ()):
            if _is_meant(same, place, (root / place.file).read_text()):
                found[place.key] = same
    return found


def stale(root: Path, places: list[Place], known: Iterable[Same]) -> list[Same]:
    """Entries of the files of these places that stand for no mutant: the code has changed."""
    used = set(standing_for(root, places, known).values())
    files = {place.file for place in places}
    return [same for same in known if same.file in files and same not in used]


def _is_meant(same: Same, place: Place, source: str) -> bool:
    """Whether the changed function is the one that the entry describes."""
    text, changed = _texts(source, place)
    for begin, end in _places(text, same.before):
        head, tail = text[:begin], text[end:]
        if not same.after:
            if changed.startswith(head) and changed.endswith(tail):
                return True
        elif changed == _normal(f"{head}{same.after}{tail}"):
            return True
    return False


@functools.lru_cache(maxsize=8)
def _texts(source: str, place: Place) -> tuple[str, str]:
    """Of the function as it is, and as it is changed, which takes no more lines."""
    one, new = place.mutant, place.mutant.source
    at = next(scope for scope in results.scopes(source) if scope.first <= one.line <= scope.last)
    fewer = len(source.splitlines()) - len(new.splitlines())
    return _text(source, at.first, at.last), _text(new, at.first, at.last - fewer)


@functools.lru_cache(maxsize=1024)
def _text(source: str, first: int, last: int) -> str:
    return _normal(textwrap.dedent("\n".join(source.splitlines()[first - 1 : last])))


def _places(text: str, part: str) -> Iterator[tuple[int, int]]:
    begin = text.find(part)
    while begin >= 0:
        yield begin, begin + len(part)
        begin = text.find(part, begin + 1)


@functools.cache
def _normal(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text))
    except SyntaxError:  # the part stood in the middle of a word
        return ""
