"""(5) with ReLU networks for f^ and F^: weights to try, and what rounding makes of the result.

A sum of k products comes out with an error of at most k u times the sum of their absolute values,
in whatever order it is added (Higham 2002, Section 3; terms in u^2 are left out here and allowed
for by a factor 1.01). Errors of the factors add: with e(y) for the error of the number y,
    y = W x + b        e(y) = |W| e(x) + (k + 1) u (|W| |x| + |b|);    a ReLU enlarges no error
    a logit q . k      e = |q| . e(k) + e(q) . |k| + m_h u |q| . |k|
    softmax            the largest logit is subtracted, with rounding; exp is right to an ulp: as if
                       logit s were off by e_s + u |logit_s - largest| + 2u <= delta
    the average        moves by at most delta / 2 times the spread of the values, coordinate by
                       coordinate (softmax.py: D omega / 4 with omega <= 2 delta), and by the mean
                       of e(values) and 2 tau u times the mean of |values|: tau additions and a
                       division for the weights, tau products for the average.
Numbers are taken as computed, which is another u^2. W_Q may be of logarithms, right to an ulp.

`Networks.roundoff` is this bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from repro.jiang2024.model import Transformer, Weighing, softmax
from repro.numerics import roundoff
from repro.numerics.arrays import Array, each, inner, relu
from repro.numerics.exact import rationals, same_arithmetic, to_float
from repro.numerics.logarithms import Log

SECOND_ORDER = 1.01  # for all terms in u^2
WIDTH = 3  # setting: of the networks drawn
SIDES = ("W_1", "b_1", "b_2")  # one below the other when networks stand beside each other


@dataclass(frozen=True)
class FeedForward:
    """x -> W_2 relu(W_1 x + b_1) + b_2, for every token by itself."""

    W_1: Array
    b_1: Array
    W_2: Array
    b_2: Array

    @property
    def neurons(self) -> int:
        return self.W_1.shape[0]

    def __call__(self, x: Array) -> Array:
        same_arithmetic(x, self.W_1)
        return inner(relu(inner(x, self.W_1) + self.b_1), self.W_2) + self.b_2

    def error(self, x: Tensor, e: Tensor) -> Tensor:
        """Of the outputs, if those of the inputs are e."""
        hidden = relu(inner(x, self.W_1) + self.b_1)
        return _affine(hidden, _affine(x, e, self.W_1, self.b_1), self.W_2, self.b_2)


def _affine(x: Tensor, e: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """e(W x + b)."""
    u = roundoff.unit(x.dtype)
    return inner(e, W.abs()) + (W.shape[1] + 1) * u * (inner(x.abs(), W.abs()) + b.abs())


def beside(*parts: FeedForward) -> FeedForward:
    """All outputs of networks that read the same token and share no neuron."""
    W_1, b_1, b_2 = (torch.cat([getattr(net, name) for net in parts]) for name in SIDES)
    return FeedForward(W_1, b_1, torch.block_diag(*(net.W_2 for net in parts)), b_2)


@dataclass(frozen=True)
class Networks:
    """A Transformer (5) whose f^ and F^ are ReLU networks with one hidden layer."""

    f: FeedForward
    W_Q: Array
    W_K: Array
    W_V: Array
    F: FeedForward

    def __call__(self, x: Array) -> Array:  # (..., tau, d) -> (..., tau)
        same_arithmetic(x, self.W_V)
        return self.transformer()(x)

    def transformer(self, sigma: Weighing = softmax) -> Transformer:
        return Transformer(self.f, self.W_Q, self.W_K, self.W_V, lambda z: self.F(z)[..., 0], sigma)

    def to(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> "Networks":
        """Every weight rounded once."""

        def rounded(weight: Array) -> Tensor:
            return torch.tensor(to_float(weight), dtype=dtype, device=device)

        def network(net: FeedForward) -> FeedForward:
            return replace(net, **{name: rounded(value) for name, value in vars(net).items()})

        W_Q, W_K, W_V = (rounded(W) for W in (self.W_Q, self.W_K, self.W_V))
        return Networks(network(self.f), W_Q, W_K, W_V, network(self.F))

    def roundoff(self, x: Tensor) -> Tensor:
        """How far each computed output may be from that of the same weights without rounding."""
        u, (m_h, n), tau = roundoff.unit(x.dtype), self.W_Q.shape, x.shape[-2]
        h, e_h = self.f(x), self.f.error(x, torch.zeros_like(x))

        def image(W: Tensor, rounded: int = 0) -> tuple[Tensor, Tensor]:
            error = inner(e_h, W.abs()) + (n + rounded) * u * inner(h.abs(), W.abs())
            return inner(h, W), error

        (q, e_q), (k, e_k), (v, e_v) = image(self.W_Q, 2), image(self.W_K), image(self.W_V)
        logits = inner(q, k)
        off = inner(q.abs(), e_k) + inner(e_q, k.abs()) + m_h * u * inner(q.abs(), k.abs())
        below = logits.amax(-1, keepdim=True) - logits
        delta = (off + u * below + 2 * u).amax(-1, keepdim=True)
        weights, spread = softmax(logits), v.amax(-2, keepdim=True) - v.amin(-2, keepdim=True)
        e = delta * spread / 2 + inner(weights, (e_v + 2 * tau * u * v.abs()).mT)
        return SECOND_ORDER * self.F.error(inner(weights, v.mT), e)[..., 0]


def drawn(rng: np.random.Generator, d: int, n: int, m_h: int, d_v: int) -> Networks:
    """Small integers everywhere, logarithms of integers in W_Q: on integer tokens all is exact."""

    def among(choices: Sequence[int], *shape: int) -> np.ndarray:
        return rationals(rng.choice(choices, shape))

    def network(inputs: int, outputs: int, weights: Sequence[int]) -> FeedForward:
        W_1, W_2 = among(weights, WIDTH, inputs), among(weights, outputs, WIDTH)
        # setting: which weights are tried
        return FeedForward(W_1, among([0, 1, 2], WIDTH), W_2, among([0, 1], outputs))

    small, large = [-1, 0, 1], [-2, -1, 1, 2]  # setting: which weights are tried
    W_Q = each(lambda r: Log(int(r)), rng.integers(1, 4, (m_h, n)).astype(object))
    W_K, W_V = among(small, m_h, n), among(large, d_v, n)
    return Networks(network(d, n, small), W_Q, W_K, W_V, network(d_v, 1, large))


def tokens(rng: np.random.Generator, tau: int, d: int) -> np.ndarray:
    """Integer tokens, which the logits of `drawn` need."""
    return rationals(rng.integers(-1, 3, (tau, d)))
