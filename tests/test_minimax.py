"""Best approximation: known optima are found, both bounds hold, and neither is empty."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

from repro.numerics import exact, minimax, taylor
from repro.numerics.exact import rational, rationals, vector
from repro.numerics.minimax import Target

searched = settings(max_examples=60, deadline=None, derandomize=True, database=None)
KINK = Target((-1.0, 0.0, 1.0), (lambda x: -x, lambda x: x))
WAVE = Target((-1.0, 1.0), (lambda x: np.exp(np.sin(3 * x)),))


def power(degree, a=-1.0, b=1.0):
    return Target((a, b), (lambda x: x**degree,))


def pole(a):
    return Target((-1.0, 1.0), (lambda x: 1 / (a - x),))


# --- known optima --------------------------------------------------------------------------------


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


def test_an_even_function_gains_nothing_at_odd_degrees():
    for q in (2, 6):
        even, odd = minimax.best(KINK, q), minimax.best(KINK, q + 1)
        assert odd.lower <= even.upper
        assert even.lower <= odd.upper
        assert odd.upper <= 1.02 * even.lower


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


@pytest.mark.parametrize("q", [2, 7, 16])
@pytest.mark.parametrize("f", [KINK, WAVE], ids=["kink", "wave"])
def test_remez_and_the_linear_program_agree(f, q):
    x = np.cos(np.linspace(0, math.pi, 64 * (q + 2) + 1))
    found = minimax.best_on_points(chebyshev.chebvander(x, q), f(x))
    best = minimax.best(f, q)
    assert found.error <= best.upper
    assert found.error == pytest.approx(best.lower, rel=1e-3)
    assert (np.abs(found.weights) > 1e-9).sum() <= q + 2


# --- the bounds are bounds -----------------------------------------------------------------------

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


@searched
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=12))
def test_no_point_exceeds_the_upper_bound(coefficients):
    """Any coefficients, not only the best ones; and the bound is near what is attained."""
    x = np.cos(np.linspace(0, math.pi, 4001))
    attained = np.abs(KINK(x) - chebyshev.chebval(x, coefficients)).max()
    bound = minimax.upper_end(taylor.upper_bound(KINK, np.array(coefficients)))
    assert attained <= bound <= 1.02 * attained + 1e-12


def test_a_branch_counts_on_its_own_side_of_the_break_only():
    """1 - x is 2 at -1, where another branch stands."""
    jump = Target((-1.0, 0.0, 1.0), (lambda x: 0 * x, lambda x: 1 - x))
    assert 1 <= minimax.upper_end(taylor.upper_bound(jump, np.array([0.0]))) < 1.01


def test_the_taylor_coefficients_of_a_polynomial_lie_in_their_balls():
    """And floating point alone would miss them: the radii are needed."""
    rng = np.random.default_rng(0)
    c, t = rng.normal(size=81), rng.uniform(0, math.pi, 5)
    missed = 0
    for parts, angle in zip(taylor._cosines(c, t), t.tolist(), strict=True):
        with flint.ctx.workprec(200):
            for j, part in enumerate(parts[:-1]):
                turn = flint.arb.pi() * j / 2
                terms = [
                    flint.arb(a) * flint.arb(k) ** j * (flint.arb(angle) * k + turn).cos()
                    for k, a in enumerate(c.tolist())
                ]
                exact = sum(terms, flint.arb(0)) / math.factorial(j)
                assert part.contains(exact)
                missed += not flint.arb(part.mid()).contains(exact)
            assert parts[-1] >= sum(
                abs(a) * k**10 for k, a in enumerate(c.tolist())
            ) / math.factorial(10)
    assert missed > 40


def test_the_remainder_is_counted(monkeypatch):
    """With few cells and no derivative the values at the centres are not enough: T_11 attains 1."""
    monkeypatch.setattr(taylor, "ORDER", 1)
    monkeypatch.setattr(taylor, "CELLS", 1)
    nothing = Target((-1.0, 1.0), (lambda x: 0 * x,))
    assert minimax.upper_end(taylor.upper_bound(nothing, np.eye(12)[11])) >= 1


@pytest.mark.parametrize("turned", [False, True])
def test_the_exchange_drops_the_smaller_end(turned):
    error = np.array([1.0, 0.5, -3.0, -4.0, 2.0, -5.0, -1.0])
    kept = minimax._alternation(error[::-1] if turned else error, 3)
    assert kept.tolist() == ([1, 2, 3] if turned else [3, 4, 5])


def test_a_hidden_break_is_refused():
    singular = Target((-1.0, 1.0), (lambda x: np.sqrt(x * x),))
    with pytest.raises(ArithmeticError, match="no bounded derivatives near x="):
        taylor.upper_bound(singular, np.array([0.0]))


def test_the_ends_of_a_ball_are_outside_it():
    ball = flint.arb(1) / 3
    assert minimax.lower_end(ball) < Fraction(1, 3) < minimax.upper_end(ball)
    assert minimax.upper_end(ball) - minimax.lower_end(ball) < 1e-15


# --- levelled polynomials ------------------------------------------------------------------------


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


@pytest.mark.parametrize("q", [10, 24])
def test_the_fine_alternation_is_the_alternation(q):
    fine = minimax.fine_alternation(WAVE, q)
    assert minimax.lower_end(abs(minimax.level(WAVE, fine))) == pytest.approx(
        minimax.best(WAVE, q).lower, rel=1e-6
    )


def test_the_fine_alternation_goes_on_where_float64_ends():
    """E_60 is 3e-22 beside values of e: still nothing exceeds the level by more than the grid's part."""
    points = minimax.fine_alternation(WAVE, 60, bits=512)
    p, height = minimax.levelled(WAVE, points, bits=512), minimax.level(WAVE, points, bits=512)
    x = np.cos(np.linspace(0, math.pi, 500))
    with flint.ctx.workprec(512):
        error = [abs(f - flint.arb(p(rational(a)))) for f, a in zip(WAVE.balls(x), x, strict=True)]
    worst, level = max(map(minimax.upper_end, error)), minimax.lower_end(abs(height))
    assert 1e-22 < level < 1e-21
    assert worst <= level / math.cos(math.pi / 256)


