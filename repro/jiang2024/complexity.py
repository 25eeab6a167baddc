"""Equations (12)-(15): the complexity measures as numbers, for the representation at hand.

Paper          Here                        Meaning
C_FF(f)        Scheme.of_wave              constant of (13)
beta           Scheme.beta                 exponent of (13)
C_0, C_1, C_2  C_0, C_1, C_2               of couplings made of waves (repro/jiang2024/couplings.py)

Interpolation. A ReLU layer of w neurons interpolates f at k/w, k = 0, ..., w (`interpolant`). On a
cell of length h the error is f''(xi) (x - a)(x - b) / 2, at most h^2/8 sup |f''|: so beta = 2 and
C_FF(f) = sup |f''| / 8. For sqrt2 sin(2 pi i x) the error at the middle of a cell is
|f| (1 - cos(pi i / w)). Where a middle is a crest, as for w = 2i, 6i, 10i, ..., w^2 times it tends
to sqrt2 (2 pi i)^2 / 8 (`error_at_a_crest`): no smaller constant serves all w.

Barron. With the Fourier moment C_f = int |omega| |f^(omega)| and a ball of radius 1/2, one
sigmoidal layer has an L2 error of at most C_f / sqrt(w): beta = 1/2 and C_FF = sqrt2 (2 pi i) for
the same wave. In L2 only; the supremum norm needs another proof (repro/numerics/barron.py).

The measures (14) and (15) are meant as infima over all F, f, rho that represent H. These infima are
not attained: (F(./eps), eps f) has the same K_F |f|, the same averages and eps C_FF(f).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
import torch

from repro.jiang2024.networks import FeedForward
from repro.numerics.exact import rational


@dataclass(frozen=True)
class Scheme:
    """One instance of (13): its beta, and C_FF of sin(omega x)."""

    beta: flint.fmpq
    of_sine: Callable[[flint.arb], flint.arb]

    def of_wave(self, i: int) -> flint.arb:
        """C_FF of sqrt2 sin(2 pi i x) and of sqrt2 cos(2 pi i x)."""
        return flint.arb(2).sqrt() * self.of_sine(2 * flint.arb.pi() * i)


INTERPOLATION = Scheme(flint.fmpq(2), lambda omega: omega**2 / 8)
BARRON = Scheme(flint.fmpq(1, 2), lambda omega: omega)


def C_0(K_F: Any, sup_f: Any, sup_bases: Any) -> Any:
    """(15) as it is meant: the larger of product and 1; sup_bases is sup_i |psi_i| + |phi_i|."""
    product = flint.arb(K_F * sup_f * sup_bases)
    return product.max(flint.arb(1))


def C_0_as_printed(K_F: Any, sup_f: Any, sup_bases: Any) -> Any:
    """(15) read literally: the infimum of the two."""
    return flint.arb(K_F * sup_f * sup_bases).min(flint.arb(1))


def C_1(sigma: np.ndarray, alpha: Any) -> flint.arb:
    """The least c with sigma_i <= c i^-alpha for all i."""
    alpha, largest = flint.arb(rational(alpha)), flint.arb(0)
    for i, value in enumerate(sigma, start=1):
        largest = largest.max(flint.arb(value) * flint.arb(i) ** alpha)
    return largest


def C_2(scheme: Scheme, k: int, of_F: Any = 0, of_f: Any = 0) -> flint.arb:
    """(14) for k pairs of waves; F and f of Section 5.1 cost nothing."""
    waves = sum((scheme.of_wave(i) for i in range(1, k + 1)), flint.arb(0))
    return of_F + of_f + 2 * waves


def interpolant(values: torch.Tensor) -> FeedForward:
    """The ReLU layer with w neurons that has values[:, k] at k/w, k = 0, ..., w, linear between.

    All functions, rows of `values`, share the neurons relu(x - k/w).
    """
    w = values.shape[1] - 1
    knots = torch.arange(w, dtype=values.dtype, device=values.device) / w
    slopes = values.diff(dim=1) * w
    turns = torch.cat([slopes[:, :1], slopes.diff(dim=1)], dim=1)
    return FeedForward(torch.ones_like(knots)[:, None], -knots, turns, values[:, 0])


def error_at_a_crest(i: int, w: int) -> flint.arb:
    """|f - f^| for sqrt2 sin(2 pi i x) and w cells, in the middle of a cell that is a crest."""
    if w % (2 * i) or w // (2 * i) % 2 == 0:
        raise ValueError(f"some middle is a crest if w is an odd multiple of 2i = {2 * i}, got {w}")
    return flint.arb(2).sqrt() * (1 - (flint.arb(i) / w).cos_pi())
