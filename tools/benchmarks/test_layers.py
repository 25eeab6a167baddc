"""What a layer costs: the fused sums of fang2022 against autograd and the literal blocks, and how the
time of wang2024's attention grows with the length. One thread.

The data of fang2022 are small integers, and so are all sums: below 2^24 nothing is rounded in
float32, in whatever order it is added. So two ways that compute the same agree in every bit.
"""

import functools
import shutil

import numpy as np
import pytest
import torch
from ridge_sums import literal_model, plain_polynomial, value_and_gradients

from repro.fang2022 import fused
from repro.numerics import roundoff
from repro.wang2024.model import Attention, Head
from tools.benchmarks.measuring import identical, within

pytestmark = [pytest.mark.timing, pytest.mark.usefixtures("one_thread")]
KERNEL = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
WIDTHS = (2002, 4368)  # n_q, and what Table 3 has
LENGTHS = tuple(2**k for k in range(10, 15))  # 1k to 16k
TABLE = 2**17  # numbers: a megabyte, which stays in the cache


def data(N, n, d=10, q=5):
    """x, F, beta and dL/dy, of -1, 0 and 1; in F most are 0, which keeps t small."""
    generator = torch.Generator().manual_seed(0)
    x, w, F, beta, kept = (
        torch.randint(-1, 2, shape, generator=generator).float()
        for shape in ((N, d), (N,), (n, d), (n, q), (n, d))
    )
    return x, F * (kept == 1), beta, w


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("backend", [pytest.param("c", marks=KERNEL), "chunks"])
def test_a_step_of_table_1_against_autograd(compare, switched_on, n, backend):
    batch = 25000 if switched_on else 50
    x, F, beta, w = data(batch, n)
    sums = functools.partial(fused.ridge_polynomial, backend=backend)
    compare(
        f"a step of Table 1, {backend}, n={n}", fast=lambda: value_and_gradients(sums, x, F, beta, w=w),
        slow=lambda: value_and_gradients(plain_polynomial, x, F, beta, w=w), same=identical,
        against="autograd on Horner's rule", target=15 if backend == "c" else None, rounds=3,
        batch=batch, d=10, q=5, n=n,
    )  # fmt: skip


def test_the_sum_against_the_literal_blocks(compare, switched_on):
    n, calls = (2002, 1000) if switched_on else (6, 1)
    x, F, beta, _ = data(1, n)
    literal = literal_model(F, beta, 10.0)  # |t| <= d
    compare(
        "the model's value by the fused sum", fast=lambda: [fused.ridge_polynomial(x, F, beta)],
        slow=lambda: [literal(x)], same=identical, against="the literal blocks of Theorem 3.5",
        target=1000, rounds=3, calls=calls, batch=1, d=10, q=5, n=n,
    )  # fmt: skip


@pytest.mark.parametrize(("rpe", "p"), [("lin", 0.05), ("log", 1.5)], ids=["lin", "log"])
def test_growth_of_attention_without_a_dot_product(growth, switched_on, rpe, p):
    """A few positions at a time: at once the tables of weights leave the caches from 1k on."""
    one = torch.ones(1, 1, dtype=torch.float64)
    attention = Attention((Head(one, torch.tensor(p, dtype=one.dtype)),), one, rpe)

    def tokens(n):
        """n positions that the layer has an output at; log-RPE has none at the first."""
        generator = torch.Generator().manual_seed(0)
        return torch.rand(n + attention.first, 1, generator=generator, dtype=one.dtype)

    def prepare(n):
        x, few = tokens(n), min(n, max(1, TABLE // n))
        ends = range(attention.first + few, len(x) + 1, few)
        return lambda: torch.cat([attention(x[:end], queries=few) for end in ends])

    def right(n, found):
        """Two sums of n positive terms and a quotient, by either way."""
        s, x = np.arange(attention.first, n + attention.first, dtype=float), tokens(n)
        weights = np.exp(-p * s) if rpe == "lin" else s**-p
        sums = np.convolve(weights, x.squeeze(1).numpy()[:n])[:n] / weights.cumsum()
        within(4 * n * roundoff.unit(x.dtype))([found], [torch.from_numpy(sums)[:, None]])

    growth(
        f"time of {rpe}-RPE attention, growth with the length", LENGTHS if switched_on else (64,),
        prepare, right=right, of="length", about=2, rounds=3,
    )  # fmt: skip
