"""Couplings of Theorem 4.1 and their complexities: by hand, and in another arithmetic."""

import math

import flint
import numpy as np
import pytest
import torch

from repro.jiang2024 import complexity, couplings, encodings
from repro.numerics.exact import rational, rationals, to_float

ROUNDED = 1e-13  # waves of arguments up to 300, each rounded: 300 * 2^-53 = 3e-14, and a few sums


def fractions(*values):
    return rationals(list(values))


@pytest.mark.parametrize(("key", "pieces"), [("sin", 0), ("cos", 0), ("sin", 3), ("cos", 3)])
def test_float_and_ball_couplings_agree(key, pieces):
    coupling = couplings.Coupling(couplings.powers("3/2", 5), key, pieces)
    x = fractions("1/7", "2/5", "9/10")[:, None]
    x = encodings.shifted(x) if pieces else x
    balls = to_float(coupling.target()(x))
    floats = coupling.target()(torch.tensor(to_float(x)))
    assert floats.numpy() == pytest.approx(balls, abs=ROUNDED)


def test_waves_against_numpy():
    coupling = couplings.Coupling(couplings.powers(2, 4), "cos")
    x = torch.linspace(0, 1, 7, dtype=torch.float64)[:, None]
    angles = 2 * np.pi * x.numpy() * np.arange(1, 5)
    assert coupling.queries(x).numpy() == pytest.approx(np.sqrt(2) * np.sin(angles), abs=ROUNDED)
    cosines = np.sqrt(2) * np.cos(angles[:, :2])
    assert coupling.keys(x, slice(2)).numpy() == pytest.approx(cosines, abs=ROUNDED)


@pytest.mark.parametrize(("key", "pieces"), [("sin", 0), ("cos", 0), ("sin", 3), ("cos", 3)])
def test_endless_couplings_are_the_limit_of_finite_ones(key, pieces):
    """alpha = 3, R = 2000: what is left out is at most S_R = 1 / (2 R^2), times 2."""
    endless = couplings.endless(3, 2000, key, pieces)
    finite = couplings.Coupling(endless.sigma, key, pieces)
    x = torch.tensor([[0.2], [0.7], [0.75]], dtype=torch.float64)
    x = encodings.shifted(x) if pieces else x
    assert endless.rho(x, x).numpy() == pytest.approx(finite.rho(x, x).numpy(), abs=2.5e-7)
    for coupling in (endless, finite):
        diagonal = coupling.rho(x, x).diagonal().numpy()
        assert coupling.diagonal(x)[:, 0].numpy() == pytest.approx(diagonal, abs=ROUNDED)


def test_glued_coordinate_and_content():
    coupling = couplings.Coupling(couplings.powers(2, 2), pieces=4)
    x = encodings.shifted(fractions("1/2", 0, 1, "1/4")[:, None])
    assert coupling.content(x)[:, 0].tolist() == fractions("1/2", 0, 1, "1/4").tolist()
    assert coupling.glued(x)[:, 0].tolist() == fractions("1/8", "1/4", "3/4", "13/16").tolist()


def test_tails_by_hand():
    for sigma, S, T in (
        ([3, 2, 1], [6, 3, 1, 0], [14, 5, 1, 0]),
        ([3], [3, 0], [9, 0]),
        ([0, 2], [2, 2, 0], [4, 4, 0]),
    ):
        assert [v.tolist() for v in couplings.tails(rationals(sigma))] == [S, T]
    S, T = couplings.infinite_tails(2, 3)
    assert float(S) == pytest.approx(math.pi**2 / 6 - 1 - 1 / 4 - 1 / 9)
    assert float(T) == pytest.approx(math.pi**4 / 90 - 1 - 1 / 16 - 1 / 81)


