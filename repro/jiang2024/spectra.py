"""Figure 1: targets of Section 5.1 to be learnt, and three references for what is learnt.

phi_i = psi_i = sqrt2 sin(2 pi i x), F = f = id, tau = 16 uniform tokens; sigma_i = i^-alpha for
i <= r. Rank None is r = infinity, with no wave left out.

1. `construction`: the first m waves, raised by the ridge of rate.py, 3; exact if m >= r.
2. `planted`: the same as weights of the network to be trained, for a training that starts there.
3. `BestCoupling`: the best coupling of rank m found. logit_floor.py has a proved floor, of logits.

No floor holds for all networks (5): a large F^ may make up for the coupling. With m_h = 1,
rho^(u, v) = u v / 1000 and the d_v = 31 averages of v, v^2, ..., v^31, every continuous H_t that
depends on x(t) and the set of all 16 tokens can be read off by a continuous F^. For the averages
are the moments of the weights e^{u x_s / 1000} / Z, u = x(t), at no more than 16 points, and 31
moments determine 16 points and their weights. These are in proportion to k e^{u x / 1000} with the
multiplicities k; two ratios of such k differ by a factor of 226/225 or more, so the weights tell k,
and then u, unless there is one point only, which is u. So the averages are a continuous injective
image of a compact space, and F^ is H_t on it, a very steep one. That trained networks stay near 3
is a fact about training.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from repro.jiang2024 import learner, rate
from repro.jiang2024.couplings import Coupling, endless, powers
from repro.jiang2024.learner import FitAttention, Learner
from repro.jiang2024.model import Transformer
from repro.numerics.exact import to_float
from repro.training import Outcome, Spec, Workspace
from repro.training.loop import generator_at

TAU = 16
MOST = 16  # the largest m_h of Figure 1
DERIVATIVE = (8 / 5, -2 / 5, 8 / 105, -1 / 140)  # of order 8: x = sum_j c_j sin(j x) + O(x^9 / 630)


@dataclass(frozen=True)
class Spectrum:
    """A task (learner.Task): H_t(x) is the average of all x(s) with the weights of rho."""

    alpha: str
    rank: int | None
    inputs = outputs = 1  # without annotations: no fields

    @property
    def coupling(self) -> Coupling:
        if self.rank is None:
            return endless(self.alpha, MOST)
        return Coupling(powers(self.alpha, self.rank))

    def draw(self, generator: torch.Generator, count: int) -> Tensor:
        return torch.rand(count, TAU, 1, generator=generator, dtype=torch.float64)

    def wanted(self, tokens: Tensor) -> Tensor:
        return self.coupling.target()(tokens)[..., None]


def kept(task: Spectrum, m: int) -> np.ndarray:
    """s_1, ..., s_min(m, r) of the construction, in balls."""
    return rate.kept(task.coupling, min(m, task.rank or m), TAU)


def construction(task: Spectrum, m: int, x: Tensor) -> Transformer:
    """1."""
    return rate.truncated(task.coupling, kept(task, m), x)


@dataclass(frozen=True)
class FromConstruction(FitAttention):
    """2: a training that starts at the construction; the shape needs sines in f^."""

    kind: ClassVar[str] = "jiang2024-from-construction"


def train(spec: FitAttention, workspace: Workspace) -> Outcome:
    if not isinstance(spec, FromConstruction):
        return learner.train(spec, workspace)
    never = math.inf  # an exact construction's first loss is round-off
    return learner.improve(planted(spec), spec, workspace, diverges_at=never)


@torch.no_grad()
def planted(spec: FitAttention) -> Learner:
    """2: the network whose weights are those of the construction.

    The first layer of f^ has sines: 2 pi i x for i <= m, and x = 1/2 + sum_j c_j sin j(x - 1/2)
    with j <= 4 and the c of numerical differentiation of order 8, off by (1/2)^9 / 630 = 3.1e-6 at
    most. What follows has SiLU. All other units stay as they are drawn, read by nobody. Because
    phi_i = psi_i, n = m + 1 features are enough; (18) has 2 m + 1, for m_h = 16 more than the
    printed n = 32.
    """
    task, frequency = spec.task, spec.shape.f.sines
    assert isinstance(task, Spectrum)
    assert frequency is not None
    model, s = learner.untrained(spec), torch.tensor(to_float(kept(task, spec.shape.m_h)))
    m = len(s)
    waves, slow = torch.arange(1, m + 1), torch.arange(1, len(DERIVATIVE) + 1)
    first, *after = (layer for layer in model.f if isinstance(layer, nn.Linear))
    angles = torch.cat([2 * math.pi * waves, slow])
    first.weight[: len(angles), 0] = angles / frequency
    first.bias[: len(angles)] = torch.cat([0 * waves, -slow / 2]) / frequency
    read = torch.block_diag(torch.eye(m), torch.tensor([DERIVATIVE]))
    carried(after, read, torch.tensor([*[0.0] * m, 0.5]))
    rows = torch.diag((2 * s).sqrt())  # both sides have sqrt2, and half of s_i
    for W in (model.W_Q, model.W_K):
        _write(W, rows, all_rows=True)
    _write(model.W_V, torch.eye(m + 1)[-1:])
    carried([F for F in model.F if isinstance(F, nn.Linear)], torch.ones(1, 1), torch.zeros(1))
    return model


def carried(layers: Sequence[nn.Linear], read: Tensor, shift: Tensor) -> None:
    """Make read . x + shift the first rows of what these layers, SiLU between them, make of x.

    Two units carry z through: silu(z) - silu(-z) = z.
    """
    for layer in layers[:-1]:
        _write(layer.weight, torch.cat([read, -read]))
        layer.bias[: 2 * len(shift)] = torch.cat([shift, -shift])
        read = torch.cat([torch.eye(len(shift)), -torch.eye(len(shift))], dim=1)
        shift = torch.zeros_like(shift)
    _write(layers[-1].weight, read)
    layers[-1].bias[: len(shift)] = shift


def _write(W: Tensor, block: Tensor, all_rows: bool = False) -> None:
    """The block into the upper left corner of W; zeros beside it, and below if `all_rows`."""
    rows, columns = block.shape
    W[: None if all_rows else rows] = 0
    W[:rows, :columns] = block


@dataclass(frozen=True)
class BestCoupling(Spec):
    """3: F = f = id, rho^(u, v) = A w(u) . B w(v) with w = (1, sines, cosines), such that the mean
    square error of the outputs on given sequences is least; by L-BFGS, from the construction."""

    kind: ClassVar[str] = "jiang2024-best-coupling"
    version: ClassVar[int] = 1

    task: Spectrum
    m: int
    waves: int
    sequences: int
    iterations: int
    seed: int


def best_coupling(spec: BestCoupling, workspace: Workspace) -> Outcome:
    """Errors of the best coupling found, on the sequences of the fit and on fresh ones."""
    x = spec.task.draw(generator_at(spec.seed, 0), spec.sequences)
    basis, wanted = _basis(spec, x), spec.task.wanted(x)
    A, B = (W.requires_grad_() for W in _start(spec))
    losses: list[float] = []

    def loss() -> Tensor:
        engine.zero_grad()
        value = (_outputs(A, B, basis, x) - wanted).square().mean()
        value.mul(1 / SCALE).backward()
        losses.append(value.item())
        workspace.progress(len(losses), 2 * spec.iterations, loss=losses[-1])
        return value.detach() / SCALE

    engine = torch.optim.LBFGS(
        [A, B],
        max_iter=spec.iterations,
        history_size=30,
        line_search_fn="strong_wolfe",
        tolerance_grad=1e-12,
        tolerance_change=1e-14,
    )
    engine.step(loss)
    fresh = spec.task.draw(generator_at(spec.seed, -2), learner.JUDGED)
    with torch.no_grad():
        errors = _outputs(A, B, _basis(spec, fresh), fresh) - spec.task.wanted(fresh)
    numbers = {**learner.sizes(errors), "mean square error, fitted": min(losses)}
    return Outcome(numbers, {"loss": losses}, {"A": A.detach(), "B": B.detach()})


SCALE = 1e-4  # setting, of the losses: L-BFGS stops at absolute changes


def _outputs(A: Tensor, B: Tensor, basis: Tensor, x: Tensor) -> Tensor:
    return ((basis @ A.mT) @ (basis @ B.mT).mT).softmax(-1) @ x


def _basis(spec: BestCoupling, x: Tensor) -> Tensor:
    """w(x), (..., 1) -> (..., 1 + 2 waves)."""
    angles = 2 * math.pi * x * torch.arange(1, spec.waves + 1)
    return torch.cat([torch.ones_like(x), 2**0.5 * angles.sin(), 2**0.5 * angles.cos()], dim=-1)


def _start(spec: BestCoupling) -> tuple[Tensor, Tensor]:
    """A and B of the construction, and a little noise: at a saddle point nothing would move."""
    s = torch.tensor(to_float(kept(spec.task, spec.m)))
    A, B = 0.01 * torch.randn(
        2, spec.m, 1 + 2 * spec.waves, generator=generator_at(spec.seed, -1), dtype=torch.float64
    )
    for W in (A, B):
        W[: len(s), 1 : 1 + len(s)] += torch.diag(s.sqrt())
    return A, B
