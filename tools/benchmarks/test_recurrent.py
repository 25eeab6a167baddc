"""What a linear RNN costs: its kernel and one product, against stepping through the sequence.

Ratios by `make bench` (measuring.py). One thread; float32; 128 units, as in Tables 2, 3 of jiang2024.

No weight and no input is negative, and all that is wanted is. So torch's nn.RNN with a ReLU is a
linear one, and no sum in outputs and gradients has terms of both signs: what m roundings in a row
change is at most gamma(m) of the number itself.
"""

import pytest
import torch
from scipy.linalg import hadamard
from torch import nn

from repro.jiang2024.trained_recurrent import PopulationLoss, Recurrent, convolved
from repro.numerics import roundoff
from tools.benchmarks.measuring import agree, within

pytestmark = [pytest.mark.timing, pytest.mark.usefixtures("one_thread")]
TAUS = pytest.mark.parametrize("tau", [32, 256], ids="tau={}".format)
ROUNDS = {32: 31, 256: 15}  # the shorter, the more: a step of milliseconds is soon interrupted
STEPS = {32: 32, 256: 4}  # in a turn of either: the first finds the other's things in the cache
BATCH = 64

# --- two networks that compute the same ----------------------------------------------------------


class Stepped(nn.Module):
    """torch's nn.RNN with the weights of a network in kernel form."""

    def __init__(self, W, U, c):
        super().__init__()
        self.rnn = nn.RNN(1, len(c), nonlinearity="relu", bias=False, batch_first=True)
        self.c = nn.Parameter(c.detach().clone())
        self.rnn.load_state_dict({"weight_hh_l0": W, "weight_ih_l0": U})

    @property
    def weights(self):
        return [self.rnn.weight_hh_l0, self.rnn.weight_ih_l0, self.c]

    def forward(self, x):
        return self.rnn(x)[0] @ self.c


@pytest.fixture
def networks(switched_on):
    """One in kernel form, one stepped by torch; rows of W add up to 0.9, so that they forget slowly."""

    def networks(tau):
        torch.manual_seed(0)
        kernel = Recurrent(128 if switched_on else 4, 1, tau)
        with torch.no_grad():
            for weight in kernel.parameters():
                weight.abs_()
            kernel.W.mul_(0.9 / kernel.W.sum(1, keepdim=True))
        return kernel, Stepped(kernel.W, kernel.U, kernel.c)

    return networks


def steps(tau, weights, output, loss):
    """Steps forward and backward, as a function; it gives the last output and the gradients."""

    def steps():
        for _ in range(STEPS[tau]):
            found = output()
            gradients = torch.autograd.grad(loss(found), weights)
        return [found.detach(), *gradients]

    return steps


def gamma(m):
    """The part of itself that m roundings in a row may change a number by."""
    return m * roundoff.unit("float32") / (1 - m * roundoff.unit("float32"))


def in_a_row(units, tau, terms=0):
    """Roundings on the longest way through W at all times, forwards, backwards and in powers of W.

    At each time a sum over the units, an addition and a product; then a sum of so many terms.
    """
    return 3 * tau * (units + 3) + terms


def error(wanted):
    return lambda output: nn.functional.mse_loss(output, wanted.expand_as(output))


# --- how much faster -----------------------------------------------------------------------------


@TAUS
@pytest.mark.parametrize("batch", [64, 512], ids="batch={}".format)
def test_kernel_form_against_stepping(compare, networks, switched_on, tau, batch):
    """The outputs of a batch, and the gradients of its error in W, U and c."""
    size, length = (batch, tau) if switched_on else (2, 4)
    kernel, stepped = networks(length)
    x, loss = torch.rand(size, length, 1), error(-torch.rand(size, length))
    inputs, units = x.squeeze(-1), len(kernel.c)
    compare(
        f"RNN in kernel form, outputs, tau={tau}, batch={batch}",
        fast=steps(tau, [kernel.W, kernel.U, kernel.c], lambda: convolved(kernel().squeeze(-1), inputs), loss),
        slow=steps(tau, stepped.weights, lambda: stepped(x), loss), against="nn.RNN, step by step",
        same=within(2 * gamma(in_a_row(units, length, terms=size * length))),
        target=10, rounds=ROUNDS[tau], repeats=STEPS[tau], units=units, tau=length,
        batch=size,
    )  # fmt: skip


def like_all_sequences(tau):
    """2 tau sequences with the mean 1/2 and the covariance 1/12 of all: (2 tau, tau, 1).

    A mean square error asks for no more, so over these it is that over all. Rows of a Hadamard
    matrix H and of -H: the mean is 0, and H^T H = tau.
    """
    H = torch.tensor(hadamard(tau), dtype=torch.float32)
    return 0.5 + torch.cat([H, -H])[..., None] / 12**0.5


def roundoff_of_the_exact_error(kernel, exact):
    """What rounding may do to |R z - b|^2 + floor, z the kernel, and to its gradients in W, U, c.

    z_s is off by gamma(n (s+2)) of itself, as all behind it is positive. R has both signs, so
    r = R z - b is off by e = |R| |dz| + gamma(tau + 3) (|R| z + |b|); the error by (2 |r| + e) . e,
    its gradient in z by 2 |R|^T e, besides the roundings of these sums. What takes it from z to
    the weights is positive again: it takes bounds to bounds.
    """
    n, tau, z = len(kernel.c), kernel.tau, kernel()
    known, R = z.detach()[:, 0], exact.R.abs()
    dz = gamma(n * (torch.arange(tau) + 2)) * known
    r = (exact.R @ known - exact.b).abs()
    e = R @ dz + gamma(tau + 3) * (R @ known + exact.b.abs())
    value = (2 * r + e) @ e + gamma(tau + 3) * (r @ r + exact.floor)
    in_z = 2 * R.T @ (e + gamma(in_a_row(n, tau)) * r)
    return [value, *torch.autograd.grad(z, [kernel.W, kernel.U, kernel.c], in_z[:, None])]


@TAUS
def test_the_exact_error_against_a_batch(compare, networks, switched_on, tau):
    """What Tables 2, 3 are trained on: the error over all sequences, from the kernel; no batch at all.

    The batches that have the same error together are compared; one of them is timed.
    """
    length, size = (tau, BATCH) if switched_on else (4, 4)
    kernel, stepped = networks(length)
    M = -torch.rand(length, length)
    exact = PopulationLoss(M.numpy(), 1, dtype=M.dtype)

    def on(x):
        loss = error(x.squeeze(-1) @ M.mT)
        return steps(tau, stepped.weights, lambda: loss(stepped(x)), lambda error: error)

    first, *others = map(on, like_all_sequences(length).split(size))

    def same(found, of_first):
        batches = zip(of_first, *(batch() for batch in others), strict=True)
        wanted = [torch.stack(parts).mean(0) for parts in batches]
        part = gamma(in_a_row(len(kernel.c), length, terms=2 * length**2))
        ours = roundoff_of_the_exact_error(kernel, exact)
        agree(found, wanted, [own + part * b for own, b in zip(ours, wanted, strict=True)])

    compare(
        f"RNN in kernel form, the exact error, tau={tau}",
        fast=steps(tau, [kernel.W, kernel.U, kernel.c], lambda: exact(kernel()), lambda error: error),
        slow=first, same=same, against="nn.RNN, step by step, on a batch of 64", target=10, rounds=ROUNDS[tau],
        repeats=STEPS[tau], units=len(kernel.c), tau=length,
    )  # fmt: skip
