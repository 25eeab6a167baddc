"""Which files of the project a claim rests on, read off its import statements.

A claim's results are stale when one of these has changed. The answer errs on the safe side: a
package that is imported as a whole stands for all its modules.
"""

import ast
import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path


@functools.lru_cache(maxsize=None)
def fingerprint(file: Path, root: Path) -> str:
    """A digest of the claim file and of everything of the project that it imports."""
    digest = hashlib.sha256()
    for source in sorted(closure(file, root)):
        digest.update(f"{source.relative_to(root)}\0".encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def closure(file: Path, root: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        source = waiting.pop()
        if source not in found and source.is_file():
            found.add(source)
            waiting.extend(_imported(source, root))
    return found


def _imported(source: Path, root: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(root, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            parts = node.module.split(".")
            for alias in node.names:
                as_module = list(_files(root, [*parts, alias.name]))
                yield from as_module or _files(root, parts)


def _files(root: Path, parts: list[str]) -> Iterator[Path]:
    """The files behind a dotted name: the module, or every module of the package."""
    place = root.joinpath(*parts)
    if (place / "__init__.py").is_file():
        yield from place.rglob("*.py") if len(parts) > 1 else [place / "__init__.py"]
    elif place.with_suffix(".py").is_file():
        yield place.with_suffix(".py")
