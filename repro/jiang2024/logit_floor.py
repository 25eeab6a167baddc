"""What no coupling of rank m can do to logits: of tokens in [0, 1], and of encoded tokens.

m is the rank of rho^, sigma_i are the singular values of rho, S_m and T_m the sums of sigma_i and
of sigma_i^2 beyond m (couplings.py), and delta = rho - rho^ is the error of a logit.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import flint
import numpy as np
import torch

from repro.jiang2024 import encodings
from repro.jiang2024.couplings import endless, infinite_tails
from repro.jiang2024.rate import with_diagonal
from repro.numerics.exact import rational


def least_cost(S_m: Any, T_m: Any, m: int, c: Any) -> Any:
    """The minimum of c (T_m + sum a_i^2) + (S_m - sum a_i)^2 over a_1, ..., a_m.

    It is taken at a_i = S_m / (m + c). With c = tau - 1/2 it is the cost of the ridge correction
    (rate.py, 3), with c = tau - 1 the floor below.
    """
    return c * (T_m + S_m**2 / (m + c))


def row_floor(S_m: Any, T_m: Any, m: int, tau: int) -> Any:
    """No coupling of rank m has a smaller E sum_s delta_ts^2.

    Let rho have the same orthonormal functions on both sides and sigma_i >= 0, and let tokens be
    independent, with the law for which these functions are orthonormal. Then every rho^ of rank at
    most m has
        E sum_s delta_ts^2 >= (tau - 1) (T_m + S_m^2 / (m + tau - 1)).
    Proof. Let |.|_2 be the norm of functions of (u, v) in L2. The pairs s != t give
    (tau - 1) |delta|_2^2, and E delta_tt^2 >= (E delta_tt)^2, the square of a trace. Let
    b_1, ..., b_m be the singular values of rho^ and a_i = b_i - sigma_i. By von Neumann's
    inequality <rho, rho^> <= sum sigma_i b_i, so |delta|_2^2 >= T_m + sum a_i^2. The trace of rho^
    is at most sum b_i, so that of delta is at least S_m - sum a_i. If this is not negative, the sum
    is at least (tau - 1) (T_m + sum a_i^2) + (S_m - sum a_i)^2, whose minimum is the floor. If it
    is negative, sum a_i^2 >= S_m^2 / m, which gives even more.                              QED

    So the ridge correction costs at most 1 + 1/(2 tau - 2) times the least possible, for all m and
    all sigma. With different functions on the two sides, (tau - 1) T_m is a floor by Eckart and
    Young (call this with S_m = 0), and plain truncation of sines against cosines, which costs
    (tau - 1/2) T_m, is as near to it.
    """
    return least_cost(S_m, T_m, m, tau - 1)


def row_costs(alpha: Any, m: int, tau: int) -> dict[str, flint.arb]:
    """E sum_s delta_ts^2 of rate.py, 2 and 3, for sigma_i = i^-alpha, all i, and its floors."""
    (S, T), c = infinite_tails(alpha, m), tau - flint.fmpq(1, 2)
    return {
        "sin, plain": c * T + S**2,
        "sin, ridge": least_cost(S, T, m, c),
        "sin, floor": row_floor(S, T, m, tau),
        "cos, plain": c * T,
        "cos, floor": row_floor(0, T, m, tau),
    }


def encoded_floor(tail: Callable[[int], Any], m: int, tau: int) -> Any:
    """No coupling of rank m has a smaller sum_{s != t} E delta_ts^2; tail(k) is T_k.

    Let tau be even and rho the glued coupling of couplings.py, sines against sines or cosines. In
    its coordinate g the sum is the squared norm of tau delta on squares of the side 1/tau.
    Softmax does not see a function c_t of one token that is added to the logits of its row. Even
    with such functions every rho^ of rank at most m has
        sum_{s != t} E (delta_ts - c_t(x_t))^2 >= T_{m+1} / 2,    and without them    T_m / 2.
    Proof. Let A be the first tau/2 rooms and B the others. Queries in A and keys in B fill
    [0, 1/2] x [1/2, 1]. On both of its sides 2 sin(2 pi i g), i = 1, 2, ..., are orthonormal, and
    so are 2 cos(2 pi i g): there tau rho has the singular values sigma_i / 2, and rank m leaves
    T_m / 4 (Eckart and Young). Queries in B and keys in A leave as much. These are other pairs, and
    s != t in all of them: what rho^ is on I_t x I_t plays no part. The c_t are one function of the
    query, of rank 1 on either square.                                                       QED
    """
    return tail(m + 1) / 2


def encoded_cost(alpha: Any, r: int, tau: int) -> flint.arb:
    """At most that sum for r of all waves, sigma_i = i^-alpha, alpha > 1, and any diagonal.

    These are the networks `with_diagonal` of rate.py, 4, of rank m = r + tau. On the two squares of
    the proof above they cost T_r / 2. Let g and h be in different rooms of one half, and
    d = |g - h|. There tau |delta| is at most 2 S_r and, by Abel's summation, at most
        sigma_{r+1} (1 / |sin pi(g - h)| + 1 / |sin pi(g + h)|) <= sigma_{r+1} / d,
    since |sin pi x| is at least twice the distance of x from the integers, for g + h at least 2d.
    Rooms k apart have d with the density 1/tau - |d - k/tau|, or 0, and at most 2 (tau - 2) pairs
    of rooms are k apart: 2 (tau - 2) min(d, 1/tau) in all. The square of the smaller bound is
    integrated up to d_0 = sigma_{r+1} / (2 S_r), from there to 1/tau, and from 1/tau to 1/2. With
    l = log(1 / (tau d_0)), or 0 if that is negative, the integral is at most
        2 (tau - 2) sigma_{r+1}^2 (1/2 + l + 1 - 2/tau).
    It is of order r^(-2 alpha) log r, so that the cost over the floor tends to 1.
    """
    (S, T), next_one = infinite_tails(alpha, r), flint.arb(r + 1) ** -flint.arb(rational(alpha))
    steps = (2 * S / (tau * next_one)).log().max(flint.arb(0))
    near = 2 * (tau - 2) * next_one**2 * (flint.fmpq(3, 2) - flint.fmpq(2, tau) + steps)
    return (T / 2 + near).min(T)


@cache
def sampled_costs(
    alpha: Any, key: str, tau: int, sizes: tuple[int, ...], draws: int, seed: int
) -> dict[str, np.ndarray]:
    """sum E delta_ts^2 of `with_diagonal` over the pairs between the halves, and over all s != t.

    (draws, m_h), for every m_h of sizes. Queries are 16 tokens of each room, one in each sixteenth
    of it, keys 16 others: every pair is uniform.
    """
    rng, rho = np.random.default_rng(seed), endless(alpha, sizes[-1], key, tau)

    def places() -> torch.Tensor:
        parts = (np.arange(16) + rng.random((draws, tau, 16))) / 16
        return encodings.shifted(torch.tensor(parts)).flatten(1)[..., None]

    u, v = places(), places()
    t, s, logits = u // 2, (v // 2).mT, rho.rho(u, v)
    pairs = {"halves": (t > tau // 2) != (s > tau // 2), "all": t != s}
    rows = {name: [] for name in pairs}
    for m in sizes:
        off = with_diagonal(rho, m - tau, u).target().rho(u, v) - logits
        for name, some in pairs.items():
            rows[name].append((off**2 * some).sum((-1, -2)).numpy() / 16**2)
    return {name: np.stack(columns, axis=1) for name, columns in rows.items()}
