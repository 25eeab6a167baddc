"""Barron networks: small cases by hand, errors enclosed on cells and edges, work that is counted."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


@pytest.mark.parametrize("p", [["1/2", "1/3"], ["3/2", "-1/2"]])
def test_probabilities_must_be_probabilities(p):
    with pytest.raises(ValueError, match="needs probabilities that sum to 1"):
        Measure.of([(p[0], 1, [1], 0), (p[1], 1, [1], 0)])


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


def test_the_sampling_bound_grows_with_domain_and_dimension():
    bound = barron.sampling_bound(1.0, 3, 16, 1.0)
    assert bound == 2.0
    assert barron.sampling_bound(1.0, 3, 16, 0.5) == bound
    assert barron.sampling_bound(1.0, 3, 16, 2.0) == 2 * bound
    assert barron.sampling_bound(1.0, 15, 16, 1.0) == 2 * bound
    assert barron.sampling_bound(4.0, 3, 64, 1.0) == bound


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


# --- its error on cells and edges ------------------------------------------------------------------


def test_the_centres_of_cells_by_hand():
    assert faces.Face(0, 1, -1.0).centres(2, 0.5).tolist() == [[1, -0.5], [1, 0.5]]
    corner = faces.Face(1, -1, 0.0).centres(3, 0.25)
    assert corner.tolist() == [[a, -1, b] for a in (0.25, 0.75) for b in (0.25, 0.75)]
    whole = {tuple(x) for x in barron.surface(2, 0.5).tolist()}
    assert whole == {(s, t) for s in (1, -1) for t in (0.5, -0.5)} | {
        (t, s) for s in (1, -1) for t in (0.5, -0.5)
    }
    halves = faces.Face(1, -1, 0.0).divided(np.array([[0.25, -1.0, 0.5]]), 0.125)
    assert sorted(halves.tolist()) == [[a, -1, b] for a in (0.125, 0.375) for b in (0.375, 0.625)]


def test_the_faces_of_a_box_away_from_zero_are_enough():
    assert faces.faces(2, positive=True) == [(0, 1, 0.0), (1, 1, 0.0)]
    assert faces.faces(2, positive=False) == [
        (axis, sign, -1.0) for axis in (0, 1) for sign in (1, -1)
    ]


def test_the_bound_on_a_cell_by_hand():
    """One neuron 2 relu(y_1 / 2 + y_2) on the edge y_1 = 1: linear at (1, 0), bent at (1, -1/2)."""
    network = Network(np.array([2.0]), np.array([[0.5, 1.0]]), np.zeros(1))
    x, h, root = np.array([[1.0, 0.0], [1.0, -0.5]]), 0.25, math.sqrt(1.25)
    errors, bounds = faces.on_face(network, faces.Face(0, 1, -1.0), x, h)
    assert errors == pytest.approx([0, root])
    linear = h * 2 + h**2 / 2  # |u - s| = |0 - 2|, no kink
    bent = h * (0.5 / root + 1) + 2 * h / 2 + h**2 / 2  # the slope is 2 * 1/2, t = h, z = 0
    assert bounds == pytest.approx([linear, root + bent])


def test_the_bound_on_a_cell_in_space_by_hand():
    """Two neurons on the face y_3 = -1, the second one bent: t = h (1 + 2), z = 1/4."""
    network = Network(
        np.array([1.0, -2.0]), np.array([[0, 0, -1.0], [1.0, -2.0, 0.75]]), np.zeros(2)
    )
    x, h = np.array([[0.5, -0.25, -1.0]]), 0.125
    errors, bounds = faces.on_face(network, faces.Face(2, -1, -1.0), x, h)
    length, slope = math.sqrt(1 + 0.25 + 0.0625), (1 + 0.25 / 0.375) / 2
    error = abs(length - (1 - 2 * 0.25))
    off = abs(0.5 / length + 2 * slope) + abs(-0.25 / length - 4 * slope)
    assert errors == pytest.approx([error])
    assert bounds == pytest.approx([error + h * off + 2 * (0.375 - 0.25) / 2 + 2 * h**2 / 2])


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


def test_chunks_hold_no_more_products_than_they_may_and_change_nothing(monkeypatch):
    network, face = signed(3, 4), faces.Face(1, 1, -1.0)
    x, held, on_chunk = face.centres(3, 1 / 8), [], faces._on_chunk

    def counted(network, face, x, h):
        held.append(len(x) * len(network.a))
        return on_chunk(network, face, x, h)

    whole = faces.on_face(network, face, x, 1 / 8)
    monkeypatch.setattr(faces, "_on_chunk", counted)
    monkeypatch.setattr(faces, "CHUNK", 30)  # seven rows at a time
    for a, b in zip(whole, faces.on_face(network, face, x, 1 / 8), strict=True):
        assert a == pytest.approx(b, rel=1e-14)
    assert sum(held) == 64 * 4
    assert max(held) <= 30
    monkeypatch.setattr(faces, "CHUNK", 1)
    assert len(faces.on_face(network, face, x, 1 / 8)[0]) == len(x)


def test_room_for_rounding_is_the_stated_one():
    """2 (m + 3d + 8) u (path norm + d) = 2 * 15 u * 3 for one neuron y_1 of the plane."""
    network = Network(np.array([1.0]), np.array([[1.0, 0.0]]), np.zeros(1))
    room = 90 * 2.0**-53
    assert barron._rounding(network) == room
    found, (lower, upper) = faces.on_edges(network), barron.sup_error(network, 1.0)
    assert (lower, upper) == (found - room, found + room)
    heavy = Network(np.array([1e16, -1e16]), np.array([[1.0, 0.0]] * 2), np.zeros(2))  # f_m = 0
    assert barron.sup_error(heavy, 1.0).lower == 0


EDGES = {
    "along an axis": ([1.0, -0.5], [[1.0, 0.0], [0.0, 1.0]]),
    "flat": ([0.75], [[2.0, 0.0]]),
    "steep": ([3.0], [[0.5, 1.0]]),
    "corner": ([1.0, 1.0], [[1.0, 1.0], [-1.0, -1.0]]),
    "outside": ([0.5, 2.0], [[3.0, 1.0], [0.1, -1.0]]),
    "nothing": ([0.0], [[1.0, 1.0]]),
}


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("a", "b"), EDGES.values(), ids=EDGES)
def test_edges_against_a_fine_grid(a, b, positive):
    network = Network(np.array(a), np.array(b), np.zeros(len(a)))
    t = np.linspace(0 if positive else -1, 1, 4001)
    ends = (1.0,) if positive else (1.0, -1.0)
    points = [np.stack([0 * t + s, t][::k], axis=1) for s in ends for k in (1, -1)]
    found = error(network, np.concatenate(points)).max()
    lower, upper = barron.sup_error(network, 1.0, positive=positive)
    assert found <= upper <= found * (1 + 1e-6)  # the error is flat at its extremes, or at a knot
    assert lower == pytest.approx(upper, rel=1e-12)


NEXT = 1.25 - 2.0**-52  # a kink that is two roundings away from the corner


@pytest.mark.parametrize(
    ("a", "b"),
    [([1.0], [[NEXT, 1.25]]), ([4.0, -4.0], [[-NEXT, -1.25], [-1.25, -1.25]])],
    ids=["switched on", "switched off"],
)
def test_a_first_piece_of_two_roundings_is_a_piece(a, b):
    """At (-1, -1), or everywhere up to rounding, f_m is 0, and nowhere is its error above 2^(1/2)."""
    lower, upper = barron.sup_error(Network(np.array(a), np.array(b), np.zeros(len(a))), 1.0)
    assert lower <= math.sqrt(2) <= upper <= lower + 1e-12  # the room for rounding


@pytest.mark.parametrize("seed", range(8))
def test_edges_of_random_networks_against_a_fine_grid(seed):
    network, t = signed(2, 5, seed), np.linspace(-1, 1, 40_001)
    points = [np.stack([0 * t + s, t][::k], axis=1) for s in (1, -1) for k in (1, -1)]
    found = error(network, np.concatenate(points)).max()
    assert (
        found <= barron.sup_error(network, 1.0).upper <= found * (1 + 1e-4)
    )  # a knot between points


@pytest.mark.parametrize("m", [1, 2, 9, 60])
@pytest.mark.parametrize("positive", [False, True])
def test_edges_and_cells_agree_in_the_plane(positive, m):
    for network in (signed(2, m, seed=m), barron.norm_network(2, m)):
        edges = barron.sup_error(network, 1.0, positive=positive)
        lower, upper = faces.on_cells(network, positive=positive, close=0.001)
        assert lower <= edges.upper
        assert edges.lower <= upper <= 1.0011 * lower


def test_the_positive_cube_is_part_of_the_whole():
    network = barron.norm_network(3, 20, np.random.default_rng(0))
    part, whole = (barron.sup_error(network, 1.0, positive=p) for p in (True, False))
    assert part.lower <= whole.upper
    y = np.abs(np.random.default_rng(1).uniform(-1, 1, (50_000, 3)))
    assert error(network, y).max() <= part.upper
    spike = Network(np.array([5.0]), np.array([[1.0, -1.0, -1.0]]), np.zeros(1))  # 4 at (1, 0, 0)
    lower, upper = barron.sup_error(spike, 1.0, positive=True)
    assert lower <= 4 <= upper <= 1.06 * lower


def test_work_is_counted_in_products_and_never_exceeded(monkeypatch):
    """How many cells each division has, found with work without end, says where less must end."""
    network, counts = barron.norm_network(3, 7), []
    on_face = faces.on_face

    def counted(network, face, x, h):
        counts.append((h, len(x)))
        return on_face(network, face, x, h)

    def levels(work):
        counts.clear()
        faces.on_cells(network, close=0.02, work=work)
        widths = sorted({h for h, _ in counts}, reverse=True)
        return [7 * sum(n for h, n in counts if h == width) for width in widths]

    monkeypatch.setattr(faces, "on_face", counted)
    whole = levels(1e9)
    assert whole[0] == 7 * 6 * 8**2
    assert len(whole) > 3
    for k in (1, 2, 3):
        assert levels(sum(whole[:k])) == whole[:k]
        assert levels(sum(whole[:k]) - 1) == whole[: max(1, k - 1)]


def test_without_work_the_upper_end_is_the_largest_bound_of_the_first_cells():
    network = barron.norm_network(3, 7)
    box = faces.faces(3, positive=False)
    parts = [faces.on_face(network, face, face.centres(3, 1 / 8), 1 / 8) for face in box]
    lower, upper = faces.on_cells(network, work=0)
    assert lower == pytest.approx(max(errors.max() for errors, _ in parts), rel=1e-12)
    assert upper == pytest.approx(max(bounds.max() for _, bounds in parts), rel=1e-12)


def test_a_neuron_of_the_size_of_rounding_hides_no_error():
    """10 relu(y_1) misses |y|_2 by 9 at (1, 0, 0), where the other neuron, h |b|_1 = 2^-53, is 0."""
    b = np.array([[1.0, 0.0, 0.0], [0.0, 2.0**-51, 2.0**-51]])
    lower, upper = faces.on_cells(Network(np.array([10.0, 1.0]), b, np.zeros(2)))
    assert lower <= 9 <= upper


def test_in_the_plane_the_error_is_known_up_to_rounding():
    network = barron.best_plane_network(5)
    (lower, upper), narrow = barron.sup_error(network, 3.0), barron.sup_error(network, 1.0)
    assert lower == pytest.approx(upper, rel=1e-10)
    assert (lower, upper) == pytest.approx((3 * narrow.lower, 3 * narrow.upper), rel=1e-14)


PLANE = Network(np.ones(2), np.eye(2), np.zeros(2))
BAD = {
    "R^4": (lambda: barron.norm_network(4, 8), r"R\^2 and R\^3, got dimension=4"),
    "no neurons": (lambda: barron.norm_network(3, 0), "needs m >= 1 neurons, got m=0"),
    "a line": (lambda: barron.barron_norm_of_norm(1), "got dimension=1"),
    "no draws": (lambda: barron.sampling_bound(1.0, 2, 0, 1.0), "got m=0"),
    "an even number": (lambda: barron.best_plane_network(6), "if m >= 3 is odd, got m=6"),
    "one angle": (lambda: barron.best_plane_network(1), "if m >= 3 is odd, got m=1"),
    "as many neurons": (lambda: barron.blind_vertex(rationals([[1, 0], [0, 1]])), "needs d > m"),
    "a point": (lambda: barron.sup_error(PLANE, 0.0), "half-width above 0"),
    "a box without end": (lambda: barron.sup_error(PLANE, math.inf), "half-width above 0"),
    "one bias": (lambda: barron.sup_error(PLANE._replace(c=np.array([0, 1.0])), 1.0), "biases"),
    "one weight": (
        lambda: barron.sup_error(PLANE._replace(a=np.array([1.0, math.nan])), 1.0),
        "not finite",
    ),
    "one direction": (
        lambda: barron.sup_error(PLANE._replace(b=np.array([[1.0, 0.0], [math.inf, 1.0]])), 1.0),
        "not finite",
    ),
}


@pytest.mark.parametrize(("call", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
