"""Small cases worked out by hand, for what larger ones of jiang2024 do not tell apart."""

import math

import pytest

from repro.jiang2024 import couplings, floors, rate

# rate.py


def test_errors_of_waves_enter_once_and_squared():
    """1/2 (2 (2 10 3 + 9) + 5 (2 10 1/2 + 1/4))."""
    assert rate.network_error([2, -5], 10, [3, 0.5]) == (2 * 69 + 5 * 10.25) / 2


def test_the_diagonal_is_off_wave_by_wave():
    """r = 1, tau = 2, w = 10: waves 2, ..., 6 are off by less than 2, the seventh counts 2; those
    beyond k have 2 k^-2 / 2."""
    off = [(4 * math.pi * i / 20) ** 2 / 8 for i in range(2, 7)]
    assert off[-1] < 2 < (4 * math.pi * 7 / 20) ** 2 / 8
    waves = sum(e / i**3 for i, e in enumerate(off, start=2))
    found = rate.diagonal_error(3, 1, 2, 10, terms=6)
    assert found == pytest.approx((waves + 1 / 36) / 2, rel=1e-14)
    more = rate.diagonal_error(3, 1, 2, 10, terms=7)
    assert more == pytest.approx((waves + 2 / 7**3 + 1 / 49) / 2, rel=1e-14)


# floors.py


def test_the_least_cost_by_hand():
    """4 (5 + 3^2 / (2 + 4))."""
    assert floors.least_cost(3, 5, 2, 4) == floors.row_floor(3, 5, 2, tau=5) == 26


def test_two_rooms_are_two_halves():
    assert floors.encoded_floor([9, 9, 6].__getitem__, 1, 2) == 3
    assert floors.encoded_cost(2, 3, 2) < couplings.infinite_tails(2, 3)[1] * 0.51  # no other room


@pytest.mark.parametrize("n", [0, 2, 4, 6])
def test_no_even_number_of_waves_is_a_pair(n):
    with pytest.raises(ValueError, match=f"odd number: n = {n}"):
        floors.Pair(2, n)


def test_two_waves_are_enough_for_the_affine_floor():
    for N in (2, 3):
        assert float(floors.affine_floor(N)) == pytest.approx((N - 1) / (2 * math.pi * N))
