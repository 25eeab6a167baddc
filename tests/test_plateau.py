"""A power above a constant: recovered, with intervals that hold as often as they say."""

import math

import numpy as np
import pytest

from repro.numerics import plateau

SIZES = np.repeat([1.0, 2, 4, 8, 16, 32, 64], 2)


def test_exact_points_give_back_the_printed_law():
    fit = plateau.fit(SIZES, SIZES**-0.27 + 1.05)
    assert (fit.a, fit.b, fit.c) == pytest.approx((1, 0.27, 1.05), abs=1e-8)  # xatol 1e-10
    assert fit.b_low == fit.b == fit.b_high  # no other exponent of the grid is left
    assert fit.c_low == pytest.approx(fit.c, rel=1e-14)
    assert fit.c_high == pytest.approx(fit.c, rel=1e-14)
    assert fit.deviation < 1e-8
    assert fit(4.0) == pytest.approx(4**-0.27 + 1.05, abs=1e-8)


@pytest.mark.parametrize("b", [0.27, 0.5, 1.0])
def test_the_interval_holds_about_as_often_as_it_says(b):
    rng, runs = np.random.default_rng(0), 300
    exact, held = 0.5 * SIZES**-b + 1.4, 0
    for _ in range(runs):
        fit = plateau.fit(SIZES, exact + 0.01 * rng.standard_normal(len(SIZES)))
        held += fit.b_low <= b <= fit.b_high
    assert 0.90 <= held / runs <= 0.99  # 0.95 wanted; four standard errors are 0.05


@pytest.mark.parametrize("b", [0.268, 0.27, 0.272, 0.274, 0.276, 0.278, 0.5, 2.0])
def test_the_exponent_is_found_on_either_side_of_the_grid(b):
    assert plateau.fit(SIZES, 3 * SIZES**-b - 1).b == pytest.approx(b, rel=1e-7)


def by_least_squares(b, y):
    """RSS, a, c for one exponent, by another routine."""
    columns = np.stack([SIZES**-b, np.ones(len(SIZES))], axis=1)
    (a, c), (rest,), *_ = np.linalg.lstsq(columns, y)
    return rest, a, c


@pytest.mark.parametrize(("confidence", "quantile"), [(0.95, 4.8443), (0.9, 3.2252)])
def test_the_interval_is_what_the_f_test_leaves(confidence, quantile):
    """Quantiles of F(1, 11) from a printed table; a grid of exponents that is 1.7 % wide."""
    y = 0.5 * SIZES**-0.7 + 1.4 + 0.02 * np.random.default_rng(3).standard_normal(len(SIZES))
    fit = plateau.fit(SIZES, y, confidence)
    rest, a, c = by_least_squares(fit.b, y)
    assert (fit.a, fit.c) == pytest.approx((a, c), rel=1e-9)
    assert fit.deviation == pytest.approx(math.sqrt(rest / 11), rel=1e-9)
    assert all(by_least_squares(fit.b * near, y)[0] >= rest for near in (0.99, 1.01))
    for inner, outer in [(fit.b_low, fit.b_low / 1.018), (fit.b_high, fit.b_high * 1.018)]:
        allowed = rest * (1 + quantile / 11)
        assert by_least_squares(inner, y)[0] <= allowed < by_least_squares(outer, y)[0]
    levels = sorted(by_least_squares(b, y)[2] for b in (fit.b_low, fit.b_high))
    assert (fit.c_low, fit.c_high) == pytest.approx(levels, rel=1e-9)
    assert fit.c_low < fit.c < fit.c_high


@pytest.mark.parametrize(
    ("y", "ends"),
    [(5 - np.log(SIZES), (0, 0.3)), (np.where(SIZES == 1, 2.0, 1.0), (3, math.inf))],
    ids=["logarithm", "first point"],
)
def test_the_limits_of_the_model_are_ends_of_the_interval(y, ends):
    fit = plateau.fit(SIZES, y + 0.01 * np.random.default_rng(1).standard_normal(len(SIZES)))
    low, high = ends
    assert (fit.b_low == 0) == (low == 0)
    assert (fit.b_high == math.inf) == (high == math.inf)
    assert low <= fit.b_low <= fit.b <= fit.b_high <= high


def test_constants_and_few_sizes():
    fit = plateau.fit([1, 2, 4, 8], [2.0, 1.5, 1.3, 1.1])
    assert fit.a * 4**-fit.b + fit.c == pytest.approx(1.3, abs=0.1)
    # a = 0 fits it exactly, whatever b is.
    fit = plateau.fit(SIZES, 0 * SIZES)
    assert (fit.b_low, fit.b_high) == (0, math.inf)
    assert (fit.a, fit.c, fit.c_low, fit.c_high, fit.deviation) == (0, 0, 0, 0, 0)
    fit = plateau.Plateau(3.0, 2.0, -1.0, *[0.0] * 5)
    assert fit([1.0, 2.0]).tolist() == [2.0, -0.25]


@pytest.mark.parametrize(
    "y",
    [[-5, -1, -2, -3, -4, -5, -6], [0, 21, -111, 134, 75, -134, -67, 83]],
    ids=["left", "right"],
)
def test_of_several_valleys_the_deepest_is_taken(y):
    """The residual is least for b -> 0, and again for b -> infinity; and at 0.3, at 1.1 and at 3."""
    x = 2.0 ** np.arange(len(y))
    fit = plateau.fit(x, y)
    for b in np.geomspace(0.01, 25, 100):
        _, (rest,), *_ = np.linalg.lstsq(np.stack([x**-b, np.ones(len(x))], axis=1), np.array(y))
        assert fit.deviation**2 * (len(y) - 3) <= rest * (1 + 1e-9)
