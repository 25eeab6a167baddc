"""Best approximation: known optima are found, and both bounds hold."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

from repro.numerics import exact, minimax
from repro.numerics.exact import rational, rationals, vector
from repro.numerics.minimax import Target

searched = settings(max_examples=60, deadline=None, derandomize=True, database=None)
KINK = Target((-1.0, 0.0, 1.0), (lambda x: -x, lambda x: x))
WAVE = Target((-1.0, 1.0), (lambda x: np.exp(np.sin(3 * x)),))
NOTHING = Target((-1.0, 1.0), (lambda x: 0 * x,))


def power(degree, a=-1.0, b=1.0):
    return Target((a, b), (lambda x: x**degree,))


def pole(a):
    return Target((-1.0, 1.0), (lambda x: 1 / (a - x),))


def floats(entries):
    return [float(entry) for entry in entries]


# --- known optima ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(-1.0, 1.0), (0.0, 1.0), (-3.0, 5.0)])
@pytest.mark.parametrize("q", [0, 1, 2, 5, 12])
def test_a_power_leaves_chebyshevs_polynomial(q, a, b):
    """x^(q+1) - p = 2 ((b-a)/4)^(q+1) T_(q+1), with the extrema of T_(q+1) as alternation."""
    found, known = minimax.best(power(q + 1, a, b), q), 2 * ((b - a) / 4) ** (q + 1)
    assert found.lower <= known <= found.upper <= 1.02 * known
    assert found.lower >= known * (1 - 1e-4)
    points = (a + b) / 2 + (b - a) / 2 * minimax.chebyshev_points(q)
    assert np.abs(found.points - points).max() <= (b - a) / 2 * math.pi / (128 * (q + 2))


@pytest.mark.parametrize("a", [1.08, 1.25, 2.0])
@pytest.mark.parametrize("q", [1, 3, 8, 15])
def test_a_pole_has_chebyshevs_closed_form(a, q):
    known = (a - math.sqrt(a * a - 1)) ** q / (a * a - 1)
    found = minimax.best(pole(a), q)
    assert found.lower <= known * (1 + 1e-12)
    assert known <= found.upper
    assert found.upper <= 1.03 * found.lower


def test_the_kink_approaches_bernsteins_constant():
    """2n E_2n = 0.2801694990 - 0.0440/n^2 + ...: each lower bound comes this near, from below."""
    for n in (1, 2, 4, 8, 16):
        lower = 2 * n * minimax.best(KINK, 2 * n).lower
        assert 0 < 0.2801694990 - lower < 0.05 / n**2
    assert minimax.best(KINK, 2).lower == pytest.approx(1 / 8, rel=2e-5)
    assert minimax.best(KINK, 2).upper >= 1 / 8 >= minimax.best(KINK, 2).lower


def test_remez_on_a_parabola_by_hand():
    """x^2 on [0, 2], q = 1: p = 2x - 1/2, with alternation 0, 1, 2."""
    coefficients, points = minimax.remez(power(2, 0.0, 2.0), 1)
    assert coefficients == pytest.approx([1.5, 2], abs=1e-6)
    assert points == pytest.approx([0, 1, 2], abs=0.01)
    found = minimax.best(power(2, 0.0, 2.0), 1)
    assert found(np.array([0.0, 1.0, 2.0])) == pytest.approx([-0.5, 1.5, 3.5], abs=1e-6)
    assert floats(Fraction(int(c.p), int(c.q)) for c in found.polynomial()) == pytest.approx(
        [-0.5, 2], abs=1e-6
    )


@pytest.mark.parametrize("q", [0, 3, 8, 21])
@pytest.mark.parametrize("f", [KINK, WAVE, pole(1.1)], ids=["kink", "wave", "pole"])
def test_the_error_alternates_and_is_nowhere_larger(f, q):
    found = minimax.best(f, q)
    error = f(found.points) - found(found.points)
    assert np.all(np.sign(error[1:]) == -np.sign(error[:-1]))
    assert np.ptp(np.abs(error)) <= 1e-6 * found.lower + 1e-14
    x = np.linspace(f.breaks[0], f.breaks[-1], 20_001)
    assert np.abs(f(x) - found(x)).max() <= found.upper
    assert np.abs(f(x) - found(x)).max() >= 0.99 * found.lower


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        ([1.0, 0.5, -3.0, -4.0, 2.0, -5.0, -1.0], [3, 4, 5]),
        ([-1.0, -5.0, 2.0, -4.0, -3.0, 0.5, 1.0], [1, 2, 3]),
        ([3.0, -5, 4, -1], [0, 1, 2]),
        ([1.0, -5, 4, -3], [1, 2, 3]),
    ],
)
def test_of_too_many_alternations_the_smaller_end_is_left_out(error, kept):
    assert minimax._alternation(np.array(error), 3).tolist() == kept


@pytest.mark.parametrize(
    ("f", "q", "said"),
    [
        *((NOTHING, q, "Remez's exchange") for q in (0, 1, 2)),  # an error of 0 has no signs
        (Target((-1.0, 1.0), (lambda x: x**2,)), 5, "Remez's exchange"),
        # 1 + c x^2 leaves c/2; float64 sees it up to 9e-16, and a hundred times that is asked for
        (Target((-1.0, 1.0), (lambda x: 1 + 4e-14 * x * x,)), 1, "use `fine_alternation`"),
    ],
)
def test_what_has_no_alternation_in_float64_is_refused(f, q, said):
    with pytest.raises(ArithmeticError, match=said):
        minimax.remez(f, q)
    _, points = minimax.remez(Target((-1.0, 1.0), (lambda x: 1 + 4e-12 * x * x,)), 1)
    assert points == pytest.approx([-1, 0, 1], abs=0.05)


def test_round_off_is_measured_by_the_size_of_f():
    """On a height of a thousand an error of 1e-8 is known to 1e-13 only: no exchange betters it."""
    wave = Target((-1.0, 1.0), (lambda x: 1e-6 * np.exp(4 * x),))
    raised = Target((-1.0, 1.0), (lambda x: 1000 + 1e-6 * np.exp(4 * x),))
    for q in range(2, 7):
        low, high = minimax.best(wave, q), minimax.best(raised, q)
        assert high.lower == pytest.approx(low.lower, rel=1e-3)


points_of_a_line = st.lists(
    st.integers(-1000, 1000).map(lambda k: k / 1000), min_size=2, max_size=9, unique=True
)


@searched
@given(points_of_a_line)
def test_no_points_give_a_level_above_the_best_error(points):
    q = len(points) - 2
    assert (
        minimax.lower_end(abs(minimax.level(KINK, np.sort(points)))) <= minimax.best(KINK, q).upper
    )


def test_messages_say_what_to_do():
    with pytest.raises(ArithmeticError, match=r"polynomial of degree 4 or less"):
        minimax.best(power(2), 4)
    with pytest.raises(ArithmeticError, match=r"if the interval ends there, take a smaller one"):
        minimax.best(Target((0.0, 1.0), (np.sqrt,)), 4)
    with pytest.raises(ValueError, match="round the ends"):
        Target((0.1, 0.7), (np.exp,))
    assert Target((0.099609375, 0.7001953125), (np.exp,)).centre == 0.39990234375


# --- targets and levelled polynomials --------------------------------------------------------------


def test_a_break_belongs_to_the_branch_on_its_left():
    steps = Target((-1.0, 0.0, 0.5, 1.0), tuple(lambda x, k=k: 0 * x + k for k in range(3)))
    assert steps(np.array([-1.0, 0.0, 0.25, 0.5, 0.75, 1.0])).tolist() == [0, 0, 1, 1, 2, 2]
    assert (steps.centre, steps.radius) == (0, 1)
    assert (power(1, -3.0, 5.0).centre, power(1, -3.0, 5.0).radius) == (1, 4)


def test_weights_level_and_differences_by_hand():
    points = np.array([0.0, 1.0, 3.0])
    assert floats(minimax._weights(points)) == pytest.approx([1 / 3, -1 / 2, 1 / 6])
    values = vector([flint.arb(v) for v in (1, 3, 19)])  # 1 + 2 x + 2 x (x - 1)
    assert floats(minimax._divided_differences(points, values)) == [1, 2, 2]
    square = Target((-1.0, 1.0), (lambda x: x**2,))
    assert float(minimax.level(square, np.array([-1.0, 0.0, 1.0]))) == 0.5
    assert minimax.levelled(square, np.array([-1.0, 0.0, 1.0])) == flint.fmpq_poly(
        [flint.fmpq(1, 2)]
    )


@pytest.mark.parametrize("q", [0, 1, 4, 9])
def test_a_levelled_polynomial_misses_by_its_level_everywhere(q):
    points = np.sort(np.random.default_rng(q).uniform(-1, 1, q + 2))
    p, height = minimax.levelled(WAVE, points), minimax.level(WAVE, points)
    assert p.degree() <= q
    with flint.ctx.workprec(256):
        error = [
            f - flint.arb(p(rational(x))) for f, x in zip(WAVE.balls(points), points, strict=True)
        ]
        signs = [(-1) ** (q + 1 - i) for i in range(q + 2)]
        off = [abs(e - s * height) for e, s in zip(error, signs, strict=True)]
    assert max(map(minimax.upper_end, off)) < 1e-60


def test_the_exact_polynomial_is_the_one_that_was_found():
    found = minimax.best(power(4, -3.0, 5.0), 3)
    p = found.polynomial()
    x = np.linspace(-3, 5, 9)
    exact = np.array([float(Fraction(int(v.p), int(v.q))) for v in (p(rational(a)) for a in x)])
    assert np.abs(exact - found(x)).max() < 1e-10


def test_chebyshev_polynomials_are_cosines():
    z = flint.fmpq_poly([0, 1])
    for k, T in enumerate(minimax.chebyshev_polynomials(6, z)):
        assert float(T(flint.fmpq(1, 3)).p) / float(T(flint.fmpq(1, 3)).q) == pytest.approx(
            math.cos(k * math.acos(1 / 3))
        )
    assert [len(minimax.chebyshev_polynomials(q, z)) for q in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("q", [1, 3])
def test_the_fine_alternation_of_a_power_is_chebyshevs(q):
    """x^(q+1) on [-3, 5] leaves a multiple of T_(q+1), which alternates at its extrema."""
    points = minimax.fine_alternation(power(q + 1, -3.0, 5.0), q)
    assert points == pytest.approx(1 + 4 * minimax.chebyshev_points(q), abs=4 * math.pi / 256)


@pytest.mark.parametrize("exponent", [-400, -200, 200, 400])
def test_the_fine_alternation_knows_no_unit(exponent):
    """10^400 x^2 alternates where x^2 does, and so does 10^-400 x^2, which is 0 in float64."""
    huge = Target((-1.0, 1.0), (lambda x: flint.arb(10) ** exponent * x**2,))
    assert minimax.fine_alternation(huge, 1) == pytest.approx([-1, 0, 1], abs=math.pi / 256)


@pytest.mark.parametrize("q", [8, 100])
def test_the_fine_alternation_of_a_pole_reaches_its_error_on_any_interval(q):
    """1/(11/2 - x) on [1, 5] is 1/2 / (5/4 - y), y = (x - 3)/2: E_q = 1/2 * 2^-q / (25/16 - 1)."""
    f, known = Target((1.0, 5.0), (lambda x: 1 / (5.5 - x),)), 8 / 9 * 2.0**-q
    level = abs(minimax.level(f, minimax.fine_alternation(f, q)))
    assert 0.999 * known <= minimax.lower_end(level) <= known


# --- several variables and finitely many points ----------------------------------------------------


def test_the_annihilator_by_hand():
    """w_1 (1, 1/2) + w_2 (1, 1) + w_3 (1, 2) = 0: multiples of (2, -3, 1)."""
    w = exact.annihilator(rationals([[1, "1/2"], [1, 1], [1, 2]]))
    assert [int(value) * 2 / int(w[0]) for value in w] == [2, -3, 1]
    x = rationals([0, 1, 2, 3])  # three functions, of which two are equal
    with pytest.raises(ValueError, match="there are 2"):
        exact.annihilator(np.stack([x**0, x, x], axis=1))


def test_what_can_be_met_is_met():
    found = minimax.best_on_points(np.eye(3), np.array([1.0, 2.0, 3.0]))
    assert found.error == pytest.approx(0, abs=1e-12)
    assert found.coefficients == pytest.approx([1, 2, 3])
    found = minimax.best_on_points(np.ones((3, 1)), np.zeros(3))
    assert (found.error, found.coefficients.tolist(), found.weights.tolist()) == (0, [0], [0, 0, 0])
    found, rows = minimax.best_on_grid(np.ones((4, 1)), np.zeros(4), np.array([0, 1]))
    assert (found.error, found.coefficients.tolist(), rows.tolist()) == (0, [0], [0, 1])


def test_the_dual_weights_prove_the_error():
    rng = np.random.default_rng(1)
    columns, values = rng.normal(size=(40, 5)), rng.normal(size=40)
    found = minimax.best_on_points(columns, values)
    assert np.abs(columns.T @ found.weights).max() < 1e-9
    assert np.abs(found.weights).sum() == pytest.approx(1)
    assert found.weights @ values == pytest.approx(found.error)
    assert np.abs(values - columns @ found.coefficients).max() == pytest.approx(found.error)


def test_the_exchange_reaches_the_whole_grid():
    x = np.linspace(-1, 1, 3001)
    columns, values = chebyshev.chebvander(x, 8), np.abs(x)
    whole = minimax.best_on_points(columns, values).error
    found, rows = minimax.best_on_grid(columns, values, np.arange(0, 3001, 300))
    assert len(rows) < 300
    assert found.error <= whole * (1 + 1e-9) <= 1.01 * found.error * (1 + 1e-9)
    assert np.abs(values - columns @ found.coefficients).max() <= 1.01 * found.error


def test_the_worst_rows_are_added_until_the_grid_is_met():
    values = np.array([0.0, 1.0, 8.0, 2.0, -4.0])
    found, rows = minimax.best_on_grid(np.ones((5, 1)), values, np.array([0, 1]), close=1e-9)
    assert found.error == pytest.approx(6)
    assert rows.tolist() == [0, 1, 2, 4]
    off = r"the linear program is off by (0\.0e\+00|-?\d\.\de-1\d), -0\.5 was asked"  # a rounding
    with pytest.raises(ArithmeticError, match=off):
        minimax.best_on_grid(np.ones((3, 1)), np.array([0.0, 1.0, 3.0]), np.arange(3), close=-0.5)
