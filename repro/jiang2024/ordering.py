"""Proposition 6.1, (92) and Table 2: targets that see the input in another order or through a
filter, and who can follow.

Let y = x o p, y(j) = x(p(j)), and H~(y) = H(x) for the convolution H of (75), d = 1. Then

    H~_t(y) = sum_j M_tj y(j),   M_tj = rho(t - p(j))     (0 where t < p(j)):

the columns of the triangular Toeplitz matrix K of rho, permuted. H~ is again a convolution if and
only if M is triangular and Toeplitz. Let s_0 be the first s with rho(s) != 0. Column j begins at
t = p(j) + s_0.

On N, for rho != 0, this leaves only p = id, by time invariance. If M_tj = rho~(t - j), then column
j begins at j + s_1 for the first s_1 with rho~(s_1) != 0; so p(j) - j = s_1 - s_0 for all j, and a
permutation of N that adds a constant adds 0. For rho = 0 every p will do.

On a horizon 0, ..., tau - 1, with s_0 < tau, the permutations that will do are those that move only
the last s_0 times: s_0! of them. They leave M = K, as no output sees the last s_0 inputs.
Conversely, let M be a convolution with rho~. Column p^-1(0) begins at s_0 < tau, so rho~ != 0, and
column 0 cannot be 0; it begins at p(0) + s_0. Column j begins at j + p(0) + s_0 if that is below
tau, and is 0 otherwise. Column p^-1(0), which begins at s_0, gives p^-1(0) + p(0) = 0. So p(0) = 0
and p(j) = j for j < tau - s_0.

Causality alone says less: M is triangular if and only if p(j) >= j - s_0 for all j, and on a
horizon (s_0 + 1)^(tau - s_0) s_0! permutations satisfy that (choose p(tau-1), p(tau-2), ...: from
s_0 + 1 values each time, or from all that are left at the end).

Filters. Let Theta be the triangular Toeplitz matrix of theta, followed by zeros. Seen through the
causal filter, sum_s theta(s) x(t-s), H has M = K Theta, a convolution again; seen through that of
Section 6.2, sum_s theta(s) x(t+s), it has M = K Theta^T.

The floor under Table 2, for any M. For independent y(j), uniform on [0, 1], with mean 1/2 and
variance 1/12, a model sum_j T_tj y(j) + b_t has the mean square error

    1/tau sum_t E |...|^2 = 1/(12 tau) ( |M - T|^2 + 3 sum_t (sum_j (M - T)_tj - 2 b_t)^2 ).

An RNN's T is a triangular Toeplitz matrix. With a free offset b_t at every time the second part can
be 0, and the first is least for the means of the subdiagonals. With b_t = b, or b = 0, it is least
squares in the tau entries of T's first column and beta = 2b: the normal matrix is rational, and
the exact least value is rational if M is. A model that is causal and nothing else has the floor
sum_{j > t} M_tj^2 / (12 tau). Offsets cost an RNN nothing: with the input (y(t), 1) it has d = 2,
and the kernel (k(s), b_s - b_{s-1}) makes T and b_t; tau units hold it (recurrent.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from repro.jiang2024 import representation
from repro.jiang2024.model import Target
from repro.numerics.exact import rational, rationals, vector

Values = Sequence[Any] | np.ndarray
OFFSETS = ("free", "constant", "none")


def exchange(tau: int, k: int) -> list[int]:
    """Appendix C: the first k values change places with the last k, in their order."""
    times = list(range(tau))
    return times[tau - k :] + times[k : tau - k] + times[:k]


def rotation(tau: int, k: int) -> list[int]:
    """Appendix C, of Table 1: the first k values are shifted to the end; y(j) = x(j + k)."""
    return [(j + k) % tau for j in range(tau)]


def triangle(rho: Values) -> np.ndarray:
    """K_ti = rho(t - i)."""
    zero = 0 * rho[0]
    rows = [[rho[t - i] if t >= i else zero for i in range(len(rho))] for t in range(len(rho))]
    return np.array([vector(row) for row in rows])


def permuted(rho: Values, p: Sequence[int]) -> np.ndarray:
    """M_tj = rho(t - p(j))."""
    return triangle(rho)[:, list(p)]


def filtered(rho: Values, theta: Values, *, ahead: bool) -> np.ndarray:
    """M of H(theta * x): with x(t+s), as Section 6.2 prints it, or with x(t-s)."""
    Theta = triangle([*theta, *[0 * theta[0]] * (len(rho) - len(theta))])
    return triangle(rho) @ (Theta.T if ahead else Theta)


def is_causal(M: np.ndarray) -> bool:
    return all(M[t, j] == 0 for t in range(len(M)) for j in range(t + 1, len(M)))


def is_convolution(M: np.ndarray) -> bool:
    """Triangular and Toeplitz."""
    return is_causal(M) and bool((triangle(M[:, 0]) == M).all())


@dataclass(frozen=True)
class Model:
    """T_tj = k(t - j) and the offsets b_t."""

    k: np.ndarray
    b: np.ndarray


def mean_square(M: np.ndarray, model: Model) -> Any:
    """Of the model against M, over independent uniform inputs and all tau outputs."""
    left = M - triangle(model.k)
    rows = left.sum(1) - 2 * model.b
    return ((left * left).sum() + 3 * (rows * rows).sum()) / (12 * len(M))


def best(M: np.ndarray, offset: str) -> Model:
    """The convolution nearest to M, with a free offset at each time, one for all, or none."""
    tau = len(M)
    diagonals = vector([np.trace(M, -j) for j in range(tau)])
    if offset == "free":
        k = diagonals / vector([rational(tau - j) for j in range(tau)])
        return Model(k, (M - triangle(k)).sum(1) / 2)
    S = np.tri(tau, dtype=int)  # row sums of T are S k
    if offset == "constant":
        S = np.c_[S, np.ones(tau, dtype=int)]
    unknowns = S.shape[1]
    weights = np.pad(np.arange(tau, 0, -1), (0, unknowns - tau))
    normal = flint.fmpq_mat((np.diag(weights) + 3 * S.T @ S).tolist()).inv()
    right = np.append(diagonals, vector([0] * (unknowns - tau))) + 3 * (S.T @ M.sum(1))
    solution = np.array(normal.tolist(), dtype=object) @ right
    beta = solution[tau] if offset == "constant" else 0 * solution[0]
    return Model(solution[:tau], vector([beta / 2] * tau))


def floor(M: np.ndarray, offset: str) -> Any:
    """The least mean square error of a convolution against any M, rational or in balls."""
    return mean_square(M, best(M, offset))


def causal_floor(M: np.ndarray) -> Any:
    """The least mean square error of any causal model, linear and time-invariant or not."""
    future = [M[t, j] * M[t, j] for t in range(len(M)) for j in range(t + 1, len(M))]
    return sum(future, 0 * M[0, 0]) / (12 * len(M))


def two_channel_kernel(model: Model) -> np.ndarray:
    """The kernel (k(s), b_s - b_{s-1}) for the input (y(t), 1); (tau, 2)."""
    steps = np.append(model.b[:1], model.b[1:] - model.b[:-1])
    return np.stack([model.k, steps], 1)


def clipped(tau: int, base: Any, L: int) -> tuple[np.ndarray, np.ndarray]:
    """For Proposition 6.2: M_ts = base^-(t-s) for s <= t, else 0; and K, M but base^-L at least."""
    lags = [[t - s for s in range(tau)] for t in range(tau)]
    M = [[base**-lag if lag >= 0 else 0 * base for lag in row] for row in lags]
    K = [[base ** -(lag if 0 <= lag < L else L) for lag in row] for row in lags]
    return np.array(M), np.array(K)


def attending(K: np.ndarray, p: Sequence[int]) -> Target:
    """K x by attention with the weights K_ts / Z_t, whose F multiplies by Z_t; f = (z, s/tau).

    For inputs permuted by p the rows of the coupling are those of p^-1; F and f stay the same.
    """
    tau, Z = len(K), K.sum(-1)
    w = K / Z[:, None]
    codes = (w * rationals(np.arange(1, tau + 1))).sum(-1) / tau

    def f(x: np.ndarray) -> np.ndarray:
        s, z = representation.SHIFTED.read(x)
        return np.concatenate([z, s[..., None] / tau], axis=-1)

    def F(u: np.ndarray) -> np.ndarray:
        t = (u[..., -1:] == codes).argmax(-1)
        return Z[t] * u[..., 0]

    return Target(F, f, representation.by_position(w[np.argsort(p)]))
