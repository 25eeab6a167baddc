"""The one error of this package."""

from pathlib import Path


class BadData(ValueError):
    """A file that is not what it should be; says which, and what was expected."""

    def __init__(self, file: Path | str, expected: str) -> None:
        super().__init__(f"{file}: {expected}")
