"""Section 5: models, data, trainings step by step, and the rule of convergence."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from repro.fang2022 import experiments
from repro.fang2022.experiments import (
    FULL,
    LIGHT,
    REDUCED,
    Attention,
    Depth,
    SecondOrder,
    Width,
    first_still_epoch,
    last_moving_epoch,
    layers,
    paraboloid,
    parameters,
    quintic,
    sample,
    shallow_floor,
)
from repro.numerics.exact import rationals
from repro.training import SGD, OneCycle, Store, Workspace
from repro.training.loop import generator_at

TINY = {"train": 90, "test": 20, "batch": 50, "epochs": 12}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_models_compute_what_their_layers_compute():
    model = Width(3, 7, start=generator()).double()
    x = torch.randn(40, 3, generator=generator(1), dtype=torch.float64)
    assert torch.allclose(model(x), nn.Sequential.forward(model, x)[:, 0], rtol=1e-13)
    model = Attention(4, 3, 6, generator())
    assert torch.allclose(model.F.norm(dim=1), torch.ones(6))
    assert model(torch.randn(5, 4, generator=generator(1))).abs().max() == 0


def test_layers_and_parameters_are_those_of_the_degree():
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
    model = experiments.build("f_2*", "NN_depth", 4, seed=0)
    assert sum(isinstance(part, nn.ReLU) for part in model) == 6  # pyright: ignore
    assert experiments.build("f_1*", "NN_width", 4, seed=0)[0].weight.shape == (4, 2)  # pyright: ignore


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


def test_streams_and_shuffles_touch_nothing_else():
    plain, shuffled = (sample("f_2*", 200, 50, 1, shuffled) for shuffled in (False, True))
    assert torch.equal(plain.y.sort().values, shuffled.y.sort().values)
    assert (plain.y != shuffled.y).float().mean() > 0.9
    for name in ("x", "x_test", "y_test", "truth"):
        assert torch.equal(getattr(plain, name), getattr(shuffled, name))
    # Data, start, split and shuffle must not be drawn from what an epoch is drawn from.
    streams = experiments.DATA, experiments.START, experiments.SPLIT, experiments.SHUFFLE
    assert len(set(streams)) == 4
    assert max(streams) < 0


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


def test_the_training_on_the_paraboloid_is_the_printed_one():
    """Section 5: 10000 samples, 9000 of them for training, batches of 5000, 600 epochs."""
    spec = paraboloid("ATTENTION", 10, clip=1.0, seed=0)
    assert (spec.target, spec.train, spec.test) == ("f_1*", 9000, 1000)
    assert (spec.batch, spec.epochs) == (5000, 600)
    assert FULL == {"train": 45000, "test": 5000, "batch": 25000, "epochs": 2000}
    for setting in (LIGHT, REDUCED):
        assert 9 * setting["batch"] == 5 * setting["train"], "the printed ratio"


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


FEW = {"train": 9, "test": 4, "batch": 5}


def test_the_recipe_is_the_printed_one(counting):
    """The rate goes from 0.0001 to 0.001; two steps in an epoch of 5 + 4."""
    spec = paraboloid("ATTENTION", 3, clip=7.0, seed=0, **FEW, epochs=3)
    experiments.train(spec, Workspace())
    assert counting.steps == 6
    assert counting.recipe["optimizer"] == SGD(lr=0.001)
    assert counting.recipe["schedule"] == OneCycle(start=0.1)
    assert counting.recipe["clip"] == 7


def test_an_epoch_counts_its_steps_by_their_samples(counting):
    """Losses 0, 1 | 2, 3 | ... with 5 and 4 of 9 samples."""
    spec = paraboloid("ATTENTION", 3, clip=1.0, seed=0, **FEW, epochs=3)
    curve = experiments.train(spec, Workspace()).curves["train"]
    assert curve == pytest.approx([4 / 9, 2 + 4 / 9, 4 + 4 / 9], rel=1e-14)


def test_the_test_error_is_looked_at_before_some_epochs_and_at_the_end(counting, monkeypatch):
    """Seven epochs, about three looks: before epochs 0, 2, 4, 6, when the model is 2 epoch."""
    monkeypatch.setattr(experiments, "TEST_LOOKS", 3)
    spec = quintic("ATTENTION", 3, clip=1.0, seed=2, **FEW, epochs=7)
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
    spec = paraboloid("ATTENTION", 3, clip=1.0, seed=4, **FEW, epochs=2)
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


def same(left, right):
    return (left.numbers, left.curves) == (right.numbers, right.curves) and all(
        torch.equal(left.tensors[name], right.tensors[name])
        for name in left.tensors | right.tensors
    )


def test_an_interrupted_training_ends_with_the_same_bits(tmp_path):
    spec = quintic("ATTENTION", 5, clip=10.0, seed=1, **TINY)

    def stop(step, total, **numbers):
        if step == 14:  # the second half of epoch 6: its order must be drawn again
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path, checkpoint_every=0.0, progress=stop).get(spec, experiments.train)
    resumed = Store(tmp_path).get(spec, experiments.train)
    assert "resumed from step 13 of 24" in resumed.reason
    assert same(resumed.outcome, experiments.train(spec, Workspace()))


def test_numbers_are_of_the_last_model_and_curves_begin_with_the_first():
    spec = paraboloid("ATTENTION", 3, clip=10.0, seed=0, train=90, test=20, batch=50, epochs=7)
    outcome = experiments.train(spec, Workspace())
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
    assert shallow_floor(k - 1) < best < 40 * shallow_floor(k - 1)
    # the formula itself, by another road: k equal pieces of [-R, R], each fitted, times the density at R
    R = s * math.sqrt(5)
    y = np.linspace(-R / k, R / k, 20001)
    left = np.mean((y**2 - np.mean(y**2)) ** 2) * 2 * R  # a line leaves y^2 minus its mean
    weight = math.exp(-2.5) / (s * math.sqrt(2 * math.pi))
    assert shallow_floor(k - 1) == pytest.approx(left * weight, rel=1e-3)


def test_the_rule_of_table_1_takes_the_first_small_change(monkeypatch):
    train = [9.0, 5.0, 5.005, 3.0, 2.0, 1.999, 1.998, 1.0, 1.0, 1.0, 1.0]
    assert [first_still_epoch(train, run=run) for run in (1, 2, 3, 4)] == [3, 7, 11, None]
    assert first_still_epoch(train) == 3
    assert last_moving_epoch(train) == 8
    assert last_moving_epoch([1.0, 1.0]) == 1
    for curve, still, moving in (([1.0, 1.015, 1.006], 3, 2), ([1.0, 1.015, 1.03], None, 3)):
        assert (first_still_epoch(curve), last_moving_epoch(curve)) == (still, moving)
    monkeypatch.setattr(experiments, "STILL", 0.5)  # of which floats hold multiples exactly
    assert first_still_epoch([1.0, 1.5, 1.5]) == 3, "a change of the limit is a change"
    assert first_still_epoch([1.0, 0.5, 0.0]) is None
    assert last_moving_epoch([1.0, 1.5, 1.75]) == 2
