"""Theorem 5.4 and Proposition 5.5 for every n, H, K and T_i: what happens if heads are missing.

A memory at distance T is fetched with any accuracy by T + 1 heads (lin) or 1 + |F_T| heads (log),
|F_T| <= T(T-1)/2 (moving.py). With fewer heads leave its block 0, which costs at most |x| <= 1. Let
a_l = e^{0.01 T_l} (lin) or T_l^1.01 (log).

Theorem 5.4. A memory that is missing spoils those that depend on it: leave all M blocks 0. That
costs |f|_Lip sqrt(M), and C(n) = sqrt(M) max_T (T+1)^n e^{-0.01(n+1)T} (lin), C(1) = sqrt(M) (log,
n = 1) makes the bound as large. If no stage lacks heads the error is as small as one likes.

Proposition 5.5. A memory that is missing spoils no other: p of them cost |f|_Lip sqrt(p), and the
constants need no factor sqrt(M).
"""

import numpy as np

from repro.wang2024 import adaptive, depth, moving

REACHES = [4, 60, 1000]  # of a random case


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
            n, C = (n, adaptive.constant_lin(n)) if rpe == "lin" else (1, 1)
            bound = C * depth.extraction(rpe, layers, H, n)
            lacking += 1
            wrong += not bound**2 >= (1 if nested else lacks)
    return lacking, wrong
