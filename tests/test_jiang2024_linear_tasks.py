"""Targets of Tables 2 and 3, and the linear RNN that is trained on them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from repro.jiang2024 import comparison, linear_tasks, ordering, recurrent, trained_recurrent
from repro.jiang2024.linear_tasks import Exponential, LinearTask, Uniform
from repro.jiang2024.trained_recurrent import FitRecurrent
from repro.training import Workspace

ROUNDED = 1e-15  # sums and quotients of a few numbers up to 2: some units of 2^-53

# linear_tasks.py


def drawn(task, count=3):
    tokens = task.draw(torch.Generator().manual_seed(0), count).double()
    return tokens, tokens[..., :1], task.wanted(tokens)[..., 0]


def test_tokens_are_inputs_and_places():
    tokens, x, _ = drawn(LinearTask(Exponential(), tau=4))
    assert tokens.shape == (3, 4, 5)
    assert ((x >= 0) & (x <= 1)).all()
    assert torch.equal(tokens[1, :, 1:], linear_tasks.PLACE * torch.eye(4, dtype=torch.float64))
    assert drawn(LinearTask(Exponential(), encoded=False))[0].shape == (3, 32, 1)


@pytest.mark.parametrize("ahead", [False, True])
def test_filtered_targets_are_convolutions_of_filtered_inputs(ahead):
    theta = (0.5, -0.25, 0.25)
    task = LinearTask(Uniform(7), theta=theta, ahead=ahead, tau=9)
    _, x, y = drawn(task)
    rho = torch.tensor(Uniform(7).values(9))[:, None]
    see = recurrent.forward_filter if ahead else recurrent.causal_filter
    expected = recurrent.convolution(rho, see(torch.tensor(theta), x))
    assert (y - expected).abs().max() < 1e-14  # sums of 9 terms below 1


def test_the_exchange_undone_gives_the_original_outputs():
    task = LinearTask(Exponential(), order="exchanged")
    _, x, y = drawn(task)
    first, middle, last = x[:, :10], x[:, 10:22], x[:, 22:]
    rho = torch.tensor(Exponential().values(32))[:, None]
    expected = recurrent.convolution(rho, torch.cat([last, middle, first], 1))
    assert (y - expected).abs().max() < 1e-14


def test_standardised_outputs_have_mean_0_and_variance_1_over_sequences_and_times():
    """By the inputs all 1/2, which give the mean, and each of them moved alone by sqrt(1/12)."""
    plain = LinearTask(Uniform(2), tau=5)
    task = replace(plain, standardised=True)
    half = torch.full((1, 5, 1), 0.5, dtype=torch.float64)
    moved = half + torch.eye(5, dtype=torch.float64)[:, :, None] / 12**0.5
    mean = task.wanted(half)[0, :, 0]
    assert abs(mean.mean()) < 1e-15
    moments = mean.square() + (task.wanted(moved)[..., 0] - mean).square().sum(0)
    assert moments.mean().item() == pytest.approx(1, rel=1e-14)
    apart = task.unit * (task.wanted(moved) - task.wanted(half)) - plain.wanted(moved - half)
    assert apart.abs().max() < 1e-14


def test_matrices_are_copies():
    task = LinearTask(Exponential(), tau=3)
    task.matrix()[:] = 0
    assert task.matrix()[0, 0] == 1


def test_sizes_of_a_task():
    task = LinearTask(Exponential(), tau=4)
    assert (task.inputs, task.outputs) == (5, 1)
    assert replace(task, encoded=False).inputs == 1
    assert drawn(task)[2].shape == (3, 4)
    assert LinearTask(Exponential()).tau == 32
    assert Exponential().values(3) == pytest.approx([1, np.exp(-1), np.exp(-2)])


def test_the_floor_of_a_recurrent_network_against_a_search():
    """Two inputs, the kernel (k, l) on a grid of step 1/100: off by (1/200)^2 times the curvature
    of the cost, below 2, at most. A convolution has the floor 0."""
    assert linear_tasks.recurrent_floor(LinearTask(Uniform(3), tau=4), "none") == 0
    task = LinearTask(Exponential(), order="reversed", tau=2)
    moments = np.array([[1 / 3, 1 / 4], [1 / 4, 1 / 3]])  # E x x^T of uniform inputs
    k, l = np.meshgrid(np.arange(-200, 201) / 100, np.arange(-200, 201) / 100)
    rows = [np.stack(row, -1) for row in ((k, 0 * k), (l, k))]
    off = [M_t - row for M_t, row in zip(task.matrix(), rows, strict=True)]
    costs = np.sum([np.einsum("abi,ij,abj->ab", e, moments, e) for e in off], axis=0) / 2
    found = linear_tasks.recurrent_floor(task, "none")
    assert costs.min() - 2 / 200**2 <= found <= costs.min()
    assert found > 0.05


def test_levels_by_hand():
    M = np.array([[2.0, 0.0], [1.0, -2.0]])
    assert linear_tasks.variance(M) == pytest.approx(9 / 24, abs=ROUNDED)
    assert linear_tasks.error_of_a_constant(M) == pytest.approx(9 / 24 + 0.75**2, abs=ROUNDED)
    assert linear_tasks.minority(M) == pytest.approx(1 / 9, abs=ROUNDED)
    assert linear_tasks.minority(abs(M)) == linear_tasks.minority(-abs(M)) == 0


def test_without_places_equal_weights_cost_nothing():
    """y(t) = a x(t) + b sum of the others needs no positions; one of two others, read alone, does:
    the mean of both is off by half of each, (1/4 + 1/4) / 12."""
    assert linear_tasks.floor_without_places(np.full((3, 3), 0.5) + np.eye(3)) == 0
    M = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert linear_tasks.floor_without_places(M) == pytest.approx(1 / 24, abs=ROUNDED)


def test_filters_drawn_are_mixed():
    filters = linear_tasks.of_mixed_signs(2, 16)
    assert len(set(filters)) == 2
    assert all(abs(sum(map(abs, theta)) - 1) < 1e-15 for theta in filters)
    assert all(min(theta) < 0 < max(theta) for theta in filters)


# trained_recurrent.py


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


# comparison.py


def test_a_cell_is_told_by_seeds_range_and_part_of_the_variance():
    tasks = [LinearTask(Exponential(), tau=1)] * 3  # y = x, of variance 1/12
    assert comparison.parts([1 / 12, 1 / 6, 0.0], tasks) == pytest.approx([1, 2, 0], abs=ROUNDED)
    expected = "3 seeds: from 0.25 to 1; of the variance 6"
    assert comparison.told([1.0, 0.25, 0.5], tasks) == expected
