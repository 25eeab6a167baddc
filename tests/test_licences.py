"""What the package stands on: every version pinned, every licence told."""

import importlib.metadata
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from repro.__main__ import main
from repro.licences import departures, licence, pinned

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements.lock"
OF_TORCH = ("nvidia-", "cuda-", "triton")  # a build of torch for GPUs brings and pins them itself


def required(names):
    """Everything that is needed here by these requirements, and by what they need."""
    found, waiting = set(), [Requirement(name) for name in names]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name not in found:
            found.add(name)
            needs = [Requirement(line) for line in importlib.metadata.requires(name) or []]
            extras = wanted.extras or {""}
            waiting += [
                need
                for need in needs
                if not need.marker or any(need.marker.evaluate({"extra": e}) for e in extras)
            ]
    return found


def test_the_lock_pins_all_that_is_needed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    needed = required([*project["dependencies"], *extras])
    locked = {canonicalize_name(name) for name in pinned(LOCK)}
    others = {name for name in needed - locked if not name.startswith(OF_TORCH)}
    assert others <= {canonicalize_name(project["name"])}
    assert {"torch", "numpy", "pytest", "submitit", "execnet"} <= needed


def test_what_is_pinned_is_what_the_project_allows():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = {canonicalize_name(name): version for name, version in pinned(LOCK).items()}
    for line in project["dependencies"]:
        wanted = Requirement(line)
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), line


def test_what_is_installed_is_what_is_pinned():
    assert list(departures(LOCK)) == [], "make setup installs what requirements.lock pins"


def test_another_version_or_none_is_told(tmp_path, monkeypatch):
    (lock := tmp_path / "some.lock").write_text("a==1.0\nb==1.0\nc==1.0+cpu\nd==1.0\ne==1.0\n")
    here = {"a": "1.0", "b": "1.0+cpu", "c": "1.0", "d": "1.0.1"}

    def version(name):
        if name not in here:
            raise importlib.metadata.PackageNotFoundError(name)
        return here[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert list(departures(lock)) == [
        "c: 1.0+cpu is pinned, here is 1.0",
        "d: 1.0 is pinned, here is 1.0.1",
        "e: 1.0 is pinned, here is not installed",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a==1\nnumpy>=2\n", "line 2: 'numpy>=2' does not pin a version"),
        ("numpy\n", "line 1: 'numpy' does not pin a version"),
        ("a==1.*\n", "does not pin a version"),
        ("a @ https://example.org/a.whl\n", "does not pin a version"),
        ("-r other.txt\n", "does not pin a version"),
        ("a==1\n\n# a\na==2\n", "line 4: a stands here twice"),
    ],
)
def test_a_line_that_pins_nothing_is_refused(tmp_path, text, said):
    (tmp_path / "some.lock").write_text(text)
    with pytest.raises(ValueError, match=said.replace("*", r"\*")):
        pinned(tmp_path / "some.lock")


def test_comments_and_local_versions_are_read(tmp_path):
    (tmp_path / "some.lock").write_text("# head\na-b==1.0+cpu  # why\n\nC==2026.1!3\n")
    assert pinned(tmp_path / "some.lock") == {"a-b": "1.0+cpu", "C": "2026.1!3"}


@pytest.mark.parametrize(
    ("metadata", "classifiers", "stated"),
    [
        ({"License-Expression": "MIT", "License": "BSD"}, [], "MIT"),
        ({"License-Expression": " AND ".join(["MIT"] * 20)}, [], " AND ".join(["MIT"] * 20)),
        ({"License": ""}, ["License :: OSI Approved :: MIT License"], "MIT License"),
        ({"License": "BSD-3-Clause"}, ["License :: OSI Approved :: MIT License"], "BSD-3-Clause"),
        ({"License": "Permission is hereby\ngranted"}, ["License :: OSI Approved :: MIT License"], "MIT License"),
        ({"License": "x" * 61}, ["License :: OSI Approved :: A", "License :: OSI Approved :: B"], "A, B"),
        ({"License": "UNKNOWN"}, ["Topic :: Software Development"], "not stated"),
        ({}, [], "not stated"),
    ],
)  # fmt: skip
def test_a_licence_is_read_wherever_it_is_stated(metadata, classifiers, stated):
    assert licence(metadata, classifiers) == stated


def test_the_command_lists_every_package_with_its_licence(capsys):
    assert main(["licences", "--project", str(ROOT)]) == 0
    rows = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == list(pinned(LOCK))
    assert [row for row in rows if len(row) < 3 or row[2] in ("not stated", "not installed")] == []
    stated = {name: (version, text) for name, version, text in rows}
    assert stated["numpy"][0] == importlib.metadata.version("numpy")
    assert "BSD" in stated["numpy"][1]
    assert "MIT" in stated["pytest"][1]
    assert stated["axe-playwright-python"][1] == "MIT License", "only the text in it says so"


def test_a_package_that_is_not_there_is_told(tmp_path, capsys):
    (tmp_path / "requirements.lock").write_text("no-such-package==1.0\n")
    assert main(["licences", "--project", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split(maxsplit=2)[2] == "not installed\n"


def test_without_a_lock_it_says_so(tmp_path, capsys):
    assert main(["licences", "--project", str(tmp_path)]) == 2
    assert "requirements.lock" in capsys.readouterr().err
