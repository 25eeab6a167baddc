"""Corollary 3.7 (fang2022, Section 3): continuous functions on the cube are limits of such models.

For a continuous f on [0, 1]^d there are models C^q with q blocks and more and more free parameters
such that max |C^q - f| on [0, 1]^d tends to 0 as q grows.

Checked: the error of the model of Theorem 3.5 with q blocks, in rationals and in float64, for a
kink, Runge's function, a smooth one, and one of two variables, against the best polynomial of
degree q: certified from below, since no model with these blocks can be better, and from above. The
errors fall as the theory of approximation has it: like 1/q, like 0.8198^q (closed form), faster
than geometrically, and below Jackson's bound. In float64 they end where the predicted round-off
passes them, on [0, 1] near q = 21; in rationals they do not end.
Controls: the number of blocks stays 8; f has a jump.

Not checked: all continuous f, and the limit itself (finite computation illustrates a limit); more
than two variables. The proof, with a rate, is in repro/fang2022/approximation.py.

Readings: q, fixed in the first line, is what tends to infinity; "bounded" says nothing on a cube;
Theorem 3.5 is applied with B = sqrt(d), the radius of a ball that holds the cube. [-1, 1] appears
beside [0, 1] because float64 gets twice as far there.
"""

import itertools
import math

import pytest

from repro.bounds import chosen, rounding_error, theorem
from repro.fang2022 import approximation as approximation_
from repro.fang2022.pictures import approximations as pictures
from repro.numerics import exact as exact_
from repro.numerics import minimax, rates, roundoff

names = pytest.mark.parametrize("name", ["kink", "Runge", "smooth"])
BERNSTEIN = 0.2801694990  # lim 2n E_2n(|x|): Varga and Carpenter, Constr. Approx. 1 (1985)
ERROR = "largest error"


def target(name):
    return approximation_.EXAMPLES[name].target


def best(name, q):
    return approximation_.approximant(target(name), q)


def degrees(claim, where):
    """Of the models measured in rationals, in float64 on either interval, and in the plane."""
    fine = {
        "rationals": (1, 2, 4, *range(8, 65, 8)),
        "[0, 1]": (1, *range(2, 29, 2)),
        "[-1, 1]": (*range(4, 36, 4), *range(36, 53, 2)),
        "plane": (1, *range(2, 13, 2)),
    }[where]
    few = {
        "rationals": (1, 2, 4, 8, 16, 24, 32),
        "[0, 1]": (1, 2, *range(4, 25, 4)),
        "[-1, 1]": (16, 32, 40, 48),
        "plane": (1, 2, 4, 6, 8),
    }[where]
    return list(claim.at_scale(smoke=few, laptop=fine, paper=fine))


@names
@pytest.mark.parametrize("q", [8, 16, 32], ids="q={}".format)
@pytest.mark.best_in_class
def test_the_best_error_is_enclosed(name, q, claim):
    """Remez's exchange, both bounds in balls; known are Runge's E_q and the limit of the kink's."""
    lower, upper = best(name, q).lower, best(name, q).upper
    claim.measured("upper bound", upper, equation="E_q(f)").at_most(
        theorem(1.02 * lower, "Taylor's on cells of half-width π/(32(q+9)) gives away about 1 %")
    )
    if name == "Runge":
        known = approximation_.runge_error(q)
        claim.measured("lower bound", lower, equation="(25/52) ρ^−q").at_most(
            theorem(known, "Chebyshev's closed form")
        )
        claim.measured("upper bound", upper, equation="(25/52) ρ^−q").at_least(
            theorem(known, "Chebyshev's closed form")
        )
    if name == "kink":
        claim.measured("q E_q", q * lower, equation="|x|").within(
            BERNSTEIN,
            chosen(
                0.352 / q**2,
                "Bernstein's limit; q E_q is below it by 0.176/q² or so, twice that allowed",
            ),
        )


