"""Section 5 of fang2022: models, data, trainings, the least-squares floor, variable projection."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from repro.fang2022 import experiments, least_squares, variable_projection
from repro.fang2022.comparison import Attention, Depth, Width, layers, parameters
from repro.fang2022.experiments import (
    FULL,
    LIGHT,
    REDUCED,
    SecondOrder,
    first_epoch_below,
    first_still_epoch,
    last_moving_epoch,
    paraboloid,
    quintic,
    sample,
    shallow_floor,
)
from repro.numerics.exact import rationals
from repro.training import Store, Workspace

TINY = {"train": 90, "test": 20, "batch": 50, "epochs": 12}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


# --- models --------------------------------------------------------------------------------------


def test_the_wide_network_computes_what_its_layers_compute():
    model = Width(3, 7, generator()).double()
    x = torch.randn(40, 3, generator=generator(1), dtype=torch.float64)
    assert torch.allclose(model(x), nn.Sequential.forward(model, x)[:, 0], rtol=1e-13)


def test_layers_and_parameters_are_counted():
    model = Depth(3, 5, 2)
    assert layers(model) == [
        "LINEAR(IN=3,OUT=5)",
        "RELU",
        "LINEAR(IN=5,OUT=5)",
        "RELU",
        "LINEAR(IN=5,OUT=1)",
    ]
    assert parameters(model) == (15 + 5) + (25 + 5) + (5 + 1)
    assert parameters(Attention(3, 4, 5)) == 5 * (3 + 4) + 1


def test_the_networks_start_as_torch_starts_them():
    """Uniform in +-1/sqrt(inputs), weights and biases: nn.Linear's own start, other draws."""
    torch.manual_seed(0)
    ours, theirs = Depth(10, 400, 2, generator()), Depth(10, 400, 2)
    for layer in theirs:
        if isinstance(layer, nn.Linear):
            layer.reset_parameters()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        if a.numel() > 1:
            assert a.abs().max().item() == pytest.approx(b.abs().max().item(), rel=0.02)
            assert a.std().item() == pytest.approx(b.std().item(), rel=0.1)


def test_the_attention_model_starts_as_zero_on_unit_vectors():
    model = Attention(4, 3, 6, generator())
    assert torch.allclose(model.F.norm(dim=1), torch.ones(6))
    assert model(torch.randn(5, 4, generator=generator(1))).abs().max() == 0


@pytest.mark.parametrize("q", [1, 2, 5])
def test_the_literal_model_is_the_trained_one(q):
    model = Attention(3, q, 4, generator())
    with torch.no_grad():
        model.beta.normal_(generator=generator(1))
        model.b.fill_(0.7)
    x = torch.randn(6, 3, generator=generator(2))
    literal = model.literal(B=10)(rationals(x.tolist()))
    exact = torch.tensor([int(v.p) / int(v.q) for v in literal], dtype=torch.float64)
    assert torch.allclose(model.double()(x.double()), exact, rtol=1e-12)


# --- data ----------------------------------------------------------------------------------------

PRINTED = {"f_1*": (9000, 1000, 2, 10.0), "f_2*": (45000, 5000, 10, 1.0)}


@pytest.mark.parametrize("target", PRINTED)
def test_data_have_the_printed_sizes_and_moments(target):
    train, test, d, deviation = PRINTED[target]
    data = sample(target, train, test, seed=0)
    assert data.x.shape == (train, d)
    assert data.x_test.shape == (test, d)
    x = torch.cat([data.x, data.x_test])
    N = train + test
    assert (x.mean(0) / deviation).abs().max() < 5 / math.sqrt(N)
    assert (x.var(0) / deviation**2 - 1).abs().max() < 5 * math.sqrt(2 / N)
    noise = data.y_test.double() - data.truth.double()
    assert abs(noise.mean()) < 5 / math.sqrt(test)
    assert abs(noise.var() - 1) < 5 * math.sqrt(2 / test)
    f, _ = experiments.TARGETS[target]
    assert torch.equal(data.truth, f(data.x_test.double()).float())
    assert abs((data.y - f(data.x.double())).var() - 1) < 5 * math.sqrt(2 / train)


