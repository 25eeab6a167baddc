"""Bounds on rounding errors, derived and not guessed; products without rounding."""

import math
from collections.abc import Iterable
from typing import Any

import torch

from repro.numerics.exact import rational


def unit(dtype: torch.dtype | str) -> float:
    """The unit round-off u, half of machine epsilon: |fl(a) - a| <= u |a|, rounding to nearest."""
    return torch.finfo(_type(dtype)).eps / 2


def rounded(value: float, dtype: torch.dtype | str) -> float:
    """fl(value): the number that a tensor of this type holds."""
    return torch.tensor(value, dtype=torch.float64).to(_type(dtype)).item()


def _type(dtype: torch.dtype | str) -> torch.dtype:
    return getattr(torch, dtype) if isinstance(dtype, str) else dtype


def two_product(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """xy as high + low, exactly, in float64 (Dekker 1971); high is the rounded product."""
    high = x * y
    (a, b), (c, d) = _split(x), _split(y)
    return high, ((a * c - high) + a * d + b * c) + b * d


def _split(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Veltkamp: x as the sum of two numbers of at most 26 bits, whose products are exact."""
    scaled = (2.0**27 + 1) * x
    top = scaled - (scaled - x)
    return top, x - top


def spacing(value: float, dtype: torch.dtype | str) -> float:
    """Between neighbouring numbers of this type in [2^e, 2^(e+1)), which holds `value` > 0."""
    return 2 * unit(dtype) * 2.0 ** (math.frexp(value)[1] - 1)


def least_error(numbers: Iterable[Any], step: float) -> float:
    """What is stored is a multiple of `step`: the most that this leaves of one of these rationals.

    So it is the largest distance of `numbers` from the multiples of `step`, rounded down.
    """
    shares = [number / rational(step) for number in numbers]
    apart = max(abs(share - (share + rational("1/2")).floor()) for share in shares)
    return math.nextafter(step * (int(apart.p) / int(apart.q)), 0)
