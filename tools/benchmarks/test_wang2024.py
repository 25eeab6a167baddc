"""What kernels and attention of wang2024 cost: certified bounds, convolutions.

Ratios and exponents by `make bench` (measuring.py). One thread; float64.
"""

from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.signal import lfilter

from repro.numerics import l1, roundoff, vertices
from repro.wang2024 import kernels
from repro.wang2024.model import Attention, Head
from tools.benchmarks.measuring import agree

pytestmark = [pytest.mark.timing, pytest.mark.usefixtures("one_thread")]
WINDOW = 200


# --- best approximation in l1 --------------------------------------------------------------------


def powers(H):
    return l1.Powers(tuple(Fraction(h + 2, 2) for h in range(1, H + 1)))


def from_the_first_times(Q, values):
    """A start that knows nothing: interpolate at the first times, all other signs +1."""
    H = Q.shape[1]
    signs = np.ones(len(values), dtype=int)
    signs[:H] = 0
    return list(range(H)), signs


def same_optimum(found, wanted):
    """The same vertex, coefficients and bound from below, in balls too small to hold 0."""
    assert found.times == wanted.times
    sides = ((best.lower, *best.coefficients) for best in (found, wanted))
    for a, b in zip(*sides, strict=True):
        assert a.overlaps(b)
        assert min(a.rel_accuracy_bits(), b.rel_accuracy_bits()) > 32


@pytest.mark.parametrize("H", [8, 16], ids="H={}".format)
def test_time_to_a_certified_bound(compare, switched_on, monkeypatch, H):
    heads, window = (H, WINDOW) if switched_on else (2, 12)
    start, kernel = vertices._start, kernels.alternating(kernels.power("3/2"))

    def certified(begin):
        monkeypatch.setattr(vertices, "_start", begin)
        best = l1.best(kernel, powers(heads), window=window)
        monkeypatch.setattr(vertices, "_start", start)
        return best

    bound = certified(start)
    compare(
        f"time to a certified bound, H={H}", fast=lambda: certified(start), slow=lambda: certified(from_the_first_times),
        same=same_optimum, against="the same exchanges in balls, without the program in float64 to start from", rounds=5,
        H=heads, window=window, note=f"proved to lie between {bound.floor:.6g} and {bound.error:.6g}",
    )  # fmt: skip


# --- attention without a dot product -------------------------------------------------------------


def layer(rpe, p):
    one = torch.ones(1, 1, dtype=torch.float64)
    return Attention((Head(one, torch.tensor(p, dtype=torch.float64)),), one, rpe)


def by_fft(attention, n):
    """The head's weights e^{p phi(s)} and n tokens, convolved; then the denominator, a running sum.

    n tokens of one number; log-RPE has no output at the first. It works in memory of its own:
    at 64k new pages from the operating system would take longer than the transforms.
    """
    first, p = attention.first, float(attention.heads[0].p)
    s = np.arange(first, n, dtype=float)
    phi = -s if attention.rpe == "lin" else -np.log(s)
    weights, given, sums = np.zeros((3, 2 * n))
    of_weights, of_given = np.empty((2, n + 1), dtype=complex)
    own, totals = weights[first:n], np.empty(n - first)

    def convolved(x):
        np.exp(np.multiply(phi, p, out=own), out=own)
        given[:n] = x[:, 0]
        np.fft.rfft(weights, out=of_weights)
        np.fft.rfft(given, out=of_given)
        np.fft.irfft(np.multiply(of_weights, of_given, out=of_given), 2 * n, out=sums)
        outputs = np.divide(sums[first:n], np.cumsum(own, out=totals), out=totals)
        return torch.from_numpy(outputs)[:, None]

    return convolved


def by_recurrence(attention, n):
    """lin-RPE: y(t) = e^-p y(t-1) + x(t), and the same for the denominator."""
    u = float(torch.exp(-attention.heads[0].p))
    both = np.ones((2, n))

    def filtered(x):
        both[0] = x[:, 0]
        sums, weights = lfilter([1.0], [1.0, -u], both)
        return torch.from_numpy(sums / weights)[:, None]

    return filtered


