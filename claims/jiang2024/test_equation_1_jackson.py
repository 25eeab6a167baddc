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

Checked, with E_m enclosed, from below by the level of an alternation, from above by the largest
error of a polynomial: (2) with this constant and the bound of (iii), for |y| y^(alpha-1) / alpha!,
y = x - 3/8, which are as rough as (2) allows, and for x^8; (ii) step by step. The former have no
faster rate than m^-alpha (control). E_m is known for x^m, 2/4^m, which pins the enclosure."""

import math

import flint
import pytest

from repro.bounds import grid_error, theorem
from repro.numerics import exact, minimax

alphas = pytest.mark.parametrize("alpha", [1, 2, 3], ids="alpha={}".format)


def rough(alpha):
    """|y| y^(alpha-1): its alpha-th derivative is +-alpha!, the lower ones are smaller."""
    power = flint.fmpq_poly([flint.fmpq(-3, 8), 1]) ** alpha
    return {(0, flint.fmpq(3, 8)): -power, (flint.fmpq(3, 8), 1): power}


def monomial(m):
    return {(0, 1): flint.fmpq_poly([0] * m + [1])}


def factor(alpha, m):
    """(iii): of sup |H^(k)|."""
    k = min(alpha, m)
    return (flint.arb.pi() / 4) ** k / math.perm(m, k)


def best(pieces, m):
    """The polynomial with m coefficients that Remez finds, in rationals, and E_m from below, for a
    function that is a polynomial on each piece, with coefficients that are floats."""
    breaks = (0.0, *(float(b.p) / float(b.q) for _, b in list(pieces)[:-1]), 1.0)
    coefficients = (exact.to_float(list(f)).tolist() for f in pieces.values())
    target = minimax.Target(breaks, tuple(map(horner, coefficients)))
    found = minimax.Best(target, *minimax.remez(target, m - 1), 0.0, 0.0)
    return found.polynomial(), abs(minimax.level(target, found.points))


def horner(coefficients):
    def value(x):
        total = 0 * x
        for c in reversed(coefficients):
            total = total * x + c
        return total

    return value


def largest(pieces, p):
    """Of |f - p| on [0, 1]: at an end of a piece, or where the derivative is 0; from above."""
    values = []
    with flint.ctx.workprec(512):
        for ends, f in pieces.items():
            error = f - p
            slope, places = error.derivative().numer(), [flint.arb(end) for end in ends]
            if slope.degree() > 0:
                turns = (z.real for z, _ in slope.complex_roots() if z.imag.contains(0))
                places += [x for x in turns if not (x < places[0] or x > places[1])]
            values += [abs(flint.arb_poly(error)(x)) for x in places]
        return max((value.upper() for value in values), key=float)


@alphas
@pytest.mark.certified
def test_rough_functions_stay_below_the_bound(alpha, claim):
    for m in (1, 2, 3, 4, 8, 16, 32):
        error = largest(rough(alpha), best(rough(alpha), m)[0]) / math.factorial(alpha)
        least = claim.measured("least error, over sup |H^(α)|", error, equation="(2)", m=m)
        least.at_most(theorem(flint.fmpq(alpha, m) ** alpha, "α^α m^−α, (iii)"))
        least.at_most(theorem(factor(alpha, m), "(iii)"))


@pytest.mark.certified
def test_a_smooth_function_stays_below_the_bound_for_every_alpha(claim):
    """x^8: C(H) = 8 ... (9 - alpha)."""
    for m in (1, 2, 4, 6):
        found = largest(monomial(8), best(monomial(8), m)[0])
        for alpha in (1, 2, 3, 5):
            claim.measured("least error", found, equation="(2)", m=m, alpha=alpha).at_most(
                theorem(factor(alpha, m) * math.perm(8, alpha), "(iii)")
            )


@alphas
@pytest.mark.certified
def test_each_derivative_gains_a_factor_of_m(alpha, claim):
    """(ii) for alpha + 1 and its derivative, which is alpha + 1 times `rough(alpha)`."""
    for m in (2, 4, 8, 16):
        error = largest(rough(alpha + 1), best(rough(alpha + 1), m)[0])
        bound = flint.arb.pi() / 4 * (alpha + 1) * best(rough(alpha), m - 1)[1] / m
        claim.measured("least error", error, equation="(2)", m=m).at_most(theorem(bound, "(ii)"))


@pytest.mark.certified
def test_the_enclosures_by_hand(claim):
    """Chebyshev: E_m(x^m) = 2/4^m. m = 1: half of what the function varies by. From y = -3/8 to 5/8
    |y| takes values from 0 to 5/8, y |y| from -9/64 to 25/64, |y| y^2 from 0 to 125/512."""
    known = [(monomial(m), m, flint.fmpq(2, 4**m)) for m in (1, 2, 4, 8)]
    halves = {1: flint.fmpq(5, 16), 2: flint.fmpq(17, 64), 3: flint.fmpq(125, 1024)}
    known += [(rough(alpha), 1, half) for alpha, half in halves.items()]
    for pieces, m, by_hand in known:
        p, below = best(pieces, m)
        missed = grid_error(flint.fmpq(1, 10**4), "1 − cos(π/256) = 7.5e-5: 128 places to a wave")
        for side, error in (("above", largest(pieces, p)), ("below", below)):
            over = claim.measured("least error over its value", error / by_hand, side=side, m=m,
                                  equation="(2)")  # fmt: skip
            over.within(1, missed)


@alphas
def test_control_one_derivative_less_breaks_the_bound(alpha, claim):
    """As if `rough(alpha)` had alpha + 1 derivatives up to alpha!: its error exceeds (iii)."""
    error = best(rough(alpha), 64)[1] / math.factorial(alpha)
    claim.measured("least error, over sup |H^(α)|", error, equation="(2)", m=64).at_least(
        theorem(factor(alpha + 1, 64), "(iii) with α + 1 for α, a bound that does not hold")
    )
