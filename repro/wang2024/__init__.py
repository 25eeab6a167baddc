"""Wang, E: Understanding the Expressive Power and Mechanisms of Transformer for Sequence Modeling.

Section 3.2           model.py
Equation (15), B.1    rounding.py
Sections 4.1, 5.1     targets.py, tables.py (every finite function), chains.py (nested), circle.py
Section 4, A.1        fixed.py (Theorem 4.1), fixed_heads.py
Section 5, B, C       adaptive.py (Theorems 5.1, 5.4, Propositions 5.3, 5.5), moving.py
                      printed_weights.py (C.1), pointer.py (Proposition 5.2)
Appendix C.2          budgets.py: how many heads, and the theorems for every H
What these do         following.py (Theorem 5.1), nested.py (Theorem 5.4); Propositions 5.3, 5.5 and
                      Section 5.3: the claims themselves
Trained               trained_transformer.py (4.1, 5.1, 5.4), trained_parts.py (E.1, F.6, 6.1)
Section 6, D.1        essential.py (Theorem 6.1), recurrent.py (RNNs)
Theorems 4.1, 6.1     width.py (the width of the readout)
Lemmas E.1, E.2       exponentials.py
Lemmas E.4, E.5       powers.py, needle.py (Lemma E.5 with its constants)
Lemmas E.3, E.6       kernels.py
All of E, as heads    heads.py; the constants of the proofs: printed_bounds.py
Section F.1, Table 1  t5.py
Lemma F.5             jackson.py
Definition F.1, F.6   repro/numerics/barron.py
Findings of our own   necessity.py, one_layer.py
"""

from repro.lazy import submodules

__getattr__ = submodules(__name__)