WAYS = {"FFT": by_fft, "recurrence": by_recurrence}
BOTH = pytest.mark.parametrize(
    ("rpe", "p", "way"), [("lin", 0.05, "FFT"), ("lin", 0.05, "recurrence"), ("log", 1.5, "FFT")],
    ids=["lin-FFT", "lin-recurrence", "log-FFT"],
)  # fmt: skip


def tokens(n):
    return torch.rand(n, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 0.5


def rounding(rpe, p, x):
    """How far apart two ways to compute the layer may be: |outputs| <= max |x|, denominators >= 1.

    A transform of m numbers is off by 7 u log2(m) of its norm (Higham 2002, Theorem 24.2): with the
    weights w, a convolution by three of them by that times |w|_2 |x|_1 + 2 |w|_1 |x|_2. Sums over
    all n tokens or steps, in numerator and denominator and by either way: 4 n u max |x|.
    """
    u, n, s = roundoff.unit(x.dtype), len(x), torch.arange(1.0, len(x), dtype=x.dtype)
    w = torch.cat([torch.ones(1), torch.exp(-p * s) if rpe == "lin" else s**-p])
    transforms = w.norm() * x.norm(p=1) + 2 * w.norm(p=1) * x.norm()
    return u * (7 * np.log2(2 * n) * transforms + 4 * n * x.abs().max())


@BOTH
def test_a_convolution_against_the_quadratic_layer(compare, switched_on, rpe, p, way):
    n = 4096 if switched_on else 64
    attention, x = layer(rpe, p), tokens(n)
    convolved = WAYS[way](attention, n)
    compare(
        f"{rpe}-RPE attention by {way}", fast=lambda: convolved(x), slow=lambda: attention(x),
        same=lambda found, wanted: agree([found], [wanted], [rounding(rpe, p, x)]),
        against="the quadratic layer", rounds=3, n=n, p=p,
    )  # fmt: skip


LONG = tuple(2**k for k in range(10, 17))  # 1k to 64k
LAST = 8  # positions, at which the layer can be asked whatever the length


@BOTH
def test_growth_of_the_convolution(growth, switched_on, rpe, p, way):
    attention = layer(rpe, p)

    def prepare(n):
        x, convolved = tokens(n), WAYS[way](attention, n)
        return lambda: convolved(x)

    def right(n, found):
        x = tokens(n)
        agree([found[-LAST:]], [attention(x, queries=LAST)], [rounding(rpe, p, x)])

    growth(
        f"time of {rpe}-RPE attention by {way}, growth with the length", LONG if switched_on else (64,), prepare,
        right=right, of="length", at_most=1.2,
    )  # fmt: skip


TABLE = 2**17  # numbers: a megabyte, which stays in the cache


def in_pieces(attention, x):
    """The layer for a few positions at a time, so that its table of weights is never larger."""
    asked = len(x) - attention.first
    few = min(asked, max(1, TABLE // asked))
    ends = range(attention.first + few, len(x) + 1, few)
    return torch.cat([attention(x[:end], queries=few) for end in ends])


@pytest.mark.parametrize(("rpe", "p"), [("lin", 0.05), ("log", 1.5)], ids=["lin", "log"])
def test_growth_of_the_quadratic_layer(growth, switched_on, rpe, p):
    """In pieces: at once its tables leave the caches from 1k on, and at 64k one would take 34 GB."""
    attention = layer(rpe, p)

    def prepare(n):
        x = tokens(n + attention.first)
        return lambda: in_pieces(attention, x)

    def right(n, found):
        x = tokens(n + attention.first)
        agree([found], [by_fft(attention, len(x))(x)], [rounding(rpe, p, x)])

    growth(
        f"time of {rpe}-RPE attention, quadratic layer, growth with the length", LONG if switched_on else (64,),
        prepare, right=right, of="length", about=2, rounds=2, table=TABLE,
    )  # fmt: skip
