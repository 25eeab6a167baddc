"""Section 4.1, examples (I) and (II): every function of finitely many tokens is a readout.

(I) sparse Boolean functions: tokens -1, 1. (II) n-grams: tokens e_1, ..., e_q, T_i = i.

Let the tokens v be unit vectors of R^d with u.v <= 1 - delta for u != v. For a word w of M + 1 of
them, as a vector of R^{(M+1)d},
    hat_w(x) = relu((w.x - (M + 1) + delta) / delta)
is 1 at x = w. At every other word some token differs, so w.x <= M + 1 - delta, and it is 0. So

    f(x) = sum_w c(w) hat_w(x)

has the values c(w), whatever they are. It is a network of q^{M+1} neurons, with
    |f|_B <= sum_w |c(w)| (|w|_1 + |M + 1 - delta|) / delta,
    |f|_Lip <= sum_w |c(w)| |w|_2 / delta,    |w|_2^2 = M + 1.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import flint
import numpy as np

from repro.numerics.barron import Network, value
from repro.numerics.exact import rational, rationals, to_float
from repro.wang2024.targets import Readout, neurons

BOOLEAN = rationals([[-1], [1]])


def words(tokens: np.ndarray, size: int) -> np.ndarray:
    """All words of `size` tokens, the last token changing fastest; (q^size, size d)."""
    return np.array([np.concatenate(word) for word in itertools.product(tokens, repeat=size)])


def gap(tokens: np.ndarray) -> flint.fmpq:
    """delta."""
    return min(1 - u @ v for u, v in itertools.combinations(tokens, 2))


def hats(tokens: np.ndarray, size: int) -> Network:
    """One neuron for each word, with a = 1."""
    delta = gap(tokens)
    bias = (delta - size) / delta
    return neurons(*((1, word / delta, bias) for word in words(tokens, size)))


def readout(name: str, tokens: np.ndarray, values: Sequence[Any]) -> Readout:
    """The f with these values at `words`, one after the other."""
    size = round(math.log(len(values), len(tokens)))
    f = hats(tokens, size)._replace(a=rationals(list(values)))
    rounded = Network(*map(to_float, f))
    steep = float(abs(f.a).sum() / rational(gap(tokens))) * math.sqrt(size)
    return Readout(name, f.b.shape[1], lambda x: value(rounded, x), steep, f)
