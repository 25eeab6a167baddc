"""What no coupling of rank m can do to the logits of encoded tokens, and what is nearly as good.

Let tau be even and rho the glued coupling of couplings.py, sines against sines or cosines, with
the singular values sigma_i; delta = rho - rho^ is the error of a logit, S_k and T_k are the sums of
sigma_i and of sigma_i^2 beyond k. In the coordinate g of couplings.py, sum_{s != t} E delta_ts^2 is
the squared norm of tau delta on squares of the side 1/tau.
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


def encoded_floor(tail: Callable[[int], Any], m: int, tau: int) -> Any:
    """No coupling of rank m has a smaller sum_{s != t} E delta_ts^2; tail(k) is T_k.

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
