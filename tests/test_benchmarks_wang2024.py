"""What kernels and attention of wang2024 cost: the program in two bases, its certificate, convolutions.

Ratios and exponents by `make bench` (measuring.py). One thread; float64.
"""

from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from scipy.signal import lfilter

from repro.numerics import l1, vertices
from repro.wang2024 import kernels
from repro.wang2024.model import Attention, Head

PART = 4
pytestmark = [pytest.mark.timing, pytest.mark.usefixtures("one_thread")]
WINDOW = 200


# --- best approximation in l1 --------------------------------------------------------------------


def exponentials(H):
    return l1.Exponentials(tuple(Fraction(h, 2) for h in range(1, H + 1)))


def powers(H):
    return l1.Powers(tuple(Fraction(h + 2, 2) for h in range(1, H + 1)))


def dual(columns, values):
    """sum z_t rho(t) over |z_t| <= 1, orthogonal to the columns, at its largest."""
    found = linprog(
        -values,
        A_eq=columns.T,
        b_eq=np.zeros(columns.shape[1]),
        bounds=(-1, 1),
        options=vertices.LP,
    )
    return -found.fun if found.x is not None else np.nan


def orthonormal(functions, times):
    return vertices.independent(lambda: functions.balls(times), len(functions))[1].Q


def sampled(kernel, times):
    return np.array([kernel(t) for t in times])


@pytest.mark.parametrize("H", [4, 8, 16], ids="H={}".format)
def test_the_program_in_an_orthonormal_basis(compare, switched_on, H):
    """Times are alike; what counts is how far off each is, which stands in the note.

    On the window the optimum is the proved bound from below and what the kernel has beyond.
    """
    heads, times = (H, range(WINDOW)) if switched_on else (2, range(12))
    kernel, functions = kernels.later(kernels.power("5/2")), exponentials(heads)
    rho, raw, better = (
        sampled(kernel, times),
        functions.values(times),
        orthonormal(functions, times),
    )
    best = l1.best(kernel, functions, window=len(times))
    exact = best.floor + float(kernel.beyond(len(times)))
    errors = [abs(dual(columns, rho) - exact) / exact for columns in (better, raw)]
    compare(
        f"dual program in an orthonormal basis, H={H}", fast=lambda: dual(better, rho), slow=lambda: dual(raw, rho),
        against="the program in the functions as they are", H=heads, window=len(times),
        note=f"off by {errors[0]:.1g} of what is proved; in the functions as they are by {errors[1]:.1g}",
    )  # fmt: skip


def from_the_first_times(Q, values):
    """A start that knows nothing: interpolate at the first times, all other signs +1."""
    H = Q.shape[1]
    signs = np.ones(len(values), dtype=int)
    signs[:H] = 0
    return list(range(H)), signs


@pytest.mark.parametrize("H", [8, 16], ids="H={}".format)
def test_time_to_a_certified_bound(compare, switched_on, monkeypatch, H):
    heads, window = (H, WINDOW) if switched_on else (2, 12)
    start, kernel, functions = (
        vertices._start,
        kernels.alternating(kernels.power("3/2")),
        powers(heads),
    )
    times = range(1, window + 1)
    rho, better = sampled(kernel, times), orthonormal(functions, times)

    def certified(begin):
        monkeypatch.setattr(vertices, "_start", begin)
        best = l1.best(kernel, functions, window=window)
        monkeypatch.setattr(vertices, "_start", start)
        return best

    known, blind = certified(start), certified(from_the_first_times)
    assert known.times == blind.times
    compare(
        f"time to a certified bound, H={H}", fast=lambda: certified(start), slow=lambda: certified(from_the_first_times),
        against="the same exchanges in balls, without the program in float64 to start from",
        limit=lambda: dual(better, rho), limit_is="the program in float64 alone, which proves nothing", rounds=5,
        H=heads, window=window, note=f"proved to lie between {known.floor:.6g} and {known.error:.6g}",
    )  # fmt: skip


# --- attention without a dot product -------------------------------------------------------------


def layer(rpe, p):
    one = torch.ones(1, 1, dtype=torch.float64)
    return Attention((Head(one, torch.tensor(p, dtype=torch.float64)),), one, rpe)


def by_fft(attention, x):
    """The head's weights e^{p phi(s)} and the tokens, convolved; then the denominator, a running sum.

    n tokens of one number; log-RPE has no output at the first.
    """
    n, first, p = len(x), attention.first, attention.heads[0].p
    s = torch.arange(first, n, dtype=x.dtype)
    weights = torch.zeros(n, dtype=x.dtype)
    weights[first:] = torch.exp(-p * s) if attention.rpe == "lin" else s**-p
    size = 2 * n
    sums = torch.fft.irfft(torch.fft.rfft(weights, size) * torch.fft.rfft(x[:, 0], size), size)[:n]
    return (sums[first:] / weights.cumsum(0)[first:])[:, None]


def by_recurrence(attention, x):
    """lin-RPE: y(t) = e^-p y(t-1) + x(t), and the same for the denominator."""
    u = float(torch.exp(-attention.heads[0].p))
    both = np.stack([x[:, 0].numpy(), np.ones(len(x))])
    sums, weights = lfilter([1.0], [1.0, -u], both)
    return torch.from_numpy(sums / weights)[:, None]


WAYS = {"FFT": by_fft, "recurrence": by_recurrence}
BOTH = pytest.mark.parametrize(
    ("rpe", "p", "way"), [("lin", 0.05, "FFT"), ("lin", 0.05, "recurrence"), ("log", 1.5, "FFT")],
    ids=["lin-FFT", "lin-recurrence", "log-FFT"],
)  # fmt: skip


def tokens(n):
    return torch.rand(n, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 0.5


@BOTH
def test_a_convolution_against_the_quadratic_layer(compare, switched_on, rpe, p, way):
    n = 4096 if switched_on else 64
    attention, x = layer(rpe, p), tokens(n)
    fast = WAYS[way]
    torch.testing.assert_close(fast(attention, x), attention(x), rtol=0, atol=n * 2**-50)
    compare(
        f"{rpe}-RPE attention by {way}", fast=lambda: fast(attention, x), slow=lambda: attention(x),
        against="the quadratic layer", limit=x.clone, limit_is="to copy the tokens once", rounds=3, n=n, p=p,
    )  # fmt: skip


LONG = tuple(2**k for k in range(10, 17))  # 1k to 64k


@BOTH
def test_growth_of_the_convolution(growth, switched_on, rpe, p, way):
    attention, fast = layer(rpe, p), WAYS[way]

    def prepare(n):
        x = tokens(n)
        return lambda: fast(attention, x)

    growth(
        f"{rpe}-RPE attention by {way}, growth in length", LONG if switched_on else (64,), prepare, of="length",
        at_most=1.2,
    )  # fmt: skip


@pytest.mark.parametrize(("rpe", "p"), [("lin", 0.05), ("log", 1.5)], ids=["lin", "log"])
def test_growth_of_the_quadratic_layer(growth, switched_on, rpe, p):
    """Up to 4k: at 64k its table of weights alone would take 34 GB."""
    attention = layer(rpe, p)

    def prepare(n):
        x = tokens(n)
        return lambda: attention(x)

    growth(
        f"{rpe}-RPE attention, quadratic layer, growth in length", (1024, 1536, 2048, 3072, 4096) if switched_on else (64,), prepare,
        of="length", about=2, rounds=2,
        why="from 2k on its tables leave the caches, and the operating system hands out their pages anew in every call",
    )  # fmt: skip
