"""The text at the top of a claim file, which was broken into lines for an editor, as blocks.

A block is a paragraph, an item ("- ..." and its continuation), or lines that are kept as they stand
(indented by four or more). A label such as "Not checked:" at a line's start begins a paragraph.
"""

import re
from dataclasses import dataclass
from typing import Literal

LABEL = re.compile(r"[A-Z][a-z][A-Za-z ,()-]{1,40}:(?= |$)")


@dataclass
class Block:
    kind: Literal["text", "item", "kept"]
    text: str

    @property
    def label(self) -> str:
        found = LABEL.match(self.text) if self.kind == "text" else None
        return found[0] if found else ""

    @property
    def rest(self) -> str:
        return self.text[len(self.label) :]


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    fresh = True  # the next line begins a block
    for line in text.splitlines():
        kind, content = _kind(line), line.strip()
        last = found[-1] if found and not fresh else None
        fresh = not content
        if fresh:
            continue
        if kind == "kept" and last and last.kind == "kept":
            last.text += f"\n{line[4:]}"
        elif kind == "kept":
            found.append(Block("kept", line[4:]))
        elif kind == "item":
            found.append(Block("item", content[2:]))
        elif last and last.kind != "kept" and _continues(line, last):
            last.text += f" {content}"
        else:
            found.append(Block("text", content))
    return found


def _kind(line: str) -> Literal["text", "item", "kept"]:
    if line.startswith("    "):
        return "kept"
    return "item" if line.startswith("- ") else "text"


def _continues(line: str, last: Block) -> bool:
    """An item goes on in lines that are indented; a paragraph until a label."""
    return line.startswith(" ") if last.kind == "item" else not LABEL.match(line)
