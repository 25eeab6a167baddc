"""What no coupling of rank m can do, and where (17) as printed asks for it.

Paper       Here           Meaning
sigma_i     sigma          singular values of rho
m_h         m              rank of rho^
S_m, T_m    couplings.tails
C_1         Pair.size      sigma_i = C_1 i^-alpha

1. Logits (`row_floor`). Let rho have the same orthonormal functions on both sides and sigma_i >= 0,
and let tokens be independent with the law for which they are orthonormal. For every rho^ of rank at
most m
    E sum_s delta_ts^2 >= (tau - 1) (T_m + S_m^2 / (m + tau - 1)).
Proof. The pairs s != t give (tau - 1) |delta|_2^2, and E delta_tt^2 >= (E delta_tt)^2, a trace. Let
b_1, ..., b_m be the singular values of rho^ and a_i = b_i - sigma_i. By von Neumann's inequality
<rho, rho^> <= sum sigma_i b_i, so |delta|_2^2 >= T_m + sum a_i^2, and the trace of rho^ is at most
sum b_i, so that of delta is at least S_m - sum a_i. If this is not negative, the sum is at least
(tau - 1) (T_m + sum a_i^2) + (S_m - sum a_i)^2, whose minimum is that of the claim, at
a_i = S_m / (m + tau - 1). If it is, sum a_i^2 >= S_m^2 / m, which is even more.             QED
The ridge correction costs (tau - 1/2) (T_m + S_m^2 / (m + tau - 1/2)): at most 1 + 1/(2 tau - 2)
times the least possible, for all m and all sigma. With different functions on the two sides,
(tau - 1) T_m is a floor by Eckart and Young (`row_floor` with S_m = 0), and plain truncation of
sines against cosines, (tau - 1/2) T_m, is as near to it.

2. Outputs (`Pair`). tau = 2, encoded: I = I_1 u I_2. Let f = 0 on I_1 and 1 on I_2, F(z) = z, and
    rho(u, v) = C_1 sum_{i <= n} i^-alpha e_i(u) e_i(v)   for u in I_1, v in I_2,  and 0 elsewhere,
where e_1, ..., e_n are 1, sqrt2 cos, sqrt2 sin, ... of frequencies up to (n - 1)/2 and n is odd. So
H_1 = l(rho(x_1, x_2)) with the logistic function l, and H_2 = 1/2. A network with the same F and f
and any rho^ of rank m has H^_1 = l(g), g(u, v) = rho^(u, v) - rho^(u, u) of rank at most m + 1.
   Draw u_j = (j + theta)/n, v_j = (j + theta')/n, j < n, with uniform theta, theta'. The e_i are
orthonormal on these grids, so [rho(u_j, v_k)] has the singular values n C_1 i^-alpha; E = rho - g
on the grid differs from it by a matrix of rank m + 1, whence
    sum |E_jk| >= |E|_nuclear >= n C_1 sum_{i > m+1} i^-alpha = n S,
    sum |E_jk|^2 >= n^2 C_1^2 sum_{i > m+1} i^(-2 alpha) = n^2 T,
and sum min(|E_jk|, eta)^p is at least the smaller of that and eta^p, since one entry above eta is
enough for the latter. If |rho| <= k_0, |l(rho) - l(g)| >= l'(k_0 + eta) min(|rho - g|, eta). Grids
and tokens have the same mean: with eta = n S, and with eta = n sqrt(T), and slope = l'(k_0 + eta),
    E |H_1 - H^_1| >= slope S / n,          E |H_1 - H^_1|^2 >= slope^2 T.
Truncation has a mean square of at most T_m / 16 (l' <= 1/4; its diagonal is exact). With n ~ m the
slope stays away from 0 if n sqrt(T) ~ m^(3/2 - alpha), or n S ~ m^(2 - alpha), is bounded. So for
alpha >= 3/2 the mean square falls like m^-(2 alpha - 1), neither faster nor slower; and for
alpha >= 2 the L1 error not faster than m^-alpha, while the right side of (17),
8 sqrt2 C_1 m^-(2 alpha - 1) once m_FF is large, does. For smaller alpha these floors say nothing.

3. Affine networks (`affine_floor`). tau = 2, I_1 = [2, 3], I_2 = [4, 5], rho = 0, f = eps g with
g = 0 on I_1 and (1 - cos 2 pi N y)/2 on I_2, F(z) = z / eps: H_1 = g(x_2) / 2. Let networks of
budget w be continuous and linear on each of w cells of a piece, as ReLU layers can be: (13) holds
with beta = 2 and C_FF(f) = sup |f''| / 8. With m_FF = m_h = 1, (17) has the right side
    4 C_0 (0 + eps 2 pi^2 N^2 / 8),       C_0 <= 2,
since K_F |f| = 1, F is linear, and waves on the glued pieces, at most 1, the first of them
constant, are basis functions of rho = 0: as small as one likes. But for fixed x_1 and y = x_2 the
logits of every network are affine in y, and
    H^_1 - 1/4 = (A + B y + D e^{-d(y)}) / (1 + e^{-d(y)}),           d affine:
a convex or concave function over a positive one, with at most two zeros if any are isolated. H_1 -
1/4 = -cos(2 pi N y)/4 has 2N - 1 full half-waves; two zeros spoil two of them, and of the others,
in at most three runs, at least N - 3 have the wrong sign. On each, |H_1 - H^_1| >= |H_1 - 1/4| with
the integral 1/(4 pi N). So the left side is at least (N - 3)/(4 pi N), whatever eps is: what
(51) lacks is the factor K_F = 1/eps.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np

from repro.jiang2024.couplings import powers
from repro.numerics.exact import rational, vector


def row_floor(S_m: Any, T_m: Any, m: int, tau: int) -> Any:
    """No coupling of rank m has a smaller E sum_s delta_ts^2, see 1."""
    return (tau - 1) * (T_m + S_m**2 / (m + tau - 1))


@dataclass(frozen=True)
class Pair:
    """The target of 2."""

    alpha: Any
    n: int
    size: Any = "1/64"

    def __post_init__(self) -> None:
        if self.n % 2 == 0:
            raise ValueError(
                f"1, cos, sin, ... up to one frequency are an odd number: n = {self.n}"
            )

    @property
    def C_1(self) -> flint.fmpq:
        return rational(self.size)

    @cached_property
    def sigma(self) -> np.ndarray:
        return self.C_1 * powers(self.alpha, self.n)

    @cached_property
    def largest_logit(self) -> flint.arb:
        """k_0: |rho| <= 2 sum sigma_i."""
        return 2 * flint.arb(self.sigma.sum())

    def bases(self, x: flint.fmpq) -> np.ndarray:
        """e_1, ..., e_n at x in [0, 1], in balls."""
        root = flint.arb(2).sqrt()
        waves = [
            root * wave
            for k in range(1, (self.n - 1) // 2 + 1)
            for wave in (flint.arb(2 * k * x).cos_pi(), flint.arb(2 * k * x).sin_pi())
        ]
        return vector([flint.arb(1), *waves])

    def left(self, m: int, power: int) -> flint.arb:
        """sum_{i > m} sigma_i^power."""
        return flint.arb((self.sigma[m:] ** power).sum())

    def slope(self, eta: flint.arb) -> flint.arb:
        """l'(k_0 + eta)."""
        e = (self.largest_logit + eta).exp()
        return e / (1 + e) ** 2

    def mean_floor(self, m: int) -> flint.arb:
        """No coupling of rank m has a smaller E |H_1 - H^_1|."""
        S = self.left(m + 1, 1)
        return self.slope(self.n * S) * S / self.n

    def mean_square_floor(self, m: int) -> flint.arb:
        """No coupling of rank m has a smaller E |H_1 - H^_1|^2."""
        T = self.left(m + 1, 2)
        return self.slope(self.n * T.sqrt()) ** 2 * T

    def mean_square_bound(self, m: int) -> flint.arb:
        """Of the truncation after m terms."""
        return self.left(m, 2) / 16


def affine_floor(N: int) -> flint.arb:
    """No network whose parts are affine has a smaller E |H_1 - H^_1| for the target of 3."""
    if N < 4:
        raise ValueError(f"two zeros spoil everything below N = 4 waves, got N = {N}")
    return (N - 3) / (4 * flint.arb.pi() * N)


def affine_complexity(N: int, eps: Any) -> flint.arb:
    """C_FF(f) = sup |f''| / 8 of f = eps g, the g of 3."""
    return rational(eps) * 2 * (flint.arb.pi() * N) ** 2 / 8
