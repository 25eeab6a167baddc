"""Low-rank approximation on the measure that sequences sample: pairs of points, and the diagonal.

tau independent points see a kernel at pairs (x_t, x_s), s != t, and at (x_t, x_t). On a grid of N
points a matrix A stands for it, and a B of rank m costs
    pairs / N^2 sum_ij (A - B)_ij^2 + diagonal / N sum_i (A - B)_ii^2;
a row of a sequence has pairs = tau - 1, diagonal = 1. For diagonal = 0 this is Eckart and Young's
problem; otherwise it has no closed form and, being not convex, no certificate of its own. `fit`
alternates: with B = U V^T and V fixed, row u_i of U is the least-squares solution of
    (w V^T V + d v_i v_i^T) u_i = w V^T a_i + d A_ii v_i,        w = pairs / N^2, d = diagonal / N,
by the formula of Sherman and Morrison for all rows at once; then the same with the roles exchanged.
Each step lowers the cost. Trigonometric kernels of frequency R are seen without error, on the
diagonal too, if N > 4 R.
"""

from typing import NamedTuple

import numpy as np

ROUNDS, CLOSE = 400, 1e-8  # setting: where a fit ends


class Cost(NamedTuple):
    """The weights of pairs and of the diagonal."""

    pairs: float
    diagonal: float

    def __call__(self, A: np.ndarray, B: np.ndarray) -> float:
        E, N = A - B, len(A)
        squares = self.pairs / N**2 * (E**2).sum() + self.diagonal / N * (E.diagonal() ** 2).sum()
        return float(squares)


class Fit(NamedTuple):
    """B = left right^T, and what it costs."""

    left: np.ndarray  # (N, m)
    right: np.ndarray  # (N, m)
    cost: float


def fit(A: np.ndarray, start: np.ndarray, cost: Cost) -> Fit:
    """From the columns of `start` (N, m) on, until a round gains less than CLOSE, relatively."""
    left = right = start
    before = np.inf
    for _ in range(ROUNDS):
        left = np.linalg.qr(_best_rows(A, right, cost))[0]
        right = _best_rows(A.T, left, cost)
        now = cost(A, left @ right.T)
        if before - now <= CLOSE * now:
            break
        before = now
    return Fit(left, right, cost(A, left @ right.T))


def _best_rows(A: np.ndarray, V: np.ndarray, cost: Cost) -> np.ndarray:
    """U such that U V^T costs least."""
    N = len(A)
    w, d = cost.pairs / N**2, cost.diagonal / N
    inverse = np.linalg.pinv(w * V.T @ V)
    U = (w * A @ V + d * A.diagonal()[:, None] * V) @ inverse
    W = V @ inverse
    turned = d * (U * V).sum(1) / (1 + d * (V * W).sum(1))
    return U - turned[:, None] * W


def starts(A: np.ndarray, m: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Where to begin: the singular vectors of A, and random columns."""
    singular = np.linalg.svd(A)[2][:m].T
    return [singular, rng.standard_normal((len(A), m))]
