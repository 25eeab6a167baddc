"""Numbers of a run in prose: `[[largest error; n=4]]` in the ledger and in the head of a claim.

What a run measured is never typed: the text names the number as the claim does, with as many of
its settings as tell it from others, and the page shows what was measured. Several values become a
range, and what has not run is said to be so.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from repro.results.differences import as_number
from repro.results.types import Result

PLACE = re.compile(r"\[\[([^\[\];]+)(?:;([^\[\]]*))?\]\]")
NOT_RUN = "(not run)"
FIELDS = ("note", "why_all", "open", "description")


def filled(claim: Result) -> Result:
    """The claim with the numbers of its run in its texts."""
    return replace(claim, **{name: _filled(getattr(claim, name), claim) for name in FIELDS})


def values(claim: Result, name: str, settings: dict[str, str]) -> list[Any]:
    """What was measured under this name, at these settings, in the order of the claim."""
    return [
        value
        for known, value, params in _measured(claim)
        if known == name and all(str(params.get(key)) == s for key, s in settings.items())
    ]


def _measured(claim: Result) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for check in claim.every_check():
        yield check.name, check.measured, check.params
    for test in claim.tests:
        for number in test.numbers:
            yield number.name, number.value, number.params


def parsed(place: re.Match[str]) -> tuple[str, dict[str, str]]:
    pairs = (pair.partition("=") for pair in (place[2] or "").split(",") if pair.strip())
    return place[1].strip(), {key.strip(): value.strip() for key, _, value in pairs}


def _filled(text: str, claim: Result) -> str:
    return PLACE.sub(lambda place: _said(values(claim, *parsed(place))), text)


def _said(found: list[Any]) -> str:
    numbers = [number for one in found if (number := as_number(one)) is not None]
    if numbers and len(numbers) == len(found):
        low, high = f"{min(numbers):.3g}", f"{max(numbers):.3g}"
        return low if low == high else f"{low} to {high}"
    words = dict.fromkeys(map(str, found))
    return ", ".join(words) if words else NOT_RUN
