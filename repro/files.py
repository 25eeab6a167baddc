"""Files that are whole or absent: atomic writes, strict JSON, damaged files set aside."""

import contextlib
import json
import math
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class DamagedFile(ValueError):
    """A file that we wrote, or should have written, cannot be read back."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace `path` in one step: readers see the old content or the new, never a part."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def plain(value: Any) -> Any:
    """The same value in what JSON has; what JSON lacks (nan, rationals, paths) becomes a string.

    numpy and torch scalars are numbers, arrays and tensors are lists.
    """
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if hasattr(value, "tolist"):  # numpy and torch
        return plain(value.tolist())
    if isinstance(value, int):
        return int(value)
    return str(value)


def to_json(value: Any) -> str:
    return json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False)


def write_json(path: Path, value: Any) -> None:
    write_atomically(path, to_json(value) + "\n")


def read_json(path: Path, *, schema: int | None = None) -> dict[str, Any]:
    """An object from a JSON file, or DamagedFile with the reason, or FileNotFoundError."""
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"{path} is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise DamagedFile(f"{path} does not hold an object")
    if schema is not None and value.get("schema") != schema:
        raise DamagedFile(f"{path} has schema {value.get('schema')!r}, this version reads {schema}")
    return value


def set_aside(path: Path) -> Path:
    """Move a damaged file or folder out of the way, beside itself, and say where it went."""
    aside = path.with_name(f"{path.name}.set-aside-{time.strftime('%Y%m%dT%H%M%S')}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.set-aside-{time.strftime('%Y%m%dT%H%M%S')}-{number}")
    os.rename(path, aside)
    return aside
