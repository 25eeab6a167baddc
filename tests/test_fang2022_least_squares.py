"""Least squares under Table 1, and variable projection."""

import math

import numpy as np
import pytest
import torch

from repro.fang2022 import experiments, least_squares
from repro.fang2022.experiments import sample
from repro.training import Workspace
from repro.training.loop import generator_at


def monomial_matrix(x, q):
    from itertools import combinations_with_replacement as choose

    d = x.shape[1]
    rows = [np.prod(x[:, list(c)], axis=1) for s in range(q + 1) for c in choose(range(d), s)]
    return np.stack(rows, axis=1)


def test_least_squares_agrees_with_lstsq_on_monomials(monkeypatch):
    monkeypatch.setattr(least_squares, "CHUNK", 70)
    rng = np.random.default_rng(0)
    x, new = rng.normal(size=(300, 3)), rng.normal(size=(50, 3))
    y = rng.normal(size=300) + x[:, 0] ** 3
    c, L = least_squares.fit(x, y, 3)
    A = monomial_matrix(x, 3)
    assert A.shape[1] == len(c) == math.comb(6, 3)
    expected, *_ = np.linalg.lstsq(A, y, rcond=None)
    assert np.allclose(
        least_squares.values_at(new, c, 3), monomial_matrix(new, 3) @ expected, rtol=1e-9
    )
    leverage = monomial_matrix(new, 3) @ np.linalg.inv(A.T @ A) @ monomial_matrix(new, 3).T
    mean, deviation = least_squares.expected_test_error(new, L, 3)
    assert mean == pytest.approx(np.trace(leverage) / 50, rel=1e-8)
    assert deviation == pytest.approx(math.sqrt(2) * np.linalg.norm(leverage) / 50, rel=1e-8)


def test_hermite_polynomials_are_orthonormal():
    t, w = np.polynomial.hermite_e.hermegauss(20)
    values = np.stack(least_squares.hermite(t, 6))
    assert np.allclose((values * w) @ values.T / math.sqrt(2 * math.pi), np.eye(7), atol=1e-12)
    x = np.random.default_rng(0).normal(size=(6, 2))
    assert least_squares.hermite(x, 0)[0].tolist() == np.ones((6, 2)).tolist()
    assert len(least_squares.hermite(x, 0)) == 1


def test_the_floor_of_table_1_is_one_minus_p_over_N():
    """f_1*, degree 2, p = 6 columns, N = 60 samples: 0.9, with deviation sqrt(2 * 54) / 60."""
    spec = least_squares.LeastSquares("f_1*", degree=2, train=60, test=30, seed=0)
    found = least_squares.train(spec, Workspace()).numbers
    assert (found["columns"], found["MSE_Tr, mean"]) == (6, pytest.approx(0.9))
    assert found["MSE_Tr, deviation"] == pytest.approx(math.sqrt(108) / 60)
    assert abs(found["MSE_Tr"] - 0.9) < 4 * found["MSE_Tr, deviation"]


def powers_of_two_variables(x):
    a, b = x.numpy().T
    return np.stack([a**i * b**j for i in range(4) for j in range(4 - i)], axis=1)


def test_the_floor_of_table_1_is_that_of_lstsq():
    spec = least_squares.LeastSquares("f_1*", degree=3, train=80, test=30, seed=5)
    found = least_squares.train(spec, Workspace()).numbers
    data = sample("f_1*", 80, 30, 5)
    A, C = (powers_of_two_variables(x.double() / 10) for x in (data.x, data.x_test))
    c, *_ = np.linalg.lstsq(A, data.y.double().numpy(), rcond=None)
    assert found["MSE_Tr"] == pytest.approx(np.mean((A @ c - data.y.double().numpy()) ** 2))
    assert found["MSE_Te"] == pytest.approx(np.mean((C @ c - data.truth.double().numpy()) ** 2))
    leverage = C @ np.linalg.inv(A.T @ A) @ C.T
    assert found["MSE_Te, mean"] == pytest.approx(np.trace(leverage) / 30)
    assert found["MSE_Te, deviation"] == pytest.approx(
        math.sqrt(2) * float(np.linalg.norm(leverage)) / 30
    )


