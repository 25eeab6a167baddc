"""Low-rank fits with a weighted diagonal: against Eckart and Young, and plain least squares."""

import itertools

import numpy as np
import pytest

from repro.numerics import lowrank
from repro.numerics.lowrank import Cost

N = 6
A = np.random.default_rng(0).normal(size=(N, N))


def weights(cost):
    """The weight of each entry in the cost, from its definition."""
    return cost.pairs / N**2 * np.ones((N, N)) + cost.diagonal / N * np.eye(N)


def test_costs_and_starts():
    left, right = np.array([[2.0, 2.0], [5.0, 8.0]]), np.array([[1.0, 0.0], [2.0, 4.0]])
    assert Cost(3, 5)(left, right) == 3 / 4 * (1 + 4 + 9 + 16) + 5 / 2 * (1 + 16)
    columns = np.random.default_rng(2).normal(size=(2, N))
    singular, drawn = lowrank.starts(np.outer(*columns), 1, np.random.default_rng(3))
    assert abs(singular[:, 0] @ columns[1]) == pytest.approx(np.linalg.norm(columns[1]))
    assert drawn.tolist() == np.random.default_rng(3).standard_normal((N, 1)).tolist()


@pytest.mark.parametrize("cost", [Cost(3, 5), Cost(1, 0), Cost(10, 1)], ids=str)
@pytest.mark.parametrize("m", [1, 3])
def test_the_best_rows_are_those_of_least_squares(cost, m):
    V = np.random.default_rng(m).normal(size=(N, m))
    root = np.sqrt(weights(cost))
    wanted = [np.linalg.lstsq(root[i][:, None] * V, root[i] * A[i])[0] for i in range(N)]
    assert lowrank._best_rows(A, V, cost) == pytest.approx(np.array(wanted), rel=1e-9, abs=1e-12)


def test_without_the_diagonal_it_is_eckart_and_youngs_problem():
    squares = np.linalg.svd(A, compute_uv=False) ** 2
    for m in (1, 2, 4):
        for start in lowrank.starts(A, m, np.random.default_rng(1)):
            found = lowrank.fit(A, start, Cost(7, 0))
            assert found.cost == pytest.approx(7 / N**2 * squares[m:].sum(), rel=1e-5)
            assert found.left.shape == found.right.shape == (N, m)
            assert found.cost == Cost(7, 0)(A, found.left @ found.right.T)


def after(rounds, monkeypatch):
    """What so many rounds find, from random columns."""
    monkeypatch.setattr(lowrank, "ROUNDS", rounds)
    return lowrank.fit(A, lowrank.starts(A, 2, np.random.default_rng(4))[1], Cost(4, 3))


def test_every_round_lowers_the_cost_to_where_both_factors_are_best(monkeypatch):
    monkeypatch.setattr(lowrank, "CLOSE", -1.0)
    costs = [after(rounds, monkeypatch).cost for rounds in range(1, 9)]
    assert all(after < before for before, after in itertools.pairwise(costs))
    monkeypatch.setattr(lowrank, "CLOSE", 1e-14)
    found = after(5000, monkeypatch)
    off = weights(Cost(4, 3)) * (A - found.left @ found.right.T)
    assert np.abs(off @ found.right).max() < 1e-6  # the gradients of the cost, up to a factor
    assert np.abs(off.T @ found.left).max() < 1e-6
    assert found.cost < 0.99 * costs[0]


def test_one_round_makes_the_right_factor_best_for_the_left_one(monkeypatch):
    found = after(1, monkeypatch)
    off = weights(Cost(4, 3)) * (A - found.left @ found.right.T)
    assert np.abs(off.T @ found.left).max() < 1e-12
    assert np.abs(off @ found.right).max() > 1e-3, "not yet the left one for the right one"


def test_a_fit_ends_at_the_first_round_that_gains_too_little(monkeypatch):
    """Of a cost that is measured anew after every round, whatever its unit."""
    monkeypatch.setattr(lowrank, "CLOSE", -1.0)
    costs = [after(rounds, monkeypatch).cost for rounds in range(1, 30)]
    gains = [before / now - 1 for before, now in itertools.pairwise(costs)]
    first = next(k for k, gain in enumerate(gains) if gain <= 1e-3)
    monkeypatch.setattr(lowrank, "CLOSE", 1e-3)
    assert after(400, monkeypatch).cost == costs[first + 1]
