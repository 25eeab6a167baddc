"""Corollary 3.7 (fang2022, Section 3): continuous functions on the cube are limits of such models.

For a continuous f on [0, 1]^d there are models C^q with q blocks and more and more free parameters
such that max |C^q - f| on [0, 1]^d tends to 0 as q grows.

The proof, for every continuous f and with a rate for Lipschitz ones, stands in
repro/fang2022/approximation.py: Weierstrass' theorem and Theorem 3.5 with B = sqrt(d).

Checked: the step that is special to this paper, C^q = Q on the cube, is Theorem 3.5, checked there.
Here it is seen at work: the error of the model with q blocks, in rationals and in float64, for a
kink, Runge's function, a smooth function and a function of two variables, against the best
polynomial of degree q, certified from both sides: no readout of the blocks of Theorem 3.5 can be
better. The errors have the rates and constants of approximation theory, and in float64 they end
where round-off, within its derived bound, passes them. Controls: the number of blocks stays 8; f
has a jump.

Not checked: more than two variables in numbers. Neither attention nor many blocks are needed for
density: one block with W^V = 0 is a shallow ReLU network, and it equals the kink exactly.

Readings: q, fixed in the first line, is what tends to infinity. We also use [-1, 1], because
float64 gets twice as far there as on [0, 1].
"""

import itertools
import math

import pytest

from repro.bounds import as_printed, grid_error, rounding_error, theorem
from repro.fang2022 import (
    approximation,
    model,
    multiplication,
    pictures,
    polynomials,
    powers,
    tower,
)
from repro.numerics import exact, roundoff

NAMES = ["kink", "Runge", "smooth"]
names = pytest.mark.parametrize("name", NAMES)
BERNSTEIN = 0.2801694990  # lim 2n E_2n(|x|): Varga and Carpenter, Constr. Approx. 1 (1985)
ERROR = "largest error"
MISSED = "what a grid of 128 points per alternation can miss of a maximum: 1 − cos(π/256)"
DEGREES = {  # of the models, at smoke scale and above it
    "rationals": ((1, 2, 4, 8, 16, 24, 32), (1, 2, 4, *range(8, 65, 8))),
    "[0, 1]": ((1, 2, *range(4, 25, 4)), (1, *range(2, 29, 2))),
    "[-1, 1]": ((16, 32, 40, 48), (*range(4, 36, 4), *range(36, 53, 2))),
    "plane": ((1, 2, 4, 6, 8), (1, *range(2, 13, 2))),
}


def degrees(claim, where):
    return DEGREES[where][claim.scale != "smoke"]


def best(name, q):
    return approximation.approximant(approximation.EXAMPLES[name].target, q)


def error_in_rationals(name, q):
    return approximation.error_in_rationals(approximation.EXAMPLES[name].target, q)


def largest_error_allowed(name, q):
    """Of max |f - p| for the best polynomial p: a proof, or what Remez's grid can miss."""
    found = best(name, q)
    if found.upper is not None:
        return theorem(found.upper, "the proved bound on |f − p|")
    return grid_error(found.lower / math.cos(math.pi / 256), MISSED)


KNOWN = {  # E_q by hand, worked out in the next test
    ("Runge", 8): 0.0980881439,
    ("Runge", 16): 0.0200122707,
    ("Runge", 32): 0.000833021234,
    ("kink", 8): 0.03468964,
    ("kink", 16): 0.01746805,
    ("kink", 32): 0.00874994,
}


