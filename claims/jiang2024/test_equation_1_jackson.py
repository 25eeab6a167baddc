"""Equations (1)-(2) (jiang2024, Section 3): the example that the paper's rate is modelled on.

(1) says what a rate of Jackson's kind is. (2) is the example, Jackson's theorem on [0, 1]: for H
with alpha derivatives the best polynomial with m coefficients is off by at most
c_alpha m^-alpha C(H), C(H) = max_{r = 1, ..., alpha} sup |H^(r)|; c_alpha depends on alpha alone.

Proof, with c_alpha = alpha^alpha. E_m(H) is the least error with m coefficients, E_0(H) = sup |H|.
   (i)  Favard; Akhiezer and Krein 1937 (quoted): if H has the Lipschitz constant L on [0, 1], then
        E_m(H) <= (pi/4) L / m for m >= 1.
  (ii)  E_m(H) <= (pi/4) E_{m-1}(H') / m: subtract an integral of the best polynomial for H', which
        leaves a function with the Lipschitz constant E_{m-1}(H').
 (iii)  k = min(alpha, m) times: E_m(H) <= (pi/4)^k sup |H^(k)| / (m (m-1) ... (m-k+1)). For
        m >= alpha the product is at least m^alpha alpha! / alpha^alpha, since
        (m-j)/m >= (alpha-j)/alpha. For m < alpha it is m! >= 1, and 1 <= alpha^alpha m^-alpha. QED

Checked, with certified enclosures of E_m (repro/numerics/minimax.py): (2) with this constant and
the bound of (iii), for |y| y^(alpha-1) / alpha!, y = x - 3/8, which are as rough as (2) allows, for
exp x and for sin 5x; (ii) step by step. The former have no faster rate than m^-alpha (control).
"""

import math

import flint
import pytest

from repro.bounds import rounding_error, theorem
from repro.numerics import minimax

alphas = pytest.mark.parametrize("alpha", [1, 2, 3], ids="alpha={}".format)


def rough(alpha):
    """|y| y^(alpha-1) / alpha!: its alpha-th derivative is +-1, the lower ones are at most 1."""
    size = math.factorial(alpha)

    def branch(sign):
        return lambda x: sign * (x - 0.375) ** alpha / size

    return minimax.Target((0.0, 0.375, 1.0), (branch(-1), branch(1)))


def factor(alpha, m):
    """(iii): of sup |H^(k)|."""
    k = min(alpha, m)
    return (flint.arb.pi() / 4) ** k / math.perm(m, k)


@alphas
@pytest.mark.certified
def test_rough_functions_stay_below_the_bound(alpha, claim):
    for m in (1, 2, 3, 4, 8, 16, 32):
        error = minimax.best(rough(alpha), m - 1).upper
        least = claim.measured("least error", error, equation="(2)", m=m)
        least.at_most(theorem(flint.fmpq(alpha, m) ** alpha, "α^α m^−α, (iii)"))
        least.at_most(theorem(factor(alpha, m), "(iii)"))


@pytest.mark.certified
def test_smooth_functions_stay_below_the_bound_for_every_alpha(claim):
    """C(H) = e for exp, and 5^alpha for sin 5x."""
    import numpy as np

    for name, branch, size in (
        ("exp x", np.exp, lambda alpha: flint.arb(1).exp()),
        ("sin 5x", lambda x: np.sin(5 * x), lambda alpha: flint.arb(5) ** alpha),
    ):
        for m in (1, 2, 4, 6):
            found = minimax.best(minimax.Target((0.0, 1.0), (branch,)), m - 1).upper
            for alpha in (1, 2, 3, 5):
                at = {"equation": "(2)", "H": name, "m": m, "alpha": alpha}
                claim.measured("least error", found, **at).at_most(
                    theorem(factor(alpha, m) * size(alpha), "(iii)")
                )


@alphas
@pytest.mark.certified
def test_each_derivative_gains_a_factor_of_m(alpha, claim):
    """(ii) for alpha + 1 and its derivative, which is `rough(alpha)`."""
    for m in (2, 4, 8, 16):
        error = minimax.best(rough(alpha + 1), m - 1).upper
        of_derivative = minimax.best(rough(alpha), m - 2).lower
        bound = flint.arb.pi() / 4 * flint.arb(of_derivative) / m
        claim.measured("least error", error, equation="(2)", m=m).at_most(theorem(bound, "(ii)"))


@pytest.mark.certified
def test_the_best_constants_by_hand(claim):
    """m = 1: half of what the function varies by. From -3/8 to 5/8 |y| takes values from 0 to 5/8,
    y |y| / 2 from -9/128 to 25/128, |y| y^2 / 6 from 0 to 125/3072."""
    for alpha, half in ((1, (5, 16)), (2, (17, 128)), (3, (125, 6144))):
        error = minimax.best(rough(alpha), 0).lower * half[1] / half[0]
        name = "least error, from below, over half of the range"
        claim.measured(name, error, equation="(2)", alpha=alpha, m=1).within(
            1, rounding_error(1e-14, "a difference of two exact values, to the next float")
        )


@alphas
def test_control_one_derivative_less_breaks_the_bound(alpha, claim):
    """As if `rough(alpha)` had alpha + 1 derivatives up to 1: its error exceeds (iii) for those."""
    error = minimax.best(rough(alpha), 63).lower
    claim.measured("least error", error, equation="(2)", m=64).at_least(
        theorem(factor(alpha + 1, 64), "(iii) with α + 1 for α, a bound that does not hold")
    )
