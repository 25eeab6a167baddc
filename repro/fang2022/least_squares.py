"""Section 5 without SGD: least squares over all polynomials, and over directions (L-BFGS).

Table 1's floor. The target lies in the polynomials of degree q in d variables, a space of dimension
p = C(d+q, q) (3003 for f_2*), so the fit to N samples misses it by noise alone. With the columns
A (N, p), G = A^T A, and y = f* + e, e ~ N(0, I):
    MSE_Tr = |(I - A G^-1 A^T) e|^2 / N        is chi^2 with N - p degrees of freedom, over N:
             mean 1 - p/N,  variance 2 (N - p) / N^2,  whatever the x_i are;
    MSE_Te = |C G^-1 A^T e|^2 / m              at m test points with columns C: given all x,
             mean tr(K) / m,  variance 2 |K|_F^2 / m^2,  K = G^-1/2 C^T C G^-1/2.
(z^T K z with z ~ N(0, I) has mean tr K and variance 2 |K|_F^2.) The columns are products of
normalised Hermite polynomials, orthonormal under N(0, I): the same space as the monomials', and G
is near N I.

Variable projection. For fixed directions the model b + sum_k sum_s beta_{k,s} (xi_k . x)^s is
linear in beta and b, so
    L(W) = min over c of |Phi(W) c - y|^2 / N + lam |c|^2,   xi_k = w_k / |w_k|,
is a function of the directions alone. Phi (N, 1 + n q) holds 1 and the h_s(t_k) of t_k = xi_k . x,
h_s the same Hermite polynomials. c solves the normal equations, and since it minimises, its own
dependence on W drops out of the gradient (envelope theorem): with r = Phi c - y, h_s' = sqrt(s)
h_(s-1), and P_k the projection onto the complement of xi_k,
    dL/dxi_k = (2/N) sum_i r_i sum_s c_{k,s} sqrt(s) h_(s-1)(t_ik) x_i,
    dL/dw_k  = P_k dL/dxi_k / |w_k|.
L-BFGS does the rest. The directions are found on the first `part` samples, c is then fitted to all.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.polynomial.hermite_e import herme2poly
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from repro.fang2022.experiments import TARGETS, Attention, mean_square, sample
from repro.fang2022.polynomials import exponents_up_to, products
from repro.fang2022.ridge import normalised
from repro.training import Outcome, Spec, Workspace
from repro.training.loop import generator_at

LAM = 1e-6  # keeps the normal equations solvable where two directions meet
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
    return products(hermite(x.T, q), exponents_up_to(x.shape[1], q))


def fit(x: np.ndarray, y: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (p,), and the Cholesky factor L of G = L L^T, summed over chunks of samples."""
    p = math.comb(x.shape[1] + q, q)
    G, right = np.zeros((p, p)), np.zeros(p)
    for part, values in zip(chunks(x), chunks(y), strict=True):
        A = columns(part, q)
        G += A @ A.T
        right += A @ values
    L, _ = factor = cho_factor(G, lower=True)
    return cho_solve(factor, right), L


def values_at(x: np.ndarray, c: np.ndarray, q: int) -> np.ndarray:
    return np.concatenate([c @ columns(part, q) for part in chunks(x)])


def expected_test_error(x: np.ndarray, L: np.ndarray, q: int) -> tuple[float, float]:
    """Mean and standard deviation of MSE_Te at these points over the noise of the training."""
    CC = sum(c @ c.T for c in (columns(part, q) for part in chunks(x)))
    half = solve_triangular(L, CC, lower=True)
    K = solve_triangular(L, half.T, lower=True)
    return float(np.trace(K)) / len(x), math.sqrt(2) * float(np.linalg.norm(K)) / len(x)


def chunks(values: np.ndarray) -> list[np.ndarray]:
    return np.split(values, range(CHUNK, len(values), CHUNK))


def train(spec: LeastSquares, workspace: Workspace) -> Outcome:
    """MSE_Tr and MSE_Te as in Table 1, and the mean and deviation that theory gives for each."""
    data = sample(spec.target, spec.train, spec.test, spec.seed)
    _, deviation = TARGETS[spec.target]
    x, x_test = (t.double().numpy() / deviation for t in (data.x, data.x_test))
    y, truth = data.y.double().numpy(), data.truth.double().numpy()
    q, N = spec.degree, spec.train
    c, L = fit(x, y, q)
    p, (mean, spread) = len(c), expected_test_error(x_test, L, q)
    return Outcome(
        {
            "columns": p,
            "MSE_Tr": float(np.mean((values_at(x, c, q) - y) ** 2)),
            "MSE_Tr, mean": 1 - p / N,
            "MSE_Tr, deviation": math.sqrt(2 * (N - p)) / N,
            "MSE_Te": float(np.mean((values_at(x_test, c, q) - truth) ** 2)),
            "MSE_Te, mean": mean,
            "MSE_Te, deviation": spread,
        }
    )


