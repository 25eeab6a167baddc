"""Bounds on an error by Taylor polynomials in balls: cells that cover, radii that are derived."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

from repro.numerics import minimax, taylor
from repro.numerics.minimax import Target

searched = settings(max_examples=60, deadline=None, derandomize=True, database=None)
KINK = Target((-1.0, 0.0, 1.0), (lambda x: -x, lambda x: x))
WAVE = Target((-1.0, 1.0), (lambda x: np.exp(np.sin(3 * x)),))
NOTHING = Target((-1.0, 1.0), (lambda x: 0 * x,))


def power(degree, a=-1.0, b=1.0):
    return Target((a, b), (lambda x: x**degree,))


@searched
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=12))
def test_no_point_exceeds_the_upper_bound(coefficients):
    """Any coefficients, not only the best ones; and the bound is near what is attained."""
    x = np.cos(np.linspace(0, math.pi, 4001))
    attained = np.abs(KINK(x) - chebyshev.chebval(x, coefficients)).max()
    bound = minimax.upper_end(taylor.upper_bound(KINK, np.array(coefficients)))
    assert attained <= bound <= 1.02 * attained + 1e-12


def test_the_remainder_is_counted(monkeypatch):
    """With few cells and no derivative the values at the centres are not enough: T_11 attains 1."""
    monkeypatch.setattr(taylor, "ORDER", 1)
    monkeypatch.setattr(taylor, "CELLS", 1)
    assert minimax.upper_end(taylor.upper_bound(NOTHING, np.eye(12)[11])) >= 1


@pytest.mark.parametrize("q", [0, 1, 9])
def test_the_radii_are_the_derived_bound_on_rounding(q):
    """8 (q + 7) u times sum |c_k| k^j / j!; the last entry bounds the tenth coefficient itself."""
    c = np.linspace(1, -2, q + 1)
    (parts,) = taylor._cosines(c, np.array([0.7]))
    assert len(parts) == 11
    for j, part in enumerate(parts):
        size = sum(abs(a) * float(k) ** j for k, a in enumerate(c)) / math.factorial(j)
        radius = 8 * (q + 7) * 2.0**-53 * size
        if j < 10:
            assert float(part.rad()) == pytest.approx(radius, rel=1e-6, abs=0)
        else:
            assert float(part) == pytest.approx(size, rel=1e-12)
            assert float(part) >= size * (1 + 7 * (q + 7) * 2.0**-53)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_taylor_coefficients_of_a_cosine_by_hand(k):
    t = 0.7
    (parts,) = taylor._cosines(np.eye(4)[k], np.array([t]))
    wanted = [k**j * math.cos(k * t + j * math.pi / 2) / math.factorial(j) for j in range(10)]
    assert [float(part) for part in parts[:10]] == pytest.approx(wanted, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("degree", [0, 7])
def test_the_cells_of_a_branch_cover_it_and_overlap(degree, monkeypatch):
    seen = []

    def on_cell(f, branch, t, half, parts):
        seen.append((t - half, t + half))
        return flint.arb(t)

    monkeypatch.setattr(taylor, "_on_cell", on_cell)
    last = taylor._on_branch(WAVE, np.ones(degree + 1), 0.5, 2.5, WAVE.branches[0])
    assert len(seen) == math.ceil(16 * (degree + 9) * 2 / math.pi)
    assert seen[0][0] < 0.5 < seen[0][1]
    assert seen[-1][0] < 2.5 < seen[-1][1]
    assert all(a < b for (_, b), (a, _) in itertools.pairwise(seen))
    assert seen[0][1] - seen[0][0] == pytest.approx(2 / len(seen), rel=1e-6)
    assert float(last) == max(float(flint.arb((a + b) / 2)) for a, b in seen)


def test_the_bound_on_a_cell_by_hand(monkeypatch):
    """f = x on [0, 4]: 2 + 2 cos t against 1, 2, ..., 10; the remainder is bounded by 5 D^10."""
    line, t, D = power(1, 0.0, 4.0), 1.5, 1.25
    monkeypatch.setattr(flint.ctx, "cap", 11)
    parts = [*map(flint.arb, range(1, 11)), flint.arb(5)]
    bound = taylor._on_cell(line, line.branches[0], t, D, parts)
    terms = [2 * math.cos(t + j * math.pi / 2) / math.factorial(j) for j in range(10)]
    terms[0] += 2
    wanted = sum(abs(a - j - 1) * D**j for j, a in enumerate(terms))
    remainder = (float(bound.upper()) - wanted) / D**10 - 5
    assert 2 * math.cos(t - D) <= remainder * math.factorial(10) < 4  # max |2 cos| on the cell


def test_the_worst_branch_bounds_and_a_hidden_break_is_told():
    jump = Target((0.0, 1.0, 4.0), (lambda x: 4 * x, lambda x: 0 * x + 1))
    assert 4 <= minimax.upper_end(taylor.upper_bound(jump, np.array([0.0]))) < 4.1
    singular = Target((1.0, 5.0), (lambda x: np.sqrt((x - 3.5) * (x - 3.5)),))
    with pytest.raises(ArithmeticError, match=r"near x=3\.(4[6-9]|5[0-4]?): put a break there"):
        taylor.upper_bound(singular, np.array([0.0]))


def test_ten_derivatives_are_asked_for_and_the_cap_is_put_back():
    asked, before = [], flint.ctx.cap

    def line(x):
        asked.append(flint.ctx.cap)
        return x

    taylor.upper_bound(Target((-1.0, 1.0), (line,)), np.array([0.0]))
    assert set(asked) == {11}
    assert flint.ctx.cap == before


def test_the_ends_of_a_ball_are_the_nearest_floats_outside_it():
    for exact in (0.0, 3.0, -1e-300, 1e300):
        assert minimax.lower_end(flint.arb(exact)) == minimax.upper_end(flint.arb(exact)) == exact
    third = flint.arb(flint.fmpq(1, 3))  # float(1/3) is below it
    low, high = minimax.lower_end(third), minimax.upper_end(third)
    assert flint.arb(low) <= third.lower() < third.upper() <= flint.arb(high)
    assert low < Fraction(1, 3) < high <= math.nextafter(math.nextafter(low, 1), 1)
