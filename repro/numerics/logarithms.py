"""Logarithms of rationals as exact numbers, so that a softmax of them is rational:

    log r + log s = log(r s),        n log r = log(r^n),        exp(log r) = r,

and logarithms compare as what they are logarithms of.
"""

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from repro.numerics.exact import rational

MOST_BITS = 1 << 26  # of a numerator or denominator


@functools.total_ordering
@dataclass(frozen=True, eq=False)
class Log:
    """The real number log(of), where `of` is a positive rational.

    >>> 2 * Log(3) + Log(Fraction(1, 9)) == 0
    True
    """

    of: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", rational(self.of))
        if self.of <= 0:
            raise ValueError(f"log r needs r > 0, got r = {self.of}")

    def __add__(self, other: Any) -> "Log":
        if not _is_logarithm(other):
            raise TypeError(f"{self} + {other} is not the logarithm of a rational: use balls")
        return Log(self.of * exp(other))

    __radd__ = __add__

    def __neg__(self) -> "Log":
        return Log(1 / self.of)

    def __sub__(self, other: Any) -> "Log":
        return self + (-other)

    def __rsub__(self, other: Any) -> "Log":
        return (-self) + other

    def __mul__(self, factor: Any) -> "Log":
        factor = rational(factor)
        if factor.q != 1:
            raise ValueError(f"{factor} log r is not the logarithm of a rational: use balls")
        size = max(abs(self.of.p), self.of.q)
        if abs(factor.p) * size.bit_length() > MOST_BITS:
            raise OverflowError(f"e^({factor} {self}) has more than {MOST_BITS} bits")
        return Log(self.of ** int(factor.p))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return _is_logarithm(other) and self.of == exp(other)

    def __hash__(self) -> int:
        return hash(("log", int(self.of.p), int(self.of.q)))

    def __lt__(self, other: Any) -> bool:
        return self.of < exp(other)

    def __float__(self) -> float:
        return float(ball(self))

    def __repr__(self) -> str:
        return f"Log({Fraction(int(self.of.p), int(self.of.q))})"


def _is_logarithm(value: Any) -> bool:
    """Besides Log itself only 0 = log 1 is one."""
    return isinstance(value, Log) or value == 0


def exp(value: Any) -> flint.fmpq:
    """e to the power of a logarithm, exactly."""
    if isinstance(value, Log):
        return value.of
    if value == 0:
        return flint.fmpq(1)
    raise ValueError(f"exp({value}) is not rational")


def ball(value: Any) -> flint.arb:
    """An enclosure of an exact real number at the precision now in force."""
    if isinstance(value, Log):
        return flint.arb(value.of).log()
    if isinstance(value, flint.arb):
        return value
    return flint.arb(rational(value))
