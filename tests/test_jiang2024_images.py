"""What is trained on images, and how a trained head is cut to its first terms."""

import hashlib
from dataclasses import replace
from typing import Any

import generated_data
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from repro.data.download import checksum
from repro.jiang2024 import (
    convolution,
    head_pod,
    image_settings,
    learner,
    scores,
    trained_vit,
    vit,
    vit_weights,
)
from repro.training import Store, Workspace
from repro.training.loop import generator_at

SMALL = vit.Shape(image=32, patch=8, depth=2, width=24, heads=2, m_h=6, hidden=32)
QUICK = replace(
    image_settings.SMOKE,
    network=replace(SMALL, depth=1),
    recipe=image_settings.ours(4, 8),
    further=image_settings.ours(3, 8),
    judged=50,
)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = generated_data.images(
        tmp_path_factory.mktemp("data") / "cifar", np.random.default_rng(0)
    )
    return trained_vit.Images.read(folder)


def jolted(shape, seed=0) -> Any:
    """A network whose weights are all of one size, so that nothing is small by accident."""
    torch.manual_seed(seed)
    model = shape.build()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval().requires_grad_(False)


def test_images_are_read_standardised_and_told_apart(images, tmp_path):
    x = images.prepared(images.pixels, 32)
    assert x.mean((0, 2, 3)).abs().max() < 1e-4  # float32 sums of 500 * 1024 numbers
    assert (x.std((0, 2, 3)) - 1).abs().max() < 1e-4
    for count in (2, 64):
        assert images.prepared(images.pixels[:count], 64).shape == (count, 3, 64, 64)
    other = trained_vit.Images.read(
        generated_data.images(tmp_path / "cifar", np.random.default_rng(1))
    )
    assert images.digest != other.digest


def test_orders_are_permutations_of_the_kind_they_say(images):
    spec = QUICK.original(images.digest)

    def order(name, seed=0) -> Any:
        return trained_vit.order_of(replace(spec, order=name), 5, generator_at(seed, 0))

    assert order("given") is None
    assert order("ten to the end").tolist() == [10, 11, 12, 13, 14, 15, *range(10)]
    assert torch.equal(order("drawn once"), order("drawn once", seed=1))
    assert sorted(order("drawn once").tolist()) == list(range(16))
    moves = {(place - patch) % 16 for place, patch in enumerate(order("drawn once").tolist())}
    assert len(moves) > 8, "a roll would have one"
    anew = order("drawn anew")
    assert [sorted(row) for row in anew.tolist()] == [list(range(16))] * 5
    assert len({tuple(row) for row in anew.tolist()}) == 5
    assert not torch.equal(anew, order("drawn anew", seed=1))
    drawn = trained_vit.order_of(replace(spec, order="drawn anew"))
    assert drawn is not None
    assert drawn.shape == (1, 16)


def test_a_convolution_sees_neighbours_and_no_places(images):
    model = jolted(convolution.Shape(image=32, patch=8, depth=1, width=8))
    x = images.prepared(images.pixels[:3], 32)
    turned = torch.arange(16).reshape(4, 4).flip(0).flatten()
    # float32, 8 * 9 products; the memory's layout decides the order of sums
    assert torch.allclose(model(x, torch.arange(16)), model(x), atol=1e-5)
    assert not torch.allclose(model(x, torch.arange(16).roll(1)), model(x), atol=1e-3)
    mirrored = jolted(convolution.Shape(image=32, patch=8, depth=1, width=8))
    mirrored.layers[0].weight.copy_(model.layers[0].weight.flip(2))
    assert torch.allclose(mirrored(x, turned), model(x), atol=1e-5)


def test_a_convolution_adds_what_neighbours_say_to_what_is_there(images):
    """x + gelu(3 x 3 of x, normalised over all channels and places), then the mean over places."""
    model = jolted(convolution.Shape(image=32, patch=8, depth=2, width=6))
    images = images.prepared(images.pixels[:3], 32)
    x = model.embedding(images)
    for norm, layer in zip(model.norms, model.layers, strict=True):
        assert layer.weight.shape == (6, 6, 3, 3)
        flat = x.flatten(1)
        spread = (flat.var(1, correction=0) + 1e-5).sqrt()
        normal = (x - flat.mean(1)[:, None, None, None]) / spread[:, None, None, None]
        normal = normal * norm.weight[:, None, None] + norm.bias[:, None, None]
        around = torch.nn.functional.conv2d(normal, layer.weight, layer.bias, padding=1)
        x = x + torch.nn.functional.gelu(around)
    # float32: a few sums of 54 products
    assert torch.allclose(model(images), model.head(x.mean((2, 3))), rtol=1e-4, atol=1e-4)


