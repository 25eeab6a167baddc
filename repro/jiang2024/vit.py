"""The Vision Transformer (Dosovitskiy et al. 2020) with a free head size: Figures 2, 3, Table 1.

embedding    of patches, "convolution embedding": patch x patch pixels -> width numbers, no overlap
order        the permutation "before the addition of position encoding and after the convolution
             embedding"
position     learnt, one row for each patch and for the class token, token 0, which is read
m_h, d_v     of (5): sizes of a head's queries and keys, and of its values
scores       rho^(x) = Q K^T / sqrt m_h before the softmax, Q = W_Q x + b_Q

A layer adds attention of the normalised tokens, then an MLP (GELU) of the normalised tokens. First
weights are those of Dosovitskiy et al.: uniform of Glorot's variance, biases, class token and head
0, positions of deviation 0.02; the patch embedding has PyTorch's.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from repro.jiang2024 import scores
from repro.numerics.exact import same_arithmetic

SMALLEST_DEVIATION = 1e-6  # of LayerNorm, as in the ViT


@dataclass(frozen=True)
class Shape:
    """Sizes; `d_v` None stands for m_h, as in every ViT."""

    image: int
    patch: int
    depth: int
    width: int
    heads: int
    m_h: int
    hidden: int
    classes: int = 10
    d_v: int | None = None

    @property
    def patches(self) -> int:
        return (self.image // self.patch) ** 2

    @property
    def values(self) -> int:
        return self.m_h if self.d_v is None else self.d_v

    def build(self) -> "VisionTransformer":
        return VisionTransformer(self)

    def weights(self) -> int:
        with torch.device("meta"):
            return sum(p.numel() for p in self.build().parameters())

    def products(self) -> int:
        """Multiplications of one image's way through, those of matrices."""
        tokens, heads = self.patches + 1, self.heads * (self.m_h + self.values)
        layer = tokens * self.width * 2 * (heads + self.hidden) + tokens**2 * heads
        return self.patches * 3 * self.patch**2 * self.width + self.depth * layer


B16 = Shape(image=224, patch=16, depth=12, width=768, heads=12, m_h=64, hidden=3072)


class Attention(nn.Module):
    """Heads with queries and keys of size m_h and values of size d_v; also of translation.py."""

    def __init__(self, width: int, heads: int, m_h: int, d_v: int) -> None:
        super().__init__()
        self.heads = heads
        self.W_Q, self.W_K, self.W_V = (nn.Linear(width, heads * m) for m in (m_h, m_h, d_v))
        self.W_O = nn.Linear(heads * d_v, width)

    def queries_and_keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self._split(self.W_Q(x)), self._split(self.W_K(x))

    def keys_and_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self._split(self.W_K(x)), self._split(self.W_V(x))

    def forward(
        self, x: Tensor, keys_values: tuple[Tensor, Tensor] | None = None, **mask: Any
    ) -> Tensor:
        """To the tokens themselves, or to these keys and values."""
        Q = self._split(self.W_Q(x))
        K, V = keys_values or self.keys_and_values(x)
        mixed = scaled_dot_product_attention(Q, K, V, **mask)
        return self.W_O(mixed.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (batch, heads, tokens, size)


def glorot(network: nn.Module) -> None:
    """First weights, uniform of Glorot's variance, and no biases."""
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(shape.width, eps=SMALLEST_DEVIATION)
        self.attention = Attention(shape.width, shape.heads, shape.m_h, shape.values)
        self.norm_2 = nn.LayerNorm(shape.width, eps=SMALLEST_DEVIATION)
        self.mlp_in = nn.Linear(shape.width, shape.hidden)
        self.mlp_out = nn.Linear(shape.hidden, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.bent(self.mixed(x))

    def mixed(self, x: Tensor) -> Tensor:
        return x + self.attention(self.norm_1(x))

    def bent(self, x: Tensor) -> Tensor:
        return x + self.mlp_out(nn.functional.gelu(self.mlp_in(self.norm_2(x))))


class VisionTransformer(nn.Module):
    layers: list[Layer]  # type: ignore[assignment]

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Conv2d(3, shape.width, shape.patch, stride=shape.patch)
        self.class_token = nn.Parameter(torch.zeros(shape.width))
        self.position = nn.Parameter(0.02 * torch.randn(shape.patches + 1, shape.width))
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.depth))  # type: ignore
        self.norm = nn.LayerNorm(shape.width, eps=SMALLEST_DEVIATION)
        self.head = nn.Linear(shape.width, shape.classes)
        glorot(self)
        nn.init.zeros_(self.head.weight)

    def tokens(self, images: Tensor, order: Tensor | None = None) -> Tensor:
        """What the first layer sees: class token and embedded patches, each with its position.

        `order` is a permutation of the patches, one for all images or (batch, patches): place i
        gets patch order[i].
        """
        same_arithmetic(images, self.class_token)
        x = self.embedding(images).flatten(2).mT  # (batch, patches, width)
        if order is not None:
            x = reordered(x, order)
        first = self.class_token.expand(len(x), 1, -1)
        return torch.cat([first, x], dim=1) + self.position

    def forward(self, images: Tensor, order: Tensor | None = None) -> Tensor:  # (batch, classes)
        x = self.tokens(images, order)
        *first, last = self.layers
        for layer in first:
            x = layer(x)
        x = last.mixed(x)
        if not torch.is_grad_enabled():
            x = x[:, :1]  # all that is read; gradients are sums over all tokens, zeros among them
        return self.head(self.norm(last.bent(x)[:, 0]))

    def queries_and_keys(self, images: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Of each layer, (batch, heads, tokens, m_h) each."""
        x, found = self.tokens(images), []
        for layer in self.layers:
            found.append(layer.attention.queries_and_keys(layer.norm_1(x)))
            x = layer(x)
        return found

    def scores(self, images: Tensor) -> list[Tensor]:
        """Before the softmax, for each layer: (batch, heads, tokens, tokens)."""
        return [scores.of(Q, K) for Q, K in self.queries_and_keys(images)]


def reordered(x: Tensor, order: Tensor) -> Tensor:
    if order.ndim == 1:
        return x[:, order]
    return x.gather(1, order[..., None].expand_as(x))
