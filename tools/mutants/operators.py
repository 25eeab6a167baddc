"""Small wrong changes of a source file: what a slip of the pen would do to a formula.

operator      before               after
sign          a + b, -a, x += a    a - b, a, x += -a
term          a + b, a - b         a or b, a or -b
factor        a * b, a / b         a or b, a; a // b and a % b become a
inverse       a * b, x *= a        a / b, x *= 1 / a, and the other way round
exponent      a ** b               a ** (b + 1)
constant      a number n           2 n (1 for 0)
index         x[1], range(n)       x[2], range(n + 1)
inequality    a < b, a == b        a >= b, a != b
edge          a < b                a <= b
branch        a if c else b        b if c else a, likewise where(c, a, b); `if c:` becomes
                                   `if not c:`, `and` becomes `or`
extreme       min, any, lower      max, all, upper, and the other way round
transposed    A.T, A.mT            A

A mutant replaces one expression and leaves the rest of the text as it is. Left alone: strings,
annotations, what is raised, decorators, and what only a type checker sees. The sign of a literal
stays, as most are axes and places from the end: its number is doubled.
"""

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tools.mutants import settings

NAMES = (
    "sign", "term", "factor", "inverse", "exponent", "constant", "index", "inequality", "edge",
    "branch", "extreme", "transposed",
)  # fmt: skip
_PAIRS = (
    ("min", "max"), ("any", "all"), ("floor", "ceil"), ("lower", "upper"),
    ("minimum", "maximum"), ("argmin", "argmax"), ("amin", "amax"),
)  # fmt: skip
OPPOSITE = dict(_PAIRS) | {b: a for a, b in _PAIRS}
NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
EDGES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
TRANSPOSED = ("T", "mT")


@dataclass(frozen=True)
class Mutant:
    """`before`, at a line and column of the file, has become `after`."""

    operator: str
    line: int
    column: int
    end_line: int
    before: str
    after: str
    source: str  # the whole file with the change

    @property
    def name(self) -> str:
        digest = hashlib.sha256(f"{self.before}\0{self.after}".encode()).hexdigest()[:6]
        return f"{self.line}:{self.column}:{self.operator}:{digest}"


def mutants(source: str) -> Iterator[Mutant]:
    """Every one, from the top of the file to its end."""
    lines, tree = source.encode().splitlines(keepends=True), ast.parse(source)
    nodes = list(_reached(tree, settings.left_alone(tree)))
    moved = {id(part) for node in nodes for part in _places(node)}
    marked = settings.marked(source)
    tolerances = settings.tolerances(tree, marked)
    found = (
        _mutant(operator, old, new, lines)
        for node in nodes
        for operator, old, new in _changes(node)
        if old.lineno not in marked
        and not (
            operator == "constant" and (settings.is_tolerance(old) or _moved_anyway(old, moved))
        )
        and not (operator == "edge" and settings.is_tie(old, tolerances))
        and not (operator == "sign" and settings.is_noise(old))
    )
    different = {one.source: one for one in found if one.source != source}
    yield from sorted(different.values(), key=lambda one: (one.line, one.column, one.name))


def _mutant(operator: str, old: ast.expr, new: ast.expr, lines: list[bytes]) -> Mutant:
    """Columns are counted in bytes, as the syntax tree has them."""
    assert old.end_lineno is not None
    first, last = old.lineno - 1, old.end_lineno - 1
    after = ast.unparse(new)
    put = after if _binds_as(new, old) else f"({after})"
    text = b"".join(lines[:first]) + lines[first][: old.col_offset] + put.encode()
    text += lines[last][old.end_col_offset :] + b"".join(lines[last + 1 :])
    place = {"line": old.lineno, "column": old.col_offset, "end_line": old.end_lineno}
    return Mutant(operator, **place, before=ast.unparse(old), after=after, source=text.decode())


def _binds_as(new: ast.expr, old: ast.expr) -> bool:
    """Whether it can stand in the place of the other without parentheses."""
    if not isinstance(new, (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp)):
        return True
    return type(new) is type(old) and _level(new) == _level(old)


def _level(node: ast.expr) -> str:
    """Operators of one level, as a name; those of one level take each other's place."""
    level = {"Sub": "Add", "Div": "Mult"}
    name = type(getattr(node, "op", node)).__name__
    return level.get(name, name)


def _reached(tree: ast.AST, settled: set[int]) -> Iterator[ast.AST]:
    """The nodes that are evaluated, and are part of what is computed."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _left_alone(child):
                if id(child) not in settled:
                    yield child
                yield from _reached(child, settled)


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


# --- what becomes of a node ----------------------------------------------------------------------

Change = tuple[str, ast.expr]


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Operator, the expression that it replaces, and by what."""
    if isinstance(node, ast.If):
        yield "branch", node.test, ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield "sign", node.value, ast.UnaryOp(ast.USub(), node.value)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Mult, ast.Div)):
        yield "inverse", node.value, ast.BinOp(ast.Constant(1), ast.Div(), node.value)
    rule = _RULES.get(type(node))
    if rule is not None and isinstance(node, ast.expr):
        yield from ((operator, node, new) for operator, new in rule(node))


