"""The error of a network on edges and cells of a cube: by hand, on fine grids, and work that is counted."""

import math

import numpy as np
import pytest

from repro.numerics import barron, faces
from repro.numerics.barron import Network


def signed(d, m, seed=0):
    """A network that is no average: weights of both signs, directions of all lengths."""
    rng = np.random.default_rng(seed)
    return Network(rng.normal(size=m), rng.normal(size=(m, d)), np.zeros(m))


def error(network, y):
    return np.abs(np.linalg.norm(y, axis=-1) - barron.value(network, y))


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
