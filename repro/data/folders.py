"""Folders that are whole or absent."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """An empty folder to fill; it gets the name `folder` if that ends well, else it is removed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as made:
        prepared = Path(made) / folder.name
        prepared.mkdir()
        yield prepared
        prepared.rename(folder)