@dataclass(frozen=True)
class VariableProjection(Spec):
    """n directions for f_2*, on the data that an Experiment with the same fields has."""

    kind: ClassVar[str] = "fang2022-variable-projection"
    version: ClassVar[int] = 1

    n: int
    seed: int
    train: int
    test: int
    part: int  # of the training data, for the directions
    iterations: int


def features(x: np.ndarray, xi: np.ndarray, q: int) -> np.ndarray:
    """1, then h_1 of all directions, then h_2, ...: (N, d), (n, d) -> (N, 1 + q n)."""
    return np.concatenate([np.ones((len(x), 1)), *hermite(x @ xi.T, q)[1:]], axis=1)


def coefficients(Phi: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The c that minimises |Phi c - y|^2 / N + lam |c|^2."""
    G = Phi.T @ Phi + LAM * len(Phi) * np.eye(Phi.shape[1])
    return cho_solve(cho_factor(G), Phi.T @ y)


def loss_and_gradient(
    W: np.ndarray, x: np.ndarray, y: np.ndarray, q: int
) -> tuple[float, np.ndarray]:
    """L and dL/dW of the docstring; W is (n, d)."""
    n, norm = len(W), np.linalg.norm(W, axis=1, keepdims=True)
    xi = W / norm
    Phi = features(x, xi, q)
    c = coefficients(Phi, y)
    r = Phi @ c - y
    loss = float(r @ r) / len(x) + LAM * float(c @ c)
    of_degree = c[1:].reshape(q, n)
    slopes = of_degree[0] + sum(
        math.sqrt(s + 1) * of_degree[s] * Phi[:, 1 + (s - 1) * n : 1 + s * n] for s in range(1, q)
    )  # (N, n)
    gradient = 2 / len(x) * (slopes * r[:, None]).T @ x  # dL/dxi
    along = (gradient * xi).sum(1, keepdims=True)
    return loss, (gradient - along * xi) / norm


def to_attention(xi: np.ndarray, c: np.ndarray, q: int) -> Attention:
    """The same function as a model of Section 5: Hermite coefficients become those of powers."""
    n, d = xi.shape
    basis = np.zeros((q + 1, q + 1))  # row s: h_s in powers of t
    for s in range(q + 1):
        basis[s, : s + 1] = herme2poly([0] * s + [1 / math.sqrt(math.factorial(s))])
    by_power = c[1:].reshape(q, n).T @ basis[1:]  # (n, q + 1)
    model = Attention(d, q, n)
    model.F.data = torch.from_numpy(xi).float()
    model.beta.data = torch.from_numpy(by_power[:, 1:]).float().contiguous()
    model.b.data = torch.tensor(c[0] + by_power[:, 0].sum()).float()
    return model


def train_directions(spec: VariableProjection, workspace: Workspace) -> Outcome:
    """MSE_Tr and MSE_Te of the attention model that is found, evaluated as in `experiments`."""
    data = sample("f_2*", spec.train, spec.test, spec.seed)
    f, _ = TARGETS["f_2*"]
    d, q = f.d, f.degree
    x, y = data.x.double().numpy(), data.y.double().numpy()
    start = torch.randn(spec.n, d, generator=generator_at(spec.seed, spec.n), dtype=torch.float64)
    losses: list[float] = []

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W = flat.reshape(spec.n, d)
        loss, gradient = loss_and_gradient(W, x[: spec.part], y[: spec.part], q)
        losses.append(loss)
        workspace.progress(len(losses), 2 * spec.iterations, loss=loss)
        return loss, gradient.ravel()

    options = {"maxiter": spec.iterations, "maxcor": 20}
    found = minimize(objective, start.numpy().ravel(), jac=True, method="L-BFGS-B", options=options)
    xi = normalised(found.x.reshape(spec.n, d))
    model = to_attention(xi, coefficients(features(x, xi, q), y), q)
    numbers = {
        "MSE_Tr": mean_square(model, data.x, data.y),
        "MSE_Te": mean_square(model, data.x_test, data.truth),
        "iterations": int(found.nit),
    }
    return Outcome(numbers, {"loss": losses}, dict(model.state_dict()))
