"""Numbers as a reader wants them: four digits, raised powers of ten, seconds as minutes."""

import json
import math
import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from jinja2 import Undefined
from markupsafe import Markup, escape

from repro.bounds import Source

NOTHING = "–"
LONGEST = 20_000  # characters of a stored input that a page shows
MANY = 8  # numbers in a row that are shown
EXACT = 24  # characters of an exact number beyond which it is shown rounded
_EXACT = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*)?")
_DECIMAL = r"-?[0-9]+\.[0-9]+(?:e[+-]?[0-9]{1,5})?"
_END = r"-?[0-9]+(?:\.[0-9]+)?(?:E[+-]?[0-9]{1,9})?"
_BALL = re.compile(rf"\[({_END}), ({_END})\]")  # the ends of a ball
DIGITS = 16  # characters of a decimal number that nobody printed: a ball of radius 0
_SPOKEN = {"nan": "not a number", "inf": "∞", "-inf": "−∞"}
_SIGNS = {"<=": "≤", ">=": "≥", "not =": "≠"}
_TITLE = re.compile(r'<span title="[^"]*">(.*?)</span>')


def brief(value: Any) -> Markup:
    """The same without the tooltip, where numbers.csv beside the page has all the digits."""
    return Markup(_TITLE.sub(r"\1", str(number(value))))


def recorded(value: Any) -> Markup:
    """A number that a test wrote down; of many of them, how many."""
    if isinstance(value, dict) or (isinstance(value, list) and len(value) > MANY):
        return Markup(f"{len(value)} values")
    return brief(value)


def number(value: Any) -> Markup:
    """Any value of results.json, readable; a rounded float carries all its digits as a tooltip."""
    if value is None or isinstance(value, Undefined):
        return Markup(NOTHING)
    if isinstance(value, bool):
        return Markup("yes" if value else "no")
    if isinstance(value, int) and abs(value) < 10**EXACT:
        return _integer(value)
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, (list, tuple)):
        return Markup(", ".join(number(item) for item in value))
    if isinstance(value, dict):
        return Markup(", ".join(f"{escape(k)}\u00a0=\u00a0{number(v)}" for k, v in value.items()))
    text = _SPOKEN.get(str(value), str(value))
    if len(text) > EXACT and _EXACT.fullmatch(text):
        return Markup('<span title="{}">≈ {}</span>').format(text, _nearly(text))
    if ball := _BALL.fullmatch(text):
        middle = Markup(_TITLE.sub(r"\1", str(_between(*ball.groups()))))
        return Markup('<span title="{}">{}</span>').format(text, middle)
    if len(text) >= DIGITS and re.fullmatch(_DECIMAL, text):
        return Markup('<span title="{}">{}</span>').format(text, _nearly(text))
    return escape(text) if len(text) <= 24 else Markup('<span class="long">{}</span>').format(text)


def _between(low: str, high: str) -> Markup:
    """A number between two that are near each other, or else the two."""
    a, b = Decimal(low), Decimal(high)
    if a == b:
        return _shown(a)
    middle, radius = (a + b) / 2, (b - a) / 2
    if abs(middle) > 100 * radius:
        return _shown(middle) + " ± " + _shown(radius)
    return Markup("{} to {}").format(_shown(a), _shown(b))


def _nearly(exact: str) -> Markup:
    """Four digits of an exact number, which may be too large or too small for a float."""
    numerator, _, denominator = exact.partition("/")
    return _shown(Decimal(numerator) / Decimal(denominator or 1))


def _shown(value: Decimal) -> Markup:
    if value == 0 or -300 < value.adjusted() < 300:
        return _real(float(value))
    factor, exponent = f"{value:.3e}".split("e")
    power = str(int(exponent)).replace("-", "−")
    return Markup("{}×10<sup>{}</sup>").format(factor.replace("-", "−"), power)


def printed(value: Any) -> Markup:
    """A number of the paper: every digit that was printed, no more."""
    if isinstance(value, float) and 1e-4 <= abs(value) < 1e7:
        return Markup(repr(value).removesuffix(".0").replace("-", "−"))
    return number(value)


def margin(value: Any) -> Markup:
    """A factor: 12.3×."""
    if value is None or isinstance(value, Undefined):
        return Markup(NOTHING)
    if isinstance(value, float) and math.isfinite(value):
        return _rounded(value, digits=3)[1] + "×"
    return number(value)


def relation(sign: str) -> str:
    return _SIGNS.get(sign, sign)


def origins(sources: Iterable[Source]) -> Markup:
    """What a bound is made of: `roundoff 4 u M²`, the kind set apart."""
    return _origins(tuple((source.kind, source.why) for source in sources))


@lru_cache(maxsize=1024)
def _origins(terms: tuple[tuple[str, str], ...]) -> Markup:
    return Markup(" + ").join(Markup("<b>{}</b> {}").format(*term) for term in terms)


def seconds(value: Any) -> str:
    """A duration in the unit in which a person would say it."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return NOTHING
    if value < 0.01:
        return "< 10 ms"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def moment(value: Any) -> Markup:
    """A time stamp in ISO 8601, said in words; anything else as it is."""
    if not value:
        return Markup(NOTHING)
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return escape(value)
    zone = f" {time.tzname()}" if time.tzinfo else ""
    said = f"{time.day} {time:%B %Y, %H:%M}{zone}"
    return Markup('<time datetime="{}">{}</time>').format(value, said)


def indented(value: Any) -> str:
    """A stored input as JSON for people: what is short, and every row of numbers, on one line."""
    text = _lines(value, "")
    if len(text) <= LONGEST:
        return text
    return text[:LONGEST] + "\n… (cut here: result.json has all of it)"


def _lines(value: Any, pad: str) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    nested = isinstance(value, dict) or any(isinstance(item, (list, dict)) for item in items)
    if len(pad + flat) <= 80 or not nested:
        return flat
    inner = pad + "  "
    if isinstance(value, dict):
        named = [(f"{json.dumps(name)}: ", item) for name, item in value.items()]
    else:
        named = [("", item) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines = [inner + name + _lines(item, inner) for name, item in named]
    return "\n".join([opening, ",\n".join(lines), pad + closing])


def _integer(value: int) -> Markup:
    shown = f"{value:,}" if 10_000 <= abs(value) < 10**12 else str(value)
    return Markup(shown.replace(",", "\u202f").replace("-", "−"))


@lru_cache(maxsize=16384)
def _real(value: float) -> Markup:
    shown, short = _rounded(value, digits=4)
    if not math.isfinite(value) or float(shown) == value:
        return short
    return Markup('<span title="{}">{}</span>').format(repr(value), short)


def _rounded(value: float, digits: int) -> tuple[str, Markup]:
    """As Python writes it, and as a page does."""
    if not math.isfinite(value):
        return str(value), Markup(_SPOKEN[str(value)])
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return _scientific(value, digits)
    shown = f"{value:.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"
    return shown, Markup(shown.replace("-", "−"))


def _scientific(value: float, digits: int) -> tuple[str, Markup]:
    shown = f"{value:.{digits - 1}e}"
    factor, exponent = shown.split("e")
    factor = f"{float(factor):g}".replace("-", "−")
    power = Markup(f"10<sup>{int(exponent)}</sup>".replace("-", "−"))
    if factor in ("1", "−1"):
        return shown, Markup(factor.removesuffix("1")) + power
    return shown, Markup(f"{factor}×") + power


def percent(share: float | None) -> str:
    """Cut, not rounded: all but a few are not 100.0 %."""
    return "" if share is None else f"{math.floor(1000 * share + 1e-9) / 10:.1f} %"
