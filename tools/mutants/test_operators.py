"""What is changed in a source file, what is left alone by rule, and what is listed as equivalent."""

import ast
from pathlib import Path

import pytest

from tools.mutants import alone, by_hand, equivalents, operators, results

ROOT = Path(__file__).parents[2]


def changes(source):
    return {(one.operator, one.before, one.after) for one in operators.mutants(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a + b", {("sign", "a + b", "a - b"), ("term", "a + b", "a"), ("term", "a + b", "b")}),
        ("a - b", {("sign", "a - b", "a + b"), ("term", "a - b", "a"), ("term", "a - b", "-b")}),
        ("a * b", {("inverse", "a * b", "a / b"), ("factor", "a * b", "a"), ("factor", "a * b", "b")}),
        ("a / b", {("inverse", "a / b", "a * b"), ("factor", "a / b", "a")}),
        ("a // b", {("factor", "a // b", "a")}),
        ("x += a", {("sign", "a", "-a")}),
        ("x *= a", {("inverse", "a", "1 / a")}),
        ("a and b", {("branch", "a and b", "a or b")}),
        ("where(c, a, b)", {("branch", "where(c, a, b)", "where(c, b, a)")}),
        ("x[1]", {("index", "x[1]", "x[2]")}),
        ("x[-1]", {("index", "x[-1]", "x[0]"), ("constant", "1", "2")}),
        ("x[i]", {("index", "x[i]", "x[i + 1]")}),
        ("x[:k]", {("index", "x[:k]", "x[:k + 1]")}),
        ("range(0, n)", {("index", "range(0, n)", "range(1, n)"), ("index", "range(0, n)", "range(0, n + 1)")}),
        ("a ** b", {("exponent", "a ** b", "a ** (b + 1)")}),
        ("-a", {("sign", "-a", "a")}),
        ("x = 3", {("constant", "3", "6")}),
        ("x = 0.0", {("constant", "0.0", "1")}),
        ("a < b", {("inequality", "a < b", "a >= b"), ("edge", "a < b", "a <= b")}),
        ("a == b", {("inequality", "a == b", "a != b")}),
        ("a if c else b", {("branch", "a if c else b", "b if c else a")}),
        ("if c:\n    x", {("branch", "c", "not c")}),
        ("min(a, b)", {("extreme", "min(a, b)", "max(a, b)")}),
        ("x.lower()", {("extreme", "x.lower()", "x.upper()")}),
        ("A.mT @ b", {("transposed", "A.mT", "A")}),
    ],
)  # fmt: skip
def test_an_operator_does_what_its_table_says(source, expected):
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring, 1 + 1."""',
        "def f(x: Array[3]) -> Array[3]:\n    return x",
        "raise ValueError(f'{a + b}')",
        "if TYPE_CHECKING:\n    x = 1",
        "@cache(3)\ndef f():\n    return x",
        "BITS = 256",
        "TERMS, BITS = 64, 2**7",
        "fit(every=50, max_eval=2 * spec.iterations)",
        "def f(x, *, window: int = 60): pass",
        "options = {'maxiter': 10, 'xatol': 1e-3}",
        "class Fit(Spec):\n    power: int = 8",
        "LAPTOP = Setting(8, shape(64, 0.5))",
        "x = 1e-9",
        "range(ROUNDS)",
        "generator_at(seed, -100 - epoch)",
        "workspace.progress(k + 1, 2 * n, loss=losses[-1])",
        "x.reshape(-1)",
        "d.hexdigest()[:16]",
        "half = 1 / 2  # setting: which share is tried",
        "# setting: where it begins\nstart = a[::2]",
    ],
)
def test_what_is_not_computed_or_is_a_setting_is_left_alone(source):
    assert changes(source) == set()


@pytest.mark.parametrize(
    ("source", "left", "changed"),
    [
        ("CLOSE = 1e-9\nx < CLOSE", ("edge", "x < CLOSE", "x <= CLOSE"), ("inequality", "x < CLOSE", "x >= CLOSE")),
        ("y = 0 * x", ("factor", "0 * x", "0"), ("constant", "0", "1")),
        ("y = a + noise", ("sign", "a + noise", "a - noise"), ("term", "a + noise", "a")),
        ("PAPER = Setting(8)", ("none",), ("constant", "8", "16")),
        ("points = x[1]", ("none",), ("index", "x[1]", "x[2]")),
        ("steps = 2 * x", ("none",), ("constant", "2", "4")),
    ],
)  # fmt: skip
def test_a_rule_leaves_alone_no_more_than_it_says(source, left, changed):
    assert left not in changes(source)
    assert changed in changes(source)


@pytest.mark.parametrize(
    ("source", "after", "whole"),
    [
        ("d - (a + b) * c", "a + b", "d - (a + b)"),
        ("c * -(a + b)", "a + b", "c * (a + b)"),
        ("x = not (a and b)", "a or b", "x = not (a or b)"),
        ("(a + b) * c", "a - b", "(a - b) * c"),
    ],
)
def test_what_is_put_in_binds_as_what_was_there(source, after, whole):
    found = [
        ast.unparse(ast.parse(m.source)) for m in operators.mutants(source) if m.after == after
    ]
    assert whole in found


def test_only_the_place_changes_and_letters_of_several_bytes_do_no_harm():
    source = "größe = 1  # eins\nα = (größe +\n     x) * y\n"
    found = {one.after: one.source for one in operators.mutants(source)}
    assert found["größe - x"] == "größe = 1  # eins\nα = (größe - x) * y\n"
    assert found["2"] == source.replace("1", "2")


# --- equivalent mutants --------------------------------------------------------------------------

CODE = """
class A:
    @cached
    def least(self, q):
        return [(1 +  # one more
                 (i + 1) % 2) * B[1] for i in range(1, q + 1)]

