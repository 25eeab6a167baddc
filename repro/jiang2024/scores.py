"""Spectra of score matrices, and how concentrated they are over inputs (Section 5.2, Figure 2).

Paper                                   Here
rho^(x), [rho^(x)]_ts = rho(x_t, x_s)   scores (..., tau, tau): Q K^T / sqrt(m_h), no softmax yet
singular values of rho^(x)              spectra (..., inputs, tau), the largest first
"concentrated"                          spread, index_share, and spread of a rank (below)

The paper has a violin for each index and no measure of how narrow it is. Here are three, none of
which depends on the scale of the scores:
    the spread of sigma_k over inputs: its standard deviation, divided by its mean;
    index_share, of the variance of log sigma_k(x) over indices and inputs the part that the index
explains: 1 if all inputs have the same spectrum, 0 if the index says nothing;
    the spread of a rank taken input by input: the use that the text makes of concentration, to
"estimate the rank by evaluating it at sampled inputs".

The rank itself is min(m_h, tau) for all inputs, unless weights or tokens are special: Q and K have
m_h columns, biases or not, and what follows sigma_{m_h} is rounding (`rounding` bounds it). So the
measures look at the first min(m_h, tau) values, and a rank that says more is one of a spectrum that
falls without ending: `effective_rank` = exp(entropy of p), p = sigma^2 / sum sigma^2, and `needed`,
how many values carry a share of sum sigma^2. Both are r for r equal values and zeros.

A score that is the same for all s changes no softmax; `seen` takes the mean of each row away, which
leaves the smallest matrix of the same attention.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

UNIT = 2.0**-53


def of(Q: Tensor, K: Tensor) -> Tensor:
    """(..., tau, m_h) twice -> (..., tau, tau)."""
    return Q @ K.mT / Q.shape[-1] ** 0.5


def spectra(scores: Tensor) -> Tensor:
    """Singular values (..., tau) of each matrix (..., tau, tau), the largest first, in double."""
    if scores.ndim < 2 or scores.shape[-1] != scores.shape[-2]:
        raise ValueError(f"Section 5.2 needs tau x tau scores, got shape {tuple(scores.shape)}")
    if not scores.isfinite().all():
        raise ValueError("Section 5.2 needs finite scores: take them before the softmax, unmasked")
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
    if Q.dtype != torch.float64:
        raise ValueError(f"rounding() bounds double precision, got {Q.dtype}")
    size = Q.norm(dim=(-1, -2)) * K.norm(dim=(-1, -2)) / m_h**0.5
    return (m_h + 4 + tau**2) * UNIT * size


@dataclass(frozen=True)
class Heads:
    """Every head of a network on a set of inputs."""

    spectra: Tensor  # (layers, heads, inputs, tau)
    rounding: Tensor  # (layers, heads, inputs)
    m_h: int

    @classmethod
    def of(cls, pairs: Sequence[tuple[Tensor, Tensor]], see: bool = False) -> "Heads":
        """From queries and keys of every layer, in double; with `see` what the softmax sees."""
        see_it = seen if see else (lambda matrix: matrix)
        numbers = [(spectra(see_it(of(Q, K))), rounding(Q, K)) for Q, K in pairs]
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


# --- concentration -------------------------------------------------------------------------------


def spread(values: Tensor) -> Tensor:
    """Deviation over mean of each value over inputs, (..., inputs, k) -> (..., k)."""
    _several(values)
    return values.std(-2) / values.mean(-2)


def spread_of_rank(ranks: Tensor) -> Tensor:
    """By how much the rank taken from one input is off, relatively: (..., inputs) -> (...)."""
    return spread(ranks[..., None].double())[..., 0]


def index_share(spectra: Tensor) -> Tensor:
    """Of the variance of log sigma, what the index explains: (..., inputs, k) -> (...)."""
    _several(spectra)
    logs = spectra.log()
    if not logs.isfinite().all():
        raise ValueError("logarithms need values above 0: cut the spectra at min(m_h, tau)")
    centre = logs.mean((-1, -2), keepdim=True)
    between = (logs.mean(-2, keepdim=True) - centre).square().mean((-1, -2))
    return between / (logs - centre).square().mean((-1, -2))


def _several(spectra: Tensor) -> None:
    if spectra.ndim < 2 or spectra.shape[-2] < 2:
        raise ValueError(f"a spread needs two inputs or more, got shape {tuple(spectra.shape)}")


# --- ranks ---------------------------------------------------------------------------------------


def effective_rank(spectra: Tensor) -> Tensor:
    """(..., k) -> (...)."""
    return torch.special.entr(_shares(spectra)).sum(-1).exp()


def _shares(spectra: Tensor) -> Tensor:
    squares = spectra.square()
    return squares / squares.sum(-1, keepdim=True)
