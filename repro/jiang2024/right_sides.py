"""Both right sides of (17), as printed and repaired, as numbers for networks of ReLU layers.

tau = 16 tokens in [0, 1], F = f = id, sigma_i = i^-alpha, sines against sines, with the ridge
correction, or cosines, without. Each of the 2 m_h waves has w = (m_FF - 1) / (2 m_h) neurons, which
interpolate it: beta = 2 and e_i = C_FF(phi_i) / w^2 (complexity.py).
"""

import functools
import math
from typing import Any

import numpy as np
import torch

from repro.jiang2024 import complexity, couplings, rate
from repro.numerics.exact import rational

TAU, LARGEST = 16, 64  # and m_h at most


@functools.cache
def constants(alpha: Any) -> tuple[float, float, float]:
    """C_0, C_1 and sup |phi_i| from values on a grid, where N > 4 R makes the waves orthonormal."""
    R, N = LARGEST, 260
    rho = couplings.Coupling(couplings.endless(alpha, R).sigma[:R])
    x = torch.arange(N, dtype=torch.float64)[:, None] / N
    sigma = torch.linalg.svdvals(rho.rho(x, x) / N)[:R]
    of_queries, of_keys = (waves(x).abs().max().item() for waves in (rho.queries, rho.keys))
    weights = torch.arange(1, R + 1) ** float(rational(alpha))
    C_0 = complexity.C_0(1, 1, of_queries + of_keys)
    return float(C_0), (weights * sigma).max().item(), of_queries


def C_2(m: int) -> float:
    return float(complexity.C_2(complexity.INTERPOLATION, m))


def kept(alpha: Any, m: int, key: str = "sin") -> np.ndarray:
    """s_1, ..., s_m: with the ridge where the diagonal needs it."""
    rho = couplings.endless(alpha, LARGEST, key)
    return rate.kept(rho, m, TAU, "ridge" if key == "sin" else "plain")


def printed(alpha: Any, m: int, m_FF: int) -> float:
    """The right side of (17)."""
    C_0, C_1, _ = constants(alpha)
    return float(rate.printed_bound((C_0, C_1, C_2(m)), (alpha, 2), TAU, m, m_FF))


def repaired(alpha: Any, m: int, m_FF: int, key: str = "sin") -> tuple[float, float]:
    """Its first and its second term, repaired (rate.py, 1 to 5)."""
    _, C_1, sup = constants(alpha)
    s, w = [float(value) for value in kept(alpha, m, key)], (m_FF - 1) / (2 * m)
    e = [float(complexity.of_wave(complexity.INTERPOLATION, i)) / w**2 for i in range(1, m + 1)]
    plain, ridge = (TAU - 0.5) * rate.encoded_bound(alpha, m), rate.ridge_bound(alpha, m, TAU)
    low_rank = C_1 * math.sqrt(rate.mean_square_bound(ridge if key == "sin" else plain))
    return TAU * low_rank, TAU * rate.network_error(s, sup, e)
