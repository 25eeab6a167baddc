"""Theorem 3.5: a model with q blocks whose output is the polynomial Q.

Paper                        Here                        Meaning
t_i = xi_i . x               row 0 of token i            |t_i| <= B, since ||xi_i|| = 1, ||x|| <= B
-t_i, t_i^2, ..., -+t_i^q    slots 1, ..., q             stored by blocks 1, ..., q
M for the i-th block         lifts[i-1] = 2 M^2          lifts the diagonal of the scores
beta_{k,s}                   readout(beta)               the entry of beta for slot s of token k

The proof, in its own order:
1. Lemma 3.3 gives F = [xi_1, ..., xi_n]^T and beta_{k,s}.
2. Block i multiplies t by y, which is what slot i-1 holds (block 1: the constant 1), and puts the
   negative product into slot i (Lemma 3.1, positions adjusted). By induction slot s holds
   (-1)^s t^s: -t (-1)^(s-1) t^(s-1). Steps 1, 3, 4 of Lemma 3.1 hold for any y, and step 2 needs
   that each token keeps itself, G = 2 M^2 >= t_k (y_j - y_k) for all tokens k, j. In block i
       i = 1:       y_j - y_k = 0;
       i even:      y = -t^(i-1), so t_k (y_j - y_k) = t_k^i - t_k t_j^(i-1) <= 2 B^i;
       i odd, > 1:  y = t^(i-1) >= 0, so it is t_k t_j^(i-1) - t_k^i, at most B^i - t_k^i if t_k > 0
                    and at most |t_k|^i if t_k < 0: at most B^i.
   These are attained: by t_k = B, t_j = -B, and by t_k = -B, t_j = 0. So M^2 = B^i, here
   `repaired`, is enough for every i and B.
3. beta reads slot s of token k with weight (-1)^s beta_{k,s}; b = Q(0). Then C^q = Q.
4. F has n_q d entries, beta n_q q, b one, a block 2 n_q + 8: n_q (d + q) + 1 free parameters and
   n_q d + 3q n_q + 8q + 1 non-zero entries at most, and n_q <= d^q.

Where this departs from the printed proof:
- There the sign (-1)^s of beta is missing.
- There M = B for i <= 2 and M = B^(i-1) for i >= 3, so G = 2 B^(2i-2), too small for q = 3 if
  B < 1/2 and for q >= 4 if B < 1. M = max(B, B^(i-1)), above both factors as Lemma 3.1 asks,
  mends it. M^2 = B^i is far smaller for B > 1: in floating point that is what counts (tower.py).
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from repro.fang2022 import ridge
from repro.fang2022.model import Array, Block, Layout, Transformer
from repro.fang2022.multiplication import product_block
from repro.fang2022.polynomials import Polynomial
from repro.numerics.exact import rational, rationals

Lifts = Callable[[int, Any], list[Any]]


def printed(q: int, B: Any) -> list[Any]:
    """2 M^2 for the blocks 1, ..., q as the proof has it: M = B, B, B^2, ..., B^(q-1)."""
    return [2 * B ** (2 * max(1, i - 1)) for i in range(1, q + 1)]


def repaired(q: int, B: Any) -> list[Any]:
    """2 M^2 with M^2 = B^i."""
    return [2 * B**i for i in range(1, q + 1)]


def roomy(q: int, B: Any) -> list[Any]:
    """2 M^2 with M^2 = 9/8 B^i: for floating point, where at |t| = B rounding would break ties."""
    return [B**i / 4 * 9 for i in range(1, q + 1)]  # 9 B^i might overflow


def least(q: int, B: Any) -> list[Any]:
    """The smallest lifts with which every token keeps itself, for all |t| <= B."""
    return [0, *((1 + (i + 1) % 2) * B**i for i in range(2, q + 1))]


def power_blocks(n: int, q: int, lifts: Sequence[Any]) -> tuple[Block, ...]:
    """One block for each lift; the i-th adds (-1)^i t^i to slot i."""
    return tuple(power_block(Layout(n, q), i, G) for i, G in enumerate(lifts, 1))


def power_block(rows: Layout, i: int, G: Any) -> Block:
    return product_block(rows, 0, rows.one if i == 1 else rows.slot(i - 1), rows.slot(i), G)


def tokens_after(blocks: Iterable[Block], rows: Layout, t: Array, **branch: Any) -> Array:
    """Z after these blocks, for t (..., n) in the first row."""
    Z = rows.tokens(t)
    for block in blocks:
        Z = block(Z, **branch)
    return Z


def tokens_after_sparse(rows: Layout, t: Array, lifts: Sequence[Any], progress: Any) -> Array:
    """The same with power blocks for many tokens: one at a time, without the zeros in it."""
    Z = rows.tokens(t)
    for i, G in enumerate(lifts, 1):
        progress(i - 1, len(lifts))
        weights = power_block(rows, i, G).to(t.dtype, t.device).weights().values()
        Z = Block(*(w.to_sparse() if w.ndim == 2 else w for w in weights))(Z)
    return Z


def wrong_pairs(q: int, B: Any, lifts: Lifts, half: int) -> int:
    """Pairs (t_1, t_2) of multiples of B/half, |t| <= B, for which a slot is not (-1)^s t^s."""
    steps = [k * B / half for k in range(-half, half + 1)]
    t, rows = rationals(list(itertools.product(steps, steps))), Layout(2, q)
    Z = tokens_after(power_blocks(2, q, lifts(q, B)), rows, t)
    powers = np.stack([(-1) ** s * t**s for s in range(1, q + 1)], axis=-2)
    return int((Z[:, rows.slot(1) : rows.one] != powers).any(axis=(-2, -1)).sum())


def stored(t: Array, lifts: Sequence[Any]) -> Array:
    """What the slots 1, ..., q of all tokens hold after the blocks with these lifts; (q, ..., n).

    Slot i receives G - max over j of alpha_ij, right or wrong, and t_i y_j is largest where y_j is
    largest, or smallest if t_i < 0. So no matrix is formed.
    """
    slots = [0 * t + 1]
    for G in lifts:
        y = slots[-1]
        extreme = np.where(t > 0, y.max(-1, keepdims=True), y.min(-1, keepdims=True))
        slots.append(G - np.maximum(t * extreme, t * y + G))
    return np.stack(slots[1:])


def construction(
    Q: Polynomial,
    B: Any,
    *,
    q: int | None = None,
    directions: Array = None,
    lifts: Lifts = repaired,
) -> Transformer:
    """The model of the theorem, in exact numbers: C^q = Q for all ||x|| <= B.

    Without `directions` those of ridge.py are taken; others must be unit vectors that serve.

    >>> from repro.fang2022.polynomials import Polynomial
    >>> from repro.fang2022.powers import construction
    >>> from repro.numerics.exact import rationals
    >>> model = construction(Polynomial(2, {(2, 0): 1, (1, 1): 3}), B=2)  # x^2 + 3 x y
    >>> model(rationals([["1/3", "1/7"]]))
    array([16/63], dtype=object)
    """
    q = max(1, Q.degree) if q is None else q
    if isinstance(B, float) and not math.isfinite(B):
        raise ValueError(f"Theorem 3.5 needs a finite B > 0, got B={B}")
    B = rational(B)
    if type(q) is not int or q < 1 or B <= 0:
        raise ValueError(f"Theorem 3.5 needs B > 0 and q >= 1, got B={B}, q={q}")
    if directions is None:
        F, beta = ridge.directions(Q.d, q), ridge.coefficients(Q, q)
    else:
        for k, square in enumerate((directions * directions).sum(1), 1):
            if square != 1:
                raise ValueError(f"Lemma 3.3 needs ||xi_k|| = 1, got ||xi_{k}||^2 = {square}")
        F, beta = directions, ridge.solve(Q, directions, q)
    blocks = power_blocks(len(F), q, lifts(q, B))
    return Transformer(F, blocks, readout(beta), Q.at_zero())


def slots_of(model: Transformer) -> Array:
    """The entries of beta that meet a stored power; (n, q)."""
    rows = model.layout
    return model.beta.reshape(rows.n, rows.size)[:, rows.slot(1) : rows.one]


def readout(beta: Array) -> Array:
    """beta_{k,s} (n, q) in their places in beta of Section 2.2 (n (n+q+2),), with (-1)^s."""
    n, q = beta.shape
    signs = [(-1) ** s for s in range(1, q + 1)]
    return Layout(n, q).readout(slice(n + 1, n + q + 1), beta * signs)
