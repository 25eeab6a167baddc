"""A convolutional network on embedded patches: the contrast to vit.py in Table 1.

Patches are embedded as in vit.py and laid out on their grid, in the order given; then come residual
3 x 3 convolutions of normalised features, a mean over the grid, and the class. All that the network
knows of places is which patches are neighbours.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from repro.jiang2024.vit import reordered
from repro.numerics.exact import same_arithmetic


@dataclass(frozen=True)
class Shape:
    image: int
    patch: int
    depth: int
    width: int
    classes: int = 10

    @property
    def patches(self) -> int:
        return (self.image // self.patch) ** 2

    def build(self) -> "Convolutional":
        return Convolutional(self)


class Convolutional(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Conv2d(3, shape.width, shape.patch, stride=shape.patch)
        self.norms = nn.ModuleList(nn.GroupNorm(1, shape.width) for _ in range(shape.depth))
        self.layers = nn.ModuleList(
            nn.Conv2d(shape.width, shape.width, 3, padding=1) for _ in range(shape.depth)
        )
        self.head = nn.Linear(shape.width, shape.classes)

    def forward(self, images: Tensor, order: Tensor | None = None) -> Tensor:  # (batch, classes)
        same_arithmetic(images, self.head.weight)
        x = self.embedding(images)
        if order is not None:
            x = reordered(x.flatten(2).mT, order).mT.unflatten(2, x.shape[2:])
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + nn.functional.gelu(layer(norm(x)))
        return self.head(x.mean((2, 3)))
