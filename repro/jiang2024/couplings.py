"""Section 5.1: couplings whose decomposition (10) is known, as their singular values are chosen.

sigma_i     Coupling.sigma       as one likes; i^-alpha by `powers`, R of them for infinitely many
phi_i       Coupling.queries     sqrt2 sin(2 pi i u)
psi_i       Coupling.keys        the same sine, or sqrt2 cos(2 pi i v)
I           Coupling.pieces      0: all tokens in [0, 1]. tau: token t in [2t, 2t + 1], as (7) wants
S_m, T_m    tails                sum_{i > m} sigma_i and sum_{i > m} sigma_i^2

    rho(u, v) = sum_{i <= R} sigma_i phi_i(u) psi_i(v).                                      (68)
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import flint
import numpy as np
import torch

from repro.jiang2024.encodings import rooms
from repro.jiang2024.model import Target
from repro.numerics.arrays import Array, each, inner
from repro.numerics.exact import rational, to_float, vector
from repro.numerics.polylogarithms import fourier_sums

BITS = 128


def powers(alpha: Any, R: int) -> np.ndarray:
    """sigma_i = i^-alpha for i = 1, ..., R, in balls."""
    with flint.ctx.workprec(BITS):
        exponent = -flint.arb(rational(alpha))
        return vector([flint.arb(i) ** exponent for i in range(1, R + 1)])


def tails(sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S_m and T_m for m = 0, ..., R."""
    backwards = sigma[::-1]
    S, T = (np.concatenate([[0 * sigma[0]], np.cumsum(v)])[::-1] for v in (backwards, backwards**2))
    return S, T


def infinite_tails(alpha: Any, m: int) -> tuple[flint.arb, flint.arb]:
    """S_m and T_m of all i^-alpha, alpha > 1: Hurwitz's zeta at alpha and 2 alpha."""
    alpha = rational(alpha)
    with flint.ctx.workprec(BITS):
        return flint.arb(alpha).zeta(m + 1), flint.arb(2 * alpha).zeta(m + 1)


@dataclass(frozen=True)
class Coupling:
    """rho of (68) with sines for phi_i; key is the name of psi_i.

    >>> import torch
    >>> from repro.jiang2024.couplings import Coupling, powers
    >>> coupling = Coupling(powers(2, 3))  # sigma_i = 1, 1/4, 1/9
    >>> x = torch.tensor([[0.25], [0.125]])  # two tokens
    >>> coupling.rho(x, x)  # of rank 3: what attention sees before the softmax
    tensor([[2.2222, 1.2571],
            [1.2571, 1.6111]])
    >>> coupling.target()(x)  # averages of both tokens
    tensor([0.2155, 0.1766])
    """

    sigma: np.ndarray  # (R,), exact or balls
    key: str = "sin"
    pieces: int = 0

    def queries(self, x: Array, terms: slice = slice(None)) -> Array:
        """phi_i(x) for i in `terms`, (..., tau, 1) -> (..., tau, number of terms)."""
        return self._waves(x, "sin", terms)

    def keys(self, x: Array, terms: slice = slice(None)) -> Array:
        """psi_i(x)."""
        return self._waves(x, self.key, terms)

    def rho(self, u: Array, v: Array) -> Array:
        return inner(self.queries(u) * numbers(self.sigma, u), self.keys(v))

    def diagonal(self, x: Array) -> Array:
        """rho(u, u) for every token, (..., tau, 1)."""
        return (self.queries(x) * numbers(self.sigma, x) * self.keys(x)).sum(-1)[..., None]

    def target(self) -> Target:
        """(8) with F(z) = z and f(x) = x, where x is what an encoded token encodes."""
        return Target(first, self.content, self.rho)

    def content(self, x: Array) -> Array:
        """x(t) in [0, 1] of a token; f of the target."""
        return x - 2 * rooms(x)[..., None] if self.pieces else x

    def glued(self, x: Array) -> Array:
        """The coordinate g in [0, 1] that the waves are functions of.

        g(x) = (t - 1 + x - 2t) / tau glues the pieces together and multiplies volumes by 1 / tau.
        So phi_i(g(x)) / sqrt(tau) are orthonormal on I, and sum_i sigma_i phi_i(g) psi_i(g) / tau
        has the singular values sigma_i.
        """
        return (rooms(x)[..., None] - 1 + self.content(x)) / self.pieces if self.pieces else x

    def _waves(self, x: Array, name: str, terms: slice) -> Array:
        frequencies = np.arange(1, len(self.sigma) + 1)[terms]
        g = self.glued(x)
        volume = max(self.pieces, 1)
        if isinstance(g, torch.Tensor):
            angles = g * numbers(frequencies, g)  # many: one array, changed where it stands
            angles.sub_(angles.floor()).mul_(2 * math.pi)
            return getattr(torch, name)(angles).mul_(math.sqrt(2 / volume))
        height = (flint.arb(2) / volume).sqrt()
        return each(lambda a: height * getattr(flint.arb(a), f"{name}_pi")(), 2 * g * frequencies)


