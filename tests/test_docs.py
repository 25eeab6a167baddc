"""README and docs are executed, not trusted."""

import json
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from repro.harness.ledger import read
from repro.report import readme

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


ELSEWHERE = ROOT / "docs/own_theorem.md"  # its commands leave the repository: test_own_theorem.py


def blocks(page, language, indent=""):
    fenced = rf"^{indent}```{language}\n(.*?)^{indent}```"
    return re.findall(fenced, page.read_text(), flags=re.M | re.S)


def commands():
    for page in PAGES:
        for block in blocks(page, "sh") if page != ELSEWHERE else ():
            for line in block.splitlines():
                command = line.split("  #")[0].strip()
                yield pytest.param(command, id=f"{page.name}: {command}")


@pytest.mark.parametrize("command", list(commands()))
def test_every_command_of_the_docs_works(command):
    """pytest is asked to list, make to say what it would do; the rest is run as it stands."""
    program, *arguments = shlex.split(command)
    if program == "pip":
        assert arguments == ["install", "-e", ".[dev]"]
        return
    run = {
        "pytest": [sys.executable, "-m", "pytest", *arguments, "--co", "-q"],
        "make": ["make", "--dry-run", *arguments],
        "python": [sys.executable, *arguments],
    }[program]
    if arguments[-1:] == ["watch"]:
        run.append("--help")
    if arguments[-1:] in (["report"], ["snapshot"]):
        run += ["--artifacts", "no-such-folder", "--help"]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_of_the_readme_prints_what_it_says(capsys):
    (example,) = blocks(ROOT / "README.md", "python")
    exec(example, {})
    first, second = map(float, re.findall(r"-?[0-9]+\.[0-9]+", capsys.readouterr().out)[:2])
    assert (first, second) == (1.5, -4.5)  # torch prints four digits


def test_the_example_of_the_training_page_prints_what_it_says(capsys):
    (example,) = blocks(ROOT / "docs/training.md", "python")
    exec(example, {"__name__": "example"})
    computed, reused, learnt = capsys.readouterr().out.splitlines()
    assert computed == "computed: no entry"
    assert reused.startswith("reused: computed")
    assert learnt == "True"


def test_every_option_of_the_readme_exists():
    options = set(re.findall(r"`(--[a-z-]+)", (ROOT / "README.md").read_text()))
    assert len(options) >= 7
    shown = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert not {option for option in options if option not in shown}


def test_links_between_the_docs_lead_somewhere():
    links = [
        (page, link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text())
        if "://" not in link
    ]
    assert links
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_the_claim_of_the_page_on_claims_holds(demo):
    (claim,) = blocks(ROOT / "docs/claims.md", "python")
    (entry,) = blocks(ROOT / "docs/claims.md", "toml", indent="   ")
    demo.ledger(f'schema = 1\ntitle = "Mine"\n{textwrap.dedent(entry)}')
    (demo.root / "claims/demo2025/test_lemma_1_trapezoid.py").write_text(claim)
    done = demo.run("-q", "-k", "lemma_1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "demo2025: 1 of 1 statements have a claim (1 holds)" in done.stdout
    assert f"page: {demo.artifacts / 'index.html'}" in done.stdout


def test_the_example_of_the_ledger_page_is_a_ledger(tmp_path):
    (example,) = blocks(ROOT / "docs/ledger.md", "toml")
    (tmp_path / "ledger.toml").write_text(example.replace('uses = ["fang2022/section-2"]\n', ""))
    assert list(read(tmp_path / "ledger.toml").statements) == ["fang2022/lemma-3.1"]


def test_the_readme_shows_what_the_snapshot_holds():
    results = json.loads((ROOT / "artifacts/reference/results.json").read_text())
    text = (ROOT / "README.md").read_text()
    assert readme.filled(text, results, "artifacts/reference") == text, (
        "run: python -m repro snapshot"
    )


def test_the_snapshot_agrees_with_the_ledger():
    results = json.loads((ROOT / "artifacts/reference/results.json").read_text())
    ledger = read(ROOT / "claims/ledger.toml")
    recorded = {s.id: s.status for s in ledger.statements.values() if not s.pending}
    assert {claim["id"]: claim["verdict"] for claim in results["claims"]} == recorded
