"""Best l1 approximation on the integers: against closed forms, brute force and a plain program."""

import itertools
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from repro.numerics import l1, vertices
from repro.numerics.logarithms import Log, ball, exp

HALVES = tuple(Log(2**k) for k in range(1, 6))  # u = 1/2, 1/4, ..., 1/32


# Logarithms of rationals

positive = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50)


@given(positive, positive, st.integers(-6, 6))
def test_logarithms_add_and_multiply_as_exponentials_multiply(r, s, n):
    assert exp(Log(r) + Log(s)) == flint.fmpq(*(r * s).as_integer_ratio())
    assert exp(Log(r) - n * Log(s)) == flint.fmpq(*(r / s**n).as_integer_ratio())
    assert (Log(r) < Log(s)) == (r < s)
    assert (Log(r) > Log(s)) == (r > s)
    assert (Log(r) == Log(s)) == (r == s)
    assert ball(Log(r)).contains(flint.arb(flint.fmpq(*r.as_integer_ratio())).log())


def test_logarithms_refuse_what_is_not_the_logarithm_of_a_rational():
    for wrong in (0, -2):
        with pytest.raises(ValueError, match="needs r > 0"):
            Log(wrong)
    with pytest.raises(ValueError, match="use balls"):
        Fraction(1, 2) * Log(3)
    with pytest.raises(TypeError, match="two logarithms"):
        Log(2) * Log(3)
    with pytest.raises(TypeError, match="use balls"):
        Log(2) + 1
    with pytest.raises(OverflowError, match="bits"):
        10**12 * Log(3)
    with pytest.raises(ValueError, match="not rational"):
        exp(Fraction(1, 2))
    assert Log(5) - Log(5) == 0
    assert float(Log(2)) == pytest.approx(np.log(2), rel=1e-15)


# The functions


@pytest.mark.parametrize(
    "family",
    [
        l1.Exponentials((Fraction(1, 3), 1, 2)),
        l1.Exponentials(HALVES, shift=2),
        l1.Powers((2, 3, 5)),
        l1.Powers((Fraction(3, 2), 2, Fraction(5, 2)), scale=3),
    ],
)
def test_values_balls_and_tails_agree(family):
    times = range(family.first, family.first + 20)
    values = family.values(times)
    balls = np.array([[float(f) for f in row] for row in family.balls(times)])
    assert values == pytest.approx(balls, rel=1e-13)  # a few roundings of exp, log and power
    tails = [np.array([float(f) for f in family.tails(start)]) for start in times]
    for row, here, after in zip(values, tails, tails[1:], strict=False):
        assert here - after == pytest.approx(row, rel=1e-9, abs=1e-14)  # cancellation in float64
    assert all(f < 1e-3 for f in family.tails(10**9))


def test_bad_exponents_are_named():
    with pytest.raises(ValueError, match="above 0"):
        l1.Exponentials((1, 0))
    with pytest.raises(ValueError, match="above 0"):
        l1.Exponentials((1, -1))
    with pytest.raises(ValueError, match="above 0"):
        l1.Exponentials(())
    with pytest.raises(ValueError, match="distinct"):
        l1.Exponentials((1, Fraction(1, 2), 1.0))
    with pytest.raises(ValueError, match="distinct"):
        l1.Exponentials((Log(4), Log(2), Log(4)))
    with pytest.raises(ValueError, match="above 1"):
        l1.Powers((1, 2))
    with pytest.raises(ValueError, match="scale"):
        l1.Powers((2,), scale=0)
    for ask in (l1.Powers((2,)).values, l1.Powers((2,)).balls):
        with pytest.raises(ValueError, match="defined from t = 1 on, got t = 0"):
            ask([0, 1])
    with pytest.raises((ValueError, OverflowError)):
        l1.Exponentials((float("nan"),))
    with pytest.raises((ValueError, OverflowError)):
        l1.Exponentials((float("inf"),))