@pytest.mark.parametrize(("name", "q"), KNOWN, ids="{}".format)
@pytest.mark.best_in_class
def test_the_best_error_is_the_known_one(name, q, claim):
    """Runge: (25/52) ρ^-q, ρ = (1 + 26^(1/2))/5 = 1.2198039, so ρ^8 = 4.9013992, E_8 = 0.0980881.
    Kink: q E_q = 0.2801694990 - 0.1758701/q² + 0.4225147/q⁴ - 2.000219/q⁶, by Varga and Carpenter
    (for n = q/2): 0.2801695 - 0.0027480 + 0.0001032 - 0.0000076 = 0.2775171 for q = 8.
    """
    E_q = "E_q(f) = min over p of max |f − p|"
    digits = {"Runge": 1e-9 * KNOWN[name, q], "kink": 1e-8 + 16 / q**9}[name]
    lower = claim.measured("lower bound on the best error", best(name, q).lower, equation=E_q)
    upper = claim.measured("upper bound on the best error", best(name, q).upper, equation=E_q)
    printed = as_printed(digits, "ten digits, or four terms: the fifth is 15.1/q^8")
    missed = grid_error(7.6e-5 * KNOWN[name, q], MISSED)
    lower.within(KNOWN[name, q], printed + missed)
    lower.at_most(theorem(KNOWN[name, q], "E_q itself") + printed)
    upper.at_least(theorem(KNOWN[name, q] - digits, "E_q itself, less its digits"))
    if name == "Runge":
        closed = claim.measured("closed form", approximation.runge_error(q), equation="(25/52)ρ^−q")
        closed.within(KNOWN[name, q], printed)


@names
@pytest.mark.construct
def test_in_rationals_the_model_has_the_error_of_the_best_polynomial(name, claim):
    """Within 1e-9, where Remez's exchange stops, and the round-off of its float64 values of f."""
    for q in degrees(claim, "rationals"):
        found, lower = error_in_rationals(name, q), best(name, q).lower
        error = claim.measured(ERROR, found, equation="max |C^q − f| = E_q", q=q)
        stops = "minimax.remez: a gap of 1e-9, 8u max |f| of noise, f ≤ e"
        error.within(lower, rounding_error(1e-9 * lower + 8 * math.e * 2.0**-53, stops))


@pytest.mark.construct
def test_rate_the_kink_like_one_over_q_and_runge_geometrically(claim):
    """With the constants: q E_q → 0.28017, the next term is -0.1759/q²; E_q ρ^q = 25/52."""
    for q in (q for q in degrees(claim, "rationals") if q in (4, 8, 16, 32, 64)):
        limit = claim.measured("q E_q", q * error_in_rationals("kink", q), equation="0.28017", q=q)
        term = as_printed(0.17588 / q**2, "the next term of Varga and Carpenter, −0.17587/q²")
        limit.within(BERNSTEIN, term + grid_error(7.6e-5 * BERNSTEIN, MISSED))
    for q in (8, 16, 24, 32):
        law = {"equation": "E_q ρ^q = 25/52", "q": q}
        constant = claim.measured(
            "E_q ρ^q", error_in_rationals("Runge", q) * 1.2198039027**q, **law
        )
        constant.within(25 / 52, grid_error(7.6e-5, MISSED))

    smooth = [error_in_rationals("smooth", q) for q in (8, 16, 24, 32)]
    ratios = [after / before for before, after in itertools.pairwise(smooth)]
    for before, after in itertools.pairwise(ratios):
        entire = theorem(before, "the ratio before; for an entire f errors fall ever faster")
        name = "ratio of the smooth function's errors over 8 degrees"
        claim.measured(name, after, equation="E_q^(1/q) → 0").at_most(entire)


@pytest.mark.exact
def test_the_bound_on_the_round_off_at_a_point_worked_out_by_hand(claim):
    """Q = x_2² + 3x_2 + 7, B = 2: all on ξ_1 = (0, 1). In units of u, |β| B^s = 6 and 4; t is off
    by 3 (ξ rounded, two products added), t² by 6; slot s by 4.25s: 6 (4.25 + 3) + 4 (8.5 + 6).
    Then n q = 6 terms and b are added, each β rounded and multiplied: 8 (6 + 4 + 7) = 136.
    In one variable Q = x² has t exact, 8.5, and 2 + 2 for β and the sum: 12.5.
    """
    two = polynomials.Polynomial(2, {(0, 2): 1, (0, 1): 3, (0, 0): 7})
    for Q, B, units in ((two, 2, 237.5), (polynomials.Polynomial(1, {(2,): 1}), 1, 12.5)):
        bound = tower.output_bound(powers.construction(Q, B), B, "float32") / 2.0**-24
        found = claim.measured("bound over u", bound, equation="tower.output_bound", d=Q.d)
        found.within(units * (1 + 2**-10), rounding_error(1e-3, "terms of second order"))