def test_shuffling_moves_the_training_y_and_nothing_else():
    plain, shuffled = (sample("f_2*", 200, 50, 1, shuffled) for shuffled in (False, True))
    assert torch.equal(plain.y.sort().values, shuffled.y.sort().values)
    assert (plain.y != shuffled.y).float().mean() > 0.9
    for name in ("x", "x_test", "y_test", "truth"):
        assert torch.equal(getattr(plain, name), getattr(shuffled, name))


@pytest.mark.parametrize("target", experiments.TARGETS)
def test_the_variances_are_those_of_the_polynomials(target):
    """E x^a for independent Gaussians, term by term, in rationals."""
    f, deviation = experiments.TARGETS[target]

    def moment(a):
        odd = any(e % 2 for e in a)
        return 0 if odd else math.prod(math.prod(range(1, e, 2)) * int(deviation) ** e for e in a)

    terms = [(a, int(c)) for a, c in f.coefficients.items()]
    mean = sum(c * moment(a) for a, c in terms)
    square = sum(
        c * e * moment([i + j for i, j in zip(a, b, strict=True)])
        for a, c in terms
        for b, e in terms
    )
    assert square - mean**2 == experiments.VARIANCES[target]


def test_the_settings_keep_the_ratio_of_batch_and_data():
    assert FULL == {"train": 45000, "test": 5000, "batch": 25000, "epochs": 2000}
    for setting in (LIGHT, REDUCED, FULL):
        assert 9 * setting["batch"] == 5 * setting["train"]


# --- training ------------------------------------------------------------------------------------


def same(left, right):
    return (left.numbers, left.curves) == (right.numbers, right.curves) and all(
        torch.equal(left.tensors[name], right.tensors[name])
        for name in left.tensors | right.tensors
    )


@pytest.mark.parametrize(("model", "size"), [("ATTENTION", 5), ("NN_depth", 6), ("NN_width", 9)])
def test_an_interrupted_training_ends_with_the_same_bits(model, size, tmp_path):
    spec = quintic(model, size, clip=10.0, seed=1, **TINY)

    def stop(step, total, **numbers):
        if step == 14:  # the second half of epoch 6: its order must be drawn again
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path, checkpoint_every=0.0, progress=stop).get(spec, experiments.train)
    resumed = Store(tmp_path).get(spec, experiments.train)
    assert "resumed from step 13 of 24" in resumed.reason
    assert same(resumed.outcome, experiments.train(spec, Workspace()))


def test_curves_have_one_point_for_each_epoch_and_numbers_are_of_the_last_model():
    spec = paraboloid("ATTENTION", 3, clip=10.0, seed=0, train=90, test=20, batch=50, epochs=7)
    outcome = experiments.train(spec, Workspace())
    assert len(outcome.curves["train"]) == 7
    assert outcome.curves["test_epoch"] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert len(outcome.curves["test"]) == 8
    data = sample("f_1*", 90, 20, 0)
    model = experiments.trained(spec, outcome)
    with torch.no_grad():
        train = (model(data.x) - data.y).double().square().mean().item()
        test = (model(data.x_test) - data.truth).double().square().mean().item()
    assert outcome.numbers["MSE_Tr"] == pytest.approx(train, rel=1e-6)
    assert outcome.numbers["MSE_Te"] == pytest.approx(test, rel=1e-6)
    assert outcome.curves["test"][0] == pytest.approx(data.truth.double().square().mean().item())
    # before the first update the model is 0, and the second step has seen one update only
    first = data.y.double().square().mean().item()
    assert outcome.curves["train"][0] == pytest.approx(first, rel=0.3)


