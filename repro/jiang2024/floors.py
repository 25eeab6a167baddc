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
Proof. Let |.|_2 be the norm of functions of (u, v) in L2. The pairs s != t give (tau - 1)
|delta|_2^2, and E delta_tt^2 >= (E delta_tt)^2, a trace. Let b_1, ..., b_m be the singular values
of rho^ and a_i = b_i - sigma_i. By von Neumann's inequality
<rho, rho^> <= sum sigma_i b_i, so |delta|_2^2 >= T_m + sum a_i^2, and the trace of rho^ is at most
sum b_i, so that of delta is at least S_m - sum a_i. If this is not negative, the sum is at least
(tau - 1) (T_m + sum a_i^2) + (S_m - sum a_i)^2, whose minimum is that of the claim, at
a_i = S_m / (m + tau - 1). If it is, sum a_i^2 >= S_m^2 / m, which is even more.             QED
The ridge correction solves the same problem with tau - 1/2 for tau - 1 (`least_cost`): it costs at
most 1 + 1/(2 tau - 2) times the least possible, for all m and all sigma. With different functions
on the two sides, (tau - 1) T_m is a floor by Eckart and Young (`row_floor` with S_m = 0), and plain
truncation of sines against cosines, (tau - 1/2) T_m, is as near to it.

2. Outputs (`Pair`, `EndlessPair`). tau >= 2, encoded. Let f = 0 on I_1, ..., I_(tau-1) and 1 on
I_tau, F(z) = z, and
    rho(u, v) = C_1 sum_i i^-alpha e_i(u) e_i(v)   for u in I_1, v in I_tau,   and 0 elsewhere,
