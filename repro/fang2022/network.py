"""Theorem 3.5 as an ordinary torch module: F, beta and b are parameters, the blocks are fixed."""

from typing import Any

import torch
from torch import Tensor, nn

from repro.fang2022 import powers, tower
from repro.fang2022.model import Block, Transformer, rounded
from repro.fang2022.polynomials import Polynomial
from repro.numerics.exact import rational, same_arithmetic, to_float


def polynomial_transformer(
    Q: Polynomial,
    B: Any,
    *,
    q: int | None = None,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> "PolynomialTransformer":
    """A module that computes Q on the ball ||x|| <= B, built by the proof of Theorem 3.5.

    >>> import torch
    >>> from repro.fang2022.network import polynomial_transformer
    >>> from repro.fang2022.polynomials import Polynomial
    >>> model = polynomial_transformer(Polynomial(2, {(2, 0): 1, (1, 1): 3}), B=2)
    >>> model(torch.tensor([[1.0, 0.5]], dtype=torch.float64)).detach()  # 1 + 3/2
    tensor([2.5000], dtype=torch.float64)
    """
    exact = powers.construction(Q, B, q=q, lifts=powers.roomy)
    bound = float(to_float(rational(B)))
    tower.require(dtype, bound, exact.layout.q)
    return PolynomialTransformer(exact, bound, dtype, device)


class PolynomialTransformer(nn.Module):
    """The forward pass is that of model.Transformer; only F, beta and b can be trained."""

    def __init__(self, exact: Transformer, B: float, dtype: torch.dtype, device: Any = "cpu"):
        super().__init__()
        self.layout, self.B = exact.layout, B
        (self.n, self.d), self.q = exact.F.shape, exact.layout.q
        self.F = nn.Parameter(rounded(exact.F, dtype, device))
        self.beta = nn.Parameter(rounded(powers.slots_of(exact), dtype, device))  # (n, q)
        self.b = nn.Parameter(rounded(exact.b, dtype, device))
        self.blocks = nn.ModuleList(FixedBlock(block.to(dtype, device)) for block in exact.blocks)
        if not all(weight.isfinite().all() for weight in self.state_dict().values()):
            raise ValueError(
                f"a coefficient of Lemma 3.3 is too large for {dtype}; take a wider type"
            )

    def forward(self, x: Tensor) -> Tensor:  # (..., d) -> (...)
        same_arithmetic(x, self.F)
        if x.shape[-1:] != (self.d,):
            raise ValueError(f"the model takes x of shape (..., {self.d}), got {tuple(x.shape)}")
        room = 1 + 4 * torch.finfo(x.dtype).eps  # the norm itself is rounded
        largest = torch.linalg.vector_norm(x.detach(), dim=-1).max().item() if x.numel() else 0.0
        if not largest <= self.B * room:
            told = f"Theorem 3.5 holds for ||x|| <= B = {self.B:g}, got ||x|| = {largest:g}"
            raise ValueError(f"{told}; build the model with B >= {largest:g}")
        return self.transformer()(x)

    def transformer(self) -> Transformer:
        """The weights as Section 2 has them; beta with its zeros."""
        blocks = tuple(Block(**dict(fixed.named_buffers())) for fixed in self.blocks)
        places = nn.functional.pad(self.beta, (self.layout.slot(1), 1))
        return Transformer(self.F, blocks, places.flatten(), self.b)

    def extra_repr(self) -> str:
        return f"d={self.d}, n={self.n}, q={self.q}, B={self.B:g}"


class FixedBlock(nn.Module):
    """The seven weights of a block as buffers: saved and moved with the model, never trained."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        for name, weight in block.weights().items():
            self.register_buffer(name, weight)
