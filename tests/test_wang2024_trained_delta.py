"""Heads trained to be an indicator."""

import math

import numpy as np
import pytest
import torch

from repro.training import Workspace
from repro.wang2024 import heads, trained_delta


def test_trained_heads_are_the_layer_they_were_trained_as():
    spec = trained_delta.DeltaFit(T=2, m=3, steps=3, seed=1, length=12)
    outcome = trained_delta.train(spec, Workspace())
    fit = trained_delta.layer(spec, outcome)
    seen = heads.measure(fit.attention(), np.eye(12)[2], np.random.default_rng(0))
    assert seen.worst == pytest.approx(outcome.numbers["l1 error"], rel=1e-12)
    again = trained_delta.train(spec, Workspace())
    assert torch.equal(again.tensors["W"], outcome.tensors["W"])


def test_a_kernel_to_train_has_small_weights_and_the_sum_of_softmaxes():
    kernel = trained_delta.Kernel(500, 4, torch.Generator().manual_seed(0))
    assert kernel.W.std().item() == pytest.approx(1 / 500, rel=0.1)
    assert kernel.b.std().item() == pytest.approx(1, rel=0.1)
    two = trained_delta.Kernel(2, 4, torch.Generator().manual_seed(0))
    with torch.no_grad():
        two.b.copy_(torch.tensor([0.0, 1.0]))
        two.W.copy_(torch.tensor([3.0, -2.0]))
        found = two().tolist()
    falls = [np.exp(-math.log1p(math.exp(b)) * np.arange(4)) for b in (0, 1)]
    by_hand = 3 * falls[0] / falls[0].sum() - 2 * falls[1] / falls[1].sum()
    assert found == pytest.approx(by_hand.tolist())


def test_a_training_is_judged_by_the_distance_from_the_indicator():
    spec = trained_delta.DeltaFit(T=2, m=3, steps=1, seed=1, length=5, lr=0.0)
    outcome = trained_delta.train(spec, Workspace())
    fit = trained_delta.layer(spec, outcome)
    found = heads.columns("lin", fit.exponents, fit.length) @ fit.values
    distance = np.abs(found - [0, 0, 1, 0, 0]).sum()
    assert outcome.numbers["l1 error"] == pytest.approx(distance)
    assert outcome.curves["loss"][0] == pytest.approx(distance)