def _binary(node: ast.BinOp) -> Iterator[Change]:
    swap = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
    kind = type(node.op)
    if kind in swap:
        name = "sign" if kind in (ast.Add, ast.Sub) else "inverse"
        yield name, ast.BinOp(node.left, swap[kind](), node.right)
        yield "term" if name == "sign" else "factor", node.left
    if kind in (ast.Add, ast.Mult):
        yield "term" if kind is ast.Add else "factor", node.right
    elif kind is ast.Sub:
        yield "term", ast.UnaryOp(ast.USub(), node.right)
    elif kind in (ast.FloorDiv, ast.Mod):
        yield "factor", node.left
    elif kind is ast.Pow:
        yield "exponent", ast.BinOp(node.left, ast.Pow(), _plus_one(node.right))


def _unary(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield "sign", node.operand
    elif isinstance(node.op, ast.Not):
        yield "branch", node.operand


def _bool(node: ast.BoolOp) -> Iterator[Change]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "branch", ast.BoolOp(other, node.values)


def _constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield "constant", ast.Constant(2 * value if value else 1)


def _subscript(node: ast.Subscript) -> Iterator[Change]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for place, part in enumerate(parts):
        for new in _moved(part):
            changed = [*parts[:place], new, *parts[place + 1 :]]
            index = ast.Tuple(changed, ast.Load()) if len(parts) > 1 else changed[0]
            yield "index", ast.Subscript(node.value, index, node.ctx)


def _moved(part: ast.expr) -> Iterator[ast.expr]:
    if isinstance(part, ast.Slice):
        if part.lower is not None:
            yield ast.Slice(_plus_one(part.lower), part.upper, part.step)
        if part.upper is not None:
            yield ast.Slice(part.lower, _plus_one(part.upper), part.step)
    elif isinstance(part, (ast.Name, ast.BinOp, ast.UnaryOp)) or _whole(part):
        yield _plus_one(part)


def _whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _places(node: ast.AST) -> Iterator[ast.expr]:
    """What is moved by one in an index, a slice or a range."""
    if isinstance(node, ast.Subscript):
        for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            ends = (part.lower, part.upper) if isinstance(part, ast.Slice) else (part,)
            yield from filter(None, ends)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        yield from node.args[:2]


def _moved_anyway(node: ast.expr, moved: set[int]) -> bool:
    """Twice 0 or 1 is the next place, which the operator `index` tries."""
    return id(node) in moved and _whole(node) and getattr(node, "value", None) in (0, 1)


def _compare(node: ast.Compare) -> Iterator[Change]:
    for name, table in (("inequality", NEGATED), ("edge", EDGES)):
        for place, op in enumerate(node.ops):
            if type(op) in table:
                ops = [*node.ops[:place], table[type(op)](), *node.ops[place + 1 :]]
                yield name, ast.Compare(node.left, ops, node.comparators)


def _if_expression(node: ast.IfExp) -> Iterator[Change]:
    yield "branch", ast.IfExp(node.test, node.orelse, node.body)


def _call(node: ast.Call) -> Iterator[Change]:
    if isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
        for place, argument in enumerate(node.args[:2]):
            if settings.is_setting(argument):
                continue
            args = [*node.args[:place], _plus_one(argument), *node.args[place + 1 :]]
            yield "index", ast.Call(node.func, args, node.keywords)
    elif _name(node.func) == "where" and len(node.args) == 3:
        condition, one, other = node.args
        yield "branch", ast.Call(node.func, [condition, other, one], node.keywords)
    elif isinstance(node.func, ast.Name) and node.func.id in OPPOSITE:
        other = ast.Name(OPPOSITE[node.func.id], ast.Load())
        yield "extreme", ast.Call(other, node.args, node.keywords)
    elif isinstance(node.func, ast.Attribute) and node.func.attr in OPPOSITE:
        other = ast.Attribute(node.func.value, OPPOSITE[node.func.attr], ast.Load())
        yield "extreme", ast.Call(other, node.args, node.keywords)


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _attribute(node: ast.Attribute) -> Iterator[Change]:
    if node.attr in TRANSPOSED:
        yield "transposed", node.value


def _plus_one(node: ast.expr) -> ast.expr:
    """n + 1 for n, n + 2 for n + 1, and n for n - 1: what `constant` and `term` make as well."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return ast.Constant(node.value + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and _whole(node.operand):
        less = getattr(node.operand, "value", 0) - 1
        return ast.UnaryOp(ast.USub(), ast.Constant(less)) if less else ast.Constant(0)
    if isinstance(node, ast.BinOp) and _whole(node.right):
        if isinstance(node.op, ast.Add):
            return ast.BinOp(node.left, node.op, _plus_one(node.right))
        if isinstance(node.op, ast.Sub) and getattr(node.right, "value", 0) == 1:
            return node.left
    return ast.BinOp(node, ast.Add(), ast.Constant(1))


_RULES: dict[type[ast.AST], Callable[[Any], Iterator[Change]]] = {
    ast.BinOp: _binary,
    ast.BoolOp: _bool,
    ast.UnaryOp: _unary,
    ast.Constant: _constant,
    ast.Subscript: _subscript,
    ast.Compare: _compare,
    ast.IfExp: _if_expression,
    ast.Call: _call,
    ast.Attribute: _attribute,
}
