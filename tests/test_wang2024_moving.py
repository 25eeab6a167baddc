"""Heads that follow a pointer: kernels, weights, errors and floors, and shares of heads."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.numerics.exact import rational
from repro.numerics.logarithms import Log, ball
from repro.wang2024 import budgets, moving, powers


def test_the_kernel_by_hand():
    lin = moving.Moving("lin", 2, (Log(2), Log(3)), (rational(3), rational(-1)), 1)
    stated = [3 * 2.0 ** (2 - s) - 3.0 ** (2 - s) for s in range(5)]
    assert lin.kernel(2, 5) == pytest.approx(stated, rel=1e-14)
    log = moving.Moving("log", 2, (rational(2), rational(3)), (rational(3), rational(-1)), 1)
    stated = [0, *(3 * (2 / s) ** 2 - (2 / s) ** 3 for s in range(1, 5))]
    assert log.kernel(2, 5) == pytest.approx(stated, rel=1e-14)


def test_weight_and_rounding_by_hand():
    """A = 3 * 4 * 2 + 16 * 4/3 as u^-T / (1 - u), u = 1/2, 1/4; the largest exponent is log 4."""
    psi = moving.Moving("lin", 2, (Log(2), Log(4)), (rational(3), rational(-1)), 1)
    A = 24 + 64 / 3
    assert psi.weight == pytest.approx(A)
    u, units = 2.0**-53, 6 * math.log(4) * 2 + 10 + 2 * 2 + 40
    assert psi.rounding(10) == pytest.approx(1.01 * u * A * units + 10 * u, rel=1e-12, abs=0)
    psi = moving.Moving("log", 2, (rational(2),), (rational(1),), 1)
    assert psi.weight == pytest.approx(4 * math.pi**2 / 6)
    units = 9 * 2 * math.log(2) + 10 + 2 + 40
    assert psi.rounding(10) == pytest.approx(
        1.01 * u * psi.weight * units + 10 * u, rel=1e-12, abs=0
    )
    with pytest.raises(ValueError, match="3/2"):
        moving.Moving("log", 2, (rational(1),), (rational(1),), 1).rounding(10)
    for rpe in ("lin", "log"):
        silent = moving.silent(rpe, 3)
        assert (silent.kernel(2, 10) == 0).all()
        assert (silent.T, silent.error) == (3, 1)


def test_heads_needed_and_usual_exponents_by_hand():
    assert [moving.heads_needed("lin", T) for T in (1, 2, 5)] == [2, 3, 6]
    assert [moving.heads_needed("log", T) for T in (1, 2, 3, 4)] == [1, 2, 4, 6]
    assert moving.usual_exponents("lin", 3) == (Fraction(3, 2), 3, Fraction(9, 2))
    assert moving.usual_exponents("log", 3) == (2, 4, 6)


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.parametrize("T", [1, 2, 3])
def test_interpolating_heads_have_the_level_asked_for(rpe, T):
    psi = moving.interpolated(rpe, T, "1/50")
    assert moving.heads_needed(rpe, T) == psi.H
    assert ball(psi.error) <= ball(rational("1/50"))
    for B in range(1, T + 1):  # in float64, so far as the weights allow
        off = np.abs(psi.kernel(B, 40) - np.eye(40)[B]).sum()
        assert off <= 1 / 50 + 2 * psi.rounding(60)


def test_a_level_is_reached_by_the_first_step_that_does():
    """log, T = 2: zeros 1/2, peak 1, step b: phi(y) = (y^-b - 2^b) y^-b / (1 - 2^b)."""
    for level in ("2", "1", "1/2", "1/10", "1/100"):
        psi = moving.interpolated("log", 2, level)
        b = int(psi.exponents[0].p)
        assert psi.exponents == (b, 2 * b)
        assert psi.alphas == (flint.fmpq(2**b, 2**b - 1), flint.fmpq(-1, 2**b - 1))
        assert float(psi.error) == pytest.approx(_log_error(b), rel=1e-4)
        assert _log_error(b) <= Fraction(level)
        assert b == 2 or _log_error(b - 1) > Fraction(level)


def _log_error(b):
    """The larger of the errors for B = 1 and B = 2, each term after the peak being positive."""
    t = np.arange(1.0, 200_000.0)

    def phi(y):
        return (2**b * y**-b - y ** (-2.0 * b)) / (2**b - 1)

    return max(phi(t[B:] / B).sum() for B in (1, 2))


def test_a_level_is_reached_by_the_upper_end_of_every_ball(monkeypatch):
    """Step 2: at B = 1 the error may be 0.7, though its ball begins below that of B = 2."""
    errors = {2: (flint.arb(0.4, 0.3), flint.arb(0.45, 0.01)), 3: (flint.arb(0.1), flint.arb(0.2))}

    class Wide(powers.Interpolant):
        def error(self, B=1):
            return errors[self.step][B - 1]

    def wide(T, *, step):
        return Wide(rational(1), powers.farey(T), step, step)

    monkeypatch.setattr(powers, "adaptive", wide)
    assert moving.interpolated("log", 2, "1/2").exponents == (3, 6)


@pytest.mark.parametrize(("rpe", "T", "H"), [("lin", 2, 4), ("log", 2, 5)])
def test_fitted_heads_are_as_good_as_the_proved_optimum(rpe, T, H):
    best, fit = moving.optimal(rpe, T, H), moving.fitted(rpe, T, H)
    worst = max(np.abs(fit.kernel(B, 60) - np.eye(60)[B]).sum() for B in range(1, T + 1))
    assert worst == pytest.approx(fit.error, abs=1e-9)
    assert fit.error <= float(ball(best.error).upper()) + 1e-9  # a window sees less than all
    assert fit.exponents == tuple(map(rational, moving.usual_exponents(rpe, H)))


@pytest.mark.parametrize(("rpe", "H"), [("lin", 4), ("log", 5)])
def test_the_proved_error_is_that_over_a_long_window_and_hardly_more(rpe, H):
    psi = moving.fitted(rpe, 2, H)
    longest = max(np.abs(psi.kernel(B, 4000) - np.eye(4000)[B]).sum() for B in (1, 2))
    assert longest - 1e-12 <= psi.proved_error() <= 1.01 * longest


def test_the_proved_error_is_that_of_the_worst_pointer():
    """Powers that vanish at 1/3 and 2/3 follow B = 1 and 3, and B = 2 not: 1/2 is between."""
    phi = powers.Interpolant(rational(1), (rational("1/3"), rational("2/3")), 20, 20)
    exponents = tuple(map(rational, phi.exponents))
    psi = moving.Moving("log", 3, exponents, phi.coefficients, None)
    halves = {t: phi(rational(Fraction(t, 2))) - (t == 2) for t in range(1, 60)}
    assert psi.proved_error() == pytest.approx(float(sum(map(abs, halves.values()))), rel=1e-9)
    assert abs(halves[1]) > 10
    alone = moving.Moving("lin", 1, (Log(2), Log(4)), (rational(0), rational(1)), None)
    assert alone.proved_error() == pytest.approx(4 + 1 / 3, rel=1e-12)  # 4^(1-s), s = 0, 2, 3, ...


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_optimal_heads_are_optimal_for_the_worst_pointer(rpe):
    """Other coefficients near them are worse for some B, and the error is that of a long window."""
    T, H, s = 2, 4, np.arange(100_000)
    best = moving.optimal(rpe, T, H)

    def error(psi):
        return max(np.abs(psi.kernel(B, len(s)) - (s == B)).sum() for B in range(1, T + 1))

    stated = float(best.error.upper())
    assert error(best) == pytest.approx(stated, rel=1e-4)
    alphas = np.array([float(a) for a in best.alphas])
    for h, sign in itertools.product(range(H), (1, -1)):
        moved = alphas * (1 + 1e-2 * sign * (np.arange(H) == h))
        other = moving.Moving(rpe, T, best.exponents, tuple(moved.tolist()), 0)
        assert error(other) > stated


def test_one_memory_has_all_heads():
    assert budgets.allocate(5, [2.0], 1) == [5]
