"""README and docs are executed, not trusted; what is only read through is named, with the reason."""

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from repro import bounds
from repro.harness.ledger import read
from repro.report import readme
from repro.results import codec, types

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


ELSEWHERE = ROOT / "docs/own_theorem.md"  # its commands leave the repository: test_own_theorem.py
PROGRAMS = ("make", "pip", "pytest", "python")


def fenced(page):
    """The language, perhaps none, and the text of every block between fences."""
    return re.findall(r"^ *```(\w*)\n(.*?)^ *```$", page.read_text(), flags=re.M | re.S)


def blocks(page, language):
    return [text for found, text in fenced(page) if found == language]


def commands():
    """All that a reader may type: lines of shell, and of blocks that say nothing of themselves."""
    for page in PAGES:
        for language, block in fenced(page) if page != ELSEWHERE else ():
            for line in block.splitlines() if language in ("sh", "") else ():
                command = line.split("  #")[0].strip()
                if command.partition(" ")[0] in PROGRAMS:
                    yield command
                assert language == "" or command.partition(" ")[0] in PROGRAMS, command


ONE = "claims/fang2022/test_remark_3_4_determined.py"
RUN = {  # as it stands, in a copy of the repository; with more words where it would take long
    "make claims": ["PYTEST_ARGS=-n0 --scale smoke -k remark_3_4"],
    "make preview": [],
    "pytest": [ONE, "--scale", "smoke"],
    "pytest --co -q": [ONE],
    "python -m repro list": [],
    "python -m repro report": [],
    "python -m repro watch": [],
    "python -m repro loose": [],
    "python -m repro diff --help": [],
    "python -m repro prefetch --help": [],
    "python -m tools.costs --help": [],
    "python -m tools.mutants --help": [],
}
HOURS, TRAINS = "minutes to hours", "many claims at full size: listed with --co"
PARSED = {  # why it is not run here; make says what it would do, pytest lists, others show --help
    'pip install -e ".[dev]"': "needs a package index",
    "make test": "runs this test",
    "make bench": "ten minutes of timing",
    'make bench PYTEST_ARGS="-k kernel_form"': "minutes of timing",
    "make costs": HOURS,
    "python -m tools.costs --cold": HOURS,
    "python -m tools.costs claims/fang2022/test_section_2_model.py": "test_costs.py does it with a "
    "claim that is quicker",
    "make mutants": HOURS,
    'make mutants MUTANTS="repro/wang2024/moving.py"': HOURS,
    'make mutants MUTANTS="--budget 28800"': HOURS,
    'make mutants MUTANTS="--alone 25"': HOURS,
    'make mutants MUTANTS="--by-hand"': HOURS,
    "make controls": HOURS,
    "make reliability": HOURS,
    "make data": "fetches data sets",
    'make claims PYTEST_ARGS="-m fang2022"': HOURS,
    "pytest -n auto": TRAINS,
    'pytest -m "fang2022 and lemma"': TRAINS,
    "pytest -k lemma_3_1 --scale smoke": TRAINS,
    "pytest -k lemma_E_4 --scale smoke": TRAINS,
    "pytest --changed --scale smoke": TRAINS,
    "pytest -k theorem_3_5 --scale smoke": TRAINS,
    "pytest claims -n auto --scale laptop": TRAINS,
    "pytest claims/fang2022/test_theorem_3_5_zero_error.py --scale laptop": TRAINS,
    'pytest -m "jiang2024 and data" -n auto': "needs data sets",
    "pytest claims -n auto --scale paper --device cuda": "needs a GPU",
    "pytest claims --scale paper --store-mode readonly --store-device cuda": "needs trainings",
    "python -m repro prefetch claims/fang2022/test_lemma_3_1_multiplication.py --scale smoke "
    "--dry-run": "half a minute; test_prefetch.py does it with a claim that is quicker",
    "python -m repro prefetch --scale paper --executor slurm --partition gpu --account ours "
    "--gpus 1 --time 600 --jobs 50": "needs a cluster; test_prefetch_slurm.py has a small one",
}


