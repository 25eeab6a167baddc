"""Figures 2 and 3 and Table 1, the images: which networks are trained, and for how long.

The paper's is ViT-B/16 on CIFAR-10, trained "as described in Dosovitskiy et al. (2020)": there, for
CIFAR-10, SGD of momentum 0.9 from weights that had seen ImageNet, batches of 512, 10000 steps, rate
0.03 falling like a cosine. Such weights are a user's own (vit_weights.py); without them, and for
heads of other sizes, training begins anew.

Ours, on two cores: images of 64 patches, two layers; Muon between features, Adam for the rest.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Any

from repro.data.download import checksum
from repro.jiang2024 import convolution, vit, vit_weights
from repro.jiang2024.learner import Recipe
from repro.jiang2024.trained_vit import FitImages, Order
from repro.training import SGD, Adam, Cosine, Muon, Trapezoid


@dataclass(frozen=True)
class Setting:
    network: vit.Shape
    recipe: Recipe
    further: Recipe  # from the weights of the original
    swept: vit.Shape  # with m_h in place of its own
    head_sizes: tuple[int, ...]
    sweep_recipe: Recipe
    judged: int
    seeds = 2  # no field

    def operations(self) -> float:
        """Of the first training: two for each product, forwards and twice backwards."""
        return 6.0 * self.recipe.steps * self.recipe.batch * self.network.products()

    @property
    def trainings(self) -> str:
        """How many there are in all, in words."""
        swept = {*self.sweep(""), *self.couplings_alone("")}
        return f"{len(swept)} for Figure 3, and for Table 1 two first ones and seven further ones"

    def original(self, data: str, seed: int = 0) -> FitImages:
        """For ViT-B/16 from a user's own weights, if there are any."""
        own = vit_weights.place() if self.network == vit.B16 else None
        first = FitImages(data, self.network, self.recipe, seed, self.judged)
        return replace(first, pretrained=checksum(own)) if own else first

    def convolutional(self, data: str) -> FitImages:
        """The contrast, on the same patches and for as many steps."""
        own = self.network
        shape = convolution.Shape(own.image, own.patch, own.depth, own.width)
        return FitImages(data, shape, _of_convolutions(self.recipe, 2e-3), 0, self.judged)

    def continued(self, start: FitImages, order: Order) -> FitImages:
        """From the last weights of `start`, with the patches in this order."""
        own = start.shape == self.network
        recipe = self.further if own else _of_convolutions(self.further, 1e-3)
        return replace(start, recipe=recipe, order=order, start=start)

    def sweep(self, data: str) -> list[FitImages]:
        """Every head size and seed; the size of values follows m_h, as in every ViT."""
        return self._swept(data, dict.fromkeys(self.head_sizes))

    def couplings_alone(self, data: str) -> list[FitImages]:
        """The head size alone varies; the size of values stays that of `swept`."""
        least, own, most = self.head_sizes[0], self.swept.m_h, self.head_sizes[-1]
        return self._swept(data, {least: own, own: None, most: own})

    def _swept(self, data: str, sizes: dict[int, int | None]) -> list[FitImages]:
        """Of every m_h with its d_v, all seeds."""
        shapes = [replace(self.swept, m_h=m_h, d_v=d_v) for m_h, d_v in sizes.items()]
        both = itertools.product(shapes, range(self.seeds))
        return [
            FitImages(data, shape, self.sweep_recipe, seed, self.judged) for shape, seed in both
        ]


def ours(steps: int, batch: int, lr: float = 0.01, rest: float = 1e-3) -> Recipe:
    apart = ("position", "head", "class_token")  # of vit.VisionTransformer, not for Muon
    return Recipe(Muon(lr, Adam(rest), apart=apart), Trapezoid(), steps, batch)


def _of_convolutions(recipe: Recipe, lr: float) -> Recipe:
    """They are no matrices: Adam in place of Muon."""
    return replace(recipe, optimizer=Adam(lr)) if isinstance(recipe.optimizer, Muon) else recipe


SMOKE = Setting(
    network=vit.Shape(image=32, patch=8, depth=1, width=32, heads=2, m_h=8, hidden=64),
    recipe=ours(150, 32, rest=2e-3),
    further=ours(80, 32, lr=0.005, rest=2e-3),
    swept=vit.Shape(image=32, patch=8, depth=1, width=32, heads=1, m_h=4, hidden=32),
    head_sizes=(1, 2, 4, 16),
    sweep_recipe=ours(60, 32),
    judged=1000,
)
LAPTOP = Setting(
    network=vit.Shape(image=32, patch=4, depth=2, width=96, heads=2, m_h=32, hidden=192),
    recipe=ours(700, 64),
    further=ours(300, 64, lr=0.005),
    swept=vit.Shape(image=32, patch=4, depth=2, width=64, heads=2, m_h=16, hidden=128),
    head_sizes=(1, 3, 8, 16, 32, 64),
    sweep_recipe=ours(500, 64),
    judged=5000,
)
_PRINTED = Recipe(SGD(0.03, momentum=0.9), Cosine(), 10_000, 512)
PAPER = Setting(
    network=vit.B16,
    recipe=_PRINTED,
    further=_PRINTED,
    swept=vit.B16,
    head_sizes=(1, 3, 8, 16, 32, 50, 55, 64),
    sweep_recipe=_PRINTED,
    judged=10_000,
)
SCALES: dict[str, Any] = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
