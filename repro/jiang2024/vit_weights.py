"""A user's own ViT-B/16: the two public layouts of its weights, read into vit.VisionTransformer.

The environment variable VIT_B16 names the file: safetensors, or a state_dict that torch.load reads
with weights_only=True. Nothing is downloaded: no registry of packages holds these weights.

Both layouts, TIMM (of the original authors) and TORCHVISION, fuse queries, keys and values, in this
order, the heads of each one below the other, as vit.py has them.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from repro.data import weights
from repro.data.errors import BadData
from repro.jiang2024.vit import B16, Shape, VisionTransformer

VARIABLE = "VIT_B16"


@dataclass(frozen=True)
class Layout:
    """Names: of tensors that stand alone, of affine maps (weight and bias), of a layer's."""

    name: str
    class_token: str
    position: str
    affine: Mapping[str, str]  # ours -> theirs
    layer: str
    qkv: str  # of W_Q, W_K, W_V, up to "weight" and "bias"
    in_layer: Mapping[str, str]  # ours -> theirs
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]


TIMM = Layout(
    "timm",
    class_token="cls_token",
    position="pos_embed",
    affine={"embedding": "patch_embed.proj", "norm": "norm", "head": "head"},
    layer="blocks.{}.",
    qkv="attn.qkv.",
    in_layer={
        "norm_1": "norm1", "norm_2": "norm2", "attention.W_O": "attn.proj",
        "mlp_in": "mlp.fc1", "mlp_out": "mlp.fc2",
    },
    mean=(0.5, 0.5, 0.5),
    deviation=(0.5, 0.5, 0.5),
)  # fmt: skip
TORCHVISION = Layout(
    "torchvision",
    class_token="class_token",
    position="encoder.pos_embedding",
    affine={"embedding": "conv_proj", "norm": "encoder.ln", "head": "heads.head"},
    layer="encoder.layers.encoder_layer_{}.",
    qkv="self_attention.in_proj_",
    in_layer={
        "norm_1": "ln_1", "norm_2": "ln_2", "attention.W_O": "self_attention.out_proj",
        "mlp_in": "mlp.0", "mlp_out": "mlp.3",
    },
    mean=(0.485, 0.456, 0.406),
    deviation=(0.229, 0.224, 0.225),
)  # fmt: skip
LAYOUTS = (TIMM, TORCHVISION)
OLDER = {".mlp.linear_1.": ".mlp.0.", ".mlp.linear_2.": ".mlp.3."}  # names in torchvision


@dataclass(frozen=True)
class Pretrained:
    model: VisionTransformer
    layout: Layout

    def prepared(self, pixels: Tensor) -> Tensor:
        """Bytes (count, 3, ., .) as this model wants them: enlarged, shifted and scaled."""
        side, layout = self.model.shape.image, self.layout
        images = interpolate(pixels.float() / 255, (side, side), mode="bilinear")
        mean, deviation = (torch.tensor(n)[:, None, None] for n in (layout.mean, layout.deviation))
        return (images - mean) / deviation


def place() -> Path | None:
    """Where the user says that the weights are; None if nothing is said."""
    given = os.environ.get(VARIABLE)
    if given and not Path(given).is_file():
        raise FileNotFoundError(f"{VARIABLE}={given}: there is no file at this place")
    return Path(given) if given else None


def read(file: Path, shape: Shape = B16) -> Pretrained:
    """The model of these sizes, with as many classes as the file has; BadData if it is another."""
    found = weights.load(file)
    layout = next((one for one in LAYOUTS if one.class_token in found), None)
    if layout is None:
        names = " or ".join(f"{layout.class_token!r} ({layout.name})" for layout in LAYOUTS)
        raise BadData(file, f"expected a tensor {names}: this is no Vision Transformer of either")
    for old, new in OLDER.items():
        found = {name.replace(old, new): tensor for name, tensor in found.items()}
    head = found.get(f"{layout.affine['head']}.weight")
    if head is not None and head.ndim == 2:
        shape = replace(shape, classes=len(head))
    with torch.device("meta"):  # sizes only: the weights come from the file
        model = VisionTransformer(shape)
    tensors = weights.checked(file, found, expected(layout, model))
    sizes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    translated = {
        name: part.reshape(sizes[name])
        for theirs, ours in _pairs(layout, model.shape.depth)
        for name, part in zip(ours, tensors[theirs].chunk(len(ours)), strict=True)
    }
    model.load_state_dict(translated, assign=True)
    return Pretrained(model.eval().requires_grad_(False), layout)


def _pairs(layout: Layout, depth: int) -> Iterator[tuple[str, list[str]]]:
    """A tensor of the file, and what it is here: one tensor, or three that are stacked in it."""
    yield layout.class_token, ["class_token"]
    yield layout.position, ["position"]
    for part in ("weight", "bias"):
        for ours, theirs in layout.affine.items():
            yield f"{theirs}.{part}", [f"{ours}.{part}"]
        for number in range(depth):
            layer, prefix = f"layers.{number}", layout.layer.format(number)
            fused = [f"{layer}.attention.{W}.{part}" for W in ("W_Q", "W_K", "W_V")]
            yield f"{prefix}{layout.qkv}{part}", fused
            for ours, theirs in layout.in_layer.items():
                yield f"{prefix}{theirs}.{part}", [f"{layer}.{ours}.{part}"]


def expected(layout: Layout, model: VisionTransformer) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a file in this layout."""
    sizes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    ones = {"class_token": (1, 1), "position": (1,)}
    shapes = {}
    for theirs, ours in _pairs(layout, model.shape.depth):
        rows, *others = sizes[ours[0]]
        shapes[theirs] = (*ones.get(ours[0], ()), len(ours) * rows, *others)
    return shapes
