"""The kernel of an RNN with gradients of its own, alone and stacked, and the matrix of a convolution."""

import pytest
import torch

from repro.jiang2024 import recurrent
from repro.jiang2024.trained_recurrent import Kernel, Recurrent, convolved, toeplitz
from repro.training import Stack

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


def test_the_matrix_of_a_convolution_by_hand():
    assert toeplitz(torch.tensor([2.0])).tolist() == [[2.0]]
    a, b = [[1.0, 0, 0], [2, 1, 0], [3, 2, 1]], [[4.0, 0, 0], [5, 4, 0], [6, 5, 4]]
    assert toeplitz(torch.tensor([[1.0, 2, 3], [4, 5, 6]])).tolist() == [a, b]


def test_a_convolution_by_hand():
    """One kernel for an impulse and for a step; then each of them with a kernel of its own."""
    x = torch.tensor([[1.0, 0, 0], [1, 1, 1]])
    assert convolved(torch.tensor([1.0, 2, 3]), x).tolist() == [[1, 2, 3], [1, 3, 6]]
    kernels = torch.tensor([[1.0, 2, 3], [4, 5, 6]])
    assert convolved(kernels, x[:, None])[:, 0].tolist() == [[1, 2, 3], [4, 9, 15]]
