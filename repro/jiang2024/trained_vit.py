"""Networks trained on images for Figures 2 and 3 and Table 1: what is trained, how it is judged.

The fixed permutation is an Order: where the patches of an image stand in its sequence. "Initialize
the model with parameters that are trained on the original" is FitImages.start, the training whose
last weights are the first of this one. Errors are on the first `judged` training and test images.
"""

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, interpolate

from repro.data import cifar10
from repro.data.download import checksum
from repro.jiang2024 import convolution, vit, vit_weights
from repro.jiang2024.learner import Recipe, drawn, fitted
from repro.training import Outcome, Spec, Stored, Workspace
from repro.training.loop import generator_at

AT_ONCE = 500  # images, where no gradient is needed: their orders are drawn together
IN_CACHE = 50  # of them, whose tokens a processor keeps at hand
Order = Literal["given", "ten to the end", "drawn once", "drawn anew"]
Shape = vit.Shape | convolution.Shape
Ask = Callable[[Any, Callable[[Any, Workspace], Outcome]], Stored]  # claim.train, Store.get
Classifier = vit.VisionTransformer | convolution.Convolutional


@dataclass(frozen=True)
class FitImages(Spec):
    kind: ClassVar[str] = "jiang2024-images"
    version: ClassVar[int] = 1

    data: str  # Images.digest
    shape: Shape
    recipe: Recipe
    seed: int
    judged: int
    order: Order = "given"
    start: "FitImages | None" = None
    pretrained: str = ""  # checksum of a user's own ViT-B/16, in place of a start


@dataclass(frozen=True)
class Images:
    """CIFAR-10, or what stands in its folder: bytes (count, 3, 32, 32), labels (count,)."""

    pixels: Tensor
    labels: Tensor
    test_pixels: Tensor
    test_labels: Tensor
    digest: str

    @classmethod
    @functools.cache
    def read(cls, folder: Path) -> "Images":
        train, test = (cifar10.load(folder, train=train) for train in (True, False))
        arrays = (train.pixels, train.labels, test.pixels, test.labels)
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(array.tobytes())
        pixels, labels, test_pixels, test_labels = (torch.from_numpy(a.copy()) for a in arrays)
        return cls(pixels, labels.long(), test_pixels, test_labels.long(), digest.hexdigest()[:16])

    @functools.cached_property
    def moments(self) -> tuple[Tensor, Tensor]:
        """Mean and deviation of the three colours, over the training images."""
        values = self.pixels.float().div_(255)  # in place: 0.6 GB, and no second copy
        mean, deviation = values.mean((0, 2, 3)), values.std((0, 2, 3))
        return mean[:, None, None], deviation[:, None, None]

    def prepared(self, pixels: Tensor, side: int) -> Tensor:
        """Standardised, and enlarged to `side` if a network wants larger images."""
        mean, deviation = self.moments
        images = (pixels.float() / 255 - mean) / deviation
        if side == images.shape[-1]:
            return images
        return interpolate(images, (side, side), mode="bilinear", align_corners=False)


def order_of(
    spec: FitImages, count: int = 1, generator: torch.Generator | None = None
) -> Tensor | None:
    """For vit.VisionTransformer: place i of a sequence gets patch order[i]."""
    patches = spec.shape.patches
    if spec.order == "given":
        return None
    if spec.order == "ten to the end":  # "the first 10 elements are shifted to the end"
        return torch.arange(patches).roll(-10)
    if spec.order == "drawn once":
        return torch.randperm(patches, generator=generator_at(0, 0))
    return torch.rand(count, patches, generator=generator).argsort(dim=1)


def untrained(spec: FitImages) -> Classifier:
    """The network before training: the twin that controls compare with."""
    return drawn(spec.seed, spec.shape.build)


def trained(spec: FitImages, outcome: Outcome) -> Any:
    """The Classifier that spec.shape builds, with its last weights."""
    model = spec.shape.build()
    model.load_state_dict(outcome.tensors)
    return model.eval().requires_grad_(False)


def stored(ask: Ask, spec: FitImages, images: Images) -> Stored:
    """The training of the spec, and before it that of its start, asked of a store."""
    first = {}
    if spec.start is not None:
        first = stored(ask, spec.start, images).outcome.tensors
    elif spec.pretrained:  # all of the user's own weights but those of its classes
        file, shape = vit_weights.place(), spec.shape
        if file is None or checksum(file) != spec.pretrained:
            raise ValueError(f"{vit_weights.VARIABLE} names other weights than this training has")
        assert isinstance(shape, vit.Shape)
        weights = vit_weights.read(file, shape).model.state_dict()
        first = {name: W for name, W in weights.items() if not name.startswith("head.")}
    return ask(spec, functools.partial(train, images=images, first=first))


def train(
    spec: FitImages, workspace: Workspace, *, images: Images, first: Mapping[str, Tensor]
) -> Outcome:
    """From the weights `first`; what is not among them begins as in an untrained network."""
    model = untrained(spec)
    model.load_state_dict({**model.state_dict(), **first})
    loss = functools.partial(_loss, spec, images, workspace.device)
    curves = fitted(model.to(workspace.device), loss, spec.recipe, workspace)
    return Outcome(judge(spec, model, images), curves, dict(model.cpu().state_dict()))


def _loss(spec: FitImages, images: Images, device: str, model: Classifier, step: int) -> Tensor:
    """Cross-entropy of a batch, half of it mirrored."""
    generator = generator_at(spec.seed, step)
    chosen = torch.randint(len(images.labels), (spec.recipe.batch,), generator=generator)
    x = images.prepared(images.pixels[chosen], spec.shape.image)
    mirrored = torch.rand(len(x), 1, 1, 1, generator=generator) < 0.5
    x = torch.where(mirrored, x.flip(-1), x)
    order = order_of(spec, len(x), generator)
    said = model(x.to(device), None if order is None else order.to(device))
    return cross_entropy(said, images.labels[chosen].to(device))


def judge(
    spec: FitImages, model: nn.Module, images: Images, on: Sequence[str] = ("training", "test")
) -> dict[str, float]:
    """Cross-entropy and accuracy on training and on test images, in the order of the spec."""
    known = {"training": (images.pixels, images.labels)}
    known["test"] = (images.test_pixels, images.test_labels)
    found = {}
    for name in on:
        pixels, labels = (part[: spec.judged] for part in known[name])
        said = answers(spec, model, images, pixels)
        found[f"{name} error"] = cross_entropy(said, labels).item()
        found[f"{name} accuracy"] = (said.argmax(1) == labels).double().mean().item()
    return found


@torch.no_grad()
def answers(spec: FitImages, model: nn.Module, images: Images, pixels: Tensor) -> Tensor:
    """What the model says of these images (count, classes)."""
    device = next(model.parameters()).device
    said = []
    for number, part in enumerate(pixels.split(AT_ONCE)):
        order = order_of(spec, len(part), generator_at(spec.seed, -2 - number))
        order = None if order is None else order.to(device).expand(len(part), -1)
        x = images.prepared(part, spec.shape.image).to(device)
        for some in torch.arange(len(x), device=device).split(IN_CACHE):
            said.append(model(x[some], None if order is None else order[some]).cpu())
    return torch.cat(said)
