"""Choosing claims: markers from place and ledger, and listing without torch."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def pytest_here(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_paper_and_kind_select_the_lemma():
    done = pytest_here("--co", "-q", "-m", "fang2022 and lemma")
    assert done.returncode == 0
    assert "claims/fang2022/test_lemma_3_1_multiplication.py::" in done.stdout


def test_evidence_and_control_are_markers_too():
    exact = pytest_here("--co", "-q", "-m", "exact").stdout
    assert "test_identity_in_symbols" in exact
    assert "test_rate_the_construction" not in exact
    control = pytest_here("--co", "-q", "-m", "control").stdout
    assert "test_control_softmax" in control
    assert "test_identity_in_symbols" not in control


def test_a_misspelt_marker_is_an_error_that_names_it():
    done = pytest_here("--co", "-q", "-m", "fang2O22")
    assert done.returncode == 4
    assert "fang2O22" in done.stdout + done.stderr


def test_listing_imports_neither_torch_nor_scipy_nor_matplotlib(tmp_path):
    (tmp_path / "spy.py").write_text(
        "import sys, pathlib, json\n"
        "def pytest_unconfigure(config):\n"
        f"    pathlib.Path({str(tmp_path / 'modules')!r}).write_text(json.dumps(sorted(sys.modules)))\n"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import pytest; sys.exit(pytest.main(['--co', '-q', '-p', 'spy']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    modules = set(json.loads((tmp_path / "modules").read_text()))
    assert not modules & {"torch", "matplotlib", "scipy"}  # flint may: it takes 0.08 s


def test_listing_writes_nothing(demo):
    demo.claim("lemma-1")
    assert demo.run("--co", "-q").returncode == 0
    assert not demo.artifacts.exists()
    assert not (demo.root / "store").exists()


def test_a_misspelt_marker_is_no_interrupted_run(demo):
    demo.claim("lemma-1")
    done = demo.run("-m", "lema")
    assert done.returncode == 4
    assert "did not report" not in done.stdout
    assert not (demo.artifacts / "results.json").exists()
