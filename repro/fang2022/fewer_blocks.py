"""Fewer blocks than the degree, and simpler ones: findings of our own, with their proofs.

One score, many products (`products_block`). The query reads row g and adds a constant h, the key
reads row k, and the positions take c away from every other token:
    alpha_ij = (g_i + h) k_j - c [i != j].
Below their first rows W^Q has c e_i and W^K has e_j - (1, ..., 1): <c e_i, e_j - (1, ..., 1)> is -c
off the diagonal, and on it 0, without rounding. If the diagonal wins, token i receives
alpha_ii W^V z_i: alpha_ii times every row that W^V moves (the printed one moves the constant only).
W_1 = W_2 = 0, b_1 = b_2 = 0. Non-zeros: 3n + 2, one if h != 0, one for each row moved.
The diagonal wins, strictly, if k = g, |g_j| <= G and c > (G + |h|)^2 / 4, for ab <= (a + b)^2 / 4:
    alpha_ij - alpha_ii = (g_i + h)(g_j - g_i) - c <= (g_j + h)^2 / 4 - c < 0.
Here c = (G + |h|)^2. (Less than a quarter of it fails: for h = 0, at g_j = G, g_i = G/2.)

Theorem A (`doubling_blocks`). For all n, q, B, floor(log2 q) = ceil(log2(q+1)) - 1 fixed blocks
store t_i, ..., t_i^q in every token, if |t_i| <= B.
Proof. Rows `one` and 0 hold t^0, t^1. If the powers below 2p are held, the block with g = t^p has
alpha_ii = t_i^(2p) and moves t^r to t^(2p+r), r < 2p: then those below 4p are held. After L blocks,
p = 1, 2, ..., 2^(L-1), these are t^0, ..., t^(2^(L+1) - 1). The blocks have (3n+2) L + q - 1
non-zeros, the printed ones (2n+8) q. With Lemma 3.3, beta_{k,s} read from t_k^s gives every Q.

Theorem B. For n = 1 (d = 1, where n_q = 1) no fewer do: if l fixed blocks produce every monomial of
degree at most q, F, beta and b being free, then q + 1 <= 2^(l+1).
Proof. On (0, delta), delta small, everything stored is a polynomial in t = xi x, and each ReLU unit
is always on or always off: by induction over the blocks, for a polynomial has finitely many zeros.
m-hat of one score is that score. Let S_k be spanned there by 1 and the rows after k blocks. As
z-hat = z + alpha_k W^V z and the ReLU layer is affine there, S_(k+1) is within S_k + alpha_k S_k:
dim S_(k+1) <= 2 dim S_k, and S_0 = span(1, t). If beta . z + b = x^s for |x| <= B, then s = 0 or
xi != 0, and t^s = xi^s x^s is in S_l (on a shorter interval, so on all of it, being polynomials).
So 1, t, ..., t^q are in S_l, whose dimension is at most 2^(l+1).
A W^V of rank one, as printed, gives S_(k+1) within S_k + span(alpha_k v . z): one dimension for a
block. Then q + 1 <= l + 2: q - 1 blocks are needed. They suffice, as t needs no block: the first of
the q printed blocks, t times 1, can go.

Theorem C. Let n be free. Every model of l blocks, fixed or trained, for any n, d, that equals a
polynomial of degree q on a ball has 3^l >= q; and ceil(log3 q) fixed blocks serve all such Q.
Proof, at least. On a line through 0 on which Q has degree q, near 0 as in Theorem B (of finitely
many polynomials one is the largest on (0, delta)), all stored entries are polynomials. If their
degree is at most D, that of a score is at most 2D, and that of alpha W^V z at most 3D; D = 1 first.
Proof, at most (`tripling_blocks`). Let h = 1 and let the k-th block read g = G_k, where G_1 = t:
    alpha = G_k (G_k + 1), and G_(k+1) = alpha G_k = G_k^3 + G_k^2.
All coefficients are >= 0, and those of G_(k+1) are positive from t^(2^k) to t^(3^k): the exponents
of G_k^3 are 3 2^(k-1), ..., 3^k and those of G_k^2 are 2^k, ..., 2 3^(k-1), without a gap between,
as 3 2^(k-1) <= 2 3^(k-1) + 1. Section 2.1 allows ||xi_i|| <= 1: give a direction xi several tokens,
r xi for distinct r != 0 in [-1, 1]. A combination of the G_(k+1)(r t) = sum_s a_s r^s t^s singles
out any of these t^s, by Vandermonde; and [2^k, 3^k], k = 0, ..., l, cover 1, ..., 3^l, since
2^(k+1) <= 3^k + 1. So 3^l - 2^l + 1 tokens a direction do. If each block moves all that is held, as
here, 1, 2, 3, 4 do for l = 1, 2, 3, 4 (exact ranks, `lengths`).
Between A and C, for d >= 2 and the n_q tokens of the paper, the least number is open.

Rounding. On the diagonal nothing is added to the products: alpha_ii = fl(t^p t^p) is one product,
and fl(alpha_ii t^r) is put into an empty slot. By induction the stored t^s is t^s times s - 1
factors 1 + delta, |delta| <= u: (p - 1) + (p - 1) + 1 of them for alpha_ii, and (r - 1) + 1 more
for t^(2p+r), r >= 1. So its relative error is at most (1 + u)^(s-1) - 1 (`roundoff_bound`), about
(s - 1) u, for every t and B, unless a number under- or overflows. The right token still wins if
(2p + 4) u < 3/4: the margin is 3/4 c, and rounding moves the scores by less than (2p + 4) u c:
by u c for each of two products, u c for c itself, 2 u c for the sum, (2p - 2) u c for the powers.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import flint
import numpy as np
import torch

from repro.fang2022 import powers, ridge
from repro.fang2022.model import Array, Block, Layout, Transformer, keep_own, only_unit
from repro.fang2022.multiplication import identity, product_block
from repro.fang2022.polynomials import Polynomial
from repro.numerics import roundoff
from repro.numerics.exact import rational, rational_zeros, rationals, vector


def products_block(
    rows: Layout, query: int, key: int, moves: Iterable[tuple[int, int]], c: Any, h: Any = 0
) -> Block:
    """Adds alpha_ii times row `source` to row `target` for all moves (source, target)."""
    block = identity(rows)
    block.W_Q[0, query] = block.W_K[0, key] = 1
    block.W_Q[0, rows.one] += h
    for i in range(1, rows.n + 1):
        block.W_Q[i, i] = c
        block.W_K[i, i] = 1
        block.W_K[i, rows.one] = -1
    for source, target in moves:
        block.W_V[target, source] = 1
    return block


def power_rows(rows: Layout, first: int = 2) -> list[int]:
    """The rows of t^0, t^1, ..., t^q: the last, the first, and the slots from the second on."""
    return [rows.one, 0, *(rows.slot(s) for s in range(first, rows.q + 1))]


def doubling_blocks(n: int, q: int, B: Any) -> tuple[Block, ...]:
    """Theorem A: floor(log2 q) blocks that store t^2, ..., t^q in the slots of every token."""
    rows = Layout(n, q)
    row = power_rows(rows)
    blocks = []
    for p in (2**k for k in range(q.bit_length() - 1)):
        moves = zip(row[: 2 * p], row[2 * p :], strict=False)  # t^r to t^(2p+r)
        blocks.append(products_block(rows, row[p], row[p], moves, B ** (2 * p)))
    return tuple(blocks)


def single_blocks(n: int, q: int, B: Any) -> tuple[Block, ...]:
    """The same with one product in a block, t^s = t t^(s-1), s = 2, ..., q, as in the paper.

    t_i (t_j^(s-1) - t_i^(s-1)) <= B^s, for the first term is at most |t_i| B^(s-1), and not
    positive where the second is: so the scores -2 B^s off the diagonal are enough.
    """
    rows = Layout(n, q)
    steps = enumerate(itertools.pairwise(power_rows(rows)[1:]), 2)
    return tuple(products_block(rows, 0, y, [(rows.one, ty)], 2 * B**s) for s, (y, ty) in steps)


def printed_products(n: int, q: int, B: Any) -> list[Block]:
    """Blocks 2, ..., q of the paper, the second with t t for t (-t), so that the first can go."""
    rows = Layout(n, q)
    steps = enumerate(itertools.pairwise(power_rows(rows)[1:]), 2)
    return [product_block(rows, 0, y, ty, 2 * B**s) for s, (y, ty) in steps]


def doubling_transformer(Q: Polynomial, B: Any) -> Transformer:
    """Theorem A with Lemma 3.3: equal to Q for ||x|| <= B."""
    q = max(1, Q.degree)
    F, beta = ridge.directions(Q.d, q), ridge.coefficients(Q, q)  # (n_q, d), (n_q, q)
    rows, blocks = Layout(len(F), q), doubling_blocks(len(F), q, rational(B))
    return Transformer(F, blocks, rows.readout(power_rows(rows)[1:], beta), Q.at_zero())


def roundoff_bound(q: int, dtype: torch.dtype | str) -> float:
    """Relative error of the stored t^q in floating point, derived above."""
    return math.expm1((q - 1) * math.log1p(roundoff.unit(dtype)))


def held_rows(rows: Layout, l: int) -> list[int]:
    """Where the 2^(l+1) functions held after l tripling blocks stand: 1, t, the slots in order."""
    return power_rows(rows, first=1)[: 2 ** (l + 1)]


def tripling_blocks(rows: Layout, l: int, B: Any) -> tuple[Block, ...]:
    """The blocks of Theorem C. The last row held after k of them, k >= 0, is G_(k+1)."""
    held = held_rows(rows, l)
    blocks, bound = [], B  # |G_k| <= bound
    for k in range(1, l + 1):
        g = held[2**k - 1]
        moves = zip(held[: 2**k], held[2**k :], strict=False)
        blocks.append(products_block(rows, g, g, moves, (bound + 1) ** 2, h=1))
        bound = bound * bound * (bound + 1)
    return tuple(blocks)


def held_functions(l: int) -> list[flint.fmpq_poly]:
    """What `held_rows` hold, as polynomials in t."""
    rows, t = Layout(1, 2 ** (l + 1)), vector([flint.fmpq_poly([0, 1])])
    known = {"attend": keep_own, "activate": only_unit(1)}
    Z = powers.tokens_after(tripling_blocks(rows, l, 1), rows, t, **known)
    return Z[held_rows(rows, l), 0].tolist()


@functools.cache
def lengths(l: int) -> tuple[flint.fmpq, ...]:
    """So many of 1, -1, 1/2, -1/2, ... that the functions held by tokens r t span P_(3^l)."""
    found: list[flint.fmpq] = []
    while dimension(_held_by(found, l)) < 3**l + 1:
        found.append(flint.fmpq((-1) ** len(found), len(found) // 2 + 1))
    return tuple(found)


def _held_by(lengths: Iterable[flint.fmpq], l: int) -> list[flint.fmpq_poly]:
    """What tokens r t hold after l tripling blocks, token after token."""
    return [f(flint.fmpq_poly([0, r])) for r in lengths for f in held_functions(l)]


def tripling_transformer(Q: Polynomial, B: Any) -> Transformer:
    """Theorem C: equal to Q for ||x|| <= B, with ceil(log3 q) fixed blocks."""
    q = max(1, Q.degree)
    l = next(l for l in itertools.count() if 3**l >= q)
    xi, beta = ridge.directions(Q.d, q), ridge.coefficients(Q, q)  # (n_q, d), (n_q, q)
    r, combine = lengths(l), _monomials_from_held(l)  # (C,), (C 2^(l+1), 3^l + 1)
    F = np.concatenate([[length * one for length in r] for one in xi])  # (n_q C, d)
    rows = Layout(len(F), max(1, 2 ** (l + 1) - 2))
    read = beta @ combine[:, 1 : q + 1].T  # (n_q, C 2^(l+1))
    readout = rows.readout(held_rows(rows, l), read.reshape(rows.n, -1))
    return Transformer(F, tripling_blocks(rows, l, rational(B)), readout, Q.at_zero())


@functools.cache
def _monomials_from_held(l: int) -> np.ndarray:
    """Column s: how t^s is combined from what the tokens r t hold, r in lengths(l)."""
    table = coefficients(_held_by(lengths(l), l)).T  # (3^l + 1, C 2^(l+1))
    chosen = ridge.independent(table)
    combine = rational_zeros(table.shape[1], len(chosen))
    combine[chosen] = flint.fmpq_mat(table[:, chosen].tolist()).inv().tolist()
    return combine


def functions(
    blocks: Iterable[Block], slots: int, lengths: Sequence[Any] = (1,)
) -> list[flint.fmpq_poly]:
    """Theorem B: 1 and all entries of the tokens t_i = r_i x after these blocks, near x = 0.

    On (0, delta) a polynomial has the sign of its lowest coefficient that is not 0: this decides
    m-hat and the ReLU, so that the result is exact for any weights.
    """
    rows, t = Layout(len(lengths), slots), vector([flint.fmpq_poly([0, r]) for r in lengths])
    near_zero = {"attend": _largest_near_zero, "activate": _relu_near_zero}
    return [flint.fmpq_poly([1]), *powers.tokens_after(blocks, rows, t, **near_zero).ravel()]


def _positive_near_zero(p: flint.fmpq_poly) -> bool:
    return bool(next((c for c in p.coeffs() if c != 0), 0) > 0)


def _largest_near_zero(alpha: Array) -> Array:
    kept = 0 * alpha
    for i, row in enumerate(alpha):
        best = 0
        for j, score in enumerate(row):
            best = j if _positive_near_zero(score - row[best]) else best
        kept[i, best] = row[best]
    return kept


def _relu_near_zero(a: Array) -> Array:
    on = np.vectorize(_positive_near_zero, otypes=[bool])(a)
    return np.where(on, a, 0 * a)


def dimension(polynomials: Iterable[flint.fmpq_poly]) -> int:
    """Of their span, exactly."""
    return len(ridge.independent(coefficients(list(polynomials))))


def coefficients(polynomials: Sequence[flint.fmpq_poly]) -> np.ndarray:
    """(number, largest degree + 1)"""
    degrees = range(1 + max([0, *(p.degree() for p in polynomials)]))
    return rationals([[p[s] for s in degrees] for p in polynomials]).reshape(-1, len(degrees))


def product_block_without_relu(rows: Layout, x: int, y: int, product: int, G: Any) -> Block:
    """Lemma 3.1's block with W_1 = W_2 = 0 and b_2 = -G: it adds +x_i y_i to the third row.

    The attention layer puts x_i y_i + G there, as in the lemma; b_2 takes G away. 2n + 4 non-zeros.
    """
    block = product_block(rows, x, y, product, G)
    return replace(block, W_1=0 * block.W_1, W_2=0 * block.W_2, b_2=-block.b_2)
