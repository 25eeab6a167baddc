"""Theorems 5.1, 5.4 and Proposition 5.5 for every n, H, K and T_i: what if heads are missing?

A memory at distance T is fetched with any accuracy by T + 1 heads (lin) or 1 + |F_T| heads (log),
|F_T| <= T(T-1)/2 (moving.py), so that also Lip(g) e <= 1/4. With fewer heads leave its block 0,
which costs at most |x| <= 1. Let a_k = e^{0.01 T_k} (lin) or T_k^1.01 (log).

Theorem 5.1, lin: C(n) = c = max_T (T+1)^n e^{-0.01 (n+1) T} for all H, M, T_k (`head_counts`). If
H < sum_k (T_k + 1), serve memories by increasing T_k while heads last, and let the other p blocks
be 0, which costs |f|_Lip sqrt(p). With y_k = T_k + 1 <= c^{1/n} a_k^{(n+1)/n}, and j the first
memory not served,
    c (sum_k a_k)^{n+1} / H^n >= (sum_k y_k^{n/(n+1)})^{n+1} / H^n
                              >= (sum_{k<j} y_k + p y_j)^{n+1} / (y_j H^n) >= p,
since y_k^{n/(n+1)} >= y_k y_j^{-1/(n+1)} for k <= j and sum_{k<=j} y_k > H.

Theorem 5.4. A memory that is missing spoils those that depend on it: leave all M blocks 0. That
costs |f|_Lip sqrt(M), and c sqrt(M) (lin), C(1) = sqrt(M) (log, n = 1) make the bound as large.

Proposition 5.5. A memory that is missing spoils no other: p of them cost |f|_Lip sqrt(p), and the
constants need no factor sqrt(M).
"""

import functools
import itertools
from collections.abc import Iterable, Sequence

import flint
import numpy as np

from repro.numerics.exact import vector
from repro.wang2024 import adaptive, depth, moving

BITS = 256
REACHES = [4, 60, 1000]  # of a random case


def head_counts(n: int, H: int, distances: Sequence[int]) -> list[flint.arb]:
    """The chain of inequalities above, from the printed bound to p; empty if all are served."""
    y = sorted(T + 1 for T in distances)
    served = sum(total <= H for total in itertools.accumulate(y))
    p = len(y) - served
    if p == 0:
        return []
    with flint.ctx.workprec(BITS):
        bound = constant_lin(n) * depth.extraction("lin", [distances], H, n)
        powers = (flint.arb(v) ** flint.arb(flint.fmpq(n, n + 1)) for v in y)
        second = sum(powers, flint.arb(0)) ** (n + 1) / flint.arb(H) ** n
        third = flint.fmpq((sum(y[:served]) + p * y[served]) ** (n + 1), y[served] * H**n)
        return [bound, second, flint.arb(third), flint.arb(p)]


def unproved(case: tuple[int, int, Sequence[int]]) -> int:
    """(n, H, T): how many inequalities of `head_counts` are not proved; equality up to 2^-100."""
    with flint.ctx.workprec(BITS):
        room = 1 + flint.fmpq(1, 2**100)
        return sum(not a * room >= b for a, b in itertools.pairwise(head_counts(*case)))


def heads_promised(T: int) -> int:
    """From how many heads on the theorem, with this C(n), says less than 1 of one memory; lin."""
    for H in itertools.count(1):
        if any(constant_lin(n) * depth.extraction("lin", [[T]], H, n) < 1 for n in range(1, 9)):
            return H
    raise AssertionError  # the bound tends to 0 as H grows


def constant_ratio(n: int, last: int) -> flint.arb:
    """`constant_lin` over the largest of its terms with T < last, all of them computed."""
    with flint.ctx.workprec(BITS):
        return constant_lin(n) / adaptive.largest(_terms(n, range(1, last)))


@functools.cache
def constant_lin(n: int) -> flint.arb:
    """max over T >= 1 of (T + 1)^n e^{-0.01 (n+1) T}; the maximum is near T + 1 = 100 n / (n+1)."""
    top = 100 * n // (n + 1) - 1
    with flint.ctx.workprec(BITS):
        return adaptive.largest(_terms(n, (top, top + 1)))


def _terms(n: int, Ts: Iterable[int]) -> np.ndarray:
    return vector([flint.arb(T + 1) ** n * (flint.arb(-(n + 1) * T) / 100).exp() for T in Ts])


def most_heads(rpe: str, T: int) -> int:
    """Enough for any accuracy: T + 1 (lin), 1 + T(T-1)/2 (log)."""
    return T + 1 if rpe == "lin" else 1 + T * (T - 1) // 2


def above_most(last: int) -> int:
    """How many T <= last need more than `most_heads` for log: none, as |F_T| <= T(T-1)/2."""
    return sum(moving.heads_needed("log", T) > most_heads("log", T) for T in range(1, last + 1))


def cases(rpe: str, nested: bool, count: int, rng: np.random.Generator) -> tuple[int, int]:
    """Random cases that lack heads; and how many of them have a bound below what that costs.

    Theorem 5.4, with both sides divided by sqrt(M), or Proposition 5.5. H is around the number of
    heads that is needed, and below; log: n = 1.
    """
    wrong = lacking = 0
    for _ in range(count):
        M = int(rng.integers(1, 7))
        K, n = int(rng.integers(0, M + 1)) if nested else M, int(rng.integers(1, 6))
        T = rng.integers(1, rng.choice(REACHES), size=M).tolist()
        H = int(rng.integers(1, 1 + sum(T) + M if nested else 2 + max(T)))
        layers = [*([t] for t in T[:K]), T[K:]]
        lacks = sum(sum(most_heads(rpe, t) for t in layer) > H for layer in layers)
        if lacks:
            n, C = (n, constant_lin(n)) if rpe == "lin" else (1, 1)
            bound = C * depth.extraction(rpe, layers, H, n)
            lacking += 1
            wrong += not bound**2 >= (1 if nested else lacks)
    return lacking, wrong
