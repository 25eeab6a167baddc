"""Fang, Ouyang, Zhou, Cheng: Attention Enables Zero Approximation Error (arXiv:2202.12166).

Section 2            model.py
Lemma 3.1            multiplication.py
its trained control  without_attention.py
"""

from typing import TYPE_CHECKING

from repro.lazy import submodules

if TYPE_CHECKING:
    from repro.fang2022 import model, multiplication, pictures, without_attention

__all__ = ["model", "multiplication", "pictures", "without_attention"]
__getattr__ = submodules(__name__, *__all__)
