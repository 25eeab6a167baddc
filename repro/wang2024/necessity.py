"""Finding heads-necessary: few exponentials, or few powers, are no better than none.

Let phi(t) = sum_h alpha_h u_h^t on t = 0, 1, ..., with H exponentials, 0 < u_h < 1, or phi(s) =
sum_h alpha_h s^-beta_h on s = 1, 2, ..., with H powers, beta_h > 1. Then ||I(. = T) - phi||_1 >= 1
if H <= T (exponentials) or H <= T - 1 (powers), whatever the exponents and the weights; phi = 0
attains it. One head more makes the error as small as one likes (below, and powers.py).

Test sequences. For real u_1, ..., u_k let p(x) = prod_i (x - u_i) = sum_i p_i x^i. Then
    x^(N-k) prod_i (x - u_i) (1 - u_i x) = sum_j a_|j| x^(N+j),   a_j = sum_i p_i p_{i+j},       (1)
since the second factors make x^k p(1/x). By Cauchy and Schwarz |a_j| <= a_0. So z_{N+j} = a_|j|/a_0
is a sequence with z_N = 1 and |z| <= 1, whose generating function vanishes at every u_i; it begins
at an index >= 0 if k <= N.

Exponentials. Take N = T and the u_h themselves, k = H <= T. Then sum_t z_t phi(t) = 0, and hence
||I(. = T) - phi||_1 >= sum_t z_t (I(t = T) - phi(t)) = z_T = 1.

Powers. s^-beta = int_0^1 v^(s-1) (log 1/v)^(beta-1) dv / Gamma(beta), so that phi(s) = int_0^1
v^(s-1) w(v) dv with w(v) = sum_h alpha_h (log 1/v)^(beta_h - 1) / Gamma(beta_h). As a sum of H
powers of log 1/v, w changes its sign at most H - 1 times (Descartes' rule for real exponents).
Take N = T - 1 and for the u_i the k <= H - 1 places where it does. The polynomial (1), call it f,
has the sign of prod_i (v - u_i) on (0, 1), so f w has one sign there. If it is positive add u = 1,
whose factor -(1 - v)^2 is negative; k + 1 <= H <= T - 1. So sum_s z_s phi(s) = int f w / a_0 <= 0,
with z_s the coefficient of v^(s-1), and ||I(. = T) - phi||_1 >= z_T - sum_s z_s phi(s) >= 1.

One sequence for all weights. There is also a z that is orthogonal to all H powers: choose p such
that f is. For a given second factor v^k p(1/v) this is a linear system for the first one, so p is a
fixed point (which exists, by Brouwer's theorem: the zeros of the solution lie in (0, 1) again).
The iteration converges quickly; its last step is not rounded, so that f is orthogonal exactly.

The same by counting zeros. G(x) = sum_t phi(t) x^t = sum_h alpha_h / (1 - u_h x). An error below 1
means |G(x) - x^T| < 1 = |x^T| on the unit circle, so that G has T zeros in the disc (Rouche), but
its numerator has degree H - 1. (For powers: a Stieltjes function int w(v) / (1 - vx) dv has at most
as many zeros outside [1, oo) as w has changes of sign.)

T + 1 exponentials. Put all T zeros at 0: G(x) = x^T prod_h 1 / (1 - u_h x), which is a sum of T + 1
exponentials that vanishes before T, is 1 at T and positive after. Its error is prod_h 1 / (1 - u_h)
- 1. With u_h = q^h this is less than prod_{i >= 1} 1 / (1 - q^i) - 1 for every T, and small with q.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import flint

from repro.numerics.exact import rationals
from repro.numerics.logarithms import Log

ROUNDED = 64  # setting: bits kept of p in the iteration
STEPS = 100  # five to forty are needed

Test = Mapping[int, flint.fmpq]  # z_t by t, 0 elsewhere


def against_exponentials(T: int, u: Sequence[Any]) -> Test:
    """z orthogonal to every u_h^t, t = 0, 1, ..., with z_T = 1 and |z| <= 1."""
    assert len(u) <= T, "the finding is about T exponentials at most"
    p = _monic(u)
    return _normalised(p, p, T)


def against_powers(T: int, exponents: Sequence[int]) -> Test:
    """z orthogonal to every s^-beta_h, s = 1, 2, ..., with z_T = 1 and |z| <= 1."""
    H = len(exponents)
    assert H < T, "the finding is about T - 1 powers at most"
    p = _monic([flint.fmpq(i, H + 1) for i in range(1, H + 1)])  # setting: where it begins
    for _ in range(STEPS):
        solved = _orthogonal(p, T, exponents)
        z = _normalised(solved, p, T)
        if max(map(abs, z.values())) <= 1:
            return z
        p = [flint.fmpq(math.floor(c * 2**ROUNDED), 2**ROUNDED) for c in solved]
    raise ArithmeticError(f"no test sequence against {list(exponents)} after {STEPS} steps")


def unseen(rpe: str, T: int, bases: Sequence[int]) -> tuple[list[Any], Test]:
    """Slopes of the heads b^-s (lin) or s^-b (log), and a past z that they do not see: z_T = 1.

    z_0 = 0 as well, which the residual would show: lin takes the z of T - 1 and moves it by one.
    """
    if rpe == "log":
        return list(bases), against_powers(T, bases)
    z = against_exponentials(T - 1, [flint.fmpq(1, b) for b in bases])
    return [Log(b) for b in bases], {t + 1: v for t, v in z.items()}


def _monic(zeros: Sequence[Any]) -> list[flint.fmpq]:
    """The coefficients of prod (x - u), that of x^0 first."""
    factors = (flint.fmpq_poly([-u, 1]) for u in rationals(zeros))
    return math.prod(factors, start=flint.fmpq_poly([1])).coeffs()


def _orthogonal(p: list[flint.fmpq], T: int, exponents: Sequence[int]) -> list[flint.fmpq]:
    """The monic g with int v^(T-1-H) g(v) v^H p(1/v) (log 1/v)^(beta_h - 1) dv = 0 for all h."""
    H = len(exponents)
    moments = [
        [
            sum((p[H - i] / flint.fmpq(T - H + i + j) ** beta for i in range(H + 1)), flint.fmpq(0))
            for j in range(H + 1)
        ]
        for beta in exponents
    ]
    matrix = flint.fmpq_mat(H, H, [row[j] for row in moments for j in range(H)])
    g = matrix.solve(flint.fmpq_mat(H, 1, [-row[H] for row in moments]))
    return [*g.entries(), flint.fmpq(1)]


def _normalised(g: list[flint.fmpq], p: list[flint.fmpq], N: int) -> Test:
    """The coefficients of x^(N-k) g(x) x^k p(1/x) by exponent, divided by that of x^N."""
    k = len(p) - 1
    product = (flint.fmpq_poly(g) * flint.fmpq_poly(p[::-1])).coeffs()
    return {N - k + i: c / product[k] for i, c in enumerate(product)}


def shortest(T: int, u: Sequence[Any]) -> tuple[flint.fmpq, ...]:
    """The weights of T + 1 exponentials whose generating function is x^T prod_h 1 / (1 - u_h x)."""
    bases = rationals(u)
    one = flint.fmpq(1)
    return tuple(v**-T / math.prod((1 - w / v for w in bases if w != v), start=one) for v in bases)


def shortest_error(u: Sequence[Any]) -> flint.fmpq:
    """The l1 error of `shortest`, prod_h 1 / (1 - u_h) - 1."""
    return 1 / math.prod((1 - v for v in rationals(u)), start=flint.fmpq(1)) - 1


def zeros_in_disc(u: Sequence[Any], weights: Sequence[Any]) -> int:
    """How many zeros G(x) = sum_h alpha_h / (1 - u_h x) has in |x| < 1; none may be on the circle.

    The numerator's zeros, isolated in balls.
    """
    factors, numerator = [flint.fmpq_poly([1, -v]) for v in rationals(u)], flint.fmpq_poly([0])
    for h, weight in enumerate(rationals(weights)):
        others = factors[:h] + factors[h + 1 :]
        numerator += weight * math.prod(others, start=flint.fmpq_poly([1]))
    zeros: Any = numerator.complex_roots()
    sizes = [(abs(zero), times) for zero, times in zeros]
    if any(size.overlaps(flint.arb(1)) for size, _ in sizes):
        raise ArithmeticError("a zero is too near to the unit circle to tell on which side it is")
    return sum(times for size, times in sizes if size < 1)
