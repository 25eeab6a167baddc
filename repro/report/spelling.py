"""Mathematics as it is typed in a terminal, `|f|_B m^-1/2 <= beta_{k,s}`, with indices and letters.

Names of checks and of counterexamples, and what stands at the top of a claim file, are read in a
terminal first, so they carry no LaTeX. Where they have dollar signs they are set as prose.
"""

import re
from functools import lru_cache

from markupsafe import Markup, escape

from repro.report.mathematics import prose

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "theta": "θ", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "psi": "ψ", "Phi": "Φ", "Psi": "Ψ", "Sigma": "Σ",
}  # fmt: skip
_LETTER = re.compile(rf"(?<![A-Za-z])({'|'.join(_GREEK)})(?![A-Za-z])")
_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "sqrt(": "√("}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_HAT = re.compile(  # nothing follows that could be raised, or arguments do
    r"(?<=[^\W\d_])\^(?=_|[^\w({+−-]|$|\([^()]*,[^()]*\))"
)
_TILDE = re.compile(r"(?<=[^\W\d_])~(?=_|\W|$)")
_BASE = r"((?<!\w)[^\W\d_]{1,4}[\u0302\u0303]?|[|)\]])"
_INDEX = r"[^\W_²³]+|∞"
_IN_BRACKETS = r"\((?:[^()]|\([^()]*\))*\)"
_LOWER = re.compile(_BASE + rf"_(?:\{{([^{{}}]*)\}}|\(([^()]*)\)|({_INDEX}))")
_WORDS = re.compile(r"(?<=[a-z])_(?=[a-z])")  # what is left joins words: state_dict
_CODE = re.compile(r"(`[^`]+`|\btest_\w+|\b[\w/]+\.py\b)")
_NAME = re.compile(r"[a-z]{2,}(?:_[a-z]+){2,}")  # of a Python variable
_POWER = rf"[-−][0-9]+/[0-9]+|[-−]?(?:{_IN_BRACKETS}|[0-9]+\.[0-9]+|{_INDEX})"
_UPPER = re.compile(rf"(?<=\S)\^(?:\{{([^{{}}]*)\}}|({_POWER}))")


@lru_cache(maxsize=8192)
def spelled(text: str) -> Markup:
    if "$" in text:
        return prose(text)
    pieces = _CODE.split(text)  # code at odd places
    return Markup("").join(
        Markup("<code>{}</code>").format(piece.strip("`")) if i % 2 else _spelled(piece)
        for i, piece in enumerate(pieces)
    )


def _spelled(text: str) -> Markup:
    if _NAME.fullmatch(text):
        return Markup(text.replace("_", " "))
    text = _SIGN.sub(lambda found: _SIGNS[found[0]], text)
    text = _TILDE.sub("\u0303", _HAT.sub("\u0302", text))
    text = _LETTER.sub(lambda found: _GREEK[found[1]], text)
    return Markup(_WORDS.sub(" ", _raised(_lowered(str(escape(text))))))


def _lowered(text: str) -> str:
    return _LOWER.sub(lambda f: f"{f[1]}<sub>{_lowered(f[2] or f[3] or f[4] or '')}</sub>", text)


def _raised(text: str) -> str:
    return _UPPER.sub(lambda f: f"<sup>{(f[1] or f[2]).replace('-', '−')}</sup>", text)
