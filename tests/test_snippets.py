"""Every counterexample comes with lines to paste into Python: they run, and show something."""

import subprocess
import sys
from pathlib import Path

from repro import files

ROOT = Path(__file__).parent.parent


def test_every_snippet_runs_and_prints(tmp_path):
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
        assert one["snippet"], f"{id}: {one['refutes']}"
        ran = subprocess.run(  # typed at the prompt, so that what is pasted there is what is tried
            [sys.executable, "-i", "-q"], input=one["snippet"] + "\n",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "Error" not in ran.stderr, f"{id}: {one['refutes']}: {ran.stderr}"
        assert ran.stdout.strip(), f"{id}: {one['refutes']} prints nothing"
