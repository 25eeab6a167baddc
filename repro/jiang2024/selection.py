"""Equation (18): f^ carries both bases and the values, and three selections make it attention.

With f^ = (phi_1, ..., phi_m, psi_1, ..., psi_m, f_1, ..., f_n'), m = m_h, so n = 2 m_h + n', and
    rows of W_Q: e_1, ..., e_m,    of W_K: e_{m+1}, ..., e_{2m},    of W_V: e_{2m+1}, ..., e_n,
the score of two tokens is (W_Q f^(u)) . W_K f^(v) = sum_k phi_k(u) psi_k(v), and W_V f^ = f: (5) is
the target (8) with this coupling. Whatever the weights, the scores of N queries and M keys are an
(N, m)-matrix times an (m, M)-matrix, of rank m_h at most.

Reading: the printed key row e_{k+m_h+1} is one too far. Row m_h would be the first value, and psi_1
would be lost; with the n = 2 m_h + m_v of Theorem 4.1 there is no room for a gap.
"""

import numpy as np
import torch

from repro.jiang2024.model import Function, Transformer
from repro.numerics.arrays import Array, side_by_side
from repro.numerics.exact import rationals


def rows(m_h: int, n_values: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W_Q, W_K and W_V, of integers 0 and 1."""
    unit = np.eye(2 * m_h + n_values, dtype=int)
    return unit[:m_h], unit[m_h : 2 * m_h], unit[2 * m_h :]


def transformer(
    phi: Function, psi: Function, f: Function, F: Function, sample: Array
) -> Transformer:
    """(5) for F, f and rho = sum_k phi_k psi_k; m_h, n' and the arithmetic are as on a sample."""
    m_h, n_values = phi(sample).shape[-1], f(sample).shape[-1]
    exact = not isinstance(sample, torch.Tensor)
    W_Q, W_K, W_V = (rationals(W) if exact else sample.new_tensor(W) for W in rows(m_h, n_values))
    return Transformer(lambda x: side_by_side(phi(x), psi(x), f(x)), W_Q, W_K, W_V, F)
