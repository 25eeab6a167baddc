"""Remark 3.6: ReLU networks as linear pieces, their floors, and their training."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from repro.fang2022 import piecewise
from repro.fang2022.piecewise import Piece, ReluFit, ReluNetwork
from repro.numerics.exact import rational, rationals, to_float
from repro.training import Workspace

q = flint.fmpq
searched = settings(max_examples=80, deadline=None, derandomize=True, database=None)


def random_network(widths, seed=0):
    rng, sizes = np.random.default_rng(seed), [1, *widths, 1]
    shapes = list(itertools.pairwise(sizes))
    weights = [rationals(rng.integers(-5, 6, (b, a)).tolist()) / 3 for a, b in shapes]
    biases = [rationals(rng.integers(-5, 6, b).tolist()) / 4 for _, b in shapes]
    return ReluNetwork(tuple(zip(weights, biases, strict=True)))


@pytest.mark.parametrize("widths", [(1,), (5,), (3, 2), (4, 4, 4)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_pieces_are_the_network(widths, seed):
    network = random_network(widths, seed)
    pieces = piecewise.linear_pieces(network, -2, 3)
    assert (pieces[0].left, pieces[-1].right) == (-2, 3)
    assert len(pieces) <= piecewise.most_pieces(widths)
    for piece in pieces:
        assert piece.left < piece.right
        x = rationals([piece.left, piece.right, piece.left / 3 + piece.right * 2 / 3])
        assert all(network(x) == piece.slope * x + piece.offset)
    for a, b in itertools.pairwise(pieces):
        assert a.right == b.left
        assert (a.slope, a.offset) != (b.slope, b.offset)


def test_pieces_that_are_no_pieces_are_joined():
    """relu(x) - relu(-x) is x: its kink at 0 is none. An interval to the left of all kinks has one piece."""
    network = piecewise.affine(1, 0)
    assert piecewise.linear_pieces(network) == [Piece(-1, 1, 1, 0)]
    assert len(piecewise.linear_pieces(piecewise.interpolant(5, 0), -9, -1)) == 1


@searched
@given(*[st.fractions(-3, 3, max_denominator=20)] * 2)
def test_the_error_of_a_piece_is_its_largest(slope, offset):
    piece = Piece(q(-1, 2), q(2), rational(slope), rational(offset))
    error = Fraction(int(piece.error().p), int(piece.error().q))
    x = [Fraction(-1, 2) + Fraction(5 * k, 2 * 64) for k in range(65)]
    seen = max(abs(a * a - slope * a - offset) for a in x)
    assert seen <= error <= seen + Fraction(5, 256) ** 2
    # Gauss' rule with three points is exact for the degree 4 of a square.
    nodes, weights = np.polynomial.legendre.leggauss(3)
    at = 3 / 4 + 5 / 4 * nodes
    square = 5 / 4 * weights @ (at**2 - float(slope) * at - float(offset)) ** 2
    assert to_float(piece.square()) == pytest.approx(square, rel=1e-12)


def test_errors_of_pieces_by_hand():
    """x^2 - 3x is 0 at 0, -2 at 1 and 2, -9/4 in between at 3/2."""
    slope, zero = flint.fmpq(3), flint.fmpq(0)
    assert piecewise.Piece(zero, flint.fmpq(1), slope, zero).error() == 2
    assert piecewise.Piece(flint.fmpq(1), flint.fmpq(2), slope, zero).error() == flint.fmpq(9, 4)
    # 0 for x^2 on [1, 4], in two pieces: (4^5 - 1) / 5 over 3.
    zero = flint.fmpq(0)
    ends = [(1, 2), (2, 4)]
    pieces = [piecewise.Piece(flint.fmpq(a), flint.fmpq(b), zero, zero) for a, b in ends]
    assert piecewise.mean_square(pieces) == flint.fmpq(341, 5)
    # x^2 - 1/2 and x^2 - 1/3 on [-1, 1]; with two pieces an eighth and 1/180.
    assert [piecewise.least_error(k) for k in (1, 2)] == [rational("1/2"), rational("1/8")]
    squares = [piecewise.least_mean_square(k) for k in (1, 2)]
    assert squares == [rational("4/45"), rational("1/180")]
    assert [piecewise.most_pieces(w) for w in ((10,), (4, 4, 4), ())] == [11, 125, 1]


@searched
@given(st.lists(st.fractions(-1, 1, max_denominator=50), max_size=5, unique=True), st.data())
def test_no_function_with_k_pieces_is_better(inner, data):
    """Any pieces whatever, also with jumps: both floors hold, in exact numbers."""
    ends = sorted({Fraction(-1), Fraction(1), *inner})
    numbers = st.fractions(-2, 2, max_denominator=50)
    pieces = [
        Piece(rational(a), rational(b), rational(data.draw(numbers)), rational(data.draw(numbers)))
        for a, b in itertools.pairwise(ends)
    ]
    k = len(pieces)
    assert piecewise.sup_error(pieces) >= piecewise.least_error(k)
    assert piecewise.mean_square(pieces) >= piecewise.least_mean_square(k)


def test_uneven_knots_are_worse_and_equal_ones_best():
    even = piecewise.best_with_knots(np.linspace(-1, 1, 5), 401)
    uneven = piecewise.best_with_knots(np.array([-1, -0.8, 0.1, 0.5, 1]), 401)
    assert even == pytest.approx(1 / 32, abs=1e-9)  # what the linear program promises
    assert uneven >= 0.9**2 / 8 - 1e-5  # its longest piece has length 0.9


@pytest.mark.parametrize("knots", [[-1, 0.6, 1], [-1, -0.6, 1]], ids=str)
def test_the_longest_piece_is_looked_at_wherever_it_is(knots):
    found = piecewise.best_with_knots(np.array(knots), 401)
    assert found == pytest.approx(1.6**2 / 8, abs=1e-4)


def test_a_trained_network_is_read_in_the_order_of_its_layers():
    """Ten hidden layers: as words "10.weight" stands before "2.weight"."""
    widths = tuple(range(1, 11))
    model = piecewise._drawn(ReluFit(widths, 0, seed=3))
    tensors = dict(sorted(model.state_dict().items()))
    network = piecewise.network_of(tensors)
    assert network.widths == widths
    x = torch.linspace(-1, 1, 7, dtype=torch.float64)
    exact = to_float(network(rationals(x.numpy())))
    assert np.abs(model(x[:, None])[:, 0].detach().numpy() - exact).max() < 1e-12


def test_networks_for_the_square_start_as_he_et_al():
    """Weights uniform up to (6/inputs)^(1/2), biases up to (1/inputs)^(1/2)."""
    model = piecewise._drawn(ReluFit((500, 500), 0, seed=0))
    layers = [part for part in model if isinstance(part, nn.Linear)]
    for layer, inputs in zip(layers, (1, 500, 500), strict=True):
        most = math.sqrt(6 / inputs)
        assert 0.97 * most <= layer.weight.max().item() <= most
        assert -most <= layer.weight.min().item() <= -0.97 * most
        assert layer.bias.abs().max().item() <= inputs**-0.5
    assert layers[1].bias.abs().max().item() >= 0.97 * 500**-0.5
    assert [type(part).__name__ for part in model] == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]


def test_the_loss_is_looked_at_every_twenty_iterations():
    looked = []
    spec = ReluFit((3,), 60, seed=2, points=21)
    outcome = piecewise.train(
        spec, Workspace(progress=lambda step, total, **numbers: looked.append((step, total)))
    )
    assert looked == [(20, 60), (40, 60), (60, 60)]
    x = torch.linspace(-1, 1, 21, dtype=torch.float64)
    with torch.no_grad():
        start = (piecewise._drawn(spec)(x[:, None])[:, 0] - x**2).square().mean().item()
    assert outcome.curves["loss"][0] == pytest.approx(start, rel=1e-12)
