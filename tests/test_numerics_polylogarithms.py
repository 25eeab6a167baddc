"""Fourier series of powers: against Bernoulli's polynomials, another library, and plain sums."""

import math
from fractions import Fraction

import flint
import pytest
import torch

from repro.numerics.polylogarithms import fourier_sums

X = torch.tensor([-1.3, -0.5, -0.2, 0.0, 1e-3, 0.1, 0.37, 0.5, 0.9, 1.0], dtype=torch.float64)


@pytest.mark.parametrize("s", [Fraction(3, 2), 2, Fraction(11, 5), 3, 4, Fraction(9, 2)], ids=str)
def test_both_series_are_the_polylogarithm(s):
    cosines, sines = fourier_sums(s, X)
    for x, cosine, sine in zip(X.tolist(), cosines.tolist(), sines.tolist(), strict=True):
        with flint.ctx.workprec(128):
            order = flint.acb(flint.fmpq(*Fraction(s).as_integer_ratio()))
            known = (2 * flint.acb.pi() * flint.acb(0, x)).exp().polylog(order)
            if x % 1 == 0:  # the polylogarithm has a branch point there
                known = flint.acb(order.zeta())
        assert cosine == pytest.approx(float(known.real), abs=2e-14)
        assert sine == pytest.approx(float(known.imag), abs=2e-14)


def test_bernoullis_polynomials():
    x = torch.linspace(0, 1, 21, dtype=torch.float64)
    cosines, sines = fourier_sums(2, x)[0], fourier_sums(3, x)[1]
    assert cosines.numpy() == pytest.approx((math.pi**2 * (x**2 - x + 1 / 6)).numpy(), abs=1e-13)
    cubic = (2 * math.pi) ** 3 / 12 * (x**3 - 1.5 * x**2 + 0.5 * x)
    assert sines.numpy() == pytest.approx(cubic.numpy(), abs=1e-13)


def test_the_shape_is_kept_and_plain_sums_come_near():
    x = torch.rand((2, 3), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    i = torch.arange(1, 2001, dtype=torch.float64)
    turned = 2 * math.pi * x[..., None] * i
    plain = (turned.cos() / i**5).sum(-1), (turned.sin() / i**5).sum(-1)
    for found, wanted in zip(fourier_sums(5, x), plain, strict=True):
        assert found.shape == x.shape
        assert torch.allclose(found, wanted, rtol=0, atol=1e-13)  # 2000^-4 / 4 is left out
