"""Equations (5) and (8): the Transformer with one head, and the targets that have its shape.

Paper                    Here                Meaning
x(s), s in [tau]         x  (..., tau, d)    a sequence; tokens are rows
f : R^d -> [0, 1]^n      Target.f            (..., tau, d) -> (..., tau, n)
rho : I x I -> R         Target.rho          (u (..., tau, d), v (..., sigma, d)) -> logits
sigma                    softmax, hard_max   over the second argument of rho
F : [0, 1]^n -> R        Target.F            (..., tau, n) -> (..., tau)
f^, F^                   Transformer.f, .F   feed-forward networks, or whatever stands for them
W_Q, W_K, W_V            matrices            (m_h, n), (m_h, n), (d_v, n)

    H_t(x)  = F( sum_s sigma[rho(x(t), x(.))](s) f(x(s)) ),                                    (8)
    H^_t(x) = F^( sum_s sigma[(W_Q f^(x(t))) . W_K f^(x(.))](s) W_V f^(x(s)) ).                (5)

(5) is (8) with rho(u, v) = W_Q f^(u) . W_K f^(v) and f = W_V f^, so there is one forward pass, in
every arithmetic of numerics/arrays.py: torch tensors, balls, and rationals if every logit is the
logarithm of a rational.

Readings: W_o is declared in (5) and not used; m_v and d_v are the same number. The hard maximum
shares its weight equally among maxima.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from repro.numerics.arrays import Array, exponentials, inner
from repro.numerics.exact import rationals, same_arithmetic

Function = Callable[[Array], Array]
Coupling = Callable[[Array, Array], Array]
Weighing = Callable[[Array], Array]


def softmax(logits: Array) -> Array:
    """sigma over the last axis."""
    if isinstance(logits, torch.Tensor):
        return logits.softmax(-1)
    return exponentials(logits, True, normalised=True)


def hard_max(logits: Array) -> Array:
    """sigma_H: all weight at the maximum, in equal parts where there are several."""
    if isinstance(logits, torch.Tensor):
        top = logits == logits.amax(-1, keepdim=True)
        return top.to(logits.dtype) / top.sum(-1, keepdim=True)
    top = logits == np.maximum.reduce(logits, axis=-1, keepdims=True)
    return rationals(top.astype(int)) / rationals(top.sum(-1, keepdims=True))


@dataclass(frozen=True)
class Target:
    """A map of form (8); F, f and rho are the same for all t."""

    F: Function
    f: Function
    rho: Coupling
    sigma: Weighing = softmax

    def logits(self, x: Array) -> Array:  # (..., tau, tau)
        return self.rho(x, x)

    def weights(self, x: Array) -> Array:
        """sigma[rho(x(t), x(.))](s), for all t (rows) and s."""
        return self.sigma(self.logits(x))

    def averages(self, x: Array) -> Array:
        """h_t(x) of (33), (..., tau, n)."""
        return inner(self.weights(x), self.f(x).mT)

    def __call__(self, x: Array) -> Array:  # (..., tau)
        return self.F(self.averages(x))


@dataclass(frozen=True)
class Transformer:
    """(5): one layer, one head, no residual, no normalisation."""

    f: Function
    W_Q: Array  # (m_h, n)
    W_K: Array  # (m_h, n)
    W_V: Array  # (d_v, n)
    F: Function
    sigma: Weighing = softmax

    def __post_init__(self) -> None:
        (m_h, n), (d_v, _) = self.W_Q.shape, self.W_V.shape
        found = [tuple(W.shape) for W in (self.W_Q, self.W_K, self.W_V)]
        if found != [(m_h, n), (m_h, n), (d_v, n)]:
            raise ValueError(f"(5) has W_Q, W_K of shape (m_h, n), W_V (d_v, n); got {found}")

    @property
    def m_h(self) -> int:
        return self.W_Q.shape[0]

    def target(self) -> Target:
        """The same map in form (8)."""
        attention = self.attention()
        return Target(
            self.F,
            lambda x: attention.f(self.f(x)),
            lambda u, v: attention.rho(self.f(u), self.f(v)),
            self.sigma,
        )

    def attention(self) -> Target:
        """What comes after f^, as a map of the features f^(x): each is needed three times."""
        return Target(
            self.F,
            lambda h: inner(h, self.W_V),
            lambda g, h: inner(inner(g, self.W_Q), inner(h, self.W_K)),
            self.sigma,
        )

    def __call__(self, x: Array) -> Array:  # (..., tau)
        same_arithmetic(x, self.W_V, "weights that are tensors")
        return self.attention()(self.f(x))
