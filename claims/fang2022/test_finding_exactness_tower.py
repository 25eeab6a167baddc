"""Finding (about Theorem 3.5 of fang2022): the same weights in every arithmetic.

The construction of Theorem 3.5 adds 2 M^2 to every product and takes it away again. In rationals
that is harmless. In floating point it costs digits: with u the unit round-off, the stored t^q is
off, relative to B^q, by about
    2 u B^(q-2)   with the printed M = B^(i-1),
    4.25 q u      with M^2 = 9/8 B^i, whatever B is: `roomy`, the repair M^2 = B^i with an eighth
                  of room, so that rounding does not decide between tokens
(derived in repro/fang2022/tower.py, with bounds for all three).

Checked: one set of weights up the tower. As polynomials in x, and in rationals: the difference is
0. In balls of 200 bits, with irrational directions (equispaced angles) and irrational x: an
enclosure of C - Q that contains 0 and is narrower than 10^-40. In float64, float32 and bfloat16:
the error is within the recursion, for all three lifts, and for printed and roomy ones not below a
tenth of it; it grows like B^(q-2) for the printed M and not at all for the roomy one. The largest B
that each type carries to 1 %, found by trying, against (0.01/2u)^(1/(q-2)).
Controls: the printed M with B < 1, where another token wins, is off by half of t^q and more.

What follows for Section 5: t = xi . x is standard normal there and B must be 7 or more, so with
the printed M in float32 the stored t^5 is off by more than 0.1 in the root mean square.
"""

import math

import numpy as np
import pytest

from repro import fang2022, numerics

TYPES = ("float64", "float32", "bfloat16")
ERROR = "largest error of the stored t^q, over B^q"


@pytest.mark.exact
def test_rationals_and_polynomials_leave_nothing(claim):
    """A dense Q of degree 3 in two variables, B = 5: at rational points, and as a polynomial."""
    rng = claim.rng("Q")
    Q = fang2022.polynomials.random_polynomial(2, 3, rng)
    model = fang2022.powers.construction(Q, 5, q=3)
    points = claim.at_scale(smoke=30, laptop=300, paper=3000)
    x = numerics.exact.rationals(rng.integers(-35, 36, (points, 2)).tolist()) / 10
    claim.equals(max(abs(model(x) - Q(x))), 0, "largest |C − Q|, rationals", equation="C^q = Q")
    x = numerics.exact.vector(numerics.exact.symbols("x1", "x2"))
    C = model(x, attend=fang2022.model.keep_own, activate=fang2022.model.only_unit(1))
    claim.equals(len(C - Q(x)), 0, "terms of C − Q, polynomials in x", equation="C^q = Q")


@pytest.mark.certified
def test_balls_enclose_zero_for_irrational_directions(claim):
    """xi_k = (cos, sin)(k pi/4), k = 0..3, q = 3: beta solved in balls, x irrational, ||x|| < 2."""
    import flint

    before = flint.ctx.prec
    flint.ctx.prec = 200
    try:
        width, worst = enclosure(flint)
    finally:
        flint.ctx.prec = before
    claim.equals(worst, True, "0 is in every enclosure of C(x) − Q(x)", equation="C^q = Q")
    source = (
        "theorem: balls enclose; 200 bits are 60 digits, 20 of them left to the growth of radii"
    )
    claim.at_most(
        width, 1e-40, "widest |C(x) − Q(x)| still possible", equation="C^q = Q", source=source
    )


def enclosure(flint):
    """Widest enclosure of C - Q over some x, and whether 0 is in all of them."""
    n, q, B = 4, 3, flint.arb(2)
    angles = [flint.arb(k) / n for k in range(n)]
    xi = np.array([[flint.arb.cos_pi(a), flint.arb.sin_pi(a)] for a in angles], dtype=object)
    target = {(3, 0): 1, (1, 2): -2, (1, 1): 3, (0, 1): 5, (0, 0): 7}
    Q = fang2022.polynomials.Polynomial(2, target)
    beta = np.full((n, q), flint.arb(0), dtype=object)
    for s in range(1, q + 1):
        columns = range(fang2022.polynomials.dimension(2, s))
        exponents = [(s - b, b) for b in range(s + 1)]
        rows = [
            [xi[k, 0] ** a * xi[k, 1] ** b * math.comb(s, a) for k in columns] for a, b in exponents
        ]
        right = [[flint.arb(target.get(a, 0))] for a in exponents]
        solved = flint.arb_mat(rows).solve(flint.arb_mat(right))
        beta[: len(exponents), s - 1] = [solved[k, 0] for k in columns]
    readout = np.full((n, n + q + 2), flint.arb(0), dtype=object)
    readout[:, n + 1 : -1] = beta * np.array([-1, 1, -1])
    blocks = fang2022.powers.power_blocks(n, q, fang2022.powers.repaired(q, B))
    model = fang2022.model.Transformer(xi, blocks, readout.ravel(), flint.arb(7))
    points = [
        [flint.arb(2).sqrt(), flint.arb.pi() / 3],
        [flint.arb.const_e() / -2, flint.arb(1) / 3],
    ]
    differences = [model(np.array(x, dtype=object), attend=certain) - value(Q, x) for x in points]
    width = max(float(abs(d).upper()) for d in differences)
    return width, all(d.contains(0) for d in differences)


