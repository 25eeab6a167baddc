"""Training on the shared Transformer: where it begins, what moves, what is kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from repro.numerics import l1
from repro.training import Stack, Workspace
from repro.wang2024 import fixed, heads, moving, trained_transformer
from repro.wang2024.trained_transformer import FitTransformer, beginning, networks, weights

NESTED = FitTransformer("nested parity", "lin", layers=3, heads=4, steps=2, seed=0, runs=2, start="construction", noise=0.1)  # fmt: skip
FOLLOW = FitTransformer("follow the pointer", "lin", layers=1, heads=3, steps=3, seed=1, runs=2, attention_only=True)  # fmt: skip
PARITY = FitTransformer("sparse parity", "log", layers=1, heads=6, steps=2, seed=0, runs=2, dot_product=False, normalised=True)  # fmt: skip
POINTED = replace(FOLLOW, rpe="log", layers=2, heads=8, attention_only=False, start="construction")


def still(run):
    """The network of a run, out of training."""
    return run.network().map(torch.Tensor.detach)


def test_a_start_at_the_construction_is_the_construction():
    target = trained_transformer.TARGETS["nested parity"]
    run, again = beginning(replace(NESTED, noise=0.0))
    errors = fixed.errors(still(run), target, target.windows(8))
    assert errors.max() == pytest.approx(0.0403, abs=1e-3)
    assert run.A is not None
    assert run.A > 1000
    pairs = zip(weights(run.network()), weights(again.network()), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_a_start_weighs_as_much_as_its_heaviest_heads():
    """The two pointers reach 3 and 2 tokens back, and heads for 3 weigh more."""
    far, near = (moving.fitted("lin", T, 4).weight for T in (3, 2))
    assert far > 2 * near
    pointers = replace(NESTED, target="two pointers", layers=2)
    assert all(far == run.A for run in beginning(pointers))


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_a_start_at_theorem_4_1_errs_as_little_as_its_heads(rpe):
    spec = replace(PARITY, rpe=rpe, start="construction", heads=8)
    outcome = trained_transformer.train(replace(spec, steps=1), Workspace())
    assert max(outcome.numbers["largest error at the start"]) < {"lin": 1e-4, "log": 1e-3}[rpe]


def test_noise_is_measured_by_what_it_does_to_the_output():
    target = trained_transformer.TARGETS["nested parity"]
    errors = [
        fixed.errors(still(run), target, target.windows(8)).max() for run in beginning(NESTED)
    ]
    assert 0.05 < min(errors) < max(errors) < 5


@pytest.mark.parametrize("spec", [NESTED, FOLLOW, PARITY], ids=lambda spec: spec.target)
def test_a_stack_computes_what_its_networks_compute(spec):
    runs = beginning(spec)
    x = torch.from_numpy(trained_transformer._windows(spec, 0))
    stacked = Stack(runs)(x)
    for run, tokens, outputs in zip(runs, x, stacked, strict=True):
        alone = run.network()(tokens)[..., 0]
        # The heads cancel: sums in another order differ by eps times their weight.
        assert (outputs - alone).abs().max() <= 1e-15 * (10 + (run.A or 0)) * spec.length


@pytest.mark.parametrize("spec", [FOLLOW, PARITY, POINTED], ids=["lin", "softmax", "rounded"])
def test_a_run_is_trained_as_if_it_were_alone(spec):
    """The first of two runs is the same whatever start the second has."""
    together = beginning(spec)
    others = [together[0], beginning(replace(spec, seed=7))[1]]
    found = []
    for runs in (together, others):
        stack = Stack([*map(_copied, runs)])
        for step in range(3):
            windows = trained_transformer._windows(spec, step)
            outputs = trained_transformer._outputs(spec, stack, torch.from_numpy(windows))
            trained_transformer._errors(spec, outputs, windows).square().mean((1, 2)).sum().backward()  # fmt: skip
        found.append(stack.models[0].get_parameter("free").grad)
    assert found[0].abs().max() > 0
    assert torch.equal(*found)


def _copied(run):
    free = run.free.detach().split(run.sizes)
    return trained_transformer.Trainable(run.start, free, run.A)


@pytest.mark.parametrize("spec", [NESTED, FOLLOW, PARITY], ids=lambda spec: spec.target)
def test_the_stored_weights_give_the_judged_networks(spec):
    outcome = trained_transformer.train(spec, Workspace())
    target = trained_transformer.TARGETS[spec.target]
    x = target.draw(trained_transformer.JUDGED, spec.length, np.random.default_rng(spec.seed))
    count = 1 if spec.normalised else spec.length - target.reach
    assert set(outcome.curves) == {"step", "loss 0", "loss 1"}
    found = outcome.numbers["largest error"]
    for network, judged in zip(networks(spec, outcome), found, strict=True):
        out = network(torch.from_numpy(x))[..., 0].numpy()
        error = np.abs(out[:, -count:] - target(x)[:, -count:]).max()
        assert error == pytest.approx(judged, rel=1e-12)


def test_runs_have_starts_and_windows_of_their_own():
    first, second = beginning(FOLLOW)
    assert not torch.equal(first.free, second.free)
    windows = trained_transformer._windows(FOLLOW, 0)
    assert windows.shape == (2, FOLLOW.batch, FOLLOW.length, 1)
    assert not np.array_equal(*windows)
    assert not np.array_equal(windows, trained_transformer._windows(FOLLOW, 1))


@pytest.mark.parametrize("layers", [1, 2])
def test_attention_only_leaves_the_readout_alone(layers):
    spec = replace(FOLLOW, layers=layers)
    outcome = trained_transformer.train(spec, Workspace())
    for run, after in zip(beginning(spec), networks(spec, outcome), strict=True):
        before, (a, b, c) = run.network(), weights(after)[-3:]
        D = b.shape[1]
        last = torch.eye(D, dtype=b.dtype)[-1]
        assert torch.equal(a @ b, 2 * last[None]), "relu(x) - relu(-x)"
        assert torch.equal(b, torch.stack([last, -last]))
        assert not c.any()
        assert len(run.sizes) == len(weights(after)) - 3
        assert not torch.equal(before.W_E, after.W_E)
        assert [len(layer.feed_forward.c) for layer in after.layers] == [16, 2][-layers:]
        values = [layer.attention.heads[0].W_V for layer in before.layers]
        assert layers == 1 or not torch.equal(*values), "each layer has heads of its own"


def test_weights_of_a_construction_are_measured_by_the_largest():
    _, of_one = trained_transformer._one_layer(replace(PARITY, rpe="lin", heads=8, length=24))
    target = trained_transformer.TARGETS["sparse parity"]
    exponents = moving.usual_exponents("lin", 8)
    fits = [heads.fit("lin", l1.indicator(T), exponents, 24).weight for T in target.distances]
    assert of_one == max(fits) > min(fits) > 1


def test_first_weights_have_the_sizes_that_keep_three_layers_finite():
    """Standard deviations, each from 1800 draws and more: known to 1/60."""
    spec = FitTransformer("nested parity", "lin", layers=3, heads=2, steps=1, seed=0, runs=300, width=5)  # fmt: skip
    start = [still(run) for run in beginning(spec)]
    D, layers = start[0].W_E.shape[0], [layer for one in start for layer in one.layers]
    heads = [head for layer in layers for head in layer.attention.heads]
    parts = [layer.feed_forward for layer in layers]
    assert (len(layers), len(heads)) == (300 * 3, 300 * 3 * 2)
    assert [part.a.shape for part in parts[:3]] == [(D, 5), (D, 5), (1, 5)]
    queries, keys = ([getattr(head, name) for head in heads] for name in ("W_Q", "W_K"))
    assert {W.shape for W in (*queries, *keys)} == {(1, D)}
    for size, drawn in (
        (0.5, [one.W_E for one in start]),
        (0.5, [one.b_E for one in start]),
        (0.5 / (2 * D) ** 0.5, [head.W_V for head in heads]),
        (0.5, [head.p.log() for head in heads]),
        (0.5 / D**0.5, queries),
        (0.5 / D**0.5, keys),
        (0.5 / 5**0.5, [part.a for part in parts]),
        (1 / D**0.5, [part.b for part in parts]),
        (1, [part.c for part in parts]),
    ):
        together = torch.cat([one.flatten() for one in drawn])
        assert together.std().item() == pytest.approx(size, rel=0.08)
        assert abs(together.mean().item()) <= 0.1 * size


def test_runs_are_compared_with_the_construction_and_with_their_start():
    numbers = {
        "mean square error": [3.0, 1.0, 2.0],
        "mean square error at the start": [8.0, 4.0, 6.0],
        "largest error": [5.0, 9.0, 7.0],
    }
    assert trained_transformer.compared(numbers, built=0.5) == (3.0, 10.0, 0.5)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (replace(NESTED, layers=2), "nested parity is built with 3 layers, not 2"),
        (replace(NESTED, normalised=True), "4.1 is built with a softmax, 5.1 and 5.4 are built"),
    ],
)
def test_bad_specs_are_named(spec, message):
    with pytest.raises(ValueError, match=message):
        beginning(spec)
