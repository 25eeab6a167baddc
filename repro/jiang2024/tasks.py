"""The three tasks of Appendix B.1: inputs, the attention that the text displays, and form (8).

Task               Token, column by column                         F o f               Output
nearest point      u (d), v (d)                                    (u, v) -> v         (54)
centre of gravity  x (d), mass, 1 for a prediction token, label    its x, then |x|     (58), (62)
selection          v (d), indices s (k), own index                 its v               (63)

`weights` is the attention matrix that the text asks for, computed from the definition of the task;
`target(sharpness)` is of form (8) with couplings that are continuous on the tokens, and its weights
tend to these as the sharpness grows: they may be 0, softmax weights never are. In exact arithmetic
a sharpness is the logarithm of a rational (numerics/logarithms.py), and what it multiplies must be
an integer.

Readings. The label, the number of the segment, is not in the paper, and neither is the own index:
without them the tasks are not of form (8) with the displayed weights (claims on (57) and (63)).
Indices count from 0, as in (66); masses are drawn from [1/10, 1], points from [-1, 1]^d.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from repro.jiang2024.model import Target, hard_max, softmax
from repro.numerics.arrays import Array, each
from repro.numerics.exact import rationals
from repro.numerics.logarithms import Log

# (66), s(0) to s(7), for tau = 8 and k = 3
PRINTED_SELECTION = (
    (4, 5, 5), (4, 4, 4), (1, 1, 7), (5, 5, 5), (0, 3, 7), (0, 6, 7), (2, 2, 2), (2, 3, 4),
)  # fmt: skip


def _uniform(generator: torch.Generator, *shape: int, low: float = -1, high: float = 1) -> Tensor:
    draw = torch.rand(shape, generator=generator, dtype=torch.float64)
    return low + (high - low) * draw


def _itself(z: Array) -> Array:
    return z


def _squares(u: Array, v: Array) -> Array:
    """|u_t - v_s|^2 for all t and s."""
    return ((u[..., :, None, :] - v[..., None, :, :]) ** 2).sum(-1)


def _log(values: Array) -> Array:
    return values.log() if isinstance(values, Tensor) else each(Log, values)


def _where(condition: Array, yes: Any, no: Any) -> Array:
    return (torch if isinstance(condition, Tensor) else np).where(condition, yes, no)


@dataclass(frozen=True)
class Nearest:
    """(54): for each u(t) the nearest of all v(s)."""

    d: int = 2
    tau: int = 6

    def inputs(self, generator: torch.Generator, count: int) -> Tensor:
        return _uniform(generator, count, self.tau, 2 * self.d)

    def distances(self, x: Array, keys: Array) -> Array:
        """|u(t) - v(s)|; exact numbers have no square roots, and need d = 1."""
        u, v = x[..., : self.d], keys[..., self.d :]
        if isinstance(x, Tensor):
            return _squares(u, v).sqrt()
        if self.d != 1:
            raise ValueError(f"(54): exact distances need d = 1, got d={self.d}")
        return abs(u - v[..., 0][..., None, :])

    def weights(self, x: Array) -> Array:
        """All weight on the nearest; squares have the same order."""
        return hard_max(-_squares(x[..., : self.d], x[..., self.d :]))

    def target(self, sharpness: Any) -> Target:
        """Softmax of -sharpness |u - v|, the sign of (55)."""

        def rho(x: Array, keys: Array) -> Array:
            return -self.distances(x, keys) * sharpness

        return Target(_itself, lambda x: x[..., self.d :], rho, softmax)


@dataclass(frozen=True)
class Gravity:
    """(58): prediction tokens get the norm of the mean of their segment, by mass; others |x|."""

    d: int = 2
    length: int = 10
    shortest: int = 2

    def inputs(self, generator: torch.Generator, count: int) -> Tensor:
        """Every division of the length into segments is as likely as any other."""
        layouts = self.layouts(self.length)
        chosen = torch.randint(len(layouts), (count,), generator=generator)
        x = _uniform(generator, count, self.length, self.d)
        m = _uniform(generator, count, self.length, 1, low=0.1, high=1)
        codes = torch.stack([self._codes(layouts[int(i)]) for i in chosen])
        points = 1 - codes[..., :1]
        return torch.cat([x * points, m * points, codes], dim=-1)

    def layouts(self, length: int) -> list[tuple[int, ...]]:
        """The numbers of points of the segments, each of which takes a prediction token more."""
        if length == 0:
            return [()]
        firsts = range(self.shortest, length)
        return [(n, *rest) for n in firsts for rest in self.layouts(length - n - 1)]

    def _codes(self, layout: tuple[int, ...]) -> Tensor:
        rows = [
            (float(place == 0), label) for label, n in enumerate(layout) for place in range(n + 1)
        ]
        return torch.tensor(rows, dtype=torch.float64)

    def weights(self, x: Array) -> Array:
        """(62), from the flags alone: a segment reaches from a prediction token to the next."""
        mass, flag = x[..., self.d], x[..., self.d + 1]
        segment, own = flag.cumsum(-1), np.eye(x.shape[-2], dtype=int)
        same = segment[..., :, None] == segment[..., None, :]
        shared = _where(same, mass[..., None, :], 0)
        shared = shared / shared.sum(-1)[..., None]
        alone = x.new_tensor(own) if isinstance(x, Tensor) else rationals(own)
        return _where(flag[..., :, None] == 1, shared, alone)

    def target(self, sharpness: Any) -> Target:
        """With the label in the token. Prediction tokens: log m - sharpness (difference of
        labels)^2, and -sharpness for other prediction tokens; points: -sharpness |x - y|^2."""
        d = self.d

        def rho(x: Array, keys: Array) -> Array:
            predicts = x[..., d + 1][..., :, None] == 1
            predicted = keys[..., d + 1][..., None, :] == 1
            apart = _where(predicted, 1, _squares(x[..., d + 2 :], keys[..., d + 2 :]))
            mass = keys[..., d] + keys[..., d + 1]  # of a prediction token: 1
            shared = _log(mass)[..., None, :] - apart * sharpness
            return _where(predicts, shared, -_squares(x, keys) * sharpness)

        return Target(_length, lambda x: x[..., :d], rho, softmax)


def _length(z: Array) -> Array:
    if isinstance(z, Tensor):
        return z.norm(dim=-1)
    if z.shape[-1] != 1:
        raise ValueError(f"(58): exact norms need d = 1, got d={z.shape[-1]}")
    return abs(z[..., 0])


@dataclass(frozen=True)
class Selection:
    """(63): the mean of the k vectors whose indices the token names."""

    d: int = 2
    k: int = 3
    tau: int = 8

    def inputs(self, generator: torch.Generator, count: int) -> Tensor:
        s = torch.randint(self.tau, (count, self.tau, self.k), generator=generator)
        return self.tokens(_uniform(generator, count, self.tau, self.d), s.double())

    def tokens(self, v: Array, s: Array) -> Array:
        """(v, s) with the own index as the last column."""
        if isinstance(v, Tensor):
            own = torch.arange(v.shape[-2], dtype=v.dtype)[:, None].expand(*v.shape[:-1], 1)
            return torch.cat([v, s, own], dim=-1)
        return np.concatenate([v, s, rationals(np.arange(len(v)))[:, None]], axis=-1)

    def counts(self, x: Array, keys: Array) -> Array:
        """How often x(t) names the index of key s."""
        named, own = x[..., self.d : self.d + self.k], keys[..., -1]
        same = named[..., :, None, :] == own[..., None, :, None]
        if isinstance(x, Tensor):
            return same.sum(-1).to(x.dtype)
        return rationals(same.astype(int).sum(-1))

    def weights(self, x: Array) -> Array:
        return self.counts(x, x) / self.k

    def target(self, sharpness: Any) -> Target:
        """Logits log(count), and -sharpness where the count is 0."""

        def rho(x: Array, keys: Array) -> Array:
            counts = self.counts(x, keys)
            never = _where(counts == 0, 1, 0 * counts)
            return _log(counts + never) - never * sharpness

        return Target(_itself, lambda x: x[..., : self.d], rho, softmax)
