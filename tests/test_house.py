"""The house: which room may import which. The real graph is read off every file."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WINGS = ("fang2022", "jiang2024", "wang2024")
ROOMS: dict[str, set[str]] = {  # room: the rooms that it may use
    "bounds": set(),
    "files": set(),
    "figures": set(),
    "lazy": set(),
    "results": {"bounds", "files"},
    "numerics": {"lazy"},
    "training": {"files"},
    "data": {"files", "lazy"},
    **{wing: {"numerics", "training", "data", "figures", "files", "lazy"} for wing in WINGS},
    "harness": {"results", "bounds", "files", "figures", "training", "data"},
    "report": {"results", "bounds", "files"},
    "cluster": {"harness", "results", "training", "files"},
    "plugin": {"report", "results"},  # where harness and report meet
}


def imported(file: Path, *, at_once: bool = False) -> set[str]:
    """Dotted names of the product that a file imports, at any depth, or when it is imported."""
    found = set()
    package = file.relative_to(ROOT).with_suffix("").parts
    tree = ast.parse(file.read_text())
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            above = package[: -node.level] if node.level else ()
            module = ".".join((*above, *filter(None, [node.module])))
            found |= {f"{module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {name for name in found if name.partition(".")[0] in ("repro", "tools", "claims")}


def edges() -> set[tuple[str, str]]:
    found = set()
    for file in (ROOT / "repro").rglob("*.py"):
        room = file.relative_to(ROOT / "repro").parts[0].removesuffix(".py")
        found |= {(room, [*name.split("."), ""][1]) for name in imported(file)}
    return {(a, b) for a, b in found if a not in (b, "__main__", "__init__")}


def test_imports_go_one_way():
    assert {f"{a} -> {b}" for a, b in edges() if b not in ROOMS.get(a, set())} == set()


def test_every_room_is_on_the_plan():
    there = {path.stem for path in (ROOT / "repro").iterdir() if path.suffix in ("", ".py")}
    assert there - {"__init__", "__main__", "__pycache__"} == set(ROOMS)


def test_the_product_does_not_know_the_workshop_and_wings_know_no_claim():
    names = {name for file in (ROOT / "repro").rglob("*.py") for name in imported(file)}
    assert {name for name in names if name.partition(".")[0] in ("tools", "claims")} == set()


KINDS = "Lemma|Theorem|Proposition|Corollary|Remark|Definition|Section|Equation"
PAPERS = rf"{'|'.join(WINGS)}|\b(?i:{KINDS}) \(?[A-Z0-9]+\.[0-9]"
PYTEST = r"^(import|from) pytest|--(store-mode|scale|device|seed|artifacts)\b"


@pytest.mark.parametrize("room", ["numerics", "training", "data", "report", "results"])
@pytest.mark.parametrize("words", [PAPERS, PYTEST], ids=["papers", "pytest"])
def test_what_is_common_names_no_paper_and_only_the_harness_knows_pytest(room, words):
    texts = {file.name: file.read_text() for file in (ROOT / "repro" / room).rglob("*.py")}
    found = [
        f"{name}: {hit[0]}"
        for name, text in texts.items()
        for hit in re.finditer(words, text, re.M)
    ]
    assert found == []


def test_claims_import_modules_so_that_listing_them_loads_none():
    for file in (ROOT / "claims").rglob("*.py"):
        for name in imported(file, at_once=True):
            parts = name.split(".")
            assert parts[1] in (*WINGS, "numerics", "training", "bounds", "figures", "data"), file
            module = ROOT.joinpath(*parts)
            whole = module.is_dir() or module.with_suffix(".py").is_file()
            assert whole or parts[1] in ("bounds", "numerics"), f"{file.name}: {name}"


@pytest.mark.parametrize("folder", ["repro", "claims", "tests", "tools"])
def test_no_file_is_longer_than_400_lines(folder):
    lengths = {file: len(file.read_text().splitlines()) for file in (ROOT / folder).rglob("*.py")}
    assert {str(file.relative_to(ROOT)): n for file, n in lengths.items() if n > 400} == {}


# --- the plugin disturbs nobody ------------------------------------------------------------------


def test_a_foreign_project_may_have_options_of_the_same_names(tmp_path):
    """Without `-p repro.plugin` the environment of this package is an ordinary one."""
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    for name in ('--device', '--seed', '--data', '--store', '--scale'):\n"
        "        parser.addoption(name, default='mine')\n"
    )
    (tmp_path / "test_own.py").write_text(
        "def test_own(request):\n"
        "    assert request.config.getoption('--device') == 'theirs'\n"
        "    assert request.config.getoption('--seed') == 'mine'\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--device", "theirs"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "claims:" not in done.stdout
