"""The filter above the tables of the index: four lists to choose from, and the rules they obey.

It works without a script: a row is hidden by the style sheet while a list has another value chosen.
"""

import re
from dataclasses import dataclass

from repro.report.rows import Row
from repro.report.words import EVIDENCE, VERDICTS

WORD = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class Choice:
    """One list: the attribute `data-<name>` of a row, and (value, what the list calls it)."""

    name: str
    values: list[tuple[str, str]]

    def rules(self) -> list[str]:
        """`~=` because a row may have several kinds of evidence; the others have one word.

        A value that is no plain word gets no rule: rules are not escaped.
        """
        return [
            f'main:has(#show-{self.name} option[value="{value}"]:checked) '
            f'[data-{self.name}]:not([data-{self.name}~="{value}"]) {{ display: none; }}'
            for value, _ in self.values
            if WORD.fullmatch(value)
        ]


def choices(rows: list[Row]) -> list[Choice]:
    """Only what at least one row has."""
    verdicts = {row.verdict for row in rows}
    shown = {kind for row in rows for kind in row.shown.split()}
    return [
        Choice("paper", [(paper, paper) for paper in dict.fromkeys(row.of for row in rows)]),
        Choice("kind", [(kind, kind) for kind in dict.fromkeys(row.kind for row in rows)]),
        Choice("verdict", [(v, word) for v, (word, _) in VERDICTS.items() if v in verdicts]),
        Choice("evidence", [(kind, kind) for kind in EVIDENCE if kind in shown]),
    ]