def value(Q, x):
    """Q at a point of balls."""
    total = x[0] * 0
    for (a, b), c in Q.coefficients.items():
        total += int(c) * x[0] ** a * x[1] ** b
    return total


def certain(alpha):
    """m-hat, when every token is certain to keep itself; balls that overlap are an error."""
    n = alpha.shape[-1]
    if not all(bool(alpha[i, i] > alpha[i, j]) for i in range(n) for j in range(n) if i != j):
        raise ArithmeticError("a winner is not certain at this precision")
    return fang2022.model.keep_own(alpha)


def stored(claim, dtype, B, q, lifts, n=4):
    """Error of slot q over B^q, and tokens that lost, for t in [-B, B], the ends included."""
    import torch

    kind, draws = getattr(torch, dtype), claim.at_scale(smoke=100, laptop=500, paper=2000)
    t = torch.tensor(claim.rng("t").uniform(-B, B, (draws, n)), device=claim.device)
    t[0] = torch.tensor([B, -B, B, -B])
    t = t.to(kind).clamp(-B, B)
    rows, lost = fang2022.model.Layout(n, q), 0
    Z = rows.tokens(t)
    for block in fang2022.powers.power_blocks(n, q, getattr(fang2022.powers, lifts)(q, B)):
        block = block.to(kind, claim.device)
        alpha = block.scores(Z)
        lost += int((alpha.amax(-1) > alpha.diagonal(dim1=-2, dim2=-1)).sum())
        Z = block(Z)
    power = (-t.double()) ** q  # q roundings of float64: 2^-53 q of B^q
    error = (Z[..., rows.slot(q), :].double() - power).abs().max().item() / B**q
    return (error if math.isfinite(error) else math.inf), lost


def bound(dtype, B, q, lifts):
    return fang2022.tower.error_bound(dtype, B, q, getattr(fang2022.powers, lifts))


FLOATING = [(d, q) for d in TYPES for q in (3, 5, 10) if (d, q) != ("bfloat16", 10)]


@pytest.mark.parametrize("lifts", ["printed", "repaired", "roomy"])
@pytest.mark.parametrize(("dtype", "q"), FLOATING, ids=[f"{d}-q={q}" for d, q in FLOATING])
@pytest.mark.construct
def test_floating_point_error_within_the_recursion(dtype, q, lifts, claim):
    """B = 1, 2, 10, 100, as long as the bound is below 1: above, no digit of t^q is left.

    The bound is tight where no other token is within rounding of winning (E = 0 in tower.py).
    """
    u, all_lost = numerics.roundoff.unit("float64"), 0
    for B in [B for B in (1.0, 2.0, 10.0, 100.0) if bound(dtype, B, q, lifts) < 1]:
        allowed, (error, lost) = bound(dtype, B, q, lifts), stored(claim, dtype, B, q, lifts)
        all_lost += lost
        source = "roundoff: the recursion of repro/fang2022/tower.py, and q roundings of t^q"
        name = f"{ERROR}, B = {B:g}"
        claim.at_most(error, allowed + q * u, name, equation="e_q / B^q", source=source)
        if (lifts == "printed" and B >= 10) or (lifts == "roomy" and dtype != "bfloat16"):
            tight = "spread: seeded draws come within a factor 10 of the worst case"
            claim.at_least(error, allowed / 10, name, equation="the bound is tight", source=tight)
    claim.record(tokens_that_lost_by_rounding=all_lost)
    if lifts == "roomy":
        claim.equals(all_lost, 0, "tokens that lost", equation="the room suffices")
    if lifts == "roomy" and dtype != "bfloat16":
        most = 4.25 * q * numerics.roundoff.unit(dtype) * 1.01
        source = "roundoff: 4.25 q u, and 1 % for its terms of second order, for u <= 2^-24"
        one = bound(dtype, 1.0, q, lifts)
        claim.at_most(one, most, "the recursion at B = 1", equation="4.25qu", source=source)


