"""What the report calls things, and what they mean: the text of "How to read this"."""

import re
from collections.abc import Mapping
from typing import Any

from repro.results.types import Result

VERDICTS = {  # in the order of the bars and of the legend
    "holds": ("holds", "Every check and every control passed, and nothing refutes the text."),
    "holds-repaired": (
        "holds, repaired",
        "The printed form is false: a stored counterexample shows it. "
        "A corrected form, stated on its page, passed every check.",
    ),
    "refuted": (
        "refuted",
        "A stored counterexample refutes the printed form, and no repaired form holds.",
    ),
    "illustrated": (
        "illustrated",
        "Consistent evidence, not proof: a limit or an existence that finite computation cannot "
        "decide, or a theorem whose only evidence is training.",
    ),
    "failed": (
        "failed",
        "A check or a control came out red: our record was not reproduced. "
        "That says nothing about the paper.",
    ),
    "error": ("error", "Our code raised an exception, or a worker died: no statement either way."),
    "not-run": ("not run", "Needs data, scale or hardware that this run did not have."),
    "pending": ("pending", "Listed for completeness; no claim has been written yet."),
}
EVIDENCE = {  # strongest first
    "exact": "Rational arithmetic or polynomial identities: the difference is 0, not 10⁻¹⁵.",
    "certified": "Ball arithmetic: the bound is proved for this instance, rounding included.",
    "best-in-class": "The best error that any member of the class can reach (linear programming, "
    "singular values, minimax), so that a rate has a floor to be compared with.",
    "construct": "The weights that the proof writes down, run through the ordinary forward pass.",
    "train": "Gradient descent found it: shows what happens, cannot show what is impossible.",
}
STATES = {  # of a test: the word, and the verdict whose colour and sign it borrows
    "passed": ("passed", "holds"),
    "failed": ("failed", "failed"),
    "error": ("error", "error"),
    "crashed": ("crashed", "error"),
    "running": ("running", "running"),
    "interrupted": ("interrupted", "interrupted"),
    "not-run": ("not run", "not-run"),
}
SIGNS = {*VERDICTS, "running", "interrupted", "solid", "hollow"}  # the glyphs of signs.html


def verdict_of(claim: Result) -> str:
    """The verdict to show: a statement without a claim is pending rather than not run."""
    return "pending" if claim.pending else claim.verdict


def label(claim: Result) -> str:
    """`Lemma 3`; a range of numbers gets its dash, the name of a finding its spaces."""
    number = re.sub(r"(?<=\d)-(?=\d)", "–", claim.number)
    return f"{claim.kind.capitalize()} {number.replace('-', ' ')}".strip()


def short(claim: Result) -> str:
    """The label where it is plain that a finding is one."""
    return label(claim).removeprefix("Finding ")


def place(claim: Result) -> str:
    """Where it stands in the paper, unless its label says that already."""
    section = claim.section
    shown = f"Section {section}" if re.match(r"[A-Z0-9](\.|,| |$)", section) else section
    return "" if shown == label(claim) else shown


def counted(n: int, noun: str, several: str = "") -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {several or noun + 's'}"


def pairs(named: Mapping[str, Any]) -> str:
    """`torch 2.13.0, numpy 2.4.6`"""
    return ", ".join(f"{name} {value}" for name, value in (named or {}).items())


def spelled(n: int) -> str:
    """A small number as it stands in a sentence."""
    small = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return small[n] if n < len(small) else str(n)
