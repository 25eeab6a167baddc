"""The fused sums of Section 5: the same numbers as autograd, in less memory, with or without a compiler."""

import functools

import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from ridge_sums import (
    BACKENDS,
    HAVE_KERNEL,
    normal,
    plain_polynomial,
    plain_relu,
    value_and_gradients,
)

from repro.fang2022 import fused
from repro.fang2022.fused import ridge_polynomial, ridge_relu
from repro.numerics import roundoff

backends = pytest.mark.parametrize("backend", BACKENDS)
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])


#          N  n  d  q
SHAPES = [(1, 1, 1, 1), (31, 7, 1, 2), (480, 64, 4, 3), (1500, 130, 10, 5)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids="N={0[0]}-n={0[1]}-d={0[2]}-q={0[3]}".format)


def table_1(N, n, d=10, q=5):
    """Data as in Table 1: x normal, |xi_k| about 1; values of order 1."""
    F, beta = normal(n, d, seed=1) / d**0.5, normal(n, q, seed=2) / n**0.5
    return normal(N, d), F, beta, normal(N, seed=3) / N


def integers(N, n, columns, seed, low=-1, high=2):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, (N, columns), generator=generator), torch.randint(
        low, high, (n, columns), generator=generator
    )


def magnitude(function, x, *parameters, w):
    """No sum of `function` and of its gradients, in whatever order, exceeds this."""
    sizes = [a.abs().double() for a in (x, *parameters)]
    return max(float(a.max()) for a in value_and_gradients(function, *sizes, w=w.abs().double()))


@backends
@dtypes
@given(
    st.integers(1, 1100), st.integers(1, 140), st.integers(1, 6), st.integers(1, 10), st.integers()
)
@example(1, 1, 1, 1, 0)
@example(480, 64, 2, 2, 1)
@example(481, 65, 3, 3, 2)
@example(961, 129, 1, 4, 3)
@example(49, 3, 1, 10, 4)
@settings(max_examples=40, deadline=None)
def test_on_integers_every_number_is_exact(backend, dtype, N, n, d, q, seed):
    """Whatever the order of the sums: no rounding below 2^24. So a wrong index cannot hide."""
    seed %= 2**32
    x, F = integers(N, n, d, seed)
    w, beta = integers(N, n, q, seed + 1)
    w, c, v = w[:, 0], *integers(n, n, 2, seed + 2)[0].T
    for function, reference, parameters in (
        (ridge_polynomial, plain_polynomial, (F, beta)),
        (ridge_relu, plain_relu, (F, c, v)),
    ):
        assume(magnitude(reference, x, *parameters, w=w) < 2**24)
        exact = value_and_gradients(
            reference, *(a.double() for a in (x, *parameters)), w=w.double()
        )
        found = value_and_gradients(
            functools.partial(function, backend=backend),
            *(a.to(dtype) for a in (x, *parameters)),
            w=w.to(dtype),
        )
        for a, b in zip(found, exact, strict=True):
            assert a.dtype == dtype
            assert torch.equal(a.double(), b)


def gamma(m, dtype):
    """m roundings in a row: a relative error of at most m u / (1 - m u)."""
    u = roundoff.unit(dtype)
    return m * u / (1 - m * u)


@backends
@dtypes
@shapes
def test_rounding_errors_stay_in_their_bounds(backend, dtype, shape):
    """Entry by entry, against autograd in float64, the error is at most gamma_m times the same sum
    of absolute values. t is off by gamma_d, so t^s by gamma_(s d + s); Horner and the weight add
    at most 2q + 2 roundings, the sum over k or i at most n + N, and the result is rounded once.
    In float64 the reference itself may be as far off: twice that."""
    N, n, d, q = shape
    x, F, beta, w = (a.to(dtype) for a in table_1(*shape))
    found = value_and_gradients(
        functools.partial(ridge_polynomial, backend=backend), x, F, beta, w=w
    )
    x, F, beta, w = (a.double() for a in (x, F, beta, w))
    exact = value_and_gradients(plain_polynomial, x, F, beta, w=w)
    sizes = value_and_gradients(plain_polynomial, x.abs(), F.abs(), beta.abs(), w=w.abs())
    m = q * d + 3 * q + 3 + n + N
    allowed = (2 if dtype == torch.float64 else 1) * gamma(m, dtype)
    for a, b, size in zip(found, exact, sizes, strict=True):
        assert ((a.double() - b).abs() <= allowed * size).all()


def relative(a, b):
    return float((a.double() - b).norm() / b.norm())


@backends
def test_sums_over_blocks_of_samples_do_not_lose_small_terms(monkeypatch, backend):
    """2^24 + 1 is 2^24 in float32: of 50 ones, each in a block of its own, none may be lost."""
    monkeypatch.setattr(fused, "CHUNK", 1000)
    w = torch.zeros(51 * 1000)
    w[::1000] = 1
    w[0] = 2**24
    call = functools.partial(ridge_polynomial, torch.ones(len(w), 1), backend=backend)
    F, beta = torch.ones(1, 1, requires_grad=True), torch.ones(1, 1, requires_grad=True)
    for gradient in torch.autograd.grad(call(F, beta), (F, beta), w):
        assert gradient.item() == 2**24 + 50


@HAVE_KERNEL
def test_the_kernel_does_not_lose_small_terms_among_many_directions():
    beta = torch.zeros(51 * 1000, 1)
    beta[::1000] = 1
    beta[0] = 2**24
    assert (
        ridge_polynomial(torch.ones(1, 1), torch.ones_like(beta), beta, backend="c") == 2**24 + 50
    )


