"""Lemma F.5: how well polynomials of degree m - 1 do against n derivatives that vanish at 0.

Class: f in C^n([0, 1]) with f(0) = f'(0) = ... = f^(n)(0) = 0. Integrating from 0 gives
|f^(k)(x)| <= |f^(n)|_inf x^(n-k) / (n-k)!, so the lemma's M(n) is |f^(n)|_inf; let it be 1. The
lemma says m^n E <= 1 for E = E_(m-1)(f), the best error. Here is what is true.

1. m <= n: one function decides. With F = x^n / n!, |f^(m)| <= F^(m). Let Q be best for F; since
   F^(m) >= 0, F - Q has exactly m zeros. Let q interpolate f there, and w be their product. Then
   f - q = w f[zeros, x], and (F +- f)^(m) >= 0 makes |f[zeros, x]| <= F[zeros, x]: so
   |f - q| <= |F - Q|, and E_(m-1)(f) <= E_(m-1)(x^n) / n! (Bernstein's comparison). No constant is
   smaller: `ramp` comes as near to F as one likes.
2. With x = (1 + cos t) / 2, x^n = 4^-n (C(2n, n) + 2 sum_k C(2n, n-k) cos kt). Cutting the sum off
   bounds E from above, and the weights +-1 at the extrema of cos mt from below:
       2/4^n sum_(j odd) C(2n, n-jm)  <=  E_(m-1)(x^n)  <=  2/4^n sum_(k >= m) C(2n, n-k).
3. m >= n: the zeros do not matter any more (Taylor's polynomial is subtracted free of charge).
   Interpolation at Chebyshev's points has an error of at most 2 / (4^n n!); degree m - 1 >= n - 1
   does no worse. For large m, f(cos t) has a derivative of at most |f'|, so that Favard's theorem
   for trigonometric polynomials gives E_(m-1)(f) <= (pi/2)/m E_(m-2)(f') on [-1, 1]; k such steps
   and interpolation for f^(k) give on [0, 1]
       E_(m-1)(f) <= (pi/4)^k / (m (m-1) ... (m-k+1)) * 2 / (4^(n-k) (n-k)!),
   without the 2 for k = n. Sinwel (1981) has all n steps at once, with 2^-n K_n, K_n <= pi/2, for
   (pi/4)^n.

4. By 3 the constant 1 is right for m >= n. n <= 5: by the elementary steps. n > 5, with v = n/m:
if v >= e/4, interpolation gives m^n E <= 2 (n/e)^n / n! <= 2 / sqrt(2 pi n) < 1. If v <= e/4,
Sinwel gives m^n E <= (pi/2) 2^-n prod_(i < n) 1 / (1 - i/m), and the sum of -log(1 - i/m) is at
most m times the integral of -log(1 - x) over [0, v], that is n k(v),
    k(v) = 1 + (1 - v) log(1 - v) / v, which grows with v, and k(e/4) < log 2 - 0.22.
So m^n E <= (pi/2) e^(-0.22 n) < 1.

By 1 and 2 it is right for m <= n <= 37, and wrong from n = 38 on: for m near 0.65 n both bounds
grow like 1.1168^n. Repair: the constant 1.12^n. The upper bound of 2 is the chance that 2n coins
miss n heads by m or more; with m = u n, Chernoff's bound for it and n! >= sqrt(2 pi n) (n/e)^n make
m^n E / n! at most 2 / sqrt(2 pi n) exp(n g(u)), where
    g(u) = 1 + log u - (1 + u) log(1 + u) - (1 - u) log(1 - u)
is concave, has its maximum 0.1105 at u = 0.648, and log 1.12 > 0.113.
"""

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np

from repro.numerics.exact import vector
from repro.numerics.minimax import Target, lower_end

POINTS = 257
FLAT = 2.0**-10  # setting: below it exp(-1/x) is less than 1e-200
PI = Fraction(355, 113)  # above pi by 3e-7
SPLINES = {  # knots and values of f^(n)
    "power": ([1.0], [1.0]),  # x^(n+1)
    "ramp": ([2.0**-6, 1.0], [1.0, 1.0]),
    "bumps": ([1 / 8, 1 / 4, 1 / 2, 1.0], [0, 1, -1, 0]),
}


class Member(NamedTuple):
    f: Target
    M: float  # M(n)


def spline(n: int, knots: Sequence[float], values: Sequence[float]) -> Member:
    """f^(n) goes from 0 at 0 linearly through these values at these knots, the last one at 1.

    f is multiplied by (n+1)!, so that its coefficients are the changes of slope of f^(n).
    """
    t, v = np.array([0.0, *knots]), np.array([0.0, *values])
    slopes = np.diff(v) / np.diff(t)
    changes = np.diff(slopes, prepend=0.0)
    pieces = tuple(_truncated_powers(n + 1, t[:i], changes[:i]) for i in range(1, len(t)))
    return Member(Target(tuple(t.tolist()), pieces), math.factorial(n + 1) * np.abs(v).max())


