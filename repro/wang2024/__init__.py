"""Wang, E: Understanding the Expressive Power and Mechanisms of Transformer for Sequence Modeling.

Section 3.2           model.py
Equation (15), B.1    rounding.py
Section 6, D.1        essential.py (Theorem 6.1), kernels.py (its targets), recurrent.py (RNNs)
Lemmas E.1 to E.3     exponentials.py
Lemmas E.4 to E.6     powers.py
Both, as heads        heads.py; the constants of the proofs: printed_bounds.py
Section F.1, Table 1  t5.py
Lemma F.5             jackson.py (Lemma F.6: repro/numerics/barron.py)
Findings of our own   necessity.py
"""

from typing import TYPE_CHECKING

from repro.lazy import submodules

if TYPE_CHECKING:
    from repro.wang2024 import (
        essential,
        exponentials,
        heads,
        jackson,
        kernels,
        model,
        necessity,
        pictures,
        powers,
        printed_bounds,
        recurrent,
        rounding,
        t5,
    )

__all__ = [
    "essential",
    "exponentials",
    "heads",
    "jackson",
    "kernels",
    "model",
    "necessity",
    "pictures",
    "powers",
    "printed_bounds",
    "recurrent",
    "rounding",
    "t5",
]
__getattr__ = submodules(__name__, *__all__)