def test_a_training_begins_where_its_start_ended(images, tmp_path):
    store = Store(tmp_path)
    original = QUICK.original(images.digest)
    spec = QUICK.continued(original, "ten to the end")
    assert (spec.recipe.steps, spec.order, spec.start) == (3, "ten to the end", original)
    first = trained_vit.stored(store.get, original, images).outcome
    idle = replace(spec, recipe=image_settings.ours(1, 8, lr=0.0, rest=0.0))
    unmoved = trained_vit.stored(store.get, idle, images).outcome
    for name, tensor in first.tensors.items():
        assert torch.equal(tensor, unmoved.tensors[name])
    moved = trained_vit.stored(store.get, spec, images).outcome
    assert not torch.equal(moved.tensors["position"], first.tensors["position"])


def test_gradients_are_clipped_as_dosovitskiy_et_al_do(images, monkeypatch):
    """At the norm 1, their Table 4; and the steps, the optimizer and the schedule are the spec's."""
    asked = {}

    def fit(model, loss, **options):
        asked.update(options)
        return {"loss": [0.0]}

    monkeypatch.setattr(learner, "fit", fit)
    spec = QUICK.original(images.digest)
    trained_vit.train(spec, Workspace(), images=images, first={})
    recipe = spec.recipe
    expected = {"steps": 4, "optimizer": recipe.optimizer, "schedule": recipe.schedule, "clip": 1.0}
    assert {name: asked[name] for name in expected} == expected


def test_a_training_begins_with_the_users_own_weights(images, tmp_path, monkeypatch):
    file = tmp_path / "own.safetensors"
    model, layout = jolted(replace(SMALL, classes=7)), vit_weights.TIMM
    theirs, shapes = model.state_dict(), vit_weights.expected(layout, model)
    drawn = {name: torch.randn(shape) for name, shape in shapes.items()}
    drawn[layout.names["class_token"]] = theirs["class_token"][None, None]
    save_file(drawn, file)
    monkeypatch.setenv(vit_weights.VARIABLE, str(file))
    recipe = image_settings.ours(1, 8, lr=0.0, rest=0.0)
    spec = replace(QUICK.original(images.digest), shape=SMALL, recipe=recipe)
    spec = replace(spec, pretrained=checksum(file))
    outcome = trained_vit.stored(Store(tmp_path / "store").get, spec, images).outcome
    assert torch.equal(outcome.tensors["class_token"], theirs["class_token"])
    assert outcome.tensors["head.weight"].shape == (10, 24)
    other = replace(spec, pretrained="0" * 64)
    with pytest.raises(ValueError, match="names other weights"):
        trained_vit.stored(Store(tmp_path / "store").get, other, images)


def test_judged_numbers_are_those_of_the_stored_network(images, tmp_path):
    spec = replace(QUICK.original(images.digest), order="drawn anew")
    outcome = trained_vit.stored(Store(tmp_path).get, spec, images).outcome
    model = trained_vit.trained(spec, outcome)
    said = trained_vit.answers(spec, model, images, images.test_pixels[:50])
    right = said.argmax(1).eq(images.test_labels[:50]).sum().item()
    assert outcome.numbers["test accuracy"] == right / 50
    said = trained_vit.answers(spec, model, images, images.pixels[:50])
    error = torch.nn.functional.cross_entropy(said, images.labels[:50]).item()
    assert outcome.numbers["training error"] == error
    assert trained_vit.judge(spec, model, images, on=["training"]) == {
        name: outcome.numbers[name] for name in ("training error", "training accuracy")
    }
    assert error != outcome.numbers["test error"]


@pytest.mark.parametrize("order", ["given", "drawn once", "drawn anew"])
def test_answers_are_those_of_all_images_at_once_with_gradients(images, order):
    """120 images: three batches. With gradients all tokens go through the last layer."""
    spec, pixels = replace(QUICK.original(images.digest), order=order), images.pixels[:120]
    model = jolted(spec.shape)
    drawn = trained_vit.order_of(spec, 120, generator_at(spec.seed, -2))
    expected = model(images.prepared(pixels, 32), drawn)
    said = trained_vit.answers(spec, model, images, pixels)
    torch.testing.assert_close(said, expected, rtol=1e-5, atol=1e-4)
    assert (said.std(0) > 0.01).all()  # images are told apart


