"""Lemma E.5 for every n, T and m, with an explicit constant.

A set of m powers serves all B <= T. Three ways to use them, for T >= 2:
1. phi = 0, whose error is 1.
2. One power for each fraction t/B <= 1 with B <= T, `fractions(T)` in all: any error (powers.py).
3. A needle. Let alpha = log 2 / log T and delta = 1 - (1 + 1/T)^-alpha. For integers t != B with
   B <= T put x = (B/t)^alpha and z = x - 1. Then delta <= |z| <= 1:
       0 < x <= B^alpha <= 2;    if t > B, x <= (T / (T+1))^alpha = 1 - delta;
       if t < B, x >= (T / (T-1))^alpha >= (1 + 1/T)^alpha = 1 / (1 - delta) >= 1 + delta.
   With Chebyshev's polynomial T_N let
       P(z) = T_N((1 + delta^2 - 2 z^2) / (1 - delta^2)) / T_N((1 + delta^2) / (1 - delta^2)).
   P(0) = 1. For delta <= |z| <= 1 the upper argument is in [-1, 1], so |P(z)| <= 1 / cosh(N theta)
   with e^theta = (1 + delta) / (1 - delta), theta >= 2 delta. Let phi(y) = y^-2 P(y^-alpha - 1), a
   sum of the 2N + 1 powers y^-(2 + alpha k). Then phi(1) = 1 and
       sum_(t != B) |phi(t/B)| <= sum_t (B/t)^2 / cosh(N theta) <= (pi^2/6) T^2 / cosh(N theta),
   for every B <= T. With N = floor((m-1)/2), so 2N >= m - 2, and A = (pi^2/3) T^2,
       error <= A e^(-(m-2) delta).                                                             (1)

Let m_0 = 2 + log(A)/delta, where (1) is 1, and mu = max(m_0, n/delta), from where on m^n times (1)
falls. For m <= mu take 1: m^n error <= mu^n. For m > mu take 3: m^n error <= mu^n as well. By 1 and
2, m^n error <= (fractions(T) - 1)^n, or as little more as one likes. So Lemma E.5 holds with
    C(n) = sup_T min(fractions(T) - 1, mu)^n / T^(1.01 (n+1)),                                  (2)
where T = 1 contributes 0. The supremum is finite for every n, since mu grows like T log(T)^2 only.

Beyond T_0 (`beyond`). 1 / (1 - e^-x) <= 1 + 1/x and log(1 + 1/T) >= 1/(T+1) give
    1/delta <= 1 + (T+1) log T / log 2.
So m_0 <= 2 + log(A) (1 + (T+1) log T / log 2), whose quotient by T log(T)^2 falls with T; and
log(T)^(2n) / T^(1.01 + 0.01 n) falls from log T = 2n / (1.01 + 0.01 n) on. If T_0 is beyond that,
and A > e^n there, so that mu = m_0, no T >= T_0 contributes more to (2) than this bound at T_0.
"""

import functools
import math

import flint

precisely = flint.ctx.workprec(128)
HUNDREDTH = flint.fmpq(1, 100)


def fractions(T: int) -> int:
    """How many fractions t/B <= 1 with B <= T there are, in lowest terms."""
    return sum(map(_in_lowest_terms, range(1, T + 1)))


@functools.cache
def _in_lowest_terms(B: int) -> int:
    return sum(math.gcd(t, B) == 1 for t in range(1, B + 1))


@precisely
def gap(T: int) -> flint.arb:
    """delta, for T >= 2."""
    return 1 - (1 + 1 / flint.arb(T)) ** -_alpha(T)


def _alpha(T: int) -> flint.arb:
    return flint.arb(2).log() / flint.arb(T).log()


@precisely
def useful(T: int, n: int) -> flint.arb:
    """mu: from so many powers on the needle is used."""
    delta = gap(T)
    return (2 + _log_A(T) / delta).max(n / delta)


def _log_A(T: int) -> flint.arb:
    return (flint.arb.pi() ** 2 / 3 * T**2).log()


@precisely
def demand(T: int, n: int) -> flint.arb:
    """What T asks of C(n) in (2)."""
    least = flint.arb(fractions(T) - 1)
    if T > 1:
        least = least.min(useful(T, n))
    return least**n / scale(T, n)


@precisely
def scale(T: int, n: int) -> flint.arb:
    """T^(1.01 (n+1)), with which the lemma's bound grows."""
    return flint.arb(T) ** (101 * HUNDREDTH * (n + 1))


@precisely
def beyond(T: int, n: int) -> flint.arb:
    """What no T' >= T exceeds in (2)."""
    log = flint.arb(T).log()
    if not (log * (101 + n) > 200 * n and _log_A(T) > n):
        raise ValueError(f"the bound for all T' >= T does not fall yet at T = {T}, n = {n}")
    inverse = 1 + (T + 1) * log / flint.arb(2).log()
    return (2 + _log_A(T) * inverse) ** n / scale(T, n)


@functools.cache
def constant(n: int, last: int) -> flint.arb:
    """C(n) of (2), in a ball: the T up to `last` one by one, the others by `beyond`."""
    found = functools.reduce(flint.arb.max, (demand(T, n) for T in range(1, last + 1)))
    if not beyond(last, n) <= found:
        raise ArithmeticError(f"T > {last} may ask for a larger C({n})")
    return found


@precisely
def promised(T: int, m: int) -> flint.arb:
    """(pi^2/6) T^2 / cosh(N theta), N = floor((m-1)/2): the needle's error is at most this."""
    delta = gap(T)
    theta = ((1 + delta) / (1 - delta)).log()
    return flint.arb.pi() ** 2 / 6 * T**2 / ((m - 1) // 2 * theta).cosh()


@flint.ctx.workprec(512)
def error(T: int, m: int, B: int, window: int) -> flint.arb:
    """The needle's l1 error for B: the terms up to the window, and sum (B/t)^2 |P| beyond it."""
    alpha, delta, N = _alpha(T), gap(T), (m - 1) // 2
    low, high = 1 - delta**2, 1 + delta**2
    top = (high / low).chebyshev_t(N)

    def size(t: int) -> flint.arb:
        y = flint.arb(B) / t
        return abs(y**2 * ((high - 2 * (y**alpha - 1) ** 2) / low).chebyshev_t(N)) / top

    inside = (size(t) for t in range(1, window + 1) if t != B)
    return sum(inside, flint.arb(B) ** 2 / (window * top))
