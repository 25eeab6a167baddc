"""Proper orthogonal decomposition: singular values of a kernel on [0, 1]^2, with proved errors.

Method. [0, 1] is cut into equal cells with q Gauss points in each; x_i are the N points and w_i
their weights. The matrix sqrt(w_i) rho(x_i, x_j) sqrt(w_j) has exactly the singular values of the
kernel rho_N that interpolates rho at all (x_i, x_j), of degree q - 1 in each variable and cell: the
rule is exact for products of two such functions, so that Lagrange's polynomials over sqrt(w_i) are
orthonormal. By Mirsky's inequality
    (sum_k |sigma_k(rho) - sigma_k(rho_N)|^2)^(1/2) <= |rho - rho_N|_2.
Smooth kernels (`smooth_error`). The best uniform error of degree q - 1 on a cell of length h is at
most E = 2 (h/4)^q sup |d^q rho| / q!. Interpolation does not increase the norm on a cell by more
than its discrete value, sqrt(h) max |.|; so it errs by at most 2 E in L2(0, 1), in two variables by
    |rho - rho_N|_2 <= 2 (E_u + E_v).
A kink along the diagonal (`minimum_error`). min(u, v) is bilinear off the diagonal cells, so for
q >= 2 only these count. On each it is h times the same on [0, 1]^2, where
    min(u, v) = int 1{t <= u} 1{t <= v} dt,    <min, l_i l_j> = int L_i L_j,  L_i(t) = int_t^1 l_i
give |min - I min|^2 in finitely many exact integrals; altogether h^(3/2) times the root of it.

Rounding (`singular_values`). A = U diag(s) V + E holds for whatever a floating-point SVD returned,
with an E that balls enclose. If |U^T U - 1| + |V^T V - 1| <= e in the Frobenius norm, then
    |sigma_k(A) - s_k| <= |E|_F + e s_k
by Ostrowski's inequality, (1 - e) s_k <= sigma_k(U diag(s) V) <= (1 + e) s_k.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from repro.numerics.exact import vector

Kernel = Callable[[Any, Any], flint.arb]


@dataclass(frozen=True)
class Decomposition:
    """The POD of a kernel rho through that of rho_N; functions at the points in float64."""

    interpolant: np.ndarray  # sigma_k(rho_N), (N,), balls
    square: flint.arb  # |rho_N|_2^2
    error: flint.arb  # |rho - rho_N|_2
    points: np.ndarray  # (N,), floats
    left: np.ndarray  # phi_k(x_i) at [i, k]
    right: np.ndarray  # psi_k(x_i) at [i, k]

    @property
    def values(self) -> np.ndarray:
        """sigma_k(rho), each in a ball."""
        return self.interpolant + _around(self.error)

    def tail(self, r: int) -> flint.arb:
        """sum_{k > r} sigma_k^2: no rho^ of rank r has a smaller |rho - rho^|_2^2.

        The root is a distance, so for rho and for rho_N it differs by at most |rho - rho_N|_2.
        """
        rest = self.square - (self.interpolant[:r] * self.interpolant[:r]).sum()
        root = _root(rest) + _around(self.error)
        return root * root


def decompose(kernel: Kernel, cells: int, q: int, error: flint.arb) -> Decomposition:
    """The POD of a kernel with |rho - rho_N|_2 <= error; the kernel takes and returns balls."""
    x, w = gauss(cells, q)
    root = [value.sqrt() for value in w]
    rows = [
        [a * kernel(u, v) * b for v, b in zip(x, root, strict=True)]
        for u, a in zip(x, root, strict=True)
    ]
    A = flint.arb_mat(rows)
    if not all(entry.is_finite() for entry in A.entries()):
        raise ValueError("a kernel needs finite values at all points of the grid")
    s, U, V = singular_values(A)
    points, weights = (np.array([float(value) for value in part]) for part in (x, w))
    functions = (part / np.sqrt(weights)[:, None] for part in (U, V.T))
    return Decomposition(vector(s), _square(A), flint.arb(error), points, *functions)


def gauss(cells: int, q: int) -> tuple[list[flint.arb], list[flint.arb]]:
    """Points and weights of Gauss's rule with q points in each of the cells of [0, 1]."""
    pairs = [flint.arb.legendre_p_root(q, k, weight=True) for k in reversed(range(q))]
    points = [(cell + (1 + x) / 2) / cells for cell in range(cells) for x, _ in pairs]
    return points, [w / (2 * cells) for _ in range(cells) for _, w in pairs]


def singular_values(A: flint.arb_mat) -> tuple[list[flint.arb], np.ndarray, np.ndarray]:
    """The singular values of every matrix in A, in balls; U and V of the middle one in float64."""
    middle = np.array([[float(a) for a in row] for row in A.tolist()])
    U, s, V = np.linalg.svd(middle)
    left, right = flint.arb_mat(U.tolist()), flint.arb_mat(V.tolist())
    E = _root(_square(A - left * _diagonal(s) * right))
    one = _diagonal(np.ones(len(s)))
    e = sum((_root(_square(Q.transpose() * Q - one)) for Q in (left, right)), flint.arb(0))
    return [flint.arb(k) + _around(E + e * flint.arb(k)) for k in s], U, V


def smooth_error(cells: int, q: int, derivatives: tuple[Any, Any]) -> flint.arb:
    """A bound of |rho - rho_N|_2 from sup |d^q rho / du^q| and sup |d^q rho / dv^q|."""
    E = 2 * flint.arb(4 * cells) ** -q / flint.arb.fac_ui(q)
    return 2 * E * sum((flint.arb(d) for d in derivatives), flint.arb(0))


def minimum_error(cells: int, q: int) -> flint.arb:
    """|rho - rho_N|_2 for rho = min(u, v), q >= 2."""
    x, w = gauss(1, q)
    L = [_from_t_to_1(_lagrange(x, i)) for i in range(q)]
    nodes, weights = gauss(1, q + 1)
    products = [
        [sum((a * f(t) * g(t) for t, a in zip(nodes, weights, strict=True)), flint.arb(0))
         for g in L] for f in L
    ]  # fmt: skip
    pairs = [(i, j) for i in range(q) for j in range(q)]
    mixed = sum((x[i].min(x[j]) * products[i][j] for i, j in pairs), flint.arb(0))
    own = sum((w[i] * w[j] * x[i].min(x[j]) ** 2 for i, j in pairs), flint.arb(0))
    square = flint.arb(1) / 6 - 2 * mixed + own
    return _root(square / flint.arb(cells) ** 3)


def _lagrange(x: list[flint.arb], i: int) -> flint.arb_poly:
    product = flint.arb_poly([1])
    for j, node in enumerate(x):
        if j != i:
            product = product * flint.arb_poly([-node, 1]) * (1 / (x[i] - node))
    return product


def _from_t_to_1(p: flint.arb_poly) -> flint.arb_poly:
    """t -> int_t^1 p."""
    P = p.integral()
    return flint.arb_poly([P(1)]) - P


def _diagonal(values: np.ndarray) -> flint.arb_mat:
    return flint.arb_mat(np.diag(values).tolist())


def _square(A: flint.arb_mat) -> flint.arb:
    """The squared Frobenius norm."""
    return sum((a * a for a in A.entries()), flint.arb(0))


def _root(square: flint.arb) -> flint.arb:
    """The root of what is not negative, though its ball may reach below 0."""
    return square.nonnegative_part().sqrt()


def _around(radius: flint.arb) -> flint.arb:
    """The ball of all numbers up to +-radius."""
    return flint.arb(0, flint.arb(radius).abs_upper())
