"""Corollary 3.7: every continuous function on the cube is a uniform limit of such models.

Proof, for every continuous f on [0, 1]^d. By Weierstrass' theorem (quoted; the second inequality
below proves it, with a rate) there are polynomials Q_q of degree at most q with max |Q_q - f| -> 0.
The cube lies in the ball of radius B = d^(1/2). By Theorem 3.5 a model with q blocks has C^q = Q_q
there, so max |C^q - f| = max |Q_q - f| -> 0. Every polynomial here goes through these weights.

How fast the error falls (Jackson). Let f have Lipschitz constant L_i in x_i on a cube with edges of
length 2r. Then
    d = 1:   E_q(f)  <= (pi/2) r L / (q + 1)                   (Favard; Akhiezer and Krein 1937),
    any d:   E_dm(f) <= (pi^2/2) r (L_1 + ... + L_d) / (m + 2).
Proof of the second. The kernel K >= 0 of Fejer and Korovkin is an even trigonometric polynomial of
degree m with mean 1 and first Fourier coefficient cos(pi / (m+2)). Put x_i = centre + r cos t_i and
convolve with K in every t_i, one after the other. Each convolution makes f a polynomial of degree m
in its x_i, keeps the Lipschitz constants in the others, since K >= 0 has mean 1, and moves f by at
most r L_i times the mean of |s| K(s). By s^2 <= (pi^2/2)(1 - cos s) and Cauchy-Schwarz that mean is
at most (pi^2/2)^(1/2) (1 - cos(pi / (m+2)))^(1/2) <= pi^2 / (2 (m+2)). The total degree is dm. And
a continuous f is a uniform limit of Lipschitz ones, f_c(x) = min over y of f(y) + c |x - y|.

Examples in one variable: f(2x - 1) on [0, 1], for three f on [-1, 1].
    |x|             E_q ~ 0.28017 / q                                   (Bernstein 1914)
    1/(1 + 25 x^2)  E_q = (25/52) rho^-q for even q, rho = (1 + sqrt 26) / 5: with y = 2 x^2 - 1 it
                    is (2/25) / (y + 27/25), and Chebyshev's closed form for 1/(y + a) applies,
                    E_m = (a - (a^2 - 1)^(1/2))^m / (a^2 - 1), a = 27/25, m = q/2
    exp(sin 3x)     entire: E_q falls faster than every geometric sequence

How far float64 follows. For d = 1 Theorem 3.5 reads out sum_s c_s x^s, and the round-off is about
u sum_s |c_s|, and at most `tower.output_bound`: float64 ends where this passes E_q. For polynomials
bounded by 1 the c_s can grow like (1 + sqrt 2)^q on [-1, 1] and like (3 + 2 sqrt 2)^q on [0, 1]
(Chebyshev's do).
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np
import torch
from numpy.polynomial import chebyshev

from repro.fang2022 import powers, tower
from repro.fang2022.model import Array, Transformer
from repro.fang2022.polynomials import Polynomial
from repro.numerics import minimax
from repro.numerics.exact import annihilator, rational, rationals, to_float
from repro.numerics.minimax import Target

BITS = 512  # for values of f where float64 has no digits left


@dataclass(frozen=True)
class Example:
    """A continuous function on [-1, 1] and its Lipschitz constant."""

    target: Target
    lipschitz: float


GOLDEN = (math.sqrt(5) - 1) / 2  # where cos y e^(sin y) is largest, cos^2 y = sin y = GOLDEN
STEEPEST = 3 * math.sqrt(GOLDEN) * math.exp(GOLDEN)
EXAMPLES = {
    "kink": Example(Target((-1.0, 0.0, 1.0), (lambda x: -x, lambda x: x)), 1.0),
    "Runge": Example(Target((-1.0, 1.0), (lambda x: 1 / (1 + 25 * x * x),)), 15 * math.sqrt(3) / 8),
    "smooth": Example(Target((-1.0, 1.0), (lambda x: np.exp(np.sin(3 * x)),)), STEEPEST),
}
RHO = (1 + math.sqrt(26)) / 5


def runge_error(q: int) -> float:
    """E_q(1/(1 + 25 x^2)) on [-1, 1], in closed form; an even function gains nothing at odd q."""
    return 25 / 52 * RHO ** -(q // 2 * 2)


def jackson_bound(q: int, radius: float, *lipschitz: float) -> float:
    """No E_q of a function with these Lipschitz constants on a cube exceeds this."""
    d = len(lipschitz)
    if d == 1:
        return math.pi / 2 * radius * lipschitz[0] / (q + 1)
    return math.pi**2 / 2 * radius * sum(lipschitz) / (q // d + 2)


@dataclass(frozen=True)
class Approximant:
    """The best polynomial of degree q, in rationals; in two variables within 2 % on the grid."""

    polynomial: Any  # fmpq_poly on [-1, 1], or Polynomial in two variables
    points: np.ndarray  # at which its error is +-lower, one more than there are monomials
    lower: float  # no polynomial of degree q has a smaller error
    upper: float | None = None  # this one has no larger error, if that was proved


@functools.cache
def approximant(target: Target, q: int) -> Approximant:
    """Remez's polynomial with its float64 coefficients; from balls where those have no digits."""
    try:
        best = minimax.best(target, q)
    except ArithmeticError:
        points = minimax.fine_alternation(target, q, bits=BITS)
        lower = minimax.lower_end(abs(minimax.level(target, points, bits=BITS)))
        return Approximant(minimax.levelled(target, points, bits=BITS), points, lower)
    return Approximant(best.polynomial(), best.points, best.lower, best.upper)


