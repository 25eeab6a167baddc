"""What a run measured is not typed: texts name the number, and the page fills it in.

A number in the ledger, in the head of a claim, or typed into a caption or a cell's note, is suspicious if the committed snapshot has it as
a measurement, to the digits that are typed, and neither the paper, nor a bound, nor a setting, nor
an exact value has it.
"""

import ast
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from repro.report import placeholders
from repro.results import codec
from repro.results.differences import as_number
from repro.results.types import Check

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "artifacts/reference/results.json.gz"
CLAIMS = codec.read_results(REFERENCE).claims
FIELDS = ("statement", "note", "why_all", "open", "description")
# A decimal fraction with at least two digits that say something; not a part of 3.1.2 or T5.1, nor
# the beginning of a constant, such as 3.14...
TYPED = re.compile(r"(?<![\w.])\d*\.\d+(?:e-?\d+| x 10\^-?\d+)?(?![\w.]*\d)(?!\.\.\.)(?: ?%)?")
RATIONAL = re.compile(r"\d+(/\d+|\.\d+)?")
QUOTIENT = re.compile(r"-?\d+/[1-9]\d*")
KINDS = "Theorem|Lemma|Proposition|Corollary|Remark|Definition|Section|Appendix|Figure|Table"
REFERENCE_TO = re.compile(rf"\b({KINDS})(s|ies)?\s+[\d.]+((,| and| or| to|,? not)\s+[\d.]+)*")
DIGITS = 2


def typed_in_code(claim):
    """What stands in the claim's captions and notes of cells, but for what is computed there."""
    if not claim.file:
        return ""
    tree = ast.parse((ROOT / claim.file).read_text(encoding="utf-8"))
    keywords = (node for node in ast.walk(tree) if isinstance(node, ast.keyword))
    texts = (node.value for node in keywords if node.arg in ("caption", "note", "alt"))
    parts = (part for text in texts for part in ast.walk(text) if isinstance(part, ast.Constant))
    return " ".join(part.value for part in parts if isinstance(part.value, str))


def numbers(value):
    """Floats, balls and rationals anywhere in a value of results.json."""
    if isinstance(value, float):
        return {value}
    if isinstance(value, str) and QUOTIENT.fullmatch(value):
        top, bottom = map(int, value.split("/"))
        return {top / bottom} if max(abs(top), bottom) < 1e300 else set()
    if isinstance(value, str):
        return {as_number(value)} - {None}
    if isinstance(value, dict):
        value = list(value.values())
    return set().union(*map(numbers, value)) if isinstance(value, (list, tuple)) else set()


def measured(claim):
    found = set()
    for check in claim.every_check():
        found |= numbers(check.measured)
    for test in claim.tests:
        found |= set().union(*(numbers(one.value) for one in test.numbers))
    return found


def known(claim):
    """What may be typed: bounds, settings and printed cells."""
    found = set()
    for check in claim.every_check():
        found |= numbers([check.allowed, check.tolerance, check.params])
        found |= {float(Fraction(v)) for v in check.params.values() if RATIONAL.fullmatch(str(v))}
        found |= numbers([source.value for source in check.provenance])
    return found | numbers([cell.paper for cell in claim.cells])


def digits(text):
    return len(re.sub(r"e.*| x .*|\D", "", text).lstrip("0"))


def rounds_to(text, value):
    """Whether `value`, rounded to the digits of `text`, is `text`."""
    plain = text.rstrip(" %")
    typed = float(plain.replace(" x 10^", "e"))
    if not (math.isfinite(value) and value):
        return False
    value *= 100 if plain != text else 1
    return float(f"{abs(value):.{digits(text)}g}") == typed


def typed_results(claim):
    text = " ".join([*(getattr(claim, field) for field in FIELDS), typed_in_code(claim)])
    text = REFERENCE_TO.sub("", placeholders.PLACE.sub("", text))
    may = known(claim)
    return [
        found[0]
        for found in TYPED.finditer(text)
        if digits(found[0]) >= DIGITS
        and any(rounds_to(found[0], value) for value in measured(claim))
        and not any(rounds_to(found[0], value) for value in may)
    ]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_no_measured_number_is_typed_in_a_text(claim):
    assert typed_results(claim) == []


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_placeholder_finds_its_number(claim):
    for field in placeholders.FIELDS:
        for place in placeholders.PLACE.finditer(getattr(claim, field)):
            assert placeholders.values(claim, *placeholders.parsed(place)), place[0]


def test_it_sees_a_typed_result_and_passes_a_placeholder(tmp_path):
    for measured in (0.12345, "[0.12344, 0.12346]", "2469/20000"):
        check = Check(name="error", measured=measured, relation="<=", allowed=0.5, ok=True)
        claim = replace(CLAIMS[0], checks=[check], controls=[], tests=[], cells=[])
        for text in ("The error is 0.123.", "12.3 % of it", "12.3% of it", "about 1.2e-1 of it"):
            assert typed_results(replace(claim, note=text)), text
        file = tmp_path / "test_it.py"
        file.write_text('claim.figure(it, "a", caption=f"It is {error:.2f}, or 0.123.")')
        assert typed_results(replace(claim, file=str(file))) == ["0.123"]
        for text in ("[[error]] is seen", "At most 0.5.", "Section 0.123", "It is 0.124."):
            assert not typed_results(replace(claim, note=text)), text
