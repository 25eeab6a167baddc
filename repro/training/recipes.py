"""Optimisers and schedules as frozen dataclasses, so that a spec can hold them.

They need no torch until they are built. A schedule has no state: the pace of a step is a function
of the step, so there is nothing to save and a resumed training cannot lose it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch


class Optimizer(Protocol):
    def build(self, parameters: "Iterable[torch.nn.Parameter]") -> "torch.optim.Optimizer": ...


@dataclass(frozen=True)
class SGD:
    lr: float
    momentum: float = 0.0

    def build(self, parameters: "Iterable[torch.nn.Parameter]") -> "torch.optim.Optimizer":
        import torch

        return torch.optim.SGD(parameters, lr=self.lr, momentum=self.momentum)


@dataclass(frozen=True)
class Adam:
    lr: float
    betas: tuple[float, float] = (0.9, 0.999)

    def build(self, parameters: "Iterable[torch.nn.Parameter]") -> "torch.optim.Optimizer":
        import torch

        return torch.optim.Adam(parameters, lr=self.lr, betas=self.betas)


@dataclass(frozen=True)
class Pace:
    """For one step: a factor of the optimiser's lr, and its momentum (None: leave it)."""

    factor: float
    momentum: float | None = None


class Schedule(Protocol):
    def pace(self, step: int, steps: int) -> Pace: ...


@dataclass(frozen=True)
class Constant:
    def pace(self, step: int, steps: int) -> Pace:
        return Pace(1.0)


@dataclass(frozen=True)
class Cosine:
    """From lr down to 0, which would be reached at step `steps`, one after the last."""

    def pace(self, step: int, steps: int) -> Pace:
        return Pace(_cosine(1.0, 0.0, step / steps))


@dataclass(frozen=True)
class OneCycle:
    """torch's OneCycleLR and its defaults: up to lr, down to almost nothing, momentum inversely.

    `start` and `end` are factors of lr, `rise` the part of the steps spent going up, `momenta` the
    momentum at the ends and at the peak.
    """

    start: float = 1 / 25
    end: float = 1 / 25e4
    rise: float = 0.3
    momenta: tuple[float, float] = (0.95, 0.85)

    def __post_init__(self) -> None:
        if not 0 < self.rise < 1:
            raise ValueError(f"OneCycle needs 0 < rise < 1: got {self.rise}")

    def pace(self, step: int, steps: int) -> Pace:
        peak, last = self.rise * steps - 1, steps - 1
        calm, quick = self.momenta
        if step < peak:
            way = step / peak
            return Pace(_cosine(self.start, 1.0, way), _cosine(calm, quick, way))
        way = (step - peak) / (last - peak)
        return Pace(_cosine(1.0, self.end, way), _cosine(quick, calm, way))


def _cosine(begin: float, end: float, way: float) -> float:
    return end + (begin - end) * (1 + math.cos(math.pi * way)) / 2
