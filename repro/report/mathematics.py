"""LaTeX -> MathML that a browser sets without script.

latex2mathml answers with an element tree; `\\text{<b>}` and `\\href{...}` show that it passes on
whatever it is given. So the tree is written out here, with known tags and attributes only and with
every text escaped: that is the one markup in the report that no template escapes. What cannot be
converted is shown as its LaTeX.
"""

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element
from markupsafe import Markup, escape

_TAGS = frozenset(
    "math mrow mi mo mn mtext mspace mfrac msqrt mroot mstyle mpadded mphantom msub msup msubsup "
    "munder mover munderover mmultiscripts mprescripts none mtable mtr mtd".split()
)
_ATTRIBUTES = frozenset(
    "display displaystyle scriptlevel stretchy fence form separator symmetric largeop movablelimits "
    "accent accentunder lspace rspace minsize maxsize linethickness width height depth "
    "columnalign".split()
)
_VARIANTS = {  # browsers know only `normal`; the other alphabets are characters of their own
    "bold": "BOLD",
    "bold-italic": "BOLD ITALIC",
    "double-struck": "DOUBLE-STRUCK",
    "script": "SCRIPT",
    "fraktur": "FRAKTUR",
    "sans-serif": "SANS-SERIF",
    "monospace": "MONOSPACE",
}
_ACCENTS = {"^", "~", "¯", "˙", "¨", "→", "ˇ", "˘"}
_FENCES = set("|‖⌊⌋⌈⌉⟨⟩")  # grow with \\left and \\right only
_INLINE = re.compile(r"(?<!\\)\$([^$]+?)(?<!\\)\$")


class Unconvertible(ValueError):
    """This formula has something that MathML, or the converter, does not know."""


@lru_cache(maxsize=8192)
def formula(latex: str, *, display: bool = False) -> Markup:
    """One formula as MathML, or as its LaTeX in <code> where the conversion fails."""
    try:
        tree = convert_to_element(latex, display="block" if display else "inline")
        return Markup(_written(tree))
    except Exception:  # the converter raises what it likes (IndexError, KeyError, its own)
        return Markup('<code class="latex">{}</code>').format(latex)


@lru_cache(maxsize=8192)
def prose(text: str) -> Markup:
    """A sentence: formulas between dollar signs are set, everything else is escaped."""
    pieces = _INLINE.split(text)  # prose, latex, prose, latex, ..., prose
    words = [escape(piece.replace(r"\$", "$")) for piece in pieces]
    words[1::2] = [formula(latex.strip()) for latex in pieces[1::2]]
    return Markup("").join(words)


def unmarked(text: str) -> str:
    """The sentence without its dollar signs, for places that carry plain text only."""
    return _INLINE.sub(r"\1", text)


def _written(element: Element, before: Element | None = None, after: Element | None = None) -> str:
    """The element as text; its neighbours decide the space around a named operator."""
    if element.tag not in _TAGS or "linebreak" in element.attrib:
        raise Unconvertible(element.tag)
    attributes = {k: v for k, v in element.attrib.items() if k in _ATTRIBUTES}
    tag, text = element.tag, _text(element)
    if tag in ("mi", "mo") and len(text) > 1 and text.replace("\u2009", "").isalpha():
        tag, attributes = "mo", {**attributes, **_operator_space(before, after)}
    elif element.get("mathvariant") == "normal" and tag == "mi":
        attributes["mathvariant"] = "normal"
    if tag == "mo" and text in _FENCES:
        attributes = {"stretchy": "false", "lspace": "0", "rspace": "0"} | attributes
    if tag == "mover" and _text(element[-1]) in _ACCENTS:
        attributes["accent"] = "true"
    opening = tag + "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{opening}>{escape(text)}{_children(element)}</{tag}>"


def _children(parent: Element) -> str:
    row: Sequence[Any] = [None, *parent, None]
    return "".join(_written(row[i], row[i - 1], row[i + 1]) for i in range(1, len(row) - 1))


def _text(element: Element) -> str:
    raw = element.text or ""
    if re.match(r"\\[A-Za-z]", raw) or raw == "&":  # a command or a tabulator left over
        raise Unconvertible(raw)
    text = html.unescape(raw)
    alphabet = _VARIANTS.get(element.get("mathvariant", ""))
    return "".join(_in_alphabet(c, alphabet) for c in text) if alphabet else text


def _in_alphabet(character: str, alphabet: str) -> str:
    """The character in one of Unicode's mathematical alphabets, where it has it."""
    name = re.sub(r"^(LATIN|GREEK) (SMALL|CAPITAL) LETTER ", r"\2 ", unicodedata.name(character, ""))
    try:
        return unicodedata.lookup(f"MATHEMATICAL {alphabet} {name}")
    except KeyError:
        return character


def _operator_space(before: Element | None, after: Element | None) -> dict[str, str]:
    """TeX's thin space beside log, max, ...: none at a row's start, none before a bracket."""
    starts = before is None or before.tag == "mo"
    applied = after is None or (after.text or "") in ("(", "[", "&#x00028;", "&#x0005B;")
    return {"lspace": "0" if starts else "0.167em", "rspace": "0" if applied else "0.167em"}
