"""How many digits Theorem 3.5's construction keeps in floating point, and which (B, q) it carries.

Let e_i bound the error of slot i, A = B^(i-1) + e_(i-1) what slot i-1 holds at most, G the lift of
block i, as rounded: the same number in W^Q and in b_2, so that its own rounding cancels. Block i
computes
    p = fl(t y),  a = fl(p + G),  fl(G - a),
since all other terms of its sums are 0 and 2a, a - 2a are exact. With |t| <= B and P = (1+u) B A,
    e_i <= B e_(i-1) + u B A + u (P + G) + u R + E.
R = 0 if P <= G/2 (then G - a is exact, by Sterbenz), and else R = P + u (P + G).
E is what another token may add when it wins. m-hat keeps the largest score, so E is at most
W + 2u (P + G) - G, if that is positive, where W bounds t_i (y_j - y_i): 0 in block 1 (all y are 1),
2P for even i, and P + B e_(i-1) for odd i, since even powers are not negative.
Block 1 starts from the constant 1: e_0 = 0.

For the printed M = B^(i-1) and B > 1 the last lift, 2 B^(2q-2), dominates: e_q / B^q is about
2 u B^(q-2), a loss of (q-2) log10 B digits. With M^2 = B^i there is no loss in B, but W is within
rounding of G: E triples e in every other block. An eighth more, `powers.roomy`, makes E = R = 0,
and e_q / B^q about 4.25 q u.
"""

import itertools
import math
from typing import Any

import flint
import numpy as np
import torch

from repro.fang2022 import powers
from repro.fang2022.model import Array, Layout, Transformer, keep_own
from repro.fang2022.polynomials import Polynomial, exponents
from repro.numerics import roundoff
from repro.numerics.exact import rational, rationals, to_float, vector

CARRIED = 1e-2  # relative error of t^q up to which a type "carries" (B, q)


def error_bound(dtype: torch.dtype | str, B: Any, q: int, lifts: powers.Lifts) -> float:
    """e_q / B^q: the largest error of the stored t^q, relative to the largest t^q."""
    u, exact = rational(roundoff.unit(dtype)), rational(B)  # in float64 1 + u would be 1
    e, power = 0, 1
    for i, G in enumerate(map(rational, lifts(q, exact)), 1):
        A = power + e
        P = (1 + u) * exact * A
        R = 0 if 2 * P <= G else P + u * (P + G)
        W = P + exact * e if i % 2 else 2 * P
        E = max(0, W + 2 * u * (P + G) - G) if i > 1 else 0
        e = exact * e + u * (exact * A + P + G + R) + E
        power *= exact
    try:
        size, off = float(B) ** q, float(to_float(e))
    except OverflowError:
        return math.inf
    return float(to_float(e / power)) if size > 0 and math.isfinite(off) else math.inf


def roomy_bound(dtype: torch.dtype | str, q: int) -> float:
    """e_q / B^q with the roomy lifts, the same for every B: about 4.25 q u.

    R = E = 0, so e_i / B^i is (1 + u)^2 e_(i-1) / B^(i-1) + u (17/4 + u): a geometric sum, as
    (1 + u)^2 - 1 = u (2 + u). It stays so while e <= B^q / 10, as 2 (1 + u)^2 1.1 < 9/4 (1 - 2u).
    """
    u = roundoff.unit(dtype)
    e = math.expm1(2 * q * math.log1p(u)) * (17 / 4 + u) / (2 + u)
    return e if e <= 0.1 else math.inf


def error_floor(t: torch.Tensor, q: int, G: float) -> float:
    """How far slot q must be off for one of these tokens, whatever the rounding, if |t^q| <= G/2.

    Then a >= G/2 for the last lift G: a and G are multiples of half the spacing at G, and so is
    what is stored; t^q is not. The largest such distance is near to a quarter of the spacing.
    """
    powers_of_t = rationals(t.double().cpu().numpy()).ravel() ** q
    return roundoff.least_error(powers_of_t, roundoff.spacing(float(G), t.dtype) / 2)


def output_bound(model: Transformer, B: Any, dtype: torch.dtype | str) -> float:
    """|C in floating point - C| on ||x|| <= B, for an exact model of Theorem 3.5, roomy lifts.

    Let N = nq be the number of beta_{k,s} and g_j = j u / (1 - j u).
    1. t = xi . x is exact for d = 1 (xi = 1), and else off by g_(d+1) B: xi is rounded, and d
       products are summed. This changes t^s by at most s g_(d+1) B^s (1 + g_(d+1))^s.
    2. Slot s holds t^s up to e_s (`roomy_bound`).
    3. beta_{k,s} is rounded, multiplied, and added up with N others, in any order: g_(N+2) times
       the sum of all |beta_{k,s}| |slot| and |b|.
    The last factor pays for |t| <= (1 + g) B in step 2, and for the rounding of these sums.
    """
    (n, d), rows, u = model.F.shape, model.layout, roundoff.unit(dtype)
    sizes = np.abs(to_float(powers.slots_of(model))).sum(axis=0)
    shift, summing = (j * u / (1 - j * u) for j in ((d + 1) * (d > 1), n * rows.q + 2))
    off = held = 0.0
    for s in range(1, rows.q + 1):
        stored = roomy_bound(dtype, s) + s * shift * (1 + shift) ** s
        size = sizes[s - 1] * float(B) ** s
        off, held = off + size * stored, held + size * (1 + stored)
    return (off + summing * (held + abs(float(to_float(model.b))))) * (1 + 2**-10)


