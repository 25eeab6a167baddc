"""Lemmas E.1 and E.2: sums of exponentials that single out one instant; two findings of our own.

T >= 1 is the instant, m or H the number of exponentials, alpha the spacing of the exponents and
gamma the first of them, q = e^{-alpha}, j = H - T.

The construction of the proof (`bump_error`). Psi_T is a bump of height e^{gamma T} around
mu_T = e^{-alpha T} that vanishes at all other e^{-alpha t}; with a polynomial Q_m for it,
P_m(t) = e^{-gamma t} Q_m(e^{-alpha t}). The proof needs some Q_m that is uniformly close; we take
the interpolant at Chebyshev's points, which is the best one up to a factor 2 + (2/pi) log m.

Interpolation (`Interpolant`, finding heads-equal-T). phi_H = sum_h alpha_h q^{ht} with phi_H(i) = 1
for i = T and 0 for the other i < H is
    phi_H(t) = q^{t-T} prod_{i != T} (q^t - q^i) / (q^T - q^i),        0 <= i < H.
For t = H + s, s >= 0, all q^t - q^i are negative, so that the sign is (-1)^{j-1} for every s and
the l1 error is |sum_h alpha_h q^{hH} / (1 - q^h)|, a rational number if q is. Factors i = T - r are
(1 - q^{j+s+r}) / (1 - q^r), factors i = T + r are -q^r (1 - q^{j+s-r}) / (1 - q^r), hence
    |phi_H(H + s)| = q^{j(j+1)/2 + s} binom(T+j+s, T)_q binom(j-1+s, s)_q
with Gauss's binomials. Each is at most 1 / (q; q)_inf, and the first increases with T to
1 / (q; q)_{j+s}. So the error for H = T + j increases with T, and with
1 / (1 - q^{j+s}) = sum_k q^{k(j+s)} and sum_s z^s / (q; q)_s = 1 / (z; q)_inf its limit is
    E_j = q^{j(j+1)/2} / ((q; q)_{j-1} (q; q)_inf) sum_{k >= 0} q^{jk} (q; q)_k
        <= q^{j(j+1)/2} / ((1 - q) (q; q)_inf^2).

Lemma E.1 with its least constant (`smallest_constant`). As q -> 0 the last bound tends to 0 even
for j = 1. So for m > T any accuracy is reached; for m <= T nothing beats 0, whose error is 1
(finding heads-necessary). Hence the lemma holds if and only if C(n) >= T^n e^{-0.01 (n+1) T} for
every T.

Lemma E.2 (`Interpolant.moved`, `heads.moving`). With psi(u) = sum_k alpha_k e^{-beta_k u} the
error for B is the sum of |I{u = 0} - psi(u)| over u >= -B: it grows with B, the worst B is T, and
the best psi is that of Lemma E.1 moved by T, alpha_k e^{-beta_k T}. B = 0 is covered.

Weights (`weight_bound`, finding weight-growth). Let p(u) = T_N(1 - 2u) = sum_t p_t u^t, |p| <= 1 on
[0, 1]. Testing phi = sum_h alpha_h u_h^t with p gives
    sum_h |alpha_h| >= |sum_h alpha_h p(u_h)| = |sum_t p_t phi(t)| >= |p_T| - error max_t |p_t|.
p_t = (-4)^t N/(N+t) binom(N+t, 2t) alternates, so sum_t |p_t| = T_N(3) >= (1 + sqrt 2)^{2N} / 2;
and |p_{t+1}| >= |p_t| if and only if 4t^2 + 3t + 1 <= 2N^2. So |p_T| is the largest if N^2 lies
between L = 2T^2 - (5T - 2)/2 and U = 2T^2 + (3T + 1)/2. The largest N with N^2 <= U (`degree`) has
N > sqrt(U) - 1 > sqrt(2) T - 1/2 and N^2 > U - 2 sqrt(U) + 1 >= L for every T >= 1. With this N
    sum_h |alpha_h| >= (1 - error) T_N(3) / (N + 1) > (1 - error) G^T / (2 (1 + sqrt 2) (N + 1)),
where G = (1 + sqrt 2)^{2 sqrt 2} = 12.09...
"""

import functools
import itertools
import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.polynomial import Chebyshev

