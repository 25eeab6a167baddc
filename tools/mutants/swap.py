"""Changed functions, put into a process that has imported the file as it is.

Every function of the file keeps its identity and gets the code of its changed twin, so whoever
holds it (a cache, a class, `from ... import`) calls the changed one. What stands outside of
functions, or in the line that defines one (its defaults), was evaluated at import: not here.
"""

import gc
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType

from tools.mutants.operators import Mutant

Living = dict[tuple[str, int], list[FunctionType]]  # by name and first line


def functions(path: str) -> Living:
    """The functions of a file that somebody holds."""
    found: Living = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename == path:
            code = one.__code__
            found.setdefault((code.co_qualname, code.co_firstlineno), []).append(one)
    return found


def put(mutant: Mutant, source: str, path: str, living: Living) -> None:
    """A ValueError if there is no such function, or it cannot take the code."""
    pairs = zip(outermost(compile(source, path, "exec")),
                outermost(compile(mutant.source, path, "exec")), strict=True)  # fmt: skip
    old, new = [pair for pair in pairs if pair[0].co_firstlineno <= mutant.line][-1]
    holders = living.get((old.co_qualname, old.co_firstlineno), [])
    if not holders:
        raise ValueError(f"{path}: nobody holds {old.co_qualname}")
    for holder in holders:
        holder.__code__ = new


def outermost(code: CodeType) -> Iterator[CodeType]:
    """Functions that stand in no other function, in the order of the file."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_flags & inspect.CO_OPTIMIZED:
                yield one
            else:  # the body of a class
                yield from outermost(one)