@pytest.mark.parametrize("q", [4, 5, 6], ids="q={}".format)
@pytest.mark.construct
def test_rate_the_printed_lifts_lose_q_minus_2_powers_of_B(q, claim):
    Bs = [float(2**k) for k in range(2, 8)]
    for lifts, exponent in (("printed", q - 2), ("roomy", 0)):
        errors = [stored(claim, "float64", B, q, lifts)[0] for B in Bs]
        rate = numerics.rates.slope(Bs, errors)
        interval = f"spread: [{rate.low:.2f}, {rate.high:.2f}] of the slope, {len(Bs)} points"
        name, width = f"exponent of B, {lifts} M", (rate.high - rate.low) / 2
        claim.within(
            rate.slope, exponent, width, name, equation="2uB^(q−2), 4.25qu", source=interval
        )
        claim.at_most(width, 0.5, name + ", half width", equation="told apart", source=interval)
        claim.record(
            **{f"digits lost at B={Bs[-1]:g}, {lifts}": math.log10(errors[-1] / errors[0])}
        )


@pytest.mark.construct
def test_the_digits_lost_as_a_picture(claim):
    """q = 5: error against B for three types, printed and roomy lifts, with the recursion."""
    Bs = [float(b) for b in np.geomspace(0.1, 100, claim.at_scale(smoke=7, laptop=13, paper=25))]
    both = ("printed", "roomy")
    found = {d: {m: [stored(claim, d, B, 5, m)[0] for B in Bs] for m in both} for d in TYPES}
    bounds = {d: {m: [bound(d, B, 5, m) for B in Bs] for m in both} for d in TYPES}
    excess = max(
        a - b for a, b in zip(found["float64"]["roomy"], bounds["float64"]["roomy"], strict=True)
    )
    allowed = 5 * numerics.roundoff.unit("float64")
    source = "roundoff: 5 roundings of t^5 itself"
    claim.at_most(excess, allowed, "error above its bound", equation="e_5 / B^5", source=source)
    middle, printed = len(Bs) // 3, found["float32"]["printed"]
    claim.figure(
        fang2022.pictures.precision.digits(Bs, found, bounds),
        "digits",
        caption="Theorem 3.5 in floating point, q = 5; in rationals the error is 0. The printed "
        "M = B^(i−1) loses 3 digits for each factor 10 of B, and for B < 1 another token wins and "
        "the error is of order 1 in every type. M² = 9/8 B^i loses nothing.",
        alt="Relative error of the stored t^5 against B from 0.1 to 100, one panel for each lift. "
        f"Printed: of order 1 below B = 1; then, in float32, from {printed[middle]:.1e} at "
        f"B = {Bs[middle]:.0f} up to {printed[-1]:.1e} at B = 100. Repaired with room: flat, at "
        f"most {max(found['float32']['roomy']):.1e} in float32 and "
        f"{max(found['float64']['roomy']):.1e} in float64, below the bounds.",
    )


CARRIED = [("float64", q) for q in (5, 6, 8, 10)] + [("float32", q) for q in (4, 5, 6, 8, 10)]


