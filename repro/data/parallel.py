"""Parallel text as two plain files, <name>.en and <name>.de: line k of one translates line k."""

from collections.abc import Sequence
from pathlib import Path

from repro.data.errors import BadData
from repro.files import write_atomically

Pair = tuple[str, str]


def read(folder: Path, name: str) -> list[Pair]:
    """All pairs; both files must have as many lines, none empty."""
    english, german = (_lines(folder / f"{name}.{language}") for language in ("en", "de"))
    if len(english) != len(german):
        raise BadData(
            folder / f"{name}.de",
            f"expected {len(english)} lines as in {name}.en, got {len(german)}",
        )
    return list(zip(english, german, strict=True))


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadData(file, f"expected UTF-8 text ({error.reason} at byte {error.start})") from None
    except FileNotFoundError:
        raise BadData(file, "expected a text file here, one sentence a line") from None
    lines = text.removesuffix("\n").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise BadData(file, f"expected a sentence at line {number}, it is empty")
    return lines


def write(folder: Path, name: str, pairs: Sequence[Pair]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for place, language in enumerate(("en", "de")):
        lines = "".join(f"{pair[place]}\n" for pair in pairs)
        write_atomically(folder / f"{name}.{language}", lines.encode())