def small_problem(n=3, d=4, q=4, N=200):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, d))
    return rng.normal(size=(n, d)), x, rng.normal(size=N) + x[:, 0] ** 3, q


def test_the_gradient_is_that_of_autograd_through_the_solution():
    W, x, y, q = small_problem()
    loss, gradient = least_squares.loss_and_gradient(W, x, y, q)
    w = torch.tensor(W, requires_grad=True)
    t = torch.tensor(x) @ (w / w.norm(dim=1, keepdim=True)).T
    columns = [torch.ones(len(x), 1, dtype=torch.float64), t]
    for s in range(1, q):
        columns.append(
            (t * columns[s] - math.sqrt(s) * columns[s - 1]) / math.sqrt(s + 1)
            if s > 1
            else (t * t - 1) / math.sqrt(2)
        )
    Phi, target = torch.cat(columns, dim=1), torch.tensor(y)
    ridge = least_squares.LAM * torch.eye(Phi.shape[1], dtype=torch.float64)
    c = torch.linalg.solve(Phi.T @ Phi / len(x) + ridge, Phi.T @ target / len(x))
    expected = (Phi @ c - target).square().mean() + least_squares.LAM * c.square().sum()
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    assert w.grad is not None
    assert np.allclose(gradient, w.grad.numpy(), rtol=1e-8, atol=1e-10)


def test_hermite_coefficients_become_an_attention_model():
    W, x, y, q = small_problem()
    xi = W / np.linalg.norm(W, axis=1, keepdims=True)
    Phi = least_squares.features(x, xi, q)
    c = least_squares.coefficients(Phi, y)
    model = least_squares.to_attention(xi, c, q)
    outputs = model(torch.tensor(x).float()).detach().numpy()
    assert np.allclose(outputs, Phi @ c, rtol=1e-4, atol=1e-4)


def test_a_fitted_model_has_the_parameters_of_section_5():
    """n = 2 directions in R^3, q = 4: beta (n, q), and nothing for t^5."""
    xi, c = np.eye(2, 3), np.arange(1.0, 10.0)
    model = least_squares.to_attention(xi, c, 4)
    assert model.beta.shape == (2, 4)
    assert experiments.parameters(model) == 2 * (3 + 4) + 1


def ridge_columns(x, F):
    t = x @ F.T
    return np.concatenate([np.ones((len(x), 1)), *(t**s for s in range(1, 6))], axis=1)


def test_variable_projection_begins_on_a_part_and_ends_on_all():
    spec = least_squares.VariableProjection(n=2, seed=3, train=300, test=50, part=100, iterations=4)
    outcome = least_squares.train_directions(spec, Workspace())
    data = sample("f_2*", 300, 50, 3)
    x, y = data.x.double().numpy(), data.y.double().numpy()
    start = torch.randn(2, 10, generator=generator_at(3, 2), dtype=torch.float64).numpy()
    A = ridge_columns(x[:100], start / np.linalg.norm(start, axis=1, keepdims=True))
    c, *_ = np.linalg.lstsq(A, y[:100], rcond=None)
    losses = outcome.curves["loss"]
    assert losses[0] == pytest.approx(np.mean((A @ c - y[:100]) ** 2), rel=1e-2)  # and lam |c|^2
    assert min(losses) < 0.9 * losses[0]
    assert 1 <= outcome.numbers["iterations"] <= 4
    F = outcome.tensors["F"].double().numpy()
    assert np.allclose(np.linalg.norm(F, axis=1), 1, atol=1e-6)
    A, C = ridge_columns(x, F), ridge_columns(data.x_test.double().numpy(), F)
    c, *_ = np.linalg.lstsq(A, y, rcond=None)
    assert outcome.numbers["MSE_Tr"] == pytest.approx(np.mean((A @ c - y) ** 2), rel=1e-4)
    truth = data.truth.double().numpy()
    assert outcome.numbers["MSE_Te"] == pytest.approx(np.mean((C @ c - truth) ** 2), rel=1e-3)
