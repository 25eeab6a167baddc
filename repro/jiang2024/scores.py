"""Spectra of score matrices, and how concentrated they are over inputs (Section 5.2, Figure 2).

Scores are rho^(x) = Q K^T / sqrt(m_h), (..., tau, tau), before the softmax. The paper has a violin
for each index and no measure of how narrow it is. Here are three, whatever the scale of the scores:
the `spread` of sigma_k over inputs; the part of the variance of log sigma_k(x) that the index
explains (`index_share`), 1 if all inputs have the same spectrum; and the spread of a rank taken
input by input, as the text would "estimate the rank by evaluating it at sampled inputs".

The rank itself is min(m_h, tau) for all inputs, unless weights or tokens are special: Q and K have
m_h columns, biases or not, and what follows sigma_{m_h} is rounding (`rounding` bounds it). So the
measures look at the first min(m_h, tau) values, and a rank that says more is one of a spectrum that
falls without ending: `effective_rank` = exp(entropy of p), p = sigma^2 / sum sigma^2. It is r for r
equal values and zeros. What is the same for all s changes no softmax: `seen` takes it away.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def of(Q: Tensor, K: Tensor) -> Tensor:
    """(..., tau, m_h) twice -> (..., tau, tau)."""
    return Q @ K.mT / Q.shape[-1] ** 0.5


def spectra(scores: Tensor) -> Tensor:
    """Singular values (..., tau) of each matrix (..., tau, tau), the largest first, in double."""
    return torch.linalg.svdvals(scores.double())


def seen(scores: Tensor) -> Tensor:
    """What the softmax sees of the scores: no row has a mean."""
    return scores - scores.mean(-1, keepdim=True)


def rounding(Q: Tensor, K: Tensor) -> Tensor:
    """A bound (...) on sigma_{m_h + 1} of Q K^T / sqrt(m_h) as computed in double precision.

    Each entry is a sum of m_h products, divided by a rounded root: off by (m_h + 3) units of
    |q_t| |k_s| (and of their higher orders, for which there is 1 more), so the matrix by that of
    |Q|_F |K|_F; the singular values of what was computed by tau^2 units of sigma_1 at most.
    """
    tau, m_h = Q.shape[-2:]
    size = Q.norm(dim=(-1, -2)) * K.norm(dim=(-1, -2)) / m_h**0.5
    return (m_h + 4 + tau**2) * 2.0**-53 * size


@dataclass(frozen=True)
class Heads:
    """Every head of a network on a set of inputs."""

    spectra: Tensor  # (layers, heads, inputs, tau)
    rounding: Tensor  # (layers, heads, inputs)
    m_h: int

    @classmethod
    def of(cls, pairs: Sequence[tuple[Tensor, Tensor]], see: bool = False) -> "Heads":
        """From queries and keys of every layer, in double; with `see` what the softmax sees."""
        matrices = [seen(of(Q, K)) if see else of(Q, K) for Q, K in pairs]
        numbers = zip(map(spectra, matrices), itertools.starmap(rounding, pairs), strict=True)
        values, small = (torch.stack(part).transpose(1, 2) for part in zip(*numbers, strict=True))
        return cls(values, small, m_h=pairs[0][0].shape[-1])

    @property
    def values(self) -> Tensor:
        """Those that are not rounding, (layers, heads, inputs, min(m_h, tau))."""
        return self.spectra[..., : self.m_h]

    @property
    def ranks(self) -> Tensor:
        """How many values are above rounding, (layers, heads, inputs)."""
        return (self.spectra > self.rounding[..., None]).sum(-1)


def spread(values: Tensor, inputs: int = -2) -> Tensor:
    """Deviation over mean of each value over inputs, (..., inputs, k) -> (..., k)."""
    return values.std(inputs) / values.mean(inputs)


def index_share(spectra: Tensor) -> Tensor:
    """Of the variance of log sigma, what the index explains: (..., inputs, k) -> (...)."""
    logs = spectra.log()
    centre = logs.mean((-1, -2), keepdim=True)
    between = (logs.mean(-2, keepdim=True) - centre).square().mean((-1, -2))
    return between / (logs - centre).square().mean((-1, -2))


def effective_rank(spectra: Tensor) -> Tensor:
    """(..., k) -> (...)."""
    squares = spectra.square()
    return torch.special.entr(squares / squares.sum(-1, keepdim=True)).sum(-1).exp()
