"""LaTeX -> MathML, which a browser sets without script; what cannot be converted stays LaTeX.

The result is the one markup of the report that no template escapes: mathml.py vouches for it.
"""

import re
from functools import lru_cache

from latex2mathml.converter import convert_to_element
from markupsafe import Markup, escape

from repro.report.mathml import written

_CODE = re.compile(r"`([^`]+)`")
# With the brackets and commas beside it.
_INLINE = re.compile(r"""([(\["“]*)(?<!\\)\$([^$]+?)(?<!\\)\$([.,;:!?)\]"”]*)""")
_TAGS = re.compile(r"<[^>]*>")
WIDE = 24  # signs: more may be too many for one line of a telephone


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
    first, *rest = _INLINE.split(text)  # words; then again and again opening, latex, closing, words
    fours = zip(rest[::4], rest[1::4], rest[2::4], rest[3::4], strict=True)
    following = (_inline(*formula) + _words(words) for *formula, words in fours)
    return Markup(_words(first) + "".join(following))


def _inline(opening: str, latex: str, closing: str) -> str:
    """A formula within a sentence: no line breaks beside it, a wide one can be moved if need be."""
    shown = f"{escape(opening)}{formula(latex.strip())}{escape(closing)}"
    if len(_TAGS.sub("", shown)) > WIDE:
        return f'<span class="wide">{shown}</span>'
    return f'<span class="nowrap">{shown}</span>' if opening or closing else shown


def unmarked(text: str) -> str:
    """The sentence without its dollar signs, for places that carry plain text only."""
    return _INLINE.sub(r"\1\2\3", text).replace("`", "")


def _words(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", str(escape(text.replace(r"\$", "$"))))
