"""Section D.1, the rate d C_RNN / m: what m units can do, and what they cannot (d = 1).

What they can. The register with m units (recurrent.py) leaves the tail, and by (77), which says
|rho(s)| <= C_2 e^{-s/C_1},

    sum_{s >= m} |rho(s)| <= C_2 e^{-m/C_1} / (1 - e^{-1/C_1}) <= (1 + C_1) C_2 e^{-m/C_1},

since 1/(1 - e^{-x}) <= 1 + 1/x. As e^{-m/C_1} <= C_1 / (e m), the printed rate C_1 C_2 / m holds
with the constant (1 + C_1)/e. For rho(s) in R^d nothing changes: no factor d is needed.

What they cannot. Let G[rho] = [rho(i + j)], i, j >= 0. For m units G[c^T W^s U] has rank m at most
(Kronecker), being the product of the column of all c^T W^i and the row of all W^j U. And
|G[e]| <= |e|_1, a sum of e(s) times partial permutations. So by Eckart and Young

    sum_s |rho(s) - c^T W^s U| >= |G[rho] - G[c^T W^s U]| >= sigma_{m+1}(G[rho]) >= sigma_{m+1}(G_N)

for every section G_N, i, j < N. If inputs lie in [0, 1], as in (70), the largest error of an output
is the sum over one sign of rho - c^T W^s U, hence at least half of this.

Certified. With V (N, m+1) near to the singular vectors, but any V will do, Courant and Fischer give

    sigma_{m+1}^2 >= min_v |G_N V v|^2 / |V v|^2 = 1 / (largest eigenvalue of A^-1 B)
                  >= 1 / |A^-1 B|_inf,        A = (G_N V)^T G_N V,   B = V^T V,

the norm being the largest sum of moduli of a row. A, B and the quotient are taken in balls.

No constant. Let eps(s) = (-1)^(number of blocks 11 in binary s), Rudin and Shapiro's signs, and
rho(s) = eps(s) e^{-s/gamma}: C_1 = 1 + gamma, C_2 = 1. Let N be a power of 2 and P the polynomial
with the coefficients eps(s), s < 2N. On the unit circle |P|^2 + |P'|^2 = 4N, where P' has the other
sign for s >= N; so |P| <= 2 sqrt(N) there, and |[eps(i+j)]| <= 2 sqrt(N), i, j < N. The same holds
for G_N = D [eps(i+j)] D, D = diag(e^{-i/gamma}). Let gamma = 2N. The squares of the entries of G_N
sum up to (sum_{i<N} e^{-i/N})^2 >= (1 - 1/e)^2 N^2; the m largest singular values have at most 4Nm
of it, and the rest is shared by N - m:

    sigma_{m+1}^2 >= ((1 - 1/e)^2 N^2 - 4Nm) / (N - m) > 0.1595 N     for m = N/16.

So m sigma_{m+1} / C_RNN > 0.0124 sqrt(N) for N >= 128: it exceeds any constant.
"""

from collections.abc import Sequence
from typing import Any

import flint
import numpy as np

from repro.jiang2024.recurrent import LinearRNN
from repro.numerics.logarithms import ball


def sign(s: int) -> int:
    """Rudin and Shapiro's: -1 if the binary digits of s have 11 an odd number of times."""
    return (-1) ** (s & s >> 1).bit_count()


def rough(gamma: Any, length: int) -> list[flint.arb]:
    """eps(s) e^{-s/gamma} for s < length."""
    return [sign(s) * (-s / ball(gamma)).exp() for s in range(length)]


def section(values: Sequence[Any] | np.ndarray) -> list[list[Any]]:
    """G_N of 2N - 1 values."""
    N = (len(values) + 1) // 2
    return [list(values[i : i + N]) for i in range(N)]


def floors(values: Sequence[flint.arb], units: Sequence[int]) -> list[flint.arb]:
    """Lower bounds on sigma_{m+1} of the section of these 2N - 1 values, for every m of `units`,
    proved in balls. With V from float64 they are sharp down to some 1e-14 sigma_1."""
    rows, most = section(values), max(units)
    eigenvalues, vectors = np.linalg.eigh(np.array(section([float(value) for value in values])))
    V = flint.arb_mat(vectors[:, np.argsort(-abs(eigenvalues))[: most + 1]].tolist())
    GV = flint.arb_mat(rows) * V
    A, B = ((part.transpose() * part).tolist() for part in (GV, V))
    return [_smallest(A, B, m + 1) for m in units]


def _smallest(A: list[list[flint.arb]], B: list[list[flint.arb]], n: int) -> flint.arb:
    """The bound from the first n vectors; 0 if the balls do not show that A is regular."""
    left, right = (flint.arb_mat([row[:n] for row in part[:n]]) for part in (A, B))
    try:
        quotient = left.solve(right)
    except ZeroDivisionError:
        return flint.arb(0)
    totals = (sum((abs(entry) for entry in row), flint.arb(0)) for row in quotient.tolist())
    return (1 / max(total.upper() for total in totals)).sqrt().lower()


def floor(values: Sequence[flint.arb], m: int) -> flint.arb:
    """The bound for one m."""
    return floors(values, [m])[0]


def proved_floor(N: int, m: int) -> flint.arb:
    """Of eps(s) e^{-s/2N}, N a power of 2: the square root of what the m largest leave."""
    all_squares = ((1 - flint.arb(-1).exp()) * N) ** 2
    return ((all_squares - 4 * N * m) / (N - m)).max(flint.arb(0)).sqrt()


def printed_rate(C_1: Any, C_2: Any, m: int) -> flint.arb:
    """d C_RNN / m, for d = 1."""
    return ball(C_1) * ball(C_2) / m


def register_rate(C_1: Any, C_2: Any, m: int) -> flint.arb:
    """(1 + C_1) C_2 e^{-m/C_1}."""
    return (1 + ball(C_1)) * ball(C_2) * (-m / ball(C_1)).exp()


def ho_kalman(values: Sequence[float] | np.ndarray, m: int) -> LinearRNN:
    """m units from 2N values, in float64 (Ho and Kalman 1966).

    G_N = L S R; c^T is the first row of L S^1/2, U the first column of S^1/2 R, and W maps the one
    section to that which begins a step later. Exact if G_N has rank m; a good guess otherwise.
    """
    L, S, R = np.linalg.svd(np.array(section(values[:-1])))
    root = np.sqrt(S[:m])
    left, right = L[:, :m] / root, R[:m].T / root
    W = left.T @ np.array(section(values[1:])) @ right
    return LinearRNN(W, (root * R[:m, 0])[:, None], L[0, :m] * root)
