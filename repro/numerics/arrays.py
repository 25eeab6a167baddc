"""One arithmetic for models: torch tensors, and numpy arrays of objects.

Objects are balls (flint.arb), rationals (flint.fmpq) and logarithms of rationals.
"""

from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import torch

from repro.numerics.logarithms import exp

Array = Any  # a torch tensor, or a numpy array of objects


def each(function: Callable[[Any], Any], values: Any) -> Any:
    """`function` of every entry of an array of objects, or of one object."""
    return np.frompyfunc(function, 1, 1)(values)


def side_by_side(*parts: Array) -> Array:
    """One array of the columns of all parts, (..., n_1), ..., (..., n_k) -> (..., sum of n_i)."""
    if isinstance(parts[0], torch.Tensor):
        return torch.cat(parts, dim=-1)
    return np.concatenate(parts, axis=-1)


def inner(a: Array, b: Array) -> Array:
    """All inner products of the rows of a (..., n, k) and of b (..., m, k); (..., n, m).

    With objects, products with an exact 0 are left out: 0 times a logarithm is nothing to add.
    """
    if isinstance(a, torch.Tensor):
        return a @ b.mT
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"rows of {a.shape[-1]} and of {b.shape[-1]} numbers have no product")
    if a.ndim > 2 == b.ndim:
        return inner(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], len(b))
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.empty((*batch, a.shape[-2], b.shape[-2]), dtype=object)
    a, b = (np.broadcast_to(c, (*batch, *c.shape[-2:])) for c in (a, b))
    for place in np.ndindex(*batch):
        rows, others = ([_nonzero(row) for row in part[place].tolist()] for part in (a, b))
        out[place] = [[_dot(u, v) for v in others] for u in rows]
    return out


def _nonzero(row: list[Any]) -> dict[int, Any]:
    """All but exact zeros: of a ball around 0 neither == 0 nor != 0 is true."""
    return {k: v for k, v in enumerate(row) if not v == 0}  # noqa: SIM201


def _dot(a: dict[int, Any], b: dict[int, Any]) -> Any:
    return sum((a[k] * v for k, v in b.items() if k in a), flint.fmpq(0))


def exponentials(logits: Array, admissible: Array, normalised: bool) -> Array:
    """e^logit at the admissible keys, divided by their sum over the row if normalised; else 0."""
    if isinstance(logits, torch.Tensor):
        logits = logits.masked_fill(~admissible, -torch.inf)
        return logits.softmax(-1) if normalised else logits.exp()
    e = np.where(admissible, each(_exp, np.where(admissible, logits, 0)), 0)
    return e / e.sum(-1, keepdims=True) if normalised else e


def _exp(x: Any) -> Any:
    return x.exp() if isinstance(x, flint.arb) else exp(x)


def relu(a: Array) -> Array:
    return a.relu() if isinstance(a, torch.Tensor) else each(_relu, a)


def _relu(a: Any) -> Any:
    if isinstance(a, flint.arb):
        return a.max(flint.arb(0))
    return a if a > 0 else flint.fmpq(0)
