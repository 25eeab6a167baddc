"""Corollary 3.7 (fang2022, Section 3): continuous functions on the cube are limits of such models.

For a continuous f on [0, 1]^d there are models C^q with q blocks and more and more free parameters
such that max |C^q - f| on [0, 1]^d tends to 0 as q grows.

The proof, for every continuous f and with a rate for Lipschitz ones, stands in
repro/fang2022/approximation.py: Weierstrass' theorem and Theorem 3.5 with B = sqrt(d).

Checked: the step that is special to this paper, C^q = Q on the cube, is Theorem 3.5, checked there.
Here it is seen at work: the error of the model with q blocks, in rationals and in float64, for a
kink, Runge's function, a smooth function and a function of two variables, against the best
polynomial of degree q, certified from both sides: no readout of the blocks of Theorem 3.5 can be
better. The errors fall as approximation theory predicts, and in float64 until the predicted
round-off passes them. Controls: the number of blocks stays 8; f has a jump.

Not checked: more than two variables in numbers. Neither attention nor many blocks are needed for
density: one block with W^V = 0 is a shallow ReLU network, and it equals the kink exactly.

Readings: q, fixed in the first line, is what tends to infinity. We also use [-1, 1], because
float64 gets twice as far there as on [0, 1].
"""

import itertools
import math

import pytest

from repro.bounds import as_printed, chosen, grid_error, rounding_error, theorem
from repro.fang2022 import approximation, model, multiplication, pictures
from repro.numerics import exact, rates, roundoff

NAMES = ["kink", "Runge", "smooth"]
names = pytest.mark.parametrize("name", NAMES)
BERNSTEIN = 0.2801694990  # lim 2n E_2n(|x|): Varga and Carpenter, Constr. Approx. 1 (1985)
ERROR = "largest error"
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
    missed = "what a grid of 128 points per alternation can miss of a maximum"
    return grid_error(found.lower / math.cos(math.pi / 256), missed)


@names
@pytest.mark.parametrize("q", [8, 16, 32], ids="q={}".format)
@pytest.mark.best_in_class
def test_the_best_error_is_enclosed(name, q, claim):
    """Remez's exchange, both bounds in balls; Runge's E_q and the limit for the kink are known."""
    E_q = "E_q(f) = min over p of max |f − p|"
    lower = claim.measured("lower bound on the best error", best(name, q).lower, equation=E_q)
    upper = claim.measured("upper bound on the best error", best(name, q).upper, equation=E_q)
    close = "2 % pin E_q down; Taylor's formula on cells of half-width π/(32(q+9)) loses about 1 %"
    upper.at_most(chosen(1.02 * lower.value, close))
    if name == "Runge":
        known = theorem(approximation.runge_error(q), "(25/52) ρ^−q, Chebyshev's closed form")
        lower.at_most(known)
        upper.at_least(known)
    if name == "kink":
        twice = chosen(0.352 / q**2, "twice the next term of Varga and Carpenter's, −0.176/q²")
        limit = claim.measured("q E_q", q * lower.value, equation="q E_q(|x|) → 0.2802")
        limit.within(BERNSTEIN, twice)


@names
@pytest.mark.construct
def test_in_rationals_the_model_has_the_error_of_the_best_polynomial(name, claim):
    attained = "|f − p| is E_q at these points, up to 1 % for float64 coefficients"
    for q in degrees(claim, "rationals"):
        found = error_in_rationals(name, q)
        error = claim.measured(ERROR, found, equation="max |C^q − f| = E_q", q=q)
        error.at_least(theorem(0.99 * best(name, q).lower, attained))
        error.at_most(largest_error_allowed(name, q))


@pytest.mark.construct
def test_rate_the_kink_like_one_over_q_and_runge_geometrically(claim):
    qs = [q for q in degrees(claim, "rationals") if q in (4, 8, 16, 32, 64)]
    fit = rates.slope(qs, [error_in_rationals("kink", q) for q in qs], correction=2)
    claim.record("interval of the fit", [fit.low, fit.high])
    nearest = chosen(0.25, "half of the way to q^−1.5 and q^−0.5")
    slope = claim.measured("exponent of the kink's error", fit.slope, equation="error ~ 1/q")
    slope.within(-1, nearest)

    first, last = (error_in_rationals("Runge", q) for q in (8, 32))
    ratio, rho = (last / first) ** (1 / 24), approximation.RHO
    both = theorem((1.02 ** (1 / 24) - 1) / rho, "E_q = (25/52) ρ^−q, each error within 2 % of it")
    per_degree = claim.measured("ratio of Runge's errors per degree", ratio, equation="E_q ~ ρ^−q")
    per_degree.within(1 / rho, both)

    smooth = [error_in_rationals("smooth", q) for q in (8, 16, 24, 32)]
    ratios = [after / before for before, after in itertools.pairwise(smooth)]
    for before, after in itertools.pairwise(ratios):
        entire = theorem(before, "the ratio before; for an entire f errors fall ever faster")
        name = "ratio of the smooth function's errors over 8 degrees"
        claim.measured(name, after, equation="E_q^(1/q) → 0").at_most(entire)


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

    seen = [m.rounding / m.estimate for q, m in zip(qs, found, strict=True) if q >= 4]
    low, high = (chosen(f, "a factor 5 of round-off is one or two degrees") for f in (0.2, 5))
    law = "round-off ≈ u Σ|c|"
    claim.measured("largest round-off over u Σ|c|", max(seen), equation=law).at_most(high)
    claim.measured("least round-off over u Σ|c|", min(seen), equation=law).at_least(low)
    lower = [best(name, q).lower for q in qs]
    predicted = next(i for i, m in enumerate(found) if m.estimate > lower[i])
    ended = next(i for i, m in enumerate(found) if m.rounding > lower[i])
    least = min(range(len(qs)), key=lambda i: found[i].error)
    claim.record("degree at which float64 is predicted to end", qs[predicted])
    claim.record("least error in float64", found[least].error)
    claim.record("degree of the least error in float64", qs[least])
    step = chosen(1, "one step of q: round-off grows by a factor 2.4 or 5.8 per degree")
    name = "where float64 ends, as an index into the degrees"
    claim.measured(name, ended, equation="u Σ|c| = E_q").within(predicted, step)


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
    least = theorem(0.99 * floor, "no polynomial of degree 8 is nearer, certified; 1 % for float64")
    claim.measured(ERROR, error_in_rationals(name, 8), equation="|C^8 − f| ≥ E_8").at_least(least)
    claim.measured("least error of 8 blocks", floor, equation="E_8 > |C^32 − f|").at_least(
        chosen(
            3.5 * error_in_rationals(name, 32),
            "errors like 1/q fall by 4 from q = 8 to q = 32, faster ones by more",
        )
    )


@pytest.mark.parametrize("q", [8, 16, 32], ids="q={}".format)
def test_control_a_jump_is_never_approximated(q, claim):
    """f = sign(2x - 1) is not continuous: one of its two limits at 1/2 is at least 1 away."""
    error = approximation.error_at_the_jump(q)
    least = theorem(1, "half the jump, for every continuous C^q")
    claim.measured("largest error at the jump", error, equation="C^q(1/2)").at_least(least)
