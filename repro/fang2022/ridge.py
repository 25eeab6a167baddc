"""Lemma 3.3: every polynomial is Q(0) plus a combination of powers (xi_k . x)^s.

The paper quotes the lemma (Zhou 2018) without directions. Here they are, with a proof.

Directions. Take distinct rational points (c_k, s_k) of the upper half of the unit circle, s_k > 0
(Pythagorean triples). N(1, q) = {1}, and for d >= 2
    N(d, q) = union over k = 0, ..., q of { (x', c_k y, s_k y) : (x', y) in N(d-1, k) }.
Each is a rational unit vector, since c_k^2 + s_k^2 = 1; there are n_q = C(d-1+q, q) of them, since
C(d-1+q, q) = sum over k <= q of C(d-2+k, k); and the first n_s are N(d, s), for every s <= q.

Claim. A form p of degree q that vanishes on N(d, q) is 0.
Proof, by induction on d + q; d = 1 is clear. The points with k = q lie on the hyperplane H where
l(x) = c_q x_d - s_q x_(d-1) is 0. On H, p is a form of degree q in (x', y) that vanishes on
N(d-1, q), hence is 0. So l divides p = l r. At the other points l = y (c_q s_k - s_q c_k) is not 0:
y is a product of sines, and the lines are distinct. So r, of degree q-1, vanishes on N(d, q-1).

The lemma follows. With <x^a, x^a> = a!/s! we have <p, (xi . x)^s> = p(xi), so the span of the
(xi . x)^s, xi in N(d, s), has no form orthogonal to it: it is P_s^h(R^d).

Coefficients. sum_k beta_k (xi_k . x)^q = Q means sum_k beta_k xi_k^a = <Q, x^a> =: m_a for all
|a| = q. The proof, read backwards, solves this without a matrix inverse (`_solve`):
1. Test with l r: the beta_k l(xi_k) off H solve the same problem for degree q-1 and the moments of
   r -> <Q, l r>.
2. Subtract those; what is left lives on H, a problem in d-1 variables, where y = x_d / s_q.
For d = 10, q = 5 (2002 directions) this takes seconds and numbers of some 100 bits.
"""

import functools
import itertools
import math
from collections.abc import Mapping

import flint
import numpy as np

from repro.fang2022.polynomials import Polynomial, bombieri, dimension, exponents, monomials
from repro.numerics.exact import rational_zeros, rationals, to_float, vector

Moments = Mapping[tuple[int, ...], flint.fmpq]  # by exponents


@functools.cache
def circle(count: int) -> tuple[tuple[flint.fmpq, flint.fmpq], ...]:
    """(0, 1), and points (+-a/c, b/c) from Pythagorean triples, the smallest c first."""
    legs = ((a, math.isqrt(c * c - a * a), c) for c in itertools.count(5) for a in range(1, c))
    triples = ((a, b, c) for a, b, c in legs if a * a + b * b == c * c and math.gcd(a, b) == 1)
    points = ((flint.fmpq(z, c), flint.fmpq(b, c)) for a, b, c in triples for z in (a, -a))
    return ((flint.fmpq(0), flint.fmpq(1)), *itertools.islice(points, count - 1))


@functools.cache
def directions(d: int, q: int) -> np.ndarray:
    """N(d, q): n_q rational unit vectors for every polynomial of degree at most q; (n_q, d)."""
    if d == 1:
        return rationals([[1]])
    lower = [directions(d - 1, k) for k in range(q + 1)]
    turned = zip(lower, np.array(circle(q + 1)), strict=True)  # y becomes (c_k y, s_k y)
    return np.concatenate([np.hstack([N[:, :-1], N[:, -1:] * point]) for N, point in turned])


def coefficients(Q: Polynomial, q: int) -> np.ndarray:
    """beta_{k,s} for the directions N(d, q), exactly; (n_q, q)."""
    beta = rational_zeros(dimension(Q.d, q), q)
    for s, moments in _moments(Q, q).items():
        beta[: dimension(Q.d, s), s - 1] = _solve(moments, Q.d, s)
    return beta


def _moments(Q: Polynomial, q: int) -> dict[int, Moments]:
    """The m_a of the part of degree s, for each s that has one."""
    if Q.degree > q:
        raise ValueError(f"Lemma 3.3 with q={q} needs a Q of degree <= {q}, got {Q.degree}")
    degrees = sorted({sum(a) for a in Q.coefficients} - {0})
    of = Q.coefficients
    return {s: {a: of.get(a, 0) * bombieri(a) for a in exponents(Q.d, s)} for s in degrees}


