"""Equation (7): encodings that give every position a room of its own.

x(t) -> A x(t) + e(t) with A = (I, 0) and e(t) = (0, ..., 0, t) (`appended`), or with A = I and
e(t) = 2t (1, ..., 1) (`shifted`), puts token t of [0, 1]^d into I_t: the sets are compact and
disjoint. A rearrangement of an encoded sequence is none (`rooms` tells token by token).
"""

import numpy as np
import torch

from repro.numerics.arrays import Array, each, side_by_side
from repro.numerics.exact import rationals


def appended(x: Array) -> Array:
    """(..., tau, d) -> (..., tau, d + 1): the position, t = 1, ..., tau, as one more coordinate."""
    return side_by_side(x, 0 * x[..., :1] + _times(x)[:, None])


def shifted(x: Array) -> Array:
    """(..., tau, d) -> the same: token t is moved into [2t, 2t + 1]^d, t = 1, ..., tau."""
    return x + 2 * _times(x)[:, None]


def rooms(x: Array) -> Array:
    """The t of each shifted token, from its first coordinate."""
    half = x[..., 0] / 2
    return half.floor() if isinstance(x, torch.Tensor) else each(lambda value: value.floor(), half)


def inside(x: Array, t: int) -> Array:
    """1{x in I_t} for each shifted token, (..., tau, 1)."""
    found = (rooms(x) == t)[..., None]
    return found.to(x.dtype) if isinstance(x, torch.Tensor) else rationals(found.astype(int))


def _times(x: Array) -> Array:
    tau = x.shape[-2]
    if isinstance(x, torch.Tensor):
        return torch.arange(1, tau + 1, dtype=x.dtype, device=x.device)
    return rationals(np.arange(1, tau + 1))
