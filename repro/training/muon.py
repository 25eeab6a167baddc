"""Muon: the matrix nearest to the momentum that treats all directions alike.

The direction G of momentum is replaced by something close to U V^T, where G = U S V^T: every
singular direction gets the same step. Newton's and Schulz's iteration does it with products alone:
X <- a X + (b A + c A^2) X with A = X X^T acts on each singular value as s <- a s + b s^3 + c s^5,
which for these a, b, c sends all of (0.02, 1] into (0.68, 1.21) in five rounds.

torch.optim.Muon does the same in bfloat16, which keeps three digits and is slow on a CPU without
instructions for it.
Matrices of the same shape, in one model or in a stack of models, are iterated together.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor

COEFFICIENTS = 3.4445, -4.775, 2.0315  # of the authors of Muon, and torch's defaults
ROUNDS = 5
SMALLEST = 1e-7  # a gradient of norm 0 has no direction


def equalised(G: Tensor) -> Tensor:
    """About U V^T for each matrix G = U S V^T of (..., rows, columns)."""
    if G.shape[-2] > G.shape[-1]:  # the smaller Gram matrix
        return equalised(G.mT).mT
    a, b, c = COEFFICIENTS
    X = G.reshape(-1, *G.shape[-2:])  # (batch, rows, columns)
    X = X / X.norm(dim=(-2, -1), keepdim=True).clamp(min=SMALLEST)
    for _ in range(ROUNDS):
        A = X @ X.mT
        X = torch.baddbmm(X, torch.baddbmm(A, A, A, beta=b, alpha=c), X, beta=a)
    return X.reshape(G.shape)


class Muon(torch.optim.Optimizer):
    """W <- W - lr sqrt(max(1, rows / columns)) equalised(Nesterov's momentum)."""

    def __init__(self, matrices: Iterable[Tensor], lr: float, momentum: float) -> None:
        if not (lr >= 0 and 0 <= momentum < 1):
            raise ValueError(f"Muon needs lr >= 0 and 0 <= momentum < 1, got {lr=}, {momentum=}")
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            alike: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for W in group["params"]:
                if W.grad is not None:
                    alike[W.shape].append(W)
            for (rows, columns), matrices in alike.items():
                pace = group["lr"] * max(1, rows / columns) ** 0.5
                ahead = torch.stack([self._ahead(W, group["momentum"]) for W in matrices])
                for W, direction in zip(matrices, equalised(ahead), strict=True):
                    W.sub_(direction, alpha=pace)

    def _ahead(self, W: Tensor, momentum: float) -> Tensor:
        state = self.state[W]
        if not state:
            state["mean"] = torch.zeros_like(W)
        assert W.grad is not None
        state["mean"].lerp_(W.grad, 1 - momentum)
        return W.grad.lerp(state["mean"], momentum)
