"""What a linear RNN costs: its kernel and one product, against stepping through the sequence.

Ratios by `make bench` (measuring.py). One thread; float32; 128 units, as in Tables 2, 3 of jiang2024.
"""

import pytest
import torch
from torch import nn

from repro.jiang2024.trained_recurrent import PopulationLoss, Recurrent, toeplitz

PART = 3
pytestmark = [pytest.mark.timing, pytest.mark.usefixtures("one_thread")]
TAUS = pytest.mark.parametrize("tau", [32, 256], ids="tau={}".format)
ROUNDS = {32: 31, 256: 7}  # the shorter, the more: a step of milliseconds is soon interrupted
STEPS = {32: 8, 256: 1}  # in a turn of either: one short step finds the other's things in the cache
WHY = (
    "c W^s is made row by row: tau products with W forwards and as many backwards, whatever the batch, each little more"
    " than a call of torch; at tau=32 autograd's own part of a step is as large. Buffers made once (out=) gain a twentieth"
)


def backwards(tau, loss, module):
    """Steps forward and backward, as in a training; a function without arguments."""

    def steps():
        for _ in range(STEPS[tau]):
            module.zero_grad()
            loss().backward()

    return steps


def by_doubling(recurrent):
    """c, c W, c W^2, ... by squares of W: [R, R W^k] has twice as many rows as R."""
    rows, power = recurrent.c[None], recurrent.W
    while len(rows) < recurrent.tau:
        rows = torch.cat([rows, rows @ power])
        power = power @ power if len(rows) < recurrent.tau else power
    return rows[: recurrent.tau] @ recurrent.U


@pytest.fixture
def networks(switched_on):
    """One stepped by torch, one in kernel form; half of its W, since nothing bends what it keeps."""

    def networks(tau):
        size = 128 if switched_on else 4
        torch.manual_seed(0)
        stepped, kernel = nn.RNN(1, size, bias=False, batch_first=True), Recurrent(size, 1, tau)
        with torch.no_grad():
            inputs, units = stepped.parameters()
            kernel.W.copy_(0.5 * units)
            kernel.U.copy_(inputs)
        return stepped, kernel

    return networks


@TAUS
@pytest.mark.parametrize("batch", [64, 512], ids="batch={}".format)
def test_kernel_form_against_stepping(compare, networks, switched_on, tau, batch):
    """The outputs of a batch; torch's nn.RNN bends every step, at a few percent of its time."""
    size, length = (batch, tau) if switched_on else (2, 4)
    stepped, kernel = networks(length)
    x, wanted = torch.rand(size, length, 1), torch.rand(size, length)
    c = kernel.c.detach()
    inputs, fixed = x.squeeze(-1), nn.Parameter(toeplitz(kernel().detach().squeeze(-1)))
    compare(
        f"RNN in kernel form, outputs, tau={tau}, batch={batch}",
        fast=backwards(tau, lambda: (inputs @ toeplitz(kernel().squeeze(-1)).mT - wanted).square().mean(), kernel),
        slow=backwards(tau, lambda: (stepped(x)[0] @ c - wanted).square().mean(), stepped), against="nn.RNN, step by step",
        limit=backwards(tau, lambda: (inputs @ fixed.mT - wanted).square().mean(), nn.ParameterList([fixed])),
        limit_is="the one product with a kernel that is known", target=10,
        rounds=ROUNDS[tau], units=len(c), tau=length, batch=size, why=WHY,
    )  # fmt: skip


@TAUS
def test_the_exact_error_against_a_batch(compare, networks, switched_on, tau):
    """What Tables 2, 3 are trained on: the error over all sequences, from the kernel; no batch at all."""
    size, length = (64, tau) if switched_on else (2, 4)
    stepped, kernel = networks(length)
    x, wanted, M = torch.rand(size, length, 1), torch.rand(size, length), torch.rand(length, length)
    c, error = kernel.c.detach(), PopulationLoss(M.numpy(), 1, dtype=M.dtype)
    fixed = nn.Parameter(kernel().detach())
    compare(
        f"RNN in kernel form, the exact error, tau={tau}", fast=backwards(tau, lambda: error(kernel()), kernel),
        slow=backwards(tau, lambda: (stepped(x)[0] @ c - wanted).square().mean(), stepped),
        against="nn.RNN, step by step, on a batch of 64", target=10, rounds=ROUNDS[tau], units=len(c), tau=length,
        limit=backwards(tau, lambda: error(fixed), nn.ParameterList([fixed])), limit_is="the error of a kernel that is known", why=WHY,
    )  # fmt: skip


@TAUS
def test_the_kernel_by_doubling(compare, networks, switched_on, tau):
    """What squares of W cost: fewer calls, but each multiplies all of W."""
    _, kernel = networks(tau if switched_on else 4)
    torch.testing.assert_close(by_doubling(kernel), kernel())
    compare(
        f"the kernel of an RNN by doubling, tau={tau}", fast=backwards(tau, lambda: by_doubling(kernel).square().sum(), kernel),
        slow=backwards(tau, lambda: kernel().square().sum(), kernel), against="row by row, as it is trained; below 1: squares of W are not worth it",
        rounds=ROUNDS[tau], tau=kernel.tau,
    )  # fmt: skip