def _solve(m: Moments, d: int, q: int) -> np.ndarray:
    """beta with sum_k beta_k xi_k^a = m_a for all |a| = q, over the xi_k in N(d, q)."""
    if d == 1 or q == 0:
        return vector(list(m.values()))
    c, s = circle(q + 1)[q]
    off = directions(d, q - 1)
    lower = {
        (*a, i, j): c * m[*a, i, j + 1] - s * m[*a, i + 1, j] for *a, i, j in exponents(d, q - 1)
    }
    beta = _solve(lower, d, q - 1) / (c * off[:, -1] - s * off[:, -2])
    powers = monomials(np.delete(off, -2, axis=1), q)  # xi_k^(a', 0, j), for all (a', j)
    taken = flint.fmpq_mat(powers.tolist()) * flint.fmpq_mat(beta[:, None].tolist())
    left = {}  # of the moments on H
    for (*a, j), part in zip(exponents(d - 1, q), taken.entries(), strict=True):
        left[*a, j] = (m[*a, 0, j] - part) / s**j
    return np.concatenate([beta, _solve(left, d - 1, q)])


def solve(Q: Polynomial, xi: np.ndarray, q: int) -> np.ndarray:
    """beta_{k,s} for the given rational directions (n, d) by Gauss elimination; (n, q).

    Where n exceeds n_s, the first n_s independent directions carry the part of degree s.
    """
    beta = rational_zeros(len(xi), q)
    for s, moments in _moments(Q, q).items():
        rows = monomials(xi, s)  # (n_s, n)
        chosen = independent(rows)
        if len(chosen) < len(rows):
            raise ValueError(
                f"Lemma 3.3 needs n_{s} = {len(rows)} directions whose powers of degree {s} are "
                f"independent, got {len(xi)} of rank {len(chosen)}"
            )
        square, right = flint.fmpq_mat(rows[:, chosen].tolist()), [*moments.values()]
        beta[chosen, s - 1] = square.solve(flint.fmpq_mat(len(rows), 1, right)).entries()
    return beta


def independent(rows: np.ndarray) -> list[int]:
    """Columns that form a basis of the column space, each as early as possible."""
    reduced, rank = flint.fmpq_mat(rows.tolist()).rref()
    return [next(j for j, c in enumerate(reduced.tolist()[i]) if c) for i in range(rank)]


def solve_float(Q: Polynomial, xi: np.ndarray, q: int) -> tuple[np.ndarray, float]:
    """beta_{k,s} in float64, of least norm for each s, and the condition number for s = q."""
    beta = np.zeros((len(xi), q))
    for s, moments in _moments(Q, q).items():
        scale = _bombieri_scale(Q.d, s)
        right = to_float([m / bombieri(a) for a, m in moments.items()]) / scale
        beta[:, s - 1] = np.linalg.lstsq(monomials(xi, s) * scale[:, None], right)[0]
    return beta, condition(xi, q)


def _bombieri_scale(d: int, s: int) -> np.ndarray:
    """sqrt(s!/a!): monomials times this, and coefficients divided by it, are orthonormal."""
    return 1 / np.sqrt(to_float([bombieri(a) for a in exponents(d, s)]))


def condition(xi: np.ndarray, q: int) -> float:
    """Condition number of beta -> sum beta_k (xi_k . x)^q, forms in Bombieri's norm.

    The Gram matrix of the (xi_k . x)^q is (xi_j . xi_k)^q; its square root would lose half of the
    digits, so the singular values are those of the scaled monomials.
    """
    rows = monomials(xi, q) * _bombieri_scale(xi.shape[1], q)[:, None]
    values = np.linalg.svd(rows, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0 else math.inf


def equispaced(n: int) -> np.ndarray:
    """n directions at the angles k pi / n in the plane; (n, 2). Best conditioned for q = n-1."""
    angles = np.arange(n) * math.pi / n
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def normalised(points: np.ndarray) -> np.ndarray:
    """Rows of norm 1: of normal points uniform on the sphere, n_q of them serve almost surely."""
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def random_rational(d: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Distinct unit vectors (2u, |u|^2 - 1) / (|u|^2 + 1), u integer, |u_i| <= 4; (n, d)."""
    found: list[list[flint.fmpq]] = []
    while len(found) < n:
        u = rng.integers(-4, 5, d - 1).tolist()
        square = sum(v * v for v in u)
        point = [flint.fmpq(v, square + 1) for v in (*(2 * v for v in u), square - 1)]
        if point not in found and [-v for v in point] not in found:
            found.append(point)
    return rationals(found)
