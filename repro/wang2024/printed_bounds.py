"""The explicit constants in the proofs of Lemmas E.1 to E.6, as printed and as corrected.

Each proof sums e^{-gamma t} or t^{-1-gamma} times the uniform error of a polynomial of degree m - 1
(Lemma F.5) and so arrives, for every n that it admits, at

    error <= front * M(n) * (growth / m)^n,      M(n) = max_{k <= n} max |Psi^(k)|,

with the bump Psi(x) = exp(-1 / (1 - x^2)) on (-1, 1). (E.1 prints "k <= 10" under the maximum.)

Lemma     front                         growth as printed    growth corrected          alpha
E.1, E.2  e e^{gamma T} / (1-e^-gamma)  e^{alpha T}/(1-1/e)  e^{alpha T}/(1-e^-alpha)  .01
E.3       C e / (1 - e^{-gamma})        1 / (1 - e^-alpha)   2 / (1 - e^-alpha)        .005
E.4, E.5  e T^{1+gamma} zeta(1+gamma)   2 T^{1+alpha}/alpha  (2T)^{1+alpha} / alpha    .01
E.6       C e zeta(1 + 10^-4)           2^{2+alpha} / alpha  the same                  .01

gamma is .01 in E.1, E.2, E.4, E.5, and .01 beta in E.3. Corrected:
E.1: sigma_T = e^{-alpha T} (1 - e^{-alpha}); 1 - 1/e is printed for its last factor.
E.3: sigma_T is half of that; the 2^n is lost.
E.4: (T + 1)^{n (1 + alpha)} <= (2T)^{n (1 + alpha)}; 2^n T^{n (1 + alpha)} is printed.
E.3 and E.6: |rho(t)| is at most C e^{-beta t} and C t^{-beta}, n at most 99 beta and .99 beta - 1.

The bump. Psi^(k) = P_k(x) (1 - x^2)^{-2k} Psi(x) with the integer polynomials P_0 = 1 and
P_{k+1} = (1 - x^2)^2 P_k' + (4k x (1 - x^2) - 2x) P_k. Since Psi^(k) vanishes at -1 and 1, its
absolute value is largest at a zero of P_{k+1}. These are isolated with proof, so that M(n) is known
to any precision, from above and from below.

Every n. Let |Psi^(k)| be largest at the distance d from the nearer of -1 and 1. All derivatives
vanish there, so by Taylor's theorem max |Psi^(k)| <= max |Psi^(k+l)| d^l / l!, and the bound for
n = k + l is at least l! (growth / (d m))^l times that for k. The least of these factors is that of
l = floor(d m / growth), and d falls with k: finitely many n decide.
"""

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from repro.numerics.exact import rational
from repro.numerics.logarithms import ball

BITS = 320  # of the balls; the twentieth derivative still has 200 good ones
FEW = 8  # setting: values of n that bring the number of heads near enough to its minimum
precisely = flint.ctx.workprec(BITS)


@functools.cache
def numerator(k: int) -> flint.fmpz_poly:
    """P_k, where Psi^(k) = P_k(x) (1 - x^2)^{-2k} Psi(x)."""
    x = flint.fmpz_poly([0, 1])
    if k == 0:
        return x**0
    P, w = numerator(k - 1), 1 - x**2
    return w**2 * P.derivative() + (4 * (k - 1) * x * w - 2 * x) * P


def bump(k: int, x: flint.arb) -> flint.arb:
    """Psi^(k)(x) for |x| < 1."""
    w = 1 - x**2
    return numerator(k)(x) * (-1 / w).exp() / w ** (2 * k)


@functools.cache
@precisely
def peak(k: int) -> tuple[flint.arb, flint.arb]:
    """max |Psi^(k)|, and the distance of a place where it is attained from the nearer end."""
    zeros: Any = numerator(k + 1).complex_roots()  # of each: a ball, and how often it is a zero
    inside = [zero.real for zero, _ in zeros if zero.imag == 0 and abs(zero.real) < 1]
    place = max(inside, key=lambda x: float(abs(bump(k, x))))
    return functools.reduce(flint.arb.max, (abs(bump(k, x)) for x in inside)), 1 - abs(place)


@precisely
def largest_derivative(n: int) -> flint.arb:
    """M(n)."""
    return functools.reduce(flint.arb.max, (peak(k)[0] for k in range(n + 1)))


