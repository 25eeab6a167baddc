"""Barron networks: measures are exact, errors are enclosed, and two oracles agree."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from repro.numerics import barron, faces
from repro.numerics.barron import Measure, Network
from repro.numerics.exact import rational, rationals

searched = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def signed(d, m, seed=0):
    """A network that is no average: weights of both signs, directions of all lengths."""
    rng = np.random.default_rng(seed)
    return Network(rng.normal(size=m), rng.normal(size=(m, d)), np.zeros(m))


def error(network, y):
    return np.abs(np.linalg.norm(y, axis=-1) - barron.value(network, y))


def climbed(network, starts=200, seed=1):
    """Local maximisation on the cube from many starts: a lower bound of the supremum."""
    rng, d = np.random.default_rng(seed), network.b.shape[1]
    y = rng.uniform(-1, 1, (20_000, d))
    y /= np.abs(y).max(axis=1, keepdims=True)
    best = y[np.argsort(error(network, y))[-starts:]]
    found = [
        minimize(lambda x: -error(network, x), start, method="Powell", bounds=[(-1, 1)] * d).fun
        for start in best[:: max(1, starts // 20)]
    ]
    return max(error(network, y).max(), -min(found))


# --- measures ------------------------------------------------------------------------------------


def test_a_measure_is_its_sum_and_its_sizes():
    rho = Measure.of([("1/2", 2, [1, -1], 0), ("1/2", -3, [0, 1], "1/2")])
    assert rho([3, 1]) == 2 - rational("9/4")
    assert rho.sizes().tolist() == [4, rational("9/2")]
    assert rho.moment(2) == (16 + rational("81/4")) / 2
    assert rho.norm(2) == pytest.approx(math.sqrt(18.125), rel=1e-15)  # one root, rounded
    assert rho.norm(math.inf) == 4.5
    assert barron.path_norm(rho.network()) == rho.moment(1)


def test_what_has_probability_zero_does_not_count():
    rho = Measure.of([(1, 1, [1], 0), (0, 10**6, [1], 0)])
    assert rho.largest() == 1
    assert len(rho.rebalanced().a) == 1


def test_the_function_zero_stays_zero():
    rho = Measure.of([("1/2", 0, [1], 0), ("1/2", 5, [0], 0)]).rebalanced()
    assert rho.moment(1) == 0 == rho([7])


@pytest.mark.parametrize("p", [["1/2", "1/3"], ["3/2", "-1/2"]])
def test_probabilities_must_be_probabilities(p):
    with pytest.raises(ValueError, match=r"a measure needs probabilities that sum to 1"):
        Measure.of([(p[0], 1, [1], 0), (p[1], 1, [1], 0)])


def test_drawn_neurons_have_the_function_as_their_mean():
    rho = Measure.of([("1/4", 2, [1], 0), ("3/4", -1, [2], 1)]).rebalanced()
    rng, x = np.random.default_rng(0), rationals([1])
    values = [float(barron.value(rho.sample(8, rng), x)) for _ in range(2000)]
    error = float(np.std(values)) / math.sqrt(len(values))
    assert np.mean(values) == pytest.approx(float(rho([1])), abs=4 * error)
    assert 0 < np.std(values) <= float(rho.moment(1)) / math.sqrt(8)


# --- the Euclidean norm --------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3])
def test_constants_by_quadrature(d):
    """c_d E relu(b.y) = |y| and c_d E|b|_1 = 2d, over 20001 well-spread directions."""
    network = barron.norm_network(d, 20_001)
    y = np.array([0.3, -0.4, 1.2][:d])
    assert barron.value(network, y) == pytest.approx(np.linalg.norm(y), rel=1e-5)
    assert barron.path_norm(network) == pytest.approx(barron.barron_norm_of_norm(d), rel=1e-5)
    assert np.linalg.norm(network.b, axis=1) == pytest.approx(
        np.ones(20_001), rel=1e-14
    )  # rounding


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("m", [5, 40])
@pytest.mark.parametrize("kind", ["drawn", "spread", "signed"])
def test_the_enclosure_holds_what_climbing_finds(kind, m, d):
    network = {
        "drawn": barron.norm_network(d, m, np.random.default_rng(m)),
        "spread": barron.norm_network(d, m),
        "signed": signed(d, m),
    }[kind]
    found, (lower, upper) = climbed(network), barron.sup_error(network, 1.0)
    assert lower * 0.97 <= found <= upper
    assert upper <= 1.06 * lower
    assert barron.sup_error(network, 2.5) == pytest.approx(
        (2.5 * lower, 2.5 * upper), rel=1e-14
    )  # rounding


@pytest.mark.parametrize("m", [1, 2, 9, 60])
@pytest.mark.parametrize("positive", [False, True])
def test_edges_and_cells_agree_in_the_plane(positive, m):
    for network in (signed(2, m, seed=m), barron.norm_network(2, m)):
        edges = barron.sup_error(network, 1.0, positive=positive)
        lower, upper = faces.on_cells(network, positive=positive, close=0.001)
        assert lower <= edges.upper
        assert edges.lower <= upper <= 1.0011 * lower


def test_the_error_in_space_against_all_candidates():
    """On a face the network is linear between lines; an extreme error is at a crossing of two
    lines (or the border), on a line where the slopes agree, or in a cell where the gradients do:
    the last two are approached by a fine grid around the best crossing."""
    network = barron.norm_network(3, 7, np.random.default_rng(3))
    crossings = [np.cross(u, v) for u in network.b for v in network.b]
    points = np.array([p / np.abs(p).max() for p in crossings if np.abs(p).max() > 1e-9])
    best = error(network, np.concatenate([points, barron.surface(3, 1 / 200)])).max()
    lower, upper = faces.on_cells(network, close=0.002)
    assert lower * 0.999 <= best <= upper


def test_the_positive_cube_is_part_of_the_whole():
    network = barron.norm_network(3, 20, np.random.default_rng(0))
    part, whole = (barron.sup_error(network, 1.0, positive=p) for p in (True, False))
    assert part.lower <= whole.upper
    y = np.abs(np.random.default_rng(1).uniform(-1, 1, (50_000, 3)))
    assert error(network, y).max() <= part.upper
    spike = Network(np.array([5.0]), np.array([[1.0, -1.0, -1.0]]), np.zeros(1))  # 4 at (1, 0, 0)
    lower, upper = barron.sup_error(spike, 1.0, positive=True)
    assert lower <= 4 <= upper <= 1.06 * lower


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("m", [1, 2, 10])
def test_no_point_of_a_cell_exceeds_its_bound(m, d):
    """With points at the corners of the cells, and cells so large that most neurons bend in them."""
    rng, h = np.random.default_rng(m), 1 / 8
    closest = 0.0
    for network in (signed(d, m, seed) for seed in range(20)):
        for face in (faces.Face(0, 1, -1.0), faces.Face(d - 1, -1, -1.0)):
            x = face.centres(d, h)
            errors, bounds = faces.on_face(network, face, x, h)
            assert errors == pytest.approx(error(network, x), abs=1e-13)  # rounding of m terms
            for _ in range(20):
                moved = x + h * rng.choice([-1, 0, 1], size=x.shape) * (np.arange(d) != face.axis)
                assert np.all(error(network, moved) <= bounds + 1e-12)
                closest = max(closest, np.max((error(network, moved) - errors) / (bounds - errors)))
    assert closest > 0.9


def test_little_work_gives_a_wide_enclosure_not_a_wrong_one():
    network = barron.norm_network(3, 300)
    (lower, wide), narrow = faces.on_cells(network, work=1e6), barron.sup_error(network, 1.0)
    assert lower <= narrow.upper
    assert narrow.lower <= wide
    assert wide > 1.5 * narrow.upper


@pytest.mark.parametrize("m", [3, 11, 101])
def test_the_best_network_of_the_plane(m):
    angles = np.linspace(0, 2 * math.pi, 40_001)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found, least = error(barron.best_plane_network(m), circle).max(), barron.best_plane_error(m)
    assert found == pytest.approx(least, rel=1e-4)
    drawn = barron.norm_network(2, m, np.random.default_rng(m))
    assert error(drawn, circle).max() > least


def test_best_weights_are_not_worse():
    y, network = barron.surface(3, 1 / 6), barron.norm_network(3, 20)
    fitted = barron.with_best_weights(network, y)
    assert error(fitted, y).max() < error(network, y).max()
    assert np.array_equal(fitted.b, network.b)


def test_the_sampling_bound_grows_with_domain_and_dimension():
    bound = barron.sampling_bound(1.0, 3, 16, 1.0)
    assert bound == 2.0
    assert barron.sampling_bound(1.0, 3, 16, 0.5) == bound
    assert barron.sampling_bound(1.0, 3, 16, 2.0) == 2 * bound
    assert barron.sampling_bound(1.0, 15, 16, 1.0) == 2 * bound
    assert barron.sampling_bound(4.0, 3, 64, 1.0) == bound


# --- what no network sees ------------------------------------------------------------------------


@searched
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_a_blind_vertex_looks_like_the_centre(m, more, seed):
    d = m + more
    b = rationals(np.random.default_rng(seed).integers(-3, 4, (m, d)).tolist())
    x = barron.blind_vertex(b)
    assert not any(b @ (2 * x - 1))
    assert all(0 <= value <= 1 for value in x)
    assert sum(value in (0, 1) for value in x) >= more


# --- bad input -----------------------------------------------------------------------------------


def test_bad_input_is_named():
    network = barron.norm_network(2, 4)
    for call, said in [
        (lambda: barron.norm_network(4, 8), r"R\^2 and R\^3, got dimension=4"),
        (lambda: barron.norm_network(3, 0), "a network needs m >= 1 neurons, got m=0"),
        (lambda: barron.barron_norm_of_norm(1), "got dimension=1"),
        (lambda: barron.sampling_bound(1.0, 2, 0, 1.0), "got m=0"),
        (lambda: barron.best_plane_network(4), "if m >= 3 is odd, got m=4"),
        (lambda: barron.sup_error(network, 0.0), "half-width above 0"),
        (lambda: barron.sup_error(network._replace(c=np.ones(4)), 1.0), "without biases"),
        (lambda: barron.blind_vertex(rationals([[1, 0], [0, 1]])), "needs d > m"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()


def test_a_norm_is_fitted_on_the_surface_of_the_cube_from_maureys_draw():
    """The mean eighth power of the error, and its eighth root, at the first points."""
    import torch

    from repro.training import Workspace
    from repro.training.loop import generator_at
    from repro.wang2024 import trained_norm

    y = trained_norm._surface(500, generator_at(3, 0)).numpy()
    assert (np.abs(y).max(1) == 1).all()
    assert np.abs(y.mean(0)).max() < 0.1
    assert 0.4 < np.abs(y).min(1).mean() * 2 < 0.8
    start = barron.norm_network(3, 8, np.random.default_rng(3))
    found = trained_norm.Neurons(start)(torch.from_numpy(y)).detach().numpy()
    by_hand = barron.value(start, y)
    assert found == pytest.approx(by_hand)
    outcome = trained_norm.train(trained_norm.NormFit(m=8, steps=1, seed=3, batch=500), Workspace())
    error = np.mean((by_hand - np.linalg.norm(y, axis=1)) ** 8) ** (1 / 8)
    assert outcome.curves["loss"][0] == pytest.approx(error)


def test_training_moves_the_network_towards_the_norm():
    from repro.training import Workspace
    from repro.wang2024 import trained_norm

    spec = trained_norm.NormFit(m=8, steps=60, seed=3)
    first, again = (trained_norm.train(spec, Workspace()) for _ in range(2))
    network = trained_norm.network_of(first.tensors)
    start = barron.norm_network(3, 8, np.random.default_rng(3))
    assert barron.sup_error(network, 1.0).upper < barron.sup_error(start, 1.0).lower
    assert np.array_equal(network.a, trained_norm.network_of(again.tensors).a)