def test_an_epoch_sees_every_sample_once(monkeypatch):
    seen = []
    forward = Attention.forward
    monkeypatch.setattr(Attention, "forward", lambda self, x: seen.append(x) or forward(self, x))
    spec = paraboloid("ATTENTION", 2, clip=1.0, seed=0, train=9, test=2, batch=5, epochs=2)
    experiments.train(spec, Workspace())
    data = sample("f_1*", 9, 2, 0)
    steps = [x for x in seen if len(x) in (4, 5)]
    assert [len(x) for x in steps] == [5, 4, 5, 4]
    epochs = [torch.cat(steps[:2]), torch.cat(steps[2:])]
    assert not torch.equal(*epochs)
    for epoch in epochs:
        assert torch.equal(epoch.sort(0).values, data.x.sort(0).values)


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="Section 5 has ATTENTION, NN_depth and NN_width"):
        experiments.build("f_1*", "NN", 3, 0)


@pytest.mark.parametrize(("model", "size"), [("NN_width", 10), ("NN_depth", 4)])
def test_second_order_training_leaves_a_network_of_table_2(model, size):
    spec = SecondOrder(model, size, seed=0, iterations=30)
    outcome = experiments.train_second_order(spec, Workspace())
    network = experiments.build("f_1*", model, size, 0)
    network.load_state_dict(outcome.tensors)
    data = sample("f_1*", 9000, 1000, 0)
    with torch.no_grad():
        error = (network(data.x) - data.y).square().mean().item()
    assert error == pytest.approx(outcome.numbers["MSE_Tr"], rel=1e-4)
    assert error == pytest.approx(40000 * min(outcome.curves["loss"]), rel=1e-3)
    assert error < 20000


def test_second_order_training_makes_all_its_iterations(monkeypatch):
    engines = []

    class Watched(torch.optim.LBFGS):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            engines.append(self)

    monkeypatch.setattr(torch.optim, "LBFGS", Watched)
    experiments.train_second_order(SecondOrder("NN_width", 10, seed=0, iterations=30), Workspace())
    (engine,) = engines
    assert [state["n_iter"] for state in engine.state.values()] == [30]


def test_the_floor_of_the_shallow_network_is_below_the_best_of_many_pieces():
    """k lines fitted one by one on k pieces of [-5s, 5s], weighted by the density: never below."""
    s, k = 10.0, 11
    x = np.linspace(-5 * s, 5 * s, 20001)
    density = np.exp(-(x**2) / (2 * s * s)) / (s * math.sqrt(2 * math.pi))
    best = math.inf
    for reach in np.linspace(1.5, 4, 26) * s:  # pieces of equal length within, two open ones
        cuts = np.searchsorted(x, np.linspace(-reach, reach, k - 1))
        total = 0.0
        for part in np.split(np.arange(len(x)), cuts):
            w = np.sqrt(density[part])
            A = np.column_stack([w, w * x[part]])
            _, rest, *_ = np.linalg.lstsq(A, w * x[part] ** 2, rcond=None)
            total += rest.item() * (x[1] - x[0])
        best = min(best, total)
    assert shallow_floor(k - 1, s) < best < 40 * shallow_floor(k - 1, s)
    # the formula itself, by another road: k equal pieces of [-R, R], each fitted, times the density at R
    R = s * math.sqrt(5)
    y = np.linspace(-R / k, R / k, 20001)
    left = np.mean((y**2 - np.mean(y**2)) ** 2) * 2 * R  # a line leaves y^2 minus its mean
    weight = math.exp(-2.5) / (s * math.sqrt(2 * math.pi))
    assert shallow_floor(k - 1, s) == pytest.approx(left * weight, rel=1e-3)


