"""Finding one-layer-nested: the nested parity of Section 5.1 in one layer without dot product.

y_t is a function of x_t, x_{t-1}, x_{t-2}, as t_1, t_2 <= 2. u_t = x_t + 2 x_{t-1} + 4 x_{t-2}
takes another odd value in -7, ..., 7 for each of the 8 triples of signs, and y_t is the piecewise
linear function of u_t through the 8 points: seven hinges and a constant (`formula`). Its slopes are
-1, 0, 1. So a layer whose heads make 2 I{s = 1} + 4 I{s = 2} within e in l1 errs by at most e.
"""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from repro.numerics import exact
from repro.numerics.barron import Network
from repro.wang2024 import fixed, targets
from repro.wang2024.model import Transformer

FORMULA = {-7: 1, -5: -2, -3: 2, -1: -1, 1: -1, 3: 1, 5: 1}  # the weight of (u - node)_+
CONSTANT = -1


def formula(u: int) -> int:
    return CONSTANT + sum(weight * max(u - node, 0) for node, weight in FORMULA.items())


def hinges(values: Mapping[int, int]) -> tuple[int, dict[int, Fraction]]:
    """The straight lines through these points as a constant and weights of (u - node)_+."""
    nodes = list(values)
    slopes = [Fraction(values[b] - values[a], b - a) for a, b in itertools.pairwise(nodes)]
    bends = [new - old for old, new in itertools.pairwise([Fraction(0), *slopes])]
    return values[nodes[0]], dict(zip(nodes, bends, strict=False))


def readout(constant: int = CONSTANT, bends: Mapping[int, Any] = FORMULA) -> Network:
    """constant + sum of weights (x_t + block 1 - node)_+ as 8 neurons."""
    rows = [(weight, [1, 1], -node) for node, weight in bends.items()]
    return targets.neurons((constant, [0, 0], 1), *rows)


def network(rpe: str, exponents: Sequence[Any], alphas: np.ndarray, n: int) -> Transformer:
    """x_t in block 0; heads of class (7) put sum_s phi(s) x_{t-s} into block 1."""
    reads = fixed.scalar_readout(readout())
    return fixed.network(rpe, exponents, alphas[:, None], reads, length=n)


def interpolated(rpe: str, n: int) -> tuple[Transformer, list[Any]]:
    """With 3 exact heads (lin) or 2 (log); and e_1, e_2: it is off by 2 e_1 + 4 e_2 at most."""
    H, level = {"lin": (3, "1/1000"), "log": (2, "1/500")}[rpe]
    exponents, alphas, errors = fixed.interpolated(rpe, (1, 2), H, exact.rational(level))
    fetched = 2 * alphas[:, 0] + 4 * alphas[:, 1]
    return network(rpe, exponents, fetched, n), errors
