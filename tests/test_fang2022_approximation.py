"""Corollary 3.7: targets, approximants, and where the models of them are looked at."""

import math

import flint
import numpy as np
import pytest

from repro.fang2022 import approximation, powers, tower
from repro.fang2022.approximation import Approximant
from repro.fang2022.polynomials import Polynomial
from repro.numerics.exact import rational, rationals, to_float

U = 2.0**-53
PARABOLA = flint.fmpq_poly([1, -2, 3])  # 1 - 2y + 3y^2, and 6 - 16x + 12x^2 for y = 2x - 1


class Zero:
    """The function 0 on [-1, 1], and the points at which it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, y):
        self.asked += y.tolist()
        return 0 * y

    def balls(self, y):
        self.asked += y.tolist()
        return np.array([flint.arb(0)] * len(y), dtype=object)


@pytest.fixture
def zero(monkeypatch):
    """A target for which PARABOLA counts as the best, with given points of alternation."""
    points = np.array([-1, -0.875, -0.5, 0, 0.25, 0.5, 0.75, 1])
    found = Approximant(PARABOLA, points, 0.0)
    monkeypatch.setattr(approximation, "approximant", lambda target, q: found)
    return Zero()


@pytest.mark.parametrize("name", approximation.EXAMPLES)
def test_the_targets_are_those_of_the_docstring(name):
    f = {
        "kink": abs,
        "Runge": lambda x: 1 / (1 + 25 * x**2),
        "smooth": lambda x: math.exp(math.sin(3 * x)),
    }[name]
    x = np.array([-1, -0.7, -0.1, 0, 0.3, 1])
    found = approximation.EXAMPLES[name].target(x)
    assert found == pytest.approx([f(value) for value in x], rel=1e-14)


@pytest.mark.parametrize("name", approximation.EXAMPLES)
def test_the_lipschitz_constants_are_the_least(name):
    example = approximation.EXAMPLES[name]
    x = np.linspace(-1, 1, 200_001)
    slopes = np.abs(np.diff(example.target(x)) / np.diff(x))
    assert slopes.max() <= example.lipschitz * (1 + 1e-9)
    assert slopes.max() >= example.lipschitz * (1 - 1e-6)


@pytest.mark.parametrize("degree", [0, 2, 10, 30])
def test_runges_error_is_known(degree):
    found = approximation.approximant(approximation.EXAMPLES["Runge"].target, degree)
    assert found.upper is not None
    assert found.lower <= approximation.runge_error(degree) * (1 + 1e-12)
    assert approximation.runge_error(degree) <= found.upper
    assert approximation.runge_error(degree + 1) == approximation.runge_error(degree)


def test_runges_closed_form_at_degree_0():
    """The best constant for 1/26 <= f <= 1 misses by half of 25/26."""
    assert approximation.runge_error(0) == approximation.runge_error(1) == 25 / 52
    a = 27 / 25
    m = 3
    chebyshev = 2 / 25 * (a - math.sqrt(a * a - 1)) ** m / (a * a - 1)
    assert approximation.runge_error(2 * m) == pytest.approx(chebyshev, rel=1e-12)


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


def test_in_rationals_some_points_of_alternation_and_the_middles_before_them_are_tried(zero):
    """q = 6: of 8 points numbers 0, 1, 3, 5, 7. The largest |p| is that at -1."""
    assert approximation.error_in_rationals(zero, 6) == pytest.approx(6, rel=1e-15)
    assert zero.asked == [-1, -0.875, 0, 0.5, 1, -0.9375, -0.25, 0.375, 0.875]


def test_in_rationals_the_error_is_that_of_the_exact_model(zero, monkeypatch):
    """q = 2, all four points and three middles; the largest |p| is p(3/4) = 19/16, not p at an end."""
    points = np.array([-0.0625, 0.25, 0.5, 0.75])
    found = Approximant(PARABOLA, points, 0.0)
    monkeypatch.setattr(approximation, "approximant", lambda target, q: found)
    assert approximation.error_in_rationals(zero, 2) == pytest.approx(19 / 16, rel=1e-15)
    assert zero.asked == [-0.0625, 0.25, 0.5, 0.75, 0.09375, 0.375, 0.625]


CUBES = {"[0, 1]": 6 + 16 + 12, "[-1, 1]": 1 + 2 + 3}


@pytest.mark.parametrize("cube", CUBES)
def test_float64_is_measured_on_chebyshevs_grid(zero, cube):
    """Eight cells: cos(k pi/8) to 20 binary places; p is largest at y = -1, where it is 6."""
    found = approximation.in_float64(zero, 3, cube, "cpu", points=8)
    grid = [math.cos(k * math.pi / 8) for k in range(9)]
    assert zero.asked == [round(2**20 * y) / 2**20 for y in grid]
    assert found.error == pytest.approx(6, rel=1e-13)
    assert 0 <= found.rounding <= found.bound
    c = [6, -16, 12] if cube == "[0, 1]" else [1, -2, 3]
    model = powers.construction(
        Polynomial(1, {(s,): v for s, v in enumerate(c)}), 1, q=3, lifts=powers.roomy
    )
    assert found.bound == tower.output_bound(model, 1, "float64")


def test_float64_is_measured_at_257_points(zero):
    approximation.in_float64(zero, 2, "[-1, 1]", "cpu")
    assert len(zero.asked) == 257


def test_the_plane_by_hand():
    points = np.array([[1, 0], [0, 1], [1, 1], [0.5, 0.25]])
    expected = [
        math.exp(-1) * math.cos(2),
        math.exp(-2) * math.cos(1),
        math.exp(-2) * math.cos(3),
        math.exp(-0.25) * math.cos(1.25),
    ]
    assert approximation.plane_values(points) == pytest.approx(expected, rel=1e-14)
    first, second = approximation.PLANE_LIPSCHITZ
    assert first == 2
    assert second == pytest.approx(2 * math.exp(-3 / 8))
    assert 2 < approximation.RADIUS[2] ** 2 < rational("2.001")


def test_the_gradient_in_the_plane_is_bounded():
    x = np.linspace(0, 1, 401)
    points = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    values = approximation.plane_values(points).reshape(401, 401)
    for axis, bound in enumerate(approximation.PLANE_LIPSCHITZ):
        largest = np.abs(np.diff(values, axis=axis)).max() * 400
        assert 0.6 * bound <= largest <= bound


def test_the_grid_by_hand():
    """512 (1 - cos(pi/4)) = 149.96, first coordinate slowest."""
    axis = [0, 150 / 1024, 0.5, 874 / 1024, 1]
    grid = approximation.plane_grid(4)
    assert grid.tolist() == [[a, b] for a in axis for b in axis]
    assert max(np.hypot(*point) for point in grid) <= float(approximation.RADIUS[2])


def test_chebyshev_products_are_multiplied_out():
    """2 T_1 T_0 + 3 T_1 T_1 - T_0 T_2 at (x, y) in the unit square."""
    degrees = [(1, 0), (1, 1), (0, 2)]
    p = approximation._polynomial(np.array([2.0, 3.0, -1.0]), degrees, 2)
    for x, y in ((0, 0), (1, 0), (0.25, 0.5), (0.75, 1)):
        a, b = 2 * x - 1, 2 * y - 1
        assert p(rationals([x, y])) == rational(2 * a + 3 * a * b - (2 * b * b - 1))


def test_a_certificate_is_a_difference_quotient():
    """Degree 0, two points: half of the difference of f, whatever the signs."""
    active = np.array([[0.0, 0.0], [1.0, 0.0]])
    found = approximation._certified(active, [(0, 0)])
    assert found == pytest.approx((1 - math.exp(-1) * math.cos(2)) / 2, rel=1e-14)
    active = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 1.0], [0.25, 0.25]])
    f = approximation.plane_values(active)
    degrees = [(0, 0), (1, 0), (0, 1)]
    # f_4 against the affine function through the others: 1/4 f_1 + 1/2 f_2 + 1/4 f_3
    expected = abs(f[3] - f[0] / 4 - f[1] / 2 - f[2] / 4) / 2
    assert approximation._certified(active, degrees) == pytest.approx(expected, rel=1e-13)


def test_the_plane_is_approximated_as_well_as_it_can_be():
    found = approximation.plane_approximant(4, 16)
    grid = approximation.plane_grid(16)
    error = np.abs(to_float(found.polynomial(rationals(grid))) - approximation.plane_values(grid))
    assert found.lower * (1 - 1e-9) <= error.max() <= 1.02 * found.lower * (1 + 1e-6)
    assert found.polynomial.degree == 4
    assert len(found.points) == 16  # one more than the monomials
    assert approximation.plane_error_in_rationals(4, 16) == pytest.approx(found.lower, rel=1e-6)


def test_the_plane_in_float64_is_measured_on_its_grid():
    found, best = approximation.plane_float64(2, 12, "cpu"), approximation.plane_approximant(2, 12)
    grid = approximation.plane_grid(12)
    error = to_float(best.polynomial(rationals(grid))) - approximation.plane_values(grid)
    assert found.error == pytest.approx(np.abs(error).max(), rel=1e-9)
    assert 0 < found.rounding <= found.bound
    model = powers.construction(best.polynomial, "99/70", q=2, lifts=powers.roomy)
    assert found.bound == tower.output_bound(model, rational("99/70"), "float64")


def test_the_plane_in_rationals_is_looked_at_where_its_error_alternates(monkeypatch):
    """Of 9 points numbers 0, 2, 4, 6, 8 for checked = 4; x + 10 y against f."""
    points = np.array([[k / 8, (k % 3) / 2] for k in range(9)])
    p = Polynomial(2, {(1, 0): 1, (0, 1): 10})
    found = Approximant(p, points, 0.0)
    monkeypatch.setattr(approximation, "plane_approximant", lambda q, cells: found)
    asked = []
    values = approximation.plane_values
    monkeypatch.setattr(approximation, "plane_values", lambda at: asked.append(at) or values(at))
    largest = approximation.plane_error_in_rationals(1, 999)
    assert asked[0].tolist() == points[::2].tolist()
    off = points[::2] @ [1, 10] - values(points[::2])
    assert largest == pytest.approx(np.abs(off).max(), rel=1e-13)
