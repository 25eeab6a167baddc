"""A power above a constant: recovered, with intervals that hold as often as they say."""

import math

import numpy as np
import pytest

from repro.numerics import plateau

SIZES = np.repeat([1.0, 2, 4, 8, 16, 32, 64], 2)


def test_exact_points_give_back_the_printed_law():
    fit = plateau.fit(SIZES, SIZES**-0.27 + 1.05)
    assert (fit.a, fit.b, fit.c) == pytest.approx((1, 0.27, 1.05), abs=1e-8)  # xatol 1e-10
    assert fit.b_low <= fit.b <= fit.b_high
    assert fit(4.0) == pytest.approx(4**-0.27 + 1.05, abs=1e-8)


@pytest.mark.parametrize("b", [0.27, 0.5, 1.0])
def test_the_interval_holds_about_as_often_as_it_says(b):
    rng, runs = np.random.default_rng(0), 300
    exact, held = 0.5 * SIZES**-b + 1.4, 0
    for _ in range(runs):
        fit = plateau.fit(SIZES, exact + 0.01 * rng.standard_normal(len(SIZES)))
        held += fit.b_low <= b <= fit.b_high
    assert 0.90 <= held / runs <= 0.99  # 0.95 wanted; four standard errors are 0.05


def test_points_that_cannot_tell_say_so():
    rng = np.random.default_rng(0)
    fit = plateau.fit(SIZES, 1 + 0.1 * rng.standard_normal(len(SIZES)))
    assert fit.b_low == 0
    assert fit.b_high == math.inf


@pytest.mark.parametrize("sizes", [[1, 2, 4, 4], [0, 1, 2, 3]])
def test_too_few_or_bad_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="four positive x"):
        plateau.fit(sizes, [1.0, 2.0, 3.0, 4.0])
