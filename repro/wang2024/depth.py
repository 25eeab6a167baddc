"""Appendix C.2: what depth saves, by the bounds of Theorem 5.1 and Proposition 5.5 themselves.

Paper                 Here                 Meaning
M, T_k                costs                one cost for each memory:
                                           a_k = e^{0.01 T_k} (lin) or T_k^1.01 (log)
E_Attn(type)          complexity           (E_Attn H^n / C(n))^2
                      extraction           E_Attn / C(n), from distances
H_need^(2)            complexity([a])      to the power 2n, up to (C(n)/eps)^2
H_need^(M+1)          complexity([[a_1], ..., [a_M]])    the same
b_k                   a_k^(n+1)            not defined in print: our reading
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
is larger. No other positive b would do: sum b^2 / (sum b)^2 >= 1/M by Cauchy and Schwarz, while
equal a_k give M^-(2n+1).
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import flint

from repro.numerics.exact import rational
from repro.wang2024.model import Transformer

BITS = 256


@functools.cache
def cost(rpe: str, T: int) -> flint.arb:
    """a_k of a memory at distance T."""
    with flint.ctx.workprec(BITS):
        if rpe == "lin":
            return (flint.arb(T) / 100).exp()
        return flint.arb(T) ** flint.arb(flint.fmpq(101, 100))


def complexity(layers: Iterable[Sequence[Any]], n: int) -> Any:
    """sum over the layers of (sum of their costs)^(2n+2)."""
    with flint.ctx.workprec(BITS):
        return sum((_sum(costs) ** (2 * n + 2) for costs in layers), flint.fmpq(0))


def extraction(rpe: str, layers: Iterable[Sequence[int]], H: int, n: int) -> flint.arb:
    """E_Attn / C(n) of layers that fetch memories at these distances."""
    with flint.ctx.workprec(BITS):
        costs = [[cost(rpe, T) for T in distances] for distances in layers]
        return flint.arb(complexity(costs, n)).sqrt() / flint.arb(H) ** n


def ratio(costs: Sequence[Any], n: int) -> Any:
    """(H_need^(M+1) / H_need^(2))^(2n): heads in each layer."""
    with flint.ctx.workprec(BITS):
        return complexity([[a] for a in costs], n) / complexity([costs], n)


def printed_ratio(b: Sequence[Any]) -> Any:
    """sum b^2 / (sum b)^2."""
    with flint.ctx.workprec(BITS):
        return _sum([one * one for one in b]) / _sum(b) ** 2


def root(value: Any, n: int) -> flint.arb:
    """value^(1/2n), enclosed: from H^(2n) to H."""
    with flint.ctx.workprec(BITS):
        ball = value if isinstance(value, flint.arb) else flint.arb(rational(value))
        return ball ** flint.arb(flint.fmpq(1, 2 * n))


def _sum(values: Iterable[Any]) -> Any:
    exact = (v if isinstance(v, flint.arb) else rational(v) for v in values)
    return sum(exact, flint.fmpq(0))


def heads(network: Transformer) -> list[int]:
    """Heads in each layer that works; the first attention of the proofs is idle."""
    return [len(layer.attention.heads) for layer in network.layers[1:]]


def widths(network: Transformer) -> list[int]:
    """Neurons for pointers, in each layer but the last, whose network is the readout."""
    return [layer.feed_forward.c.shape[0] for layer in network.layers[:-1]]
