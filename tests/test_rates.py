"""The slope test must find exponents, reject their neighbours, and never pass on bad points."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from repro.numerics.rates import FLOOR_FACTOR, slope, slope_of_means

OCTAVES = 2.0 ** np.arange(6)  # the clean case of the design: 6 points over 5 octaves
LONG = 2.0 ** np.arange(16)
SEEDS = 400


def nominal_less_three_standard_errors(nominal, seeds=SEEDS):
    return nominal - 3 * math.sqrt(nominal * (1 - nominal) / seeds)


def noisy(rng, x, sigma=0.1, a=0.0):
    return x**-1.5 * (1 + a / x) * np.exp(sigma * rng.normal(size=len(x)))


# Clean laws.


@pytest.mark.parametrize("p", [-3, -1.5, -1, -0.5, -0.25, 0, 0.5, 1, 2, 3])
def test_an_exact_law_is_recovered_and_its_neighbours_are_rejected(p):
    rate = slope(OCTAVES, 7 * OCTAVES**p)
    assert rate.slope == pytest.approx(p, abs=1e-13)
    assert rate.contains(p)
    assert rate.high - rate.low < 1e-11
    for neighbour in (p - 0.5, p + 0.5):
        assert not rate.contains(neighbour)


def test_the_ends_belong_to_the_interval_and_nan_to_none():
    rate = slope(OCTAVES, 1 / OCTAVES, bias=0.25)
    assert rate.contains(-1.2)
    assert rate.contains(-0.8)
    assert not rate.contains(-1.3)
    assert not rate.contains(-0.7)
    assert not rate.contains(math.nan)
    rate = dataclasses.replace(slope(OCTAVES, 1 / OCTAVES), low=-1.5, high=0.5)
    assert rate.half == 1.0
    for end in (-1.5, 0.5):
        assert rate.contains(end)


@pytest.mark.parametrize("p", [-1.5, 2.0])
def test_an_exact_law_is_known_up_to_the_rounding_of_its_sums(p):
    """n terms, each of a v and of a b u that are rounded once; all logarithms are multiples."""
    log, k = math.log(2), np.arange(6)
    w = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]) / 17.5 / log
    rounding = 6 * 2.0**-52 * (1 + np.abs(p * k + 3) * log + abs(p) * k * log)
    known = pytest.approx(np.abs(w) @ rounding, rel=1e-6, abs=0)
    assert slope(OCTAVES, 8 * OCTAVES**p).error == known


# Means over draws.


def test_sampling_is_allowed_for_by_two_standard_errors_of_its_influence():
    x = LONG[:7]
    draws = x**-1.5 * (1 + 0.3 * np.random.default_rng(0).uniform(-1, 1, (9, 7)))
    for within in ((0.0, math.inf), (2.0, 32.0)):
        rate = slope_of_means(x, draws, bias=0.125, within=within, confidence=0.9)
        used = (within[0] <= x) & (x <= within[1])
        relative = (draws / draws.mean(0))[:, used]
        influence = [np.polyfit(np.log(x[used]), row, 1)[0] for row in relative]
        plain = slope(x, draws.mean(0), within=within, confidence=0.9)
        assert rate.bias == pytest.approx(0.125 + 2 * np.std(influence, ddof=1) / 3)
        assert (rate.slope, rate.noise) == (plain.slope, plain.noise)
    assert slope_of_means(x, [x**-1.0, x**-1.0]).bias == pytest.approx(0, abs=1e-15)


# What the interval must cover, and what it must not.


@pytest.mark.parametrize("n", [4, 6, 10])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_noisy_laws_are_covered_at_least_as_often_as_stated(n, confidence):
    x = LONG[:n]
    least = nominal_less_three_standard_errors(confidence)  # 0.917 for 0.95 and 400 seeds
    rates = [
        slope(x, noisy(np.random.default_rng(seed), x), confidence=confidence)
        for seed in range(SEEDS)
    ]
    assert np.mean([rate.contains(-1.5) for rate in rates]) >= least
    too_narrow = [abs(rate.slope + 1.5) <= rate.noise / 2 for rate in rates]
    assert np.mean(too_narrow) < least, "half of the noise term would pass too"


def test_noise_that_is_correlated_along_the_curve_is_covered_less_often():
    """0.87 stands in the head of rates.py; three standard errors of 400 seeds are 0.05."""
    x = LONG[:10]
    found = []
    for seed in range(SEEDS):
        new = 0.1 * np.random.default_rng(seed).standard_normal(len(x) + 20)
        errors = [0.0]
        for one in new:
            errors.append(0.8 * errors[-1] + one)
        rate = slope(x, x**-1.5 * np.exp(errors[-len(x) :]), confidence=0.95)
        found.append(rate.contains(-1.5))
    assert np.mean(found) == pytest.approx(0.87, abs=0.05)


@pytest.mark.parametrize("n", [4, 5, 10])
def test_the_noise_term_is_the_textbook_interval(n):
    y = noisy(np.random.default_rng(n), LONG[:n])
    (b, _), covariance = np.polyfit(np.log(LONG[:n]), np.log(y), 1, cov=True)
    rate = slope(LONG[:n], y, confidence=0.9)
    assert rate.slope == pytest.approx(b)
    assert rate.noise == pytest.approx(stats.t.ppf(0.95, n - 2) * math.sqrt(covariance[0, 0]))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    steps=st.lists(st.floats(0.1, 1.5), min_size=3, max_size=11).filter(lambda s: sum(s) > 1.4),
    a=st.floats(-0.99, 1.0),
    q=st.sampled_from([0.5, 1.0, 2.0]),
    toward_zero=st.booleans(),
)
@example(steps=[0.1, 0.1, 0.1, 1.5, 1.5], a=1.0, q=0.5, toward_zero=True)
@example(steps=[0.1, 0.1, 0.1, 1.5, 1.5], a=1.0, q=0.5, toward_zero=False)
@example(steps=[1.5, 1.5, 0.1, 0.1, 0.1], a=1.0, q=0.5, toward_zero=True)
@example(steps=[1.5, 1.5, 0.1, 0.1, 0.1], a=1.0, q=0.5, toward_zero=False)
def test_the_drift_covers_corrections_up_to_the_law_itself_at_any_spacing(steps, a, q, toward_zero):
    x = np.exp(np.cumsum([0, *steps]))
    y = x**-1.5 * (1 + a * x**-q)
    rate = slope(1 / x if toward_zero else x, y, correction=q)
    assert abs(rate.slope - (1.5 if toward_zero else -1.5)) <= rate.drift * (1 + 1e-9) + rate.error


@pytest.mark.parametrize(
    ("v", "w", "change"),
    [
        ([0, -1, -2.5, -4.5], [-0.3, -0.1, 0.1, 0.3], [1, -1, -1, 1]),
        ([0, -1, -2.5, -4.5, -5], [-0.2, -0.1, 0, 0.1, 0.2], [0.5, 0, -1, 0, 0.5]),
    ],
    ids=["even", "odd"],
)
def test_the_drift_by_hand(v, w, change):
    """x = 1, e, e^2, ...: slope w.v, half-to-half change of slope d.v; g = log(1 + e^-2u) at a head."""
    u = np.arange(len(v))
    heads = [np.log1p(np.exp(-2.0 * (u - u[0]))), np.log1p(np.exp(2.0 * (u - u[-1])))]
    miss = max(abs(np.dot(w, g) / np.dot(change, g)) for g in heads)
    found = slope(np.exp(u), np.exp(v), correction=2.0).drift
    assert found == pytest.approx(abs(np.dot(change, v)) * miss)


def test_corrections_as_large_as_promised_and_larger():
    rate = slope(OCTAVES, OCTAVES**-1.5 * (1 + 0.5 / OCTAVES))
    assert rate.contains(-1.5)
    assert not rate.contains(-1)
    assert not rate.contains(-2)
    rate = slope(OCTAVES, OCTAVES**-1.5 * (1 + 100 / OCTAVES))
    assert not rate.contains(-1.5)
    assert rate.contains(-2.5)
    slow = OCTAVES**-1.5 * (1 + OCTAVES**-0.5)
    assert not slope(OCTAVES, slow).contains(-1.5)
    assert slope(OCTAVES, slow, correction=0.5).contains(-1.5)


def test_a_logarithm_is_no_power_and_needs_a_bias():
    x = LONG[4:13]
    assert not slope(x, 1 / np.log(x)).contains(-0.5)
    assert not slope(x, 1 / np.log(x)).contains(0)
    y = np.log(x) / x
    bias = abs(slope(x, np.log(x)).slope)
    assert bias == pytest.approx(0.19, abs=0.01)
    assert not slope(x, y).contains(-1)
    assert slope(x, y, bias=bias).contains(-1)
    assert not slope(x, y, bias=bias).contains(-0.5)
    assert slope(x, y, bias=bias).high == pytest.approx(slope(x, y).high + bias)


# Floors and windows.


@pytest.mark.parametrize("floor", [1e-6, np.full(16, 1e-6)], ids=["one", "each"])
@pytest.mark.parametrize("x", [LONG, 1 / LONG], ids=["x to infinity", "x to zero"])
def test_a_sweep_stops_where_it_reaches_the_floor(x, floor):
    sign = -1 if x is LONG else 1
    y = LONG**-2 + 1e-6
    rate = slope(x, y, floor=floor)
    assert rate.contains(2 * sign)
    assert rate.slope == pytest.approx(2 * sign, abs=0.01)
    assert rate.used == tuple(range(16) < np.full(16, sum(rate.used)))
    assert min(np.array(y)[list(rate.used)]) > FLOOR_FACTOR * 1e-6
    assert "times the floor, from x=" in rate.reason
    assert abs(slope(x, y).slope - 2 * sign) > 0.5, "without the floor it is not wrong"


def test_the_two_ends_tell_in_which_direction_a_curve_falls():
    """The last point is the highest: the curve falls towards x = 1, whatever is in between."""
    y = np.array([1e-9, 0.5, 0.4, 0.3, 2.0])
    assert slope(LONG[:5], y, floor=1e-9).used == (False,) + (True,) * 4
    assert slope(LONG[:5], y[::-1], floor=1e-9).used == (True,) * 4 + (False,)
    y = np.array([0.5, 0.4, 0.3, 1e-9, 2.0])
    with pytest.raises(ValueError, match="1 of 5"):
        slope(LONG[:5], y, floor=1e-9)


def test_nothing_after_the_first_point_at_the_floor_comes_back():
    y = OCTAVES**-1.0
    y[4] = 1e-9  # a dip at the floor; the point after it is high again, by luck
    rate = slope(OCTAVES, y, floor=1e-9)
    assert rate.used == (True,) * 4 + (False,) * 2
    assert "2 dropped within 10 times the floor, from x=16 on (y=1e-09, floor 1e-09)" in rate.reason
    assert slope(OCTAVES, y, floor=1e-10 * 0.999).used == (True,) * 6
    y[4] = FLOOR_FACTOR * 1e-9
    assert slope(OCTAVES, y, floor=1e-9).used == (True,) * 4 + (False,) * 2


def test_points_outside_the_window_neither_end_the_sweep_nor_are_counted_twice():
    x, y = LONG[:9], LONG[:9] ** -1.0
    y[[1, 7, 8]] = 1e-9
    rate = slope(x, y, floor=1e-9, within=(4, 128))
    assert rate.used == (False,) * 2 + (True,) * 5 + (False,) * 2
    assert rate.reason.startswith("3 dropped outside 4 <= x <= 128; 1 dropped within 10 times the ")


def test_a_floor_of_each_point_is_its_own():
    floor = np.zeros(6)
    floor[5] = OCTAVES[5] ** -1 / 9
    assert slope(OCTAVES, 1 / OCTAVES, floor=floor).used == (True,) * 5 + (False,)
    assert slope(OCTAVES[::-1], 1 / OCTAVES[::-1], floor=floor[::-1]).used == (False,) + (True,) * 5


def test_the_floor_above_which_points_stay_widens_the_interval_by_its_worst_case():
    floor = 0.9 / FLOOR_FACTOR / OCTAVES
    worst = 1 / OCTAVES + floor * np.where(OCTAVES < 5, 1, -1)  # each off by its floor
    assert not slope(OCTAVES, worst).contains(-1)
    assert slope(OCTAVES, worst, floor=floor).contains(-1)
    clean = slope(OCTAVES, 1 / OCTAVES, floor=floor)
    assert clean.error == pytest.approx(-math.log(0.91) * 9 / 17.5 / math.log(2))


# Errors: what cannot have a slope raises, and says why.


@pytest.mark.parametrize("bad", [math.nan, 0.0, -1e-3, math.inf, -math.inf])
def test_a_value_that_has_no_logarithm_is_refused(bad):
    y = 1 / OCTAVES
    y[4] = bad
    for x in (OCTAVES, y):
        with pytest.raises(ValueError, match="positive finite numbers"):
            slope(x, y)


LAW = (OCTAVES, 1 / OCTAVES)
BAD = [
    (([1, 2, 4, 4, 8], [8, 4, 2, 2, 1]), {}, "each x once"),
    # too few points or octaves: how many were left, and why
    (LAW, {"floor": 0.02}, r"needs 4 points .*: 3 of 6 over 2 octaves left; 3 dropped within 10 "
     r"times the floor, from x=8 on \(y=0\.12, floor 0\.02\)"),
    (([2, 3, 4, 6], [6, 4, 3, 2]), {}, r"over 2 octaves .*: 4 of 4 over 1\.58 octaves left; no "),
    (LAW, {"within": (9, 1)}, r"0 of 6 over 0 octaves left; 6 dropped outside 9 <= x <= "),
]  # fmt: skip


@pytest.mark.parametrize(("points", "options", "message"), BAD)
def test_points_and_options_that_make_no_sense_are_refused(points, options, message):
    with pytest.raises(ValueError, match=message):
        slope(*points, **options)


def test_from_3_to_12_are_two_octaves_in_floating_point_as_well():
    for start in range(1, 200):
        assert slope(start * np.array([1.0, 2, 3, 4]), [4, 3, 2, 1]).octaves == 2


# Invariance, and the record.

curves = st.lists(st.floats(-2, 2), min_size=6, max_size=12)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(curves, st.floats(1e-6, 1e6), st.floats(1e-80, 1e80))
def test_units_of_x_and_y_do_not_matter(bumps, a, c):
    x = LONG[: len(bumps)]
    y = x**-1.5 * np.exp(bumps)
    one, other = slope(x, y, floor=1e-5), slope(a * x, c * y, floor=c * 1e-5)
    assert one.used == other.used
    for part in ("slope", "low", "high", "noise", "drift", "octaves"):
        assert getattr(one, part) == pytest.approx(getattr(other, part), rel=1e-9, abs=1e-9), part


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(curves, st.randoms(use_true_random=False))
def test_the_order_of_the_points_does_not_matter(bumps, random):
    x = LONG[: len(bumps)]
    y = x**-1.5 * np.exp(bumps)
    order = random.sample(range(len(x)), len(x))
    one, other = slope(x, y, floor=1e-5), slope(x[order], y[order], floor=1e-5)
    assert other.used == tuple(one.used[i] for i in order)
    assert dataclasses.replace(other, used=one.used) == one
