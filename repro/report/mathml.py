"""A tree of MathML written out: known tags and attributes only, every text escaped.

latex2mathml passes on whatever it is given (`\\text{<b>}`, `\\href{...}`), so nothing of its output
is copied. On the way, its slips are mended: signs that it takes for letters and the reverse,
spaces that TeX would set otherwise, alphabets that browsers do not know by name.
"""

import html
import re
import unicodedata
from xml.etree.ElementTree import Element

from markupsafe import escape

_TAG = re.compile(
    "math|mrow|mi|mo|mn|mtext|mspace|mfrac|msqrt|mroot|mstyle|mpadded|mphantom|msub|msup|msubsup|"
    "munder|mover|munderover|mmultiscripts|mprescripts|none|mtable|mtr|mtd"
)
_ATTRIBUTE = re.compile(
    "display|displaystyle|scriptlevel|stretchy|fence|form|separator|symmetric|largeop|accent|"
    "accentunder|movablelimits|lspace|rspace|minsize|maxsize|linethickness|width|height|depth|"
    "columnalign"
)
# Browsers know only `normal`; the other alphabets are characters of their own.
_VARIANTS = ("bold", "bold-italic", "double-struck", "script", "fraktur", "sans-serif", "monospace")
_PLUS_MINUS, _CLOSING = set("+−-±"), set(")]}|‖⌋⌉⟩!")
_ACCENTS = set("^~¯˙¨→ˇ˘")
_LETTERS = set("∞∅⊤⊥∂…⋯′†•")  # no operators: they bring no space of their own
_SIGNS = ("Sm", "Po", "Ps", "Pe")  # Unicode's categories of operators and brackets
_TIGHT = set("|‖⌊⌋⌈⌉⟨⟩/")  # set like letters: no space, no stretching unless after \left, \right


class Unconvertible(ValueError):
    """This formula has something that MathML, or the converter, does not know."""


def written(element: Element, before: Element | None = None, after: Element | None = None) -> str:
    """The element as text; its neighbours decide the space around a named operator."""
    if not _TAG.fullmatch(element.tag) or "linebreak" in element.attrib:
        raise Unconvertible(element.tag)
    if element.tag == "mrow" and len(element) == 1 and not element.attrib:
        return written(element[0])
    if element.tag == "math" and len(element) == 1 and element[0].tag == "mrow":
        element[:] = list(element[0])
    tag, text = _mended(element.tag, _text(element))
    attributes = {k: v for k, v in element.attrib.items() if _ATTRIBUTE.fullmatch(k)}
    if attributes.get("display") == "inline":  # as every formula, unless it says otherwise
        del attributes["display"]
    if tag == "mi" and element.get("mathvariant") == "normal":
        attributes["mathvariant"] = "normal"
    if tag == "mo" and text in _PLUS_MINUS and before is not None and _opens(before):
        attributes["form"] = "prefix"
    if tag == "mo" and _is_name(text):
        attributes |= _space_of_name(before, after)
    if tag == "mo" and text in _TIGHT and attributes.get("stretchy") != "true":
        tag, attributes = "mi", {}
    if tag == "mover" and _text(element[-1]) in _ACCENTS:
        attributes["accent"] = "true"
    opening = tag + "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{opening}>{escape(text)}{_children(element)}</{tag}>"


def _children(parent: Element) -> str:
    row = [None, *parent, None]
    triples = zip(parent, row, row[2:], strict=False)
    return "".join(written(child, before, after) for child, before, after in triples)


def _text(element: Element) -> str:
    raw = element.text or ""
    if re.match(r"\\[A-Za-z]", raw) or raw == "&":  # a command or a tabulator left over
        raise Unconvertible(raw)
    text = html.unescape(raw)
    variant = element.get("mathvariant", "")
    if variant not in _VARIANTS:
        return text
    alphabet = variant.upper().replace("BOLD-", "BOLD ")
    return "".join(_in_alphabet(character, alphabet) for character in text)


def _in_alphabet(character: str, alphabet: str) -> str:
    """The character in one of Unicode's mathematical alphabets, where it has it."""
    name = unicodedata.name(character, "")
    name = re.sub(r"^(LATIN|GREEK) (SMALL|CAPITAL) LETTER ", r"\2 ", name)
    try:
        return unicodedata.lookup(f"MATHEMATICAL {alphabet} {name}")
    except KeyError:
        return character


def _mended(tag: str, text: str) -> tuple[str, str]:
    if tag not in ("mi", "mo"):
        return tag, text
    if text in _LETTERS:
        return "mi", text
    if _is_name(text):
        return "mo", text
    if tag == "mi" and len(text) == 1 and unicodedata.category(text) in _SIGNS:
        return "mo", "∼" if text == "~" else text
    return tag, text


def _is_name(text: str) -> bool:
    """log, max, softmax, lim sup: a function written out."""
    return len(text) > 1 and re.sub("[\u2006\u2009]", "", text).isalpha()


def _opens(before: Element) -> bool:
    """What follows it is a sign, not an operation: (−1), = −1."""
    return before.tag == "mo" and html.unescape(before.text or "") not in _CLOSING


def _space_of_name(before: Element | None, after: Element | None) -> dict[str, str]:
    """TeX's thin space beside log, max, ...: none at a row's start, none before a bracket."""
    starts = before is None or before.tag == "mo"
    applied = after is None or html.unescape(after.text or "") in ("(", "[")
    return {"lspace": "0" if starts else "0.167em", "rspace": "0" if applied else "0.167em"}
