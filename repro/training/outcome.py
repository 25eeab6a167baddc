"""What a training leaves: numbers, curves, tensors; to bytes and back, never by pickle."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from repro.files import DamagedFile

if TYPE_CHECKING:
    from torch import Tensor

# With these quotes it can only be a key of the header; within a string they would be escaped.
_SEAL = b'"sha256":"'
_BLANK = b"?" * 64


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
    """`pack` with a note and a checksum of the whole file in its header.

    The checksum is taken with its own place left blank, so it covers every other byte.
    """
    data = pack(tensors, {"note": note, "sha256": _BLANK.decode()})
    before, place, after = data.partition(_SEAL + _BLANK)
    assert place, "safetensors has changed how it writes metadata"
    return before + _SEAL + sha256(data).encode() + after


def unpack_sealed(data: bytes) -> "tuple[dict[str, Tensor], str]":
    """Tensors and note, or DamagedFile if a single bit differs from what was packed."""
    before, place, rest = data.partition(_SEAL)
    seal, after = rest[:64], rest[64:]
    if not place or sha256(before + place + _BLANK + after).encode() != seal:
        raise DamagedFile("its checksum differs")
    tensors = unpack(data)
    length = int.from_bytes(data[:8], "little")  # a safetensors file begins with that of its header
    note = json.loads(data[8 : 8 + length]).get("__metadata__", {}).get("note")
    if note is None:
        raise DamagedFile("it has no note: it is no checkpoint")
    return tensors, note