SHIFT, X = flint.fmpq_poly([-1, 2]), flint.fmpq_poly([0, 1])  # 2x - 1, and x


def composed(p: flint.fmpq_poly, inner: flint.fmpq_poly = SHIFT) -> Polynomial:
    """p(inner(x)); on [0, 1], unless told."""
    return Polynomial(1, {(s,): c for s, c in enumerate(p(inner).coeffs())})


def transformer(Q: Polynomial, q: int) -> Transformer:
    """Theorem 3.5's model of Q with q blocks, for |x| <= 1 or for the unit square."""
    return powers.construction(Q, RADIUS[Q.d], q=q, lifts=powers.roomy)


@functools.cache
def error_in_rationals(target: Target, q: int) -> float:
    """max |C^q - f(2x - 1)| for the exact model, at alternation points and between some of them."""
    found = approximant(target, q)
    model = transformer(composed(found.polynomial), q)
    some = np.unique(np.linspace(0, q + 1, min(q + 2, 5)).astype(int))
    between = (found.points[some[1:]] + found.points[some[1:] - 1]) / 2
    y = np.concatenate([found.points[some], between])  # in [-1, 1]
    out = model((1 + rationals(y)[:, None]) / 2)
    with flint.ctx.workprec(BITS):
        off = [abs(f - flint.arb(C)) for f, C in zip(target.balls(y), out, strict=True)]
    return max(map(minimax.upper_end, off))


def error_at_the_jump(q: int) -> flint.fmpq:
    """A control: the larger distance of C^q(1/2) from the two limits of sign(2x - 1) there."""
    sign = Target((-1.0, 0.0, 1.0), (lambda x: 0 * x - 1, lambda x: 0 * x + 1))
    p = minimax.levelled(sign, minimax.chebyshev_points(q))
    (C,) = transformer(composed(p), q)(rationals([["1/2"]]))
    return max(abs(C + 1), abs(C - 1))


def error_with_a_block_fewer(q: int, B: Any, x: np.ndarray) -> Any:
    """A control: the error against x^q of q - 1 blocks with the best beta, largest over x (N, 1).

    Their output is of degree q - 1; the nearest to x^q on [-B, B] is x^q - 2 (B/2)^q T_q(x/B), off
    by 2 (B/2)^q.
    """
    B = rational(B)
    T = minimax.chebyshev_polynomials(q, flint.fmpq_poly([0, 1 / B]))[q]
    best = Polynomial(1, {(a,): -2 * (B / 2) ** q * T[a] for a in range(q)})
    model = powers.construction(best, B, q=q)
    return max(abs(replace(model, blocks=model.blocks[:-1])(x) - x[:, 0] ** q))


def distance(values: np.ndarray, columns: np.ndarray) -> Any:
    """No combination of the n columns (n + 1, n) is nearer to the values (n + 1,) than this.

    The one w that annihilates the columns has w . e = w . values for every error e, and
    |w . e| <= |w|_1 max |e|.
    """
    w = annihilator(columns)
    return abs(w @ values) / np.abs(w).sum()


@dataclass(frozen=True)
class InFloat64:
    """Largest errors of a model in float64, and how large its round-off may be."""

    error: float  # against f
    rounding: float  # against the same polynomial in rationals
    bound: float  # of the round-off, proved


@functools.cache
def in_float64(target: Target, q: int, cube: str, device: str, points: int = 256) -> InFloat64:
    """On Chebyshev's grid of [0, 1] or [-1, 1], in multiples of 2^-20, so that no x is rounded."""
    p = approximant(target, q).polynomial
    y = np.round(2**20 * np.cos(np.arange(points + 1) * math.pi / points)) / 2**20
    Q, x = {"[0, 1]": (composed(p), (1 + y) / 2), "[-1, 1]": (composed(p, X), y)}[cube]
    return _measured(Q, q, x[:, None], target(y), 4, device)


def _measured(Q: Polynomial, q: int, x: Array, f: Array, every: int, device: str) -> InFloat64:
    """At x (N, d), where the target has the values f; the round-off at some of these points."""
    model, B = transformer(Q, q), RADIUS[Q.d]
    out = model.to(torch.float64, device)(torch.tensor(x, device=device)).cpu().numpy()
    rounding = float(np.abs(out[::every] - to_float(Q(rationals(x[::every])))).max())
    bound = tower.output_bound(model, B, "float64")
    return InFloat64(float(np.abs(out - f).max()), rounding, bound)


