"""Parts of networks, trained from a random start.

Lemma E.1     DeltaFit      m heads with lin-RPE for the indicator of T: the l1 distance on a
                            window, which is the worst output error for tokens in [-1, 1]
Theorem 6.1   TrainedHeads  H heads, values and r_k for the kernels of an example: the mean square
                            error for random signs
Lemma F.6     NormFit       m neurons without biases, from Maurey's draw, for |y|_2 on the cube of
                            R^3: the mean eighth power of the error, which is nearer to the supremum
                            than the mean square, at random points of the cube's surface, which is
                            enough by homogeneity
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from repro.numerics import barron
from repro.training import Adam, Cosine, Outcome, Spec, Workspace
from repro.training.loop import fit, generator_at
from repro.wang2024 import heads
from repro.wang2024.essential import EXAMPLES
from repro.wang2024.model import SMALLEST, Attention, Head, phi

Curves = dict[str, list[float]]


def _fitted(
    model: Any, loss: Callable[[Any, int], Tensor], spec: Any, workspace: Workspace
) -> Curves:
    how = {"steps": spec.steps, "optimizer": Adam(lr=spec.lr), "schedule": Cosine(), "every": 50}
    return fit(model, loss, workspace=workspace, **how)


@dataclass(frozen=True)
class DeltaFit(Spec):
    kind: ClassVar[str] = "wang2024-delta-fit"
    version: ClassVar[int] = 1

    T: int
    m: int
    steps: int
    seed: int
    length: int = 40
    lr: float = 0.03


class Kernel(nn.Module):
    """s -> sum_h W_h softmax(-beta_h s), beta_h = softplus(b_h), for s = 0, ..., length - 1."""

    s: Tensor

    def __init__(self, m: int, length: int, start: torch.Generator) -> None:
        super().__init__()
        self.b = nn.Parameter(torch.randn(m, generator=start, dtype=torch.float64))
        self.W = nn.Parameter(torch.randn(m, generator=start, dtype=torch.float64) / m)
        self.register_buffer("s", torch.arange(length, dtype=torch.float64))

    def forward(self) -> Tensor:
        beta = nn.functional.softplus(self.b)
        return self.W @ (-beta[:, None] * self.s).softmax(-1)


def train_delta(spec: DeltaFit, workspace: Workspace) -> Outcome:
    kernel = Kernel(spec.m, spec.length, generator_at(spec.seed, -1)).to(workspace.device)
    target = torch.zeros(spec.length, dtype=torch.float64, device=workspace.device)
    target[spec.T] = 1

    def loss(kernel: Kernel, step: int) -> Tensor:
        return (kernel() - target).abs().sum()

    curves = _fitted(kernel, loss, spec, workspace)
    return Outcome({"l1 error": loss(kernel, spec.steps).item()}, curves, dict(kernel.state_dict()))


def layer(spec: DeltaFit, outcome: Outcome) -> heads.Fit:
    """The trained heads, as the layer of the model."""
    W, b = (outcome.tensors[name].cpu() for name in ("W", "b"))
    beta = tuple(nn.functional.softplus(b).tolist())
    error = outcome.numbers["l1 error"]
    return heads.Fit("lin", beta, np.array(W.tolist()), spec.length, error)


@dataclass(frozen=True)
class TrainedHeads(Spec):
    kind: ClassVar[str] = "wang2024-heads"
    version: ClassVar[int] = 1

    example: str
    rpe: str
    H: int
    steps: int
    seed: int
    length: int = 100
    lr: float = 0.03


class Kernels(nn.Module):
    """H heads that all kernels share, values and r_k; p = e^theta, above 1 for log-RPE."""

    def __init__(self, spec: TrainedHeads, M: int) -> None:
        super().__init__()
        start, dtype = generator_at(spec.seed, -1), torch.float64
        self.rpe, self.length = spec.rpe, spec.length
        self.theta = nn.Parameter(torch.randn(spec.H, generator=start, dtype=dtype))
        self.V = nn.Parameter(torch.randn(spec.H, M, generator=start, dtype=dtype) / spec.H)
        self.r = nn.Parameter(torch.zeros(M, dtype=dtype))
        self.bias = phi(spec.rpe, torch.arange(SMALLEST[spec.rpe], spec.length, dtype=dtype))

    @property
    def p(self) -> Tensor:
        return self.theta.exp() + SMALLEST[self.rpe]

    def forward(self) -> Tensor:
        """phi_k(s), with r_k at s = 0; (M, length)."""
        table = torch.softmax(self.p[:, None] * self.bias, -1)  # (H, length), as (3) has it
        return self.responses(nn.functional.pad(table, (SMALLEST[self.rpe], 0)))

    def responses(self, table: Tensor) -> Tensor:
        present = torch.eye(self.length, dtype=table.dtype)[0]
        return self.V.mT @ table + self.r[:, None] * present

    @torch.no_grad()
    def judged(self) -> Tensor:
        """The same through the shared model."""
        one = torch.ones(1, 1, dtype=torch.float64)
        attention = Attention(tuple(Head(one, p) for p in self.p), one, self.rpe)
        return self.responses(attention.kernel(self.length))


def train_heads(spec: TrainedHeads, workspace: Workspace) -> Outcome:
    rho = torch.from_numpy(EXAMPLES[spec.example].values(spec.length))
    model = Kernels(spec, len(rho))
    before = (model.judged() - rho).abs().sum().item()
    curves = _fitted(model, lambda layer, step: (layer() - rho).square().sum(), spec, workspace)
    found = model.judged()
    numbers = {"E_Attn at the start": before, "E_Attn": (found - rho).abs().sum().item()}
    return Outcome(numbers, curves, {**model.state_dict(), "phi": found})


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


def train_norm(spec: NormFit, workspace: Workspace) -> Outcome:
    start = barron.norm_network(3, spec.m, np.random.default_rng(spec.seed))
    model = Neurons(start).to(workspace.device)

    def loss(model: Neurons, step: int) -> Tensor:
        y = surface(spec.batch, generator_at(spec.seed, step)).to(workspace.device)
        error = model(y) - y.norm(dim=-1)
        return error.pow(spec.power).mean().pow(1 / spec.power)

    return Outcome({}, _fitted(model, loss, spec, workspace), dict(model.state_dict()))


def surface(count: int, generator: torch.Generator) -> Tensor:
    """Random points of the cube's surface."""
    y = 2 * torch.rand(count, 3, generator=generator, dtype=torch.float64) - 1
    return y / y.abs().amax(-1, keepdim=True)


def network_of(tensors: dict[str, Tensor]) -> barron.Network:
    a, b = (tensors[name].cpu().numpy() for name in ("a", "b"))
    return barron.Network(a / len(a), b, np.zeros(len(a)))
