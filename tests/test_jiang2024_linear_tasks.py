"""Targets of Tables 2 and 3, and what no network can do better on them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from repro.jiang2024 import comparison, linear_tasks, recurrent
from repro.jiang2024.linear_tasks import Exponential, LinearTask, Uniform

ROUNDED = 1e-15  # sums and quotients of a few numbers up to 2: some units of 2^-53


def drawn(task, count=3):
    tokens = task.draw(torch.Generator().manual_seed(0), count).double()
    return tokens, tokens[..., :1], task.wanted(tokens)[..., 0]


def test_tokens_are_inputs_and_places():
    task = LinearTask(Exponential(), tau=4)
    tokens, x, y = drawn(task)
    assert tokens.shape == (3, 4, 5)
    assert ((x >= 0) & (x <= 1)).all()
    assert torch.equal(tokens[1, :, 1:], linear_tasks.PLACE * torch.eye(4, dtype=torch.float64))
    assert (task.inputs, task.outputs, y.shape) == (5, 1, (3, 4))
    plain = LinearTask(Exponential(), encoded=False)
    assert drawn(plain)[0].shape == (3, 32, plain.inputs) == (3, 32, 1)
    assert Exponential().values(3) == pytest.approx([1, np.exp(-1), np.exp(-2)])
    task.matrix()[:] = 0
    assert task.matrix()[0, 0] == 1, "matrices are copies"


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
    # min(3^2, 2^2) and min(1^2 + 2^2, 0) of 9 + 4 + 1 + 4
    assert linear_tasks.minority(np.array([[3.0, -2.0], [1.0, 2.0]])) == pytest.approx(4 / 18)
    assert LinearTask(Exponential(), tau=3).unit == 1


def test_without_places_equal_weights_cost_nothing():
    """y(t) = a x(t) + b sum of the others needs no positions; one of two others, read alone, does:
    the mean of both is off by half of each, (1/4 + 1/4) / 12."""
    assert linear_tasks.floor_without_places(np.full((3, 3), 0.5) + np.eye(3)) == 0
    M = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert linear_tasks.floor_without_places(M) == pytest.approx(1 / 24, abs=ROUNDED)


def test_mixed_filters_are_the_first_of_five_values_that_are_mixed_enough():
    """In front of e^-s, by a convolution in numpy."""
    found, tau = [], 6
    for seed in range(12):
        theta = np.random.default_rng(seed).normal(size=5)
        theta /= abs(theta).sum()
        column = np.convolve(np.exp(-np.arange(tau)), theta)[:tau]
        rows = [column[: t + 1] for t in range(tau)]
        squares = [((np.maximum(r, 0) ** 2).sum(), (np.minimum(r, 0) ** 2).sum()) for r in rows]
        if sum(map(min, squares)) > 0.1 * np.sum(squares):
            found.append(pytest.approx(tuple(theta.tolist()), rel=1e-14))
    assert 0 < len(found) < 12
    assert linear_tasks.of_mixed_signs(len(found), tau) == found


def test_a_cell_is_told_by_seeds_range_and_part_of_the_variance():
    tasks = [LinearTask(Exponential(), tau=1)] * 3  # y = x, of variance 1/12
    assert comparison.parts([1 / 12, 1 / 6, 0.0], tasks) == pytest.approx([1, 2, 0], abs=ROUNDED)
    expected = "3 seeds: from 0.25 to 1; of the variance 6"
    assert comparison.told([1.0, 0.25, 0.5], tasks) == expected