@dataclass(frozen=True)
class Bound:
    """m heads -> front * M(n) * (growth / m)^n, for 1 <= n <= last (every n if last is None)."""

    front: flint.arb
    growth: flint.arb
    last: int | None = None

    def __post_init__(self) -> None:
        if self.last == 0:
            raise ValueError("the lemma admits no n for so small a beta")

    @precisely
    def __call__(self, m: int, n: int) -> flint.arb:
        return self.front * largest_derivative(n) * (self.growth / m) ** n

    @precisely
    def least(self, m: int) -> flint.arb:
        """The least bound for m heads over all n that the lemma admits."""
        return _least(self._candidates(m))

    @precisely
    def best_n(self, m: int) -> int:
        """The n whose bound for m heads is the least."""
        return 1 + int(np.argmin([float(bound) for bound in self._candidates(m)]))

    @precisely
    def heads(self, level: Any = 1) -> int:
        """The least m for which the bound, at the best n, is below `level`."""
        few = range(1, min(FEW, self.last or FEW) + 1)
        enough = _least(self._threshold(n, level) for n in few)
        n = len(few)
        while n != self.last and not self._settled(enough, n, ball(level)):
            n += 1
        least = _least(self._threshold(k, level) for k in range(1, n + 1))
        whole = least.floor().unique_fmpz()
        if whole is None:
            raise ArithmeticError(f"{least} is too near to an integer for {BITS} bits")
        return int(whole) + 1

    def _threshold(self, n: int, level: Any) -> flint.arb:
        """front * M(n) * (growth / m)^n < level for every m above this."""
        root = flint.arb(flint.fmpq(1, n))
        return self.growth * (self.front * largest_derivative(n) / ball(level)) ** root

    def _candidates(self, m: int) -> list[flint.arb]:
        """The bounds for n = 1, 2, ..., so far that no further n has a smaller one."""
        found = [self(m, 1)]
        while len(found) != self.last and not self._settled(m, len(found), _least(found)):
            found.append(self(m, len(found) + 1))
        return found

    def _settled(self, m: Any, k: int, level: flint.arb) -> bool:
        """Whether no n beyond k has a bound below `level` for m heads (see above)."""
        height, distance = peak(k)
        factor, reach = flint.arb(1), distance * m / self.growth
        for l in itertools.count(1):  # the least of l! / reach^l
            if l >= reach:
                break
            factor = factor * l / reach
        rises = largest_derivative(k - 1) <= height
        return rises and self(m, k) * factor >= level


def _least(balls: Iterable[flint.arb]) -> flint.arb:
    return functools.reduce(flint.arb.min, balls)


@precisely
def exponential_delta(T: int, *, printed: bool = False) -> Bound:
    """Lemmas E.1 and E.2, for the indicator of T."""
    alpha = gamma = flint.arb(1) / 100
    step = 1 - (-(flint.arb(1) if printed else alpha)).exp()
    return Bound((1 + gamma * T).exp() / (1 - (-gamma).exp()), (alpha * T).exp() / step)


@precisely
def power_delta(T: int, *, printed: bool = False) -> Bound:
    """Lemmas E.4 and E.5, for the indicator of T."""
    alpha = gamma = flint.arb(1) / 100
    two = flint.arb(2) if printed else flint.arb(2) ** (1 + alpha)
    front = flint.arb(1).exp() * flint.arb(T) ** (1 + gamma) * (1 + gamma).zeta()
    return Bound(front, two * flint.arb(T) ** (1 + alpha) / alpha)


@precisely
def exponential_kernel(C: Any, beta: Any, *, printed: bool = False) -> Bound:
    """Lemma E.3, for |rho(t)| <= C e^{-beta t}, beta rational."""
    alpha, gamma = flint.arb(1) / 200, ball(beta) / 100
    last = int((99 * rational(beta)).floor())
    front = ball(C) * flint.arb(1).exp() / (1 - (-gamma).exp())
    return Bound(front, (1 if printed else 2) / (1 - (-alpha).exp()), last)


@precisely
def power_kernel(C: Any, beta: Any) -> Bound:
    """Lemma E.6, for |rho(t)| <= C t^{-beta}, beta rational."""
    alpha, last = flint.arb(1) / 100, int((99 * rational(beta) / 100 - 1).floor())
    front = ball(C) * flint.arb(1).exp() * (1 + flint.arb(1) / 10**4).zeta()
    return Bound(front, flint.arb(2) ** (2 + alpha) / alpha, last)
