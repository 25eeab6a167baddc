"""LaTeX -> MathML, which a browser sets without script; what cannot be converted stays LaTeX.

The result is the one markup of the report that no template escapes: mathml.py vouches for it.
"""

import re
from functools import lru_cache

from latex2mathml.converter import convert_to_element
from markupsafe import Markup, escape

from repro.report.mathml import written

_CODE = re.compile(r"`([^`]+)`")
_INLINE = re.compile(r"(?<!\\)\$([^$]+?)(?<!\\)\$")


@lru_cache(maxsize=8192)
def formula(latex: str, *, display: bool = False) -> Markup:
    """One formula as MathML, or as its LaTeX in <code> where the conversion fails."""
    try:
        tree = convert_to_element(latex, display="block" if display else "inline")
        return Markup(written(tree))
    except Exception:  # the converter raises what it likes (IndexError, KeyError, its own)
        return Markup('<code class="latex">{}</code>').format(latex)


@lru_cache(maxsize=8192)
def prose(text: str) -> Markup:
    """A sentence: $formulas$ are set, `names` are code, everything else is escaped."""
    pieces = _INLINE.split(text)  # words, latex, words, latex, ..., words
    pieces[::2] = [_words(piece) for piece in pieces[::2]]
    pieces[1::2] = [formula(latex.strip()) for latex in pieces[1::2]]
    return Markup("".join(pieces))


def unmarked(text: str) -> str:
    """The sentence without its dollar signs, for places that carry plain text only."""
    return _INLINE.sub(r"\1", text).replace("`", "")


def _words(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", str(escape(text.replace(r"\$", "$"))))