def test_the_floor_of_table_1_is_one_minus_p_over_N():
    """f_1*, degree 2, p = 6 columns, N = 60 samples: 0.9, with deviation sqrt(2 * 54) / 60."""
    spec = least_squares.LeastSquares("f_1*", degree=2, train=60, test=30, seed=0)
    found = least_squares.train(spec, Workspace()).numbers
    assert (found["columns"], found["MSE_Tr, mean"]) == (6, pytest.approx(0.9))
    assert found["MSE_Tr, deviation"] == pytest.approx(math.sqrt(108) / 60)
    assert abs(found["MSE_Tr"] - 0.9) < 4 * found["MSE_Tr, deviation"]


# --- convergence ---------------------------------------------------------------------------------


def test_the_rule_of_table_1_takes_the_first_small_change():
    train = [9.0, 5.0, 5.005, 3.0, 2.0, 1.999, 1.998, 1.0, 1.0, 1.0, 1.0]
    assert first_still_epoch(train) == 3
    assert first_still_epoch(train, run=2) == 7
    assert first_still_epoch(train, run=3) == 11
    assert first_still_epoch(train, run=4) is None
    assert last_moving_epoch(train) == 8
    assert last_moving_epoch([1.0, 1.0]) == 1
    assert first_epoch_below(train, 2.0) == 6
    assert first_epoch_below(train, 0.5) is None


# --- least squares -------------------------------------------------------------------------------


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
    found = least_squares.fit(x, y, 3)
    A = monomial_matrix(x, 3)
    assert A.shape[1] == len(found.coefficients) == math.comb(6, 3)
    expected, rest, *_ = np.linalg.lstsq(A, y, rcond=None)
    assert np.allclose(found(new), monomial_matrix(new, 3) @ expected, rtol=1e-9)
    assert found.residual == pytest.approx(rest.item() / 300, rel=1e-10)
    leverage = monomial_matrix(new, 3) @ np.linalg.inv(A.T @ A) @ monomial_matrix(new, 3).T
    mean, deviation = found.expected_test_error(new)
    assert mean == pytest.approx(np.trace(leverage) / 50, rel=1e-8)
    assert deviation == pytest.approx(math.sqrt(2) * np.linalg.norm(leverage) / 50, rel=1e-8)


def test_hermite_polynomials_are_orthonormal():
    t, w = np.polynomial.hermite_e.hermegauss(20)
    values = np.stack(least_squares.hermite(t, 6))
    assert np.allclose((values * w) @ values.T / math.sqrt(2 * math.pi), np.eye(7), atol=1e-12)


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="3003 polynomials of degree <= 5 need more samples"):
        least_squares.fit(np.zeros((100, 10)), np.zeros(100), 5)


# --- variable projection -------------------------------------------------------------------------


def small_problem(n=3, d=4, q=4, N=200):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, d))
    return rng.normal(size=(n, d)), x, rng.normal(size=N) + x[:, 0] ** 3, q


def test_the_gradient_is_that_of_autograd_through_the_solution():
    W, x, y, q = small_problem()
    loss, gradient = variable_projection.loss_and_gradient(W, x, y, q)
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
    ridge = variable_projection.LAM * torch.eye(Phi.shape[1], dtype=torch.float64)
    c = torch.linalg.solve(Phi.T @ Phi / len(x) + ridge, Phi.T @ target / len(x))
    expected = (Phi @ c - target).square().mean() + variable_projection.LAM * c.square().sum()
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    assert w.grad is not None
    assert np.allclose(gradient, w.grad.numpy(), rtol=1e-8, atol=1e-10)


def test_hermite_coefficients_become_an_attention_model():
    W, x, y, q = small_problem()
    xi = W / np.linalg.norm(W, axis=1, keepdims=True)
    Phi = variable_projection.features(x, xi, q)
    c = variable_projection.coefficients(Phi, y)
    model = variable_projection.to_attention(xi, c, q)
    outputs = model(torch.tensor(x).float()).detach().numpy()
    assert np.allclose(outputs, Phi @ c, rtol=1e-4, atol=1e-4)