def test_bad_kernels_and_windows_are_named():
    with pytest.raises(ValueError, match="integer T >= 0"):
        l1.indicator(-1)
    with pytest.raises(ValueError, match="integer T >= 0"):
        l1.indicator(1.5)  # pyright: ignore
    harmonic = l1.Kernel(lambda t: 1 / flint.arb(t), lambda start: flint.arb("inf"))
    with pytest.raises(ValueError, match="not summable"):
        l1.best(harmonic, l1.Powers((2, 3)), window=10)
    with pytest.raises(ValueError, match="more times than functions"):
        l1.best(l1.indicator(1), l1.Exponentials(HALVES), window=5)
    with pytest.raises(ValueError, match="vanishes on the whole window"):
        l1.best(l1.indicator(30), l1.Exponentials(HALVES), window=20)
    for cap in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="positive and finite"):
            l1.capped([(np.ones((2, 1)), np.ones(2))], cap)


def test_a_program_that_is_given_up_is_an_error(monkeypatch):
    class Lost:
        x, message = None, "lost"

    for module in (l1, vertices):
        monkeypatch.setattr(module, "linprog", lambda *_, **__: Lost())
    for ask in (
        lambda: l1.best(l1.indicator(1), l1.Exponentials(HALVES[:2]), window=9),
        lambda: l1.best_for_all([(l1.indicator(1), l1.Exponentials(HALVES[:2]))], window=9),
        lambda: l1.capped([(np.ones((2, 1)), np.ones(2))], 1.0),
    ):
        with pytest.raises(l1.NotConverged, match="lost"):
            ask()


# The optimum


@pytest.mark.parametrize(("base", "error"), [(4, Fraction(1, 3)), (3, Fraction(1, 2)), (2, 1)])
def test_one_exponential_against_the_closed_form(base, error):
    """|1 - a| + |a| u / (1 - u) is least at a = 1 if u < 1/2, and at a = 0 with error 1 beyond."""
    best = l1.best(l1.indicator(0), l1.Exponentials((Log(base),)), window=40)
    assert best.floor == pytest.approx(float(error), rel=1e-12)  # beyond the window: 2^-40
    assert best.error == pytest.approx(float(error), rel=1e-12)


def brute_force(T, bases, window):
    """Of 0 and all phi that interpolate at H times of the window, the least error; in rationals."""
    u, H = [Fraction(1, base) for base in bases], len(bases)
    best = 1.0  # phi = 0
    for times in itertools.combinations(range(window), H):
        matrix = flint.fmpq_mat([[flint.fmpq(1, base) ** t for base in bases] for t in times])
        right = flint.fmpq_mat([[flint.fmpq(int(t == T))] for t in times])
        solved = [Fraction(int(x.p), int(x.q)) for x in matrix.solve(right).entries()]
        phi = [sum(a * x**t for a, x in zip(solved, u, strict=True)) for t in range(200)]
        error = float(sum(abs(p - (t == T)) for t, p in enumerate(phi)))
        best = min(best, error)
    return best


@pytest.mark.parametrize(
    ("T", "bases"), [(1, (2, 4)), (1, (3, 7)), (1, (2, 5, 9)), (2, (3, 9, 27)), (2, (2, 4, 9))]
)
def test_exponentials_against_all_interpolants(T, bases):
    best = l1.best(l1.indicator(T), l1.Exponentials(tuple(map(Log, bases))), window=60)
    brute = brute_force(T, bases, 9)
    assert best.floor <= brute * (1 + 1e-12)  # float64 sums of the brute force
    assert best.error == pytest.approx(brute, rel=1e-12)


def plain_program(columns, values):
    """min ||values - columns a||_1 over all a, in the functions as they are.

    The solver takes entries below 1e-9 for zero, so that the error is computed from a.
    """
    R, H = columns.shape
    A = np.block([[columns, -np.eye(R)], [-columns, -np.eye(R)]])
    found = linprog(
        np.r_[np.zeros(H), np.ones(R)],
        A_ub=A,
        b_ub=np.r_[values, -values],
        bounds=[(None, None)] * H + [(0, None)] * R,
    )
    return np.abs(values - columns @ found.x[:H]).sum()


