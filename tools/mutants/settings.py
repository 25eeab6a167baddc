"""What is left alone by rule: settings, which say how much is computed, or how finely.

A learning rate, the bits of a ball, the number of draws, where an iteration gives up, what a
progress line says: with twice the number the same is proved or measured, so the change is not a
mistake, and no test need see it. A rule knows a setting by one of these:

- the name it is bound to, or the name itself (NAMES), if the value is made of numbers and settings;
- the function it is given to (TAKERS), or `Setting(...)`, but for sizes that a paper prints;
- the default of a field in a class of trainings, a `Spec`;
- a float below 1e-5: a tolerance; nor is `<` against one, or a setting, a mistake for `<=`;
- a comment that begins with `setting`, on its line or on the line above, where no rule can tell.

Left alone too, as they change nothing whatever the input: 0 * x, a size -1 of `reshape`, how many
digits of a digest are kept, and the sign of noise, whose law is symmetric.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

NAMES = frozenset(
    (
        "at_once", "batch", "bits", "caps", "chunk", "clip", "close", "directions", "draws",
        "every", "exchanges", "factors", "good_bits", "grid", "history_size", "in_cache",
        "iterations", "judged", "lr", "max_eval", "maxcor", "maxiter", "maxsize", "minloglevel",
        "most_bits", "num_threads", "patience", "per_thread", "points", "rest", "rounds",
        "samples", "seed", "steps", "tail", "terms", "timeout", "tolerance_change",
        "tolerance_grad", "window", "work", "xatol",
    )
)  # fmt: skip
TAKERS = frozenset({"generator_at", "lru_cache", "manual_seed", "progress", "workprec"})
DRAWN = frozenset({"choice", "draw", "integers"})  # how many inputs are tried, and which
PRINTED = ("PAPER", "_PRINTED", "FULL")  # beginnings of names: these sizes must be right
TINY = 1e-5
MARK = re.compile(r"#\s*settings?\b")
NOISE = frozenset({"noise", "randn", "standard_normal"})


def marked(source: str) -> set[int]:
    """Lines whose comment calls them a setting, and lines below such a comment that is alone."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    return {
        token.start[0] + (token.line.lstrip() == token.line[token.start[1] :])
        for token in comments
        if MARK.match(token.string)
    }


def left_alone(tree: ast.AST) -> set[int]:
    """The ids of the nodes in which nothing is changed."""
    return {id(node) for node in _settings(tree)}


def _settings(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign) and _is_printed(node.targets[0]):
        return
    yield from _bound(node)
    if isinstance(node, ast.ClassDef) and any(_called(base) == "Spec" for base in node.bases):
        fields = (field for field in node.body if isinstance(field, (ast.AnnAssign, ast.Assign)))
        yield from (part for field in fields for part in ast.walk(field))
    if isinstance(node, ast.Call):
        yield from _given(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_zero(node.left):
        yield from (node, *ast.walk(node.right))
    if isinstance(node, ast.Subscript) and _called(node.value) == "hexdigest":
        yield from (node, *ast.walk(node.slice))
    if isinstance(node, ast.expr) and is_setting(node):
        yield from ast.walk(node)
    for child in ast.iter_child_nodes(node):
        yield from _settings(child)


def _bound(node: ast.AST) -> Iterator[ast.AST]:
    """Values bound to the name of a setting: by `=`, as an argument, a default or in a dict."""
    pairs: list[tuple[ast.AST | str | None, ast.expr | None]] = []
    if isinstance(node, ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs += zip(target.elts, value.elts, strict=False)
        pairs.append((target, value))
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        pairs.append((node.target, node.value))
    elif isinstance(node, ast.keyword):
        pairs.append((node.arg, node.value))
    elif isinstance(node, ast.Dict):
        pairs += zip(node.keys, node.values, strict=True)
    elif isinstance(node, ast.arguments):
        several = [*node.posonlyargs, *node.args]
        pairs += zip(several[::-1], node.defaults[::-1], strict=False)
        pairs += zip(node.kwonlyargs, node.kw_defaults, strict=True)
    for name, value in pairs:
        if value is not None and _name(name).lower() in NAMES and _is_plain(value):
            yield from (part for part in ast.walk(value))


def _given(node: ast.Call) -> Iterator[ast.AST]:
    name = _called(node)
    if name in TAKERS or name == "Setting":
        yield from (part for given in (*node.args, *node.keywords) for part in ast.walk(given))
    elif name in DRAWN:
        yield from (part for given in node.args if _is_plain(given) for part in ast.walk(given))
    elif name in ("reshape", "view"):
        sizes = (size for size in node.args if isinstance(size, ast.UnaryOp))
        yield from (part for size in sizes for part in ast.walk(size))


def is_setting(node: ast.expr) -> bool:
    """An expression of numbers and settings in which there is a setting."""
    names = [part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute))]
    return bool(names) and _is_plain(node)


def is_tolerance(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is float and 0 < node.value < TINY


def tolerances(tree: ast.Module, lines: set[int]) -> set[str]:
    """Names of the module's constants that are tolerances, or stand in `lines` that are marked."""
    return {
        part.id
        for node in tree.body
        if isinstance(node, ast.Assign) and (is_tolerance(node.value) or node.lineno in lines)
        for part in ast.walk(node.targets[0])
        if isinstance(part, ast.Name)
    }


def is_noise(node: ast.expr) -> bool:
    """A sum whose last term is noise: its sign does not matter."""
    term = node.right if isinstance(node, ast.BinOp) else node
    term = term.right if isinstance(term, ast.BinOp) else term
    return _called(term) in NOISE


def is_tie(node: ast.expr, names: set[str]) -> bool:
    """Whether `<` for `<=` is only a tie with a tolerance or a setting."""
    return any(
        is_tolerance(part) or (isinstance(part, ast.Name) and (part.id in names or _known(part)))
        for part in ast.walk(node)
    )


def _is_plain(node: ast.expr) -> bool:
    allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _known(node)
    return isinstance(node, allowed) and all(
        _is_plain(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)
    )


def _known(node: ast.Name | ast.Attribute) -> bool:
    """A constant of the module, or what cannot be anything else: `points` may be an array."""
    name = _name(node)
    return name.lower() in NAMES and (name.isupper() or name in ("bits", "iterations"))


def _is_printed(target: ast.expr) -> bool:
    return _name(target).startswith(PRINTED)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False


def _called(node: ast.expr) -> str:
    return _name(node.func if isinstance(node, ast.Call) else node)


def _name(node: ast.AST | str | None) -> str:
    if isinstance(node, str):
        return node
    if isinstance(node, ast.Constant):
        return str(node.value)
    for field in ("id", "attr", "arg"):
        if found := getattr(node, field, None):
            return found
    return ""
