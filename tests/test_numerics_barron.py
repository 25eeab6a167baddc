"""Barron networks: small cases by hand, cells and edges against fine grids, work that is counted."""

import math

import numpy as np
import pytest
from test_barron import error, signed

from repro.numerics import barron, faces
from repro.numerics.barron import Measure, Network
from repro.numerics.exact import rationals


def test_a_rebalanced_measure_by_hand():
    """Sizes 4 and 9/2, so S = 17/4; each atom is divided by |b|_1 + |c| = 2 and 3/2."""
    rho = Measure.of([("1/2", 2, [1, -1], 0), ("1/2", -3, [0, 1], "1/2")]).rebalanced()
    assert rho.probabilities.tolist() == rationals(["8/17", "9/17"]).tolist()
    assert rho.a.tolist() == rationals(["17/4", "-17/4"]).tolist()
    assert rho.b.tolist() == rationals([["1/2", "-1/2"], [0, "2/3"]]).tolist()
    assert rho.c.tolist() == rationals([0, "1/3"]).tolist()


def test_atoms_of_no_size_or_probability_are_left_out():
    """Sizes 1, 2, 0 and 7: S = 1."""
    atoms = [("1/2", 1, [1], 0), ("1/4", -2, [-1], 0), ("1/4", 0, [3], 1), (0, 7, [1], 0)]
    rho = Measure.of(atoms).rebalanced()
    assert (rho([2]), rho([-2])) == (1, -1)
    assert len(rho.a) == 2


def test_an_even_number_of_angles_is_refused():
    for m in (1, 4, 6):
        with pytest.raises(ValueError, match=f"m >= 3 is odd, got m={m}"):
            barron.best_plane_network(m)


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


def test_chunks_change_nothing(monkeypatch):
    network, face = signed(3, 4), faces.Face(1, 1, -1.0)
    x = face.centres(3, 1 / 8)
    whole = faces.on_face(network, face, x, 1 / 8)
    monkeypatch.setattr(faces, "CHUNK", 30)  # seven rows at a time
    parts = faces.on_face(network, face, x, 1 / 8)
    for a, b in zip(whole, parts, strict=True):
        assert len(b) == len(x)
        assert a == pytest.approx(b, rel=1e-14)
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


def test_a_network_is_its_formula():
    network = Network(np.array([2.0, -1.0]), np.array([[1.0, 0], [1, 3]]), np.array([-1.0, 0.5]))
    y = np.array([[2.0, 1.0], [0.0, -1.0]])
    assert barron.value(network, y).tolist() == [2 * 1 - 5.5, 0]
    assert barron.path_norm(network) == 2 * (1 + 1) + 4.5


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


@pytest.mark.parametrize("m", [3, 5])
def test_the_best_network_of_the_plane_by_hand(m):
    h = math.pi / (2 * m)
    least = (1 - math.cos(h)) / (1 + math.cos(h))
    assert barron.best_plane_error(m) == pytest.approx(least)
    a = 2 * math.sin(h) * (1 + least)  # a cos(u) / (2 sin h) is 1 + least at u = 0
    assert barron.best_plane_network(m).a == pytest.approx([a] * m)


def test_best_weights_are_the_best():
    """Against |y| on one ray of the plane, the neuron relu(y_1) meets it exactly."""
    network = Network(np.array([5.0]), np.array([[1.0, 0.0]]), np.zeros(1))
    fitted = barron.with_best_weights(network, np.array([[0.5, 0.0], [2.0, 0.0]]))
    assert fitted.a == pytest.approx([1.0])
    biased = network._replace(c=np.array([1.0]))
    assert barron.with_best_weights(biased, np.array([[1.0, 0.0], [3.0, 0.0]])).a == pytest.approx(
        [2 / 3]  # |1 - 2a| = |3 - 4a|
    )


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
    lower, upper = barron.sup_error(barron.best_plane_network(5), 3.0)
    assert lower == pytest.approx(upper, rel=1e-10)


NOT_JUDGED = {
    "one bias": ({"c": np.array([0.0, 1.0])}, 1.0, "without biases"),
    "a box without end": ({}, math.inf, "half-width above 0"),
    "one weight": ({"a": np.array([1.0, math.nan])}, 1.0, "not finite"),
    "one direction": ({"b": np.array([[1.0, 0.0], [math.inf, 1.0]])}, 1.0, "not finite"),
}


@pytest.mark.parametrize("why", NOT_JUDGED)
def test_a_network_without_an_error_is_refused(why):
    changed, half_width, match = NOT_JUDGED[why]
    network = Network(np.ones(2), np.eye(2), np.zeros(2))._replace(**changed)
    with pytest.raises(ValueError, match=match):
        barron.sup_error(network, half_width)


def test_the_function_zero_of_the_plane_stays_one_of_the_plane():
    rho = Measure.of([(1, 0, [1, 2], 3)]).rebalanced()
    assert rho.b.shape == (1, 2)
    assert rho([3, -4]) == 0 == rho.moment(1)


def test_no_more_products_are_held_at_once_than_a_chunk_has(monkeypatch):
    held, on_chunk = [], faces._on_chunk

    def counted(network, face, x, h):
        held.append(len(x) * len(network.a))
        return on_chunk(network, face, x, h)

    monkeypatch.setattr(faces, "_on_chunk", counted)
    monkeypatch.setattr(faces, "CHUNK", 30)
    face = faces.Face(1, 1, -1.0)
    faces.on_face(signed(3, 4), face, face.centres(3, 1 / 8), 1 / 8)
    assert sum(held) == 64 * 4
    assert max(held) <= 30
