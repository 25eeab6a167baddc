"""What the fused sums of Section 5 cost: against autograd, a bare product, and the literal blocks.

Ratios and exponents by `make bench` (measuring.py). One thread; float32, as in Section 5.

All data are small integers, and so are all sums: below 2^24 nothing is rounded, in whatever order it
is added. So two ways that compute the same agree in every bit. Time does not depend on the numbers.
"""

import functools
import shutil
from pathlib import Path

import pytest
import torch
from ridge_sums import (
    extra_memory,
    literal_blocks,
    literal_model,
    plain_polynomial,
    plain_relu,
    value_and_gradients,
)

from repro.fang2022 import fused, multiplication
from repro.fang2022.model import Layout
from tools.benchmarks.measuring import identical

pytestmark = [pytest.mark.timing, pytest.mark.usefixtures("one_thread")]
WIDTHS = pytest.mark.parametrize("n", [2002, 4368], ids="n={}".format)  # n_q, and what Table 3 has
KERNEL = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")


@pytest.fixture
def batch(switched_on):
    return 25000 if switched_on else 50  # "batch" of Table 1


def data(N, n, d=10, q=5):
    """x, F, beta and dL/dy, of -1, 0 and 1; in F most are 0, which keeps t small."""
    generator = torch.Generator().manual_seed(0)
    x, w, F, beta, kept = (
        torch.randint(-1, 2, shape, generator=generator).float()
        for shape in ((N, d), (N,), (n, d), (n, q), (n, d))
    )
    return x, F * (kept == 1), beta, w


def step(function, x, F, *parameters, w, **options):
    """Forward and backward, as a function without arguments."""
    call = functools.partial(function, **options)
    return lambda: value_and_gradients(call, x, F, *parameters, w=w)


def powers(t, q):
    return torch.linalg.vander(t, N=q + 1)[..., 1:]  # by products: t, t^2, ..., t^q


@WIDTHS
@pytest.mark.parametrize("backend", [pytest.param("c", marks=KERNEL), "chunks"])
def test_a_step_of_table_1_against_autograd(compare, batch, n, backend):
    x, F, beta, w = data(batch, n)
    compare(
        f"a step of Table 1, {backend}, n={n}", fast=step(fused.ridge_polynomial, x, F, beta, w=w, backend=backend),
        slow=step(plain_polynomial, x, F, beta, w=w), same=identical, against="autograd on Horner's rule",
        target=15 if backend == "c" else None,
        rounds=3 if backend == "c" else 2, batch=batch, d=10, q=5, n=n,
    )  # fmt: skip


@KERNEL
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_memory_of_a_step_of_table_1(benchmark, measured, batch, switched_on):
    """Each in a process of its own; without `make bench` one is enough."""
    widths = (2002, 4368) if switched_on else (20,)
    found = benchmark.pedantic(lambda: {n: extra_memory("c", batch, n) for n in widths})
    for n, (here, autograd) in found.items():
        kept = 8 * (batch + 15 * n) / 2**20
        measured(
            f"extra memory of a step of Table 1, n={n}", here / 2**20, unit="MB", relation="<=", target=4 * kept,
            against=f"autograd takes {autograd / 2**20:.0f} MB, one array of N x n numbers {4 * batch * n / 2**20:.0f} MB",
            note="O(N + n): the target is four times N + n (d + q) numbers of float64: y, and the gradients", batch=batch, n=n,
        )  # fmt: skip


@pytest.mark.parametrize("backend", [pytest.param("c", marks=KERNEL), "chunks"])
def test_a_step_of_NN_width_against_autograd(compare, batch, backend):
    n = 4368
    x, F, parameters, w = data(batch, n, q=2)
    c, v = parameters.T
    compare(
        f"a step of NN_width, {backend}, n={n}", fast=step(fused.ridge_relu, x, F, c, v, w=w, backend=backend),
        slow=step(plain_relu, x, F, c, v, w=w), same=identical, against="autograd",
        rounds=2, batch=batch, d=10, n=n,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "N"), [(160, 16), (2002, 1), (4368, 1)], ids=["160", "2002", "4368"])