def test_alpha_1_by_hand():
    """2 (1 + 1/3 + 1/5) at u = v = 1/4; at u = 1/3, v = 1/6 the sines are 1 and 1/2."""
    assert [couplings.diagonal_at_quarter(R) for R in (1, 5, 6)] == [2, *[rational("46/15")] * 2]
    u, v = fractions("1/3", "1/6")
    assert float(couplings.logarithmic(u, v)) == pytest.approx(math.log(2))
    assert float(couplings.beyond(4, u, v)) == pytest.approx(3 / 5)
    i = np.arange(1, 5)
    waves = (2 * np.sin(2 * np.pi * i / 3) * np.sin(2 * np.pi * i / 6) / i).sum()
    assert 0.01 < abs(waves - math.log(2)) < 3 / 5
    # At u = 5/12, v = 1/4: those of pi (u + v), pi (u - v) and pi v are sqrt3/2, 1/2, sqrt2/2.
    u, v = fractions("5/12", "1/4")
    assert couplings.logarithmic(u, v).overlaps(flint.arb(3).log() / 2)
    assert couplings.beyond(1, u, v).overlaps(1 + 1 / flint.arb(3).sqrt())
    i = np.arange(1, 1001)
    waves = (2 * np.sin(2 * np.pi * i * 5 / 12) * np.sin(2 * np.pi * i / 4) / i).sum()
    assert abs(waves - math.log(3) / 2) < (2 + 2 / math.sqrt(3)) / 1001


def test_complexities_by_hand():
    tenth, half = rational("1/10"), rational("1/2")
    by_hand = 2 * math.sqrt(2) * 2 * math.pi * 3
    assert float(complexity.C_2(complexity.BARRON, 2)) == pytest.approx(by_hand)
    cases = (tenth, 1, 2), (2, 3, 5), (tenth, half, 4)
    assert [float(complexity.C_0(*case)) for case in cases] == [1, 30, 1]
    assert float(complexity.C_0_as_printed(tenth, 1, 2)) == pytest.approx(0.2)
    assert float(complexity.C_0_as_printed(tenth, half, 4)) == pytest.approx(0.2)
    assert float(complexity.C_0_as_printed(2, 3, 5)) == 1


def test_errors_at_crests_against_interpolation():
    """The largest error of np.interp, at a middle."""
    for i, w in ((1, 2), (2, 12), (1, 10)):
        x, knots = np.arange(2 * w + 1) / (2 * w), np.arange(w + 1) / w
        wave, at_knots = (math.sqrt(2) * np.sin(2 * np.pi * i * z) for z in (x, knots))
        off = abs(wave - np.interp(x, knots, at_knots)).max()
        assert float(complexity.error_at_a_crest(i, w)) == pytest.approx(off)


def test_floors_of_complexities_by_hand():
    assert float(complexity.least_bill(6)) == pytest.approx(math.pi**2 * 2)  # p = 2
    assert float(complexity.least_bill(24, 4)) == pytest.approx(math.pi**2 * 4 * 8 / 8)  # p = 2
    assert float(complexity.least_bill(1, 4)) == 0
    assert float(complexity.joint_floor(3, 2, 2)) == pytest.approx(36 * math.sqrt(2) / math.pi**2)
    two, eta = math.log(2), 1 / math.pi
    assert float(complexity.narrow("1/4", 2, 1)) == pytest.approx(two / 4 * 2 * (1 + 8 * eta))


def test_schemes_of_equation_13():
    """sup |f''| / 8 and the Fourier moment, of sqrt2 sin(2 pi 3 x)."""
    omega = 6 * math.pi
    cases = (complexity.INTERPOLATION, omega**2 / 8), (complexity.BARRON, omega)
    for scheme, constant in cases:
        assert float(complexity.of_wave(scheme, 3)) == pytest.approx(math.sqrt(2) * constant)
    first = complexity.of_wave(complexity.BARRON, 1)
    assert float(complexity.C_2(complexity.BARRON, 1) / first) == pytest.approx(2)
    assert float(complexity.least_bill(3)) == pytest.approx(math.pi**2 / 4)  # p = 1, one room
