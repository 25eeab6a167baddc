"""What became of every mutant: one line of JSON each, appended as soon as it is known.

A result is kept until the function that was changed, or a test that the result rests on, changes:
the one that saw the mutant, or all that did not.
"""

import ast
import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.mutants import operators
from tools.mutants.operators import Mutant

SEEN = ("killed", "too slow")


@dataclass(frozen=True)
class Place:
    """A mutant of a file, named so that the name survives changes elsewhere in the file."""

    file: str
    scope: str  # "Class.method", or "" for what stands outside of functions
    inside: bool  # in the body of a function; not, for example, in the default of an argument
    key: str
    mutant: Mutant


@dataclass(frozen=True)
class Result:
    key: str
    file: str
    scope: str
    line: int
    operator: str
    before: str
    after: str
    state: str  # killed, too slow, survived, or not reached by any test
    by: str  # the test that saw it; a file, if it could not be imported
    tried: int  # tests that were run
    rests_on: str  # digest of the tests that were
    seconds: float
    whole: bool = True  # not only some test files were asked for


def places(root: Path, file: str) -> list[Place]:
    source = (root / file).read_text()
    return [_place(file, scopes(source), one) for one in operators.mutants(source)]


def result(
    place: Place,
    state: str,
    tests: Sequence[str],
    root: Path,
    *,
    by: str = "",
    seconds: float = 0,
    whole: bool = True,
) -> Result:
    one = place.mutant
    rests_on = digest(root, [by] if by else tests)
    return Result(
        place.key, place.file, place.scope, one.line, one.operator, one.before, one.after,
        state, by, len(tests), rests_on, round(seconds, 2), whole or state in SEEN,
    )  # fmt: skip


def append(path: Path, one: Result) -> None:
    """One write, so that lines of several processes do not mix."""
    line = json.dumps(asdict(one), ensure_ascii=False) + "\n"
    with path.open("ab", buffering=0) as out:
        out.write(line.encode())


def read(path: Path) -> dict[str, Result]:
    """The last word about each mutant; a line that was cut off is no word."""
    found: dict[str, Result] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            one = Result(**json.loads(line))
        except (json.JSONDecodeError, TypeError):
            continue
        found[one.key] = one
    return found


def mend(path: Path) -> None:
    """A line that was cut off is ended, so that the next one is not lost with it."""
    if path.exists() and not path.read_bytes().endswith(b"\n"):
        with path.open("ab") as out:
            out.write(b"\n")


def confirmed(root: Path, last: Result | None) -> bool:
    """Whether it was seen, by a test that is still the same."""
    if last is None or last.state not in SEEN or not last.by:
        return False
    return last.rests_on == digest(root, [last.by])


def digest(root: Path, tests: Iterable[str]) -> str:
    """Of the functions of these tests, and of all in their files that is no test."""
    whole = hashlib.sha256()
    for name in sorted({test.split("[")[0] for test in tests}):
        file, *others = name.split("::")
        parts = _parts(root / file, _changed(root / file))
        chosen = ["", others[-1]] if others else parts
        for part in chosen:
            whole.update(parts.get(part, "gone").encode())
    return whole.hexdigest()[:12]


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns if path.is_file() else 0


@functools.cache
def _parts(path: Path, changed: int) -> dict[str, str]:
    """The text of every test of a file, by its name, and of all else but imports and comments."""
    parts = {"": ""}
    for node in ast.parse(path.read_text()).body if changed else ():
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        name = node.name if isinstance(node, ast.FunctionDef) else ""
        part = name if name.startswith("test_") else ""
        parts[part] = parts.get(part, "") + ast.unparse(node)
    return parts


@dataclass(frozen=True)
class Scope:
    """An outermost function, or a statement outside of functions."""

    name: str
    first: int
    body: int
    last: int
    text: str


@functools.lru_cache(maxsize=8)
def scopes(source: str) -> list[Scope]:
    found: list[Scope] = []

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
                continue
            function = isinstance(node, ast.FunctionDef)
            name = f"{prefix}{node.name}" if function else ""
            last = node.end_lineno or 0
            body_begins = node.body[0].lineno if function else last + 1
            found.append(Scope(name, node.lineno, body_begins, last, ast.unparse(node)))

    visit(ast.parse(source).body, "")
    return found


def _place(file: str, known: list[Scope], one: Mutant) -> Place:
    at = next(scope for scope in known if scope.first <= one.line <= scope.last)
    inside = at.body <= one.line
    place = (one.line - at.first, one.column)
    words = (file, at.name, at.text, *place, one.operator, one.before, one.after)
    key = hashlib.sha256(repr(words).encode()).hexdigest()[:16]
    return Place(file, at.name, inside, key, one)
