"""Lemma F.6, trained: networks of m neurons without biases, fitted to |y|_2 on the cube of R^3.

They start from Maurey's draw and minimise the mean eighth power of the error at random points of
the cube's surface, which is nearer to the supremum than the mean square. By homogeneity the surface
is enough.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from repro.numerics import barron
from repro.training import Adam, Cosine, Outcome, Spec, Workspace
from repro.training.loop import fit, generator_at


@dataclass(frozen=True)
class NormFit(Spec):
    kind: ClassVar[str] = "wang2024-norm-fit"
    version: ClassVar[int] = 1

    m: int
    steps: int
    seed: int
    batch: int = 512
    lr: float = 0.03
    power: int = 8


class Neurons(nn.Module):
    """sum_k a_k relu(b_k.y)."""

    def __init__(self, network: barron.Network) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.tensor(network.a * len(network.a)))  # of the size of b
        self.b = nn.Parameter(torch.tensor(network.b))

    def forward(self, y: Tensor) -> Tensor:
        return (y @ self.b.T).relu() @ self.a / len(self.a)


def train(spec: NormFit, workspace: Workspace) -> Outcome:
    start = barron.norm_network(3, spec.m, np.random.default_rng(spec.seed))
    model = Neurons(start).to(workspace.device)

    def loss(model: Neurons, step: int) -> Tensor:
        y = _surface(spec.batch, generator_at(spec.seed, step)).to(workspace.device)
        error = model(y) - y.norm(dim=-1)
        return error.pow(spec.power).mean().pow(1 / spec.power)

    curves = fit(
        model,
        loss,
        steps=spec.steps,
        optimizer=Adam(lr=spec.lr),
        schedule=Cosine(),
        workspace=workspace,
        every=50,
    )
    return Outcome({}, curves, dict(model.state_dict()))


def _surface(count: int, generator: torch.Generator) -> Tensor:
    y = 2 * torch.rand(count, 3, generator=generator, dtype=torch.float64) - 1
    return y / y.abs().amax(-1, keepdim=True)


def network_of(tensors: dict[str, Tensor]) -> barron.Network:
    a, b = (tensors[name].cpu().numpy() for name in ("a", "b"))
    return barron.Network(a / len(a), b, np.zeros(len(a)))
