"""Equation (15): the feed-forward layer with precision, and Proposition B.1 on how fine it is.

Proposition B.1. Let y = e^z and k = [y] >= 1. The mean value theorem for log between k and y gives

    |log [e^z] - z| = |log k - log y| <= |k - y| / min{k, y} <= 1 / (2 min{e^z, [e^z]}),

so that (i) needs no more than k >= 1, that is e^z > 1/2; z >= 1 is not used. At y = k - 1/2 or
k + 1/2 the two sides are log(1 + 1/(2 min)) and 1/(2 min): their ratio tends to 1 as z grows, and
no constant below 1/2 would do.

Readings:
- argmin |n - x| has two minimisers where x is half an odd integer. The even one is taken, as IEEE
  rounding (and torch) does; Proposition B.1 and the theorems hold for either.
- Where e^z <= 1/2 the log form is log 0. That is an error here, never -inf.
- Rationals are rounded exactly. Balls, and exp of a rational, are rounded where every point of the
  ball has the same nearest integer, and are an error otherwise.
"""

from collections.abc import Callable
from typing import Any

import flint
import torch

from repro.numerics.arrays import Array, each
from repro.numerics.logarithms import Log

HALF = flint.fmpq(1, 2)


def nearest(x: Array) -> Array:
    """[x], the nearest integer, entry by entry."""
    return x.round() if isinstance(x, torch.Tensor) else each(_nearest, x)


def nearest_logarithm(z: Array) -> Array:
    """log[exp(z)], entry by entry; objects that are exact give Log(integer), or 0 for log 1."""
    if not isinstance(z, torch.Tensor):
        return each(_nearest_logarithm, z)
    k = z.exp().round()
    if not bool(((k >= 1) & k.isfinite()).all()):
        worst = z[~((k >= 1) & k.isfinite())].flatten()[0].item()
        raise ValueError(f"(15) rounds exp(z) to an integer >= 1: exp({worst}) gives none")
    return k.log()


PRECISION: dict[str, Callable[[Array], Array]] = {"lin": nearest, "log": nearest_logarithm}


def movement(k: int, y: flint.arb) -> flint.arb:
    """The left side of (i), where [y] = k: how far rounding moves z = log y."""
    return abs(flint.arb(k).log() - y.log())


def bound(k: int, y: flint.arb) -> flint.arb:
    """The right side of (i)."""
    return 1 / (2 * y.min(flint.arb(k)))


def midpoint(x: flint.arb) -> flint.fmpq:
    """The rational in the middle of a ball."""
    mantissa, exponent = x.mid().man_exp()
    return flint.fmpq(mantissa) * flint.fmpq(2) ** int(exponent)


def _nearest(x: Any) -> flint.fmpq | flint.arb:
    return (flint.arb if isinstance(x, flint.arb) else flint.fmpq)(_integer(x))


def _nearest_logarithm(z: Any) -> Any:
    if isinstance(z, Log):
        k = _integer(z.of)
    elif isinstance(z, flint.arb):
        k = _integer(z.exp())
    else:
        k = flint.fmpz(1) if z == 0 else _enclosed(lambda: flint.arb(z).exp())
    if k < 1:
        raise ValueError(f"(15) rounds exp(z) to an integer >= 1: z = {z} gives {k}")
    if isinstance(z, flint.arb):
        return flint.arb(k).log()
    return flint.fmpq(0) if k == 1 else Log(k)


def _integer(x: Any) -> flint.fmpz:
    """The integer nearest to a number, and to every point of a ball."""
    if isinstance(x, Log):
        return _enclosed(lambda: flint.arb(x.of).log())
    if isinstance(x, flint.arb) and not (x.is_exact() and x.is_finite()):
        k = (x + HALF).floor().unique_fmpz()
        if k is None or not (k - HALF < x < k + HALF):
            raise ValueError(f"(15): the ball {x} may be half an odd integer; more bits decide it")
        return k
    x = midpoint(x) if isinstance(x, flint.arb) else flint.fmpq(x)
    k = (x + HALF).floor()
    return k - 1 if x + HALF == k and k % 2 == 1 else k


def _enclosed(irrational: Callable[[], flint.arb], bits: int = 128) -> flint.fmpz:
    """The integer nearest to a number that is not rational: some number of bits decides."""
    with flint.ctx.workprec(bits):
        k = (irrational() + HALF).floor().unique_fmpz()
    return _enclosed(irrational, 2 * bits) if k is None else k
