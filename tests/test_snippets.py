"""Every counterexample comes with a program: it runs by itself, and what it prints is false."""

import subprocess
import sys
from pathlib import Path

from repro import files

ROOT = Path(__file__).parent.parent


def test_every_program_runs_and_refutes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "claims", "-q", "-k", "test_printed or test_reading",
         "--scale", "smoke", "-p", "no:cacheprovider",
         "--artifacts", str(tmp_path / "artifacts"), "--store", str(tmp_path / "store")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    results = files.read_json(tmp_path / "artifacts/results.json")
    found = [(c["id"], one) for c in results["claims"] for one in c["counterexamples"]]
    assert len(found) >= 13, done.stdout + done.stderr
    for id, one in found:
        assert one["program"], f"{id}: {one['refutes']}"
        judged = f"{one['program']}\nfrom repro.harness import checks\n" + (
            f"assert checks.refutes(left, {one['relation']!r}, right).ok, (left, right)\n"
        )
        ran = subprocess.run(
            [sys.executable, "-"], input=judged, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, f"{id}: {one['refutes']}: {ran.stderr}"
        assert "is false" in ran.stdout, f"{id}: {one['refutes']} prints nothing"