@names
@pytest.mark.parametrize("cube", ["[0, 1]", "[-1, 1]"])
@pytest.mark.construct
def test_float64_follows_until_round_off_passes_the_best_error(name, cube, claim):
    qs, target = degrees(claim, cube), approximation.EXAMPLES[name].target
    found = [approximation.in_float64(target, q, cube, str(claim.device)) for q in qs]
    upper = [largest_error_allowed(name, q).value for q in qs]
    few = 16 * math.e * roundoff.unit("float64")  # f <= e, a few roundings
    errors = [m.error / (E + m.bound + few) for m, E in zip(found, upper, strict=True)]
    bound = rounding_error(1, "tower.output_bound, derived there, beside |f − p|; 16u for f")
    claim.measured("error over its bound", max(errors), equation="|C^q − f|").at_most(bound)
    worst = max(m.rounding / m.bound for m in found)
    claim.measured("round-off over its bound", worst, equation="|C^q − f|").at_most(bound)

    least, degree = min((m.error, q) for m, q in zip(found, qs, strict=True))
    claim.record("least error in float64", least)
    claim.record("degree of the least error in float64", degree)
    passed = claim.measured("round-off", found[-1].rounding, equation="|C^q − Q|", q=qs[-1])
    passed.at_least(theorem(upper[-1], "the error of the best polynomial: round-off passes it"))


def plane_cells(claim):
    return claim.at_scale(smoke=32, laptop=48, paper=64)


@pytest.mark.best_in_class
def test_two_variables_reach_the_best_polynomial_of_the_grid(claim):
    """n = q + 1 directions; the linear program's points give the certificate, in exact numbers."""
    cells, u = plane_cells(claim), roundoff.unit("float64")
    for q in degrees(claim, "plane"):
        lower = approximation.plane_approximant(q, cells).lower
        found = approximation.plane_float64(q, cells, str(claim.device))
        near = theorem(1.02 * (1 + 1e-6) * lower, "the exchange stops within 2 % of its bound")
        rounding = rounding_error(found.bound, "tower.output_bound, derived there")
        error = claim.measured("largest error on the grid", found.error, equation="|C^q − f|", q=q)
        error.at_most(near + rounding + rounding_error(16 * u, "f itself"))
        exact_error = approximation.plane_error_in_rationals(q, cells)
        attained = "|f − p| is E_q of the grid there, up to the program's tolerance 1e-6; 16u for f"
        claim.measured(
            "largest error in rationals", exact_error, equation="max |C^q − f| = E_q", q=q
        ).within(lower, theorem(1e-6 * lower + 16 * u, attained))


@pytest.mark.construct
def test_one_block_without_attention_is_the_kink(claim):
    """|2x - 1| = 4 relu(x - 1/2) - 2x + 1, and slot 1 holds relu(t - 1/2), row 0 holds t = x.

    So the error above is the least for the blocks of Theorem 3.5, not for all models of q blocks.
    """
    rows = model.Layout(1, 1)
    block = multiplication.identity(rows)
    block.W_1[0, 0], block.W_1[0, rows.one], block.W_2[rows.slot(1), 0] = (
        1,
        exact.rational("-1/2"),
        1,
    )
    beta = rows.readout([0, rows.slot(1)], exact.rationals([[-2, 4]]))
    one = model.Transformer(exact.rationals([[1]]), (block,), beta, exact.rational(1))
    x = exact.rationals(claim.rng("kink").integers(0, 1000, (200, 1)).tolist()) / 999
    error = max(abs(one(x) - abs(2 * x[:, 0] - 1)))
    claim.measured(ERROR, error, equation="|C(x) − |2x − 1||", blocks=1).equals(0)


