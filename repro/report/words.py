"""What the report calls things, and what they mean: the text of "How to read this"."""

import re
from collections.abc import Mapping
from typing import Any

from repro.results.types import Erratum, Result

VERDICTS = {  # in the order of the bars and of the legend
    "holds": (
        "holds",
        "True as printed, misprints aside, for every case that it speaks of; its page says what "
        "covers them all. Every check and every control passed.",
    ),
    "corrected": (
        "corrected",
        "False as printed: a stored counterexample shows it. A corrected form, stated on its "
        "page, holds for every case.",
    ),
    "supported": (
        "supported",
        "All checks passed, and something stays open: a limit, an existence, an insight without a "
        "number, or a part that no proof of ours covers. Its page says what.",
    ),
    "refuted": (
        "refuted",
        "False as printed, by a stored counterexample, and no corrected form is known.",
    ),
    "reproduced": (
        "reproduced",
        "A table or figure of which every cell matches, at its printed size.",
    ),
    "partly-reproduced": (
        "partly reproduced",
        "Of the cells of a table or figure some match, or show the comparison that the paper "
        "draws from them; others differ, were not run, or were run at a reduced size.",
    ),
    "not-reproduced": (
        "not reproduced",
        "No cell of the table or figure matches, and none shows the comparison that the paper "
        "draws.",
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
GRADES = {  # of an erratum, severest first
    "false": "The statement itself is false, under every reading that we could find.",
    "false step": "A displayed line of a proof is false; our list has it as a statement.",
    "proof gap": "The statement stands; a step towards it, in a proof or an experiment, does not.",
    "edge case": "True but for degenerate values.",
    "misprint": "A reader mends it without thinking; other lines of the paper have it right.",
}
GRADED = {  # one, and several
    "false": ("false statement", "false statements"),
    "false step": ("false line of a proof", "false lines of proofs"),
    "proof gap": ("gap in an argument", "gaps in arguments"),
    "edge case": ("edge case", "edge cases"),
    "misprint": ("misprint", "misprints"),
}
OUTCOMES = {  # of a cell of a table or figure
    "matches": "Equal, or within a tolerance stated beforehand.",
    "same order": "Another number; the comparison that the paper draws from it comes out.",
    "differs": "Another number, and no comparison of the paper comes out.",
    "not run": "Not run: its note says what it takes.",
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


def severity(erratum: Erratum) -> str:
    """Its grade, false lines of proofs apart from false statements."""
    step = erratum.grade == "false" and erratum.where == "proof"
    return "false step" if step else erratum.grade


def graded(found: Mapping[str, int]) -> list[tuple[str, str]]:
    """Of each severity how many, the worst first: `2 false statements`."""
    return [(one, counted(found[one], *GRADED[one])) for one in GRADES if found.get(one)]


def pairs(named: Mapping[str, Any]) -> str:
    """`torch 2.13.0, numpy 2.4.6`"""
    return ", ".join(f"{name} {value}" for name, value in (named or {}).items())


def spelled(n: int) -> str:
    """A small number as it stands in a sentence."""
    small = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return small[n] if n < len(small) else str(n)
