"""Table 1's floor: least squares over all polynomials of degree q in d variables.

The target lies in this space, of dimension p = C(d+q, q) (3003 for f_2*), so the fit to N samples
misses it by noise alone. With the columns A (N, p), G = A^T A, and y = f* + e, e ~ N(0, I):
    MSE_Tr = |(I - A G^-1 A^T) e|^2 / N        is chi^2 with N - p degrees of freedom, over N:
             mean 1 - p/N,  variance 2 (N - p) / N^2,  whatever the x_i are;
    MSE_Te = |C G^-1 A^T e|^2 / m              at m test points with columns C: given all x,
             mean tr(K) / m,  variance 2 |K|_F^2 / m^2,  K = G^-1/2 C^T C G^-1/2.
(z^T K z with z ~ N(0, I) has mean tr K and variance 2 |K|_F^2.) With Gaussian columns tr(K)/m would
be p/(N - p - 1); products of powers have heavier tails, so it is more.

The columns are products of normalised Hermite polynomials, orthonormal under N(0, I): the same
space as the monomials', and G is near N I.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from repro.fang2022.experiments import TARGETS, sample
from repro.fang2022.polynomials import exponents
from repro.training import Outcome, Spec, Workspace

CHUNK = 2500  # samples whose columns exist at one time: 60 MB at p = 3003


@dataclass(frozen=True)
class LeastSquares(Spec):
    """The fit of degree `degree` to the data of an Experiment with the same fields."""

    kind: ClassVar[str] = "fang2022-least-squares"
    version: ClassVar[int] = 1

    target: str
    degree: int
    train: int
    test: int
    seed: int


def hermite(t: np.ndarray, q: int) -> list[np.ndarray]:
    """He_0(t), ..., He_q(t), each over sqrt(s!): orthonormal for t ~ N(0, 1)."""
    values = [np.ones_like(t), t]
    for s in range(1, q):  # He_(s+1) = t He_s - s He_(s-1)
        values.append((t * values[s] - math.sqrt(s) * values[s - 1]) / math.sqrt(s + 1))
    return values[: q + 1]


def columns(x: np.ndarray, q: int) -> np.ndarray:
    """All products of Hermite polynomials of total degree <= q: (N, d) -> (p, N)."""
    factors = hermite(x.T, q)  # q + 1 arrays (d, N)
    rows = []
    for s in range(q + 1):
        for a in exponents(x.shape[1], s):
            row = np.ones(len(x))
            for i, e in enumerate(a):
                row = row * factors[e][i] if e else row
            rows.append(row)
    return np.stack(rows)


@dataclass(frozen=True)
class Fit:
    """Coefficients (p,), and the Cholesky factor L of G = L L^T."""

    q: int
    coefficients: np.ndarray
    L: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([self.coefficients @ columns(part, self.q) for part in chunks(x)])

    def expected_test_error(self, x: np.ndarray) -> tuple[float, float]:
        """Mean and standard deviation of MSE_Te at these points over the noise of the training."""
        CC = sum(c @ c.T for c in (columns(part, self.q) for part in chunks(x)))
        half = solve_triangular(self.L, CC, lower=True)
        K = solve_triangular(self.L, half.T, lower=True)
        return float(np.trace(K)) / len(x), math.sqrt(2) * float(np.linalg.norm(K)) / len(x)


def fit(x: np.ndarray, y: np.ndarray, q: int) -> Fit:
    """Normal equations, summed over chunks of the samples."""
    p = math.comb(x.shape[1] + q, q)
    G, right = np.zeros((p, p)), np.zeros(p)
    for part, values in zip(chunks(x), chunks(y), strict=True):
        A = columns(part, q)
        G += A @ A.T
        right += A @ values
    L, _ = factor = cho_factor(G, lower=True)
    return Fit(q, cho_solve(factor, right), L)


def chunks(values: np.ndarray) -> list[np.ndarray]:
    return np.split(values, range(CHUNK, len(values), CHUNK))


def train(spec: LeastSquares, workspace: Workspace) -> Outcome:
    """MSE_Tr and MSE_Te as in Table 1, and the mean and deviation that theory gives for each."""
    data = sample(spec.target, spec.train, spec.test, spec.seed)
    _, deviation = TARGETS[spec.target]
    x, x_test = (t.double().numpy() / deviation for t in (data.x, data.x_test))
    y, truth = data.y.double().numpy(), data.truth.double().numpy()
    found = fit(x, y, spec.degree)
    mean, spread = found.expected_test_error(x_test)
    p, N = len(found.coefficients), spec.train
    return Outcome(
        {
            "columns": p,
            "MSE_Tr": float(np.mean((found(x) - y) ** 2)),
            "MSE_Tr, mean": 1 - p / N,
            "MSE_Tr, deviation": math.sqrt(2 * (N - p)) / N,
            "MSE_Te": float(np.mean((found(x_test) - truth) ** 2)),
            "MSE_Te, mean": mean,
            "MSE_Te, deviation": spread,
        }
    )