from repro.numerics.exact import rational
from repro.numerics.logarithms import Log

BITS = 256
LITERAL = 0.01  # alpha = gamma, chosen at the end of the proof of Lemma E.1


def bump(x: np.ndarray, T: int, alpha: float, gamma: float) -> np.ndarray:
    """Psi_T: e^{gamma T} at mu_T = e^{-alpha T}, 0 from mu_T -+ sigma_T on."""
    mu = math.exp(-alpha * T)
    sigma = mu - math.exp(-alpha * (T + 1))
    w = 1 - ((x - mu) / sigma) ** 2
    inside = w > 0
    return np.where(inside, np.exp(gamma * T + 1 - 1 / np.where(inside, w, 1)), 0.0)


def bump_error(T: int, m: int, *, alpha: float = LITERAL, gamma: float = LITERAL) -> float:
    """l1 distance of P_m from the indicator of T, in float64, rounded up by what is omitted.

    Clenshaw's sum is off by at most 4 m^2 eps sum |c| (a generous count of its roundings), and
    |Q_m| <= sum |c| bounds the instants beyond the window.
    """
    Q = Chebyshev.interpolate(bump, m - 1, domain=[0, 1], args=(T, alpha, gamma))  # Q_m
    t = np.arange(T + int(40 / gamma))  # setting: what is left out is below e^-40
    P = np.exp(-gamma * t) * Q(np.exp(-alpha * t))
    size, total = np.abs(Q.coef).sum(), 1 / -math.expm1(-gamma)
    left_out = math.exp(-gamma * len(t)) + 4 * m**2 * 2.0**-53
    return float(np.abs(P - (t == T)).sum() + size * total * left_out)


@functools.cache
@flint.ctx.workprec(BITS)
def smallest_constant(n: int, more: int = 0) -> flint.arb:
    """max over T of (T + more)^n e^{-0.01 (n+1) T}; with `more` = 0 the least C(n) of Lemma E.1."""
    top = 100 * n // (n + 1) - more  # the maximum is at T + more = 100 n / (n + 1)
    return functools.reduce(flint.arb.max, constant_terms(n, (top, top + 1), more))


def constant_terms(n: int, Ts: Iterable[int], more: int) -> list[flint.arb]:
    """(T + more)^n e^{-0.01 (n+1) T} for each T."""
    return [(T + more) ** n * (-flint.arb((n + 1) * T) / 100).exp() for T in Ts]


@dataclass(frozen=True)
class Interpolant:
    """sum_h alpha_h q^{ht}, h = 1, ..., H, which is 1 at T and 0 at the other t < H; exact."""

    T: int
    H: int
    q: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", rational(self.q))

    @cached_property
    def alphas(self) -> tuple[flint.fmpq, ...]:
        x, others = flint.fmpq_poly([0, 1]), [i for i in range(self.H) if i != self.T]
        product = functools.reduce(lambda p, i: p * (x - self.q**i), others, x)
        at_T = product(self.q**self.T)
        return tuple(product[h] / at_T for h in range(1, self.H + 1))

    @cached_property
    def error(self) -> flint.fmpq:
        """The l1 distance from the indicator of T."""
        return abs(self.tail(self.H))

    @cached_property
    def weight(self) -> flint.fmpq:
        """sum_h |alpha_h|."""
        return sum(map(abs, self.alphas), flint.fmpq(0))

    def __call__(self, t: int) -> flint.fmpq:
        terms = enumerate(self.alphas, start=1)
        return sum((a * self.q ** (h * t) for h, a in terms), flint.fmpq(0))

    def tail(self, start: int) -> flint.fmpq:
        """The sum of the values at t >= start; all have one sign if start >= H."""
        terms = enumerate(self.alphas, start=1)
        sums = (a * self.q ** (h * start) / (1 - self.q**h) for h, a in terms)
        return sum(sums, flint.fmpq(0))

    @property
    def exponents(self) -> tuple[Log, ...]:
        """beta_h = h log(1/q), exactly."""
        return tuple(Log(1 / self.q**h) for h in range(1, self.H + 1))

    def moved(self) -> tuple[flint.fmpq, ...]:
        """alpha_h q^{hT}: the coefficients of Lemma E.2, for functions of t - B."""
        return tuple(a * self.q ** (h * self.T) for h, a in enumerate(self.alphas, start=1))

    def moved_error(self, B: int) -> flint.fmpq:
        """sum over t >= 0 of |I{t = B} - psi(t - B)|, psi(u) = phi(u + T)."""
        near = range(B + self.H - self.T)
        return sum((abs(self(t - B + self.T) - int(t == B)) for t in near), self.error)


