"""How many heads: Appendix C.2, and Theorems 4.1, 5.1, 5.4, Proposition 5.5 for every n, H, T_i.

Paper                 Here                 Meaning
a_k                   cost                 e^{0.01 T_k} (lin) or T_k^1.01 (log), memory k at T_k
H_1, ..., H_M         allocate             integers >= 1 with the sum H
E_Attn(type)          complexity           (E_Attn H^n / C(n))^2, from costs
                      extraction           E_Attn / C(n), from distances
H_need^(2)            complexity([a])      to the power 2n, up to (C(n)/eps)^2
H_need^(M+1)          complexity([[a_1], ..., [a_M]])    the same
m_need                widths               neurons in each layer of a built network

Where the bounds come from. By Lemmas E.2 and E.5, H_k heads leave memory k an error of
C(n) a_k^(n+1) / H_k^n. H heads in one layer that fetches the memories of a set S leave, by Hoelder,
    min { sum_{k in S} a_k^(n+1) / H_k^n : sum_k H_k = H } = (sum_{k in S} a_k)^(n+1) / H^n,
attained at H_k = H a_k / sum a. Different layers write to orthogonal blocks. So
    (E_Attn H^n / C(n))^2 = sum over the layers S of (sum_{k in S} a_k)^(2n+2),
which is Theorem 5.1 for one layer S = {1, ..., M}, Proposition 5.5 for M layers {k}, and Theorem
5.4 in between. Solved for H at E_Attn = eps,
    H^(2n) = (C(n) / eps)^2 sum_S (sum_{k in S} a_k)^(2n+2).
C.2 prints the sum of squares for two layers and the square of the sum for M + 1: exchanged.

The ratio. (H^(M+1) / H^(2))^(2n) = sum a^(2n+2) / (sum a)^(2n+2). With b = a^(n+1) the numerator is
sum b^2, and sum b <= (sum a)^(n+1), with equality for M = 1 only: the printed sum b^2 / (sum b)^2
is larger (b is not defined in print: our reading). No other positive b would do:
sum b^2 / (sum b)^2 >= 1/M by Cauchy and Schwarz, while equal a_k give M^-(2n+1).

Every H. A memory at distance T is fetched with any accuracy by T + 1 heads (lin) or 1 + |F_T|
heads (log), |F_T| <= T(T-1)/2 (moving.py), so that also Lip(g) e <= 1/4. With fewer heads leave its
block 0, which costs at most |x| <= 1. So no block is ever off by more than 1, and the readout is
needed on a box of half-width 2.

Whole numbers of heads. Let a_1, ..., a_M >= 1, and let h >= 1 heads leave memory k an error of at
most C a_k^(n+1) / h^n, no heads an error of 1. With S = sum_k a_k and H_k = floor(H a_k / S) heads
the errors add up to at most max(2^n C, 1) S^(n+1) / H^n (`whole_heads_fault`): let x = H a_k / S.
If x >= 1 then floor(x) > x/2, and the error is at most 2^n C a_k (S/H)^n. If x < 1 then
S/H > a_k >= 1, and the error 1 is at most a_k (S/H)^n. Add up over k.

Theorem 5.1, log: Lemma E.5 is that hypothesis, a_k = T_k^1.01 and C = C(n). So max(2^n C(n), 1)
is a constant for all H, M, T_k.

Theorem 5.1, lin: in the same way by Lemma E.2. A smaller constant for all H, M, T_k is
C(n) = c = max_T (T+1)^n e^{-0.01 (n+1) T} (`steps_to_p`). If H < sum_k (T_k + 1), serve memories by
increasing T_k while heads last, and let the other p blocks be 0, which costs |f|_Lip sqrt(p). With
y_k = T_k + 1 <= c^{1/n} a_k^{(n+1)/n}, and j the first memory not served,
    c (sum_k a_k)^{n+1} / H^n >= (sum_k y_k^{n/(n+1)})^{n+1} / H^n
                              >= (sum_{k<j} y_k + p y_j)^{n+1} / (y_j H^n) >= p,
since y_k^{n/(n+1)} >= y_k y_j^{-1/(n+1)} for k <= j and sum_{k<=j} y_k > H.

Theorem 5.4. A memory that is missing spoils those that depend on it: leave all M blocks 0. That
costs |f|_Lip sqrt(M), and c sqrt(M) (lin), C(1) = sqrt(M) (log, n = 1) make the bound as large.

Proposition 5.5. Each memory has all H heads of its layer, and one that is missing spoils no other.
So E_Attn^2 is the sum of the squares of the least of 1 and the bound of Lemma E.2 or E.5, with
their C(n), every n and H. For few heads the constants above serve as well: p missing memories cost
|f|_Lip sqrt(p), and no factor sqrt(M) is needed (`cases`). For Theorem 4.1 see fixed.py.

Proposition 5.3. The logits are those of Theorem 5.1 once the pointers hold g_k, so the head counts
and errors are too; the pointers are rounded plainly for both types, and the width is that of lin.
"""

