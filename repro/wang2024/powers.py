"""Lemmas E.4 and E.5: sums of powers that single out one instant, in exact rationals.

The paper's alpha = gamma = 0.01 are integers here, `step` and `first` - 1: everything is rational.
Let p be the peak, Z a finite set of other positive rationals, and a >= 2, b >= 1 integers. Then

    phi(y) = (p / y)^a prod_{z in Z} (y^-b - z^-b) / (p^-b - z^-b)                            (1)

is a sum of the |Z| + 1 powers y^-a, y^-(a+b), ..., with phi(p) = 1 and phi(z) = 0. It has no other
zero y > 0, so that it keeps its sign beyond the last of p and Z, and the sum of |phi(t/B)| over the
integers t >= S there is |sum_k alpha_k B^(b_k) zeta(b_k, S)|, Hurwitz's zeta function.

Lemma E.4. p = T, Z = {1, ..., m} without T. Let first = step = cT, with c > 1, and m = T + j. For
s > m a factor z < T of (1) is at most 1 / (1 - (z/T)^(cT)) <= 1 / (1 - e^{-c (T-z)}), and a factor
z = T + l is at most r_l / (1 - r_l), r_l = (T / (T+l))^(cT) <= (1 + l)^-c. What is left is the sum
of (T/s)^(cT) over s > m, at most r_{j+1} (1 + (m+1) / (cT - 1)) by an integral. So, for every T,

    ||I(. = T) - phi||_1 <= R (2+j)^-c (1 + (j+2) / (c-1)) prod_{l=1}^j 1 / ((1+l)^c - 1),    (2)

R = prod_{i >= 1} 1 / (1 - e^{-ci}). Even j = 0 will do, since c may be large: T powers come as near
to the indicator of T as one likes. With fewer, nothing is better than 0 (necessity.py).
Lemma E.4 follows, with C(n) = 1 for every n: if m < T take phi = 0, whose error 1 is less than
T^{1.01 (n+1)} / m^n; if m >= T take c so large that (2) is less than that.

Lemma E.5. p = 1, Z = the fractions t/B < 1 with B <= T, all of which phi(t/B) must pass over. Since
|phi(y)| <= y^-b prod_z 1 / (1 - z^b) for y > 1 if first = step = b, the error is at most
prod_z 1 / (1 - z^b) times the sum of (T/t)^b over t > T, which tends to 0 as b grows. These are
1 + |Z| powers, about 3 T^2 / pi^2. The proof of the paper does with fewer when T is huge.

The proofs of the paper are right: at x = (B / (tT))^alpha the bump Psi_T, of half-width T^-alpha -
(T+1)^-alpha around T^-alpha, is 0 for every integer t != B, as tT/B is then at most T - 1 or at
least T + 1, and x -> x^-alpha is convex.
"""

import functools
import math
from dataclasses import dataclass

import flint

from repro.numerics import l1
from repro.numerics.exact import rational

GOOD_BITS = 64  # of every enclosure


@dataclass(frozen=True)
class Interpolant:
    """phi of (1). The fields are p, Z, a and b."""

    peak: flint.fmpq
    zeros: tuple[flint.fmpq, ...]
    first: int
    step: int

    @property
    def exponents(self) -> tuple[int, ...]:
        return tuple(self.first + self.step * k for k in range(len(self.zeros) + 1))

    @functools.cached_property
    def coefficients(self) -> tuple[flint.fmpq, ...]:
        """alpha_k: Lagrange's polynomial in y^-b, times p^a."""
        product, at_peak = flint.fmpq_poly([1]), self.peak**-self.step
        for zero in self.zeros:
            node = zero**-self.step
            product *= flint.fmpq_poly([-node, 1]) / (at_peak - node)
        return tuple(self.peak**self.first * c for c in product.coeffs())

    def __call__(self, y: flint.fmpq | int) -> flint.fmpq:
        """sum_k alpha_k y^-b_k, exactly."""
        x, value = rational(y) ** -self.step, flint.fmpq(0)
        for alpha in reversed(self.coefficients):
            value = value * x + alpha
        return value / rational(y) ** self.first

    def error(self, B: int = 1) -> flint.arb:
        """The sum over t = 1, 2, ... of |phi(t/B) - I(t/B = p)|, enclosed to 64 bits."""
        last = max((self.peak, *self.zeros)) * B
        S = int(last.p // last.q) + 1
        near = (abs(self(flint.fmpq(t, B)) - (self.peak * B == t)) for t in range(1, S))
        exact, bits = sum(near, flint.fmpq(0)), 2 * GOOD_BITS
        pairs = list(zip(self.coefficients, self.exponents, strict=True))
        while True:
            with flint.ctx.workprec(bits):
                terms = (a * flint.fmpq(B) ** b * flint.arb(b).zeta(flint.arb(S)) for a, b in pairs)
                found = exact + abs(sum(terms, flint.arb(0)))
            if found.rel_accuracy_bits() >= GOOD_BITS:
                return found
            bits *= 2


def fixed(T: int, heads: int, *, first: int = 2, step: int = 1) -> Interpolant:
    """Lemma E.4: 1 at T and 0 at all other integers up to `heads`."""
    zeros = tuple(flint.fmpq(t) for t in range(1, heads + 1) if t != T)
    return Interpolant(flint.fmpq(T), zeros, first, step)


def error_bound(extra: int, c: int) -> flint.arb:
    """The right-hand side of (2): for every T, with T + extra powers cT, 2cT, 3cT, ..."""
    q = (-flint.arb(c)).exp()
    below = math.prod((1 + k) ** c - 1 for k in range(1, extra + 1))
    rest = flint.fmpq(1 + extra + c, (2 + extra) ** c * (c - 1))  # (2+j)^-c (1 + (j+2) / (c-1))
    return flint.arb(rest / below) / euler_product(q)


def euler_product(q: flint.arb, factors: int = 64) -> flint.arb:
    """A lower bound of prod_{i >= 1} (1 - q^i); what the factors leave out is at most their sum."""
    product = math.prod((1 - q**i for i in range(1, factors + 1)), start=flint.arb(1))
    return product * (1 - q ** (factors + 1) / (1 - q))


@functools.cache
def farey(T: int) -> tuple[flint.fmpq, ...]:
    """The fractions t/B < 1 with B <= T, in increasing order."""
    return tuple(sorted({flint.fmpq(t, B) for B in range(1, T + 1) for t in range(1, B)}))


def adaptive(T: int, *, step: int) -> Interpolant:
    """Lemma E.5: 1 at y = 1 and 0 at every fraction t/B < 1 with B <= T."""
    return Interpolant(flint.fmpq(1), farey(T), step, step)


class SlowPowers(l1.Powers):
    """Powers barely above 1, such as the 1.01, 1.02, ... of the proof: times count up to 10^170."""

    def blocks(self, start: int) -> list[int]:
        starts = [start]
        while starts[-1] < 10**170:  # setting: how far
            starts.append(3 * starts[-1])  # setting: how many blocks
        return starts
