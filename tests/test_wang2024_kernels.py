"""Target kernels of wang2024: values, tails, the bounds on what few and enough heads do, bumps."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from scipy.interpolate import BarycentricInterpolator

from repro.numerics import l1
from repro.numerics.logarithms import Log
from repro.wang2024 import kernels as k

VALUES = {
    "e^-t cos t": (k.EXPONENTIAL, lambda t: math.exp(-t) * math.cos(t)),
    "e^-t cos 3t": (k.EXPONENTIAL, lambda t: math.exp(-t) * math.cos(3 * t)),
    "(-1)^t e^-t": (k.EXPONENTIAL, lambda t: (-1) ** t * math.exp(-t)),
    "e^-0.3t cos t": (k.EXPONENTIAL, lambda t: math.exp(-0.3 * t) * math.cos(t)),
    "(1+t)^-2.5": (k.POLYNOMIAL, lambda t: (1 + t) ** -2.5),
    "t^-2.5 cos(log t)": (k.POLYNOMIAL, lambda t: t**-2.5 * math.cos(math.log(t))),
    "(-1)^t t^-4": (k.POLYNOMIAL, lambda t: (-1) ** t * t**-4.0),
}


def test_kernels_decay_as_they_are_said_to():
    betas = {name: float(beta) for table in (k.EXPONENTIAL, k.POLYNOMIAL) for name, (_, beta) in table.items()}  # fmt: skip
    assert betas == {
        "e^-t cos t": 1, "e^-t cos 3t": 1, "(-1)^t e^-t": 1, "e^-0.3t cos t": 0.3, "(1+t)^-2.5": 2.5,
        "t^-2.5 cos(log t)": 2.5, "(-1)^t t^-2.5": 2.5, "(-1)^t t^-4": 4, "+-t^-2.5": 2.5, "(-1)^t t^-1.5": 1.5,
    }  # fmt: skip


def test_a_series_holds_what_it_leaves_out():
    """1 + 1/4 + 1/32 + 1/512 + ...: with 8 bits the first three are summed, exactly."""
    true = sum(Fraction(1, 2 ** (n * (n + 3) // 2)) for n in range(12))
    with flint.ctx.workprec(8):
        found = k._series(flint.arb(1) / 2, lambda _: flint.arb(1), flint.arb(1))
    assert found.lower() <= flint.arb(flint.fmpq(true.numerator, true.denominator)) <= found.upper()
    assert found.rad() < 0.01
    # 2^-20 (1 + 3/4 + 9/32 + 27/512 + ...): all are small, and the second is 3/4 of the first.
    true = sum(Fraction(3**n, 2 ** (20 + n * (n + 3) // 2)) for n in range(12))
    with flint.ctx.workprec(8):
        found = k._series(flint.arb(1) / 2, lambda n: flint.arb(3) ** n / 2**20, flint.arb(3))
    assert found.lower() <= flint.arb(flint.fmpq(true.numerator, true.denominator)) <= found.upper()


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    table, value = VALUES[name]
    for t in (1, 2, 3, 10, 50):
        assert table[name][0](t) == pytest.approx(value(t), rel=1e-12, abs=0)


@pytest.mark.parametrize("name", [*k.EXPONENTIAL, *k.POLYNOMIAL])
def test_tails_bound_the_sum_and_envelopes_hold(name):
    kernel, beta = (k.EXPONENTIAL | k.POLYNOMIAL)[name]
    sums = [sum(abs(kernel.ball(t)) for t in range(start, 400)) for start in (1, 5, 20)]
    for start, total in zip((1, 5, 20), sums, strict=True):
        assert float(kernel.tail(start)) * (1 + 1e-12) >= float(total)
        assert kernel.tail(start) <= 30 * (total + kernel.tail(400))
    for t in (1, 2, 7, 30):
        envelope = math.exp(-beta * t) if name in k.EXPONENTIAL else t ** -float(beta)
        assert abs(kernel(t)) <= envelope * (1 + 1e-12)


def test_each_change_of_a_kernel_by_hand():
    power = k.power(2)
    assert [k.alternating(power)(t) for t in (1, 2, 4)] == [-1, 1 / 4, 1 / 16]
    assert k.cosine(k.exponential(1), 3)(2) == pytest.approx(math.exp(-2) * math.cos(6))
    assert k.log_cosine(power)(3) == pytest.approx(math.cos(math.log(3)) / 9)
    drawn = [np.random.SeedSequence([7, t]).generate_state(1)[0] for t in range(1, 40)]
    signs = [-1 if number % 2 else 1 for number in drawn]
    found = [k.random_signs(power, seed=7)(t) for t in range(1, 40)]
    assert found == pytest.approx([sign / t**2 for t, sign in enumerate(signs, start=1)])
    power = k.alternating(k.power(4))
    assert float(power.tail(3)) == pytest.approx(math.pi**4 / 90 - 1 - 1 / 16, rel=1e-12)
    assert float(k.exponential(1).tail(2)) == pytest.approx(math.exp(-2) / (1 - math.exp(-1)))
    power = k.power(2)
    assert k.later(power)(0) == 1
    assert float(k.later(power).tail(0)) == float(power.tail(1))
    assert k.scaled(power, -3)(2) == -0.75
    assert k.scaled(power, -3).tail(1) > 4


BAD = {
    "a power at 0": (lambda: k.power(2)(0), "from t = 1 on, got t = 0"),
    "a power's tail from 0": (lambda: k.power(2).tail(0), "from t = 1 on"),
    "log 0": (lambda: k.log_cosine(k.exponential(1))(0), "from t = 1 on"),
    "sH = 1": (lambda: k.Interpolation(k.power(2), "log", 2, Fraction(1, 2)), r"sH > 1 \(log\)"),
    "equal exponents": (lambda: k.Interpolation(k.power(2), "lin", 4, 0), r"s > 0 \(lin\)"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_named(what):
    make, message = BAD[what]
    with pytest.raises(ValueError, match=message):
        make()


def test_a_kernel_that_is_not_summable_is_refused_by_every_bound():
    endless = l1.Kernel(lambda t: flint.arb(1), lambda start: flint.arb("inf"))
    for what in ("bound", "error"):
        with pytest.raises(ValueError, match="not summable"):
            getattr(k.Interpolation(endless, "lin", 4, 1), what)()


def coefficients(phi):
    """Of an interpolant, from the linear system, at any precision: a second way to phi."""
    times = range(phi.family.first, phi.family.first + phi.heads)
    rows = flint.arb_mat(phi.family.balls(times))
    return rows.solve(flint.arb_mat([[phi.kernel.ball(t)] for t in times])).entries()


@pytest.mark.parametrize(
    ("rpe", "heads", "step"), [("lin", 5, Log(2)), ("lin", 9, 1), ("log", 3, 2), ("log", 5, 2)]
)
@pytest.mark.parametrize("name", ["(1+t)^-2.5", "(-1)^t t^-4"])
def test_the_error_of_an_interpolant_agrees_with_the_l1_error_of_its_coefficients(
    name, rpe, heads, step
):
    kernel = k.POLYNOMIAL[name][0]
    phi = k.Interpolation(k.later(kernel) if rpe == "lin" else kernel, rpe, heads, step)
    with flint.ctx.workprec(2000):
        other = l1.l1_error(phi.kernel, phi.family, coefficients(phi), window=1200)
    rest = float(phi.kernel.tail(1000))
    assert float(phi.error()) == pytest.approx(float(other.lower()), rel=1e-6, abs=rest)
    assert phi.error() <= phi.bound()


def test_the_error_of_two_slow_heads_by_hand():
    """q = e^-1/100: far beyond the 200 times that are added up phi is bounded, term by term."""
    q, first = math.exp(-0.01), math.exp(-1)
    w = 1 / (1 - q), first / (q * (q - 1))
    x = q ** np.arange(2, 202)
    phi = x * (w[0] * (x - q) + w[1] * (x - 1))
    inside = np.abs(np.exp(-np.arange(2.0, 202.0)) - phi).sum()
    beyond = (abs(w[0]) * q + abs(w[1])) * q**202 / (1 - q)
    found = k.Interpolation(k.exponential(1), "lin", 2, Fraction(1, 100)).error()
    assert float(found) == pytest.approx(inside + beyond, rel=1e-9)
    assert beyond > inside / 100


@pytest.mark.parametrize("H", [1, 2, 5, 20])
def test_closed_bounds_cover_the_bounds_of_all_interpolants(H):
    for beta, step in itertools.product((Fraction(1, 10), 1), (Log(2), Log(16))):
        ours = k.Interpolation(k.exponential(beta), "lin", H, step).bound()
        closed = k.exponential_bound(beta, H, step)
        assert float(ours) <= float(closed) * (1 + 1e-12)
        assert H < 5 or float(closed) <= 1.01 * float(ours)  # all that was added is k >= H
    for beta, step in itertools.product((Fraction(3, 2), 4), (1, 3)):
        if H >= 2:
            ours = k.Interpolation(k.power(beta), "log", H, step).bound()
            assert ours <= k.power_bound(beta, H, step)


def test_the_closed_bound_for_powers_is_its_formula():
    """sum_k q^(k(k+3)/2) (1+k)^beta / ((2s - 1) (q; q)^2) and 1 / (beta - 1), times H^(1-beta)."""
    q, beta, H, s = math.exp(-2), 2.5, 7, 2
    euler = math.prod(1 - q**i for i in range(1, 40))
    series = sum(q ** (i * (i + 3) / 2) * (1 + i) ** beta for i in range(12))
    by_hand = (1 / (beta - 1) + series / ((2 * s - 1) * euler**2)) * H ** (1 - beta)
    assert float(k.power_bound("5/2", H, s)) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_errors_of_bumps_are_those_of_polynomials_through_chebyshevs_points(rpe):
    kernel = k.later(k.power(3))
    bumps = k.Bumps(kernel, rpe, Fraction(1, 3), Fraction(1, 4), first=1)
    t = np.arange(rpe == "log", 30)
    x, scale = (np.exp(-t / 3), np.exp(t / 4)) if rpe == "lin" else (t ** (-1 / 3), t**1.25)
    stated = []
    for m in (4, 9):
        nodes = (1 + np.cos((2 * np.arange(m) + 1) * np.pi / (2 * m))) / 2
        through = BarycentricInterpolator(nodes, bumps(nodes))
        stated.append(np.abs(through(x) / scale - (1.0 + t) ** -3).sum())
    assert bumps.errors([4, 9], 30) == pytest.approx(stated, rel=1e-9)


def test_the_floor_of_an_alternating_kernel_is_below_every_optimum():
    """Random exponents, both kinds."""
    rng, kernel = np.random.default_rng(5), k.alternating(k.power(3))
    for H in (1, 2, 4):
        exponents = tuple(Fraction(int(b), 8) for b in rng.choice(range(9, 60), H, replace=False))
        lin = l1.best(k.later(kernel), l1.Exponentials(exponents), window=60)
        log = l1.best(kernel, l1.Powers(exponents), window=60)
        floor = k.alternating_floor(kernel, H, first=1)
        assert floor <= lin.lower
        assert floor <= log.lower
        assert float(floor) == pytest.approx(float(flint.arb(3).zeta(flint.arb(H + 1))))


def test_bounded_weights_floor_is_the_best_of_its_starts():
    kernel = k.later(k.power(2))

    def by_hand(start):
        return float(kernel.tail(start)) - 5 * math.exp(-start / 2) / (1 - math.exp(-0.5))

    floor = float(k.bounded_weights_floor(kernel, "1/2", 5))
    assert floor == pytest.approx(max(map(by_hand, range(60))))
    assert floor > 0
    nothing = k.bounded_weights_floor(kernel, "1/2", 0)
    assert float(nothing) == pytest.approx(math.pi**2 / 6)
    zero = l1.Kernel(lambda t: flint.arb(0), lambda start: flint.arb(0))
    assert k.bounded_weights_floor(zero, "1/2", 0) == 0


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_bumps_are_rho_at_the_integers_and_vanish_between(rpe):
    kernel = k.alternating(k.later(k.power(3)))
    bumps = k.Bumps(kernel, rpe, Fraction(1, 3), Fraction(1, 4), first=1 if rpe == "log" else 0)
    for t in range(bumps.first, 12):
        assert float(bumps.ball(t)) == pytest.approx(kernel(t), rel=1e-12)
        x = float(bumps.centre(t))
        height = float(bumps.scale(t)) * kernel(t)
        assert bumps(np.array([x]))[0] == pytest.approx(height, rel=1e-12)
        half = (x - float(bumps.centre(t + 1))) / 2
        assert bumps(np.array([x - half * 0.999, x - half]))[1] == 0
        quarter = bumps(np.array([x - half / 2]))[0]
        assert quarter == pytest.approx(height * math.exp(1 - 1 / (1 - 0.25)), rel=1e-9)
        for side in (-half / 2, half / 2):
            in_balls = float(bumps._bump(t, flint.arb(x + side)))
            assert in_balls == pytest.approx(height * math.exp(1 - 1 / (1 - 0.25)), rel=1e-9)


def test_the_printed_bumps_vanish_at_zero_only():
    kernel = k.cosine(k.exponential(1), 1)
    printed = k.Bumps(kernel, "lin", Fraction(1, 200), Fraction(1, 100))
    assert printed.ball(0) == 0
    assert all(float(printed.ball(t)) == pytest.approx(kernel(t)) for t in range(1, 5))
