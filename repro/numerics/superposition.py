"""Kolmogorov's superpositions in two variables, as far as four digits go.

    f(x_1, x_2) = sum_{q=0}^{4} g_q(psi(y_1 + q a) + lam psi(y_2 + q a)),    y = 5x/6,

with one inner function psi for all f and all q (Sprecher 1996, in the form of Koeppen 2002).

psi is given at the numbers with finitely many digits to the base 6. The first digit i_1 counts
i_1/6; a further digit i_k < 5 adds i_k 6^-beta(k), beta(k) = 2^k - 1; and where the last digit is
5, psi is half way between its left neighbour and its right one, which has a digit less:

    psi(d) = (psi(d - 6^-k) + psi(d + 6^-k)) / 2.

So psi is continuous and increasing, and nearly all of its growth happens in short intervals where
some digit is 5. For each rank k call [d, d + 0.0..0444...] a block, d with k digits; it takes up
4/5 of its cell [d, d + 6^-k], and a = 0.0111... moves the blocks by 1/5 of a cell, for every k.

1. Every y is, for each rank, in a block of at least 4 of the 5 shifts: gaps of a length of 1/5 do
   not overlap when moved by 0, ..., 4 fifths. A point (y_1, y_2) is in a product of two blocks, a
   square, for at least 3 of 5 shifts.
2. With lam = sum_k 6^-beta(k), psi(y_1) + lam psi(y_2) maps the squares of a rank to disjoint
   intervals (`least_distance`), so that g_q may have a value of its own on each of them.
3. Give g_q there a fifth of f at the square's centre, and let it fall to 0 linearly beside it
   (`refine`). Where f hardly changes on squares, the 3 good shifts leave at most 2/5 of |f|, the
   others spoil at most 2/5 of sup|f|: what is left is at most 4/5 sup|f|.
4. Repeat with what is left, at a rank high enough; the sum over all steps is g_q.

Here all points have four digits, a = 0.0111 and the ranks are 1, 2, 3: images of rank 3 are 1e-11
long, those of rank 4 would be 1e-24. psi itself is exact; g_q and errors are in float64.
"""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

BASE, DIGITS, SHIFTS = 6, 4, 5
CELLS = BASE**DIGITS
TOP = 5 * CELLS // 6  # y = 5x/6 leaves room for the shifts: TOP + 4 SHIFT <= CELLS
RANKS = (1, 2, 3)

Function = Callable[[np.ndarray], np.ndarray]  # (N, 2) -> (N,)


def _below(k: int, digit: int) -> int:
    """0.0..0ddd with this digit d at the places k + 1, ..., 4, in units of 6^-4."""
    return digit * sum(BASE ** (DIGITS - r) for r in range(k + 1, DIGITS + 1))


SHIFT = _below(1, 1)  # a = 0.0111


def _beta(k: int) -> int:
    return 2**k - 1


LAMBDA = sum((Fraction(1, BASE ** _beta(k)) for k in range(1, DIGITS + 1)), Fraction(0))


@functools.cache
def psi(k: int, N: int) -> Fraction:
    """psi(N / 6^k) for 0 <= N <= 6^k."""
    if k == 1:
        return Fraction(N, BASE)
    rest, digit = divmod(N, BASE)
    if digit < BASE - 1:
        return psi(k - 1, rest) + Fraction(digit, BASE ** _beta(k))
    return (psi(k, N - 1) + psi(k - 1, rest + 1)) / 2


@functools.cache
def table() -> np.ndarray:
    """psi at all numbers with four digits, in float64; (1297,)."""
    return np.array([float(psi(DIGITS, N)) for N in range(CELLS + 1)])


def blocks(rank: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last number of every block, in units of 6^-4."""
    first = np.arange(BASE**rank) * BASE ** (DIGITS - rank)
    return first, first + _below(rank, BASE - 2)


def least_distance(rank: int, lam: Fraction = LAMBDA) -> Fraction:
    """Between the intervals psi(y_1) + lam psi(y_2), one for each square; negative: overlap."""
    ends = [[psi(DIGITS, int(N)) for N in ends] for ends in blocks(rank)]
    unit = math.lcm(*(value.denominator for value in (*ends[0], *ends[1])))  # integers are faster
    a, b = ([int(value * unit * lam.denominator) for value in values] for values in ends)
    c, d = ([int(value * unit * lam.numerator) for value in values] for values in ends)
    first, last = (map(sum, itertools.product(*both)) for both in ((a, c), (b, d)))
    pairs = zip(first, last, strict=True)
    apart = min(after[0] - before[1] for before, after in itertools.pairwise(sorted(pairs)))
    return Fraction(apart, unit * lam.denominator)


@dataclass
class Superposition:
    """f = sum_q g_q(...) + what is left; every g_q is a sum of piecewise linear functions.

    Points are pairs of integers 0, ..., TOP, in units of 1/TOP. `shift` is a, in units of 6^-4, and
    `lam` the weight of the second variable.
    """

    f: Function
    shift: int = SHIFT
    lam: Fraction = LAMBDA
    outer: list[list[tuple[np.ndarray, np.ndarray]]] = field(default_factory=list)

    def sums(self, q: int, points: np.ndarray) -> np.ndarray:
        """psi(y_1 + qa) + lam psi(y_2 + qa)."""
        inner = table()[points + q * self.shift]
        return inner[:, 0] + float(self.lam) * inner[:, 1]

    def value(self, q: int, at: np.ndarray) -> np.ndarray:
        """g_q, as far as it is known."""
        return sum((np.interp(at, *step[q]) for step in self.outer), start=np.zeros(len(at)))

    def left(self, points: np.ndarray) -> np.ndarray:
        """f minus the superposition."""
        found = sum(self.value(q, self.sums(q, points)) for q in range(SHIFTS))
        return self.f(points / TOP) - found

    def refine(self, rank: int) -> None:
        """Step 3 for what is left, with the squares of this rank."""
        first, last = blocks(rank)
        i, j = (index.ravel() for index in np.indices((len(first), len(first))))
        low, high = (table()[N][i] + float(self.lam) * table()[N][j] for N in (first, last))
        order = np.argsort(low)
        low, high = low[order], high[order]
        beside = (low[1:] - high[:-1]).min() / 3
        nodes = np.stack([low - beside, low, high, high + beside], axis=1).ravel()
        squares = np.stack([i, j], axis=1)[order] * BASE ** (DIGITS - rank) + _below(rank, 2)
        step = []
        for q in range(SHIFTS):
            heights = self.left(np.clip(squares - q * self.shift, 0, TOP)) / SHIFTS
            step.append((nodes, np.stack([0 * heights, heights, heights, 0 * heights], 1).ravel()))
        self.outer.append(step)
