"""Equation (13) (jiang2024, Section 4.3): what the feed-forward part is trusted with.

Assumed: networks of budget m_FF come within C_FF(f) m_FF^-beta of f, for some beta > 0, as Barron's
theorem has it with beta = 1/2.

Checked: interpolation by w ReLU neurons has beta = 2 and C_FF(f) = sup |f''| / 8, certified for
waves and for x(1 - x), and measured on networks. Averages of random neurons have beta = 1/2 in the
supremum norm, for a piecewise linear wave.

Not checked: that no better networks exist; other classes of networks.

Reading: the norm is not named. Where F^ stands for F only the supremum norm will do, as an example
shows; Barron's own theorem is one in L2.
"""

import itertools
import math

import flint
import numpy as np
import pytest

from repro.bounds import chosen, exactly, rounding_error, stderr, theorem
from repro.jiang2024 import complexity, model
from repro.numerics import barron, exact, roundoff

waves = pytest.mark.parametrize("i", [1, 2, 5], ids="i={}".format)


@waves
@pytest.mark.certified
def test_error_of_an_interpolated_wave_approaches_its_bound(i, claim):
    """w = 2i, 6i, 18i, ...: at a crest it is sqrt2 (1 - cos z), z = pi i / w, and C_FF / w^2 is
    sqrt2 z^2 / 2, so that the ratio lies between 1 - z^2/12 and 1."""
    C_FF = complexity.of_wave(complexity.INTERPOLATION, i)
    for w in (2 * i * 3**k for k in range(6)):
        ratio = complexity.error_at_a_crest(i, w) * w**2 / C_FF
        z = flint.arb.pi() * i / w
        error = claim.measured("error over C_FF/w²", ratio, equation="(13)", w=w)
        error.at_most(theorem(1, "h²/8 sup |f″|"))
        error.at_least(theorem(1 - z**2 / 12, "z²/2 (1 − z²/12) ≤ 1 − cos z"))


@pytest.mark.certified
def test_a_parabola_has_exactly_the_error_of_the_bound(claim):
    """x(1 - x) in rationals: in the middle of every cell the interpolant misses it by w^-2 / 4."""
    for w in (1, 3, 8, 21):
        nodes = [flint.fmpq(k, w) for k in range(w + 1)]
        middle = [(a + b) / 2 for a, b in itertools.pairwise(nodes)]
        values = [x * (1 - x) for x in nodes]
        lines = [(a + b) / 2 for a, b in itertools.pairwise(values)]
        errors = {x * (1 - x) - line for x, line in zip(middle, lines, strict=True)}
        name, stated = "distinct errors in the middle of cells", [flint.fmpq(2, 8) / w**2]
        claim.measured(name, sorted(errors), equation="(13)", w=w).equals(stated)


def measured(i, w):
    """sup |f - f^| on a fine grid, of the ReLU layer in float64."""
    import torch

    def wave(x):
        return math.sqrt(2) * (2 * math.pi * i * x).sin()

    layer = complexity.interpolant(wave(torch.arange(w + 1).double() / w)[None])
    x = torch.linspace(0, 1, 4 * 1458 + 1, dtype=torch.float64)[:, None]
    assert layer.W_1.shape == (w, 1)
    return (layer(x) - wave(x)).abs().max().item()


@waves
@pytest.mark.construct
def test_relu_layers_have_the_error_of_the_bound(i, claim):
    ws = [2 * i * 3**k for k in range(1, claim.at_scale(smoke=5, laptop=6, paper=6))]
    for w in ws:
        error = measured(i, w)
        bound = float(complexity.of_wave(complexity.INTERPOLATION, i)) / w**2
        least = 0.999 * float(complexity.error_at_a_crest(i, w))
        # A layer adds w products of at most |turns| ~ 4 sqrt2 (2 pi i)^2 / w: below 50 i^2 in all.
        rounding = 200 * i**2 * w * roundoff.unit("float64")
        found = claim.measured("largest error found", error, equation="(13)", w=w)
        found.at_most(theorem(bound, "sup |f″|/8 w⁻²") + rounding_error(rounding, "200 i² w u"))
        found.at_least(
            theorem(least, "the error at a crest; the grid misses it by a relative 1e-3 at most")
            + rounding_error(-rounding, "200 i² w u")
        )