Curves = dict[str, list[tuple[int, float]]]  # by the names in pictures.py


def curves(name: str, qs: dict[str, Sequence[int]], device: str) -> Curves:
    """All errors of one example, against the degrees that `qs` has for each kind of arithmetic."""
    target, exact = EXAMPLES[name].target, qs["rationals"]
    found: Curves = {
        "jackson": [(q, jackson_bound(q, 1, EXAMPLES[name].lipschitz)) for q in exact],
        "rationals": [(q, error_in_rationals(target, q)) for q in exact],
    }
    for cube in ("[0, 1]", "[-1, 1]"):
        found[f"float64 {cube}"] = [
            (q, in_float64(target, q, cube, device).error) for q in qs[cube]
        ]
    return found


# |f_x| <= e^g ((y - 2x)^2 + 4)^(1/2), g = -(y - 2x)^2/4 - 7 y^2/4, and e^-s (1 + s)^(1/2) <= 1;
# |f_y| <= e^g ((x - 4y)^2 + 1)^(1/2), g = -(x - 4y)^2/8 - 7 x^2/8, is largest for (x - 4y)^2 = 3.
PLANE_LIPSCHITZ = 2.0, 2 * math.exp(-3 / 8)
# By d: [0, 1]^d lies in the ball of this radius; 99/70 is the square root of 2, rounded up.
RADIUS = {1: flint.fmpq(1), 2: flint.fmpq(99, 70)}


def plane_values(points: np.ndarray) -> np.ndarray:
    """f(x, y) = exp(xy - x^2 - 2 y^2) cos(2x + y); (N, 2) -> (N,), floats or balls."""
    x, y = points[:, 0], points[:, 1]
    return np.exp(x * y - x * x - 2 * y * y) * np.cos(2 * x + y)


def plane_grid(cells: int) -> np.ndarray:
    """Chebyshev's grid of [0, 1]^2, dense at the edges, in multiples of 1/1024; (N, 2)."""
    axis = np.round(512 - 512 * np.cos(np.arange(cells + 1) * math.pi / cells)) / 1024
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


@functools.cache
def plane_approximant(q: int, cells: int) -> Approximant:
    """By linear programs; `lower` from the points that the last one found, in exact numbers."""
    points = plane_grid(cells)
    degrees = [(i, j) for i in range(q + 1) for j in range(q + 1 - i)]
    one, other = chebyshev.chebvander(2 * points.T - 1, q)  # (N, q+1) each
    columns = np.stack([one[:, i] * other[:, j] for i, j in degrees], axis=1)
    # setting: where the exchange of rows begins
    coarse = np.arange(len(points)).reshape(cells + 1, -1)[::2, ::2].ravel()
    found, rows = minimax.best_on_grid(columns, plane_values(points), coarse, close=0.02)
    active = points[rows[np.abs(found.weights) > 1e-9]]
    polynomial = _polynomial(found.coefficients, degrees, q)
    return Approximant(polynomial, active, _certified(active, degrees))


@functools.cache
def plane_float64(q: int, cells: int, device: str) -> InFloat64:
    """The model of two variables in float64, on the grid."""
    Q, points = plane_approximant(q, cells).polynomial, plane_grid(cells)
    return _measured(Q, q, points, plane_values(points), 101, device)


@functools.cache
def plane_error_in_rationals(q: int, cells: int) -> float:
    """max |C^q - f| for the exact model, at some of the points where the error alternates."""
    found = plane_approximant(q, cells)
    some = found.points[:: len(found.points) // 4]
    out = transformer(found.polynomial, q)(rationals(some))
    return float(np.abs(to_float(out) - plane_values(some)).max())


def plane_curves(qs: Sequence[int], cells: int, device: str) -> Curves:
    return {
        "jackson": [(q, jackson_bound(q, 0.5, *PLANE_LIPSCHITZ)) for q in qs],
        "rationals": [(q, plane_error_in_rationals(q, cells)) for q in qs],
        "float64 [0, 1]": [(q, plane_float64(q, cells, device).error) for q in qs],
    }


def _certified(active: np.ndarray, degrees: list[tuple[int, int]]) -> float:
    """The least error at these points over all polynomials with these degrees, f in balls."""
    k, l = rationals(active * 1024).T
    columns = np.stack([k**i * l**j for i, j in degrees], axis=1)
    with flint.ctx.workprec(BITS):
        bound = distance(plane_values(np.vectorize(flint.arb, otypes=[object])(active)), columns)
    return minimax.lower_end(bound)


def _polynomial(coefficients: np.ndarray, degrees: list[tuple[int, int]], q: int) -> Polynomial:
    """sum c_ij T_i(2x - 1) T_j(2y - 1), multiplied out in rationals."""
    shifted = minimax.chebyshev_polynomials(q, SHIFT)
    T = rationals([[p[a] for a in range(q + 1)] for p in shifted])  # row i: T_i(2x - 1)
    c = 0 * T
    c[tuple(np.transpose(degrees))] = rationals(coefficients)
    return Polynomial(2, dict(np.ndenumerate(T.T @ c @ T)))
