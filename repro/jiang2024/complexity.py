"""Equations (12)-(15): the complexity measures as numbers, for couplings made of waves.

Interpolation. A ReLU layer of w neurons interpolates f at k/w, k = 0, ..., w (`interpolant`). On a
cell of length h the error is f''(xi) (x - a)(x - b) / 2, at most h^2/8 sup |f''|: so beta = 2 and
C_FF(f) = sup |f''| / 8. For sqrt2 sin(2 pi i x) the error at the middle of a cell is
|f| (1 - cos(pi i / w)). Where a middle is a crest, as for w = 2i, 6i, 10i, ..., w^2 times it tends
to sqrt2 (2 pi i)^2 / 8 (`error_at_a_crest`): no smaller constant serves all w.

Barron. With the Fourier moment C_f = int |omega| |f^(omega)| and a ball of radius 1/2, one
sigmoidal layer has an L2 error of at most C_f / sqrt(w): beta = 1/2 and C_FF = sqrt2 (2 pi i) for
the same wave. The supremum norm needs another proof (repro/numerics/barron.py).

Orthonormal functions (`least_bill`). (10) has k pairs of orthonormal functions for every k, beyond
the rank too. Let I be tau rooms of unit length, and P project on the functions that are linear on
each of p equal cells of a room, a space of 2 p tau dimensions. Of orthonormal phi_1, ..., phi_k,
sum |(1 - P) phi_i|^2 >= k - 2 p tau; each term is at most 1, so that sum |(1 - P) phi_i| is no
smaller. By Wirtinger's inequality, twice, the error of interpolation, which is larger, is at most
|phi''|_2 / (pi p)^2, and |phi''|_2 <= sqrt(tau) sup |phi''|. Hence, for INTERPOLATION,
    C_2(H, k) >= 2/8 sum_i sup |phi_i''| >= pi^2 p^2 (k - 2 p tau) / (4 sqrt(tau)),
which is pi^2 k^3 / (108 tau^(5/2)) at p = k / (3 tau). (Of systems that end with the rank, only the
k pairs with sigma_k > 0 cost: a representation of finite rank has a bounded C_2.)

Infima. (12), (14), (15) take the infimum over all F, f, rho that represent H, each for itself; we
take all three of one representation. For the infimum of C_0 C_1 let tokens be independent and
uniform on rooms of volume 1, f in [0, 1]^n, norms the largest coordinate, C_0 with the maximum.
(a) alpha > 1 (`joint_floor`): for every representation and all t, t',
    C_0 C_1 >= 4 sqrt2 E |H_t - H_t'| / (tau zeta(alpha)).
Proof. delta_s = rho(x_t, x_s) - rho(x_t', x_s) moves the average from t' to t, by at most
diam(f)/4 sum_s |delta_s| (softmax.py). With a_it, b_is the L2 norms of phi_i, psi_i on the rooms,
E sum_s |rho(x_t, x_s)| <= sum_i sigma_i a_it sum_s b_is, the term s = t too, by Cauchy: with
sum_i sigma_i finite, rho(u, u) = sum_i sigma_i phi_i(u) psi_i(u) for almost all u, since means over
squares around (u, u) tend to the left side, rho being continuous, and to the right side by maximal
functions (Brislawn 1988). sum_s b_is <= sqrt(tau) and a_it + a_it' <= sqrt2. So
    E |H_t - H_t'| <= K_F diam(f) / 4 sqrt(2 tau) sum_i sigma_i,  sum_i sigma_i <= zeta(alpha) C_1,
and diam(f) <= |f|, sup |psi_i| + sup |phi_i| >= 2 / sqrt(tau).                                 QED
(b) 1/2 < alpha < 1 (`narrow`): the infimum is 0, for every H that has a representation with the
weights of (25). These need rho = log 2 at u = v and 0 between rooms, no more: log 2 times a hat of
width eta around the diagonal of each room, periodic, has the waves of the rooms for basis functions
and the singular values log 2 eta (sin(pi j eta) / (pi j eta))^2, tau times for j = 0 and 2 tau
times for every j >= 1. They are at most log 2 eta min(1, (pi j eta)^-2), so that
    C_1 <= log 2 eta (tau (1 + 2 / (pi eta)))^alpha -> 0   with eta,
while F, f and the basis functions stay.
"""