@pytest.mark.parametrize("H", [1, 2, 3, 4])
def test_powers_against_the_plain_program_on_a_long_window(H):
    """Rough kernel, few functions of fast decay: float64 is enough for the program as it stands."""
    signs = np.random.default_rng(H).choice([-1, 1], 5000)

    def value(t):
        return flint.arb(int(signs[t - 1])) / flint.arb(t) ** 3

    kernel = l1.Kernel(value, lambda start: flint.arb(3).zeta(flint.arb(start)))
    family = l1.Powers(tuple(4 + h for h in range(H)))
    best = l1.best(kernel, family, window=400)
    times = np.arange(1, 401)
    plain = plain_program(family.values(times), signs[:400] / times**3.0)
    tail = float(kernel.beyond(401))
    assert plain - 1e-9 <= best.error <= plain + 3 * tail  # the solver's tolerance
    assert best.error - 3 * tail <= best.floor <= plain + tail


def test_far_below_float64_the_bounds_still_meet():
    family = l1.Exponentials(tuple(Fraction(3, 2) * h for h in range(1, 13)))
    best = l1.best(l1.indicator(1), family, window=60)
    assert 0 < best.floor < 1e-30
    assert best.error <= best.floor * (1 + 1e-12)


def test_too_few_exponentials_leave_exactly_one():
    best = l1.best(l1.indicator(4), l1.Exponentials(HALVES[:4]), window=80)
    assert best.lower.lower() >= 1 - flint.arb(2) ** -60
    assert best.error == 1
    assert all(alpha == 0 for alpha in best.coefficients)


def test_the_error_of_given_coefficients_is_enclosed():
    """1/2^t against the indicator of 0: the sum of 2^-t over t >= 1 is 1."""
    found = l1.l1_error(l1.indicator(0), l1.Exponentials((Log(2),)), [1], window=10)
    assert found.contains(1)
    assert found.rad() < 1e-10
    doubled = l1.l1_error(l1.indicator(0), l1.Exponentials((Log(2), Log(3))), [1, 1], window=60)
    assert doubled.contains(flint.arb(1) + 1 + flint.arb(1) / 2)  # no zero at all: the crude tail


def test_the_optimum_vanishes_where_it_meets_a_kernel_that_does(monkeypatch):
    """And nowhere else: a zero that is none would bound the tail from the wrong side."""
    told, plain = [], l1.l1_error

    def watched(*given, zeros, **window):
        told.append(list(zeros))
        return plain(*given, zeros=zeros, **window)

    monkeypatch.setattr(l1, "l1_error", watched)
    here = {2: 1, 3: -1, 5: 1}
    kernel = l1.Kernel(
        lambda t: flint.arb(here.get(t, 0)), lambda start: flint.arb(3 if start <= 5 else 0)
    )
    found = l1.best(kernel, l1.Exponentials(HALVES), window=40)
    met = {kernel(t) != 0 for t in found.times}
    assert met == {True, False}
    assert told == [[t for t in found.times if t not in here]]


def test_zeros_that_balls_cannot_see_are_counted():
    """8^-t - 6 4^-t + 8 2^-t = 2^-t (x - 2)(x - 4), x = 2^-t: no zero for t > 0; moved by 3: two."""
    family = l1.Exponentials((Log(2), Log(4), Log(8)))
    alpha = [8, -6 * 8, 64]  # in y = 8 x: y (y - 2)(y - 4) / 8 up to a factor: zeros at t = 1, 2
    with flint.ctx.workprec(64):
        sharp = l1.l1_error(l1.indicator(9), family, alpha, window=12, zeros=[1, 2])
    exact = sum(
        abs(Fraction(t == 9) - sum(a * Fraction(1, 2**k) ** t for a, k in zip(alpha, (1, 2, 3), strict=True)))
        for t in range(300)
    )  # fmt: skip
    assert float(sharp) == pytest.approx(float(exact), rel=1e-12)


