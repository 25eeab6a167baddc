"""Training on the shared Transformer: where it begins, what moves, what is kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from repro.training import Workspace
from repro.wang2024 import adaptive, trained_transformer
from repro.wang2024.trained_transformer import FitTransformer, Trainable

NESTED = FitTransformer("nested parity", "lin", layers=3, heads=4, steps=2, seed=0, start="construction")  # fmt: skip
FOLLOW = FitTransformer("follow the pointer", "lin", layers=1, heads=3, steps=3, seed=1, attention_only=True)  # fmt: skip
PARITY = FitTransformer("sparse parity", "log", layers=1, heads=6, steps=2, seed=0, dot_product=False, normalised=True)  # fmt: skip


def weights(network):
    found = []
    network.map(lambda weight: found.append(weight) or weight)
    return found


def test_a_start_at_the_construction_is_the_construction():
    target = trained_transformer.TARGETS["nested parity"]
    network, A = trained_transformer.beginning(NESTED)
    errors = adaptive.errors(network, target, target.windows(8))
    assert errors.max() == pytest.approx(0.0403, abs=1e-3)
    assert A is not None
    assert A > 1000
    again = Trainable(network, A).network()
    assert all(torch.equal(a, b) for a, b in zip(weights(network), weights(again), strict=True))


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_a_start_at_theorem_4_1_errs_as_little_as_its_heads(rpe):
    spec = replace(PARITY, rpe=rpe, start="construction", heads=8)
    outcome = trained_transformer.train(replace(spec, steps=1), Workspace())
    assert outcome.numbers["largest error at the start"] < {"lin": 1e-4, "log": 1e-3}[rpe]


def test_noise_is_measured_by_what_it_does_to_the_output():
    target = trained_transformer.TARGETS["nested parity"]
    noisy, _ = trained_transformer.beginning(replace(NESTED, noise=0.1))
    assert 0.05 < adaptive.errors(noisy, target, target.windows(8)).max() < 5


@pytest.mark.parametrize("spec", [NESTED, FOLLOW, PARITY], ids=lambda spec: spec.target)
def test_the_stored_weights_give_the_judged_network(spec):
    outcome = trained_transformer.train(spec, Workspace())
    network = trained_transformer.network(spec, outcome)
    target = trained_transformer.TARGETS[spec.target]
    x = target.draw(trained_transformer.JUDGED, spec.length, np.random.default_rng(spec.seed))
    out = network(torch.from_numpy(x))[..., 0].numpy()
    count = 1 if spec.normalised else spec.length - target.reach
    error = np.abs(out[:, -count:] - target(x)[:, -count:]).max()
    assert error == pytest.approx(outcome.numbers["largest error"], rel=1e-12)


def test_attention_only_leaves_the_readout_alone():
    outcome = trained_transformer.train(FOLLOW, Workspace())
    before, _ = trained_transformer.beginning(FOLLOW)
    after = trained_transformer.network(FOLLOW, outcome)
    assert torch.equal(before.layers[0].feed_forward.b, after.layers[0].feed_forward.b)
    assert not torch.equal(before.W_E, after.W_E)


def test_zeros_of_the_construction_stay_zeros():
    outcome = trained_transformer.train(NESTED, Workspace())
    before, _ = trained_transformer.beginning(NESTED)
    pairs = list(zip(weights(before), weights(trained_transformer.network(NESTED, outcome)), strict=True))  # fmt: skip
    assert all(bool((b[a == 0] == 0).all()) for a, b in pairs)
    assert not all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (replace(NESTED, target="no such"), "no target 'no such': there are"),
        (replace(NESTED, start="here"), "at random or at the construction, got 'here'"),
        (replace(NESTED, layers=2), "nested parity is built with 3 layers, not 2"),
    ],
)
def test_bad_specs_are_named(spec, message):
    with pytest.raises(ValueError, match=message):
        trained_transformer.beginning(spec)
