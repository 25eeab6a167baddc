"""Section D.1: the linear RNN of (72)-(74), the targets (75), and a register that holds any kernel.

In every arithmetic: torch tensors, numpy floats, numpy arrays of rationals.

Departures. The state before x(0) is zero, h(-1) = 0: with the printed h(0) = 0 the input x(0) would
be lost, which (74) has. U is n x d and c^T is 1 x n; printed are the transposed shapes. Stable
means that all eigenvalues of W have modulus below 1. "A negative real part" is right for the flow
e^{Wt} of Section 6.1 (it prints e^{W_s}), whose step is the matrix e^W, but not for the W of (72).

Stable kernels decay exponentially, with constants (`decay`). Let P solve P - W^T P W = 1. If P is
positive definite, then for |h|_P^2 = h . P h

    |W h|_P^2 = |h|_P^2 - |h|^2 <= q |h|_P^2,   q = 1 - 1/tr P,

since |h|_P^2 <= tr P |h|^2, and with (c . h)^2 <= (c . P^-1 c) |h|_P^2

    |rho^(s)|^2 <= A q^s,   A = (c . P^-1 c) sum_i U_i . P U_i      (U_i the columns of U).

P is rational if W is. It is positive definite if and only if W is stable: then P is the sum of
(W^k)^T W^k; conversely q < 1 bounds the powers of W.

A register (`shift_register`). With c = e_1 and W = sum_i e_i e_{i+1}^T, c^T W^s = e_{s+1}^T: row
s+1 of U is rho^(s), for s < tau, and W^tau = 0. So tau units hold any kernel of length tau, for any
d. No fewer do in general: Hankel matrices of c^T W^s U have rank n at most, and
[delta_{tau-1}(i+j)] for i, j < tau has determinant +-1, whatever comes after s = tau - 1.
"""

from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
import torch

from repro.numerics.exact import same_arithmetic

Array = Any  # a torch tensor, or a numpy array of floats or of rationals


@dataclass(frozen=True)
class LinearRNN:
    """h(t) = W h(t-1) + U x(t) from h(-1) = 0, y(t) = c . h(t)."""

    W: Array  # (n, n)
    U: Array  # (n, d)
    c: Array  # (n,)

    def states(self, x: Array) -> Array:
        """h(0), h(1), ...; x(0), x(1), ... (..., tau, d) -> (..., tau, n)."""
        same_arithmetic(x, self.U, "weights that are tensors")
        driven = x @ self.U.mT  # (..., tau, n)
        h = [driven[..., 0, :]]
        for t in range(1, x.shape[-2]):
            h.append(h[-1] @ self.W.mT + driven[..., t, :])
        return _stack(h)

    def __call__(self, x: Array) -> Array:
        """y(t), step by step; (..., tau, d) -> (..., tau)."""
        return self.states(x) @ self.c

    def kernel(self, tau: int) -> Array:
        """rho^(s) = c^T W^s U for s < tau; (tau, d)."""
        rows = [self.c]
        for _ in range(1, tau):
            rows.append(rows[-1] @ self.W)
        return _stack(rows) @ self.U


def _stack(rows: list[Array]) -> Array:
    return (np if isinstance(rows[0], np.ndarray) else torch).stack(rows, -2)


def convolution(rho: Array, x: Array) -> Array:
    """(75): H_t(x) = sum_{s <= t} rho(s) . x(t-s), rho (l, d) being 0 beyond its end."""
    y, tau = x @ rho[0], x.shape[-2]
    for s in range(1, min(len(rho), tau)):
        y[..., s:] += x[..., : tau - s, :] @ rho[s]
    return y


def causal_filter(theta: Array, x: Array) -> Array:
    """sum_{s<l} theta(s) x(t-s), x being 0 before its first time; (..., tau, d) as x."""
    y, tau = theta[0] * x, x.shape[-2]
    for s in range(1, min(len(theta), tau)):
        y[..., s:, :] += theta[s] * x[..., : tau - s, :]
    return y


def forward_filter(theta: Array, x: Array) -> Array:
    """The filter of Section 6.2, sum_{s<l} theta(s) x(t+s), x being 0 after its last time."""
    y, tau = theta[0] * x, x.shape[-2]
    for s in range(1, min(len(theta), tau)):
        y[..., : tau - s, :] += theta[s] * x[..., s:, :]
    return y


def shift_register(rho: Array) -> LinearRNN:
    """tau units whose kernel is rho (tau, d), and 0 after it."""
    W, c = np.eye(len(rho), k=1, dtype=int), np.eye(len(rho), dtype=int)[0]
    if isinstance(rho, np.ndarray):
        return LinearRNN(W.astype(rho.dtype), rho, c.astype(rho.dtype))
    return LinearRNN(rho.new_tensor(W), rho, rho.new_tensor(c))


def decay(rnn: LinearRNN) -> tuple[flint.fmpq, flint.fmpq]:
    """A and q of |rho^(s)|^2 <= A q^s, which prove a rational W stable; an error if it is not."""
    n, d = rnn.U.shape
    U, c = flint.fmpq_mat(n, d, rnn.U.ravel().tolist()), flint.fmpq_mat(n, 1, rnn.c.tolist())
    P = _lyapunov(flint.fmpq_mat(n, n, rnn.W.ravel().tolist()))
    trace = sum((P[i, i] for i in range(n)), flint.fmpq(0))
    energy = U.transpose() * P * U
    seen = (c.transpose() * P.solve(c))[0, 0]
    return seen * sum((energy[i, i] for i in range(d)), flint.fmpq(0)), 1 - 1 / trace


def _lyapunov(W: flint.fmpq_mat) -> flint.fmpq_mat:
    """The positive definite P with P - W^T P W = 1."""
    n = W.nrows()
    pairs = [(i, j) for i in range(n) for j in range(n)]
    entries = [[int(p == r) - W[r[0], p[0]] * W[r[1], p[1]] for r in pairs] for p in pairs]
    one = flint.fmpq_mat(n * n, 1, [int(i == j) for i, j in pairs])
    unstable = "(72)-(74) need every eigenvalue of W inside the unit circle"
    try:
        P = flint.fmpq_mat(n, n, flint.fmpq_mat(entries).solve(one).entries())
    except ZeroDivisionError:
        raise ValueError(f"{unstable}: two have the product 1") from None
    for k in range(1, n + 1):
        minor = flint.fmpq_mat([[P[i, j] for j in range(k)] for i in range(k)]).det()
        if minor <= 0:
            raise ValueError(f"{unstable}: P - W^T P W = 1 has the minor {minor}, not positive")
    return P
