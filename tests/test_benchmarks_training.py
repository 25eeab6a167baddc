"""What a step of a training costs: Muon, stacks, compiled models, on the device at hand.

Ratios by `make bench`, as in test_benchmarks.py. One thread; float32; the sizes of Figure 1.
"""

import copy
import shutil

import pytest
import torch
from torch import nn

from repro.jiang2024.learner import Dense, Learner, Recipe, Shape
from repro.training import Stack, generator_at
from repro.training.muon import Muon

pytestmark = pytest.mark.timing
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Numbers:
    """A task of one number a token; what is wanted does not matter for the time."""

    inputs = outputs = 1


def learner(seed, width=128):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        dense = Dense(width=width, sines=20.0)
        return Learner(Numbers(), Shape(m_h=8, f=dense)).to(DEVICE)


@pytest.fixture
def tokens(switched_on):
    count = 64 if switched_on else 2
    return torch.rand(count, 16, 1, generator=generator_at(0, 0)).to(DEVICE)


def a_step(model, loss):
    """One step of our recipe, as a function without arguments."""
    engines = Recipe.ours(1).optimizer.build(dict(model.named_parameters()))

    def step():
        for engine in engines:
            engine.zero_grad()
        loss().backward()
        for engine in engines:
            engine.step()

    return step


def test_muon_in_float32_against_bfloat16(compare, switched_on):
    """The hidden matrices of Figure 1's two networks."""
    size = 128 if switched_on else 8
    matrices = [nn.Parameter(torch.randn(size, size, device=DEVICE)) for _ in range(4)]
    for W in matrices:
        W.grad = torch.randn_like(W)
    ours, theirs = Muon(matrices, lr=0.0, momentum=0.95), torch.optim.Muon(matrices, lr=0.0)
    compare(
        "Muon, a step", fast=ours.step, slow=theirs.step, against="torch.optim.Muon", target=None,
        device=DEVICE, matrices=4, size=size,
    )  # fmt: skip


@pytest.mark.parametrize("width", [32, 128], ids="width={}".format)
def test_a_stack_of_seeds_against_one_after_the_other(compare, tokens, width):
    models = [learner(seed, width) for seed in range(5)]
    stack = Stack([copy.deepcopy(model) for model in models])
    together = a_step(stack, lambda: stack(tokens, shared=True).square().mean(dim=(1, 2, 3)).sum())
    alone = [a_step(model, lambda model=model: model(tokens).square().mean()) for model in models]
    compare(
        f"a step of five seeds, stacked, width {width}", fast=together, slow=lambda: [step() for step in alone],
        against="one after the other", target=None, device=DEVICE, batch=len(tokens), width=width,
    )  # fmt: skip


@pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler for torch.compile")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch, by torch
def test_a_compiled_step_against_a_plain_one(compare, tokens, switched_on):
    """Without `make bench` nothing is compiled: it takes a minute, and only time is at stake."""
    plain, model = learner(0), learner(0)
    compiled = torch.compile(model) if switched_on else model
    compare(
        "a step, compiled", fast=a_step(model, lambda: compiled(tokens).square().mean()),
        slow=a_step(plain, lambda: plain(tokens).square().mean()), against="plain", target=None,
        device=DEVICE, batch=len(tokens),
    )  # fmt: skip
