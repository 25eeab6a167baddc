"""Lemma F.5: the functions are in the class, and the bounds enclose the best errors."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.numerics import minimax
from repro.numerics.exact import vector
from repro.wang2024 import jackson


def derivatives(member, x, order, branch):
    """f(x), f'(x), ..., of one branch."""
    cap, flint.ctx.cap = flint.ctx.cap, order + 1
    try:
        (series,) = member.f.branches[branch](vector([flint.arb_series([x, 1])]))
        return [float(series[k]) * math.factorial(k) for k in range(order + 1)]
    finally:
        flint.ctx.cap = cap


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("name", ["power", "ramp", "perfect spline", "exp(-1/x)", "wave"])
def test_members_vanish_at_zero_and_keep_to_their_bound(name, n):
    member = jackson.member(name, n, n + 2)
    assert derivatives(member, 0.0, n, 0) == [0.0] * (n + 1)
    largest = 0.0
    for branch, (left, right) in enumerate(zip(member.f.breaks, member.f.breaks[1:], strict=False)):
        for x in np.linspace(left, right, 33)[1:]:
            found = np.abs(derivatives(member, float(x), n, branch))
            assert found.max() <= member.M * (1 + 1e-3)  # from 257 points, for two of them
            largest = max(largest, found[n])
    assert largest >= 0.9 * member.M


def test_slopes_by_hand():
    member = jackson.switching(2, [0.25, 0.75], 0.125)
    middles = [(a + b) / 2 for a, b in zip(member.f.breaks, member.f.breaks[1:], strict=False)]
    last = [derivatives(member, x, 2, i)[2] / member.M for i, x in enumerate(middles)]
    assert last == pytest.approx([0.5, 1, 0, -1, 0, 1])
    # 5 x^2 sin 5x - 2 x cos 5x is smaller on [0, 1] than beyond.
    x = np.linspace(0, 1, 10_001)
    largest = np.abs(2 * x * np.cos(5 * x) - 5 * x**2 * np.sin(5 * x)).max()
    assert 0.9999 * largest <= jackson.member("wave", 1, 1).M <= largest * (1 + 1e-6)
    slope = 4 * math.exp(-2)  # exp(-1/x) / x^2 at 1/2
    assert abs(jackson.member("exp(-1/x)", 1, 1).M - slope) <= 1e-4


def test_members_by_hand():
    """n = 1: twice the areas under f' / 2."""
    at = np.array([0.25, 0.5, 1.0])
    power, ramp = jackson.member("power", 1, 1), jackson.spline(1, [0.5, 1.0], [1.0, 1.0])
    assert power.f(at).tolist() == [0.0625, 0.25, 1]
    assert (power.M, ramp.M) == (2, 2)
    assert ramp.f(at).tolist() == [0.125, 0.5, 1.5]
    turn = jackson.switching(1, [0.5], 0.25)  # f' = 1 from 1/4 on, and falls from 3/8 to 5/8
    assert turn.f(at).tolist() == [0.25, 0.625, -0.25]
    steep = jackson.spline(1, [0.5, 1.0], [2.0, -3.0])
    assert steep.M == 6
    assert steep.f(at).tolist() == [0.25, 1, 1 - 0.5]
    assert jackson.member("wave", 2, 1).f(at) == pytest.approx(at**3 * np.cos(5 * at))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 1), (3, 2), (6, 4), (9, 5), (12, 12)])
def test_the_best_error_of_a_power_lies_between_its_bounds(n, m):
    lower, upper = jackson.least_error_of_power(n, m)
    found = minimax.best(minimax.Target((0.0, 1.0), (lambda x: x**n,)), m - 1)
    assert float(lower) <= found.upper
    assert found.lower <= float(upper)
    assert lower <= upper <= 1.5 * lower or m < n / 2


def test_for_large_m_the_bounds_tend_to_favards():
    for n in (1, 2, 4):
        assert float(jackson.elementary_ratio(n, 10**6)) == pytest.approx(
            (math.pi / 4) ** n, rel=1e-4
        )
        assert float(jackson.ratio_by_sinwel(n, 10**6)) == pytest.approx(
            math.pi / 2 / 2**n, rel=1e-4
        )
    assert jackson.elementary_ratio(3, 3) == Fraction(2 * 27, 64 * 6)
