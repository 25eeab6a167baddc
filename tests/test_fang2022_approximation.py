"""Remark 3.6 and Corollary 3.7 of fang2022: pieces, approximants, their models and round-off."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.fang2022 import approximation, piecewise
from repro.fang2022.piecewise import Piece, ReluFit, ReluNetwork
from repro.numerics.exact import rational, rationals, to_float

q = flint.fmpq
searched = settings(max_examples=80, deadline=None, derandomize=True, database=None)


def random_network(widths, seed=0):
    rng, sizes = np.random.default_rng(seed), [1, *widths, 1]
    shapes = list(itertools.pairwise(sizes))
    return ReluNetwork(
        tuple(rationals(rng.integers(-5, 6, (b, a)).tolist()) / 3 for a, b in shapes),
        tuple(rationals(rng.integers(-5, 6, b).tolist()) / 4 for _, b in shapes),
    )


# --- linear pieces -------------------------------------------------------------------------------


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
    network = ReluNetwork(
        (rationals([[1], [-1]]), rationals([[1, -1]])), (rationals([0, 0]), rationals([0]))
    )
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
    square = Fraction(int(piece.square().p), int(piece.square().q))
    simpson = sum(
        Fraction(5, 128)
        / 6
        * (
            _square(a, slope, offset)
            + 4 * _square((a + b) / 2, slope, offset)
            + _square(b, slope, offset)
        )
        for a, b in itertools.pairwise(x)
    )
    assert float(abs(square - simpson)) < 1e-5


def _square(x, slope, offset):
    return (x * x - slope * x - offset) ** 2


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 12])
def test_the_interpolant_interpolates(k):
    nodes = rationals([Fraction(2 * i - k, k) for i in range(k + 1)])
    network = piecewise.interpolant(k, q(1, 7))
    assert all(network(nodes) == nodes**2 - q(1, 7))
    assert len(piecewise.linear_pieces(network)) == k
    assert network.widths == (k - k % 2,)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_the_sawtooth_interpolates_at_dyadic_points(m):
    nodes = rationals([Fraction(i, 2 ** (m - 1)) for i in range(-(2 ** (m - 1)), 2 ** (m - 1) + 1)])
    network = piecewise.sawtooth(m, q(1, 7))
    assert all(network(nodes) == nodes**2 - q(1, 7))
    assert len(piecewise.linear_pieces(network)) == 2**m
    assert network.widths == (2, *[3] * (m - 1))


@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_another_lowering_is_worse(k):
    """Only the stated ones attain the two optima."""
    for share in (Fraction(1, 2), Fraction(9, 10), Fraction(11, 10), Fraction(2)):
        network = piecewise.interpolant(k, piecewise.least_error(k) * rational(share))
        assert piecewise.sup_error(piecewise.linear_pieces(network)) > piecewise.least_error(k)
        network = piecewise.interpolant(k, piecewise.least_error(k) * rational(share * 4 / 3))
        assert piecewise.mean_square(
            piecewise.linear_pieces(network)
        ) > piecewise.least_mean_square(k)


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


# --- one variable --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", approximation.EXAMPLES)
def test_the_lipschitz_constants_are_the_least(name):
    example = approximation.EXAMPLES[name]
    x = np.linspace(-1, 1, 200_001)
    slopes = np.abs(np.diff(example.target(x)) / np.diff(x))
    assert slopes.max() <= example.lipschitz * (1 + 1e-9)
    assert slopes.max() >= example.lipschitz * (1 - 1e-6)


def test_the_gradient_in_the_plane_is_bounded():
    x = np.linspace(0, 1, 401)
    points = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    values = approximation.plane_values(points).reshape(401, 401)
    for axis, bound in enumerate(approximation.PLANE_LIPSCHITZ):
        largest = np.abs(np.diff(values, axis=axis)).max() * 400
        assert 0.6 * bound <= largest <= bound


@pytest.mark.parametrize("degree", [0, 2, 10, 30])
def test_runges_error_is_known(degree):
    found = approximation.approximant(approximation.EXAMPLES["Runge"].target, degree)
    assert found.upper is not None
    assert found.lower <= approximation.runge_error(degree) * (1 + 1e-12)
    assert approximation.runge_error(degree) <= found.upper
    assert approximation.runge_error(degree + 1) == approximation.runge_error(degree)


def test_jacksons_bounds():
    assert approximation.jackson_bound(9, 1, 2.0) == pytest.approx(math.pi / 10, rel=1e-15)
    assert approximation.jackson_bound(9, 0.5, 4.0) == pytest.approx(math.pi / 10, rel=1e-15)
    assert approximation.jackson_bound(8, 0.5, 1.0, 2.0) == pytest.approx(math.pi**2 / 8, rel=1e-15)
    assert approximation.jackson_bound(9, 0.5, 1.0, 2.0) == approximation.jackson_bound(
        8, 0.5, 1.0, 2.0
    )


def test_beyond_float64_the_approximant_is_levelled():
    found = approximation.approximant(approximation.EXAMPLES["smooth"].target, 44)
    assert found.upper is None
    assert found.lower == pytest.approx(1.714e-15, rel=1e-3, abs=0)


@pytest.mark.parametrize("cube", ["[0, 1]", "[-1, 1]"])
def test_float64_is_measured_where_it_says(cube):
    target = approximation.EXAMPLES["kink"].target
    found = approximation.in_float64(target, 8, cube, "cpu")
    best = approximation.approximant(target, 8)
    assert best.upper is not None
    assert 0.95 * best.lower <= found.error <= best.upper + found.bound
    assert found.rounding <= found.bound
    with pytest.raises(KeyError):
        approximation.in_float64(target, 8, "[0, 2]", "cpu")


# --- round-off -----------------------------------------------------------------------------------


# --- two variables -------------------------------------------------------------------------------


def test_the_plane_is_approximated_as_well_as_it_can_be():
    found = approximation.plane_approximant(4, 16)
    grid = approximation.plane_grid(16)
    error = np.abs(to_float(found.polynomial(rationals(grid))) - approximation.plane_values(grid))
    assert found.lower * (1 - 1e-9) <= error.max() <= 1.02 * found.lower * (1 + 1e-6)
    assert found.polynomial.degree == 4
    assert len(found.points) == 16  # one more than the monomials
    assert approximation.plane_error_in_rationals(4, 16) == pytest.approx(found.lower, rel=1e-6)


def test_the_grid_lies_in_the_square_and_holds_its_corners():
    grid = approximation.plane_grid(8)
    assert (grid.shape, grid.min(), grid.max()) == ((81, 2), 0, 1)
    assert np.all(grid * 1024 == np.round(grid * 1024))
    assert max(np.hypot(*point) for point in grid) <= float(approximation.PLANE_B)
