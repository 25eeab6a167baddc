"""Finding (about Theorem 3.5 of fang2022): the same weights in every arithmetic.

The construction of Theorem 3.5 adds 2 M^2 to every product and takes it away again. In rationals
that is harmless. In floating point it costs digits: with u the unit round-off, the stored t^q is
off, relative to B^q, by at most about (proof: the recursion in repro/fang2022/tower.py)
    2 u B^(q-2)   with the printed M = B^(i-1) and B > 1,
    4.25 q u      with M^2 = 9/8 B^i, whatever B is: `roomy`, M^2 = B^i with an eighth of room, so
                  that rounding does not decide between tokens.
For Section 5: t = xi . x is standard normal there and B must be 7 or more, so with the printed M in
float32 the stored t^5 is off by more than 0.1 in the root mean square.

Checked: C - Q is 0 as a polynomial in x and in rationals. In balls of 200 bits, with irrational
directions and x, its enclosure contains 0. In float64, float32 and bfloat16 the error is within the
derived recursion, for all three lifts, and not below half a step of the numbers at the last lift;
it grows like B^(q-2) for the printed M and not at all for the roomy one. The recursion is worked
out by hand at eleven points. The largest B that each type carries to 1 %, against
(0.01/2u)^(1/(q-2)).
Controls: the printed M with B < 1, where another token wins, is off by half of t^q and more.

Not checked: that the loss cannot be smaller for some B; what is proved is that it is not larger.
"""

import math

import numpy as np
import pytest

from repro.bounds import as_printed, grid_error, rounding_error, theorem
from repro.fang2022 import model, pictures, polynomials, powers, tower
from repro.numerics import exact, roundoff

TYPES = ("float64", "float32", "bfloat16")
ERROR = "largest error of the stored t^q, over B^q"


@pytest.mark.exact
def test_rationals_and_polynomials_leave_nothing(claim):
    """A dense Q of degree 3 in two variables, B = 5: at rational points, and as a polynomial."""
    rng = claim.rng("Q")
    Q = polynomials.random_polynomial(2, 3, rng)
    built = powers.construction(Q, 5, q=3)
    points = claim.at_scale(smoke=30, laptop=300, paper=3000)
    x = exact.rationals(rng.integers(-35, 36, (points, 2)).tolist()) / 10
    claim.measured("largest |C − Q|", max(abs(built(x) - Q(x))), equation="C^q = Q").equals(0)
    x = exact.vector(exact.symbols("x1", "x2"))
    C = built(x, attend=model.keep_own, activate=model.only_unit(1))
    claim.measured("terms of C − Q", len(C - Q(x)), equation="C^q = Q").equals(0)


@pytest.mark.certified
def test_balls_enclose_zero_for_irrational_directions(claim):
    """xi_k = (cos, sin)(k pi/4), k = 0..3, q = 3: beta solved in balls, x irrational, ||x|| < 2."""
    width, inside = tower.enclosure(bits=200)
    claim.measured("0 is in every enclosure of C − Q", inside, equation="C^q = Q").equals(True)
    most = theorem(1e-40, "200 bits are 60 digits, 20 of them left to the growth of radii")
    claim.measured("widest |C − Q| still possible", width, equation="C^q = Q").at_most(most)


def tokens(claim, dtype, B):
    """Four tokens t in [-B, B], many times, the ends included."""
    import torch

    draws = claim.at_scale(smoke=100, laptop=500, paper=2000)
    t = torch.tensor(claim.rng("t").uniform(-B, B, (draws, 4)), device=claim.device)
    t[0] = torch.tensor([B, -B, B, -B])
    return t.to(getattr(torch, dtype)).clamp(-B, B)


def stored(claim, dtype, B, q, lifts):
    """Error of slot q over B^q, and tokens that lost."""
    return tower.measured(tokens(claim, dtype, B), B, q, getattr(powers, lifts))


def bound(dtype, B, q, lifts):
    return tower.error_bound(dtype, B, q, getattr(powers, lifts))


