"""The trainings of fang2022 step by step: data, batches, looks, recipes, and what is reported."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from repro.fang2022 import (
    experiments,
    least_squares,
    piecewise,
    variable_projection,
    without_attention,
)
from repro.fang2022.experiments import paraboloid, quintic, sample
from repro.fang2022.piecewise import ReluFit
from repro.fang2022.without_attention import WithoutAttention
from repro.training import SGD, OneCycle, Workspace
from repro.training.loop import generator_at

TINY = {"train": 9, "test": 4, "batch": 5}


class Counting:
    """In place of `fit`: the loss of each step is its number, and b grows by 1 after it."""

    def __call__(self, watched, loss, *, steps, **recipe):
        self.steps, self.recipe, self.losses = steps, recipe, []
        for step in range(steps):
            self.losses.append(loss(watched, step).item())
            watched.model.b.data += 1
        return {"loss": [float(step) for step in range(steps)]}


@pytest.fixture
def counting(monkeypatch):
    fit = Counting()
    monkeypatch.setattr(experiments, "fit", fit)
    return fit


# --- Section 5 -----------------------------------------------------------------------------------


def test_the_recipe_is_the_printed_one(counting):
    """The rate goes from 0.0001 to 0.001; two steps in an epoch of 5 + 4."""
    spec = paraboloid("ATTENTION", 3, clip=7.0, seed=0, **TINY, epochs=3)
    experiments.train(spec, Workspace())
    assert counting.steps == 6
    assert counting.recipe["optimizer"] == SGD(lr=0.001)
    assert counting.recipe["schedule"] == OneCycle(start=0.1)
    assert counting.recipe["clip"] == 7


def test_an_epoch_counts_its_steps_by_their_samples(counting):
    """Losses 0, 1 | 2, 3 | ... with 5 and 4 of 9 samples."""
    spec = paraboloid("ATTENTION", 3, clip=1.0, seed=0, **TINY, epochs=3)
    curve = experiments.train(spec, Workspace()).curves["train"]
    assert curve == pytest.approx([4 / 9, 2 + 4 / 9, 4 + 4 / 9], rel=1e-14)


def test_the_test_error_is_looked_at_before_some_epochs_and_at_the_end(counting, monkeypatch):
    """Seven epochs, about three looks: before epochs 0, 2, 4, 6, when the model is 2 epoch."""
    monkeypatch.setattr(experiments, "TEST_LOOKS", 3)
    spec = quintic("ATTENTION", 3, clip=1.0, seed=2, **TINY, epochs=7)
    outcome = experiments.train(spec, Workspace())
    assert outcome.curves["test_epoch"] == [0, 2, 4, 6, 7]
    truth = sample("f_2*", 9, 4, 2).truth.double()
    expected = [(2 * epoch - truth).square().mean().item() for epoch in (0, 2, 4, 6, 7)]
    assert outcome.curves["test"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("epochs", "looks"), [(150, 150), (399, 399), (400, 200), (600, 200)])
def test_about_two_hundred_looks(counting, epochs, looks):
    spec = paraboloid("ATTENTION", 1, clip=1.0, seed=0, train=2, test=1, batch=2, epochs=epochs)
    assert len(experiments.train(spec, Workspace()).curves["test"]) == looks + 1


def test_a_step_is_the_mean_square_over_its_batch(counting):
    """At step k the model is k; the order of an epoch is drawn from (seed, epoch)."""
    spec = paraboloid("ATTENTION", 3, clip=1.0, seed=4, **TINY, epochs=2)
    experiments.train(spec, Workspace())
    y, expected = sample("f_1*", 9, 4, 4).y.double(), []
    for epoch in (0, 1):
        order = torch.randperm(9, generator=generator_at(4, epoch))
        for k, part in enumerate((order[:5], order[5:]), 2 * epoch):
            expected.append((k - y[part]).square().mean().item())
    assert counting.losses == pytest.approx(expected, rel=1e-5)


def test_a_mean_square_over_several_parts_is_one_mean():
    model = nn.Sequential(nn.Flatten(0))
    x = torch.arange(25001.0)[:, None]
    y = x[:, 0] - torch.arange(25001) % 2
    assert experiments.mean_square(model, x, y) == pytest.approx(12500 / 25001, rel=1e-12)


def test_streams_of_a_seed_are_different_and_no_epochs():
    """Data, start, split and shuffle must not be drawn from what an epoch is drawn from."""
    streams = experiments.DATA, experiments.START, experiments.SPLIT, experiments.SHUFFLE
    assert len(set(streams)) == 4
    assert max(streams) < 0


def test_the_settings_are_those_that_table_1_speaks_of():
    assert experiments.REDUCED == {"train": 4500, "test": 5000, "batch": 2500, "epochs": 400}
    assert experiments.LIGHT == {"train": 1800, "test": 1000, "batch": 1000, "epochs": 60}


def test_the_depth_is_one_more_than_the_degree():
    model = experiments.build("f_2*", "NN_depth", 4, seed=0)
    assert sum(isinstance(part, nn.ReLU) for part in model) == 6  # pyright: ignore
    assert experiments.build("f_1*", "NN_width", 4, seed=0)[0].weight.shape == (4, 2)  # pyright: ignore


# --- least squares and variable projection -------------------------------------------------------


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


def test_as_many_samples_as_columns_are_refused():
    x = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(ValueError, match="6 polynomials of degree <= 2 need more samples than 6"):
        least_squares.fit(x, x[:, 0], 2)
    assert least_squares.hermite(x, 0)[0].tolist() == np.ones((6, 2)).tolist()
    assert len(least_squares.hermite(x, 0)) == 1


def ridge_columns(x, F):
    t = x @ F.T
    return np.concatenate([np.ones((len(x), 1)), *(t**s for s in range(1, 6))], axis=1)


def test_variable_projection_begins_on_a_part_and_ends_on_all():
    spec = variable_projection.VariableProjection(
        n=2, seed=3, train=300, test=50, part=100, iterations=4
    )
    outcome = variable_projection.train(spec, Workspace())
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


# --- ReLU networks for x^2 -----------------------------------------------------------------------


def test_networks_for_the_square_start_as_he_et_al():
    """Weights uniform up to (6/inputs)^(1/2), biases up to (1/inputs)^(1/2)."""
    model = piecewise._drawn(ReluFit((500, 500), 0, seed=0))
    layers = [part for part in model if isinstance(part, nn.Linear)]
    for layer, inputs in zip(layers, (1, 500, 500), strict=True):
        most = math.sqrt(6 / inputs)
        assert 0.97 * most <= layer.weight.max().item() <= most
        assert -most <= layer.weight.min().item() <= -0.97 * most
        assert layer.bias.abs().max().item() <= inputs**-0.5
    assert layers[1].bias.abs().max().item() >= 0.97 * 500**-0.5
    assert [type(part).__name__ for part in model] == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]


def test_the_loss_is_looked_at_every_twenty_iterations():
    looked = []
    spec = ReluFit((3,), 60, seed=2, points=21)
    outcome = piecewise.train(
        spec, Workspace(progress=lambda step, total, **numbers: looked.append((step, total)))
    )
    assert looked == [(20, 60), (40, 60), (60, 60)]
    x = torch.linspace(-1, 1, 21, dtype=torch.float64)
    with torch.no_grad():
        start = (piecewise._drawn(spec)(x[:, None])[:, 0] - x**2).square().mean().item()
    assert outcome.curves["loss"][0] == pytest.approx(start, rel=1e-12)


# --- Lemma 3.1 without attention -----------------------------------------------------------------


def test_without_attention_the_samples_fill_the_square(monkeypatch):
    """A model that is 0 has the mean square M^4 / 9 against -xy, and new samples in each step."""
    seen = {}

    def fit(model, loss, *, steps, **recipe):
        start = [p.detach().clone() for p in model.parameters()]
        for parameter in model.parameters():
            parameter.data.zero_()
        losses = [loss(model, step).item() for step in range(200)]
        model[2].bias.data.fill_(5.0)  # 5 + xy: its mean square is 25 + M^4 / 9
        seen.update(start=start, losses=losses, moved=loss(model, 0).item(), steps=steps, **recipe)
        return {}

    monkeypatch.setattr(without_attention, "fit", fit)
    spec = WithoutAttention(M=2.0, steps=17, seed=0)
    outcome = without_attention.train(spec, Workspace())
    losses = np.array(seen["losses"])
    assert len(set(seen["losses"])) == 200
    deviation = 16 * math.sqrt(1 / 25 - 1 / 81)  # of (xy)^2
    assert losses.mean() == pytest.approx(16 / 9, abs=5 * deviation / math.sqrt(200 * 1024))
    assert losses.std() == pytest.approx(deviation / 32, rel=0.3)  # 1024 samples in a step
    assert seen["moved"] == pytest.approx(25 + 16 / 9, abs=1.0)
    assert seen["steps"] == 17
    assert [tuple(p.shape) for p in seen["start"]] == [(2, 2), (2,), (1, 2), (1,)]
    assert len({round(value, 6) for p in seen["start"] for value in p.flatten().tolist()}) == 9
    assert outcome.numbers["sup error"] == pytest.approx(9, rel=1e-6)  # 5 + 2 * 2


def test_the_target_without_attention_is_the_negative_product(monkeypatch):
    """With -|x + y| in place of the trained network."""
    found = {}

    def fit(model, loss, **recipe):
        for parameter in model.parameters():
            parameter.data.zero_()
        model[0].weight.data = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
        model[2].weight.data = torch.tensor([[-1.0, -1.0]])  # -|x + y|
        found["loss"] = np.mean([loss(model, step).item() for step in range(100)])
        return {}

    monkeypatch.setattr(without_attention, "fit", fit)
    without_attention.train(WithoutAttention(M=1.0, steps=1, seed=0), Workspace())
    # E (xy - |x+y|)^2 = E x^2 y^2 - 2 E xy |x+y| + E (x+y)^2 = 1/9 - 4/15 + 2/3 on [-1, 1]^2
    assert found["loss"] == pytest.approx(1 / 9 - 4 / 15 + 2 / 3, abs=0.01)
