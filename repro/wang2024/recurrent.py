"""Section 6.2: linear recurrent networks, which the curse of memory is told of, beside heads.

A linear recurrent network with N units is a convolution, from an empty state h_{-1} = 0:
    h_t = Lambda h_{t-1} + B x_t,   y_t = c . h_t;   so   y = X * rho,   rho(s) = c . Lambda^s B.

Lin-RPE heads are such a network. Without normalisation H heads with exponents p_h and values
alpha_h are that with Lambda = diag(e^{-p_h}), B = (1, ..., 1), c = alpha. (Normalised: with alpha_h
times the normaliser for a value.) So whatever lin-RPE heads do, N = H units do.

N units follow any kernel up to its tail. With Lambda the shift, B = e_1 and c = (rho(0), ...,
rho(N-1)) the response is rho up to s = N - 1 and 0 after that: the error is sum_{s >= N} |rho(s)|,
for t^-beta of order N^-(beta-1). (With Lambda diagonal: finding lin-any-kernel.)

Positive weights and geometric exponents. With u = e^y
    (1 + t)^-beta = 1/Gamma(beta) int_0^inf u^{beta-1} e^{-u (1+t)} du
                  = 1/Gamma(beta) int_R exp(beta y - e^y) e^{-e^y t} dy,
and the trapezoidal rule with step delta makes this a sum of exponentials, alpha_j > 0. It errs
like e^{-pi^2 / delta}, since the integrand is analytic for |Im y| < pi/2; what is cut off below y
costs e^{(beta-1) y} in l1, and what is cut off above, e^{-e^y}. With delta = pi / sqrt((beta-1) N)
and N points downwards from y = log(pi sqrt((beta-1) N)) all three are of order
e^{-pi sqrt((beta-1) N)}, up to powers of N.

What is true of the curse. If |rho_N(s)| <= A e^{-b s} for the response rho_N, then for every N
    ||rho - rho_N||_1 >= sum_s (|rho(s)| - A e^{-b s})_+,
since |rho - rho_N| >= |rho| - |rho_N| at every s. So it is with diagonal networks whose
exponents are at least b and whose sum |alpha_h| is at most A, and with any that has
|c| |Lambda^s| |B| <= A e^{-b s}. Bounds on both are needed: the shift has weights
c_s = rho(s) <= A e^{-b s} only if A grows like e^{b N} rho(N), and the trapezoidal rule has
sum alpha_j ~ rho(0) with exponents that tend to 0.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import flint
import numpy as np

from repro.numerics.exact import same_arithmetic
from repro.numerics.l1 import Kernel
from repro.numerics.logarithms import ball


class LinearRNN(NamedTuple):
    """h_t = Lambda h_{t-1} + B x_t, y_t = c . h_t, for each coordinate of the tokens alike."""

    Lambda: np.ndarray  # (N, N), or (N,) for a diagonal
    B: np.ndarray  # (N,)
    c: np.ndarray  # (N,)

    def __call__(self, X: np.ndarray) -> np.ndarray:  # (n, d) -> (n, d)
        same_arithmetic(X, self.c, "weights that are floats")
        h, outputs = 0 * np.multiply.outer(self.B, X[0]), []  # (N, d)
        for x in X:
            moved = self.Lambda[:, None] * h if self.Lambda.ndim == 1 else self.Lambda @ h
            h = moved + np.multiply.outer(self.B, x)
            outputs.append(self.c @ h)
        return np.array(outputs)

    def response(self, n: int) -> np.ndarray:
        """rho(0), ..., rho(n-1): the outputs for the input 1, 0, 0, ..."""
        impulse = np.zeros((n, 1), dtype=int).astype(self.c.dtype)
        impulse[0] = 1
        return self(impulse)[:, 0]


def diagonal(factors: Sequence[Any] | np.ndarray, alphas: Sequence[Any] | np.ndarray) -> LinearRNN:
    """The network of lin-RPE heads: factors e^{-p_h}, values alpha_h."""
    c = np.array(alphas)
    return LinearRNN(np.array(factors), 0 * c + 1, c)


def shift(values: Sequence[Any] | np.ndarray) -> LinearRNN:
    """The network whose response is these values, and 0 after them."""
    c = np.array(values)
    return LinearRNN(np.eye(len(c), k=-1, dtype=int), np.eye(len(c), dtype=int)[0], c)


def mixture(beta: float, N: int) -> tuple[list[float], list[float]]:
    """Exponents e^{y_j} and coefficients alpha_j > 0 of N units near (1 + t)^-beta."""
    delta = math.pi / math.sqrt((beta - 1) * N)
    y = [math.log(math.pi * math.sqrt((beta - 1) * N)) - j * delta for j in range(N)]
    scale = delta / math.gamma(beta)
    return [math.exp(v) for v in y], [scale * math.exp(beta * v - math.exp(v)) for v in y]


def floor(kernel: Kernel, A: Any, b: Any, *, window: int) -> flint.arb:
    """sum_s (|rho(s)| - A e^{-b s})_+ over the window, enclosed."""
    excess = [abs(kernel.ball(s)) - ball(A) * (-ball(b) * s).exp() for s in range(window)]
    return sum((one.max(flint.arb(0)) for one in excess), flint.arb(0))
