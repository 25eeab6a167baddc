"""The packages of requirements.lock as they are installed here: name, version, licence."""

import importlib.metadata
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PIN = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+_-]+)")
LONGEST = 60  # letters of a licence's name; what is longer is its text
FIELDS = ("License-Expression", "License")
APPROVED = "License :: OSI Approved :: "


def pinned(lock: Path) -> dict[str, str]:
    """Versions by name; ValueError for a line that does not name exactly one version."""
    found: dict[str, str] = {}
    for number, line in enumerate(lock.read_text().splitlines(), 1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        pin = PIN.fullmatch(entry)
        if pin is None:
            raise ValueError(f"{lock.name}, line {number}: {entry!r} does not pin a version")
        if pin[1] in found:
            raise ValueError(f"{lock.name}, line {number}: {pin[1]} stands here twice")
        found[pin[1]] = pin[2]
    return found


def departures(lock: Path) -> Iterator[str]:
    """Packages that are here in another version than the pinned one, or not at all."""
    for name, version in pinned(lock).items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found = "not installed"
        if version not in (found, found.partition("+")[0]):  # 2.13.0+cpu is a build of 2.13.0
            yield f"{name}: {version} is pinned, here is {found}"


def licence(metadata: Mapping[str, str], classifiers: list[str], title: str = "") -> str:
    """As the package states it: an SPDX expression, a name, classifiers, or a text's title."""
    if expression := metadata.get("License-Expression"):
        return expression
    name = (metadata.get("License") or "").strip()
    if name not in ("", "UNKNOWN") and len(name) <= LONGEST and "\n" not in name:
        return name
    approved = [word.removeprefix(APPROVED) for word in classifiers if word.startswith(APPROVED)]
    return ", ".join(approved) or title or "not stated"


def _title(name: str, licence_files: list[str]) -> str:
    """The first line of the licence that a package carries: `MIT License`."""
    carried = importlib.metadata.distribution(name)
    texts = [carried.read_text(f"licenses/{file}") or "" for file in licence_files]
    return next((text.strip().splitlines()[0] for text in texts if text.strip()), "")


def lines(lock: Path) -> Iterator[str]:
    """A line for every package; one that is missing here is said to be."""
    for name, version in pinned(lock).items():
        try:
            metadata = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError:
            yield f"{name:<20} {version:<16} not installed"
            continue
        fields = {field: metadata[field] for field in FIELDS if field in metadata}
        title = _title(name, metadata.get_all("License-File") or [])
        stated = licence(fields, metadata.get_all("Classifier") or [], title)
        yield f"{name:<20} {metadata['Version']:<16} {stated}"
