"""examples/own_theorem: copied elsewhere, it runs against this package as pip installs it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples/own_theorem"
PAGE = (ROOT / "docs/own_theorem.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.M | re.S)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the built package, not the working copy that this environment points at."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    subprocess.run([*pip, *alone, str(ROOT)], check=True, timeout=300)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    held = {"repro", f"attention_claims-{version}.dist-info"}
    assert {path.name for path in folder.iterdir()} == held, "the wheel holds the product alone"
    return folder


@pytest.fixture
def shell(site, tmp_path):
    """Run lines in a folder beside which a clone of the repository seems to be."""
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(*lines):
        return subprocess.run(
            ["bash", "-e", "-c", "\n".join(lines)], cwd=clone, capture_output=True, text=True, timeout=300,
            check=False, env={**os.environ, "PATH": path, "PYTHONPATH": str(site)},
        )  # fmt: skip

    return run


def test_the_commands_of_the_page_verify_the_lemma(shell, site, tmp_path):
    (commands,), (promised,) = blocks("sh"), blocks("text")
    done = shell(*commands.splitlines(), "python -c 'import repro; print(repro.__file__)'")
    assert done.returncode == 0, done.stdout + done.stderr
    assert promised.strip() in done.stdout
    assert re.search(
        r"^holds +yours2026/lemma-1 .* claims/yours2026/test_lemma_1", done.stdout, re.M
    )
    assert str(site / "repro/__init__.py") in done.stdout, "not the installed package"
    page = tmp_path / "my-theorem/artifacts/claims/yours2026/lemma-1/index.html"
    assert "Break, as they must" in page.read_text()


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("(n - 1) * (1 - eps) / eps", "(n - 1) / eps", "error in the worst case"),
        ("r = (n - 1) / base", "r = 1 / base", "error beyond the bound"),
    ],
    ids=["base", "bound"],
)
def test_a_mistake_turns_it_red(shell, tmp_path, right, wrong, said):
    shell("cp -r examples/own_theorem ../my-theorem")
    broken = tmp_path / "my-theorem/heads.py"
    assert broken.read_text().count(right) == 1
    broken.write_text(broken.read_text().replace(right, wrong))
    done = shell("cd ../my-theorem", "pytest -q --scale smoke")
    assert done.returncode == 1
    assert said in done.stdout


def test_the_page_quotes_the_example():
    files = [p for p in EXAMPLE.rglob("*") if p.suffix in (".py", ".toml")]
    texts = [file.read_text() for file in files]
    quotes = [*blocks("python"), *blocks("toml")]
    assert len(quotes) >= 5
    assert not [quote for quote in quotes if not any(quote in text for text in texts)]


def test_the_page_names_every_file_of_the_example():
    tree = PAGE.split("## What is in it")[1].split("```")[1].strip()
    kept = {str(p.relative_to(EXAMPLE)) for p in EXAMPLE.rglob("*") if p.suffix in (".py", ".toml")}
    kept = {name for name in kept if not name.startswith("artifacts/")}
    assert {line.split()[0] for line in tree.splitlines()} == kept
