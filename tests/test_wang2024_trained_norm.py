"""Neurons fitted to the Euclidean norm, from Maurey's draw."""

import numpy as np
import pytest
import torch

from repro.numerics import barron
from repro.training import Workspace
from repro.training.loop import generator_at
from repro.wang2024 import trained_norm


def test_a_norm_is_fitted_on_the_surface_of_the_cube_from_maureys_draw():
    """The mean eighth power of the error, and its eighth root, at the first points."""
    y = trained_norm._surface(500, generator_at(3, 0)).numpy()
    assert (np.abs(y).max(1) == 1).all()
    assert np.abs(y.mean(0)).max() < 0.1
    assert 0.4 < np.abs(y).min(1).mean() * 2 < 0.8
    start = barron.norm_network(3, 8, np.random.default_rng(3))
    found = trained_norm.Neurons(start)(torch.from_numpy(y)).detach().numpy()
    by_hand = barron.value(start, y)
    assert found == pytest.approx(by_hand)
    outcome = trained_norm.train(trained_norm.NormFit(m=8, steps=1, seed=3, batch=500), Workspace())
    error = np.mean((by_hand - np.linalg.norm(y, axis=1)) ** 8) ** (1 / 8)
    assert outcome.curves["loss"][0] == pytest.approx(error)


def test_training_moves_the_network_towards_the_norm():
    outcome = trained_norm.train(trained_norm.NormFit(m=8, steps=60, seed=3), Workspace())
    network = trained_norm.network_of(outcome.tensors)
    start = barron.norm_network(3, 8, np.random.default_rng(3))
    assert barron.sup_error(network, 1.0).upper < barron.sup_error(start, 1.0).lower
