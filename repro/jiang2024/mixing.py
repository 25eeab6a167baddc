"""Section D.3: the spectrum of a coupling of finite rank, from rational numbers.

Let rho(u, v) = sum_ij A_ij e_i(u) e_j(v) with functions e_i that are orthogonal, of squared norms
N_i, and likewise the e_j, of squared norms M_j. In these coordinates the integral operator with
kernel rho followed by its adjoint has the matrix

    A M A^T N,

so the squared singular values of the POD (10) are its eigenvalues, roots of a polynomial with
rational coefficients. There are no others.

The example, alpha = 2 pi x_1, beta = 2 pi x_2. Before the mixing, (100): rank 2, sigma = 1, 1.
After it, (101) with x_1 + x_2 for the printed (x_1, x):
    rho~ = 1 + 2 sin(alpha) sin(alpha + beta)
         = 1 + cos(beta) - cos(2 alpha) cos(beta) + sin(2 alpha) sin(beta).
On 1, cos(2 alpha), sin(2 alpha) and 1, cos(beta), sin(beta), of squared norms 1, 1/2, 1/2,

        ( 1  1  0 )
    A = ( 0 -1  0 ),   and the squares of sigma solve (x - 1/4) (x^2 - 7x/4 + 1/4) = 0:
        ( 0  0  1 )
    sigma = (sqrt 11 + sqrt 3)/4,  1/2,  (sqrt 11 - sqrt 3)/4.

A coupling by position, rho = R_ts for u in I_t, v in I_s, has A = R and N_t = M_t = |I_t|.
"""

from collections.abc import Callable, Sequence
from typing import Any

import flint
import numpy as np

Matrix = Sequence[Sequence[int | flint.fmpq]]
Norms = Sequence[flint.fmpq]  # squared
HARMONICS = [flint.fmpq(1), flint.fmpq(1, 2), flint.fmpq(1, 2)]  # squared norms of 1, cos, sin
ORIGINAL = [[1, 0, 0], [0, 0, 0], [0, 0, 2]]  # on 1, cos, sin of alpha and of beta
MIXED = [[1, 1, 0], [0, -1, 0], [0, 0, 1]]  # on 1, cos, sin of 2 alpha and of beta


def original(alpha: Any, beta: Any) -> Any:
    """(100), of arrays of floats or of balls."""
    return 1 + 2 * np.sin(alpha) * np.sin(beta)


def mixed(alpha: Any, beta: Any) -> Any:
    """(101)."""
    return original(alpha, alpha + beta)


def squares(A: Matrix, rows: Norms, columns: Norms) -> flint.fmpq_poly:
    """The polynomial whose roots are the squared singular values, 0 among them if A is singular."""
    left, right = (
        flint.fmpq_mat([[value * N for value, N in zip(row, norms, strict=True)] for row in M])
        for M, norms in ((A, columns), (zip(*A, strict=True), rows))
    )
    return (left * right).charpoly()


def singular_values(A: Matrix, rows: Norms, columns: Norms) -> list[flint.arb]:
    """The nonzero ones, decreasing, in balls."""
    roots: Any = squares(A, rows, columns).complex_roots()  # with multiplicities
    found = [root.real.sqrt() for root, times in roots if root != 0 for _ in range(times)]
    return sorted(found, key=float, reverse=True)


def sampled(rho: Callable[[Any, Any], Any], x: np.ndarray) -> np.ndarray:
    """Singular values of the matrix rho(x_i, x_j) divided by the number of points, in float64."""
    angles = 2 * np.pi * x
    return np.linalg.svd(rho(angles[:, None], angles), compute_uv=False) / len(x)
