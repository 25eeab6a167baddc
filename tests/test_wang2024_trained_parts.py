"""Heads trained to be an indicator, and neurons fitted to the Euclidean norm."""

import math

import numpy as np
import pytest
import torch

from repro.numerics import barron
from repro.training import Workspace
from repro.training.loop import generator_at
from repro.wang2024 import heads, trained_parts


def test_trained_heads_are_the_layer_they_were_trained_as():
    spec = trained_parts.DeltaFit(T=2, m=3, steps=3, seed=1, length=12)
    outcome = trained_parts.train_delta(spec, Workspace())
    fit = trained_parts.layer(spec, outcome)
    seen = heads.measure(fit.attention(), np.eye(12)[2], np.random.default_rng(0))
    assert seen.worst == pytest.approx(outcome.numbers["l1 error"], rel=1e-12)
    again = trained_parts.train_delta(spec, Workspace())
    assert torch.equal(again.tensors["W"], outcome.tensors["W"])


def test_a_kernel_to_train_has_small_weights_and_the_sum_of_softmaxes():
    kernel = trained_parts.Kernel(500, 4, torch.Generator().manual_seed(0))
    assert kernel.W.std().item() == pytest.approx(1 / 500, rel=0.1)
    assert kernel.b.std().item() == pytest.approx(1, rel=0.1)
    two = trained_parts.Kernel(2, 4, torch.Generator().manual_seed(0))
    with torch.no_grad():
        two.b.copy_(torch.tensor([0.0, 1.0]))
        two.W.copy_(torch.tensor([3.0, -2.0]))
        found = two().tolist()
    falls = [np.exp(-math.log1p(math.exp(b)) * np.arange(4)) for b in (0, 1)]
    by_hand = 3 * falls[0] / falls[0].sum() - 2 * falls[1] / falls[1].sum()
    assert found == pytest.approx(by_hand.tolist())


def test_a_training_is_judged_by_the_distance_from_the_indicator():
    spec = trained_parts.DeltaFit(T=2, m=3, steps=1, seed=1, length=5, lr=0.0)
    outcome = trained_parts.train_delta(spec, Workspace())
    fit = trained_parts.layer(spec, outcome)
    found = heads.columns("lin", fit.exponents, fit.length) @ fit.values
    distance = np.abs(found - [0, 0, 1, 0, 0]).sum()
    assert outcome.numbers["l1 error"] == pytest.approx(distance)
    assert outcome.curves["loss"][0] == pytest.approx(distance)


def test_a_norm_is_fitted_on_the_surface_of_the_cube_from_maureys_draw():
    """The mean eighth power of the error, and its eighth root, at the first points."""
    y = trained_parts.surface(500, generator_at(3, 0)).numpy()
    assert (np.abs(y).max(1) == 1).all()
    assert np.abs(y.mean(0)).max() < 0.1
    assert 0.4 < np.abs(y).min(1).mean() * 2 < 0.8
    start = barron.norm_network(3, 8, np.random.default_rng(3))
    found = trained_parts.Neurons(start)(torch.from_numpy(y)).detach().numpy()
    by_hand = barron.value(start, y)
    assert found == pytest.approx(by_hand)
    outcome = trained_parts.train_norm(
        trained_parts.NormFit(m=8, steps=1, seed=3, batch=500), Workspace()
    )
    error = np.mean((by_hand - np.linalg.norm(y, axis=1)) ** 8) ** (1 / 8)
    assert outcome.curves["loss"][0] == pytest.approx(error)


def test_training_moves_the_network_towards_the_norm():
    outcome = trained_parts.train_norm(trained_parts.NormFit(m=8, steps=60, seed=3), Workspace())
    network = trained_parts.network_of(outcome.tensors)
    start = barron.norm_network(3, 8, np.random.default_rng(3))
    assert barron.sup_error(network, 1.0).upper < barron.sup_error(start, 1.0).lower
