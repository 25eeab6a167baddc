"""Cost as ratios of two things run in the same process, by `make bench`; never an assertion on a time.

In an ordinary test run the bodies are executed once, so that they cannot rot. `compare` is in
conftest.py.
"""

from fractions import Fraction

import numpy as np
import pytest
import torch
from demo import PASSES

from repro.fang2022 import model, multiplication
from repro.numerics import exact

pytestmark = pytest.mark.timing


def test_a_batch_goes_through_the_block_at_once(compare):
    n, batch = 8, 512
    block = multiplication.multiplication_block(n, 3, 1.0).to(torch.float32)
    x, y = torch.rand(2, batch, n)
    Z = model.Layout(n, 3).tokens(x, x, y)
    compare(
        "literal block, batched", fast=lambda: block(Z), slow=lambda: [block(z) for z in Z],
        against="one sample after the other", target=10, n=n, batch=batch,
    )  # fmt: skip


def test_flint_rationals_against_fractions(compare):
    """The same forward pass, the same values: only the type of number differs."""
    n = 6
    values = [[Fraction(3 * i + k, 7 + i) for i in range(n)] for k in range(3)]
    layout = model.Layout(n, 3)
    with_flint = (
        multiplication.multiplication_block(n, 3, exact.rational(3)),
        layout.tokens(*map(exact.rationals, values)),
    )
    as_objects = [np.array(v, dtype=object) for v in values]
    with_fractions = (
        multiplication.multiplication_block(n, 3, Fraction(3)),
        layout.tokens(*as_objects),
    )
    compare(
        "exact block, python-flint", fast=lambda: with_flint[0](with_flint[1]), slow=lambda: with_fractions[0](with_fractions[1]),
        against="fractions.Fraction", target=2, n=n,
    )  # fmt: skip


def test_what_the_harness_adds_to_a_claim(compare, demo):
    """Two hundred claim tests in one file against two hundred plain tests that do as little."""
    count = 200
    many = f"\nimport pytest\n\n@pytest.mark.parametrize('k', range({count}))"
    claims = PASSES.replace("\nimport pytest\n", many).replace("(claim)", "(claim, k)")
    demo.claim("lemma-1", claims)
    (demo.root / "test_plain.py").write_text(f"{many}\ndef test_plain(k):\n    assert 0.5 <= 1.0\n")
    compare(
        "plain tests", fast=lambda: demo.run("-q", "test_plain.py"), slow=lambda: demo.run("-q", "claims"),
        against="as many claims: what the harness adds, start and page included", target=None, rounds=3, tests=count,
    )  # fmt: skip