# One set of coefficients for several kernels


def test_shifted_exponentials_are_worst_at_the_largest_shift():
    exponents = tuple(Fraction(h, 2) for h in range(1, 9))
    pairs = [(l1.indicator(B), l1.Exponentials(exponents, shift=B)) for B in (1, 2, 3)]
    both = l1.best_for_all(pairs, window=120)
    alone = l1.best(l1.indicator(3), l1.Exponentials(exponents), window=120)
    assert both.error == pytest.approx(alone.error, rel=1e-6)
    assert both.floor == pytest.approx(alone.error, rel=1e-6)  # the program's tolerance


@pytest.mark.parametrize("H", [2, 4, 5])
def test_scaled_powers_against_the_plain_program(H):
    T, window = 2, 300
    exponents, times = tuple(range(2, 2 + H)), np.arange(1, window + 1)
    pairs = [(l1.indicator(B), l1.Powers(exponents, scale=B)) for B in range(1, T + 1)]
    best = l1.best_for_all(pairs, window=window)
    problems = [(f.values(times), (times == B + 1).astype(float)) for B, (_, f) in enumerate(pairs)]
    plain = l1.capped(problems, 1e5)
    assert best.floor <= best.error
    assert best.floor <= plain.error * (1 + 1e-6) + 0.01  # plain misses what is beyond the window
    assert best.error == pytest.approx(plain.error, abs=0.02)


@pytest.mark.parametrize("window", [20, 60])
def test_one_optimum_for_two_kernels_vanishes_where_it_meets_their_zeros(monkeypatch, window):
    """t^-2, ..., t^-5 for times 1, 2, ... and for their halves: a zero of one is one of the other."""
    pairs = [(l1.indicator(B), l1.Powers((2, 3, 4, 5), scale=B)) for B in (1, 2)]
    chosen, told = [], []
    solve, plain = l1.least_worst, l1.l1_error

    def solved(rows, *given):
        met, *others = solve(rows, *given)
        met = [*met, window]  # the first block beyond: its sum is 0, which tells no zero
        chosen.extend(divmod(i, len(rows) // 2) for i in met)
        return met, *others

    def watched(kernel, family, alpha, *, window, zeros):
        told.append(zeros)
        for time in zeros:
            powers = [ball(family.scale) ** b / ball(time) ** b for b in (2, 3, 4, 5)]
            assert abs(float(sum(a * p for a, p in zip(alpha, powers, strict=True)))) < 1e-20
        return plain(kernel, family, alpha, window=window, zeros=zeros)

    monkeypatch.setattr(l1, "least_worst", solved)
    monkeypatch.setattr(l1, "l1_error", watched)
    l1.best_for_all(pairs, window=window)
    met = [Fraction(i + 1, B + 1) for B, i in chosen if i < window and i != B]  # 1 at t = B + 1
    assert met
    assert told == [met, [2 * time for time in met]]


# Bounded weights


def test_weights_under_a_bound_approach_the_free_optimum():
    family = l1.Exponentials(tuple(Fraction(h, 2) for h in range(1, 7)))
    columns, values = family.values(range(60)), np.eye(60)[2]
    errors = []
    for cap in (1e1, 1e2, 1e3, 1e4, 1e5):
        found = l1.capped([(columns, values)], cap)
        assert found.total <= cap * (1 + 1e-9)  # the solver's tolerance
        assert found.error == pytest.approx(np.abs(values - columns @ found.weights).sum())
        errors.append(found.error)
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(errors))
    free = l1.best(l1.indicator(2), family, window=60)
    assert float(free.weight) < 1e5
    assert errors[-1] == pytest.approx(free.error, rel=1e-5)
    assert errors[0] > 2 * free.error