import functools
import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from repro.wang2024.exponentials import smallest_constant
from repro.wang2024.heads import exact
from repro.wang2024.model import Transformer

precisely = flint.ctx.workprec(256)
REACHES = [4, 60, 1000]  # of a random case
ROOM = flint.fmpq(2**100 + 1, 2**100)  # in which two balls are taken to be equal


@functools.cache
@precisely
def cost(rpe: str, T: int) -> flint.arb:
    """a_k of a memory at distance T."""
    if rpe == "lin":
        return (flint.arb(T) / 100).exp()
    return flint.arb(T) ** flint.arb(flint.fmpq(101, 100))


@precisely
def complexity(layers: Iterable[Sequence[Any]], n: int) -> Any:
    """sum over the layers of (sum of their costs)^(2n+2)."""
    return sum((_sum(costs) ** (2 * n + 2) for costs in layers), flint.fmpq(0))


@precisely
def extraction(rpe: str, layers: Iterable[Sequence[int]], H: int, n: int) -> flint.arb:
    """E_Attn / C(n) of layers that fetch memories at these distances."""
    costs = [[cost(rpe, T) for T in distances] for distances in layers]
    return flint.arb(complexity(costs, n)).sqrt() / flint.arb(H) ** n


@precisely
def ratio(costs: Sequence[Any], n: int) -> Any:
    """(H_need^(M+1) / H_need^(2))^(2n): heads in each layer."""
    return complexity([[a] for a in costs], n) / complexity([costs], n)


@precisely
def printed_ratio(b: Sequence[Any]) -> Any:
    """sum b^2 / (sum b)^2."""
    return _sum([one * one for one in b]) / _sum(b) ** 2


@precisely
def root(value: Any, n: int) -> flint.arb:
    """value^(1/2n), enclosed: from H^(2n) to H."""
    return flint.arb(exact(value)) ** flint.arb(flint.fmpq(1, 2 * n))


def _sum(values: Iterable[Any]) -> Any:
    return sum(map(exact, values), flint.fmpq(0))


def heads(network: Transformer) -> list[int]:
    """Heads in each layer that works; the first attention of the proofs is idle."""
    return [len(layer.attention.heads) for layer in network.layers[1:]]


def widths(network: Transformer) -> list[int]:
    """Neurons for pointers, in each layer but the last, whose network is the readout."""
    return [layer.feed_forward.c.shape[0] for layer in network.layers[:-1]]


def split_cost(costs: Sequence[Any], shares: Sequence[Any], n: int) -> Any:
    """sum_k costs_k^(n+1) / H_k^n."""
    return sum(c ** (n + 1) / h**n for c, h in zip(costs, shares, strict=True))


def allocate(H: int, costs: Sequence[float], n: int) -> list[int]:
    """H_1, ..., H_M >= 1 with the sum H that make `split_cost` least.

    One head after the other goes to the memory that gains most by it: each term is convex in H_k.
    """
    shares = [1] * len(costs)
    for _ in range(H - len(costs)):
        gains = [c ** (n + 1) * (h**-n - (h + 1) ** -n) for c, h in zip(costs, shares, strict=True)]
        shares[int(np.argmax(gains))] += 1
    return shares


def allocation_is_best(H: int, costs: Sequence[Any], n: int) -> bool:
    """Whether no other integers cost less than `allocate`; all of them are tried."""
    splits = (s for s in itertools.product(range(1, H + 1), repeat=len(costs)) if sum(s) == H)
    least = min(split_cost(costs, split, n) for split in splits)
    return split_cost(costs, allocate(H, [*map(float, costs)], n), n) == least