def floor(claim, dtype, B, q, G):
    """What the last lift G leaves at least, over B^q, less the q roundings of t^q itself."""
    found = tower.error_floor(tokens(claim, dtype, B)[:25], q, G) / B**q
    why = "half a step of a ≥ G/2, see tower.error_floor; q roundings of t^q in float64"
    return rounding_error(found - q * roundoff.unit("float64"), why)


FLOATING = [(d, q) for d in TYPES for q in (3, 5, 10) if (d, q) != ("bfloat16", 10)]
LAST = {"printed": lambda B, q: 2 * B ** (2 * q - 2), "roomy": lambda B, q: 9 / 4 * B**q}


@pytest.mark.parametrize("lifts", ["printed", "repaired", "roomy"])
@pytest.mark.parametrize(("dtype", "q"), FLOATING, ids=[f"{d}-q={q}" for d, q in FLOATING])
@pytest.mark.construct
def test_floating_point_error_within_the_recursion(dtype, q, lifts, claim):
    """B = 1, 2, 10, 100, as long as the bound is below 1: above, no digit of t^q is left.

    For the floor M = B^(q-1) with B >= 2, or 9/8 B^q, so that |t^q| <= G/2.
    """
    u, all_lost = roundoff.unit("float64"), 0
    for B in [B for B in (1.0, 2.0, 10.0, 100.0) if bound(dtype, B, q, lifts) < 1]:
        allowed, (found, lost) = bound(dtype, B, q, lifts), stored(claim, dtype, B, q, lifts)
        all_lost += lost
        error = claim.measured(ERROR, found, equation="e_q / B^q", B=B)
        why = "the recursion of tower.py, q roundings of t^q"
        error.at_most(rounding_error(allowed + q * u, why))
        if (lifts == "printed" and B >= 2) or (lifts == "roomy" and dtype != "float64"):
            error.at_least(floor(claim, dtype, B, q, LAST[lifts](B, q)))
    claim.record("tokens that lost by rounding", all_lost)
    if lifts == "roomy":
        claim.measured("tokens that lost", all_lost, equation="M² = 9/8 B^i").equals(0)


