"""Which files of the project a claim rests on, read off its import statements.

A claim's results are stale when one of these has changed. The answer errs on the safe side: a
package that is imported as a whole stands for all its modules.
"""

import ast
import functools
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

_PARSER = threading.Lock()
SOURCES = (".py", ".c")  # a module may compile the C file beside it


@functools.cache
def fingerprint(file: Path, root: Path) -> str:
    """A digest of the claim file and of everything of the project that it imports."""
    digest = hashlib.sha256()
    for source in sorted(closure(file, root)):
        digest.update(f"{source.relative_to(root)}\0".encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def forget() -> None:
    """Look at the files anew: until then they are taken to be as they were found first."""
    for known in (fingerprint, uses_torch, _files):
        known.cache_clear()


def closure(file: Path, root: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        source = waiting.pop()
        if source not in found and source.is_file():
            found.add(source)
            waiting.extend(_imported(source, root))
    return found


@functools.cache
def uses_torch(file: Path, root: Path) -> bool:
    """Whether a claim can come to import torch: then torch is set up before it runs."""
    return any(
        name[0] == "torch" for source in closure(file, root) for name in _names(source, root)
    )


def docstring(file: Path) -> str:
    return ast.get_docstring(_parsed(file)) or ""


def _parsed(file: Path) -> ast.Module:
    """A file that does not parse is pytest's to complain about; here it is empty.

    One at a time: Python 3.11 counts the depth of recursion for all threads together.
    """
    try:
        with _PARSER:
            return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def _names(source: Path, root: Path) -> tuple[tuple[str, ...], ...]:
    """Dotted names that a file imports; for `from a import b` that is a.b. Parsed once."""
    return _names_of(source, root, hashlib.sha256(source.read_bytes()).digest())


@functools.cache
def _names_of(source: Path, root: Path, content: bytes) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(name) for name in _each_name(source, root))


def _each_name(source: Path, root: Path) -> Iterator[list[str]]:
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module.split(".") if node.module else []
            if node.level and source.is_relative_to(root):
                base = [*source.relative_to(root).parts[: -node.level], *base]
            yield from ([*base, alias.name] for alias in node.names)


def _imported(source: Path, root: Path) -> Iterator[Path]:
    for parts in _names(source, root):
        yield from _files(root, parts) or _files(root, parts[:-1], whole=len(parts) > 2)


@functools.cache
def _files(root: Path, parts: tuple[str, ...], *, whole: bool = True) -> list[Path]:
    """The files behind a dotted name: the module, or every module of the package (only its
    `__init__`, unless as a `whole`); and the `__init__` of each package on the way."""
    if not parts:
        return []
    place = root.joinpath(*parts)
    if (place / "__init__.py").is_file():
        found = (
            [f for s in SOURCES for f in place.rglob(f"*{s}")] if whole else [place / "__init__.py"]
        )
    elif place.with_suffix(".py").is_file():
        found = [f for suffix in SOURCES if (f := place.with_suffix(suffix)).is_file()]
    else:
        return []
    return found + [root.joinpath(*parts[:k], "__init__.py") for k in range(1, len(parts))]
