"""Section D.3 (jiang2024, example for Section 6.2): mixing raises a rank.

The coupling 1 + 2 sin(2 pi x_1) sin(2 pi x_2) on [0,1]^2 has rank 2 with both singular values 1.
After (x_1, x_2) -> (x_1, x_1 + x_2) its rank is 3, with singular values estimated as 1.265, 0.5,
0.4.

Checked: both spectra in closed form (repro/jiang2024/mixing.py), as roots of rational polynomials:
(sqrt 11 + sqrt 3)/4, 1/2, (sqrt 11 - sqrt 3)/4, that is 1.2622, 0.5000, 0.3961. The expansion
behind them, in balls; independently, the singular values of the sampled matrix.

Misprint: 1.265 for 1.262. A grid of 256 points with both ends of [0, 1], where two points are one,
gives the printed value. Misprint: (x_1, x) for x_1 + x_2 in (101).

Not checked: other representations of the same target; the paper leaves them open as well, and
finding-rank-one-degeneracy has one of rank 1 if positions are encoded.
"""

from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.bounds import as_printed, rounding_error, theorem
from repro.jiang2024 import mixing

PRINTED = ("1.265", "0.5", "0.4")  # D.3, after (101)


def spectrum(A):
    return mixing.singular_values(A, mixing.HARMONICS, mixing.HARMONICS)


def closed_form():
    eleven, three = flint.arb(11).sqrt(), flint.arb(3).sqrt()
    return [(eleven + three) / 4, flint.arb(1) / 2, (eleven - three) / 4]


@pytest.mark.exact
def test_rank_two_with_both_values_one_before(claim):
    x = flint.fmpq_poly([0, 1])
    found = mixing.squares(mixing.ORIGINAL, mixing.HARMONICS, mixing.HARMONICS)
    claim.measured("polynomial of the squares", found, equation="(100)").equals(x * (x - 1) ** 2)
    claim.measured("rank", len(spectrum(mixing.ORIGINAL)), equation="(100)").equals(2)


@pytest.mark.exact
def test_rank_three_in_closed_form_after(claim):
    """(x - 1/4)(x^2 - 7x/4 + 1/4): its roots are 1/4 and (7 +- sqrt 33)/8."""
    found = mixing.squares(mixing.MIXED, mixing.HARMONICS, mixing.HARMONICS)
    quarter = flint.fmpq(1, 4)
    stated = flint.fmpq_poly([-quarter, 1]) * flint.fmpq_poly([quarter, -7 * quarter, 1])
    claim.measured("polynomial of the squares", found, equation="(101)").equals(stated)
    sigma = spectrum(mixing.MIXED)
    claim.measured("rank", len(sigma), equation="(101)").equals(3)
    for i, (value, exact) in enumerate(zip(sigma, closed_form(), strict=True), start=1):
        same = bool(value.overlaps(exact))
        claim.measured("σ_i is the closed form", same, equation="(101)", i=i).equals(True)


@pytest.mark.certified
def test_four_digits_and_more_beside_the_printed_ones(claim):
    ours = ("1.2622", "0.5000", "0.3961")
    rows = zip(spectrum(mixing.MIXED), ours, PRINTED, strict=True)
    for i, (value, digits, printed) in enumerate(rows, start=1):
        digit = as_printed(0.0005 if i == 1 else 0.05, "half a unit of the last printed digit")
        at = {"paper": float(printed), "ours": float(value), "tolerance": digit}
        claim.cell(f"σ_{i}", "after the mixing", **at)
        half = as_printed(Fraction(1, 20000), "half a unit of the fourth digit, in balls")
        claim.measured("σ_i", value, equation="(101)", i=i).within(Fraction(digits), half)
        claim.measured("radius of σ_i", float(value.rad()), equation="(101)", i=i).at_most(
            theorem(1e-12, "far below half a unit of the fourth digit")
        )


@pytest.mark.construct
def test_the_expansion_behind_the_matrix(claim):
    """1 + 2 sin a sin(a + b) = 1 + cos b - cos 2a cos b + sin 2a sin b, at rationals, in balls."""
    count = claim.at_scale(smoke=20, laptop=200, paper=200)
    draws = claim.rng("points").integers(0, 1000, (count, 2)).tolist()
    for equation, function, A, twice in (
        ("(100)", mixing.original, mixing.ORIGINAL, 1),
        ("(101)", mixing.mixed, mixing.MIXED, 2),
    ):
        worst = max((off(function, A, twice, *pair) for pair in draws), key=float).upper()
        claim.measured("largest |ρ − Σ A_ij e_i e_j|", worst, equation=equation).at_most(
            rounding_error(flint.arb(1e-13), "balls of 53 bits around numbers of size 3")
        )


