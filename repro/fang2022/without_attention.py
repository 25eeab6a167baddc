"""A control for Lemma 3.1: the block without its attention layer, and the ReLU layer trained.

What is left of the block stores z-hat = W_2 sigma(W_1 z + b_1) + b_2 in the free slot: two ReLU
units of x and y. On the diagonal x = y = s it has at most three linear pieces, one of a length
h >= 2M/3 in [-M, M], and misses s^2 there by at least h^2/8 (piecewise.py). So the error is M^2/18
or more, however it is trained.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from repro.training import Adam, Cosine, Outcome, Spec, Workspace
from repro.training.loop import fit, generator_at


@dataclass(frozen=True)
class WithoutAttention(Spec):
    """Least squares for -x y on [-M, M]^2, fresh samples in every step."""

    kind: ClassVar[str] = "fang2022-without-attention"
    version: ClassVar[int] = 1

    M: float
    steps: int
    seed: int
    batch: int = 1024
    lr: float = 0.02


def error_floor(M: float) -> float:
    """No choice of the weights comes closer to the product than this."""
    return M**2 / 18


def network() -> nn.Sequential:
    """W_1 of Section 2.2 has two rows."""
    return nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))


def train(spec: WithoutAttention, workspace: Workspace) -> Outcome:
    model = network().to(workspace.device)
    start = generator_at(spec.seed, -1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=start))

    def loss(model: nn.Module, step: int) -> Tensor:
        draw = torch.rand(spec.batch, 2, generator=generator_at(spec.seed, step))
        xy = ((2 * draw - 1) * spec.M).to(workspace.device)
        return (model(xy).squeeze(-1) + xy.prod(-1)).square().mean()

    recipe = {"steps": spec.steps, "optimizer": Adam(lr=spec.lr), "schedule": Cosine()}
    curves = fit(model, loss, workspace=workspace, every=50, **recipe)
    return Outcome({"sup error": sup_error(model, spec.M)}, curves, dict(model.state_dict()))


@torch.no_grad()
def sup_error(model: nn.Module, M: float, points: int = 201) -> float:
    """The largest error on a square grid; the true one is at least that."""
    axis = torch.linspace(-M, M, points)
    xy = torch.cartesian_prod(axis, axis)
    stored = model(xy.to(next(model.parameters()).device)).squeeze(-1).cpu()
    return (stored + xy.prod(-1)).abs().max().item()