where e_1, e_2, ... are 1, sqrt2 cos, sqrt2 sin, ... of the frequencies 0, 1, 1, 2, 2, ...; all of
them, or n, an odd number. So H_1 = l(rho(x_1, x_tau) - b) with the logistic function l and
b = log(tau - 1), and H_t = 1/tau for t > 1. A network with the same F and f and any rho^ of rank m
has H^_1 = l(g - b), where g(u, v), u = x_1, v = x_tau, is rho^(u, v) minus the logarithm of the
mean of e^rho^(u, x_s) over s < tau. Let x_2, ..., x_(tau-1) be fixed: that is a function of u
alone, and g has rank at most m + 1.
   Draw u_j = (j + theta)/n, v_j = (j + theta')/n, j < n, with theta and theta' uniform on [0, 1]
and independent of each other, and any odd n. On these grids e_1, ..., e_n are orthonormal, so
[rho(u_j, v_k)] = A + R, where A has the singular values n C_1 i^-alpha, i <= n, and R the terms
beyond n, if there are any. With |.|_F of Frobenius and the nuclear norm of matrices
    E |R|_F <= n B_2^(1/2),  B_2 = C_1^2 sum_{i > n} i^(-2 alpha),  each (u_j, v_k) being uniform;
    E |R|_nuclear <= n B_1,  B_1 = C_1 sum_{i > n} i^-alpha,  for sum_j e_i(u_j)^2 has the mean n.
D = rho - g on the grid differs from A + R by a matrix of rank m + 1. With S and T the sums of
C_1 i^-alpha and of its squares over m + 1 < i <= n (Eckart and Young, Mirsky)
    sum |D_jk| >= |D|_nuclear >= n S - |R|_nuclear,
    (sum |D_jk|^2)^(1/2) = |D|_F >= n T^(1/2) - |R|_F,
and sum min(|D_jk|, eta)^p is at least the smaller of sum |D_jk|^p and eta^p, since one entry above
eta is enough for the latter. If |rho| <= k_0, l(rho - b) and l(g - b) differ by at least the
slope = l'(k_0 + eta + b) times min(|rho - g|, eta). Grids and tokens have the same mean, and
(n T^(1/2) - r)_+^2 is convex and falls in r: with eta = n S, and with eta = n T^(1/2), Jensen's
inequality gives
    E |H_1 - H^_1| >= slope (S - B_1) / n,    E |H_1 - H^_1|^2 >= slope^2 (T^(1/2) - B_2^(1/2))_+^2.
It is m + 1 and not m: for tau = 2, keys that differ between I_1 and I_2 make rho^(u, u) free where
the queries do not vanish. With e_1 = 1, m = 1 and keys -sigma_1 e_2 / (e_2^2 + eps^2) on I_1
(`rank_one`),
    g(u, v) = sigma_1 e_2(u)^2 / (e_2(u)^2 + eps^2) + sigma_2 e_2(u) e_2(v),
nearly the truncation after two terms; for n = 3 its mean square is T / 16, and the floor sharp.
   Truncation, exact for s < tau, has logits up to k_0 too, and a mean square of at most l'(z)^2 T_m
with z = max(b - k_0, 0); for tau = 2 that is T_m / 16. Take all waves, one target for every m, and
n ~ m large enough for B_1 < S/2, B_2 < T/4. The slope stays away from 0 if n T^(1/2) ~ m^(3/2 -
alpha), or n S ~ m^(2 - alpha), is bounded. So for this target and alpha >= 3/2 the least mean
square falls like m^-(2 alpha - 1), neither faster nor slower; and for alpha >= 2 the least L1 error
not faster than m^-alpha, while the right side of (17), for tau = 2 8 sqrt2 C_1 m^-(2 alpha - 1)
once m_FF is large, does. For smaller alpha the slope goes to 0, and what is left of the floors
proves no rate: they refuse it.

3. Affine networks (`affine_floor`). tau = 2, I_1 = [2, 3], I_2 = [4, 5], rho = 0, f = eps g with
g = 0 on I_1 and (1 - cos 2 pi N y)/2 on I_2, F(z) = z / eps: H_1 = g(x_2) / 2. Let networks of
budget w be continuous and linear on each of w cells of a piece, as ReLU layers can be: (13) holds
with beta = 2 and C_FF(f) = sup |f''| / 8. With m_FF = m_h = 1, (17) has the right side
    4 C_0 (0 + eps 2 pi^2 N^2 / 8),       C_0 <= 2,
since K_F |f| = 1, F is linear, and waves on the glued pieces, at most 1, the first of them
constant, are basis functions of rho = 0 (which needs none if they end with the rank): as small as
one likes. But for fixed x_1 and y = x_2 the
logits of every network are affine in y, and
    H^_1 = (A + B y + D e^{-d(y)}) / (1 + e^{-d(y)}),           d affine.
H^_1 - z is a convex or concave function over a positive one, for every number z: each value is
taken at most twice, unless H^_1 is constant, so that g^ = H^_1 - 1/4 has at most one turning point.
   h = H_1 - 1/4 = -cos(2 pi N y)/4 has 2N - 1 full half-waves +, -, ..., +, each of the area
a = 1/(4 pi N), between two quarter-waves -. (i) If g^ does not fall on sets P, Q of one size, P to
the left of Q, h > 0 on P and h < 0 on Q, then int |h - g^| over both is at least int |h|, since
int_P g^ <= int_Q g^; likewise - before + where it does not rise. Let g^ rise and then fall. A
turning point in a + leaves pairs (+-) to its left and (-+) to its right, and wastes that half-wave.
One in a - that it cuts into sizes p and q pairs them with the highest parts, of sizes p and q, of
the + on either side: their areas add up to a at least, the area of the highest part being concave
in its size. So 2N - 2 half-waves count. If g^ falls and then rises, pairs (-+) to the left and (+-)
to the right begin with the quarter-waves, each of which pairs with the highest half of its
neighbour: together no less than a. The rest is as before, also with the turning point in a quarter-
wave, or in the half-wave next to it: there its larger part and what it pairs with have a. Hence
    E |H_1 - H^_1| >= (2N - 2) a = (N - 1) / (2 pi N),
whatever eps is; the constant 1/4 has 1/(2 pi), and h on the quarter-waves and on one + and 0 in
between, with one turning point, attains it. What (51) lacks is the factor K_F = 1/eps.

4. Logits of encoded tokens (`encoded_floor`). Let tau be even and rho the glued coupling of
couplings.py, sines against sines or cosines. No rho^ of rank at most m, and no functions c_t of one
token, added to the logits of its row, where softmax does not see them, have less than
    sum_{s != t} E (delta_ts - c_t(x_t))^2 >= T_{m+1} / 2,    and without them    T_m / 2.
Proof. In the coordinate g of couplings.py these are the squared norms of tau delta on squares of
the side 1/tau. Let A be the first tau/2 rooms and B the others. Queries in A and keys in B fill
[0, 1/2] x [1/2, 1]. On both of its sides 2 sin(2 pi i g), i = 1, 2, ..., are orthonormal, and so
are 2 cos(2 pi i g): there tau rho has the singular values sigma_i / 2, and rank m leaves T_m / 4
(Eckart and Young). So it does with queries in B and keys in A. These are other pairs, and s != t in
all of them: what rho^ is on I_t x I_t plays no part. The c_t are one function of the query, of rank
1 on either square.                                                                            QED
For c_t of the whole sequence (1 - 2/tau) T_{m + tau/2} / 2 is a floor: of n = tau/2 keys in one
half, the mean of delta_ts over s being the best c_t, at least 1 - 1/n of the variances of delta_ts
for given x_t are left, and means over n rooms have rank n.
   with_diagonal, rate.py, 4, of rank m = r + tau, is as good in the limit, if sigma_i = i^-alpha,
alpha > 1 (`encoded_cost`). On the two squares it has T_r / 2. Let g and h be in different rooms of
one half, and d = |g - h|. There tau delta is at most 2 S_r and, by Abel's summation, at most
    sigma_{r+1} (1 / |sin pi(g - h)| + 1 / |sin pi(g + h)|) <= sigma_{r+1} / d,
since |sin pi x| is at least twice the distance of x from the integers, for g + h at least 2d.
Rooms k apart have d with the density 1/tau - |d - k/tau|, or 0, and at most 2 (tau - 2) pairs are k
apart: 2 (tau - 2) min(d, 1/tau) in all. So the square of the smaller bound has an integral of at
most 2 (tau - 2) sigma_{r+1}^2 (1/2 + l + 1 - 2/tau): up to d_0 = sigma_{r+1} / (2 S_r), from there
to 1/tau, l = log(1 / (tau d_0)), or 0 if that is negative, and from 1/tau to 1/2. It is of order
r^(-2 alpha) log r, and the cost over the floor tends to 1: 2 alpha - 1 is the exponent of the best
couplings, from both sides.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np
import torch

from repro.jiang2024.couplings import first, infinite_tails, powers
from repro.jiang2024.encodings import rooms
from repro.jiang2024.model import Coupling, Target
from repro.numerics.exact import rational, to_float
from repro.numerics.polylogarithms import fourier_sums


def least_cost(S_m: Any, T_m: Any, m: int, c: Any) -> Any:
    """The minimum of c (T_m + sum a_i^2) + (S_m - sum a_i)^2 over a_1, ..., a_m.

    With c = tau - 1/2 the cost of the ridge correction, see rate.py, 3; with tau - 1 a floor.
    """
    return c * (T_m + S_m**2 / (m + c))


def row_floor(S_m: Any, T_m: Any, m: int, tau: int) -> Any:
    """No coupling of rank m has a smaller E sum_s delta_ts^2, see 1."""
    return least_cost(S_m, T_m, m, tau - 1)


def encoded_floor(tail: Callable[[int], Any], m: int, tau: int) -> Any:
    """No coupling of rank m has a smaller sum_{s != t} E delta_ts^2, see 4; tail(k) is T_k."""
    _check_even(tau)
    return tail(m + 1) / 2


def encoded_cost(alpha: Any, r: int, tau: int) -> flint.arb:
    """At most that sum for r of all waves, sigma_i = i^-alpha, and any diagonal, see 4."""
    _check_even(tau)
    (S, T), next_one = infinite_tails(alpha, r), flint.arb(r + 1) ** -flint.arb(rational(alpha))
    steps = (2 * S / (tau * next_one)).log().max(flint.arb(0))
    near = 2 * (tau - 2) * next_one**2 * (flint.fmpq(3, 2) - flint.fmpq(2, tau) + steps)
    return (T / 2 + near).min(T)


def _check_even(tau: int) -> None:
    if tau < 2 or tau % 2:
        raise ValueError(f"floors.py, 4, has two halves of the rooms: an even tau, got tau = {tau}")


@dataclass(frozen=True)
class Pair:
    """The target of 2 with n waves, for tau tokens."""

    alpha: Any
    n: int
    size: Any = "1/64"
    tau: int = 2

    def __post_init__(self) -> None:
        if self.n % 2 == 0:
            raise ValueError(
                f"1, cos, sin, ... up to one frequency are an odd number: n = {self.n}"
            )
        if self.tau < 2:
            raise ValueError(f"a pair needs tau >= 2 tokens, got tau = {self.tau}")

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
        """B_1 and B_2."""
        return flint.arb(0), flint.arb(0)

    def left(self, m: int, power: int) -> flint.arb:
        """sum_{m < i <= n} sigma_i^power."""
        return flint.arb((self.sigma[m:] ** power).sum())

    @property
    def others(self) -> flint.arb:
        """b, the logit of all keys but the last."""
        return flint.arb(self.tau - 1).log()

    def slope(self, eta: flint.arb) -> flint.arb:
        """l'(k_0 + eta + b)."""
        return _logistic_slope(self.largest_logit + eta + self.others)

    def mean_floor(self, m: int) -> flint.arb:
        """No coupling of rank m has a smaller E |H_1 - H^_1|; alpha >= 2."""
        self._check_alpha(2, "L1 error")
        S = self.left(m + 1, 1)
        return self.slope(self.n * S) * (S - self.beyond[0]) / self.n

    def mean_square_floor(self, m: int) -> flint.arb:
        """No coupling of rank m has a smaller E |H_1 - H^_1|^2; alpha >= 3/2."""
        self._check_alpha("3/2", "mean square error")
        root = self.left(m + 1, 2).sqrt()
        left = (root - self.beyond[1].sqrt()).max(flint.arb(0))
        return (self.slope(self.n * root) * left) ** 2

    def mean_square_bound(self, m: int) -> flint.arb:
        """Of the truncation after m terms."""
        steepest = _logistic_slope((self.others - self.largest_logit).max(flint.arb(0)))
        return steepest**2 * (self.left(m, 2) + self.beyond[1])

    def target(self) -> Target:
        """H, for tokens as tensors."""
        return self._between_rooms(self._coupling)

    def truncated(self, m: int) -> Target:
        """H^ with the first m terms."""
        return self._between_rooms(lambda u, v: self._terms(u, v, m))

    def rank_one(self, eps: float) -> Target:
        """H^ with a rho^ of rank 1 that makes use of the free constant, see 2; tau = 2."""
        if self.tau != 2:
            raise ValueError(f"the coupling of rank 1 is for tau = 2, got tau = {self.tau}")
        sigma = to_float(self.sigma)

        def rho(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            e_2 = _waves(v, 2)[..., 1:]
            free = -sigma[0] * e_2 / (e_2**2 + eps**2)
            keys = torch.where(_in_room(v, 1) == 1, free, sigma[1] * e_2)
            return (_in_room(u, 1) * _waves(u, 2)[..., 1:]) @ keys.mT

        return Target(first, self._in_the_last, rho)

    def _between_rooms(self, rho: Coupling) -> Target:
        """F and f of 2 with the coupling rho for u in I_1 and v in I_tau, 0 elsewhere."""

        def coupling(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            between = (_in_room(u, 1) * self._in_the_last(v).mT).bool()
            ends = (x.expand(between.shape)[between][:, None, None] for x in (u, v.mT))
            found = torch.zeros_like(between, dtype=u.dtype)
            found[between] = rho(*ends)[:, 0, 0]
            return found

        return Target(first, self._in_the_last, coupling)

    def _in_the_last(self, x: torch.Tensor) -> torch.Tensor:
        """f."""
        return _in_room(x, self.tau)

    def _coupling(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """rho without regard to rooms."""
        return self._terms(u, v, self.n)

    def _terms(self, u: torch.Tensor, v: torch.Tensor, m: int) -> torch.Tensor:
        return (_waves(u, m) * torch.tensor(to_float(self.sigma[:m]))) @ _waves(v, m).mT

    def _check_alpha(self, least: Any, error: str) -> None:
        if rational(self.alpha) < rational(least):
            raise ValueError(
                f"Theorem 4.1: the floor of the {error} is proved for alpha >= {least}, "
                f"got alpha = {self.alpha}"
            )


@dataclass(frozen=True)
class EndlessPair(Pair):
    """The target of 2 with all waves, the same for every n, which is the grid of the proof."""

    @cached_property
    def beyond(self) -> tuple[flint.arb, flint.arb]:
        B_1, B_2 = infinite_tails(self.alpha, self.n)
        return self.C_1 * B_1, self.C_1**2 * B_2

    def _coupling(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """2 cos cos and 2 sin sin are cosines of the difference plus or minus those of the sum."""
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


def _waves(x: torch.Tensor, m: int) -> torch.Tensor:
    """e_1, ..., e_m of the place in its room, (..., 1) -> (..., m)."""
    angles = 2 * math.pi * x * torch.arange(1, m // 2 + 1)
    pairs = math.sqrt(2) * torch.stack([angles.cos(), angles.sin()], -1).flatten(-2)
    return torch.cat([torch.ones_like(x), pairs], -1)[..., :m]


def _in_room(x: torch.Tensor, t: int) -> torch.Tensor:
    """1 on I_t = [2t, 2t + 1], 0 on the others."""
    return (rooms(x) == t).to(x.dtype)[..., None]


def _logistic_slope(z: flint.arb) -> flint.arb:
    """l'(z)."""
    e = z.exp()
    return e / (1 + e) ** 2


def affine_floor(N: int) -> flint.arb:
    """No network whose parts are affine has a smaller E |H_1 - H^_1| for the target of 3."""
    if N < 2:
        raise ValueError(f"two of 2N half-waves are lost: needs N >= 2 waves, got N = {N}")
    return (N - 1) / (2 * flint.arb.pi() * N)


def affine_network(y: np.ndarray, A: Any, B: Any, C: Any, a: Any, b: Any) -> np.ndarray:
    """H^_1 of 3 as a function of y: A + (B + C y) l(a + b y), in the arithmetic of y."""
    return A + (B + C * y) / (1 + np.exp(-(a + b * y)))


def affine_complexity(N: int, eps: Any) -> flint.arb:
    """C_FF(f) = sup |f''| / 8 of f = eps g, the g of 3."""
    return rational(eps) * 2 * (flint.arb.pi() * N) ** 2 / 8