@pytest.mark.parametrize(("dtype", "q"), CARRIED, ids=[f"{d}-q={q}" for d, q in CARRIED])
@pytest.mark.construct
def test_the_largest_ball_that_a_type_carries(dtype, q, claim):
    """To 1 % of B^q with the printed M: by trying, in steps of a twentieth of a decade."""
    import torch

    predicted = fang2022.tower.largest_bound(dtype, q)
    middle, carried = round(20 * math.log10(predicted)), 0.0
    for k in range(middle - 8, middle + 9):
        if stored(claim, dtype, 10 ** (k / 20), q, "printed")[0] <= 0.01:
            carried = 10 ** (k / 20)
    claim.table(
        f"q = {q}",
        f"largest B, {dtype}, printed M",
        paper="not given",
        ours=carried,
        note=f"predicted {predicted:.4g}",
    )
    low, high = fang2022.tower.bounds_without_overflow(getattr(torch, dtype), q)
    error, lost = stored(claim, dtype, 0.9 * high, q, "roomy")
    allowed = bound(dtype, 1.0, q, "roomy") + q * numerics.roundoff.unit("float64")
    source = "roundoff: the recursion of repro/fang2022/tower.py does not depend on B"
    note = f"above it B^q overflows; below {low:.2g} it underflows; error {error:.1e} of B^q"
    claim.table(f"q = {q}", f"largest B, {dtype}, roomy", paper="not given", ours=high, note=note)
    name = "error at nine tenths of the largest B that does not overflow"
    claim.at_most(error, allowed, name, equation="4.25qu for every B", source=source)
    claim.equals(lost, 0, "tokens that lost there", equation="the room suffices")
    # e_q lies between a third and twice 2 u B^(q-2) B^q, by where G falls between powers of 2.
    factor = 10**0.05 * 3 ** (1 / (q - 2))
    source = "grid: 10^(1/20), and a factor 3 for the place of G between two powers of 2"
    for check, name in ((claim.at_most, "at most"), (claim.at_least, "at least")):
        limit = factor if check == claim.at_most else 1 / factor
        label = f"largest B over its prediction, {name}"
        check(carried / predicted, limit, label, equation="(0.01/2u)^(1/(q−2))", source=source)


@pytest.mark.construct
def test_bfloat16_carries_nothing(claim):
    """q = 3 at B = 1, where all lifts are small: u = 2^-8, and 1 % is two and a half of it."""
    error = stored(claim, "bfloat16", 1.0, 3, "roomy")[0]
    claim.record(bound=bound("bfloat16", 1.0, 3, "roomy"))
    source = "spread: seeded draws, about a third of the bound 4.25 * 3 * 2^-8"
    claim.at_least(error, 0.01, "error of t³ over B³", equation="4.25qu", source=source)


@pytest.mark.construct
def test_the_experiment_of_section_5_in_float32(claim):
    """t standard normal, B = 7, q = 5: root mean square error of the stored t^5."""
    import torch

    t = torch.tensor(claim.rng("normal").normal(size=(2000, 4)), device=claim.device)
    t, rows, found = t.float().clamp(-7, 7), fang2022.model.Layout(4, 5), {}
    for lifts in ("printed", "roomy"):
        Z = rows.tokens(t)
        for block in fang2022.powers.power_blocks(4, 5, getattr(fang2022.powers, lifts)(5, 7)):
            Z = block.to(torch.float32, claim.device)(Z)
        off = Z[:, rows.slot(5)].double() + t.double() ** 5
        found[lifts] = off.square().mean().sqrt().item()
    claim.record(**{f"rms error of t^5, {lifts} M": value for lifts, value in found.items()})
    # The last lift is G = 2 * 7^8 in [2^23, 2^24): there float32 has steps of 1, and a rounding
    # that falls anywhere in a step is off by 1/sqrt(12) = 0.29 in the root mean square.
    rms = 1 / math.sqrt(12)
    source = (
        "roundoff: a step of 1 at G = 2·7⁸, evenly, is 1/√12; the other lifts are 49 times less"
    )
    name = "rms error of t⁵, printed M"
    claim.at_least(found["printed"], rms / 2, name, equation="step(G)/√12", source=source)
    claim.at_most(found["printed"], rms * 2, name, equation="step(G)/√12", source=source)
    less = "roundoff: G is 7³ · 8/9 = 305 times smaller, five blocks add up"
    claim.at_most(found["roomy"], rms / 60, "rms error of t⁵, roomy", equation="less", source=less)


@pytest.mark.parametrize("B", [0.1, 0.5], ids="B={}".format)
@pytest.mark.parametrize("dtype", TYPES)
def test_control_the_printed_lifts_below_one_are_wrong_in_every_type(dtype, B, claim):
    """q = 5, B < 1: not rounding but another token; no precision helps."""
    error, lost = stored(claim, dtype, B, 5, "printed")
    source = "theorem: the block stores G − max α: off by 2B^4·B − 2B^8 in slot 4 at t = (B, −B)"
    claim.at_least(error, 0.5, ERROR, equation="M = B^(i−1), B < 1", source=source)
    claim.at_least(lost, 1, "tokens that lost", equation="M = B^(i−1), B < 1", source=source)