def off(function, A, twice, i, j):
    """Their distance at (i/1000, j/1000)."""
    alpha, beta = (2 * flint.arb.pi() * flint.fmpq(k, 1000) for k in (i, j))
    rows, columns = ([1, angle.cos(), angle.sin()] for angle in (twice * alpha, beta))
    expansion = sum(A[a][b] * rows[a] * columns[b] for a in range(3) for b in range(3))
    return abs(function(alpha, beta) - expansion)


@pytest.mark.parametrize("N", [5, 8, 64], ids="N={}".format)
@pytest.mark.construct
def test_the_sampled_matrix_has_the_same_spectrum(N, claim):
    """On i/N, N >= 5, the trapezoidal rule integrates products of these harmonics exactly."""
    found = mixing.sampled(mixing.mixed, np.arange(N) / N)
    u = 2**-53
    # 2 pi x and a + b are off by 4u and 5u times 4 pi at most, so an entry by 2 (50 + 63 + 6) u.
    why = "Weyl; entries off by 240u, and 32 N u times 3 for the decomposition"
    rounded = rounding_error((240 + 96 * N) * u, why)
    for i, exact in enumerate(closed_form()):
        claim.measured("σ_i", found[i], equation="(101)", i=i + 1).within(float(exact), rounded)
    claim.measured("σ_i", found[3:].max(), equation="(101)", i=4).at_most(rounded)


def squares(least):
    """More than sigma_1^2 = (7 + sqrt 33)/8, a root of x^2 - 7x/4 + 1/4; and least^2."""
    from fractions import Fraction

    root = Fraction("5.745")
    assert root**2 > 33
    return (7 + root) / 8, Fraction(least) ** 2


def test_printed_first_singular_value(claim):
    claim.counterexample(
        "sigma_1 = 1.265 to its last digit",
        input={"rho": "1 + 2 sin(2 pi x_1) sin(2 pi (x_1 + x_2))", "printed": PRINTED[0]},
        measured=spectrum(mixing.MIXED)[0], expected=Fraction("1.2645"), relation=">=",
        equation="after (101)", program=squares, least="1.2645",
    )  # fmt: skip


@pytest.mark.construct
def test_where_the_printed_value_may_come_from(claim):
    """x_i = i/(N - 1), i = 0, ..., N - 1, and the matrix divided by N: 0 and 1 count twice."""
    sizes = (32, 64, 128, 256, 512)
    found = {N: mixing.sampled(mixing.mixed, np.linspace(0, 1, N)) for N in sizes}
    for N, values in found.items():
        claim.record("σ", values[:3].tolist(), N=N)
    for i, (value, printed) in enumerate(zip(found[256], PRINTED, strict=False), start=1):
        unit = 0.0005 if i == 1 else 0.05
        claim.measured("σ_i with both ends", value, equation="after (101)", N=256, i=i).within(
            float(printed), as_printed(unit, "half a unit of the last printed digit")
        )


def test_control_without_mixing_there_is_no_third_value(claim):
    found = mixing.sampled(mixing.original, np.arange(8) / 8)
    distance = abs(found[2] - float(closed_form()[2]))
    claim.measured(
        "distance of σ_3 from its value after the mixing", distance, equation="(100)"
    ).at_least(theorem(0.39, "σ_3 = 0 without the mixing, (√11 − √3)/4 with it"))


def test_control_without_the_constant_the_values_are_equal(claim):
    """2 sin a sin(a + b) alone: A without its 1 has sigma = sqrt 3 / 2, 1/2 and rank 2."""
    A = [[0, 1, 0], [0, -1, 0], [0, 0, 1]]
    sigma = spectrum(A)
    claim.measured("rank", len(sigma), equation="(101)").equals(2)
    claim.measured("σ_1 lost", closed_form()[0] - sigma[0], equation="(101)").at_least(
        theorem(flint.fmpq(39, 100), "σ_1² = 3/4")
    )
    contained = bool((sigma[0] ** 2).contains(flint.fmpq(3, 4)))
    claim.measured("the ball of σ_1² contains 3/4", contained, equation="(101)").equals(True)


def test_control_a_grid_too_coarse(claim):
    """N = 4 cannot tell cos(4 pi x) from a constant."""
    found = mixing.sampled(mixing.mixed, np.arange(4) / 4)
    worst = np.abs(found[:3] - [float(v) for v in closed_form()]).max()
    claim.measured("largest error of a σ_i", worst, equation="(101)", N=4).at_least(
        theorem(0.39, "sin(4 pi x) vanishes on the grid, so that σ_3 = 0")
    )
