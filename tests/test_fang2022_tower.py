"""The recursion of tower.py, block by block in rationals, and what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from repro.fang2022 import powers, tower
from repro.fang2022.polynomials import Polynomial
from repro.numerics.exact import to_float

U = Fraction(1, 2**8)  # of bfloat16: terms of second order are seen


def fixed(*G):
    return lambda q, B: list(map(float, G[:q]))


def first(B, G):
    """e_1: t times 1, where no other token can do harm."""
    P = (1 + U) * B
    R = P + U * (P + G) if 2 * P > G else 0
    return U * B + U * (P + G) + U * R


def second(B, e, G, R, E):
    """e_2 with R and E as worked out in the test; A = B + e."""
    A = B + e
    return B * e + U * B * A + U * ((1 + U) * B * A + G) + U * R + E


@pytest.mark.parametrize("G", [Fraction(9, 4), Fraction(2), Fraction(1, 2), 2 * (1 + U)], ids=str)
def test_the_first_block_rounds_twice_or_three_times(G):
    """A product, a sum with G, and G - a, which is exact from G = 2P on."""
    for B in (Fraction(1), Fraction(3)):
        found = tower.error_bound("bfloat16", B.numerator, 1, fixed(G * B))
        assert found == pytest.approx(float(first(B, G * B) / B), rel=1e-13)


def test_an_even_block_may_lose_to_the_opposite_and_an_odd_one_to_zero():
    """B = 3; W is 2P in block 2 and P + B e_2 in block 3; G = 18 and 27 leave rivals."""
    B, G = Fraction(3), (Fraction(27, 4), Fraction(18), Fraction(27))
    e_1 = first(B, G[0])
    P = (1 + U) * B * (B + e_1)
    assert G[1] < 2 * P
    E = 2 * P + 2 * U * (P + G[1]) - G[1]
    e_2 = second(B, e_1, G[1], P + U * (P + G[1]), E)
    assert tower.error_bound("bfloat16", 3, 2, fixed(*G)) == pytest.approx(
        float(e_2 / B**2), rel=1e-13
    )
    A = B**2 + e_2
    P = (1 + U) * B * A
    E = P + B * e_2 + 2 * U * (P + G[2]) - G[2]
    assert E > 0
    R = P + U * (P + G[2])
    e_3 = B * e_2 + U * B * A + U * (P + G[2]) + U * R + E
    assert tower.error_bound("bfloat16", 3, 3, fixed(*G)) == pytest.approx(
        float(e_3 / B**3), rel=1e-13
    )


def test_room_leaves_no_rival_and_no_rounding_of_the_difference():
    B, G = Fraction(3), (Fraction(9), Fraction(27))
    e_2 = second(B, first(B, G[0]), G[1], 0, 0)
    assert tower.error_bound("bfloat16", 3, 2, fixed(*G)) == pytest.approx(
        float(e_2 / B**2), rel=1e-13
    )


def test_the_largest_balls():
    assert tower.error_bound("float64", 1e-200, 2, powers.roomy) == math.inf
    assert tower.error_bound("float64", 1e200, 2, fixed(1, 1)) == math.inf
    assert tower.error_bound("float64", 1e200, 2, powers.printed) == math.inf
    # 2 u B^(q-2) = 1/100.
    assert tower.largest_bound("float64", 3) == pytest.approx(2**52 / 100)
    assert tower.largest_bound("float32", 4) == pytest.approx(math.sqrt(2**23 / 100))


def test_the_recursion_is_what_the_docstring_says_to_leading_order():
    u = 2.0**-53
    for q in (2, 5, 9):
        assert tower.error_bound("float64", 3, q, powers.roomy) == pytest.approx(
            4.25 * q * u, rel=1e-3, abs=0
        )
    assert tower.error_bound("float64", 1000, 5, powers.printed) == pytest.approx(
        2 * u * 1000**3, rel=1e-2, abs=0
    )
    assert tower.error_bound("float64", 0.1, 5, powers.printed) > 1  # another token wins
    assert tower.error_bound("float64", 1e200, 9, powers.printed) == math.inf


def gamma(j):
    return j * U / (1 - j * U)


def test_the_bound_on_the_output_in_one_variable():
    """Q = 3x + 7, B = 2: the stored t is off by u (B + (1+u) B + 9/4 B); three roundings more."""
    model = powers.construction(Polynomial(1, {(1,): 3, (0,): 7}), 2, lifts=powers.roomy)
    stored = first(Fraction(2), Fraction(9, 2)) / 2
    expected = (6 * stored + gamma(3) * (6 * (1 + stored) + 7)) * (1 + Fraction(1, 1024))
    found = tower.output_bound(model, 2, "bfloat16")
    assert found == pytest.approx(float(expected), rel=1e-13)


def test_the_bound_on_the_output_in_two_variables():
    """d = 2, q = 2, n = 3: t is off by gamma_3, and there are 6 products to add."""
    Q = Polynomial(2, {(1, 0): 1, (0, 2): -5, (0, 0): -7})
    model = powers.construction(Q, 3, lifts=powers.roomy)
    beta = np.abs(to_float(model.beta)).reshape(3, 7).sum(0)
    B, g = Fraction(3), gamma(3)
    e_1 = first(B, Fraction(9, 4) * B)
    P = (1 + U) * B * (B + e_1)
    G = Fraction(9, 4) * B**2
    assert 2 * P < G
    e = {1: e_1 / B, 2: second(B, e_1, G, 0, 0) / B**2}
    off = held = 0
    for s in (1, 2):
        size = Fraction(beta[3 + s]) * B**s
        stored = e[s] + s * g * (1 + g) ** s
        off, held = off + size * stored, held + size * (1 + stored)
    expected = (off + gamma(8) * (held + 7)) * (1 + Fraction(1, 1024))
    found = tower.output_bound(model, 3, "bfloat16")
    assert found == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("q", [1, 2, 5])
def test_the_ends_are_the_smallest_and_largest_normal_numbers(q):
    """B^q and 2 (1 + 9/4) B^q."""
    low, high = tower.bounds_without_overflow(torch.float32, q)
    assert low**q == pytest.approx(2.0**-126, rel=1e-13, abs=0)
    assert high**q * 6.5 == pytest.approx(2.0**128 * (1 - 2.0**-24), rel=1e-13)


def test_a_ball_is_refused_from_beyond_the_ends_on():
    kind = torch.float64
    low, high = tower.bounds_without_overflow(kind, 2)
    tower.require(kind, low, 2)
    tower.require(kind, high, 2)
    for B in (math.nextafter(low, 0), math.nextafter(high, math.inf), math.nan):
        with pytest.raises(ValueError, match=r"B\^q leaves its range"):
            tower.require(kind, B, 2)


def test_an_error_is_refused_from_beyond_the_limit_on(monkeypatch):
    bound = tower.error_bound("float32", 100, 5, powers.roomy)
    monkeypatch.setattr(tower, "CARRIED", bound)
    tower.require(torch.float32, 100, 5)
    monkeypatch.setattr(tower, "CARRIED", math.nextafter(bound, 0))
    with pytest.raises(ValueError, match=r"take a wider type$"):
        tower.require(torch.float32, 100, 5)