def allocation_faults(case: tuple[Sequence[int], int, int]) -> int:
    """(costs, H - M, n): in how many ways `allocate` is not what is said of it.

    H_k = ceil(c_k (H - M) / sum c) is admitted, so that the least cost over the integers is at most
    (H / (H - M))^n times the printed minimum over the reals, (sum c)^(n+1) / H^n.
    """
    costs, n, M = [Fraction(c) for c in case[0]], case[2], len(case[0])
    H, total = M + case[1], sum(costs)
    shares = allocate(H, [float(c) for c in costs], n)
    real = split_cost(costs, [H * c / total for c in costs], n)
    faults = [
        sum(shares) != H,
        not allocation_is_best(H, costs, n),
        split_cost(costs, shares, n) > real * Fraction(H, H - M) ** n,
        real != total ** (n + 1) / Fraction(H) ** n,
    ]
    return sum(faults)


def whole_heads_fault(case: tuple[int, int, Any, Sequence[Any]]) -> int:
    """(n, H, C, costs): whether H_k = floor(H a_k / S) cost more than max(2^n C, 1) S^(n+1) / H^n.

    C and the costs are rational, the costs at least 1.
    """
    n, H, C, costs = case
    S = sum(costs)
    shares = [int(H * a / S) for a in costs]
    errors = [C * a ** (n + 1) / h**n if h else 1 for a, h in zip(costs, shares, strict=True)]
    bound = max(2**n * C, 1) * S ** (n + 1) / Fraction(H) ** n
    return int(sum(shares) > H or sum(errors) > bound)


# --- every n and every H --------------------------------------------------------------------------


def fixed_bound(rpe: str, distances: Sequence[int], H: int, n: int) -> flint.arb:
    """E_Attn of Theorem 4.1: C(n) (sum a)^(n+1) / H^n, with the C(n) of Lemma E.1; log: 1."""
    return (smallest_constant(n) if rpe == "lin" else 1) * extraction(rpe, [distances], H, n)


@precisely
def fixed_bound_below_p(rpe: str, case: tuple[int, int, Sequence[int]]) -> int:
    """1 unless `fixed_bound` exceeds p, the memories that H heads do not reach; (n, H, T).

    If no memory is reached nothing is added to p, and equality will do.
    """
    n, H, distances = case
    p = sum(T >= H if rpe == "lin" else T > H for T in distances)
    room = ROOM if len(distances) == p else 1
    return int(not fixed_bound(rpe, distances, H, n) * room > p)


@precisely
def steps_to_p(n: int, H: int, distances: Sequence[int]) -> list[flint.arb]:
    """The chain of inequalities of Theorem 5.1, from the bound to p; empty if all are served."""
    y = sorted(T + 1 for T in distances)
    served = sum(total <= H for total in itertools.accumulate(y))
    p = len(y) - served
    if p == 0:
        return []
    bound = smallest_constant(n, 1) * extraction("lin", [distances], H, n)
    powers = (flint.arb(v) ** flint.arb(flint.fmpq(n, n + 1)) for v in y)
    second = sum(powers, flint.arb(0)) ** (n + 1) / flint.arb(H) ** n
    third = flint.fmpq((sum(y[:served]) + p * y[served]) ** (n + 1), y[served] * H**n)
    return [bound, second, flint.arb(third), flint.arb(p)]


@precisely
def unproved(case: tuple[int, int, Sequence[int]]) -> int:
    """(n, H, T): how many inequalities of `steps_to_p` are not proved, equality being admitted."""
    return sum(not a * ROOM >= b for a, b in itertools.pairwise(steps_to_p(*case)))


def most_heads(rpe: str, T: int) -> int:
    """Enough for any accuracy: T + 1 (lin), 1 + T(T-1)/2 (log)."""
    return T + 1 if rpe == "lin" else 1 + T * (T - 1) // 2


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
            n, C = (n, smallest_constant(n, 1)) if rpe == "lin" else (1, 1)
            bound = C * extraction(rpe, layers, H, n)
            lacking += 1
            wrong += not bound**2 >= (1 if nested else lacks)
    return lacking, wrong