def accurate(T: int, H: int, level: Any) -> Interpolant:
    """The interpolant with the largest q = 1/2, 1/4, 1/8, ... whose error is at most `level`."""
    finer = (Interpolant(T, H, flint.fmpq(1, 2**k)) for k in itertools.count(1))
    return next(found for found in finer if found.error <= rational(level))


def interpolation_bound(j: int, q: Any) -> flint.fmpq:
    """q^{j(j+1)/2} / ((1 - q) (q; q)_inf^2), rounded up: for every T, with H = T + j heads."""
    q = rational(q)
    with flint.ctx.workprec(BITS):
        bound = flint.arb(q ** (j * (j + 1) // 2) / (1 - q)) / infinite_factorial(q) ** 2
    with flint.ctx.workprec(64):
        return (+bound).upper().fmpq()


@flint.ctx.workprec(BITS)
def interpolation_limit(j: int, q: Any) -> flint.arb:
    """E_j, the limit, and supremum, of the error for H = T + j heads as T grows."""
    q, factorials = rational(q), _factorials(rational(q))
    K = len(factorials)
    total = sum((flint.arb(q ** (j * k) * f) for k, f in enumerate(factorials)), flint.arb(0))
    total += flint.arb(0).union(flint.arb(q ** (j * K) / (1 - q**j)))
    front = flint.arb(q ** (j * (j + 1) // 2)) / factorials[j - 1]
    return front * total / infinite_factorial(q)


@flint.ctx.workprec(BITS)
def infinite_factorial(q: Any) -> flint.arb:
    """(q; q)_inf, between (q; q)_K (1 - q^{K+1} / (1 - q)) and (q; q)_K."""
    q, factorials = rational(q), _factorials(rational(q))
    rest = flint.arb(0).union(flint.arb(q ** len(factorials) / (1 - q)))
    return flint.arb(factorials[-1]) * (1 - rest)


@functools.cache
def _factorials(q: flint.fmpq) -> list[flint.fmpq]:
    """(q; q)_k = (1 - q) ... (1 - q^k) for k = 0, ..., K, until the next factor is 1 - 2^-BITS."""
    K = next(K for K in itertools.count(1) if q ** (K + 1) < (1 - q) / 2**BITS)
    factors = (1 - q**k for k in range(1, K + 1))
    return list(itertools.accumulate(factors, operator.mul, initial=flint.fmpq(1)))


def chebyshev_coefficients(N: int) -> list[int]:
    """The integers p_t of T_N(1 - 2u) = sum_t p_t u^t."""
    sizes = (4**t * N * math.comb(N + t, 2 * t) // (N + t) for t in range(1, N + 1))
    return [1, *((-1) ** t * size for t, size in enumerate(sizes, start=1))]


@functools.cache
def _extremes(T: int) -> list[tuple[int, int]]:
    """|p_T| and max |p_t| of each degree N that is tried."""
    sizes = ([abs(p) for p in chebyshev_coefficients(N)] for N in range(T, 3 * T + 4))
    return [(some[T], max(some)) for some in sizes]


def weight_bound(T: int, error: Any) -> flint.fmpq:
    """sum_h |alpha_h| is no smaller if the l1 error is at most `error`; weight 0 has error 1."""
    bounds = (flint.fmpq(at_T) - rational(error) * most for at_T, most in _extremes(T))
    return max(flint.fmpq(0), *bounds)


def error_bound(T: int, weight: Any) -> flint.fmpq:
    """The other way round: no weights with this sum have a smaller l1 error."""
    bounds = ((at_T - rational(weight)) / most for at_T, most in _extremes(T))
    return max(flint.fmpq(0), *bounds)


def degree(T: int) -> int:
    """The largest N for which p_T is the largest coefficient of T_N(1 - 2u)."""
    return math.isqrt((4 * T**2 + 3 * T + 1) // 2)  # N^2 <= U
