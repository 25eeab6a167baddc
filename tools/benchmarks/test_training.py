"""What a step of a training costs: Muon, seeds in a stack.

Ratios by `make bench` (measuring.py). One thread; float32; on the device at hand.
"""

import copy
import itertools
from typing import Any, cast

import pytest
import torch
from torch import nn

from repro.jiang2024.learner import Dense, Learner, Recipe, Shape
from repro.training import Stack, generator_at
from repro.training.muon import COEFFICIENTS, Muon

pytestmark = [pytest.mark.timing, pytest.mark.usefixtures("one_thread")]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
OTHER_ORDER = 10  # times the rounding of one way: another way may add up in an unluckier order


class Numbers:
    """A task of one number a token; what is wanted does not matter for the time."""

    inputs = outputs = 1


def network(seed, width=128):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        dense = Dense(width=width, sines=20.0)
        return Learner(cast(Any, Numbers()), Shape(m_h=8, f=dense)).to(DEVICE)


@pytest.fixture
def tokens(switched_on):
    count = 64 if switched_on else 2
    return torch.rand(count, 16, 1, generator=generator_at(0, 0)).to(DEVICE)


# --- a step of our recipe ------------------------------------------------------------------------


def a_step(model, losses):
    """One step, as a function; it gives the gradients, and the weights to which they lead."""
    weights = list(model.parameters())
    engines = Recipe.ours(1).optimizer.build(dict(model.named_parameters()))

    def step():
        for engine in engines:
            engine.zero_grad()
        losses().sum().backward()
        for engine in engines:
            engine.step()
        return [weight.grad for weight in weights], weights

    return step


def plain(model, tokens):
    return a_step(model, lambda: model(tokens).square().mean())


def one_after_the_other(steps):
    gradients, weights = zip(*(step() for step in steps), strict=True)
    return list(itertools.chain(*gradients)), list(itertools.chain(*weights))


def joined(tensors):
    return torch.cat([tensor.detach().double().flatten() for tensor in tensors])


def same_step(models, tokens):
    """For `compare`, by the norm: as near to each other as float32 is to float64 in the same steps."""
    copies = [copy.deepcopy(model).double() for model in models]
    exact = one_after_the_other([plain(model, tokens.double()) for model in copies])

    def same(found, wanted):
        for ours, theirs, right in zip(found, wanted, exact, strict=True):
            a, b, c = map(joined, (ours, theirs, right))
            assert (a - b).norm() <= OTHER_ORDER * (b - c).norm() < c.norm() / 100

    return same


@pytest.mark.parametrize("width", [32, 128], ids="width={}".format)
def test_a_stack_of_seeds_against_one_after_the_other(compare, tokens, width):
    models = [network(seed, width) for seed in range(5)]
    stack = Stack([copy.deepcopy(model) for model in models])
    alone = [plain(model, tokens) for model in models]
    compare(
        f"a step of five seeds, stacked, width {width}",
        fast=a_step(stack, lambda: stack(tokens, shared=True).square().mean(dim=(1, 2, 3))),
        slow=lambda: one_after_the_other(alone), same=same_step(models, tokens),
        against="one after the other", device=DEVICE, batch=len(tokens), width=width,
    )  # fmt: skip


# --- Muon ----------------------------------------------------------------------------------------


def moved_by(engine, gradients, **options):
    """Steps of an optimiser along the same gradients, as a function; where they lead from 0."""
    matrices = [nn.Parameter(torch.zeros_like(G)) for G in gradients]
    for W, G in zip(matrices, gradients, strict=True):
        W.grad = G.clone()
    muon = engine(matrices, lr=1.0, momentum=0.95, **options)

    def step():
        muon.step()
        return matrices

    return step


def up_to_bfloat16(found, wanted):
    """torch rounds each of 15 products to bfloat16, by 2^-9 of its size; |a| + |b| + |c| = 10.3 is
    what the terms of a round may be larger than their sum."""
    for a, b in zip(found, wanted, strict=True):
        assert (a - b).norm() <= 15 * 2**-9 * sum(map(abs, COEFFICIENTS)) * b.norm()


def test_muon_in_float32_against_bfloat16(compare, switched_on):
    """As many matrices as the two networks of Figure 1 have between features.

    Orthogonal ones: where singular values are small, bfloat16 does not tell their directions.
    """
    size = 128 if switched_on else 8
    drawn = torch.randn(4, size, size, generator=generator_at(0, 0)).to(DEVICE)
    gradients = [torch.linalg.qr(G).Q for G in drawn]
    compare(
        "Muon, a step", fast=moved_by(Muon, gradients), slow=moved_by(torch.optim.Muon, gradients, weight_decay=0.0),
        same=up_to_bfloat16, against="torch.optim.Muon, in bfloat16", device=DEVICE, matrices=4, size=size,
    )  # fmt: skip
