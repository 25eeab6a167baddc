"""Fang, Ouyang, Zhou, Cheng: Attention Enables Zero Approximation Error (arXiv:2202.12166).

Section 2             model.py
Lemma 3.1             multiplication.py
Lemma 3.3             polynomials.py, ridge.py
Theorem 3.5           powers.py, network.py (polynomial_transformer), tower.py (precision)
Remark 3.6            piecewise.py
Corollary 3.7         approximation.py
Section 5, Tables     experiments.py, fused.py (fast), least_squares.py
Findings of our own   fewer_blocks.py
"""

from repro.lazy import submodules

__getattr__ = submodules(__name__)