# --- several variables ---------------------------------------------------------------------------


def test_the_annihilator_annihilates_exactly():
    x = rationals([["1/3", 2], [0, 1], [-1, "5/7"], [4, 4], ["1/2", 0], [1, -2], [3, 1]])
    columns = np.stack(
        [x[:, 0] ** a * x[:, 1] ** b for a in range(3) for b in range(3 - a)], axis=1
    )
    w = exact.annihilator(columns)
    assert all(value == 0 for value in w @ columns)
    assert any(value != 0 for value in w)


def test_in_one_variable_it_gives_the_weights_of_divided_differences():
    points = np.array([-1.0, -0.25, 0.5, 1.0])
    x = rationals(points)
    w = exact.annihilator(np.stack([x**s for s in range(3)], axis=1))
    known = [1 / math.prod(points[i] - points[j] for j in range(4) if j != i) for i in range(4)]
    assert [float(int(value)) / float(int(w[0])) for value in w] == pytest.approx(
        [k / known[0] for k in known]
    )


@pytest.mark.parametrize("rows", [2, 4])
def test_too_few_or_too_many_points_are_refused(rows):
    columns = np.stack([rationals(range(rows)) ** s for s in range(2)], axis=1)
    with pytest.raises(ValueError, match=f"one w for {rows} points and 2 functions"):
        exact.annihilator(columns)


def test_points_on_a_line_are_refused():
    """Three points of a line have no unique w for 1, x, y at four points when x = y for all."""
    x = rationals([0, 1, 2, 3])
    with pytest.raises(ValueError, match="there are 2"):
        exact.annihilator(np.stack([x**0, x, x], axis=1))


# --- finitely many points ------------------------------------------------------------------------


