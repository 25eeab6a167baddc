"""A few hundred images in the layout of CIFAR-10, so that loaders and claims run without the set.

One of 16 squares of 8 x 8 pixels is bright, in any colour, on noise: which one is the class. So a
network must know places, and a random order of squares hides the class.
"""

from pathlib import Path

import numpy as np

from repro.data import cifar10

FIRST = 3  # the square of class 0


def write(folder: Path, rng: np.random.Generator, *, images: int = 100) -> Path:
    """Six files of so many images each, in the binary layout."""
    folder.mkdir(parents=True)
    for name in cifar10.MD5:
        labels = rng.integers(10, size=images)
        squares = rng.normal(110, 25, size=(images, 4, 8, 4, 8, 3))
        row, column = np.divmod(labels + FIRST, 4)
        squares[np.arange(images), row, :, column] += 90 * rng.random((images, 1, 1, 3)) + 40
        picture = squares.clip(0, 255).astype(np.uint8).reshape(images, 1024, 3)
        (folder / f"{name}.bin").write_bytes(cifar10.records(picture, labels.tolist()))
    return folder