from collections.abc import Callable
from typing import Any

import flint
import torch

from repro.jiang2024.networks import FeedForward
from repro.numerics.exact import rational

Scheme = Callable[[flint.arb], flint.arb]  # an instance of (13): omega -> C_FF of sin(omega x)


def INTERPOLATION(omega: flint.arb) -> flint.arb:
    return omega**2 / 8


def BARRON(omega: flint.arb) -> flint.arb:
    return omega


def of_wave(scheme: Scheme, i: int) -> flint.arb:
    """C_FF of sqrt2 sin(2 pi i x) and of sqrt2 cos(2 pi i x)."""
    return flint.arb(2).sqrt() * scheme(2 * flint.arb.pi() * i)


def C_0(K_F: Any, sup_f: Any, sup_bases: Any) -> Any:
    """(15) as it is meant: the larger of product and 1; sup_bases is sup_i |psi_i| + |phi_i|."""
    return flint.arb(K_F * sup_f * sup_bases).max(flint.arb(1))


def C_0_as_printed(K_F: Any, sup_f: Any, sup_bases: Any) -> Any:
    """(15) read literally: the infimum of the two."""
    return flint.arb(K_F * sup_f * sup_bases).min(flint.arb(1))


def C_2(scheme: Scheme, k: int) -> flint.arb:
    """(14) for k pairs of waves; F and f of Section 5.1 cost nothing."""
    return 2 * sum((of_wave(scheme, i) for i in range(1, k + 1)), flint.arb(0))


def least_bill(k: int, tau: int = 1) -> flint.arb:
    """No k pairs of orthonormal functions on tau rooms have a smaller C_2, for INTERPOLATION."""
    most = max(p**2 * (k - 2 * p * tau) for p in range(k // (2 * tau) + 1))
    return flint.arb.pi() ** 2 * most / (4 * flint.arb(tau).sqrt())


def joint_floor(difference: Any, tau: int, alpha: Any) -> flint.arb:
    """No representation has a smaller C_0 C_1, alpha > 1; difference is E |H_t - H_t'|."""
    zeta = flint.arb(rational(alpha)).zeta()
    return 4 * flint.arb(2).sqrt() * difference / (tau * zeta)


def narrow(eta: Any, tau: int, alpha: Any) -> flint.arb:
    """A bound of C_1 for a coupling of width eta with the weights of (25), see (b)."""
    eta, alpha = flint.arb(rational(eta)), flint.arb(rational(alpha))
    return flint.arb(2).log() * eta * (tau * (1 + 2 / (flint.arb.pi() * eta))) ** alpha


def interpolant(values: torch.Tensor) -> FeedForward:
    """The ReLU layer with w neurons that has values[:, k] at k/w, k = 0, ..., w, linear between."""
    w = values.shape[1] - 1
    return linear_between(torch.arange(w + 1, dtype=values.dtype, device=values.device) / w, values)


def linear_between(knots: torch.Tensor, values: torch.Tensor) -> FeedForward:
    """The ReLU layer with a neuron for every knot but the last, and values[:, k] at knots[k].

    All functions, rows of `values`, share the neurons relu(x - knot).
    """
    slopes = values.diff(dim=1) / knots.diff()
    turns = torch.cat([slopes[:, :1], slopes.diff(dim=1)], dim=1)
    return FeedForward(torch.ones_like(knots[:-1, None]), -knots[:-1], turns, values[:, 0])


def error_at_a_crest(i: int, w: int) -> flint.arb:
    """|f - f^| for sqrt2 sin(2 pi i x) and w = 2i, 6i, 10i, ... cells, at a crest."""
    return flint.arb(2).sqrt() * (1 - (flint.arb(i) / w).cos_pi())
