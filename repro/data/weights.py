"""Weights out of a file: safetensors, or a torch state_dict that holds tensors and nothing else.

A model is built from a table of the names and shapes that it needs. The table is compared before
anything is built, so that a file of another model leaves no half-built one behind.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from repro.data.errors import BadData

if TYPE_CHECKING:
    from torch import Tensor

Shapes = Mapping[str, tuple[int, ...]]


def load(file: Path) -> "dict[str, Tensor]":
    """Every tensor of the file, by name; whatever a pickle holds besides is refused, not run."""
    if not file.is_file():
        raise BadData(file, "expected a file of weights here, there is none")
    return _safetensors(file) if file.suffix == ".safetensors" else _state_dict(file)


def _safetensors(file: Path) -> "dict[str, Tensor]":
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(file)
    except SafetensorError as error:
        raise BadData(file, f"expected a whole safetensors file ({error})") from None


def _state_dict(file: Path) -> "dict[str, Tensor]":
    import torch

    try:
        found = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle can raise anything
        reason = str(error).partition("\n")[0]
        raise BadData(file, f"expected a state_dict of plain tensors ({reason})") from None
    if isinstance(found, Mapping) and isinstance(found.get("model"), Mapping):
        found = found["model"]  # a checkpoint of a training, beside its optimiser's state
    if not isinstance(found, Mapping) or not all(map(torch.is_tensor, found.values())):
        raise BadData(file, "expected a state_dict, names with their tensors, and nothing else")
    return dict(found)


def checked(file: Path, found: "Mapping[str, Tensor]", expected: Shapes) -> "dict[str, Tensor]":
    """Those of the tensors that are expected, in float32; BadData about the first that is amiss."""
    for name, shape in expected.items():
        if name not in found:
            raise BadData(file, f"expected a tensor {name!r} of shape {shape}, there is none")
        if (seen := tuple(found[name].shape)) != shape:
            raise BadData(file, f"expected {name!r} of shape {shape}, found {seen}")
        if not found[name].isfinite().all():
            raise BadData(file, f"expected finite numbers in {name!r}, some are not")
    return {name: found[name].float() for name in expected}
