"""Characters that are not seen, but change what is seen: shown by their names in Python."""

import re

# All but tab and ends of lines: C0 and C1, marks and overrides of direction, separators, BOM.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)


def visible(text: str) -> str:
    r"""NUL becomes \x00, and what turns the writing round \u202e."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
