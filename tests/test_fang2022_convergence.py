"""fang2022: the convergence rule at its edges, the draws a seed stands for, printed sizes."""

import math

import flint
import numpy as np
import pytest
import torch

from repro.fang2022 import (
    approximation,
    comparison,
    experiments,
    piecewise,
    variable_projection,
    without_attention,
)
from repro.fang2022.experiments import first_epoch_below, first_still_epoch, last_moving_epoch
from repro.training import Workspace
from repro.training.loop import generator_at


def test_a_change_of_exactly_the_limit_is_a_change(monkeypatch):
    """Table 1: smaller than 0.01. Here 1/2, which floats hold exactly."""
    monkeypatch.setattr(experiments, "STILL", 0.5)
    assert first_still_epoch([1.0, 1.5, 1.5]) == 3
    assert first_still_epoch([1.0, 0.5, 0.0]) is None
    assert last_moving_epoch([1.0, 1.5, 1.75]) == 2
    assert first_epoch_below([3.0, 2.0, 1.0], 2.0) == 3


def test_the_rule_looks_at_one_change_of_a_hundredth():
    assert first_still_epoch([1.0, 1.015, 1.006]) == 3
    assert first_still_epoch([1.0, 1.015, 1.03]) is None
    assert last_moving_epoch([1.0, 1.015, 1.006]) == 2


def test_the_floor_of_a_shallow_network_is_for_inputs_of_deviation_10():
    assert experiments.shallow_floor(3) == experiments.shallow_floor(3, 10.0)


def test_networks_for_the_square_are_drawn_from_stream_minus_1():
    drawn = piecewise._drawn(piecewise.ReluFit((4,), 0, seed=9))
    most, generator = math.sqrt(6), generator_at(9, -1)
    first = torch.empty(4, 1, dtype=torch.float64).uniform_(-most, most, generator=generator)
    assert torch.equal(drawn.state_dict()["0.weight"], first)


def test_the_control_without_attention_is_drawn_from_stream_minus_1(monkeypatch):
    """Standard normal weights, and a step from the stream of its number."""
    seen = {}

    def fit(model, loss, **recipe):
        seen.update(first=model[0].weight.detach().clone(), recipe=recipe)
        return {}

    monkeypatch.setattr(without_attention, "fit", fit)
    without_attention.train(without_attention.WithoutAttention(M=1.0, steps=3, seed=9), Workspace())
    assert torch.equal(seen["first"], torch.randn(2, 2, generator=generator_at(9, -1)))


def test_the_error_of_the_square_is_taken_over_the_whole_grid():
    """x + 2y on [-2, 2]^2 in 201 steps: |x + 2y + xy| is largest, 10, in the corner (2, 2)."""
    model = torch.nn.Linear(2, 1, bias=False)
    model.weight.data = torch.tensor([[1.0, 2.0]])
    assert abs(without_attention.sup_error(model, 2.0) - 10) < 1e-5


def test_the_training_on_the_paraboloid_is_the_printed_one():
    """Section 5: 10000 samples, 9000 of them for training, batches of 5000, 600 epochs."""
    spec = experiments.paraboloid("ATTENTION", 10, clip=1.0, seed=0)
    assert (spec.target, spec.train, spec.test) == ("f_1*", 9000, 1000)
    assert (spec.batch, spec.epochs) == (5000, 600)


def test_the_error_of_a_piece_is_at_its_ends_or_at_its_own_lowest_point():
    """x^2 - 3x is 0 at 0, -2 at 1 and 2, -9/4 in between at 3/2."""
    slope, zero = flint.fmpq(3), flint.fmpq(0)
    assert piecewise.Piece(zero, flint.fmpq(1), slope, zero).error() == 2
    assert piecewise.Piece(flint.fmpq(1), flint.fmpq(2), slope, zero).error() == flint.fmpq(9, 4)


def test_a_fitted_model_has_the_parameters_of_section_5():
    """n = 2 directions in R^3, q = 4: beta (n, q), and nothing for t^5."""
    xi, c = np.eye(2, 3), np.arange(1.0, 10.0)
    model = variable_projection.to_attention(xi, c, 4)
    assert model.beta.shape == (2, 4)
    assert comparison.parameters(model) == 2 * (3 + 4) + 1


def test_the_plane_is_asked_for_within_two_percent(monkeypatch):
    asked = []
    best = approximation.minimax.best_on_grid

    def watched(*arguments, close):
        asked.append(close)
        return best(*arguments, close=close)

    monkeypatch.setattr(approximation.minimax, "best_on_grid", watched)
    approximation.plane_approximant.__wrapped__(1, 6)
    assert asked == [0.02]


def test_the_mean_over_pieces_is_over_their_whole_length():
    """0 for x^2 on [1, 4], in two pieces: (4^5 - 1) / 5 over 3."""
    zero = flint.fmpq(0)
    ends = [(1, 2), (2, 4)]
    pieces = [piecewise.Piece(flint.fmpq(a), flint.fmpq(b), zero, zero) for a, b in ends]
    assert piecewise.mean_square(pieces) == flint.fmpq(341, 5)


@pytest.mark.parametrize("knots", [[-1, 0.6, 1], [-1, -0.6, 1]], ids=str)
def test_the_longest_piece_is_looked_at_wherever_it_is(knots):
    found = piecewise.best_with_knots(np.array(knots), 401)
    assert found == pytest.approx(1.6**2 / 8, abs=1e-4)
