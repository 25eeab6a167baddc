"""What no coupling of rank m can do to the outputs, with exact F and f, for one target.

This is a gap in the proof of Theorem 4.1, (47)-(52); in (17) F^ and f^ are free, and may do better.
sigma_i = C_1 i^-alpha, m = m_h is the rank of rho^, and l the logistic function.

Which exponents this leaves (`EndlessPair`, all waves, one target for every m). Take n ~ m large
enough for B_1 < S/2 and B_2 < T/4 in the proofs below. The slope stays away from 0 if
n T^(1/2) ~ m^(3/2 - alpha), or n S ~ m^(2 - alpha), is bounded. So for alpha >= 3/2 the least mean
square falls like m^-(2 alpha - 1), neither faster nor slower. For alpha >= 2 the least L1 error
falls no faster than m^-alpha, while (52) does: for tau = 2 and large m_FF it is
8 sqrt2 C_1 m^-(2 alpha - 1). For smaller alpha the floors prove no rate.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np
import torch

from repro.jiang2024.couplings import first, infinite_tails, powers
from repro.jiang2024.encodings import inside
from repro.jiang2024.model import Target
from repro.numerics.exact import rational, to_float
from repro.numerics.polylogarithms import fourier_sums


@dataclass(frozen=True)
class Pair:
    """A target with n waves, for tau >= 2 encoded tokens.

    f = 0 on I_1, ..., I_(tau-1) and 1 on I_tau, F(z) = z, and
        rho(u, v) = C_1 sum_i i^-alpha e_i(u) e_i(v)   for u in I_1, v in I_tau,   0 elsewhere,
    where e_1, e_2, ... are 1, sqrt2 cos, sqrt2 sin, ... of the frequencies 0, 1, 1, 2, 2, ...; n of
    them, an odd number. So H_1 = l(rho(x_1, x_tau) - b) with b = log(tau - 1), and H_t = 1/tau for
    t > 1.

    >>> from repro.jiang2024.output_floor import Pair
    >>> pair = Pair(alpha=2, n=65)
    >>> for m in (4, 16):  # the mean square error of the best coupling of rank m, enclosed
    ...     floor, bound = pair.mean_square_floor(m), pair.mean_square_bound(m)
    ...     print(m, f"{float(floor):.3g} to {float(bound):.3g}")
    4 2.99e-08 to 5.45e-08
    16 9.28e-10 to 1.11e-09
    """

    alpha: Any
    n: int
    size: Any = "1/64"
    tau: int = 2

    @property
    def C_1(self) -> flint.fmpq:
        return rational(self.size)

    @cached_property
    def sigma(self) -> np.ndarray:
        """Those of e_1, ..., e_n."""
        return self.C_1 * powers(self.alpha, self.n)

    @cached_property
    def largest_logit(self) -> flint.arb:
        """k_0: |rho| <= 2 sum sigma_i."""
        return 2 * (flint.arb(self.sigma.sum()) + self.beyond[0])

    @property
    def beyond(self) -> tuple[flint.arb, flint.arb]:
        """B_1 and B_2 of the proof: what the waves beyond n can do."""
        return flint.arb(0), flint.arb(0)

    def left(self, m: int, power: int) -> flint.arb:
        """sum_{m < i <= n} sigma_i^power."""
        return flint.arb((self.sigma[m:] ** power).sum())

    def slope(self, logit: flint.arb) -> flint.arb:
        """l'(max(logit + b, 0)); l' is even and falls from 0 on."""
        e = (logit + flint.arb(self.tau - 1).log()).max(flint.arb(0)).exp()
        return e / (1 + e) ** 2

    def mean_floor(self, m: int) -> flint.arb:
        """No coupling of rank m has a smaller E |H_1 - H^_1|; alpha >= 2.

        Proof, also of `mean_square_floor`. A network with the same F and f and any rho^ of rank m
        has H^_1 = l(g - b), where g(u, v), u = x_1, v = x_tau, is rho^(u, v) minus the logarithm of
        the mean of e^rho^(u, x_s) over s < tau. Fix x_2, ..., x_(tau-1): that logarithm is a
        function of u alone, and g has rank at most m + 1.
           Draw u_j = (j + theta)/n, v_j = (j + theta')/n, j < n, with theta and theta' uniform on
        [0, 1] and independent, for any odd n. On these grids e_1, ..., e_n are orthonormal, so
        [rho(u_j, v_k)] = A + R, where A has the singular values n C_1 i^-alpha, i <= n, and R holds
        the terms beyond n, if any. With |.|_F the Frobenius and |.|_nuclear the nuclear norm
            E |R|_F <= n B_2^(1/2),  B_2 = C_1^2 sum_{i > n} i^(-2 alpha),  (u_j, v_k) is uniform;
            E |R|_nuclear <= n B_1,  B_1 = C_1 sum_{i > n} i^-alpha,  as E sum_j e_i(u_j)^2 = n.
        D = rho - g on the grid differs from A + R by a matrix of rank m + 1. With S and T the sums
        of C_1 i^-alpha and of its squares over m + 1 < i <= n (Eckart and Young, Mirsky)
            sum |D_jk| >= |D|_nuclear >= n S - |R|_nuclear,
            (sum |D_jk|^2)^(1/2) = |D|_F >= n T^(1/2) - |R|_F,
        and sum min(|D_jk|, eta)^p is at least the smaller of sum |D_jk|^p and eta^p, since one
        entry above eta is enough for the latter. If |rho| <= k_0, l(rho - b) and l(g - b) differ by
        at least slope = l'(k_0 + eta + b) times min(|rho - g|, eta). Grids and tokens have the same
        mean, and (n T^(1/2) - r)_+^2 is convex and falls in r. So Jensen's inequality gives, with
        eta = n S and with eta = n T^(1/2),
            E |H_1 - H^_1| >= slope (S - B_1) / n,
            E |H_1 - H^_1|^2 >= slope^2 (T^(1/2) - B_2^(1/2))_+^2.                           QED
        """
        S = self.left(m + 1, 1)
        return self.slope(self.largest_logit + self.n * S) * (S - self.beyond[0]) / self.n

    def mean_square_floor(self, m: int) -> flint.arb:
        """No coupling of rank m has a smaller E |H_1 - H^_1|^2; alpha >= 3/2."""
        root = self.left(m + 1, 2).sqrt()
        left = (root - self.beyond[1].sqrt()).max(flint.arb(0))
        return (self.slope(self.largest_logit + self.n * root) * left) ** 2

    def mean_square_bound(self, m: int) -> flint.arb:
        """Of the truncation after m terms, which is exact for s < tau and has logits up to k_0.

        It is l'(z)^2 T_m with z = max(b - k_0, 0), T_m with the waves beyond n.
        """
        return self.slope(-self.largest_logit) ** 2 * (self.left(m, 2) + self.beyond[1])

    def target(self, m: int | None = None) -> Target:
        """H, or H^ with the first m terms; for tokens as tensors.

        F and f, with the coupling for u in I_1 and v in I_tau, 0 elsewhere.
        """

        def rho(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            between = (inside(u, 1) * inside(v, self.tau).mT).bool()
            own, other = (x.expand(between.shape)[between][:, None, None] for x in (u, v.mT))
            found = torch.zeros_like(between, dtype=u.dtype)
            found[between] = self._coupling(own, other, m)[:, 0, 0]
            return found

        return Target(first, lambda x: inside(x, self.tau), rho)

    def rank_one(self, eps: float) -> Target:
        """H^ with a rho^ of rank 1 that is nearly the truncation after two terms; tau = 2.

        So the floors cannot have m for m + 1. Keys that differ between I_1 and I_2 make rho^(u, u)
        free where the queries do not vanish: with the keys -sigma_1 e_2 / (e_2^2 + eps^2) on I_1
            g(u, v) = sigma_1 e_2(u)^2 / (e_2(u)^2 + eps^2) + sigma_2 e_2(u) e_2(v).
        For n = 3 its mean square is nearly T / 16: the floor is sharp.
        """
        sigma = to_float(self.sigma)

        def rho(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            e_2 = _waves(v, 2)[..., 1:]
            free = -sigma[0] * e_2 / (e_2**2 + eps**2)
            keys = torch.where(inside(v, 1) == 1, free, sigma[1] * e_2)
            return (inside(u, 1) * _waves(u, 2)[..., 1:]) @ keys.mT

        return Target(first, lambda x: inside(x, self.tau), rho)

    def _coupling(self, u: torch.Tensor, v: torch.Tensor, m: int | None) -> torch.Tensor:
        """rho without regard to rooms, or its first m terms."""
        m = self.n if m is None else m
        return (_waves(u, m) * torch.tensor(to_float(self.sigma[:m]))) @ _waves(v, m).mT


@dataclass(frozen=True)
class EndlessPair(Pair):
    """The target with all waves, the same for every n, which is the grid of the proof."""

    @cached_property
    def beyond(self) -> tuple[flint.arb, flint.arb]:
        B_1, B_2 = infinite_tails(self.alpha, self.n)
        return self.C_1 * B_1, self.C_1**2 * B_2

    def _coupling(self, u: torch.Tensor, v: torch.Tensor, m: int | None) -> torch.Tensor:
        """2 cos cos and 2 sin sin are cosines of the difference plus or minus those of the sum."""
        if m is not None:
            return super()._coupling(u, v, m)
        (even, odd), (even_2, odd_2) = map(self._cosines, (u - v.mT, u + v.mT))
        return float(self.C_1) * (1 + even + even_2 + odd - odd_2)

    def _cosines(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The sums of cos(2 pi k x) / (2k)^alpha and of cos(2 pi k x) / (2k + 1)^alpha, k >= 1.

        The latter from the odd terms j = 2k + 1 of cosines and sines of pi j x, turned by pi x.
        """
        half = 2 ** -float(rational(self.alpha))
        (C, S), (C_2, S_2) = (fourier_sums(self.alpha, y) for y in (x, x / 2))
        turn = math.pi * x
        return half * C, turn.cos() * (C_2 - half * C) + turn.sin() * (S_2 - half * S) - 1


def wide(alpha: Any, m: int, tau: int = 2) -> EndlessPair:
    """The target on a grid that leaves little beyond it, for the floor of the mean square."""
    return EndlessPair(alpha, 16 * m + 1, tau=tau)


def narrow(alpha: int, m: int, tau: int = 2) -> EndlessPair:
    """The target on the grid with the largest floor of the L1 error.

    For n = x m the floor is about (1 - 2 x^(1 - alpha)) / x, largest at
    x = (2 alpha)^(1/(alpha - 1)).
    """
    n = 2 * (int((2 * alpha) ** (1 / (alpha - 1)) * m) // 2) + 1
    return EndlessPair(alpha, n, tau=tau)


def _waves(x: torch.Tensor, m: int) -> torch.Tensor:
    """e_1, ..., e_m of the place in its room, (..., 1) -> (..., m)."""
    angles = 2 * math.pi * x * torch.arange(1, m // 2 + 1)
    pairs = math.sqrt(2) * torch.stack([angles.cos(), angles.sin()], -1).flatten(-2)
    return torch.cat([torch.ones_like(x), pairs], -1)[..., :m]
