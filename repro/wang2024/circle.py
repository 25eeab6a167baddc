"""Theorem 5.1, Step II: how wide the network that computes a pointer has to be.

Paper                     Here                     Meaning
x_t in R^d, |x_t|_2 <= 1  EIGHT, COMPASS           rational points of the unit circle, d = 2
g, T                      steps(T), pointer(T)     one order of eight tokens, told in T steps
|g|_B, |log g|_B          least_norm, Least        of all networks with these values, proved
m                         drawn, share_right       neurons drawn as in the proof of Lemma F.6
width condition           enough                   a width that suffices, with its constant

The norm. Let S be the least sum_k |a_k| (|b_k|_1 + |c_k|) of the networks with the values v_j at
the tokens x_j. The planes b.x_j + c = 0 and b_1 = 0, b_2 = 0, c = 0 cut the space of (b, c) into
cones on which every relu(b.x_j + c), and |b|_1 + |c|, is linear. A neuron in such a cone is a sum
of neurons on its edges, with the same values and the same size. So the finitely many edges of size
1 are neurons enough, and with r_k(x) = relu(b_k.x + c_k)
    S = min sum_k |a_k|  over  sum_k a_k r_k(x_j) = v_j
      = max sum_j y_j v_j  over  |sum_j y_j r_k(x_j)| <= 1 for all k.
HiGHS finds a vertex of both programs. a and y are then computed again in rationals, and y is tried
on every edge: what is said of S rests on that alone. A vertex has no more neurons than tokens.

Drawing. Take neuron k with probability |a_k| / S and weight S sign(a_k) / m, m times. Each draw
has its value in [-S, S], and v_j is the mean. By Hoeffding's inequality the share of the draws of
m neurons that are off by delta or more at one of N tokens is at most 2N e^{-m delta^2 / (2 S^2)}.
(15) forgives delta = 1/2 (lin) or 1/(4T) (log), so that
    m > 8 S^2 log(2N)  (lin),        m > 32 S^2 T^2 log(2N)  (log)
is enough: the condition of Theorem 5.1 with its constant, and log(2N) for the factor sqrt(d + 1)
that Lemma F.6 needs on a whole cube. It is not necessary: the vertex has N neurons and no error.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import flint
import numpy as np
from scipy.optimize import linprog

from repro.numerics.barron import Network
from repro.numerics.exact import rational, rationals, to_float, vector
from repro.numerics.logarithms import Log, ball
from repro.numerics.vertices import NotConverged
from repro.wang2024.targets import Memory, Readout, Target, by_size, coordinate, neurons

BITS = 256
MEETS = 1e-7  # a constraint of the float64 program that is met to this is taken to be active
HOEFFDING = {"lin": 8, "log": 32}  # 2 / delta^2, for log over T^2
HALF_TURN = rationals([[1, 0], ["20/29", "21/29"], [0, 1], ["-20/29", "21/29"]])
EIGHT = np.concatenate([HALF_TURN, -HALF_TURN])  # 20^2 + 21^2 = 29^2: almost eighths of a turn


def steps(T: int) -> list[int]:
    """1 + floor(T (3j mod 8) / 8), j = 0, ..., 7: neighbours on the circle are far apart."""
    return [1 + T * (3 * j % 8) // 8 for j in range(8)]


@dataclass(frozen=True)
class Least:
    """A network with the given values, and its path norm: lower <= S <= upper."""

    network: Network
    lower: Any  # fmpq, or arb if values are logarithms
    upper: Any

    @property
    def norm(self) -> float:
        return float(ball(self.upper).upper())


def edges(tokens: np.ndarray) -> np.ndarray:
    """The neurons (b_1, b_2, c) of size 1 that are enough; (K, 3), exact."""
    units = rationals(np.eye(3, dtype=int)).tolist()
    planes = [[x, y, rational(1)] for x, y in tokens] + units
    found = set()
    for u, v in itertools.combinations(planes, 2):
        line = [u[i - 2] * v[i - 1] - u[i - 1] * v[i - 2] for i in range(3)]  # u x v
        size = sum(map(abs, line))
        if size != 0:
            found |= {tuple(sign * entry / size for entry in line) for sign in (1, -1)}
    rays = np.array(sorted(found), dtype=object)
    return rays[(_values(rays, tokens) != 0).any(0)]


def _values(rays: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """r_k(x_j); (N, K)."""
    return np.maximum(tokens @ rays[:, :2].T + rays[:, 2], 0)


def least_norm(tokens: np.ndarray, values: Sequence[Any]) -> Least:
    """S for rational tokens (N, 2) and values that are rationals or logarithms of rationals."""
    rays = edges(tokens)
    table = _values(rays, tokens)
    chosen, signs = _vertex(to_float(table), np.array([float(ball(v)) for v in values]))
    N = len(tokens)
    basis = flint.fmpq_mat(N, N, table[:, chosen].ravel().tolist())
    y = vector(basis.transpose().solve(flint.fmpq_mat(N, 1, signs)).entries())
    if any(abs(hit) > 1 for hit in y @ table):
        raise NotConverged("the dual weights of float64 are not those of a vertex")
    inverse = np.array(basis.inv().entries(), dtype=object).reshape(N, N)
    with flint.ctx.workprec(BITS):
        exact = vector([ball(v) if isinstance(v, Log) else rational(v) for v in values])
        a, lower = inverse @ exact, y @ exact
        kept = rays[chosen]
        return Least(Network(a, kept[:, :2], kept[:, 2]), lower, sum(map(abs, a)))


@functools.cache
def least_of_steps(T: int, rpe: str) -> Least:
    """S of g = steps(T), or of log g, on the eight tokens."""
    return least_norm(EIGHT, steps(T) if rpe == "lin" else [Log(step) for step in steps(T)])


def _vertex(table: np.ndarray, values: np.ndarray) -> tuple[list[int], list[int]]:
    """N independent neurons that hold the vertex, and the sign of y on each."""
    both = np.hstack([table, -table])
    found = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=values, bounds=(0, None))
    if found.status != 0:
        raise NotConverged(f"HiGHS gave up: {found.message}")
    plus, minus = np.split(found.x, 2)
    hits = found.eqlin.marginals @ table
    chosen: list[int] = []
    for k in np.argsort(-(plus + minus), kind="stable").tolist():
        active = abs(hits[k]) > 1 - MEETS
        if active and np.linalg.matrix_rank(table[:, [*chosen, k]]) > len(chosen):
            chosen.append(k)
    if len(chosen) < len(values):
        raise NotConverged(f"only {len(chosen)} of {len(values)} neurons hold the vertex")
    return chosen, [1 if hits[k] > 0 else -1 for k in chosen]


def drawn(least: Least, m: int, rng: np.random.Generator) -> Network:
    """m neurons from the measure |a_k| / S, in float64; equal ones are written once, added up."""
    a, b, c = (part.astype(float) for part in least.network)
    return Network(_weights(a, m, rng), b, c)


def _weights(a: np.ndarray, m: int, rng: np.random.Generator, **size: int) -> np.ndarray:
    """S sign(a_k) / m times how often neuron k is among m draws; (..., K)."""
    S = np.abs(a).sum()
    return S / m * np.sign(a) * rng.multinomial(m, np.abs(a) / S, **size)


def share_right(
    least: Least, g: Sequence[int], rpe: str, m: int, draws: int, rng: np.random.Generator
) -> float:
    """How many of the draws of m neurons round to g, (15), at every token of EIGHT."""
    a, rays = least.network.a.astype(float), np.column_stack(least.network[1:])
    outputs = _weights(a, m, rng, size=draws) @ to_float(_values(rays, EIGHT)).T  # (draws, N)
    rounded = np.rint(outputs if rpe == "lin" else np.exp(outputs))
    return float((rounded == np.array(g)).all(1).mean())


def law(rpe: str, S: float, T: int) -> float:
    """S^2 (lin) or S^2 T^2 (log), which the width has to exceed up to constants."""
    return S**2 if rpe == "lin" else (S * T) ** 2


class Half(NamedTuple):
    """At which width half of the drawn networks point right from every token."""

    curve: tuple[list[int], list[float]]  # m from 2 to 2^15, and the shares
    S: float
    m: float
    over_law: float


def half_width(T: int, rpe: str, draws: int, rng: np.random.Generator) -> Half:
    widths, least = [round(2 ** (k / 2)) for k in range(2, 31)], least_of_steps(T, rpe)
    shares = [share_right(least, steps(T), rpe, m, draws, rng) for m in widths]
    m = half_right(widths, shares)
    return Half((widths, shares), least.norm, m, m / law(rpe, least.norm, T))


def half_right(widths: Sequence[int], right: Sequence[float]) -> float:
    """The width, between two on a logarithmic scale, at which half of the draws are right."""
    i = next(i for i, share in enumerate(right) if share >= 0.5)
    part = (0.5 - right[i - 1]) / (right[i] - right[i - 1])
    return math.exp((1 - part) * math.log(widths[i - 1]) + part * math.log(widths[i]))


def enough(rpe: str, S: float, T: int, N: int, missed: float = 1.0) -> int:
    """So many neurons leave a share below `missed` of the draws with a wrong token."""
    return math.floor(HOEFFDING[rpe] * law(rpe, S, T) * math.log(2 * N / missed)) + 1


def at_enough(T: int, rpe: str, draws: int, rng: np.random.Generator) -> tuple[int, float, float]:
    """m that leaves at most a tenth of the draws wrong, by Hoeffding; the share that is right.

    And m by Lemma F.6 on the square, for a mean error below 1/2 (lin) or 1/(4T) (log).
    """
    least = least_of_steps(T, rpe)
    m = enough(rpe, least.norm, T, 8, missed=0.1)
    by_lemma = 64 * 3 * least.norm**2 * (1 if rpe == "lin" else (2 * T) ** 2)
    return m, share_right(least, steps(T), rpe, m, draws, rng), by_lemma


def pointer(T: int) -> Target:
    """x_{t-g(x_t)}, its first coordinate, for the eight tokens and g = steps(T)."""
    g, tokens = np.array(steps(T)), to_float(EIGHT)
    networks = [least_of_steps(T, rpe).network for rpe in ("lin", "log")]
    memory = Memory(T, lambda x: g[(x @ tokens.T).argmax(-1)], *networks)
    return Target(f"eight tokens, {T} steps", (memory,), coordinate(4, 2), tokens)


SAME_SIDE = Readout(
    "|x_1 + x'_1|",
    4,
    lambda x: np.abs(x[..., 0] + x[..., 2]),
    math.sqrt(2),
    neurons((1, [1, 0, 1, 0], 0), (1, [-1, 0, -1, 0], 0)),
)
TOKENS = np.array([[1.0, 0], [0, 1.0], [-1.0, 0], [0, -1.0]])
COMPASS = Target("compass", (by_size(2),), SAME_SIDE, TOKENS)  # 2 steps from north and south
