"""The networks and the bounds of Theorem 4.1."""

import math

import numpy as np
import pytest
import torch

from repro.jiang2024 import couplings, encodings, rate
from repro.numerics.exact import rationals, to_float

ROUNDED = 1e-13  # waves of arguments up to 300, each rounded: 300 * 2^-53 = 3e-14, and a few sums


def fractions(*values):
    return rationals(list(values))


def test_ridge_and_trace_by_hand():
    sigma = fractions(4, 2, 1)
    assert rate.ridge(sigma, 1, 2).tolist() == fractions("26/5").tolist()  # 4 + 3 / (1 + 3/2)
    assert rate.trace(sigma, 2).tolist() == fractions("9/2", "5/2").tolist()


def test_ridge_of_all_waves():
    coupling = couplings.endless(2, 4)
    S = math.pi**2 / 6 - 1 - 1 / 4
    kept = to_float(rate.kept(coupling, 2, 3, "ridge"))
    assert kept == pytest.approx([1 + S / 4.5, 1 / 4 + S / 4.5])


def test_mended_diagonal_in_float64():
    coupling = couplings.Coupling(couplings.powers(2, 20), "cos", pieces=3)
    x = encodings.shifted(torch.tensor([[0.3], [0.6], [0.9]], dtype=torch.float64))
    network = rate.with_diagonal(coupling, 4, x)
    off = (network.target().logits(x) - coupling.rho(x, x)).abs()
    assert network.m_h == 7
    assert off.diagonal().max() < 1e-14
    assert off.sum() > 1e-3


def test_interpolated_waves_are_exact_at_the_knots():
    coupling = couplings.Coupling(couplings.powers(2, 3))
    knots = torch.arange(9, dtype=torch.float64)[:, None] / 8
    exact = rate.truncated(coupling, coupling.sigma, knots)
    layer = rate.interpolated(rate.truncated(coupling, coupling.sigma, knots), 8)
    assert layer.f(knots).numpy() == pytest.approx(exact.f(knots).numpy(), abs=ROUNDED)
    between = (layer.f(knots[:-1] + 1 / 16) - exact.f(knots[:-1] + 1 / 16)).abs().max()
    assert between > 0.1


def test_separate_networks_compute_what_a_shared_layer_does():
    coupling = couplings.Coupling(couplings.powers(2, 3), "cos")
    x = torch.rand((4, 5, 1), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    nets = rate.separate(coupling, coupling.sigma[:2], 6, x)
    shared = rate.interpolated(rate.truncated(coupling, coupling.sigma[:2], x), 6)
    assert nets.f.neurons == 2 * 2 * 6 + 1
    assert nets.transformer()(x).numpy() == pytest.approx(shared(x).numpy(), abs=ROUNDED)
    touched = (nets.f.W_2 != 0).sum(0)
    assert touched.max() == 1  # no neuron serves two coordinates


def test_interpolated_rooms_are_exact_at_the_knots_and_near_between():
    tau, w, r = 3, 16, 2
    coupling = couplings.endless(3, 8, "sin", tau)
    rng = np.random.default_rng(0)
    x = encodings.shifted(torch.tensor(rng.random((50, tau, 1))))
    at_knots = encodings.shifted(torch.tensor(rng.integers(0, w + 1, (5, tau, 1)) / w))
    exact = rate.with_diagonal(coupling, r, x)
    layer = rate.interpolated(exact, w, coupling.pieces)
    assert layer.f.neurons == (w + 1) * tau - 1
    assert layer.f(at_knots).numpy() == pytest.approx(exact.f(at_knots).numpy(), abs=ROUNDED)
    off = (layer.target().logits(x) - exact.target().logits(x)).abs().max().item()
    sup = math.sqrt(2 / tau)
    e = [sup * (2 * math.pi * i / (tau * w)) ** 2 / 8 for i in (1, 2)]
    waves = 2 * rate.network_error([1, 1 / 8], sup, e)
    assert 0 < off < waves + rate.diagonal_error(3, r, tau, w)


def test_diagonal_error_by_hand():
    """r = 1, tau = w = 1: every wave is off by 2 at most, 2 (zeta(2) - 1) in all. r = 1, tau = 2,
    w = 10: waves 2, ..., 6 are off by less than 2, the seventh counts 2; beyond k: 2 k^-2 / 2."""
    assert rate.diagonal_error(2, 1, 1, 1) == pytest.approx(2 * (math.pi**2 / 6 - 1), rel=1e-4)
    fine = rate.diagonal_error(3, 1, 2, 10**6, terms=100)  # all waves as w^-2, but for the rest
    waves = sum((4 * math.pi * i / 2e6) ** 2 / 8 / i**3 for i in range(2, 101))
    assert fine == pytest.approx((waves + 100**-2) / 2)
    off = [(4 * math.pi * i / 20) ** 2 / 8 for i in range(2, 7)]
    assert off[-1] < 2 < (4 * math.pi * 7 / 20) ** 2 / 8
    waves = sum(e / i**3 for i, e in enumerate(off, start=2))
    for terms, expected in ((6, waves + 1 / 36), (7, waves + 2 / 7**3 + 1 / 49)):
        found = rate.diagonal_error(3, 1, 2, 10, terms=terms)
        assert found == pytest.approx(expected / 2, rel=1e-14)


def test_bounds_by_hand():
    assert float(rate.ridge_bound(2, 4, 2)) == pytest.approx(1.5 * (1 / 3 + 1) / 64)
    assert float(rate.ridge_bound(3, 4, 2, 3)) == pytest.approx(1.5 * 9 * (1 / 5 + 1 / 4) / 4**5)
    assert float(rate.encoded_bound(2, 4, 3)) == pytest.approx(9 / 3 / 64)
    assert rate.mean_square_bound(8, 3, 2) == 36
    assert (rate.mean_square_bound(8), float(rate.encoded_bound(2, 4))) == (1, 1 / 192)
    assert rate.network_error([2, 1], 10, [1, 0]) == 21  # 1/2 (2 (20 + 1))
    assert rate.network_error([2, -5], 10, [3, 0.5]) == (2 * 69 + 5 * 10.25) / 2
    printed = rate.printed_bound((2, 3, 5), (2, 1), 4, 2, 10)
    assert float(printed) == pytest.approx(16 * 2 * (3 / 8 + 5 * 4 / 10))
    low_rank = rate.printed_bound((2, 3, 5), (2, 1), 4, 2, math.inf)
    assert float(low_rank) == pytest.approx(16 * 2 * 3 / 8)