def _truncated_powers(degree: int, knots: np.ndarray, changes: np.ndarray) -> Callable[[Any], Any]:
    return lambda x: sum(
        float(change) * (x - float(knot)) ** degree
        for knot, change in zip(knots, changes, strict=True)
    )


def switching(n: int, places: Sequence[float], width: float) -> Member:
    """f^(n) = +-1 with a change of sign, `width` wide, at each place: nearly a perfect spline."""
    knots, values, sign = [width], [1.0], 1.0
    for place in places:
        knots += [place - width / 2, place + width / 2]
        values += [sign, -sign]
        sign = -sign
    return spline(n, [*knots, 1.0], [*values, sign])


def _flat(x: Any) -> Any:
    with np.errstate(divide="ignore"):  # at 0, where the other branch is taken
        return np.exp(-1 / x)


def analytic(n: int, f: Target) -> Member:
    """M(n) from power series at some points: a lower bound, so that m^n E / M is no smaller."""
    cap, flint.ctx.cap = flint.ctx.cap, n + 1
    try:
        last = f.branches[-1]
        points = np.linspace(f.breaks[-2], 1, POINTS)[1:]
        series = vector([flint.arb_series([float(x), 1]) for x in points])
        largest = max(lower_end(abs(value[n])) for value in last(series))
    finally:
        flint.ctx.cap = cap
    return Member(f, math.factorial(n) * largest)


def member(family: str, n: int, m: int) -> Member:
    """One of each family; those named "perfect spline" are made for polynomials of degree m - 1.

    "ramp": f^(n) rises to 1 and stays, so f is x^n but for the zero of its last derivative.
    """
    if family == "perfect spline":  # m - n changes of sign, near the extrema of T_(m-n+1)
        angles = math.pi * np.arange(max(m - n, 0), 0, -1) / (max(m - n, 0) + 1)
        places = np.round(128 * (1 + np.cos(angles))) / 256
        return switching(n, places.tolist(), 2.0**-7)
    if family == "exp(-1/x)":  # all derivatives vanish at 0; below 2^-10 it is less than 1e-444
        return analytic(n, Target((0.0, FLAT, 1.0), (lambda x: 0 * x, _flat)))
    if family == "wave":
        return analytic(n, Target((0.0, 1.0), (lambda x: x ** (n + 1) * np.cos(5 * x),)))
    return spline(n, *SPLINES[family])


def least_error_of_power(n: int, m: int) -> tuple[Fraction, Fraction]:
    """Bounds of E_(m-1)(x^n) on [0, 1], see 2."""
    lower, upper = (Fraction(2 * sum(_binomials(n)[m::step]), 4**n) for step in (2 * m, 1))
    return lower, upper


@functools.cache
def _binomials(n: int) -> list[int]:
    return [math.comb(2 * n, n - k) for k in range(n + 1)]


def power_ratio(n: int, m: int) -> tuple[Fraction, Fraction]:
    """Bounds of m^n E_(m-1)(x^n / n!): for m <= n, of m^n E_(m-1)(f) / M(n) over the class."""
    lower, upper = least_error_of_power(n, m)
    scale = Fraction(m**n, math.factorial(n))
    return scale * lower, scale * upper


def largest_power_ratio(n: int) -> tuple[Fraction, Fraction]:
    """Bounds of the largest of these over m <= n: the constant that Lemma F.5 needs."""
    lower, upper = zip(*(power_ratio(n, m) for m in range(1, n + 1)), strict=True)
    return max(lower), max(upper)


def elementary_ratio(n: int, m: int) -> Fraction:
    """An upper bound of m^n E_(m-1)(f) / M(n) for m >= n, by interpolation and Favard's steps."""
    return min(_after_steps(n, m, k) for k in range(n + 1))


def _after_steps(n: int, m: int, k: int) -> Fraction:
    rest = Fraction(2, 4 ** (n - k) * math.factorial(n - k)) if k < n else 1
    return Fraction(m**n, math.perm(m, k)) * (PI / 4) ** k * rest


def ratio_by_sinwel(n: int, m: int) -> Fraction:
    """The same by interpolation or Sinwel's inequality."""
    favard = Fraction(m**n, math.perm(m, n)) * PI / 2 / 2**n
    return min(_after_steps(n, m, 0), favard)


def repaired_constant(n: int) -> Fraction:
    """1.12^n, see above."""
    return Fraction(28, 25) ** n
