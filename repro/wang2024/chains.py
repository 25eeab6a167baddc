"""Nested targets of every depth, reach and steepness: what Theorem 5.4 is tried on.

Target        Memory functions                                      to see
chain(K, M)   all by the sign of the last token read, T_i = 2       layers against K and M
relay(T, M)   all T x of the last token read, tokens 1/T, ..., 1    heads against T, and layers
cliff(delta)  g_1 by size, g_2 by sign, tokens 1, delta and minus   heads against |g_2|_Lip

Signs have little to tell: with T_i = 2 a chain walks between t - 1 and t - 2 only, so that x_t,
x_{t-t_1} and x_{t-t_2} determine all that it fetches later. The chain K = M = 4 is even y_t = x_t.
A relay can come to a new place with every step.

The functions of `cliff(delta)` and of log g for `relay(T)` are straight between the tokens:
    g_1 = 1 + (1 - |x|) / (1 - delta),                     |g_1|_Lip = 1 / (1 - delta) <= 2,
    g_2 = 2 - relu((x + delta) / (2 delta)) + relu((x - delta) / (2 delta)),      1 / (2 delta),
    log(T x) = sum over k < T of T (log((k+1)/k) - log(k/(k-1))) relu(x - k/T),
where for k = 1 there is nothing to subtract.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from repro.numerics.barron import Network
from repro.numerics.exact import rational_zeros
from repro.numerics.logarithms import Log
from repro.wang2024.targets import SIGNS, Memory, Target, by_sign, coordinate, neurons, parity


def of_last(memory: Memory, reads: int) -> Memory:
    """The same function of the last of so many tokens, each of them one number."""

    def after(network: Network) -> Network:
        nothing = rational_zeros(len(network.c), reads - 1)
        return network._replace(b=np.concatenate([nothing, network.b], axis=1))

    return Memory(memory.T, lambda x: memory.g(x[..., -1:]), after(memory.lin), after(memory.log))


def chain(K: int, M: int) -> Target:
    """Parity of M + 1 signs; each g_i reads the sign fetched last of those it may read."""
    memories = tuple(by_sign(1 + min(i - 1, K)) for i in range(1, M + 1))
    return Target(f"chain, K = {K}, M = {M}", memories, parity(M + 1), SIGNS, K=K)


def relay(T: int, M: int = 2) -> Target:
    """y_t = x_{t-t_M}, t_1 = T x_t, t_2 = T x_{t-t_1}, ...; K = M - 1."""
    tokens = np.arange(1, T + 1)[:, None] / T
    memories = tuple(of_last(_multiple(T), i) for i in range(1, M + 1))
    return Target(f"relay, T = {T}, M = {M}", memories, coordinate(M + 1, M), tokens, K=M - 1)


def _multiple(T: int) -> Memory:
    bends = [Log(Fraction(2))]
    bends += [Log(Fraction(k * k - 1, k * k)) for k in range(2, T)]  # (k+1)/k over k/(k-1)
    log = [(T * bend, [1], Fraction(-k, T)) for k, bend in enumerate(bends, start=1)]
    lin = neurons((T, [1], 0))
    return Memory(T, lambda x: np.rint(T * x[..., 0]).astype(int), lin, neurons(*log))


def cliff(delta: Any) -> Target:
    """y_t = x_{t-t_2}; t_1 = 1 or 2 as |x_t| = 1 or delta, t_2 = 1 or 2 as x_{t-t_1} > 0 or < 0."""
    delta = Fraction(delta)
    tokens = np.array([[-1.0], [-float(delta)], [float(delta)], [1.0]])
    memories = (_by_size(delta), of_last(_by_steep_sign(delta), 2))
    return Target(f"cliff, delta = {delta}", memories, coordinate(3, 2), tokens, K=1)


def _by_size(delta: Fraction) -> Memory:
    slope, half = 1 / (1 - delta), (1 + delta) / 2
    return Memory(
        2,
        lambda x: np.where(np.abs(x[..., 0]) > float(half), 1, 2),
        neurons((1 + slope, [0], 1), (-slope, [1], 0), (-slope, [-1], 0)),
        neurons((Log(2), [0], slope), (-Log(2), [slope], 0), (-Log(2), [-slope], 0)),
    )


def _by_steep_sign(delta: Fraction) -> Memory:
    steep, half = 1 / (2 * delta), Fraction(1, 2)
    return Memory(
        2,
        lambda x: np.where(x[..., 0] > 0, 1, 2),
        neurons((2, [0], 1), (-1, [steep], half), (1, [steep], -half)),
        neurons((Log(2), [0], 1), (-Log(2), [steep], half), (Log(2), [steep], -half)),
    )
