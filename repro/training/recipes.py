"""Optimisers and schedules as frozen dataclasses, so that a spec can hold them.

They need no torch until they are built. A schedule has no state: the pace of a step is a function
of the step, so there is nothing to save and a resumed training cannot lose it.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch

    Named = dict[str, torch.nn.Parameter]
    Engines = list[torch.optim.Optimizer]  # each parameter is in one of them

RISE, END, MOMENTA = 0.3, 1 / 25e4, (0.95, 0.85)  # defaults of torch's OneCycleLR


@dataclass(frozen=True)
class SGD:
    lr: float
    momentum: float = 0.0

    def build(self, parameters: "Named") -> "Engines":
        import torch

        return [torch.optim.SGD(parameters.values(), lr=self.lr, momentum=self.momentum)]


@dataclass(frozen=True)
class Adam:
    lr: float
    betas: tuple[float, float] = (0.9, 0.999)

    def build(self, parameters: "Named") -> "Engines":
        import torch

        engine = torch.optim.Adam(parameters.values(), lr=self.lr, betas=self.betas, fused=True)
        return [engine]


@dataclass(frozen=True)
class Muon:
    """Muon for matrices between features, `rest` for all other parameters.

    A matrix, such as the first layer's, is set apart if a part of its dotted name is in `apart`.
    """

    lr: float
    rest: Adam | SGD
    apart: tuple[str, ...] = ()
    momentum: float = 0.95

    def build(self, parameters: "Named") -> "Engines":
        from repro.training import muon

        matrices, others = {}, {}
        for name, parameter in parameters.items():
            apart = parameter.ndim != 2 or set(name.split(".")) & set(self.apart)
            (others if apart else matrices)[name] = parameter
        if not matrices:
            raise ValueError(f"Muon has no matrix to move: parameters are {', '.join(parameters)}")
        ours = muon.Muon(matrices.values(), lr=self.lr, momentum=self.momentum)
        return [ours, *(self.rest.build(others) if others else [])]


class Optimizer(Protocol):
    """SGD, Adam, Muon, or a frozen dataclass of yours that builds engines of torch.optim."""

    def build(self, parameters: "Named") -> "Engines": ...


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
class Trapezoid:
    """Up to lr until `rise`, level until `level`, and down to 0, which would be reached at 1.

    These are parts of all steps, 0 <= rise <= level < 1.
    """

    rise: float = 0.05
    level: float = 0.4

    def pace(self, step: int, steps: int) -> Pace:
        up = (step + 1) / (self.rise * steps) if self.rise else 1.0
        return Pace(min(up, 1.0, (1 - step / steps) / (1 - self.level)))


@dataclass(frozen=True)
class OneCycle:
    """torch's OneCycleLR: from `start` times lr up to lr, down to almost nothing.

    Momentum goes the other way, from 0.95 down to 0.85 and up again.
    """

    start: float = 1 / 25

    def pace(self, step: int, steps: int) -> Pace:
        peak, last = RISE * steps - 1, steps - 1
        calm, quick = MOMENTA
        if step < peak:
            way = step / peak
            return Pace(_cosine(self.start, 1.0, way), _cosine(calm, quick, way))
        way = (step - peak) / (last - peak)
        return Pace(_cosine(1.0, END, way), _cosine(quick, calm, way))


def _cosine(begin: float, end: float, way: float) -> float:
    return end + (begin - end) * (1 + math.cos(math.pi * way)) / 2
