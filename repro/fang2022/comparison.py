"""Section 5 and Appendix A.1: ATTENTION, NN_width and NN_depth, which the experiments compare.

ATTENTION is the model of Section 2 with the blocks of Theorem 3.5. These are fixed, so what is
trained is F = [xi_1, ..., xi_n]^T, the n q entries of beta that meet a stored power (their signs
absorbed) and b: n (d + q) + 1 numbers. Its output is b + sum_k sum_s beta_{k,s} (xi_k . x)^s;
`fused` evaluates that without building a token.

Readings:
- NN_depth has q + 1 hidden layers: the claims of Tables 2 and 3 say why.
- The start is not printed. The xi_k start as independent uniform unit vectors, since Lemma 3.3 has
  unit vectors, beta and b at 0: the model starts as the zero function. The ReLU networks start as
  torch's nn.Linear does: weights and biases uniform in +-1/sqrt(inputs).
- Nothing keeps the xi_k at norm 1 during training: Section 5 does not mention it.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from repro.fang2022 import fused, powers
from repro.fang2022.model import Transformer
from repro.numerics.exact import rational, rationals, same_arithmetic


class Attention(nn.Module):
    """The model of Theorem 3.5 with n directions, as it is trained."""

    def __init__(self, d: int, q: int, n: int, start: torch.Generator | None = None) -> None:
        super().__init__()
        directions = torch.randn(n, d, generator=start)
        self.F = nn.Parameter(directions / directions.norm(dim=1, keepdim=True))  # rows xi_k
        self.beta = nn.Parameter(torch.zeros(n, q))
        self.b = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:  # (N, d) -> (N,)
        return fused.ridge_polynomial(x, self.F, self.beta) + self.b

    def literal(self, B: Any) -> Transformer:
        """The same model as Section 2 has it, in exact numbers; right while |xi_k . x| <= B."""
        n, q = self.beta.shape
        F, beta, b = (rationals(p.detach().cpu().numpy()) for p in (self.F, self.beta, self.b))
        blocks = powers.power_blocks(n, q, powers.repaired(q, rational(B)))
        return Transformer(F, blocks, powers.readout(beta), b.item())


class Depth(nn.Sequential):
    """NN_depth: `hidden` ReLU layers of `units` units each, then the linear combination."""

    def __init__(
        self, d: int, units: int, hidden: int, start: torch.Generator | None = None
    ) -> None:
        inner = [part for _ in range(hidden - 1) for part in (nn.Linear(units, units), nn.ReLU())]
        super().__init__(nn.Linear(d, units), nn.ReLU(), *inner, nn.Linear(units, 1))
        for layer in (part for part in self if isinstance(part, nn.Linear)):
            bound = 1 / math.sqrt(layer.in_features)  # torch's own start, from a generator of ours
            for parameter in layer.parameters():  # weight, bias
                nn.init.uniform_(parameter, -bound, bound, generator=start)

    def forward(self, x: Tensor) -> Tensor:  # (N, d) -> (N,)
        same_arithmetic(x, self[-1].weight)
        return super().forward(x).squeeze(-1)


class Width(Depth):
    """NN_width: b + sum_k v_k sigma(xi_k . x + c_k), without an N x units array."""

    def __init__(self, d: int, units: int, start: torch.Generator | None = None) -> None:
        super().__init__(d, units, 1, start)

    def forward(self, x: Tensor) -> Tensor:  # (N, d) -> (N,)
        (weight, bias), (readout, b) = self[0].parameters(), self[2].parameters()
        return fused.ridge_relu(x, weight, bias, readout[0]) + b


def layers(network: nn.Sequential) -> list[str]:
    """The rows of Tables 2 and 3: LINEAR(IN=2,OUT=4), RELU, ..."""
    return [
        f"LINEAR(IN={part.in_features},OUT={part.out_features})"
        if isinstance(part, nn.Linear)
        else type(part).__name__.upper()
        for part in network
    ]


def differing_rows(network: nn.Sequential, printed: Mapping[int, str]) -> list[int]:
    """Printed rows {number: layer} that are not ours, and rows of ours beyond the last of them."""
    ours = dict(enumerate(layers(network), start=1))
    wrong = [row for row, layer in printed.items() if ours.get(row) != layer]
    return wrong + [row for row in ours if row > max(printed)]


def parameters(model: nn.Module) -> int:
    """The number of free parameters."""
    return sum(parameter.numel() for parameter in model.parameters())