@pytest.mark.construct
def test_random_neurons_have_the_rate_one_half_in_the_supremum_norm(claim):
    """sqrt2 sin(2 pi x), linear between 64 knots, averages 64 neurons. m drawn ones err most
    at a knot, and on average within the bound of repro/numerics/barron.py."""
    cells = 64
    x = np.arange(cells + 1) / cells
    slopes = np.diff(math.sqrt(2) * np.sin(2 * math.pi * x)) * cells
    turns = np.diff(slopes, prepend=0.0)
    atoms = [
        (flint.fmpq(1, cells), cells * float(a), [1], -float(t))
        for a, t in zip(turns, x, strict=False)
    ]
    measure = barron.Measure.of(atoms).rebalanced()
    f = np.cumsum(np.concatenate([[0], slopes / cells]))
    draws, rng = claim.at_scale(smoke=40, laptop=200, paper=1000), claim.rng("neurons")
    a, b, c = (exact.to_float(part) for part in (measure.a, measure.b, measure.c))
    p = exact.to_float(measure.probabilities)
    second = float((p * a**2 * ((b**2).sum(-1) + c**2)).sum())
    neurons = np.maximum(x[:, None] * b[:, 0] + c, 0) * a
    means, relative, ms = [], [], (16, 64, 256, 1024)
    for m in ms:
        drawn = rng.choice(len(a), size=(draws, m), p=p / p.sum())
        errors = [abs(neurons[:, k].mean(1) - f).max() for k in drawn]
        means.append(np.mean(errors))
        relative.append(np.std(errors, ddof=1) / np.mean(errors) / math.sqrt(draws))
        allowed = barron.sampling_bound(second, 1, m, 1.0) * (1 + 3 * relative[-1])
        claim.measured("mean sup error", means[-1], equation="(13)", m=m).at_most(
            theorem(allowed, "4 sqrt(2/m) (E a²|w|²)^½ for the mean; and 3 standard errors of it")
        )
    exponent = math.log(means[-1] / means[0]) / math.log(ms[-1] / ms[0])
    error = 3 * math.hypot(relative[0], relative[-1]) / math.log(ms[-1] / ms[0])
    claim.measured("exponent of m", exponent, equation="(13)").within(
        -0.5,
        stderr(error, "3 standard errors of the draws at both ends")
        + chosen(0.03, "the smallest m is not yet asymptotic; exponents 1/4 and 1 stay outside"),
    )


def square_of_an_output_and_of_the_norm(n):
    """F = 0, and F^ is a hat of height 1 and half-width 1/n at 1/2, where every average is."""
    from fractions import Fraction

    half, eps = Fraction(1, 2), Fraction(1, n)
    output = max(1 - abs(half - half) / eps, 0)
    return output**2, 2 * eps / 3


def test_reading_with_an_L2_norm_says_nothing_about_the_outer_function(claim):
    """rho = 0 and f = 1/2: the average is always 1/2. F = 0, and F^ a hat of height 1 and width
    2 eps there: |F - F^|_2^2 = 2 eps / 3, but every output is off by 1."""
    n, half = 300, flint.fmpq(1, 2)
    eps, x = flint.fmpq(1, n), exact.rationals([[0], [1]])

    def hat(z):
        return exact.vector([max(1 - abs(v - half) / eps, flint.fmpq(0)) for v in z[..., 0]])

    target = model.Target(hat, lambda x: 0 * x + half, lambda u, v: exact.rational_zeros(2, 2))
    square = 2 * flint.fmpq_poly([1, -2, 1]).integral()(1) * eps  # 2 eps int (1 - y)^2
    claim.measured("|F − F^|² in L2", square, equation="(13)").equals(2 * eps / 3)
    claim.counterexample(
        "an output is off by no more than |F − F^| in the norm of L2",
        input={"rho": 0, "f": "1/2", "F": 0, "F^": "hat of half-width 1/n at 1/2"},
        measured=target(x)[0] ** 2, expected=square, relation="<=", equation="(37)-(39)",
        printed=False, program=square_of_an_output_and_of_the_norm, n=n,
    )  # fmt: skip


def test_control_the_root_has_only_the_rate_one_half(claim):
    """sqrt(x) on the first cell [0, h]: at h/4 the chord misses it by sqrt(h)/4, in rationals."""
    errors = {}
    for k in (2, 4, 8, 16):
        h = flint.fmpq(1, k * k)
        root = flint.fmpq(1, 2 * k)  # of h/4
        errors[k * k] = root - flint.fmpq(1, k) * (h / 4) / h
    for w in (4, 16, 64):
        ratio = errors[4 * w] / errors[w]
        claim.measured("error of 4w cells over that of w", ratio, equation="(13)", w=w).at_least(
            exactly(8 * flint.fmpq(1, 16), "1/2, where β = 2 has 1/16")
        )


def test_control_half_the_neurons_do_not_reach_the_same_bound(claim):
    """w/3 cells for w in the bound: 9 times the error, and the bound is missed by more than 8."""
    w = 54
    few = complexity.error_at_a_crest(1, w // 3)
    bound = complexity.of_wave(complexity.INTERPOLATION, 1) / w**2
    claim.measured("error of w/3 cells", few, equation="(13)", w=w).at_least(
        theorem(8 * bound, "9 (1 − z²/12), z = π/18")
    )
