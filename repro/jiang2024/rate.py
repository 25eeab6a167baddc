"""Theorem 4.1: attention of rank m for a coupling of higher rank; what it costs, with constants.

sigma_i, s_i   singular values of the coupling, (R,); coefficients `kept` of the first m products
               phi_i psi_i in the network, m = m_h
delta, d_i     rho - rho^, error of a logit; sigma_i - s_i, s_i = 0 beyond m
S_m, T_m       sums of sigma_i and of sigma_i^2 beyond m (couplings.tails)
K_F, diam f    Lipschitz constant of F, diameter of f(I);  c = tau - 1/2

The proof has seven parts, each at the function that it is about: 1 mean_square_bound, 2 row_error,
3 ridge, 4 with_diagonal, 5 network_error, 6 interpolated, 7 sampled_errors.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import flint
import numpy as np
import torch

from repro.jiang2024 import couplings, encodings, selection
from repro.jiang2024.complexity import interpolant, linear_between
from repro.jiang2024.couplings import Coupling, Endless, endless, infinite_tails, numbers, tails
from repro.jiang2024.model import Transformer
from repro.jiang2024.networks import Networks, beside
from repro.numerics.arrays import Array, side_by_side
from repro.numerics.exact import rational

HALF = flint.fmpq(1, 2)


def mean_square_bound(row_error: Any, K_F: Any = 1, diameter: Any = 1) -> Any:
    """Of E |H_t - H^_t|^2, from E sum_s delta_ts^2.

    1. A row of softmax weights moves an average of f by at most
    diam f / (2 sqrt 2) (sum_s delta_ts^2)^(1/2), repro/jiang2024/softmax.py. Hence
        E |H_t - H^_t|^2 <= (K_F diam f)^2 / 8  E sum_s delta_ts^2.
    The square has the exponent of T_m, which is 2 alpha - 1; an L1 error has half of it.
    """
    return (K_F * diameter) ** 2 * row_error / 8


def row_error(sigma: np.ndarray, kept: np.ndarray, tau: int, key: str) -> Any:
    """E sum_s delta_ts^2 for independent uniform tokens on [0, 1]; exact, or a ball.

    2. For s != t, E delta_ts^2 = sum d_i^2 by orthonormality. For s = t, delta_tt is
    sum d_i (1 - cos 4 pi i u) with sines on both sides, sum d_i sin 4 pi i u with cosines. So
        E sum_s delta_ts^2 = c sum d_i^2 + (sum d_i)^2    (sines),        c sum d_i^2    (cosines).
    The truncation of the proof, d_i = 0 for i <= m ("plain"), costs c T_m + S_m^2 with sines: the
    exponent is 2 alpha - 2.
    """
    d = np.concatenate([sigma[: len(kept)] - kept, sigma[len(kept) :]])
    squares = (tau - HALF) * (d * d).sum()  # a ball around 0 has no power
    return squares + d.sum() * d.sum() if key == "sin" else squares


def ridge(sigma: np.ndarray, m: int, tau: int, S_m: Any = None) -> np.ndarray:
    """The first m singular values, raised by S_m / (m + c); S_m is given if sigma has no end.

    3. The sum for sines in 2 is convex in d_1, ..., d_m. At its minimum c d_i + sum_j d_j = 0, so
    all of them are -a with (c + m) a = S_m:
        s_i = sigma_i + S_m / (m + c),      E sum_s delta_ts^2 = c (T_m + S_m^2 / (m + c)).
    """
    return sigma[:m] + (tails(sigma)[0][m] if S_m is None else S_m) / (m + tau - HALF)


def trace(sigma: np.ndarray, m: int) -> np.ndarray:
    """Raised so that the trace stays, by S_m / m: this costs c (T_m + S_m^2 / m), see 3."""
    return sigma[:m] + tails(sigma)[0][m] / m


def ridge_bound(alpha: Any, m: int, tau: int, C_1: Any = 1) -> flint.arb:
    """Of E sum_s delta_ts^2 with the ridge correction, alpha > 1; sines on both sides.

    3, continued. If sigma_i <= C_1 i^-alpha, then T_m <= C_1^2 m^(1 - 2 alpha) / (2 alpha - 1) and
    S_m <= C_1 m^(1 - alpha) / (alpha - 1): the exponent is 2 alpha - 1 again, as it is for `trace`.

    >>> from repro.jiang2024.rate import mean_square_bound, ridge_bound
    >>> [round(float(mean_square_bound(ridge_bound(2, m, tau=8))), 6) for m in (4, 8, 16)]
    [0.019531, 0.002441, 0.000305]
    """
    alpha = rational(alpha)
    constant = 1 / (2 * alpha - 1) + 1 / (alpha - 1) ** 2
    return (tau - HALF) * C_1**2 * flint.arb(constant) * _power(m, 1 - 2 * alpha)


def kept(coupling: Coupling, m: int, tau: int, how: str = "ridge") -> np.ndarray:
    """Of these waves, or of all: the `ridge` or, if `how` says so, the "plain" truncation."""
    if how == "plain":
        return coupling.sigma[:m]
    S_m = infinite_tails(coupling.alpha, m)[0] if isinstance(coupling, Endless) else None
    return ridge(coupling.sigma, m, tau, S_m)


def truncated(coupling: Coupling, kept: np.ndarray, x: Array) -> Transformer:
    """(18) with s_i phi_i and psi_i for i <= m, in the arithmetic of the tokens x.

    >>> import torch
    >>> from repro.jiang2024.couplings import Coupling, powers
    >>> from repro.jiang2024.rate import truncated
    >>> coupling = Coupling(powers(2, 64))  # sigma_i = i^-2
    >>> x = torch.linspace(0, 1, 9, dtype=torch.float64)[:, None]
    >>> for m in (1, 4, 16):  # m_h
    ...     network = truncated(coupling, coupling.sigma[:m], x)
    ...     print(m, round((network(x) - coupling.target()(x)).abs().max().item(), 4))
    1 0.05
    4 0.0157
    16 0.0034
    """
    terms = slice(len(kept))
    return selection.transformer(
        lambda x: coupling.queries(x, terms) * numbers(kept, x),
        lambda x: coupling.keys(x, terms),
        coupling.content,
        couplings.first,
        x[..., :1, :],
    )


def with_diagonal(coupling: Coupling, r: int, x: Array) -> Transformer:
    """r terms, and one coordinate for each position that makes the diagonal exact.

    4. Encoded tokens. The blocks I_t x I_s partition I x I, so the pairs s != t of the truncation
    after r terms cost at most T_r in all, whatever tau is. A pair s = t needs delta on the diagonal
    only: tau more coordinates, t = 1, ..., tau,
        1{u in I_t} (rho - rho~)(u, u)   for queries,        1{v in I_t}   for keys,
    make it exact and change nothing else: m_h = r + tau.
    """
    sigma, terms = coupling.sigma[:r], slice(r)

    def rooms(x: Array) -> Array:  # 1{x in I_t} for t = 1, ..., tau
        return side_by_side(*(encodings.inside(x, t) for t in range(1, coupling.pieces + 1)))

    def queries(x: Array) -> Array:
        weighted = numbers(sigma, x) * coupling.queries(x, terms)
        missing = coupling.diagonal(x) - (weighted * coupling.keys(x, terms)).sum(-1)[..., None]
        return side_by_side(weighted, rooms(x) * missing)

    def keys(x: Array) -> Array:
        return side_by_side(coupling.keys(x, terms), rooms(x))

    return selection.transformer(queries, keys, coupling.content, couplings.first, x[..., :1, :])


def encoded_bound(alpha: Any, r: int, C_1: Any = 1) -> flint.arb:
    """Of sum_{t,s} E delta_ts^2 with the diagonal mended, alpha > 1/2.

    4, continued. It is at most T_r <= C_1^2 r^(1 - 2 alpha) / (2 alpha - 1), so that by 1
        sum_t E |H_t - H^_t|^2 <= (K_F diam f)^2 / 8  C_1^2 / ((2 alpha - 1) r^(2 alpha - 1)).
    """
    alpha = rational(alpha)
    return C_1**2 * _power(r, 1 - 2 * alpha) / flint.arb(2 * alpha - 1)


def network_error(kept: Iterable[Any], sup: Any, errors: Iterable[Any]) -> Any:
    """How far phi^_i and psi^_i, both within errors[i], move an output; K_F = diam f = 1.

    5. If phi^_i, psi^_i, f^ and F^ are within e_phi, e_psi, e_f, e_F of what they stand for, in the
    supremum norm, a logit moves by at most
        sum_i |s_i| (sup |phi_i| e_psi + sup |psi_i| e_phi + e_phi e_psi),
    an output by K_F diam f / 2 times that, and by K_F e_f + e_F. This repairs (48)-(51), which lack
    s_i and K_F; it adds to the root of the mean square.
    """
    return sum(abs(s) * (2 * sup * e + e**2) for s, e in zip(kept, errors, strict=True)) / 2


def separate(coupling: Coupling, kept: np.ndarray, w: int, x: torch.Tensor) -> Networks:
    """`truncated` with ReLU networks throughout; tokens in [0, 1], f(x) = x and F(z) = z.

    Each of the 2 m_h waves has w neurons of its own, f has one: m_FF = 2 m_h w + 1 in f^.
    """
    exact = truncated(coupling, kept, x)
    knots = torch.arange(w + 1, dtype=x.dtype, device=x.device)[:, None] / w
    identity = interpolant(x.new_tensor([[0, 1]]))
    waves = [interpolant(wave[None]) for wave in exact.f(knots).mT[: 2 * len(kept)]]
    return Networks(beside(*waves, identity), exact.W_Q, exact.W_K, exact.W_V, identity)


def interpolated(exact: Transformer, w: int, pieces: int = 0) -> Transformer:
    """With one ReLU layer for f^, which has w cells on [0, 1] or on each of the rooms.

    Without rooms it computes what `separate` does, with neurons that all waves share.

    6. Encoded tokens. The layer interpolates everything in 4 at w + 1 knots of each room. Contents
    and 1{x in I_t} are linear on a room, hence exact; of the waves, g having the slope 1 / tau,
        e_i = sqrt(2 / tau) (2 pi i / tau)^2 / (8 w^2).
    """
    rooms = torch.arange(min(1, pieces), pieces + 1).to(exact.W_V)
    places = torch.arange(w + 1).to(exact.W_V) / w
    knots = (2 * rooms[:, None] + places).flatten()
    return replace(exact, f=linear_between(knots, exact.f(knots[:, None]).mT))


def diagonal_error(alpha: Any, r: int, tau: int, w: int, terms: int = 10**5) -> float:
    """A bound of e_diagonal for sigma_i = i^-alpha, alpha > 1; an integral beyond `terms`.

    6, continued. The coordinates for the diagonal are (rho - rho~)(u, u), 1/tau times the sum over
    i > r of sigma_i (1 - cos 4 pi i g), or of sigma_i sin 4 pi i g. A wave is off by
    (4 pi i / (tau w))^2 / 8, and never by more than 2:
        e_diagonal <= 1/tau sum_{i > r} sigma_i min(2, (4 pi i / (tau w))^2 / 8),
    which moves one logit of each row.
    """
    alpha, i = float(rational(alpha)), np.arange(r + 1, terms + 1)
    waves = i**-alpha * np.minimum(2, (4 * math.pi * i / (tau * w)) ** 2 / 8)
    return float(waves.sum() + 2 * terms ** (1 - alpha) / (alpha - 1)) / tau


@cache
def sampled_errors(
    alpha: Any, key: str, hows: tuple[str, ...], ms: tuple[int, ...], tokens: tuple[int, int, int]
) -> dict[tuple[str, int], tuple[np.ndarray, np.ndarray]]:
    """(how, m) -> means over t of (H_t - H^_t)^2 and of |H_t - H^_t|, for every sequence.

    All waves, truncated at m as `how` says. `tokens` is the number of sequences, tau and a seed.

    7. Slopes to expect, sigma_i = i^-alpha. With M = m + 1/2, by the midpoint rule and up to
    factors 1 + O(m^-2), T_m is M^(1 - 2 alpha) / (2 alpha - 1) and S_m is M^(1 - alpha) / (alpha -
    1). The ridge has one more factor, 1 - (c - 1/2) / (m + c), which is near 1 beyond m = 2c. Plain
    truncation is off by S_m ~ m^(1 - alpha) on the diagonal, and softmax, of which this is the
    first order, adds a factor 1 + O(S_m). In L1, by Abel's summation, |delta| <= m^-alpha / |sin
    pi(u - v)| and the like, whose mean, cut off at S_m, is of order m^-alpha log m; Cauchy's
    inequality has m^-(alpha - 1/2).
    """
    draws, tau, seed = tokens
    rho, found = endless(alpha, ms[-1], key), {}
    x = torch.tensor(np.random.default_rng(seed).random((draws, tau, 1)))
    for how, m in product(hows, ms):
        [(squares, means)] = summed_errors(rho, x, truncated(rho, kept(rho, m, tau, how), x))
        found[how, m] = squares / tau, means / tau
    return found


def summed_errors(
    coupling: Coupling, x: torch.Tensor, *networks: Transformer
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each network: sum_t (H_t - H^_t)^2 and sum_t |H_t - H^_t|, for every sequence."""
    H = coupling.target()(x)
    offs = [network(x) - H for network in networks]
    return [((off**2).sum(-1).cpu().numpy(), off.abs().sum(-1).cpu().numpy()) for off in offs]


def printed_bound(
    complexities: tuple[Any, Any, Any], exponents: tuple[Any, Any], tau: int, m_h: int, m_FF: Any
) -> flint.arb:
    """The right side of (17): C_0, C_1, C_2(m_h), and alpha, beta; m_FF = inf leaves one term."""
    (C_0, C_1, C_2), (alpha, beta) = complexities, map(rational, exponents)
    low_rank = C_1 * _power(m_h, 1 - 2 * alpha)
    if m_FF == math.inf:
        return tau**2 * C_0 * low_rank
    return tau**2 * C_0 * (low_rank + C_2 * _power(m_h, beta + 1) * _power(m_FF, -beta))


def _power(base: int, exponent: flint.fmpq) -> flint.arb:
    return flint.arb(base) ** flint.arb(exponent)