@HAVE_KERNEL
def test_the_kernel_leaves_denormal_numbers_alone():
    assert fused.backend() == "c"
    tiny = torch.full((3,), 1e-40)
    assert (tiny * 0.5 > 0).all()
    one = torch.ones(1, 1)
    assert ridge_polynomial(one * 1e-20, one, torch.tensor([[0.0, 1.0]]), backend="c").item() > 0


@backends
@pytest.mark.parametrize("function", [ridge_polynomial, ridge_relu])
def test_an_empty_batch_has_no_values_and_no_gradient(backend, function):
    x, F, beta, _ = table_1(0, 5, q=2)
    parameters = (F, beta) if function is ridge_polynomial else (F, *beta.T)
    y, *gradients = value_and_gradients(
        functools.partial(function, backend=backend), x, *parameters, w=torch.empty(0)
    )
    assert y.shape == (0,)
    for gradient, parameter in zip(gradients, parameters, strict=True):
        assert torch.equal(gradient, torch.zeros_like(parameter))


@backends
def test_tensors_need_not_be_contiguous(backend):
    x, F, beta, w = table_1(600, 70)
    call = functools.partial(ridge_polynomial, backend=backend)
    strided = [a.T.contiguous().T for a in (x, F, beta)]
    constant = torch.ones(()).expand(600)  # what y.sum().backward() sends: stride 0
    for inputs, weight, plain in ((strided, w, w), ((x, F, beta), constant, torch.ones(600))):
        expected = value_and_gradients(call, x, F, beta, w=plain)
        for a, b in zip(value_and_gradients(call, *inputs, w=weight), expected, strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("size", [1, 100, 10**6], ids="CHUNK={}".format)
def test_the_size_of_a_chunk_does_not_matter(monkeypatch, size):
    x, F, beta, w = (a.double() for a in table_1(50, 7))
    call = functools.partial(ridge_polynomial, backend="chunks")
    expected = value_and_gradients(call, x, F, beta, w=w)
    monkeypatch.setattr(fused, "CHUNK", size)
    for a, b in zip(value_and_gradients(call, x, F, beta, w=w), expected, strict=True):
        assert relative(a, b) <= 32 * roundoff.unit("float64")


def parts(monkeypatch, threads, length, times, failing=()):
    """The parts that were asked for, with so many threads at hand."""
    asked = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)

    def part(i, j):
        asked.append((i, j))
        return int((i, j) in failing)

    fused._in_threads(part, length, times)
    return sorted(asked)


CASES = {
    "three threads": ((3, 10, 10**9), [(0, 3), (3, 6), (6, 10)]),
    "more threads than rows": ((8, 2, 10**9), [(0, 1), (1, 2)]),
    "work for two": ((8, 1000, 2**11), [(0, 1000)]),
    "a little more": ((8, 1024, 2**11), [(0, 512), (512, 1024)]),
    "work for one": ((8, 100, 5), [(0, 100)]),
    "nothing": ((8, 0, 5), [(0, 0)]),
}


@pytest.mark.parametrize(("case", "expected"), CASES.values(), ids=CASES)
def test_parts_meet_and_are_worth_their_threads(monkeypatch, case, expected):
    """A thread for each 2^20 pairs, no more than there are rows, one at least."""
    assert parts(monkeypatch, *case) == expected


@pytest.mark.parametrize("failing", [[(0, 3)], [(6, 10)], [(0, 3), (3, 6), (6, 10)]], ids=str)
def test_one_part_that_finds_no_memory_is_enough(monkeypatch, failing):
    with pytest.raises(MemoryError, match=r"fused\.c found no memory"):
        parts(monkeypatch, 3, 10, 10**9, failing)


def test_a_chunk_has_a_row_at_least():
    assert fused._rows(torch.ones(7, 1)) == fused.CHUNK // 7
    assert fused._rows(torch.ones(1, 1).expand(2 * fused.CHUNK, 1)) == 1


@HAVE_KERNEL
@dtypes
@pytest.mark.parametrize("threads", [2, 3, 7], ids="threads={}".format)
def test_the_kernel_gives_the_same_bits_with_any_number_of_threads(monkeypatch, dtype, threads):
    x, F, beta, w = (a.to(dtype) for a in table_1(1100, 150))
    call = functools.partial(ridge_polynomial, backend="c")
    monkeypatch.setattr(fused, "PER_THREAD", 1)
    started = []
    pool = fused.ThreadPoolExecutor
    monkeypatch.setattr(fused, "ThreadPoolExecutor", lambda k: started.append(k) or pool(k))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    expected = value_and_gradients(call, x, F, beta, w=w)
    assert started == [1, 1]
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    found = value_and_gradients(call, x, F, beta, w=w)
    assert started == [1, 1, threads, threads]
    for a, b in zip(found, expected, strict=True):
        assert torch.equal(a, b)


x, F, beta, c = torch.ones(4, 3), torch.ones(2, 3), torch.ones(2, 5), torch.ones(2)


MISTAKES = {
    "x has other columns": (
        lambda: ridge_polynomial(x[:, :2], F, beta),
        "needs x .N, d., F .n, d.",
    ),
    "x is one sample": (lambda: ridge_polynomial(x[0], F, beta), "needs x .N, d., F .n, d."),
    "beta has other rows": (lambda: ridge_polynomial(x, F, beta[:1]), "parameters .n, ...."),
    "two types": (lambda: ridge_polynomial(x.double(), F, beta), "of one type.*float64"),
    "two devices": (lambda: ridge_polynomial(x, F.to("meta"), beta), "one type and device.*meta"),
    "x has a gradient": (lambda: ridge_polynomial(x.clone().requires_grad_(), F, beta), "x.detach"),
}


@pytest.mark.parametrize(("call", "message"), MISTAKES.values(), ids=MISTAKES)
def test_bad_input_is_told_what_is_needed(call, message):
    with pytest.raises(ValueError, match=message):
        call()