TOP = 3 * LOW
"""
LIST = """
code.py
    A.least: (i + 1) % 2 -> (i - 1) % 2; B[1] -> B[2]
        only the parity of the sum is used
    module: 3 * LOW
        LOW is 0
    A.least: i + 5 -> i + 6
        this stood here once
"""


def test_an_entry_stands_for_its_change_wherever_it_is_written(tmp_path):
    (tmp_path / "repro").mkdir()
    (tmp_path / "repro/code.py").write_text(CODE)
    (tmp_path / "list").write_text(LIST)
    known = equivalents.read(tmp_path / "list")
    places = results.places(tmp_path, "repro/code.py")
    found = equivalents.standing_for(tmp_path, places, known)
    listed = {
        (p.mutant.before, p.mutant.after): found[p.key].reason for p in places if p.key in found
    }
    parity = "only the parity of the sum is used"
    assert {key: reason for key, reason in listed.items() if reason == parity} == {
        ("i + 1", "i - 1"): parity, ("B[1]", "B[2]"): parity,
    }  # fmt: skip
    outside = {p.key for p in places if p.scope == ""}
    assert outside
    assert outside == {key for key, one in found.items() if one.reason == "LOW is 0"}, "any change"
    assert [same.before for same in equivalents.stale(tmp_path, places, known)] == ["i + 5"]


def test_an_entry_without_a_reason_is_refused(tmp_path):
    (tmp_path / "list").write_text("code.py\n    f: 1 -> 2\n")
    with pytest.raises(ValueError, match="no reason is given"):
        equivalents.read(tmp_path / "list")


def test_the_mistakes_by_hand_can_be_planted():
    for one in by_hand.read():
        compile(one.planted(ROOT), one.file, "exec")
        assert (ROOT / one.claim).is_file()
        assert one.claim.split("/")[1] in one.file or "numerics" in one.file


def test_what_claims_do_not_see_by_themselves_is_still_there():
    named = {alone.named(place) for place in alone.mistakes(ROOT)}
    for claim, words in alone.unseen():
        assert (ROOT / claim).is_file(), claim
        assert words in named, (claim, words)


def test_the_list_of_this_project_can_be_read():
    assert {same.file for same in equivalents.read()} <= {
        str(path.relative_to(ROOT)) for path in (ROOT / "repro").rglob("*.py")
    }
