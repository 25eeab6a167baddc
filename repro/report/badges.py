"""The small signs that stand on every page by the hundred, made once each."""

from functools import lru_cache

from markupsafe import Markup

from repro.report.words import SIGNS, STATES, VERDICTS
from repro.results.types import Result

_SIGN = Markup('<svg class="sign" aria-hidden="true"><use href="#sign-{}"/></svg>')
_BADGE = Markup('<span class="badge v-{} {}">{}{}</span>')
_SHOWN = Markup('<li class="chip">{}</li>')
_AIMED = Markup(
    '<li class="chip aimed" title="aimed at, not shown">{}'
    '<span class="unseen"> (aimed at, not shown)</span></li>'
)


@lru_cache
def sign(name: str) -> Markup:
    """A glyph of signs.html; what is unknown looks like not-run."""
    return _SIGN.format(name if name in SIGNS else "not-run")


def badge(verdict: str, size: str = "") -> Markup:
    """A verdict: its colour, its glyph and, always, its word."""
    return _badge(verdict, VERDICTS.get(verdict, [verdict])[0], size)


def state_badge(state: str) -> Markup:
    """The state of a test, in the colour of the verdict it is most like."""
    word, like = STATES.get(state, (state, "not-run"))
    return _badge(like, word)


def chips(claim: Result) -> Markup:
    """The kinds of evidence that were shown, then, greyed, those that were only aimed at."""
    return _chips(tuple(claim.evidence), tuple(claim.aims))


@lru_cache
def _chips(shown: tuple[str, ...], aims: tuple[str, ...]) -> Markup:
    items = [_SHOWN.format(kind) for kind in shown]
    items += [_AIMED.format(kind) for kind in aims if kind not in shown]
    return Markup('<ul class="chips">{}</ul>').format(Markup("").join(items))


@lru_cache
def _badge(colour: str, word: str, size: str = "") -> Markup:
    return _BADGE.format(colour if colour in SIGNS else "not-run", size, sign(colour), word)
