"""Exponentials and powers on the integers, and their linear combinations.

    f_h(t) = e^{-beta_h t}, t = 0, 1, ...,      or      f_h(t) = t^{-beta_h}, t = 1, 2, ...

with exact exponents: values in float64 and in balls, sums over all later times, and where
phi = sum_h alpha_h f_h changes its sign.
"""

import functools
import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import flint
import numpy as np

from repro.numerics.exact import rational
from repro.numerics.logarithms import Log, ball
from repro.numerics.vertices import BITS, column, sign

GROWTH, REACH = 1.12, 1e6  # settings of the blocks of powers: from the window to here
FINER = 12  # setting: points between two times at which zeros are looked for, where they are missed


@functools.cache
def _step(exponents: tuple[Any, ...]) -> Any:
    """The exact difference of neighbours if it is the same for all, else None."""
    if len({isinstance(beta, Log) for beta in exponents}) > 1 or len(exponents) < 3:
        return None
    steps = [b - a for a, b in itertools.pairwise(exponents)]
    return steps[0] if all(step == steps[0] for step in steps) else None


@dataclass(frozen=True)
class _Family:
    """Exact real exponents, distinct and all above `least`; functions from the time `first` on."""

    exponents: tuple[Any, ...]
    least: ClassVar[int]
    first: ClassVar[int]

    def __post_init__(self) -> None:
        exact = tuple(beta if isinstance(beta, Log) else rational(beta) for beta in self.exponents)
        with flint.ctx.workprec(BITS):
            found = [ball(beta) for beta in exact]
        if not found or not all(beta > self.least for beta in found):
            raise ValueError(f"exponents must be above {self.least}, got {list(exact)}")
        if any(a.overlaps(b) for a, b in itertools.combinations(found, 2)):
            raise ValueError(f"exponents must be distinct, got {list(exact)}")
        object.__setattr__(self, "exponents", exact)

    def __len__(self) -> int:
        return len(self.exponents)

    def _at(self, logarithm: flint.arb) -> list[flint.arb]:
        """e^{-beta_h logarithm} for all h; by products if the exponents are equally spaced."""
        if (step := _step(self.exponents)) is None:
            return [(-ball(beta) * logarithm).exp() for beta in self.exponents]
        first, factor = ((-ball(beta) * logarithm).exp() for beta in (self.exponents[0], step))
        return list(itertools.accumulate([first, *[factor] * (len(self) - 1)], operator.mul))


@dataclass(frozen=True)
class Exponentials(_Family):
    """e^{-beta_h (t - shift)} on t = 0, 1, 2, ...

    >>> Exponentials((Log(2), Log(4))).values([0, 1, 2])[:, 1].round(4).tolist()
    [1.0, 0.25, 0.0625]
    """

    shift: int = 0
    least = 0
    first = 0

    def values(self, times: Any) -> np.ndarray:
        """In float64: one row for each time, one column for each exponent."""
        beta = np.array([float(ball(b)) for b in self.exponents])
        return np.exp(-beta * (np.asarray(times, dtype=float)[:, None] - self.shift))

    def balls(self, times: Sequence[Any]) -> list[list[flint.arb]]:
        """The same, enclosed at the precision in force."""
        return [self._at(ball(t) - self.shift) for t in times]

    def moved(self, t: int, other: Self) -> int:
        """The time at which these functions have the values of the others at t."""
        return t - other.shift + self.shift

    def blocks(self, start: int) -> list[int]:
        """Where the blocks beyond the window begin: one is enough, so fast do they decay."""
        return [start]

    def tails(self, start: int) -> list[flint.arb]:
        """The sums over t >= start."""
        row = self.balls([start])[0]
        return [f / (1 - (-ball(b)).exp()) for f, b in zip(row, self.exponents, strict=True)]


@dataclass(frozen=True)
class Powers(_Family):
    """(t / scale)^{-beta_h} on t = 1, 2, 3, ...; the scale is a positive integer."""

    scale: int = 1
    least = 1
    first = 1

    def values(self, times: Any) -> np.ndarray:
        beta = np.array([float(ball(b)) for b in self.exponents])
        return (np.asarray(times, dtype=float)[:, None] / self.scale) ** -beta

    def balls(self, times: Sequence[Any]) -> list[list[flint.arb]]:
        return [self._at((ball(t) / self.scale).log()) for t in times]

    def moved(self, t: int, other: Self) -> Fraction:
        return Fraction(t * self.scale, other.scale)

    def blocks(self, start: int) -> list[int]:
        """In geometric progression."""
        starts = [start]
        while starts[-1] < REACH:
            starts.append(max(starts[-1] + 1, int(GROWTH * starts[-1])))
        return starts

    def tails(self, start: int) -> list[flint.arb]:
        """By Hurwitz's zeta function."""
        beta = [ball(b) for b in self.exponents]
        return [flint.arb(self.scale) ** b * b.zeta(flint.arb(int(start))) for b in beta]


Family = Exponentials | Powers


def combined(family: Family, alpha: list[flint.arb], times: Sequence[Any]) -> list[flint.arb]:
    """phi = sum_h alpha_h f_h at these times, enclosed."""
    return (flint.arb_mat(family.balls(times)) * column(alpha)).entries()


def all_zeros_found(
    family: Family,
    alpha: list[flint.arb],
    times: Sequence[int],
    phi: list[flint.arb],
    known: Sequence[Any],
) -> bool:
    """Whether phi is seen to have all the H - 1 zeros that it can have, if need be in between."""
    if _zeros_at_least(times, phi, known) >= len(family) - 1:
        return True
    # setting: how far zeros are looked for
    finer = [times[0] + Fraction(k, FINER) for k in range(2 * FINER * len(family))]
    merged = sorted({*finer, *times})
    return _zeros_at_least(merged, combined(family, alpha, merged), known) >= len(family) - 1


def _zeros_at_least(times: Sequence[Any], phi: Sequence[flint.arb], known: Sequence[Any]) -> int:
    """A number of zeros that phi has for certain, some of them known, between these times."""
    count = between = last = 0
    waiting = sorted(set(known), reverse=True)
    for t, value in zip(times, phi, strict=True):
        while waiting and waiting[-1] <= t:
            between, at = between + 1, waiting.pop()
            if at == t:
                break
        else:
            if not value.contains(0):
                now = sign(value)
                if last and (now == last) == (between % 2 == 1):
                    between += 1  # the signs at both ends tell the parity
                count, between, last = count + between, 0, now
    return count + between + len(waiting)


def sign_changes(family: Family, alpha: list[flint.arb], starts: list[int]) -> list[int]:
    """The first of the starts, and each time beyond at which phi has changed its sign."""
    found = [starts[0]]
    signs = [sign(value) for value in combined(family, alpha, starts)]
    for (low, high), (before, after) in zip(
        itertools.pairwise(starts), itertools.pairwise(signs), strict=True
    ):
        if before == after:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if sign(combined(family, alpha, [middle])[0]) == before:
                low = middle
            else:
                high = middle
        found.append(high)
    return found
