"""Lemma E.1, trained: m heads with lin-RPE learn to single out the instant T, from a random start.

The kernel of a dot-product-free layer is sum_h W_h softmax(-beta_h s); its l1 distance from the
indicator of T on a window, which is the worst output error for tokens in [-1, 1], is minimised over
all W_h and beta_h > 0.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from repro.training import Adam, Cosine, Outcome, Spec, Workspace
from repro.training.loop import fit, generator_at
from repro.wang2024.heads import Fit


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


def train(spec: DeltaFit, workspace: Workspace) -> Outcome:
    kernel = Kernel(spec.m, spec.length, generator_at(spec.seed, -1)).to(workspace.device)
    target = torch.zeros(spec.length, dtype=torch.float64, device=workspace.device)
    target[spec.T] = 1
    curves = fit(
        kernel,
        lambda kernel, step: (kernel() - target).abs().sum(),
        steps=spec.steps,
        optimizer=Adam(lr=spec.lr),
        schedule=Cosine(),
        workspace=workspace,
        every=50,
    )
    error = (kernel() - target).abs().sum().item()
    return Outcome({"l1 error": error}, curves, dict(kernel.state_dict()))


def layer(spec: DeltaFit, outcome: Outcome) -> Fit:
    """The trained heads, as the layer of the model."""
    W, b = (outcome.tensors[name].cpu() for name in ("W", "b"))
    beta = tuple(nn.functional.softplus(b).tolist())
    error = outcome.numbers["l1 error"]
    return Fit("lin", beta, np.array(W.tolist()), spec.length, error)
