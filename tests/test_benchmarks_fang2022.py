"""What the fused sums of Section 5 cost: against autograd, a bare product, and the literal blocks.

Ratios and exponents by `make bench`, as in test_benchmarks.py. One thread; float32, as in Section 5.
"""

import functools
import shutil

import pytest
import torch
from ridge_sums import (
    literal_blocks,
    literal_model,
    plain_polynomial,
    plain_relu,
    value_and_gradients,
)

from repro.fang2022 import fused
from repro.fang2022.model import Layout

pytestmark = pytest.mark.timing
WIDTHS = pytest.mark.parametrize("n", [2002, 4368], ids="n={}".format)  # n_q, and what Table 3 has
KERNEL = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def batch(switched_on):
    return 25000 if switched_on else 50  # "batch" of Table 1


def data(N, n, d=10, q=5):
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(N, d, generator=generator), torch.randn(N, generator=generator)
    F, beta = torch.randn(n, d, generator=generator), torch.randn(n, q, generator=generator)
    return x, F / d**0.5, beta / n**0.5, w / N


def step(function, x, F, *parameters, w, **options):
    """Forward and backward, as a function without arguments."""
    call = functools.partial(function, **options)
    return lambda: value_and_gradients(call, x, F, *parameters, w=w)


@WIDTHS
@pytest.mark.parametrize("backend", [pytest.param("c", marks=KERNEL), "chunks"])
def test_a_step_of_table_1_against_autograd(compare, batch, n, backend):
    x, F, beta, w = data(batch, n)
    compare(
        f"a step of Table 1, {backend}, n={n}", fast=step(fused.ridge_polynomial, x, F, beta, w=w, backend=backend),
        slow=step(plain_polynomial, x, F, beta, w=w), against="autograd on Horner",
        target=15 if backend == "c" else None, rounds=3, batch=batch, d=10, q=5, n=n,
    )  # fmt: skip


@KERNEL
@WIDTHS
@pytest.mark.parametrize("memory", ["new", "given"])
def test_a_step_of_table_1_against_the_bare_product(compare, batch, n, memory):
    """x F^T alone, with which every other way begins; it has to write N x n numbers somewhere."""
    x, F, beta, w = data(batch, n)
    t = torch.empty(batch, n) if memory == "given" else None
    compare(
        f"a step of Table 1, c, n={n}", fast=step(fused.ridge_polynomial, x, F, beta, w=w, backend="c"),
        slow=lambda: torch.mm(x, F.T, out=t), against=f"the bare product x F^T, into {memory} memory",
        target=1 / 1.5 if memory == "new" else None, batch=batch, d=10, q=5, n=n,
    )  # fmt: skip


@pytest.mark.parametrize("backend", [pytest.param("c", marks=KERNEL), "chunks"])
def test_a_step_of_NN_width_against_autograd(compare, batch, backend):
    n = 4368
    x, F, parameters, w = data(batch, n, q=2)
    c, v = parameters.T
    compare(
        f"a step of NN_width, {backend}, n={n}", fast=step(fused.ridge_relu, x, F, c, v, w=w, backend=backend),
        slow=step(plain_relu, x, F, c, v, w=w), against="autograd", target=None, rounds=3, batch=batch, d=10, n=n,
    )  # fmt: skip


@pytest.mark.parametrize("n", [160, 256], ids="n={}".format)
def test_the_sum_against_the_literal_blocks(compare, switched_on, n):
    n, N, calls = (n, 16, 1000) if switched_on else (6, 2, 1)
    x, F, beta, _ = data(N, n)
    x = 7 * x / x.norm(dim=1).max()  # B = 7, about the largest |x| of Section 5
    literal = literal_model(F, beta, 7.0)
    compare(
        f"the model's value, n={n}", fast=lambda: fused.ridge_polynomial(x, F, beta), slow=lambda: literal(x),
        against="the literal blocks of Theorem 3.5", target=1000, calls=calls, batch=N, d=10, q=5, n=n,
    )  # fmt: skip


# --- growth --------------------------------------------------------------------------------------

LITERAL = {"n": (64, 90, 128, 181, 256), "q": (2, 4, 8, 16), "batch": (4, 8, 16, 32)}
FUSED = {
    "n": (250, 500, 1000, 2000, 4000),
    "q": (4, 8, 16, 32),
    "batch": (2500, 5000, 10000, 20000),
}


@pytest.mark.parametrize("of", LITERAL)
def test_growth_of_the_literal_blocks(growth, switched_on, of):
    standard = {"n": 80, "q": 3, "batch": 16}

    def prepare(size):
        sizes = {**standard, of: size}
        blocks = literal_blocks(sizes["n"], sizes["q"], 1.0, torch.float32)
        Z = Layout(sizes["n"], sizes["q"]).tokens(torch.rand(sizes["batch"], sizes["n"]))
        return lambda: functools.reduce(lambda Z, block: block(Z), blocks, Z)

    growth(
        f"literal blocks, growth in {of}", LITERAL[of] if switched_on else (4,), prepare, of=of,
        **{name: value for name, value in standard.items() if name != of},
    )  # fmt: skip


@KERNEL
@pytest.mark.parametrize("of", FUSED)
def test_growth_of_a_fused_step(growth, switched_on, of):
    standard = {"n": 500, "q": 5, "batch": 5000}

    def prepare(size):
        sizes = {**standard, of: size}
        x, F, beta, w = data(sizes["batch"], sizes["n"], q=sizes["q"])
        return step(fused.ridge_polynomial, x, F, beta, w=w, backend="c")

    growth(
        f"fused step, growth in {of}", FUSED[of] if switched_on else (4,), prepare, of=of, d=10,
        **{name: value for name, value in standard.items() if name != of},
    )  # fmt: skip