def test_the_sum_against_the_literal_blocks(compare, switched_on, n, N):
    """Up to the most directions of Section 5, where one sample takes the literal blocks a minute."""
    size, calls = (n, 1000) if switched_on else (6, 1)
    x, F, beta, _ = data(N, size)
    literal = literal_model(F, beta, 10.0)  # |t| <= d
    compare(
        f"the model's value, n={n}", fast=lambda: [fused.ridge_polynomial(x, F, beta)], slow=lambda: [literal(x)],
        same=identical, against="the literal blocks of Theorem 3.5", target=1000,
        rounds=1 if n == 4368 else 3,
        calls=calls, batch=N, d=10, q=5, n=size,
    )  # fmt: skip


def test_a_batch_goes_through_the_block_at_once(compare, switched_on):
    n, batch = 8, 512 if switched_on else 4
    block = multiplication.multiplication_block(n, 3, 1.0).to(torch.float32)
    x, y = torch.randint(-1, 2, (2, batch, n), generator=torch.Generator().manual_seed(0)).float()
    Z = Layout(n, 3).tokens(x, x, y)
    compare(
        "a literal block, batched", fast=lambda: block(Z), slow=lambda: [block(z) for z in Z], same=identical,
        against="one sample after the other", target=10, n=n, batch=batch,
    )  # fmt: skip


# --- growth --------------------------------------------------------------------------------------

MEANING = {"n": "the number n of directions", "batch": "the batch"}
LITERAL = {"n": (256, 362, 512, 724, 1024), "batch": (4, 8, 16, 32)}
FUSED = {
    "n": (250, 500, 1000, 2000, 4000),
    "batch": (2500, 5000, 10000, 20000),
}


@pytest.mark.parametrize("of", LITERAL)
def test_growth_of_the_literal_blocks(growth, switched_on, of):
    standard = {"n": 128, "q": 3, "batch": 4}

    def tokens(size):
        sizes = {**standard, of: size}
        t, *_ = data(sizes["batch"], 1, d=sizes["n"])
        return Layout(sizes["n"], sizes["q"]), t

    def prepare(size):
        rows, t = tokens(size)
        blocks, Z = literal_blocks(rows.n, rows.q, 1.0, torch.float32), rows.tokens(t)
        return lambda: functools.reduce(lambda Z, block: block(Z), blocks, Z)

    def right(size, Z):
        """(-t)^s in slot s."""
        rows, t = tokens(size)
        identical(Z[:, rows.slot(1) : rows.one].unbind(1), powers(-t, rows.q).unbind(-1))

    growth(
        f"time of the literal blocks, growth with {MEANING[of]}", LITERAL[of] if switched_on else (4,), prepare,
        right=right, of=of, about=3 if of == "n" else None, rounds=3 if of == "n" else 7,
        **{name: value for name, value in standard.items() if name != of},
    )  # fmt: skip


@KERNEL
@pytest.mark.parametrize("of", FUSED)
def test_growth_of_a_fused_step(growth, switched_on, of):
    standard = {"n": 500, "q": 5, "batch": 5000}

    def given(size):
        sizes = {**standard, of: size}
        x, F, beta, w = data(sizes["batch"], sizes["n"], q=sizes["q"])
        x[:, 1:] = 0  # so that t is -1, 0 or 1, and its 32nd power as well
        return x, F, beta, w

    def prepare(size):
        x, F, beta, w = given(size)
        return step(fused.ridge_polynomial, x, F, beta, w=w, backend="c")

    def right(size, found):
        x, F, beta, w = given(size)
        identical(found, step(plain_polynomial, x, F, beta, w=w)())

    growth(
        f"time of a fused step, growth with {MEANING[of]}", FUSED[of] if switched_on else (40,), prepare, right=right, of=of,
        about=None if of == "q" else 1, rounds=15, d=10, **{name: value for name, value in standard.items() if name != of},
    )  # fmt: skip
