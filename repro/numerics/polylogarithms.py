"""Fourier series whose coefficients are powers, summed to the end.

    sum_{i >= 1} cos(2 pi i x) / i^s   and   sum_{i >= 1} sin(2 pi i x) / i^s,       s > 1,

are the real and the imaginary part of the polylogarithm Li_s(e^mu), mu = 2 pi i x. For |mu| < 2 pi
    Li_s(e^mu) = Gamma(1 - s) (-mu)^(s-1) + sum_{k >= 0} zeta(s - k) mu^k / k!,
and if s is an integer, where the Gamma function and the term k = s - 1 are infinite, the limit of
their sum is mu^(s-1) / (s-1)! (1 + 1/2 + ... + 1/(s-1) - log(-mu)) (Erdelyi and others, Higher
Transcendental Functions, 1.11; DLMF 25.12.12). Both series have period 1, so |x| <= 1/2 will do:
then the terms fall like 2^-k, and TERMS of them leave less than a rounding.
"""

import cmath
import math
from functools import cache
from typing import Any

import flint
import torch
from torch import Tensor

from repro.numerics.exact import rational

TERMS, BITS = 64, 128


def fourier_sums(s: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of cosines and the sum of sines at x, both of the shape of x."""
    s = rational(s)
    x = x - x.round()
    t = 2 * math.pi * x.abs()  # mu = it for x >= 0; the rest is symmetry
    singular = _singular(s, t)
    even, odd = (_horner(_taylor(s)[part::2], -t * t) for part in (0, 1))  # (it)^2 = -t^2
    return even + singular.real, x.sign() * (t * odd + singular.imag)


def _horner(coefficients: tuple[float, ...], y: Tensor) -> Tensor:
    total = torch.zeros_like(y)
    for coefficient in reversed(coefficients):
        total = total.mul_(y).add_(coefficient)
    return total


@cache
def _taylor(s: flint.fmpq) -> tuple[float, ...]:
    """zeta(s - k) / k!, and 0 at the pole."""
    with flint.ctx.workprec(BITS):
        return tuple(
            0.0 if s - k == 1 else float(flint.arb(s - k).zeta() / math.factorial(k))
            for k in range(TERMS)
        )


def _singular(s: flint.fmpq, t: Tensor) -> Tensor:
    """The term that is no power series, at mu = it, where log(-mu) = log t - i pi / 2."""
    if s.q != 1:
        power = float(s - 1)
        return math.gamma(1 - float(s)) * cmath.exp(-0.5j * math.pi * power) * t**power
    n = int(s.p) - 1
    harmonic = sum(1 / j for j in range(1, n + 1))
    least = torch.finfo(t.dtype).tiny  # t^n log t is 0 at t = 0
    return (
        (1j * t) ** n / math.factorial(n) * (harmonic + 0.5j * math.pi - t.clamp_min(least).log())
    )