def test_a_constant_halves_the_range():
    found = minimax.best_on_points(np.ones((4, 1)), np.array([1.0, 5.0, 2.0, 3.0]))
    assert found.error == pytest.approx(2)
    assert found.coefficients == pytest.approx([3])
    assert found.weights == pytest.approx([-0.5, 0.5, 0, 0])


def test_what_can_be_met_is_met():
    found = minimax.best_on_points(np.eye(3), np.array([1.0, 2.0, 3.0]))
    assert found.error == pytest.approx(0, abs=1e-12)
    assert found.coefficients == pytest.approx([1, 2, 3])


def test_the_dual_weights_prove_the_error():
    rng = np.random.default_rng(1)
    columns, values = rng.normal(size=(40, 5)), rng.normal(size=40)
    found = minimax.best_on_points(columns, values)
    assert np.abs(columns.T @ found.weights).max() < 1e-9
    assert np.abs(found.weights).sum() == pytest.approx(1)
    assert found.weights @ values == pytest.approx(found.error)
    assert np.abs(values - columns @ found.coefficients).max() == pytest.approx(found.error)


def test_tiny_errors_are_found_to_full_relative_precision():
    x = np.cos(np.linspace(0, math.pi, 400))
    found = minimax.best_on_points(chebyshev.chebvander(x, 12), 1.0 + 1e-9 * x**13)
    assert found.error == pytest.approx(1e-9 * 2.0**-12, rel=1e-3, abs=0)


def test_the_exchange_reaches_the_whole_grid():
    x = np.linspace(-1, 1, 3001)
    columns, values = chebyshev.chebvander(x, 8), np.abs(x)
    whole = minimax.best_on_points(columns, values).error
    found, rows = minimax.best_on_grid(columns, values, np.arange(0, 3001, 300))
    assert len(rows) < 300
    assert found.error <= whole * (1 + 1e-9) <= 1.01 * found.error * (1 + 1e-9)
    assert np.abs(values - columns @ found.coefficients).max() <= 1.01 * found.error


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("breaks", "count"),
    [((-1.0, 1.0), 2), ((0.0,), 0), ((1.0, -1.0), 1), ((0.0, 0.0, 1.0), 2)],
    ids=str,
)
def test_a_target_with_other_branches_than_intervals_is_refused(breaks, count):
    with pytest.raises(ValueError, match="one branch between neighbouring breaks"):
        Target(breaks, (abs,) * count)


def test_an_interval_without_an_exact_centre_is_refused():
    with pytest.raises(ValueError, match="a centre and a radius that are floats"):
        Target((0.1, 0.7), (abs,))


def test_a_polynomial_has_no_best_approximation_to_find():
    with pytest.raises(ArithmeticError, match="Remez's exchange"):
        minimax.best(power(2), 5)


def test_a_negative_degree_is_refused():
    with pytest.raises(ValueError, match="degree q >= 0, got q=-1"):
        minimax.remez(WAVE, -1)


def test_a_function_with_breaks_has_no_fine_alternation():
    with pytest.raises(ValueError, match="fall slowly"):
        minimax.fine_alternation(KINK, 8)


def test_a_target_takes_floats_balls_and_series():
    assert KINK(np.array([-0.5, 0.25])).tolist() == [0.5, 0.25]
    assert [float(v) for v in KINK.balls(np.array([-0.5, 0.25]))] == [0.5, 0.25]
    flint_series = WAVE.branches[0](vector([flint.arb_series([0, 1])]))[0]
    assert float(flint_series[1]) == pytest.approx(3)


def test_all_known_optima_are_distinct():
    """A guard for the tests above: a stuck exchange would give the same error for every degree."""
    errors = [minimax.best(WAVE, q).lower for q in (2, 4, 8, 16)]
    assert all(a > 2 * b for a, b in itertools.pairwise(errors))


def test_values_that_are_not_finite_are_refused():
    for columns, values in [([[1.0], [1.0]], [np.nan, 1.0]), ([[np.inf], [1.0]], [1.0, 1.0])]:
        with pytest.raises((ValueError, np.linalg.LinAlgError)):
            minimax.best_on_points(np.array(columns), np.array(values))