@names
@pytest.mark.construct
def test_in_rationals_the_model_has_the_error_of_the_best_polynomial(name, claim):
    for q in degrees(claim, "rationals"):
        error = approximation_.error_in_rationals(target(name), q)
        lower, upper = best(name, q).lower, best(name, q).upper
        claim.measured(ERROR, error, equation="E_q", q=q).at_least(
            theorem(
                0.99 * lower, "|f − p| is E_q at these points, up to 1 % for float64 coefficients"
            )
        )
        if upper is None:
            upper = lower / math.cos(math.pi / 256)
            proved = "grid: what Remez's grid, 128 points per alternation, can miss of a maximum"
        else:
            proved = "theorem: the proved bound on |f − p|"
        claim.measured(ERROR, error, equation="C^q", q=q).at_most(SOURCE(upper, proved))


@pytest.mark.construct
def test_rate_the_kink_like_one_over_q_and_runge_geometrically(claim):
    def errors(name, qs):
        return [approximation_.error_in_rationals(target(name), q) for q in qs]

    qs = [q for q in degrees(claim, "rationals") if q in (4, 8, 16, 32, 64)]
    rate = rates.slope(qs, errors("kink", qs), correction=2)
    name, width = "exponent of q for the kink", (rate.high - rate.low) / 2
    claim.measured("exponent of q for the kink", rate.slope, equation="error ~ 1/q").within(
        -1,
        chosen(width, f"interval [{rate.low:.3f}, {rate.high:.3f}] of the slope, {len(qs)} points"),
    )
    claim.measured(f"{name}, lower end", rate.low, equation="not q⁻²").at_least(
        chosen(-1.5, f"interval [{rate.low:.3f}, {rate.high:.3f}] of the slope, {len(qs)} points")
    )
    claim.measured(f"{name}, upper end", rate.high, equation="not q^−½").at_most(
        chosen(-0.5, f"interval [{rate.low:.3f}, {rate.high:.3f}] of the slope, {len(qs)} points")
    )

    first, last = errors("Runge", (8, 32))
    rho, name = approximation_.RHO, "ratio of Runge's errors per degree"
    off = (1.02 ** (1 / 24) - 1) / rho
    ratio = (last / first) ** (1 / 24)
    claim.measured("ratio of Runge's errors per degree", ratio, equation="ρ^−q").within(
        1 / rho, theorem(off, "(25/52) ρ^−q, and both errors within 2 % of it")
    )

    smooth = errors("smooth", (8, 16, 24, 32))
    ratios = [after / before for before, after in itertools.pairwise(smooth)]
    name = "ratio of errors over 8 degrees"
    for before, after in itertools.pairwise(ratios):
        claim.measured(
            "ratio of errors over 8 degrees", after, equation="faster than geometrically"
        ).at_most(theorem(before, "E_q^(1/q) → 0 for an entire f"))


@names
@pytest.mark.parametrize("cube", ["[0, 1]", "[-1, 1]"])
@pytest.mark.construct
def test_float64_follows_until_round_off_passes_the_best_error(name, cube, claim):
    qs, device = degrees(claim, cube), str(claim.device)
    found = [approximation_.in_float64(target(name), q, cube, device) for q in qs]
    few = 16 * math.e * roundoff.unit("float64")  # f <= e, a few roundings
    lower = [best(name, q).lower for q in qs]
    upper = [best(name, q).upper or best(name, q).lower / math.cos(math.pi / 256) for q in qs]
    worst = max(m.error / (E + m.bound + few) for m, E in zip(found, upper, strict=True))
    claim.measured("error / bound, largest over q", worst, equation="C^q").at_most(
        rounding_error(
            1, "tower.output_bound, derived there, besides the bound on |f − p|; 16u for f"
        )
    )
    worst = max(m.rounding / m.bound for m in found)
    claim.measured("round-off / bound, largest over q", worst, equation="C^q").at_most(
        rounding_error(
            1, "tower.output_bound, derived there, besides the bound on |f − p|; 16u for f"
        )
    )

    seen = [m.rounding / m.estimate for q, m in zip(qs, found, strict=True) if q >= 4]
    claim.measured("round-off / u Σ|c|", max(seen), equation="prediction").at_most(
        chosen(5, "between 0.4 and 1.8 over three functions, two intervals and all q >= 4")
    )
    claim.measured("round-off / u Σ|c|", min(seen), equation="prediction").at_least(
        chosen(0.2, "between 0.4 and 1.8 over three functions, two intervals and all q >= 4")
    )
    predicted = next(i for i, m in enumerate(found) if m.estimate > lower[i])
    measured = next(i for i, m in enumerate(found) if m.rounding > lower[i])
    least = min(range(len(qs)), key=lambda i: found[i].error)
    claim.record("predicted_end", qs[predicted])
    claim.record("least_error", found[least].error)
    claim.record("reached_at", qs[least])
    name = f"where float64 ends, as a place in q = {qs[0]}, ..., {qs[-1]}"
    claim.measured(
        f"where float64 ends, as a place in q = {qs[0]}, ..., {qs[-1]}",
        measured,
        equation="u Σ|c| = E_q",
    ).within(
        predicted,
        chosen(1, "a factor 5 in round-off is one step of q; it grows by 2.4 or 5.8 per degree"),
    )


