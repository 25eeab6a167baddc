"""Kolmogorov's superpositions: psi by hand, disjoint images by brute force, steps that gain."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from repro.numerics import superposition
from repro.numerics.superposition import LAMBDA, SHIFT, TOP, Superposition, blocks, psi


def sixths(*digits):
    """0.d_1 d_2 ... to the base 6, as an integer of so many digits."""
    return int("".join(map(str, digits)), 6)


# psi with one and two digits; a last digit 5 is half way between neighbours.
BY_HAND = {
    (1, 0): 0,
    (1, 5): Fraction(5, 6),
    (1, 6): 1,
    (2, sixths(1, 4)): Fraction(1, 6) + Fraction(4, 6**3),
    (2, sixths(0, 5)): (Fraction(4, 6**3) + Fraction(1, 6)) / 2,
    (2, sixths(5, 5)): (Fraction(5, 6) + Fraction(4, 6**3) + 1) / 2,
    (2, 36): 1,
    (3, sixths(2, 3, 1)): Fraction(2, 6) + Fraction(3, 6**3) + Fraction(1, 6**7),
    (3, sixths(2, 3, 5)): Fraction(2, 6) + (
        Fraction(3, 6**3) + Fraction(4, 6**7) + Fraction(4, 6**3)) / 2,
    (4, sixths(1, 0, 0, 2)): Fraction(1, 6) + Fraction(2, 6**15),
}  # fmt: skip


@pytest.mark.parametrize(("place", "value"), BY_HAND.items(), ids=map(str, BY_HAND))
def test_psi_by_hand(place, value):
    assert psi(*place) == value


def test_psi_increases_from_zero_to_one():
    values = superposition.table()
    assert len(values) == 6**4 + 1
    assert (values[0], values[-1]) == (0, 1)
    exact = [psi(4, N) for N in range(6**4 + 1)]
    assert all(a < b for a, b in itertools.pairwise(exact))
    assert values.tolist() == [float(value) for value in exact]


def test_the_constants_are_those_of_four_digits():
    assert sixths(0, 1, 1, 1) == SHIFT
    assert Fraction(1, 6) + Fraction(1, 6**3) + Fraction(1, 6**7) + Fraction(1, 6**15) == LAMBDA
    assert TOP == 5 * 6**3
    assert TOP + 4 * SHIFT <= 6**4


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_blocks_take_four_fifths_of_their_cells(rank):
    first, last = blocks(rank)
    digits = list(itertools.product(range(6), repeat=rank))
    rest = 4 - rank
    assert first.tolist() == [sixths(*d, *[0] * rest) for d in digits]
    assert last.tolist() == [sixths(*d, *[4] * rest) for d in digits]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_every_number_is_in_a_block_of_four_of_five_shifts(rank):
    """The gaps, numbers with a digit 5 after the rank-th, are never hit twice."""
    first, last = blocks(rank)
    y = np.arange(TOP + 1)
    moved = y + SHIFT * np.arange(5)[:, None, None]  # (shift, block, y)
    inside = ((first[:, None] <= moved) & (moved <= last[:, None])).any(1).sum(0)
    assert inside.min() >= 4


@pytest.mark.parametrize(
    "lam", [LAMBDA, Fraction(1), Fraction(1, 6), Fraction(2, 7)], ids=["lambda", "1", "1/6", "2/7"]
)
def test_the_least_distance_is_that_of_all_pairs(lam):
    first, last = blocks(1)
    squares = [
        (psi(4, int(a)) + lam * psi(4, int(c)), psi(4, int(b)) + lam * psi(4, int(d)))
        for (a, b), (c, d) in itertools.product(zip(first, last, strict=True), repeat=2)
    ]
    ordered = sorted(squares)
    wanted = min(ordered[k + 1][0] - ordered[k][1] for k in range(35))
    assert superposition.least_distance(1, lam) == wanted
    assert superposition.least_distance(1) > 0 > superposition.least_distance(1, Fraction(1))


def grid(step):
    return np.array(list(itertools.product(range(0, TOP + 1, step), repeat=2)))


def test_the_sums_are_those_of_the_shifted_points():
    f = Superposition(lambda x: x[:, 0])
    points = np.array([[0, 0], [10, 700], [TOP, 3]])
    for q in (0, 1, 4):
        wanted = [
            float(psi(4, int(a) + q * SHIFT) + LAMBDA * psi(4, int(b) + q * SHIFT))
            for a, b in points
        ]
        assert f.sums(q, points) == pytest.approx(wanted, rel=1e-15)


@pytest.mark.parametrize("rank", [1, 2])
def test_a_constant_has_a_fifth_in_every_square_that_holds_the_point(rank):
    f = Superposition(lambda x: np.ones(len(x)))
    f.refine(rank)
    points, (first, last) = grid(13), blocks(rank)
    for q in range(5):
        moved = points + q * SHIFT
        inside = (first <= moved[..., None]) & (moved[..., None] <= last)
        good = inside.any(-1).all(-1)
        values = f.value(q, f.sums(q, points))
        assert values[good] == pytest.approx(0.2)
        assert ((values >= -1e-12) & (values <= 0.2 + 1e-12)).all()
        assert values[~good].min() < 0.01, "nothing falls to 0 beside the squares"
    left = f.left(points)
    assert left.min() >= -1e-12
    assert left.max() <= 2 / 5 + 1e-12  # at least three of five shifts are good


def test_a_step_gives_each_square_a_fifth_of_what_is_left_at_its_centre():
    """The centre has digits 2 beyond the rank; moved back by q a, and into [0, TOP]^2."""
    f = Superposition(lambda x: x[:, 0] - 2 * x[:, 1])
    f.refine(1)
    assert [len(step) for step in f.outer] == [5]
    for i, j in itertools.product(range(6), repeat=2):
        centre = np.array([[i * 216 + 2 * 43, j * 216 + 2 * 43]])
        image = f.sums(0, centre)
        for q in range(5):
            x, y = np.clip(centre - q * SHIFT, 0, TOP)[0] / TOP
            assert f.value(q, image) == pytest.approx([(x - 2 * y) / 5], abs=1e-12)


def test_beside_the_image_of_a_square_it_falls_to_zero_within_a_third_of_the_least_distance():
    f = Superposition(lambda x: np.ones(len(x)))
    f.refine(1)
    third = float(superposition.least_distance(1)) / 3
    low, high = f.sums(0, np.array([[216, 432], [216 + 172, 432 + 172]]))
    places = [low - third, low - third / 2, low, high, high + third / 2, high + third]
    for q in range(5):
        found = f.value(q, np.array(places))
        assert found == pytest.approx([0, 0.1, 0.2, 0.2, 0.1, 0], abs=1e-9)


def test_every_step_leaves_less_and_later_ones_see_what_is_left():
    def smooth(x):
        return np.cos(x[:, 0]) + x[:, 1] / 2

    f, points = Superposition(smooth), grid(40)
    sizes = [np.abs(f.left(points)).max()]
    for rank in (1, 2):
        f.refine(rank)
        sizes.append(np.abs(f.left(points)).max())
    assert sizes[0] == pytest.approx(1.5)
    assert sizes[1] < 0.9 * sizes[0]
    assert sizes[2] < 0.85 * sizes[1]
    assert len(f.outer) == 2
    found = sum(f.value(q, f.sums(q, points)) for q in range(5))
    assert f.left(points) == pytest.approx(smooth(points / TOP) - found)
