"""Break the construction of Lemma 3.1 in one place: its claim must go red."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CLAIM = "claims/fang2022/test_lemma_3_1_multiplication.py"
SABOTAGE = """
import dataclasses
from repro.fang2022 import model, multiplication

whole = multiplication.multiplication_block

def broken(n, q, M):
    block = whole(n, q, M)
    rows = model.Layout(n, q)
    slot, one, first, second = rows.slot(3), rows.one, rows.slot(1), rows.slot(2)
    {change}
    return block

multiplication.multiplication_block = broken
"""
CHANGES = {
    "nothing": "pass",
    "sign in W_2, first unit": "block.W_2[slot, 0] = 2",
    "sign in W_2, second unit": "block.W_2[slot, 1] = -2",
    "row in W_V": "block.W_V[slot, one], block.W_V[first, one] = 0, 1",
    "column in W_V": "block.W_V[slot, one], block.W_V[slot, second] = 0, 1",
    "sign in W_1": "block.W_1[0, slot] = -1",
    "key reads x": "block.W_K[0, second], block.W_K[0, first] = 0, 1",
    "bias lost": "block.b_2[slot] = 0",
    "lift halved": "[block.W_Q.__setitem__((i, i), block.W_Q[i, i] / 2) for i in range(1, n + 1)]",
    "one key lost": "block.W_K[n, n] = 0",
    "one weight too many": "block.b_1[1] = -1",
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_claim_goes_red_when_this_is_broken(change, tmp_path):
    (tmp_path / "sabotage.py").write_text(SABOTAGE.format(change=CHANGES[change]))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", CLAIM, "-q", "-x", "-m", "not control", "--scale", "smoke", "-p", "sabotage",
         "-p", "no:cacheprovider", "--artifacts", str(tmp_path / "artifacts"), "--store", str(tmp_path / "store")],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert done.returncode == (0 if change == "nothing" else 1), done.stdout + done.stderr
    if change != "nothing":
        assert "fang2022/lemma-3.1, One block multiplies: not as recorded" in done.stdout