def plane_cells(claim):
    return claim.at_scale(smoke=32, laptop=48, paper=64)


@pytest.mark.best_in_class
def test_two_variables_reach_the_best_polynomial_of_the_grid(claim):
    """n = q + 1 directions; the linear program's points give the certificate, in exact numbers."""
    cells, u = plane_cells(claim), roundoff.unit("float64")
    for q in degrees(claim, "plane"):
        lower = approximation_.plane_approximant(q, cells).lower
        found = approximation_.plane_float64(q, cells, str(claim.device))
        room = 1.02 * (1 + 1e-6) * lower + found.bound + 16 * u
        claim.measured(f"{ERROR} on the grid", found.error, equation="C^q", q=q).at_most(
            theorem(
                room, "the exchange stops within 2 % of its bound; round-off as derived; 16u for f"
            )
        )
        exact = approximation_.plane_error_in_rationals(q, cells)
        claim.measured(f"{ERROR} in rationals", exact, equation="E_q", q=q).within(
            lower,
            theorem(
                1e-6 * lower + 16 * u,
                "|f − p| is E_q of the grid there, up to the program's tolerance 1e-6",
            ),
        )


def one_variable(claim, name):
    """Everything that was measured for one function of one variable, for the figure."""
    approximation, example = approximation_, approximation_.EXAMPLES[name]
    qs = {where: degrees(claim, where) for where in ("rationals", "[0, 1]", "[-1, 1]")}
    fours = [q for q in sorted({q for some in qs.values() for q in some}) if q < 4 or q % 4 == 0]
    curves = {
        "jackson": [(q, approximation.jackson_bound(q, 1, example.lipschitz)) for q in fours],
        "best": [(q, best(name, q).lower) for q in fours],
        "fixed": [(q, best(name, 8).lower) for q in fours if q >= 8],
        "rationals": [
            (q, approximation.error_in_rationals(example.target, q)) for q in qs["rationals"]
        ],
    }
    for cube in ("[0, 1]", "[-1, 1]"):
        found = {
            q: approximation.in_float64(example.target, q, cube, str(claim.device))
            for q in qs[cube]
        }
        curves[f"float64 {cube}"] = [(q, m.error) for q, m in found.items()]
        curves[f"floor {cube}"] = [(q, m.estimate) for q, m in found.items()]
    if name == "kink":
        jump = {q: exact_.to_float(at_the_jump(q)).item() for q in (8, 16, 24, 32)}
        curves["jump"] = list(jump.items())
    return pictures.Panel(example.title, curves)


def two_variables(claim):
    approximation, qs, cells = approximation_, degrees(claim, "plane"), plane_cells(claim)
    found = {q: approximation.plane_float64(q, cells, str(claim.device)) for q in qs}
    lower = {q: approximation.plane_approximant(q, cells).lower for q in qs}
    bound = {q: approximation.jackson_bound(q, 0.5, *approximation.PLANE_LIPSCHITZ) for q in qs}
    curves = {
        "jackson": list(bound.items()),
        "best": list(lower.items()),
        "fixed": [(q, lower[8]) for q in qs if q >= 8],
        "rationals": [(q, approximation.plane_error_in_rationals(q, cells)) for q in qs],
        "float64 [0, 1]": [(q, m.error) for q, m in found.items()],
    }
    return pictures.Panel(approximation.PLANE_TITLE, curves)