def test_operations_are_those_of_the_printed_training():
    """17.6 thousand million products an image: the published figure for ViT-B/16."""
    assert vit.B16.products() == pytest.approx(17.6e9, rel=0.01)
    paper = image_settings.PAPER
    assert paper.operations() == 6 * 10_000 * 512 * vit.B16.products()
    small = vit.Shape(image=8, patch=4, depth=1, width=3, heads=1, m_h=2, hidden=5)
    tokens, maps, mlp = 5, 3 * (2 + 2 + 2 + 2), 2 * 3 * 5
    attention = 5 * 5 * (2 + 2)
    assert small.products() == 4 * 48 * 3 + tokens * (maps + mlp) + attention


def test_sweeps_change_the_head_size_and_nothing_else():
    setting: Any = image_settings.LAPTOP
    specs = list(setting.sweep("digest"))
    assert len({spec.shape.m_h for spec in specs}) >= 5
    assert {spec.seed for spec in specs} == {0, 1}
    assert {replace(spec.shape, m_h=0) for spec in specs} == {replace(setting.swept, m_h=0)}
    assert all(spec.shape.values == spec.shape.m_h for spec in specs)
    alone = list(setting.couplings_alone("digest"))
    assert {spec.shape.values for spec in alone} == {setting.swept.m_h}
    assert any(spec in specs for spec in alone), "the common size is trained once"


@pytest.mark.parametrize("name", ["SMOKE", "LAPTOP", "PAPER"])
def test_a_users_own_weights_are_for_the_printed_network_alone(name, tmp_path, monkeypatch):
    file = tmp_path / "own.safetensors"
    file.write_bytes(b"weights")
    monkeypatch.setenv(vit_weights.VARIABLE, str(file))
    known = hashlib.sha256(b"weights").hexdigest() if name == "PAPER" else ""
    assert getattr(image_settings, name).original("digest").pretrained == known


@pytest.mark.parametrize("depth", [1, 2])
def test_all_terms_are_the_same_network(depth, images):
    model = jolted(replace(SMALL, depth=depth)).double()
    x = images.prepared(images.pixels[:20], 32).double()
    terms = head_pod.pod(model, x)
    whole = head_pod.kept(model, terms, slice(0, 6)).double()
    # terms are kept in float32: 6 * 24 products a score, one or two layers
    assert torch.allclose(whole(x), model(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_roots_of_one_direction_are_0_beside_it_at_every_scale(scale):
    """All vectors are t e with |e| = 1 and E t^2 = s^2: the roots are s e e^T and e e^T / s."""
    generator = torch.Generator().manual_seed(0)
    e = torch.randn(7, generator=generator, dtype=torch.float64)
    t = scale * torch.randn(50, generator=generator, dtype=torch.float64)
    e, s = e / e.norm(), t.square().mean().sqrt()
    root, inverse = head_pod._roots(t[:, None] * e)
    torch.testing.assert_close(root / s, torch.outer(e, e), rtol=0, atol=1e-14)
    torch.testing.assert_close(inverse * s, torch.outer(e, e), rtol=0, atol=1e-14)


def test_terms_are_orthonormal_and_sum_to_the_coupling(images):
    model = jolted(SMALL).double()
    x = images.prepared(images.pixels[:20], 32).double()
    (terms, _), tokens = head_pod.pod(model, x), model.layers[0].norm_1(model.tokens(x))
    u = tokens.flatten(0, 1)
    phi = torch.cat([u, torch.ones_like(u[:, :1])], 1) @ terms.queries[1].mT
    psi = (u - u.mean(0)) @ terms.keys[1].mT
    eye = torch.eye(6, dtype=torch.float64)
    assert torch.allclose(phi.mT @ phi / len(u), eye, atol=1e-9)  # G is 1e-6 of its largest value
    assert torch.allclose(psi.mT @ psi / len(u), eye, atol=1e-9)
    coupling = scores.seen((phi * terms.sigma[1]) @ psi.mT)
    Q, K = (part[:, 1].flatten(0, 1) for part in model.queries_and_keys(x)[0])
    assert torch.allclose(coupling, scores.seen(scores.of(Q, K)), atol=1e-8)
    # so sigma^2 sums to the mean square of what softmax sees, over all pairs of tokens
    square = terms.sigma[1].square().sum()
    assert torch.isclose(square, coupling.square().mean(), rtol=1e-9)
