"""Every check of the committed snapshot, decided again from results.json and nothing else.

The arithmetic here is its own: fractions of Python's standard library, a ball by its two ends.
"""

import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from repro.results import codec

sys.set_int_max_str_digits(20_000)  # some integers are longer than Python reads by default
RESULTS = Path(__file__).parents[1] / "artifacts/reference/results.json.gz"
BALL = re.compile(r"\[([^,\[\]]+), ([^,\[\]]+)\]")
RATIONAL = re.compile(r"-?\d+(/\d+)?|-?\d+(\.\d+)?([eE][+-]?\d+)?")


def ends(value):
    """The lower and the upper end of a stored number; None for what is none."""
    if not isinstance(value, (int, float, str)):
        return None
    if not isinstance(value, str):
        return Fraction(value), Fraction(value)
    if re.fullmatch("-?0x[0-9a-f]+(/.*)?", value):
        over, _, under = value.partition("/")
        return (Fraction(int(over, 16), int(under or "1", 0)),) * 2
    if ball := BALL.fullmatch(value):
        return Fraction(ball[1]), Fraction(ball[2])
    return (Fraction(value),) * 2 if RATIONAL.fullmatch(value) else None


def equal(a, b):
    """Numbers by value, lists and objects item by item, all else by its text."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if (x := ends(a)) and (y := ends(b)):
        return x == y and x[0] == x[1]
    return a == b


def decided(measured, relation, allowed, tolerance=None):
    a, b = ends(measured), ends(allowed)
    if relation == "=":
        return equal(measured, allowed)
    if relation == "not =" and (a is None or b is None):
        return not equal(measured, allowed)
    assert a is not None
    assert b is not None
    if relation == "not =":  # balls that overlap are neither
        return a[1] < b[0] or b[1] < a[0]
    if relation == "≈":
        room = ends(tolerance)
        assert room is not None
        return max(a[1] - b[0], b[1] - a[0]) <= room[0]
    if relation.startswith("not "):
        other = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}
        relation = other[relation.removeprefix("not ")]
    return {
        "<=": a[1] <= b[0],
        "<": a[1] < b[0],
        ">=": a[0] >= b[1],
        ">": a[0] > b[1],
    }[relation]


@pytest.mark.parametrize("claim", codec.read_results(RESULTS).claims, ids=lambda claim: claim.id)
def test_the_file_alone_decides_every_check(claim):
    for check in claim.every_check():
        again = decided(check.measured, check.relation, check.allowed, check.tolerance)
        assert again == check.ok, (check.test, check.name, check.params)
    for example in claim.counterexamples:
        against = decided(example.measured, f"not {example.relation}", example.expected)
        assert against, (example.test, example.refutes)


def test_it_can_say_no():
    assert not decided("[-0.1, 0.1]", "<=", 0.001)
    assert not decided("[1, 2]", "not =", "[2, 3]")
    assert decided("[1, 2]", "not =", "[2.5, 3]")
    assert not decided("1/3", "=", 0.3333333333333333)
    assert not decided(1.0, "≈", 2, "[0.5, 1.5]")
    assert decided(["0", {"a": "1/2"}], "=", [0, {"a": 0.5}])
    assert not decided(["0", "1"], "=", [0, 2])
    assert not decided("[1, 2]", "=", "[1, 2]")