@pytest.mark.construct
def test_all_errors_lie_below_jacksons_bound(claim):
    panels = [*(one_variable(claim, name) for name in ("kink", "Runge", "smooth"))]
    panels.append(two_variables(claim))
    for panel in panels:
        bound = dict(panel.curves["jackson"])
        worst = max(error / bound[q] for q, error in panel.curves["rationals"])
        name = f"error / bound, largest over q: {panel.title}"
        claim.measured(
            f"error / bound, largest over q: {panel.title}", worst, equation="Jackson"
        ).at_most(theorem(1, "Jackson's, see approximation.py"))

    def ends(panel, key):
        (first, high), *_, (last, low) = panel.curves[key]
        return f"from {high:.2g} at q = {first} to {low:.2g} at q = {last}"

    def least(panel, key):
        q, error = min(panel.curves[key], key=lambda point: point[1])
        return f"{error:.2g} at q = {q}"

    kink, runge, smooth, plane = panels
    small, large = (
        ", ".join(least(panel, f"float64 {cube}") for panel in (kink, runge, smooth))
        for cube in ("[0, 1]", "[-1, 1]")
    )
    claim.figure(
        pictures.convergence(panels),
        "convergence",
        caption="The model of Theorem 3.5 with the coefficients of the best polynomial in its "
        "weights. In rationals it has the least error that q blocks can have, for every q. In "
        "float64 round-off ends it, the sooner the larger the coefficients: on [0, 1] at half the "
        "degree of [−1, 1].",
        alt="Largest error against degree, four panels, errors logarithmic. In rationals the model "
        f"lies on the curve of the best polynomial: for the kink {ends(kink, 'rationals')}, for "
        f"Runge's function {ends(runge, 'rationals')}, for the smooth one "
        f"{ends(smooth, 'rationals')}, in two variables {ends(plane, 'rationals')}. In float64 the "
        f"least errors on [0, 1] are {small}, on [−1, 1] {large}; beyond, they grow along the "
        "predicted round-off. Controls: a jump stays at 1, and 8 blocks stay at their best error.",
    )


@names
def test_control_with_eight_blocks_the_error_stays(name, claim):
    """q = 8 for ever: every model with these blocks is a polynomial of degree 8 at most."""
    floor = best(name, 8).lower
    error, later = (approximation_.error_in_rationals(target(name), q) for q in (8, 32))
    claim.measured(ERROR, error, equation="C^8").at_least(
        theorem(0.99 * floor, "no polynomial of degree 8 is nearer, certified; 1 % for float64")
    )
    claim.measured("least error of 8 blocks", floor, equation="C^32").at_least(
        theorem(3.5 * later, "8 E_8 ≈ 32 E_32 for the kink, and more for the others")
    )


def at_the_jump(q):
    """f = sign(2x - 1): the larger distance of C^q(1/2) from the two limits of f there."""
    limits = -1, 1
    sides = tuple(lambda x, limit=limit: 0 * x + limit for limit in limits)
    jump = minimax.Target((-1.0, 0.0, 1.0), sides)
    p = minimax.levelled(jump, minimax.chebyshev_points(q))
    model = approximation_.transformer(approximation_.on_unit_interval(p), q)
    (C,) = model(exact_.rationals([["1/2"]]))
    return max(abs(C - limit) for limit in limits)


@pytest.mark.parametrize("q", [8, 16, 32], ids="q={}".format)
def test_control_a_jump_is_never_approximated(q, claim):
    """f = sign(2x - 1) is not continuous: one of its two limits at 1/2 is at least 1 away."""
    claim.measured(f"{ERROR} at the jump", at_the_jump(q), equation="C^q(1/2)").at_least(
        theorem(1, "half the jump, for every continuous C^q")
    )
