"""Barron networks: measures, sampling, the Euclidean norm, small cases by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.numerics import barron
from repro.numerics.barron import Measure, Network
from repro.numerics.exact import rational, rationals

searched = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def error(network, y):
    return np.abs(np.linalg.norm(y, axis=-1) - barron.value(network, y))


# --- measures ---------------------------------------------------------------------------------------


def test_a_measure_and_a_rebalanced_one_by_hand():
    """Sizes 4 and 9/2, so S = 17/4; each atom is divided by |b|_1 + |c| = 2 and 3/2."""
    rho = Measure.of([("1/2", 2, [1, -1], 0), ("1/2", -3, [0, 1], "1/2")])
    assert rho([3, 1]) == 2 - rational("9/4")
    assert rho.sizes().tolist() == [4, rational("9/2")]
    assert rho.moment(2) == (16 + rational("81/4")) / 2
    assert rho.norm(2) == pytest.approx(math.sqrt(18.125), rel=1e-15)  # one root, rounded
    assert rho.norm(math.inf) == 4.5
    assert barron.path_norm(rho.network()) == rho.moment(1)
    rho = rho.rebalanced()
    assert rho.probabilities.tolist() == rationals(["8/17", "9/17"]).tolist()
    assert rho.a.tolist() == rationals(["17/4", "-17/4"]).tolist()
    assert rho.b.tolist() == rationals([["1/2", "-1/2"], [0, "2/3"]]).tolist()
    assert rho.c.tolist() == rationals([0, "1/3"]).tolist()


def test_atoms_of_no_size_or_probability_are_left_out():
    """Sizes 1, 2, 0 and, of probability 0, 7: S = 1."""
    atoms = [("1/2", 1, [1], 0), ("1/4", -2, [-1], 0), ("1/4", 0, [3], 1), (0, 7, [1], 0)]
    assert Measure.of(atoms).largest() == 2
    rho = Measure.of(atoms).rebalanced()
    assert (rho([2]), rho([-2]), len(rho.a)) == (1, -1, 2)
    zero = Measure.of([("1/2", 0, [1, 2], 3), ("1/2", 5, [0, 0], 0)]).rebalanced()
    assert zero.b.shape == (1, 2), "the function 0 of the plane stays one of the plane"
    assert zero([3, -4]) == 0 == zero.moment(1)


def test_drawn_neurons_have_the_function_as_their_mean():
    rho = Measure.of([("1/4", 2, [1], 0), ("3/4", -1, [2], 1)]).rebalanced()
    rng, x = np.random.default_rng(0), rationals([1])
    values = [float(barron.value(rho.sample(8, rng), x)) for _ in range(2000)]
    error = float(np.std(values)) / math.sqrt(len(values))
    assert np.mean(values) == pytest.approx(float(rho([1])), abs=4 * error)
    assert 0 < np.std(values) <= float(rho.moment(1)) / math.sqrt(8)


def test_a_network_is_its_formula():
    network = Network(np.array([2.0, -1.0]), np.array([[1.0, 0], [1, 3]]), np.array([-1.0, 0.5]))
    y = np.array([[2.0, 1.0], [0.0, -1.0]])
    assert barron.value(network, y).tolist() == [2 * 1 - 5.5, 0]
    assert barron.path_norm(network) == 2 * (1 + 1) + 4.5


# --- the Euclidean norm ----------------------------------------------------------------------------


def test_directions_are_spread_as_stated():
    plane, space = barron.norm_network(2, 4), barron.norm_network(3, 4)
    assert plane.a == pytest.approx([math.pi / 4] * 4)
    assert plane.b == pytest.approx(np.array([[1, 0], [0, 1], [-1, 0], [0, -1.0]]), abs=1e-15)
    assert space.a.tolist() == [1.0] * 4
    assert space.b[:, 2].tolist() == [0.75, 0.25, -0.25, -0.75]
    turn = 2 * math.pi / ((1 + math.sqrt(5)) / 2)
    angles = np.arctan2(space.b[:, 1], space.b[:, 0]) - turn * np.arange(4)
    assert np.cos(angles) == pytest.approx(np.ones(4))
    for network in (plane, space):
        assert not network.c.any()


@pytest.mark.parametrize("d", [2, 3])
def test_constants_by_quadrature(d):
    """c_d E relu(b.y) = |y| and c_d E|b|_1 = 2d, over 20001 well-spread directions."""
    network = barron.norm_network(d, 20_001)
    y = np.array([0.3, -0.4, 1.2][:d])
    assert barron.value(network, y) == pytest.approx(np.linalg.norm(y), rel=1e-5)
    assert barron.path_norm(network) == pytest.approx(barron.barron_norm_of_norm(d), rel=1e-5)


@pytest.mark.parametrize("m", [3, 5, 11, 101])
def test_the_best_network_of_the_plane(m):
    h = math.pi / (2 * m)
    least = (1 - math.cos(h)) / (1 + math.cos(h))
    assert barron.best_plane_error(m) == pytest.approx(least)
    a = 2 * math.sin(h) * (1 + least)  # a cos(u) / (2 sin h) is 1 + least at u = 0
    assert barron.best_plane_network(m).a == pytest.approx([a] * m)
    angles = np.linspace(0, 2 * math.pi, 40_001)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert error(barron.best_plane_network(m), circle).max() == pytest.approx(least, rel=1e-4)
    drawn = barron.norm_network(2, m, np.random.default_rng(m))
    assert error(drawn, circle).max() > least


def test_best_weights_are_the_best():
    """Against |y| on one ray of the plane, the neuron relu(y_1) meets it exactly."""
    network = Network(np.array([5.0]), np.array([[1.0, 0.0]]), np.zeros(1))
    fitted = barron.with_best_weights(network, np.array([[0.5, 0.0], [2.0, 0.0]]))
    assert fitted.a == pytest.approx([1.0])
    biased = network._replace(c=np.array([1.0]))
    assert barron.with_best_weights(biased, np.array([[1.0, 0.0], [3.0, 0.0]])).a == pytest.approx(
        [2 / 3]  # |1 - 2a| = |3 - 4a|
    )


@searched
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_a_blind_vertex_looks_like_the_centre(m, more, seed):
    d = m + more
    b = rationals(np.random.default_rng(seed).integers(-3, 4, (m, d)).tolist())
    x = barron.blind_vertex(b)
    assert not any(b @ (2 * x - 1))
    assert all(0 <= value <= 1 for value in x)
    assert sum(value in (0, 1) for value in x) >= more


PLANE = Network(np.ones(2), np.eye(2), np.zeros(2))


def test_an_error_with_biases_is_refused():
    with pytest.raises(ValueError, match="biases"):
        barron.sup_error(PLANE._replace(c=np.array([0, 1.0])), 1.0)
