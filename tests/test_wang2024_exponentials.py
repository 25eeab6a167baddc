"""Sums of exponentials: the construction of the proof, interpolation, bounds on weights."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.numerics import l1, minimax
from repro.numerics.exact import rational, rationals
from repro.wang2024 import exponentials, heads
from repro.wang2024.exponentials import Interpolant


def test_the_bump_by_hand():
    t = np.arange(12)
    for alpha, gamma in ((0.01, 0.01), (0.5, 0.2)):
        values = np.exp(-gamma * t) * exponentials.bump(np.exp(-alpha * t), 3, alpha, gamma)
        assert values == pytest.approx(1.0 * (t == 3), abs=1e-14)
    # At mu_T + sigma_T / 2: e^{gamma T} exp(1 - 1 / (1 - 1/4)).
    mu, sigma = math.exp(-1.5), math.exp(-1.5) - math.exp(-2)
    for x in (mu - sigma / 2, mu + sigma / 2):
        (found,) = exponentials.bump(np.array([x]), 3, 0.5, 0.2)
        assert found == pytest.approx(math.exp(0.6 + 1 - 4 / 3), rel=1e-12)
    chosen = exponentials.bump_error(1, 12, alpha=0.01, gamma=0.01)
    assert exponentials.bump_error(1, 12) == chosen
    for n in (1, 2, 3, 7):
        needed = [T**n * math.exp(-0.01 * (n + 1) * T) for T in range(1, 400)]
        assert float(exponentials.smallest_constant(n)) == pytest.approx(max(needed), rel=1e-12)


def polynomial(T, m, alpha, gamma):
    some = (T, alpha, gamma)
    return np.polynomial.Chebyshev.interpolate(exponentials.bump, m - 1, domain=[0, 1], args=some)


def test_error_of_the_bump_polynomial_against_its_coefficients_in_balls():
    """The Chebyshev coefficients are rationals, so the alpha_k are too: the l1 error, certified."""
    T, m, alpha = 2, 14, Fraction(1, 2)
    Q = polynomial(T, m, 0.5, 0.5)
    inner = flint.fmpq_poly([-1, 2])  # [0, 1] -> [-1, 1]
    basis = minimax.chebyshev_polynomials(m - 1, inner)
    monomials = sum(
        (rational(c) * p for c, p in zip(Q.coef, basis, strict=True)), flint.fmpq_poly([])
    )
    family = l1.Exponentials(tuple(alpha * (k + 1) for k in range(m)))
    with flint.ctx.workprec(256):
        weights = [monomials[k] for k in range(m)]
        certified = l1.l1_error(l1.indicator(T), family, weights, window=300)
    error = exponentials.bump_error(T, m, alpha=0.5, gamma=0.5)
    assert certified.lower() <= error <= float(certified.upper()) + 1e-10


def test_what_the_error_of_the_bump_polynomial_is_rounded_up_by():
    """|Q_m| <= sum |c|, from t = 2 + 80 on and for 4 m^2 roundings; e^{-t/2} adds up to the total."""
    Q, t = polynomial(2, 40, 0.5, 0.5), np.arange(82)
    seen = np.abs(np.exp(-t / 2) * Q(np.exp(-t / 2)) - (t == 2)).sum()
    left_out = math.exp(-41) + 4 * 40**2 * 2.0**-53
    stated = np.abs(Q.coef).sum() / (1 - math.exp(-0.5)) * left_out
    found = exponentials.bump_error(2, 40, alpha=0.5, gamma=0.5) - seen
    assert found == pytest.approx(stated, rel=1e-3, abs=0)


def test_instants_beyond_the_window_count_by_the_size_of_the_polynomial(monkeypatch):
    """With m = 1, and coefficients of 2e20 in a Q that is 0 at all 82 instants of the window."""

    class Unseen:
        coef = np.array([1e20, -1e20])

        def __call__(self, x):
            return 0 * x

    monkeypatch.setattr(exponentials.Chebyshev, "interpolate", lambda *_, **__: Unseen())
    left_out = math.exp(-82 / 2) + 4 * 2.0**-53
    stated = 1 + 2e20 / (1 - math.exp(-0.5)) * left_out
    found = exponentials.bump_error(2, 1, alpha=0.5, gamma=0.5)
    assert found == pytest.approx(stated, rel=1e-9)


def test_interpolant_solves_the_linear_system():
    T, H, q = 2, 5, Fraction(2, 5)
    rows = [[q ** (h * t) for h in range(1, H + 1)] for t in range(H)]
    system = flint.fmpq_mat(rationals(rows).tolist())
    solved = system.solve(flint.fmpq_mat([[flint.fmpq(int(t == T))] for t in range(H)]))
    assert list(Interpolant(T, H, q).alphas) == solved.entries()
    small = Interpolant(1, 2, "1/2")  # x (x - 1) over its value -1/4 at x = 1/2
    assert (small.alphas, small.weight) == ((4, -4), 8)


def test_accurate_takes_the_largest_power_of_one_half_that_serves():
    phi = exponentials.accurate(6, 7, "1/10")
    assert phi.error <= rational("1/10") < Interpolant(6, 7, 2 * phi.q).error
    assert exponentials.accurate(1, 2, 100).q == rational("1/2")
    assert exponentials.accurate(1, 3, Interpolant(1, 3, "1/2").error).q == rational("1/2")


@pytest.mark.parametrize("q", ["1/3", "1/2", "3/4"])
def test_the_bound_on_the_error_is_rounded_up(q):
    """(q; q)_inf is the sum of (-1)^k q^(k(3k-1)/2), by Euler; beyond |k| = 30 below 1e-170."""
    x = Fraction(q)
    infinite = sum((-1) ** abs(k) * x ** (k * (3 * k - 1) // 2) for k in range(-30, 31))
    for j in (1, 2):
        exact = rational(x ** (j * (j + 1) // 2) / ((1 - x) * infinite**2))
        assert 0 < exponentials.interpolation_bound(j, q) - exact < exact / 2**50


def test_limit_and_bound_of_the_error():
    for q in ("1/3", "1/2", "3/4"):
        infinite = math.prod(1 - float(Fraction(q)) ** k for k in range(1, 400))
        assert float(exponentials.infinite_factorial(q)) == pytest.approx(infinite, rel=1e-12)
        for j in (1, 2, 5):
            limit = exponentials.interpolation_limit(j, q)
            bound, x = exponentials.interpolation_bound(j, q), float(Fraction(q))
            stated = x ** (j * (j + 1) // 2) / ((1 - x) * infinite**2)
            assert float(bound) == pytest.approx(stated, rel=1e-12)
            assert 0 < limit < bound
            T = 30 if q != "3/4" else 60
            assert float(limit) == pytest.approx(float(Interpolant(T, T + j, q).error), rel=1e-6)


def test_moving_layer_reads_B_at_the_query_only():
    phi = Interpolant(2, 5, "1/2")
    layer = heads.moving("lin", phi.exponents, phi.moved())
    x, B = [1, 2, -1, 3, 5], [0, 7, 9, 4, 2]  # only the last B counts for the last output
    (out,) = layer(rationals([[a, b, 1] for a, b in zip(x, B, strict=True)]), queries=1)[:, 0]
    assert out == sum((phi(s) * x[4 - s] for s in range(5)), flint.fmpq(0)) == -1
    assert not layer.normalised


def test_degree_is_the_largest_with_its_peak_at_T():
    for T in range(1, 80):
        N = exponentials.degree(T)
        sizes, next_ones = (
            [abs(p) for p in exponentials.chebyshev_coefficients(n)] for n in (N, N + 1)
        )
        assert sizes[T] == max(sizes)
        assert next_ones[T] < max(next_ones)
        assert 2 * (2 * N + 1) ** 2 > (4 * T) ** 2  # N > sqrt(2) T - 1/2


def test_what_weight_0_has_needs_no_weights():
    for T in (1, 4):
        for error in (1, "3/2"):
            assert exponentials.weight_bound(T, error) == 0
