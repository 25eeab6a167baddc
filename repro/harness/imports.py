"""Which files of the project a claim rests on, read off its import statements.

A claim's results are stale when the code of one of these has changed; comments, docstrings and
the layout of lines are not code. The answer errs on the safe side: a package that is imported as a
whole stands for all its modules. A process takes every file to be as it found it first.
"""

import dis
import functools
import hashlib
import inspect
import io
import itertools
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

SOURCES = (".py", ".c")  # a module may compile the C file beside it
IMPORT_NAME = dis.opmap["IMPORT_NAME"]


@functools.cache
def fingerprint(file: Path, root: Path) -> str:
    """A digest of the claim file and of everything of the project that it imports."""
    digest = hashlib.sha256()
    for source in sorted(closure(file, root)):
        digest.update(f"{source.relative_to(root)}\0".encode())
        digest.update(code(source))
    return digest.hexdigest()[:16]


@functools.cache
def code(file: Path) -> bytes:
    """The content of a file without comments, docstrings and the layout of lines."""
    content = file.read_bytes()
    if file.suffix != ".py":
        return content
    try:
        tokens = list(tokenize.tokenize(io.BytesIO(content).readline))
    except (tokenize.TokenError, SyntaxError):  # pytest will complain about it
        return content
    words: list[str] = []
    statement: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
            continue
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            words.append(tokenize.tok_name[token.type])
            continue
        statement.append(token)
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if any(one.type != tokenize.STRING for one in statement[:-1]):  # else a docstring
                words += [one.string.strip() for one in statement]
            statement = []
    return "\0".join(words).encode()


def closure(file: Path, root: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        source = waiting.pop()
        if source not in found and source.is_file():
            found.add(source)
            waiting.extend(imported(source, root))
    return found


@functools.cache
def packages(file: Path, root: Path) -> frozenset[str]:
    """All that a file can come to import, by the first word: "torch", "repro", ..."""
    names = (name for source in closure(file, root) for name in _names(source, root))
    return frozenset(name[0] for name in names if name)


def uses_torch(file: Path, root: Path) -> bool:
    """Whether a claim can come to import torch: then torch is set up before it runs."""
    return "torch" in packages(file, root)


def docstring(file: Path) -> str:
    steps = _instructions(_compiled(file))
    for load, store in itertools.pairwise(steps):
        if (store.opname, store.argval) == ("STORE_NAME", "__doc__"):
            return inspect.cleandoc(load.argval)
    return ""


def test_functions(file: Path) -> set[str]:
    """Their names; how many tests each is, with its parameters, only pytest knows."""
    constants = _compiled(file).co_consts
    names = (one.co_name for one in constants if isinstance(one, CodeType))
    return {name for name in names if name.startswith("test_")}


@functools.cache
def _compiled(file: Path) -> CodeType:
    """A file that does not compile is pytest's to complain about; here it is empty.

    Not the syntax tree: Python 3.11 counts its depth for all threads together. While the page is
    made in one thread, pytest and hypothesis may parse in another, with a SystemError for either.
    """
    try:
        return compile(file.read_bytes(), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return compile("", file, "exec")


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    return (one for one in dis.get_instructions(code) if one.opname != "EXTENDED_ARG")


def _all_code(code: CodeType) -> Iterator[CodeType]:
    """This and what is defined in it, at any depth."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all_code(constant)


@functools.cache
def _names(source: Path, root: Path) -> list[tuple[str, ...]]:
    """Dotted names that a file imports; for `from a import b` that is a.b.

    `from .a import b, c` is compiled to: load 1, load ("b", "c"), IMPORT_NAME a.
    """
    found: list[tuple[str, ...]] = []
    for code in _all_code(_compiled(source)):
        if IMPORT_NAME not in code.co_code[::2]:
            continue  # most code imports nothing, and dis is slow
        steps = list(_instructions(code))
        for level, names, step in zip(steps, steps[1:], steps[2:], strict=False):
            if step.opname != "IMPORT_NAME":
                continue
            base = step.argval.split(".") if step.argval else []
            if level.argval and source.is_relative_to(root):
                base = [*source.relative_to(root).parts[: -level.argval], *base]
            found += [(*base, name) for name in names.argval] if names.argval else [tuple(base)]
    return found


@functools.cache
def imported(source: Path, root: Path) -> frozenset[Path]:
    """Files of the project that a file names itself."""
    return frozenset(
        file
        for parts in _names(source, root)
        for file in _files(root, parts) or _files(root, parts[:-1], whole=len(parts) > 2)
    )


@functools.cache
def _files(root: Path, parts: tuple[str, ...], *, whole: bool = True) -> list[Path]:
    """The files behind a dotted name: the module, or every module of the package (only its
    `__init__`, unless as a `whole`); and the `__init__` of each package on the way."""
    if not parts:
        return []
    place = root.joinpath(*parts)
    package = place / "__init__.py"
    if package.is_file() and whole:
        found = [file for suffix in SOURCES for file in place.rglob(f"*{suffix}")]
    elif package.is_file():
        found = [package]
    elif place.with_suffix(".py").is_file():
        found = [file for suffix in SOURCES if (file := place.with_suffix(suffix)).is_file()]
    else:
        return []
    return found + [root.joinpath(*parts[:k], "__init__.py") for k in range(1, len(parts))]