def measured(t: torch.Tensor, B: float, q: int, lifts: powers.Lifts) -> tuple[float, int]:
    """The largest error of slot q over B^q for tokens t (N, n) in their type, and tokens that lost.

    The power that it is compared with has q roundings of float64 itself: q 2^-53 of B^q.
    """
    rows, lost = Layout(t.shape[-1], q), 0
    Z = rows.tokens(t)
    for exact in powers.power_blocks(rows.n, q, lifts(q, B)):
        block = exact.to(t.dtype, t.device)
        alpha = block.scores(Z)
        lost += int((alpha.amax(-1) > alpha.diagonal(dim1=-2, dim2=-1)).sum())
        Z = block(Z)
    power = (-t.double()) ** q
    error = (Z[..., rows.slot(q), :].double() - power).abs().max().item() / B**q
    return (error if math.isfinite(error) else math.inf), lost


def enclosure(bits: int = 200) -> tuple[float, bool]:
    """C - Q in balls, for irrational directions and x: the widest |C - Q|, and whether 0 is in all.

    xi_k = (cos, sin)(k pi/4), k = 0, ..., 3, and beta solved in balls; q = 3, B = 2.
    """
    n, q = 4, 3
    Q = Polynomial(2, {(3, 0): 1, (1, 2): -2, (1, 1): 3, (0, 1): 5, (0, 0): 7})
    with flint.ctx.workprec(bits):
        angles = [flint.arb(k) / n for k in range(n)]
        xi = np.array([[a.cos_pi(), a.sin_pi()] for a in angles], dtype=object)
        beta = np.full((n, q), flint.arb(0), dtype=object)
        for s in range(1, q + 1):
            few, terms = xi[: s + 1], list(exponents(2, s))
            left = [[u**a * v**b * math.comb(s, a) for u, v in few] for a, b in terms]
            right = [[flint.arb(Q.coefficients.get(a, 0))] for a in terms]
            beta[: s + 1, s - 1] = flint.arb_mat(left).solve(flint.arb_mat(right)).entries()
        blocks = powers.power_blocks(n, q, powers.repaired(q, flint.arb(2)))
        model = Transformer(xi, blocks, powers.readout(beta), flint.arb(7))
        first = vector([flint.arb(2).sqrt(), flint.arb.pi() / 3])
        second = vector([flint.arb.const_e() / -2, flint.arb(1) / 3])
        off = [model(x, attend=_certain) - Q(x) for x in (first, second)]
        return max(float(abs(d).upper()) for d in off), all(d.contains(0) for d in off)


def _certain(alpha: Array) -> Array:
    """m-hat, when every token is certain to keep itself; balls that overlap are an error."""
    if not all(alpha[i, i] > alpha[i, j] for i, j in itertools.permutations(range(len(alpha)), 2)):
        raise ArithmeticError("a winner is not certain at this precision")
    return keep_own(alpha)


def largest_bound(dtype: torch.dtype | str, q: int) -> float:
    """The largest B that the type carries with the printed M, by the leading term 2 u B^(q-2)."""
    return (CARRIED / (2 * roundoff.unit(dtype))) ** (1 / (q - 2))


def bounds_without_overflow(dtype: torch.dtype, q: int) -> tuple[float, float]:
    """The B between which all numbers of block q are normal ones, with roomy lifts.

    The smallest is B^q, the largest is 2a <= 2 (1 + 9/4) B^q in the ReLU layer.
    """
    kind = torch.finfo(dtype)
    return kind.tiny ** (1 / q), (kind.max / 6.5) ** (1 / q)


def require(dtype: torch.dtype, B: Any, q: int) -> None:
    """Refuse a model whose rounding errors would swallow t^q, or whose numbers leave the range."""
    name, B = str(dtype).removeprefix("torch."), float(B)
    low, high = bounds_without_overflow(dtype, q)
    refused = f"{name} does not carry Theorem 3.5 at B={B:g}, q={q}"
    if not low <= B <= high:
        needed = f"it needs {low:.2g} <= B <= {high:.2g}, or a wider type"
        raise ValueError(f"{refused}: B^q leaves its range; {needed}")
    if (bound := roomy_bound(dtype, q)) > CARRIED:
        known = f"t^q would be known to {bound:.1g} of B^q where {CARRIED:g} is needed"
        raise ValueError(f"{refused}: {known}; take a wider type")