BY_HAND = [  # lifts, B, q and e_q / B^q in units of u, terms of second order left out
    ("least", 1, 1, 3),
    ("roomy", 1, 5, 21.25),
    ("roomy", 10, 2, 8.5),
    ("repaired", 1, 1, 5),
    ("repaired", 1, 2, 28),
    ("repaired", 10, 3, 33),
    ("repaired", 1, 4, 112),
    ("repaired", 1, 5, 117),
    ("printed", 10, 1, 22),
    ("printed", 10, 2, 79),
    ("printed", 10, 3, 101),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.exact
def test_the_recursion_at_points_worked_out_by_hand(dtype, claim):
    """Of e_i <= B e_(i-1) + u (B A + P + G + R) + E, everything over B^i and in units of u.

    Least: G = 0 in block 1, so R = 1, and 1 + 1 + 0 + 1; E = 0 there, as all y are 1.
    Roomy: P = 1, G = 9/4, R = E = 0, so 1 + 1 + 9/4 = 4.25 in each block.
    Repaired, G = 2: P > G/2, so R = 1, and 5 in each block. E = 2P + 2u 3 - 2 in block 2, where
    A = 1 + 5u, P = 1 + 6u: 12 + 6 = 18; in block 4, where A = 1 + 33u: 68 + 6 = 74. None in 3, 5.
    Printed, B = 10: lifts 200, 200, 20000. Block 1: 1 + 1 + 20 = 22. Block 2: G = 2, so as above
    5 and E = 2 (22 + 1) + 6 = 52. Block 3: G = 20, so R = E = 0, and 1 + 1 + 20 = 22.
    """
    u = roundoff.unit(dtype)
    for lifts, B, q, units in BY_HAND:
        found = claim.measured("e_q / B^q", bound(dtype, B, q, lifts), equation="recursion", q=q)
        second = rounding_error(2000 * u * u, "terms of second order: 20 products of up to 100u²")
        found.within(units * u, second + rounding_error(q * 2.0**-50 * u, "float64"))


@pytest.mark.exact
def test_the_other_bounds_at_points_worked_out_by_hand(claim):
    """2uB^(q-2) = 0.01 in float32: B² = 2^23/100 for q = 4, so B = 289.63094; B = 2^23/100 for 3.
    B^q and 6.5 B^q in range, q = 2: B² = 2^-126, so B = 2^-63, and B² = 2^128 (1 - 2^-24)/6.5.
    Q = x_2² + 3x_2 + 7 stands on ξ_1 = (0, 1); B = 2, so |β| B^s = 6, 4. In units of u: ξ·x is off
    by 3, slot s by 4.25s, and 6 β and b with 8: 6 (4.25 + 3) + 4 (8.5 + 6) + 8 (6 + 4 + 7) = 237.5.
    The floor for t = 1/2, 3/4, q = 3, G = 2^22 in float32: a step is 1/2, a half of it 1/4, t^3 is
    1/8 and 27/64, so 1/8 and 11/64 from a multiple of 1/4 are 8/64 and 5/64 (27 - 32) away.
    """
    import torch

    u, law = 2.0**-24, "(0.01/2u)^(1/(q−2))"
    digits = as_printed(5e-6, "five decimals, worked out by hand")
    for q, B in ((3, 83886.08), (4, 289.63094)):
        found = claim.measured("largest B", tower.largest_bound("float32", q), equation=law, q=q)
        found.within(B, digits)
    low, high = tower.bounds_without_overflow(torch.float32, 2)
    lowest = exact.rational(low) * 2**63
    claim.measured("smallest B, times 2^63", lowest, equation="B^q ≥ 2^−126").equals(1)
    largest = claim.measured("largest B²/2^128", high**2 / 2.0**128, equation="6.5B^q")
    largest.within(1 / 6.5, rounding_error(2e-7, "2^−24, the largest number is below 2^128"))
    Q = polynomials.Polynomial(2, {(0, 2): 1, (0, 1): 3, (0, 0): 7})
    bound = tower.output_bound(powers.construction(Q, 2), 2, "float32") / u
    output = claim.measured("bound on |C − Q| over u", bound, equation="237.5", B=2)
    output.within(237.5 * (1 + 2**-10), rounding_error(1e-3, "terms of second order"))
    floor = tower.error_floor(torch.tensor([0.5, 0.75]), 3, 2.0**22)
    claim.measured("floor, in 64ths", round(64 * floor), equation="spacing(G)/2", q=3).equals(8)


@pytest.mark.parametrize("q", [4, 5, 6], ids="q={}".format)
@pytest.mark.construct
def test_rate_the_printed_lifts_lose_q_minus_2_powers_of_B(q, claim):
    """Printed: from a quarter of 2uB^(q-2) to that and what the other lifts add. These are 2 + 2B
    in block 1, 5 and E = 2 (2 + 2B + 1) + 6 in block 2 (its lift is 2B²), and 2 + 2B^(i-2) in block
    i: 2 (B + ... + B^(q-2)) + 6B + 15 + 2q in units of u. From B = 27 to 6561 an exponent that is
    off by 1/2 would be off by a factor 15. Roomy: 4.25qu for the same B.
    """
    u = roundoff.unit("float64")
    for B in (27.0, 729.0, 6561.0):  # powers of 2 would only shift all numbers
        at = {"equation": "2uB^(q−2)", "B": B, "lifts": "printed"}
        error = claim.measured(ERROR, stored(claim, "float64", B, q, "printed")[0], **at)
        error.at_least(floor(claim, "float64", B, q, 2 * B ** (2 * q - 2)))
        sizes = 2 * sum(B**j for j in range(1, q - 1)) + 6 * B + 15 + 3 * q
        by_hand = "2 + 2B, 17 + 4B, and 2 + 2B^(i−2) of block i ≥ 3; q roundings of t^q"
        error.at_most(rounding_error(u * sizes * (1 + 2**-10), by_hand))
        at = {"equation": "4.25qu", "B": B, "lifts": "roomy"}
        flat = claim.measured(ERROR, stored(claim, "float64", B, q, "roomy")[0], **at)
        flat.at_most(rounding_error(5.26 * q * u, "4.25qu, and q roundings of t^q in float64"))


@pytest.mark.construct
def test_the_digits_lost_as_a_picture(claim):
    """q = 5: error against B for three types, printed and roomy lifts, with the recursion."""
    Bs = [float(b) for b in np.geomspace(0.1, 100, claim.at_scale(smoke=7, laptop=13, paper=25))]
    both = ("printed", "roomy")
    found = {m: {d: [stored(claim, d, B, 5, m)[0] for B in Bs] for d in TYPES} for m in both}
    bounds = {m: {d: [bound(d, B, 5, m) for B in Bs] for d in TYPES} for m in both}
    roomy, printed = found["roomy"], found["printed"]["float32"]
    pairs = zip(roomy["float64"], bounds["roomy"]["float64"], strict=True)
    above = claim.measured("error above its bound", max(a - b for a, b in pairs), equation="e_5")
    above.at_most(rounding_error(5 * roundoff.unit("float64"), "5 roundings of t^5 itself"))
    middle = len(Bs) // 3
    claim.figure(
        pictures.digits(Bs, found, bounds),
        "digits",
        caption="The printed M = B^(i−1) loses 3 digits for each factor 10 of B, and for B < 1 "
        "another token wins and the error is of order 1 in every type. M² = 9/8 B^i loses nothing. "
        "Theorem 3.5 in floating point, q = 5; in rationals the error is 0.",
        alt="Relative error of the stored t^5 against B from 0.1 to 100, one panel for each lift. "
        f"Printed: of order 1 below B = 1; then, in float32, from {printed[middle]:.1e} at "
        f"B = {Bs[middle]:.0f} up to {printed[-1]:.1e} at B = 100. Repaired with room: flat, at "
        f"most {max(roomy['float32']):.1e} in float32 and {max(roomy['float64']):.1e} in float64, "
        "below the bounds.",
    )


CARRIED = [("float64", q) for q in (5, 6, 8, 10)] + [("float32", q) for q in (4, 5, 6, 8, 10)]


@pytest.mark.parametrize(("dtype", "q"), CARRIED, ids=[f"{d}-q={q}" for d, q in CARRIED])
@pytest.mark.construct
def test_the_largest_ball_that_a_type_carries(dtype, q, claim):
    """To 1 % of B^q with the printed M: by trying, in steps of a twentieth of a decade."""
    import torch

    predicted = tower.largest_bound(dtype, q)
    middle, carried = round(20 * math.log10(predicted)), 0.0
    for k in range(middle - 8, middle + 9):
        if stored(claim, dtype, 10 ** (k / 20), q, "printed")[0] <= 0.01:
            carried = 10 ** (k / 20)
    claim.record("largest B, and as predicted", [carried, predicted], lifts="printed")
    low, high = tower.bounds_without_overflow(getattr(torch, dtype), q)
    claim.record("B between underflow and overflow of B^q", [low, high], lifts="roomy")
    error, lost = stored(claim, dtype, 0.9 * high, q, "roomy")
    allowed = bound(dtype, 1.0, q, "roomy") + q * roundoff.unit("float64")
    at = {"equation": "4.25qu for every B", "share_of_largest_B": 0.9}
    any_B = rounding_error(allowed, "the recursion of tower.py, which does not depend on B")
    claim.measured(ERROR, error, **at).at_most(any_B)
    claim.measured("tokens that lost", lost, **at).equals(0)
    # e_q lies between a third and twice 2 u B^(q-2) B^q, by where G falls between powers of 2.
    factor = 10**0.05 * 3 ** (1 / (q - 2))
    why = "a step of 10^(1/20); a factor 3 for the place of G between two powers of 2"
    name, law = "largest B over its prediction", "(0.01/2u)^(1/(q−2))"
    ratio = claim.measured(name, carried / predicted, equation=law)
    ratio.at_most(grid_error(factor, why)).at_least(grid_error(1 / factor, why))


@pytest.mark.parametrize("lifts", ["printed", "repaired", "roomy"])
@pytest.mark.exact
def test_bfloat16_does_not_carry_t_cubed_with_these_lifts(lifts, claim):
    """B = 1, t = 117/128. Slot 1: 2 + t = 186.5/64 becomes 186/64, 2 less that is -58/64 = -29/32.
    Slot 2: 2 - t 29/32 = 149.97/128, so 150/128, and 106/128 = 53/64. Slot 3: 2 + t 53/64 =
    176.4/64, so 176/64, and -3/4 (with 9/4 for 2 the same). t^3 = 1601613/2^21 is 28749/2^21 away,
    more than 1 %. Without lifts, as in the finding no cancellation, (1 + u)^2 - 1 is less than 1 %.
    """
    import torch

    t = torch.tensor([[117 / 128, 0.0]], dtype=torch.bfloat16, device=claim.device)
    error = exact.rational(tower.measured(t, 1.0, 3, getattr(powers, lifts))[0])
    at = {"equation": "e_3", "t": "117/128", "lifts": lifts, "times": "2^21"}
    claim.measured("error of t³", error * 2**21, **at).equals(28749)


@pytest.mark.construct
def test_the_experiment_of_section_5_in_float32(claim):
    """t standard normal, B = 7, q = 5: root mean square error of the stored t^5."""
    import torch

    t = torch.tensor(claim.rng("normal").normal(size=(2000, 4)), device=claim.device)
    t, rows, found = t.float().clamp(-7, 7), model.Layout(4, 5), {}
    for lifts in ("printed", "roomy"):
        blocks = powers.power_blocks(4, 5, getattr(powers, lifts)(5, 7))
        Z = powers.tokens_after((b.to(torch.float32, claim.device) for b in blocks), rows, t)
        off = Z[:, rows.slot(5)].double() + t.double() ** 5
        found[lifts] = off.square().mean().sqrt().item()
        claim.record("root mean square error of t⁵", found[lifts], lifts=lifts)
    # The last lift is G = 2 * 7^8 in [2^23, 2^24): there float32 has steps of 1, and a rounding
    # that falls anywhere in a step is off by 1/sqrt(12) = 0.29 in the root mean square.
    rms, name = 1 / math.sqrt(12), "root mean square error of t⁵"
    step = "a step of 1 at G = 2·7⁸, evenly, is 1/√12; the other lifts are 49 times less"
    printed = claim.measured(name, found["printed"], equation="step(G)/√12", lifts="printed")
    printed.at_least(rounding_error(rms / 2, step))
    printed.at_most(rounding_error(rms * 2, step))
    most = rounding_error(rms / 60, "G is 7³ · 8/9 = 305 times smaller, five blocks add up")
    claim.measured(name, found["roomy"], equation="step(G)/√12", lifts="roomy").at_most(most)


@pytest.mark.parametrize("B", [0.1, 0.5], ids="B={}".format)
@pytest.mark.parametrize("dtype", TYPES)
def test_control_the_printed_lifts_below_one_are_wrong_in_every_type(dtype, B, claim):
    """q = 5, B < 1: not rounding but another token; no precision helps."""
    error, lost = stored(claim, dtype, B, 5, "printed")
    why, M = "the block stores G − max α: off by 2B⁵ − 2B⁸ in slot 4 at t = (B, −B)", "M = B^(i−1)"
    claim.measured(ERROR, error, equation=M).at_least(theorem(0.5, why))
    claim.measured("tokens that lost", lost, equation=M).at_least(theorem(1, why))