@pytest.mark.exact
def test_jacksons_bound_at_two_points_worked_out_by_hand(claim):
    """One variable, q = 3, r = 1, L = 2: pi/4. Two, q = 4, r = 1/2, L = 1 and 3: pi^2/4."""
    by_hand = {"π/4": ((3, 1, 2), 0.785398), "π²/4": ((4, 0.5, 1, 3), 2.467401)}
    for value, (of, expected) in by_hand.items():
        found = claim.measured("Jackson's bound", approximation.jackson_bound(*of), equation=value)
        found.within(expected, as_printed(5e-7, "six decimals, worked out by hand"))


@pytest.mark.construct
def test_all_errors_lie_below_jacksons_bound(claim):
    device, qs = str(claim.device), {where: degrees(claim, where) for where in DEGREES}
    curves = {name: approximation.curves(name, qs, device) for name in NAMES}
    curves["two variables"] = approximation.plane_curves(qs["plane"], plane_cells(claim), device)
    for name, found in curves.items():
        bound = dict(found["jackson"])
        worst = max(error / bound[q] for q, error in found["rationals"])
        claim.measured(
            "largest error over Jackson's bound", worst, equation="Corollary 3.7", f=name
        ).at_most(theorem(1, "Jackson's inequality, see repro/fang2022/approximation.py"))

    def ends(name):
        (first, high), *_, (last, low) = curves[name]["rationals"]
        return f"{name} from {high:.2g} at q = {first} to {low:.2g} at q = {last}"

    def least(name, cube):
        q, error = min(curves[name][f"float64 {cube}"], key=lambda point: point[1])
        return f"{error:.2g} at q = {q}"

    small, large = (
        ", ".join(least(name, cube) for name in NAMES) for cube in ("[0, 1]", "[-1, 1]")
    )
    claim.figure(
        pictures.convergence(curves),
        "convergence",
        caption="In rationals the model has the least error of any polynomial of degree q, the "
        "least that the blocks of Theorem 3.5 can have. In float64 round-off stops it, the sooner "
        "the larger the coefficients: on [0, 1] at half the degree of [−1, 1]. The functions: "
        "|2x − 1|, 1/(1 + 25(2x − 1)²), exp(sin 3(2x − 1)), and exp(xy − x² − 2y²) cos(2x + y). "
        "The coefficients of the best polynomial stand in the weights of Theorem 3.5.",
        alt="Largest error against degree, four panels, errors logarithmic. In rationals the model "
        f"has the error of the best polynomial: {'; '.join(map(ends, curves))}. In float64 the "
        f"least errors on [0, 1] are {small}, on [−1, 1] {large}; beyond, they grow.",
    )


@names
def test_control_with_eight_blocks_the_error_stays(name, claim):
    """With 8 blocks every model is a polynomial of degree 8 at most."""
    floor = best(name, 8).lower
    least = theorem(
        (1 - 1e-9) * floor, "no polynomial of degree 8 is nearer; 1e-9 for its float64 points"
    )
    claim.measured(ERROR, error_in_rationals(name, 8), equation="|C^8 − f| ≥ E_8").at_least(least)
    below = claim.measured("least error of 8 blocks", floor, equation="E_8 > |C^32 − f|")
    below.at_least(largest_error_allowed(name, 32))


@pytest.mark.parametrize("q", [8, 16, 32], ids="q={}".format)
def test_control_a_jump_is_never_approximated(q, claim):
    """f = sign(2x - 1) is not continuous: one of its two limits at 1/2 is at least 1 away."""
    error = approximation.error_at_the_jump(q)
    least = theorem(1, "half the jump, for every continuous C^q")
    claim.measured("largest error at the jump", error, equation="C^q(1/2)").at_least(least)
