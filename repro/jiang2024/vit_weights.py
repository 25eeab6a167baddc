"""A user's own ViT-B/16: the three public layouts of its weights, read into vit.VisionTransformer.

The environment variable VIT_B16 names the file: safetensors, or a state_dict that torch.load reads
with weights_only=True. Nothing is downloaded: no registry of packages holds these weights.

Other tensors than those of the plain model (layer scale, normalised queries, a second token of
distilled models) are refused. A file does not say how its pixels are to be normalised: TIMM is for
the weights of ViT's authors; for others, such as DeiT's, replace `mean` and `deviation`.

TIMM (of the original authors) and TORCHVISION fuse queries, keys and values, in this order, the
heads of each one below the other, as vit.py has them; TRANSFORMERS keeps the three apart.
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
    """`names` of ours in the file: {} is a layer, and a last . or _ awaits "weight" and "bias"."""

    name: str
    names: Mapping[str, str]
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]


TIMM = Layout(
    "timm",
    {
        "class_token": "cls_token", "position": "pos_embed", "embedding": "patch_embed.proj.",
        "norm": "norm.", "head": "head.", "layers.{}.norm_1": "blocks.{}.norm1.",
        "layers.{}.norm_2": "blocks.{}.norm2.", "layers.{}.attention.W_QKV": "blocks.{}.attn.qkv.",
        "layers.{}.attention.W_O": "blocks.{}.attn.proj.",
        "layers.{}.mlp_in": "blocks.{}.mlp.fc1.", "layers.{}.mlp_out": "blocks.{}.mlp.fc2.",
    },
    mean=(0.5, 0.5, 0.5),
    deviation=(0.5, 0.5, 0.5),
)  # fmt: skip
LAYER = "encoder.layers.encoder_layer_{}."
TORCHVISION = Layout(
    "torchvision",
    {
        "class_token": "class_token", "position": "encoder.pos_embedding",
        "embedding": "conv_proj.", "norm": "encoder.ln.", "head": "heads.head.",
        "layers.{}.norm_1": f"{LAYER}ln_1.", "layers.{}.norm_2": f"{LAYER}ln_2.",
        "layers.{}.attention.W_QKV": f"{LAYER}self_attention.in_proj_",
        "layers.{}.attention.W_O": f"{LAYER}self_attention.out_proj.",
        "layers.{}.mlp_in": f"{LAYER}mlp.0.", "layers.{}.mlp_out": f"{LAYER}mlp.3.",
    },
    mean=(0.485, 0.456, 0.406),
    deviation=(0.229, 0.224, 0.225),
)  # fmt: skip
BLOCK = "vit.encoder.layer.{}."
TRANSFORMERS = Layout(
    "transformers",
    {
        "class_token": "vit.embeddings.cls_token", "position": "vit.embeddings.position_embeddings",
        "embedding": "vit.embeddings.patch_embeddings.projection.", "norm": "vit.layernorm.",
        "head": "classifier.", "layers.{}.norm_1": f"{BLOCK}layernorm_before.",
        "layers.{}.norm_2": f"{BLOCK}layernorm_after.",
        "layers.{}.attention.W_Q": f"{BLOCK}attention.attention.query.",
        "layers.{}.attention.W_K": f"{BLOCK}attention.attention.key.",
        "layers.{}.attention.W_V": f"{BLOCK}attention.attention.value.",
        "layers.{}.attention.W_O": f"{BLOCK}attention.output.dense.",
        "layers.{}.mlp_in": f"{BLOCK}intermediate.dense.",
        "layers.{}.mlp_out": f"{BLOCK}output.dense.",
    },
    mean=(0.5, 0.5, 0.5),
    deviation=(0.5, 0.5, 0.5),
)  # fmt: skip
LAYOUTS = (TIMM, TORCHVISION, TRANSFORMERS)
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
    layout = next((one for one in LAYOUTS if one.names["class_token"] in found), None)
    if layout is None:
        names = " or ".join(f"{one.names['class_token']!r} ({one.name})" for one in LAYOUTS)
        raise BadData(file, f"expected a tensor {names}: this is no Vision Transformer of these")
    for old, new in OLDER.items():
        found = {name.replace(old, new): tensor for name, tensor in found.items()}
    head = found.get(f"{layout.names['head']}weight")
    if head is not None and head.ndim == 2:
        shape = replace(shape, classes=len(head))
    with torch.device("meta"):  # sizes only: the weights come from the file
        model = VisionTransformer(shape)
    known = expected(layout, model)
    if unknown := sorted(found.keys() - known.keys()):
        told = f"expected the tensors of a plain Vision Transformer, found {unknown[0]!r} besides"
        raise BadData(file, f"{told}: its output would be another one")
    tensors = weights.checked(file, found, known)
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
    for ours, theirs in layout.names.items():
        for number in range(depth if "{}" in ours else 1):
            for part in ("weight", "bias") if theirs[-1] in "._" else ("",):
                here = f"{ours}.{part}".rstrip(".").format(number)
                parts = ("W_Q", "W_K", "W_V") if "W_QKV" in here else ("",)
                yield theirs.format(number) + part, [here.replace("W_QKV", W) for W in parts]


def expected(layout: Layout, model: VisionTransformer) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a file in this layout."""
    sizes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    ones = {"class_token": (1, 1), "position": (1,)}
    shapes = {}
    for theirs, ours in _pairs(layout, model.shape.depth):
        rows, *others = sizes[ours[0]]
        shapes[theirs] = (*ones.get(ours[0], ()), len(ours) * rows, *others)
    return shapes
