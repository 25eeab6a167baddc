"""What a step of a training costs: an RNN in kernel form, seeds in a stack. One thread; float32."""

import copy
import itertools
from typing import Any, cast

import pytest
import torch
from torch import nn

from repro.jiang2024.learner import Dense, Learner, Recipe, Shape
from repro.jiang2024.trained_recurrent import Recurrent, convolved
from repro.numerics import roundoff
from repro.training import Stack, generator_at
from tools.benchmarks.measuring import within

pytestmark = [pytest.mark.timing, pytest.mark.usefixtures("one_thread")]
OTHER_ORDER = 10  # times the rounding of one way: another way may add up in an unluckier order

# --- a linear RNN: its kernel and one product, against stepping through the sequence -------------


class Stepped(nn.Module):
    """torch's nn.RNN with the weights of a network in kernel form."""

    def __init__(self, W, U, c):
        super().__init__()
        self.rnn = nn.RNN(1, len(c), nonlinearity="relu", bias=False, batch_first=True)
        self.c = nn.Parameter(c.detach().clone())
        self.rnn.load_state_dict({"weight_hh_l0": W, "weight_ih_l0": U})

    def forward(self, x):
        return self.rnn(x)[0] @ self.c


def steps(count, weights, output, wanted):
    """Steps forward and backward, as a function; it gives the last output and the gradients."""

    def steps():
        for _ in range(count):
            found = output()
            gradients = torch.autograd.grad((found - wanted).square().mean(), weights)
        return [found.detach(), *gradients]

    return steps


@pytest.mark.parametrize("batch", [64, 512], ids="batch={}".format)
@pytest.mark.parametrize(("tau", "count"), [(32, 32), (256, 4)], ids=["tau=32", "tau=256"])
def test_kernel_form_against_stepping(compare, switched_on, tau, count, batch):
    """The outputs of a batch, and the gradients of its error in W, U and c.

    No weight and no input is negative, and all that is wanted is. So a ReLU changes nothing, and no
    sum has terms of both signs: m roundings in a row change a number by at most gamma(m) of itself.
    At each of tau times, forwards, backwards and in powers of W, come a sum over the units, an
    addition and a product; at the end a sum over the batch.
    """
    size, length, units = (batch, tau, 128) if switched_on else (2, 4, 4)
    torch.manual_seed(0)
    kernel = Recurrent(units, 1, length)
    with torch.no_grad():
        for weight in kernel.parameters():
            weight.abs_()
        kernel.W.mul_(0.9 / kernel.W.sum(1, keepdim=True))  # forgets slowly
    stepped = Stepped(kernel.W, kernel.U, kernel.c)
    x, wanted = torch.rand(size, length, 1), -torch.rand(size, length)
    off = (3 * length * (units + 3) + size * length) * roundoff.unit("float32")
    compare(
        f"RNN in kernel form, tau={tau}, batch={batch}",
        fast=steps(count, [kernel.W, kernel.U, kernel.c], lambda: convolved(kernel().squeeze(-1), x.squeeze(-1)), wanted),
        slow=steps(count, [stepped.rnn.weight_hh_l0, stepped.rnn.weight_ih_l0, stepped.c], lambda: stepped(x), wanted),
        same=within(2 * off / (1 - off)), against="nn.RNN, step by step", target=10, rounds=15,
        units=units, tau=length, batch=size, steps_in_a_turn=count,
    )  # fmt: skip


# --- seeds in a stack ----------------------------------------------------------------------------


class Numbers:
    """A task of one number a token; what is wanted does not matter for the time."""

    inputs = outputs = 1


def network(seed, width):
    torch.manual_seed(seed)
    return Learner(cast(Any, Numbers()), Shape(m_h=8, f=Dense(width=width, sines=20.0)))


def a_step(model, losses):
    """One step of our recipe, as a function; it gives the gradients, and the weights after it."""
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


def one_after_the_other(models, tokens):
    def alone(model):
        return a_step(model, lambda: model(tokens).square().mean())

    each = [alone(model) for model in models]

    def step():
        gradients, weights = zip(*(one() for one in each), strict=True)
        return list(itertools.chain(*gradients)), list(itertools.chain(*weights))

    return step


def joined(tensors):
    return torch.cat([tensor.detach().double().flatten() for tensor in tensors])


@pytest.mark.parametrize("width", [32, 128], ids="width={}".format)
def test_a_stack_of_seeds_against_one_after_the_other(compare, switched_on, width):
    models = [network(seed, width) for seed in range(5)]
    tokens = torch.rand(64 if switched_on else 2, 16, 1, generator=generator_at(0, 0))
    stack = Stack([copy.deepcopy(model) for model in models])
    in_float64 = [copy.deepcopy(model).double() for model in models]
    exact = one_after_the_other(in_float64, tokens.double())()

    def same(found, wanted):
        """By the norm: as near to each other as float32 is to float64 in the same steps."""
        for ours, theirs, right in zip(found, wanted, exact, strict=True):
            a, b, c = map(joined, (ours, theirs, right))
            assert (a - b).norm() <= OTHER_ORDER * (b - c).norm() < c.norm() / 100

    compare(
        f"a step of five seeds, stacked, width {width}",
        fast=a_step(stack, lambda: stack(tokens, shared=True).square().mean(dim=(1, 2, 3))),
        slow=one_after_the_other(models, tokens), same=same, against="one after the other",
        batch=len(tokens), width=width,
    )  # fmt: skip
