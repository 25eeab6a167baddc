"""The trained RNN: its kernel with gradients of its own, its loss, its round-off."""

import numpy as np
import pytest
import torch

from repro.jiang2024 import ordering, recurrent, trained_recurrent
from repro.jiang2024.linear_tasks import Exponential, LinearTask, Uniform
from repro.jiang2024.trained_recurrent import FitRecurrent, Kernel, Recurrent, convolved, toeplitz
from repro.training import Stack, Workspace

UNIT = 2.0**-53
LENGTHS = pytest.mark.parametrize("tau", [1, 2, 5], ids="tau={}".format)


def weights(units, channels, *stacked):
    generator = torch.Generator().manual_seed(0)
    shapes = (units, units), (units, channels), (units,)
    return [torch.rand(*stacked, *shape, generator=generator, dtype=torch.float64) - 0.5 for shape in shapes]  # fmt: skip


@LENGTHS
@pytest.mark.parametrize("stacked", [(), (3,)], ids=["alone", "stacked"])
def test_gradients_are_those_of_differences(tau, stacked):
    inputs = [one.requires_grad_() for one in weights(4, 2, *stacked)]
    assert torch.autograd.gradcheck(lambda *inputs: Kernel.apply(*inputs, tau), inputs)


@LENGTHS
def test_the_kernel_is_that_of_the_linear_rnn(tau):
    W, U, c = weights(4, 2)
    torch.testing.assert_close(
        Kernel.apply(W, U, c, tau), recurrent.LinearRNN(W, U, c).kernel(tau), rtol=0, atol=2**-50
    )


def test_members_of_a_stack_have_the_kernels_and_gradients_that_they_have_alone():
    members = [Recurrent(4, 2, 5).double() for _ in range(3)]
    kernels = Kernel.apply(*Stack(members).weights().values(), 5)
    kernels.square().sum().backward()
    for member, kernel in zip(members, kernels, strict=True):
        alone = member()
        torch.testing.assert_close(kernel, alone, rtol=0, atol=2**-50)
        expected = torch.autograd.grad(alone.square().sum(), list(member.parameters()))
        for p, gradient in zip(member.parameters(), expected, strict=True):
            torch.testing.assert_close(p.grad, gradient, rtol=0, atol=2**-48)


def test_a_convolution_by_hand():
    """One kernel for an impulse and for a step; then each of them with a kernel of its own."""
    x, kernels = torch.tensor([[1.0, 0, 0], [1, 1, 1]]), torch.tensor([[1.0, 2, 3], [4, 5, 6]])
    a, b = [[1.0, 0, 0], [2, 1, 0], [3, 2, 1]], [[4.0, 0, 0], [5, 4, 0], [6, 5, 4]]
    assert toeplitz(kernels).tolist() == [a, b]
    assert toeplitz(torch.tensor([2.0])).tolist() == [[2.0]]
    assert convolved(kernels[0], x).tolist() == [[1, 2, 3], [1, 3, 6]]
    assert convolved(kernels, x[:, None])[:, 0].tolist() == [[1, 2, 3], [4, 9, 15]]


def small(offsets=False, steps=40, **changes):
    tasks = [LinearTask(Exponential(), tau=6, **changes), LinearTask(Uniform(1), tau=6)]
    members = tuple((task, seed) for seed, task in enumerate(tasks))
    return FitRecurrent(members, 8, steps, 1e-2, offsets=offsets)


@pytest.mark.parametrize("offsets", [False, True])
def test_the_loss_is_the_mean_square_error_of_the_convolution(offsets):
    generator = torch.Generator().manual_seed(1)
    kernel = torch.rand(6, 1 + offsets, dtype=torch.float64, generator=generator)
    M = LinearTask(Exponential(), tau=6, order="reversed").matrix()
    b = kernel[:, 1].cumsum(0).numpy() if offsets else np.zeros(6)
    expected = ordering.mean_square(M, ordering.Model(kernel[:, 0].numpy(), b))
    found = trained_recurrent.PopulationLoss(M, 1 + offsets)(kernel).item()
    assert found == pytest.approx(expected, rel=1e-14)  # of 42 squares, after a QR decomposition


@pytest.mark.parametrize("offsets", [False, True])
def test_training_improves_every_member_and_judges_it_as_the_last_loss_does(offsets):
    spec = small(offsets)
    outcome = trained_recurrent.train(spec, Workspace())
    errors = outcome.numbers["mean square errors"]
    for member, error in enumerate(errors):
        curve = outcome.curves[f"loss {member}"]
        assert error < curve[0] / 2
        assert error == pytest.approx(curve[-1], rel=0.3)  # one more step of Adam


def test_steps_and_kernel_agree_within_the_derived_bound_and_the_bound_is_not_idle():
    spec = small(offsets=True)
    rnn = trained_recurrent.trained(spec, trained_recurrent.train(spec, Workspace()))[0]
    x = torch.rand(50, 6, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    apart = (rnn(x) - recurrent.convolution(rnn.kernel(6), x)).abs()
    allowed = trained_recurrent.roundoff(rnn, x)
    assert (apart <= allowed).all()
    assert allowed.max() < 1e-13
    assert (rnn(x.float().double()) - rnn(x)).abs().max() > allowed.max()


def test_first_weights_fill_the_interval_of_torch():
    """U(-1/sqrt n, 1/sqrt n) with n = 100: ten thousand draws come near to both ends."""
    torch.manual_seed(0)
    W = Recurrent(100, 1, 4).W
    assert -0.1 <= W.min() < -0.099 < 0.099 < W.max() <= 0.1


def test_round_off_of_a_recurrent_network_is_the_bound_of_the_text_sum_by_sum():
    """All sizes differ: n = 3, d = 2, tau = 4."""
    rng, (n, d, tau) = np.random.default_rng(6), (3, 2, 4)
    W, U, c, x = (rng.normal(size=size) for size in ((n, n), (n, d), (n,), (tau, d)))
    norm = np.linalg.norm
    r = [c @ np.linalg.matrix_power(W, s) for s in range(tau)]
    WU = [np.linalg.matrix_power(W, s) @ U for s in range(tau)]
    h = [sum(WU[t - j] @ x[j] for j in range(t + 1)) for t in range(tau)]
    anew = [
        UNIT * ((n + 1) * norm(W) * (norm(h[t - 1]) if t else 0) + (d + 1) * norm(U) * norm(x[t]))
        for t in range(tau)
    ]
    e = [
        sum(n * UNIT * norm(W) * norm(r[k - 1]) * norm(WU[s - k]) for k in range(1, s + 1))
        + n * UNIT * norm(r[s]) * norm(U)
        for s in range(tau)
    ]
    expected = []
    for t in range(tau):
        steps = sum(norm(r[t - j]) * anew[j] for j in range(t + 1))
        steps += n * UNIT * norm(c) * norm(h[t])
        kernel = sum(
            (e[s] + (t + 1 + d) * UNIT * norm(r[s] @ U)) * norm(x[t - s]) for s in range(t + 1)
        )
        expected.append(1.01 * (steps + kernel))
    rnn = recurrent.LinearRNN(*map(torch.tensor, (W, U, c)))
    found = trained_recurrent.roundoff(rnn, torch.tensor(x))
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=0)