@dataclass(frozen=True)
class Endless(Coupling):
    """sigma_i = i^-alpha for every i, alpha > 1; `sigma` is the beginning, for networks to keep.

    2 sin a sin b = cos(a - b) - cos(a + b) and 2 sin a cos b = sin(a - b) + sin(a + b), so that
    rho(u, v) is
        C(u - v) - C(u + v)   for sines,    S(u - v) + S(u + v)   for sines against cosines,
    where C(x) and S(x) are the sums of cos(2 pi i x) / i^alpha and of sin(2 pi i x) / i^alpha,
    which have a closed form (repro/numerics/polylogarithms.py). For tensors.
    """

    alpha: Any = 2  # setting: never taken, endless() gives it

    def rho(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return self._summed(self.glued(u), self.glued(v).mT)

    def diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return self._summed(self.glued(x), self.glued(x))

    def _summed(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        (C, S), (C_2, S_2) = (fourier_sums(self.alpha, angle) for angle in (u - v, u + v))
        return (C - C_2 if self.key == "sin" else S + S_2) / max(self.pieces, 1)


@cache
def endless(alpha: Any, R: int, key: str = "sin", pieces: int = 0) -> Endless:
    """The coupling of all waves, of which a network may keep R."""
    return Endless(powers(alpha, R), key, pieces, alpha)


def numbers(values: np.ndarray, like: Array) -> Array:
    """Exact numbers in the arithmetic of `like`: a tensor of its kind, or as they are."""
    if isinstance(like, torch.Tensor):
        return torch.tensor(to_float(values), dtype=like.dtype, device=like.device)
    return values


def first(z: Array) -> Array:
    """F: the one coordinate of the average."""
    return z[..., 0]


def diagonal_at_quarter(R: int) -> flint.fmpq:
    """The sum of the first R terms of rho(1/4, 1/4) for alpha = 1, 2 (1 + 1/3 + ...), exactly."""
    return sum((flint.fmpq(2, i) for i in range(1, R + 1, 2)), flint.fmpq(0))


def logarithmic(u: flint.fmpq, v: flint.fmpq) -> flint.arb:
    """rho(u, v) for alpha = 1 and u != v, sines on both sides, which is not continuous.

    From sum_i cos(2 pi i x) / i = -log |2 sin(pi x)|,
        sum_i 2 sin(2 pi i u) sin(2 pi i v) / i = log |sin pi(u + v) / sin pi(u - v)|.
    """
    return abs(flint.arb(u + v).sin_pi() / flint.arb(u - v).sin_pi()).log()


def beyond(R: int, u: flint.fmpq, v: flint.fmpq) -> flint.arb:
    """Abel's bound for the terms beyond R: 1/(R + 1) (1/|sin pi(u + v)| + 1/|sin pi(u - v)|)."""
    return sum((1 / abs(flint.arb(x).sin_pi()) for x in (u + v, u - v)), flint.arb(0)) / (R + 1)
