"""The three tasks of Appendix B.1: inputs, the attention that the text displays, and form (8).

Task               Token, column by column                         F o f               Output
nearest point      u (d), v (d)                                    (u, v) -> v         (54)
centre of gravity  x (d), mass, 1 for a prediction token, label    its x, then |x|     (58), (62)
selection          v (d), indices s (k), own index                 its v               (63)

`weights` is the attention matrix that the text asks for, `wanted` the output with it, `readout` the
output on a constant sequence, F o f. `target(sharpness)` is of form (8); its weights tend to these
as the sharpness grows, in exact arithmetic the logarithm of a rational, with integers as factors.

Readings. The label, the number of the segment, and the own index are not in the paper: without them
the tasks are not of form (8) with the displayed weights (claims on (57) and (63)). Indices count
from 0, as in (66); masses are drawn from [1/10, 1], points from [-1, 1]^d.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from repro.jiang2024.encodings import appended
from repro.jiang2024.model import Target, hard_max
from repro.numerics.arrays import Array, each, inner, side_by_side
from repro.numerics.exact import rationals
from repro.numerics.logarithms import Log

# (66), s(0) to s(7), for tau = 8 and k = 3
PRINTED_SELECTION = (
    (4, 5, 5), (4, 4, 4), (1, 1, 7), (5, 5, 5), (0, 3, 7), (0, 6, 7), (2, 2, 2), (2, 3, 4),
)  # fmt: skip


def _uniform(generator: torch.Generator, *shape: int, low: float = -1, high: float = 1) -> Tensor:
    draw = torch.rand(shape, generator=generator, dtype=torch.float64)
    return low + (high - low) * draw


def _squares(u: Array, v: Array) -> Array:
    """|u_t - v_s|^2 for all t and s."""
    return ((u[..., :, None, :] - v[..., None, :, :]) ** 2).sum(-1)


def _log(values: Array) -> Array:
    return values.log() if isinstance(values, Tensor) else each(Log, values)


def _where(condition: Array, yes: Any, no: Any) -> Array:
    return (torch if isinstance(condition, Tensor) else np).where(condition, yes, no)


class Displayed(ABC):
    """A task with f, F, and the weights that its text displays."""

    d: int

    @property
    def outputs(self) -> int:
        return self.d

    @abstractmethod
    def weights(self, x: Array) -> Array: ...

    def f(self, x: Array) -> Array:
        return x[..., : self.d]

    def F(self, z: Array) -> Array:
        return z

    @abstractmethod
    def logits(self, x: Array, keys: Array, sharpness: Any) -> Array: ...

    def target(self, sharpness: Any) -> Target:
        """Of form (8)."""
        return Target(self.F, self.f, lambda x, keys: self.logits(x, keys, sharpness))

    def wanted(self, tokens: Array) -> Array:  # (..., tau, outputs)
        y = self.F(inner(self.weights(tokens), self.f(tokens).mT))
        return y.reshape(*tokens.shape[:-1], -1)

    def readout(self, tokens: Array) -> Array:  # (..., tau, outputs)
        return self.F(self.f(tokens)).reshape(*tokens.shape[:-1], -1)


@dataclass(frozen=True)
class Nearest(Displayed):
    """(54): for each u(t) the nearest of all v(s)."""

    d: int = 2
    tau: int = 6

    @property
    def inputs(self) -> int:
        return 2 * self.d

    def draw(self, generator: torch.Generator, count: int) -> Tensor:
        return _uniform(generator, count, self.tau, self.inputs)

    def f(self, x: Array) -> Array:
        return x[..., self.d :]

    def distances(self, x: Array, keys: Array) -> Array:
        """|u(t) - v(s)|; exact numbers have no square roots, and need d = 1."""
        u, v = x[..., : self.d], keys[..., self.d :]
        return _squares(u, v).sqrt() if isinstance(x, Tensor) else abs(u - v.mT)

    def weights(self, x: Array) -> Array:
        """All weight on the nearest; squares have the same order."""
        return hard_max(-_squares(x[..., : self.d], x[..., self.d :]))

    def logits(self, x: Array, keys: Array, sharpness: Any) -> Array:
        """-sharpness |u - v|, the sign of (55)."""
        return -self.distances(x, keys) * sharpness


@dataclass(frozen=True)
class Gravity(Displayed):
    """(58): prediction tokens get the norm of the mean of their segment, by mass; others |x|."""

    d: int = 2
    length: int = 10
    shortest: int = 2
    marks: tuple[Literal["segment", "position"], ...] = ("segment",)  # what stands last, counted
    outputs = 1  # type: ignore  # without annotation: no field

    @property
    def inputs(self) -> int:
        return self.d + 2 + len(self.marks)

    def draw(self, generator: torch.Generator, count: int) -> Tensor:
        """Every division of the length into segments is as likely as any other."""
        layouts = self.layouts(self.length)
        chosen = torch.randint(len(layouts), (count,), generator=generator)
        x = _uniform(generator, count, self.length, self.d)
        m = _uniform(generator, count, self.length, 1, low=0.1, high=1)
        return self.tokens(torch.cat([x, m], dim=-1), self.flags(layouts)[chosen])

    def tokens(self, masses: Tensor, flags: Tensor) -> Tensor:
        """Of points with their mass (..., d + 1), unless the flag (...) says: prediction token."""
        position = torch.arange(self.length, dtype=masses.dtype).expand(flags.shape)
        known = {"segment": flags.cumsum(-1) - 1, "position": position}
        columns = [flags, *(known[mark] for mark in self.marks)]
        points = masses * (1 - flags)[..., None]
        return torch.cat([points, torch.stack(columns, dim=-1)], dim=-1)

    def layouts(self, length: int) -> list[tuple[int, ...]]:
        """The numbers of points of the segments, each of which takes a prediction token more."""
        if length == 0:
            return [()]
        firsts = range(self.shortest, length)
        return [(n, *rest) for n in firsts for rest in self.layouts(length - n - 1)]

    def flags(self, layouts: list[tuple[int, ...]]) -> Tensor:  # (number of layouts, length)
        rows = [[float(place == 0) for n in row for place in range(n + 1)] for row in layouts]
        return torch.tensor(rows, dtype=torch.float64)

    def F(self, z: Array) -> Array:
        """|z|; exact numbers have no square roots, and need d = 1."""
        return z.norm(dim=-1) if isinstance(z, Tensor) else abs(z[..., 0])

    def weights(self, x: Array) -> Array:
        """(62), from the flags alone: a segment reaches from a prediction token to the next."""
        mass, flag = x[..., self.d], x[..., self.d + 1]
        segment, own = flag.cumsum(-1), np.eye(x.shape[-2], dtype=int)
        shared = _where(segment[..., :, None] == segment[..., None, :], mass[..., None, :], 0)
        alone = x.new_tensor(own) if isinstance(x, Tensor) else rationals(own)
        return _where(flag[..., :, None] == 1, shared / shared.sum(-1)[..., None], alone)

    def logits(self, x: Array, keys: Array, sharpness: Any) -> Array:
        """With the label as the first mark. Prediction tokens: log m - sharpness (difference of
        labels)^2, and -sharpness for other prediction tokens; points: -sharpness |x - y|^2."""
        d = self.d
        predicts = x[..., d + 1][..., :, None] == 1
        predicted = keys[..., d + 1][..., None, :] == 1
        apart = _where(predicted, 1, _squares(x[..., d + 2 : d + 3], keys[..., d + 2 : d + 3]))
        mass = keys[..., d] + keys[..., d + 1]  # of a prediction token: 1
        shared = _log(mass)[..., None, :] - apart * sharpness
        return _where(predicts, shared, -_squares(x, keys) * sharpness)


@dataclass(frozen=True)
class Selection(Displayed):
    """(63): the mean of the k vectors whose indices the token names."""

    d: int = 2
    k: int = 3
    tau: int = 8

    @property
    def inputs(self) -> int:
        return self.d + self.k + 1

    def draw(self, generator: torch.Generator, count: int) -> Tensor:
        s = torch.randint(self.tau, (count, self.tau, self.k), generator=generator)
        return self.tokens(_uniform(generator, count, self.tau, self.d), s.double())

    def tokens(self, v: Array, s: Array) -> Array:
        """(v, s) with the own index as the last column."""
        return side_by_side(v, s, appended(v)[..., -1:] - 1)

    def counts(self, x: Array, keys: Array) -> Array:
        """How often x(t) names the index of key s."""
        named, own = x[..., self.d : self.d + self.k], keys[..., -1]
        same = (named[..., :, None, :] == own[..., None, :, None]).sum(-1)
        return same.to(x.dtype) if isinstance(x, Tensor) else rationals(same)

    def weights(self, x: Array) -> Array:
        return self.counts(x, x) / self.k

    def logits(self, x: Array, keys: Array, sharpness: Any) -> Array:
        """log(count), and -sharpness where the count is 0."""
        counts = self.counts(x, keys)
        never = _where(counts == 0, 1, 0 * counts)
        return _log(counts + never) - never * sharpness


@dataclass(frozen=True)
class OneHot:
    """The task, whose last columns, integers below `size`, are written as unit vectors."""

    task: Gravity | Selection
    columns: int
    size: int

    @property
    def inputs(self) -> int:
        return self.task.inputs + self.columns * (self.size - 1)

    @property
    def outputs(self) -> int:
        return self.task.outputs

    def draw(self, generator: torch.Generator, count: int) -> Tensor:
        return self.coded(self.task.draw(generator, count))

    def coded(self, x: Tensor) -> Tensor:
        numbers = x[..., -self.columns :].long()
        codes = torch.nn.functional.one_hot(numbers, self.size).flatten(-2)
        return torch.cat([x[..., : -self.columns], codes.to(x.dtype)], dim=-1)

    def plain(self, tokens: Tensor) -> Tensor:
        codes = tokens[..., -self.columns * self.size :].unflatten(-1, (self.columns, self.size))
        plain = tokens[..., : -self.columns * self.size]
        return torch.cat([plain, codes.argmax(-1).to(tokens.dtype)], dim=-1)

    def weights(self, x: Tensor) -> Tensor:
        return self.task.weights(self.plain(x))

    def wanted(self, tokens: Tensor) -> Tensor:
        return self.task.wanted(self.plain(tokens))

    def readout(self, tokens: Tensor) -> Tensor:
        return self.task.readout(self.plain(tokens))
