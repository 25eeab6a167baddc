"""Lemmas E.4 and E.5, and test sequences: against plain sums and other ways."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.numerics import l1
from repro.numerics.exact import rational
from repro.numerics.logarithms import Log
from repro.wang2024 import heads, necessity, powers


def number(value):
    return float(flint.arb(value))


@pytest.mark.parametrize(
    ("T", "heads", "first", "step"), [(1, 1, 3, 3), (2, 5, 2, 1), (3, 4, 6, 6)]
)
def test_the_error_is_that_of_a_long_plain_sum(T, heads, first, step):
    phi = powers.fixed(T, heads, first=first, step=step)
    near = sum(abs(number(phi(t)) - (t == T)) for t in range(1, 400))
    left_out = sum(
        abs(number(a)) * 399.0 ** (1 - b)
        for a, b in zip(phi.coefficients, phi.exponents, strict=True)
    )
    assert near <= float(phi.error()) + 1e-12
    assert float(phi.error()) <= near + left_out + 1e-12


def test_the_error_of_a_moved_interpolant_is_that_of_a_plain_sum():
    phi = powers.adaptive(3, step=12)
    for B in (1, 2, 3):
        near = sum(abs(number(phi(rational(Fraction(t, B)))) - (t == B)) for t in range(1, 200))
        assert float(phi.error(B)) == pytest.approx(near, rel=1e-9)


def test_an_error_counts_every_instant():
    """Neither t = 1 nor t = 5 is a zero of this one: 2 at the peak, 3 and 4."""
    phi = powers.Interpolant(rational(2), (rational(3), rational(4)), 8, 8)
    values = {t: phi(t) - (t == 2) for t in range(1, 80)}
    assert [t for t in range(1, 7) if values[t] == 0] == [2, 3, 4]
    assert float(phi.error()) == pytest.approx(float(sum(map(abs, values.values()))), rel=1e-9)
    assert powers.fixed(2, 4, first=8, step=8).zeros == (1, 3, 4)
    assert list(powers.fixed(2, 3).exponents) == [2, 3, 4]


def test_an_error_in_which_many_bits_cancel_is_enclosed_as_well():
    """From the product itself; all terms beyond the last zero have one sign."""
    phi, z = powers.fixed(30, 100, first=12), np.delete(np.arange(1.0, 101), 29)
    t = np.arange(101.0, 20_000)
    factors = np.abs(1 / t[:, None] - 1 / z) / np.abs(1 / 30 - 1 / z)
    stated = math.fsum((30 / t) ** 12 * np.exp(np.log(factors).sum(1)))
    assert phi.error().rel_accuracy_bits() >= 64
    assert float(phi.error()) == pytest.approx(stated, rel=1e-9)


def test_products_and_fractions_by_hand():
    assert powers.fixed(1, 1, first=4, step=4).error().overlaps(flint.arb(4).zeta() - 1)
    pentagonal = sum((-1) ** k * 0.5 ** (k * (3 * k - 1) / 2) for k in range(-8, 9))
    assert float(powers.euler_product(flint.arb(1) / 2)) == pytest.approx(pentagonal, rel=1e-15)
    three = powers.euler_product(flint.arb(1) / 2, factors=3)
    by_hand = Fraction(1, 2) * Fraction(3, 4) * Fraction(7, 8) * (1 - Fraction(1, 16) * 2)
    assert float(three) == by_hand < float(powers.euler_product(flint.arb(1) / 2))
    totients = [sum(math.gcd(t, B) == 1 for t in range(1, B + 1)) for B in range(1, 9)]
    assert [len(powers.farey(T)) + 1 for T in range(1, 9)] == [
        sum(totients[:T]) for T in range(1, 9)
    ]
    assert list(powers.farey(4)) == [rational(f) for f in ("1/4", "1/3", "1/2", "2/3", "3/4")]
    slow = powers.SlowPowers((Fraction(101, 100), Fraction(102, 100)))
    assert slow.blocks(50)[-1] >= 10**170
    assert l1.best(l1.indicator(1), slow, window=20).floor == pytest.approx(1)


def test_the_bound_covers_and_falls():
    for c in (2, 3, 6):
        found = powers.fixed(4, 4, first=4 * c, step=4 * c).error()
        assert found < powers.error_bound(0, c)
    euler = math.prod(1 - math.exp(-3 * i) for i in range(1, 40))
    by_hand = 4**-3 * (1 + 4 / 2) / ((2**3 - 1) * (3**3 - 1)) / euler  # c = 3, j = 2
    assert float(powers.error_bound(2, 3)) == pytest.approx(by_hand, rel=1e-12)
    assert powers.error_bound(0, 20) < powers.error_bound(0, 10) / 500
    assert powers.error_bound(3, 4) < powers.error_bound(2, 4) < powers.error_bound(0, 4)


def test_the_moving_layer_reads_B_at_the_query_only():
    phi = powers.adaptive(2, step=3)
    layer = heads.moving("log", phi.exponents, phi.coefficients)
    x = [5, -1, 2, 3]
    for B in (1, 2):
        others = [Log(7), Log(3), Log(5)]
        tokens = [[rational(v), b, rational(1)] for v, b in zip(x, [*others, Log(B)], strict=True)]
        (out,) = layer(np.array(tokens, dtype=object), queries=1)[:, 0]
        assert out == sum(phi(rational(Fraction(s, B))) * x[3 - s] for s in range(1, 4))
    assert not layer.normalised


def test_the_shortest_kernel_counts_monomials():
    """sum_h alpha_h u_h^t is the complete symmetric polynomial of degree t - T in the u_h."""
    u = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 5)]
    alpha = necessity.shortest(2, u)
    values = [sum(a * rational(v) ** t for a, v in zip(alpha, u, strict=True)) for t in range(5)]
    h2 = sum(x * y for i, x in enumerate(u) for y in u[i:])
    assert values == [0, 0, 1, rational(sum(u)), rational(h2)]
    assert necessity.shortest_error(u) == rational(2 * Fraction(3, 2) * Fraction(5, 4) - 1)


def test_zeros_are_counted_on_either_side_of_the_circle():
    """a/(1 - x/2) + b/(1 - x/4) is 0 at x = (a + b) / (a/4 + b/2)."""
    u = ["1/2", "1/4"]
    assert necessity.zeros_in_disc(u, [1, -4]) == 0  # 12/7
    assert necessity.zeros_in_disc(u, [1, "-9/10"]) == 1  # -1/2
    with pytest.raises(ArithmeticError, match="too near to the unit circle"):
        necessity.zeros_in_disc(u, [1, "-5/6"])  # -1
    with pytest.raises(ArithmeticError, match="too near to the unit circle"):
        # alpha_h = (1 + u_h) c_h with c = 1, 1, -2: one of two zeros is -1
        necessity.zeros_in_disc(["1/2", "1/4", "1/8"], ["3/2", "5/4", "-9/4"])
