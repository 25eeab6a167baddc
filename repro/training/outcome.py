"""What a training leaves: numbers, curves, tensors; to bytes and back, never by pickle."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from repro.files import DamagedFile

if TYPE_CHECKING:
    from torch import Tensor

_SEAL = hashlib.sha256().digest_size


@dataclass(frozen=True)
class Outcome:
    """The result of a training. Tensors that come from the store are on the CPU."""

    numbers: dict[str, Any] = field(default_factory=dict)
    curves: dict[str, list[float]] = field(default_factory=dict)
    tensors: "dict[str, Tensor]" = field(default_factory=dict)


def revive(value: Any) -> Any:
    """Undo what `files.plain` does to floats that JSON lacks: "nan" and "inf" are floats again."""
    if isinstance(value, dict):
        return {name: revive(item) for name, item in value.items()}
    if isinstance(value, list):
        return [revive(item) for item in value]
    return float(value) if value in ("nan", "inf", "-inf") else value


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pack(tensors: "Mapping[str, Tensor]", metadata: Mapping[str, str] | None = None) -> bytes:
    """Tensors as a safetensors file. Each is copied, so views and tied weights may be packed."""
    import torch
    from safetensors.torch import save

    alone = torch.contiguous_format
    copies = {name: t.detach().cpu().clone(memory_format=alone) for name, t in tensors.items()}
    return save(copies, dict(metadata) if metadata else None)


def unpack(data: bytes) -> "dict[str, Tensor]":
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(data)
    except SafetensorError as error:
        raise DamagedFile(f"not a safetensors file ({error})") from None


def pack_sealed(tensors: "Mapping[str, Tensor]", note: str) -> bytes:
    """`pack` with a note in its header, and before it a checksum of all that."""
    data = pack(tensors, {"note": note})
    return hashlib.sha256(data).digest() + data


def unpack_sealed(data: bytes) -> "tuple[dict[str, Tensor], str]":
    """Tensors and note, or DamagedFile if a single bit differs from what was packed."""
    seal, data = data[:_SEAL], data[_SEAL:]
    if hashlib.sha256(data).digest() != seal:
        raise DamagedFile("its checksum differs")
    length = int.from_bytes(data[:8], "little")  # a safetensors file begins with that of its header
    return unpack(data), json.loads(data[8 : 8 + length])["__metadata__"]["note"]