def test_every_command_of_the_docs_is_run_or_it_is_said_why_not():
    assert set(commands()) == {*RUN, *PARSED}
    assert not {*RUN} & {*PARSED}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The repository in another folder, with an environment that is this one."""
    folder = tmp_path_factory.mktemp("copy") / "repository"
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
        elif path.name[0] != "." and path.name not in ("store", "data", "artifacts"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, folder / path.name, ignore=ignored)
    (folder / "artifacts").mkdir()
    (folder / "artifacts/reference").symlink_to(ROOT / "artifacts/reference")
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (folder / ".venv/.installed-from-lock").touch()
    return folder


def test_commands_of_the_docs_work(copy):
    """One after the other, as a reader would: a run first, then what looks at its results."""
    for command, more in RUN.items():
        program, *arguments = shlex.split(command)
        words = {"pytest": [sys.executable, "-m", "pytest"], "python": [sys.executable]}
        call = [*words.get(program, [program]), *arguments, *more]
        done = subprocess.run(
            call, cwd=copy, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert (copy / "artifacts/preview/index.html").is_file()
    assert "holds" in (copy / "artifacts/claims/fang2022/remark-3.4/index.html").read_text()


def chosen_by(arguments):
    """What chooses among the claims has all of them before it; else one is enough."""
    if {"-k", "-m"} & {*arguments} or any(word.endswith(".py") for word in arguments):
        return arguments
    return [word for word in arguments if word != "claims"] + [ONE]


@pytest.mark.parametrize("command", PARSED)
def test_commands_that_are_not_run_here_can_be_understood(command):
    program, *arguments = shlex.split(command)
    if program == "pip":
        assert (
            "dev"
            in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
                "optional-dependencies"
            ]
        )
        return
    call = {
        "pytest": [sys.executable, "-m", "pytest", *chosen_by(arguments), "--co", "-q"],
        "make": ["make", "--dry-run", *arguments],
        "python": [sys.executable, *arguments[:3], "--help"],
    }[program]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if program == "python":
        options = {word for word in arguments if word.startswith("--")}
        assert not {option for option in options if option not in done.stdout}


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
    (entry,) = blocks(ROOT / "docs/claims.md", "toml")
    demo.ledger(f'schema = 1\ntitle = "Mine"\n{textwrap.dedent(entry)}')
    (demo.root / "claims/demo2025/test_lemma_1_trapezoid.py").write_text(claim)
    done = demo.run("-q", "-k", "lemma_1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 statement ran: 1 holds. 0 were not selected." in done.stdout
    assert f"page: {demo.artifacts / 'index.html'}" in done.stdout


def test_the_example_of_the_ledger_page_is_a_ledger(tmp_path):
    example, erratum = blocks(ROOT / "docs/ledger.md", "toml")
    (tmp_path / "ledger.toml").write_text(example.replace('uses = ["fang2022/section-2"]\n', ""))
    assert list(read(tmp_path / "ledger.toml").statements) == ["fang2022/lemma-3.1"]
    (tmp_path / "errata/fang2022").mkdir(parents=True)
    (tmp_path / "errata/fang2022/theorem-3.5.py").touch()
    (tmp_path / "errata/fang2022.toml").write_text(erratum.replace('theorem-3.5"', 'lemma-3.1"', 1))
    (found,) = read(tmp_path / "ledger.toml").errata["fang2022/lemma-3.1"]
    assert found.grade == "edge case"


@pytest.mark.parametrize(
    "kind", [types.Check, types.Cell, types.Counterexample, types.Erratum, types.Figure, types.Number, types.Test,
             types.Training, bounds.Source]
)  # fmt: skip
def test_the_page_on_results_has_the_fields_of_every_class(kind):
    text = (ROOT / "docs/results.md").read_text()
    told = [re.findall(r'"(\w+)"', found) for found in re.findall(r"`\{([^`]+)\}`", text)]
    assert [field.name for field in fields(kind)] in told


def test_the_readme_shows_what_the_snapshot_holds():
    results = codec.read_results(ROOT / "artifacts/reference/results.json.gz")
    text = (ROOT / "README.md").read_text()
    assert readme.filled(text, results, "artifacts/reference") == text, (
        "run: python -m repro snapshot"
    )


def test_the_snapshot_agrees_with_the_ledger():
    results = codec.read_results(ROOT / "artifacts/reference/results.json.gz")
    ledger = read(ROOT / "claims/ledger.toml")
    recorded = {s.id: s.status for s in ledger.statements.values() if not s.pending}
    assert {claim.id: claim.verdict for claim in results.claims} == recorded
