"""Finding (sharpens fang2022, Theorem 3.5): position scores without cancellation.

The printed block adds 2M^2 to the product and takes it away again: with M = B^(q-1) this costs
(q - 2) log10 B digits of t^q, and even with M^2 = B^q the digits of every t^q far below B^q. With
the scores -c off the diagonal, and 0 on it, nothing is added, and in floating point the stored t^q
has relative error at most (1 + u)^(q-1) - 1, about (q - 1) u, for every t and every B, if
(q + 4) u < 3/4 and no number under- or overflows. (Proof: repro/fang2022/fewer_blocks.py, Rounding;
the condition there is (2p + 4) u < 3/4 for the blocks p <= q/2. In bfloat16 it allows q <= 187.)

Checked: the relative error against exact powers, in float64, float32 and bfloat16, for the doubling
blocks and for one product in a block; the same weights in rationals store the powers exactly.
Controls: the printed and the repaired lifts lose the digits predicted; c an eighth; underflow.

Not checked: other ways to round than to nearest.
"""

import math
from fractions import Fraction

import pytest

from repro.bounds import rounding_error, theorem
from repro.fang2022 import fewer_blocks, model, powers, tower
from repro.numerics import exact, roundoff

BOUNDS = ["1/10", "1", "10", "100"]
N = 4  # tokens
NAME = "largest relative error of the stored t^q"
BOUND = "(1+u)^(q−1) − 1"


def derived(q, dtype):
    return rounding_error(fewer_blocks.roundoff_bound(q, dtype), "q − 1 factors 1 + δ, see above")


def blocks_of(kind, q, B):
    """The blocks, and the sign with which they store t^q."""
    few, B = fewer_blocks, exact.rational(B)
    if kind in ("printed", "repaired"):
        return powers.power_blocks(N, q, getattr(powers, kind)(q, B)), (-1) ** q
    return {"doubling": few.doubling_blocks, "single": few.single_blocks}[kind](N, q, B), 1


def draw(claim, B, dtype, low=0.125, high=1.0):
    """Tokens with low B <= |t| <= high B, both signs mixed, in the type named `dtype`."""
    import torch

    rng, B = claim.rng("tokens"), float(Fraction(B))
    draws = claim.at_scale(smoke=60, laptop=500, paper=5000)
    t = B * rng.uniform(low, high, (draws, N)) * rng.choice([-1, 1], (draws, N))
    below = 1 - roundoff.unit(dtype)  # so that rounding does not pass B
    return torch.tensor(below * t, device=claim.device).to(getattr(torch, dtype))


def errors(kind, q, B, t):
    """|stored - t^q| and |t^q|, exactly, for tokens in floating point."""
    (blocks, sign), rows = blocks_of(kind, q, B), model.Layout(N, q)
    Z = powers.tokens_after((block.to(t.dtype, t.device) for block in blocks), rows, t)
    stored = exact.rationals(Z[..., rows.slot(q), :].double().cpu().numpy())
    true = exact.rationals(t.double().cpu().numpy()) ** q
    return abs(sign * stored - true), abs(true)


def relative(kind, q, B, t):
    """The largest error over |t|^q."""
    error, power = errors(kind, q, B, t)
    return float(exact.to_float((error / power).max()))


def over_B(kind, q, B, t):
    """The largest error over B^q, which is less."""
    worst = errors(kind, q, B, t)[0].max()
    return float(exact.to_float(worst / exact.rational(B) ** q))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize(
    ("kind", "q"), [("doubling", 5), ("doubling", 10), ("doubling", 15), ("single", 10)]
)
@pytest.mark.construct
def test_relative_error_within_the_derived_bound_for_every_B(kind, q, dtype, claim):
    bound = derived(q, dtype)
    found = {B: relative(kind, q, B, draw(claim, B, dtype)) for B in BOUNDS}
    for B, error in found.items():
        claim.measured(NAME, error, equation=BOUND, B=B).at_most(bound)


@pytest.mark.exact
def test_the_bound_and_an_error_near_it_worked_out_by_hand(claim):
    """bfloat16, u = 1/256, q = 5: (257^4 - 256^4) / 2^32 = 67503105 / 2^32; q = 2, float32: 2^-24.

    B = 1, t = 193/256: t² = 145.50/256, so 146/256 is stored; its square is 166.5/512, so 167/512;
    times t it is 251.8/1024, so 252/1024 = 63/256. And 63 256^4 - 193^5 = 2797755455, over 193^5
    that is 2.67 u, of the 4.02 u that the bound allows. One product a block: 146/256, then
    220.1/512, 165.9/512, 250.3/1024, so 250/1024, and 125 2^31 - 193^5 = 650271807.
    """
    import torch

    for q, dtype, expected in ((5, "bfloat16", 67503105 / 2**32), (2, "float32", 2.0**-24)):
        found = claim.measured("bound", fewer_blocks.roundoff_bound(q, dtype), equation=BOUND, q=q)
        found.within(expected, rounding_error(1e-15 * expected, "expm1 and log1p, an ulp each"))
    for kind, lifts in (
        ("printed", [200, 200, 20000, 2 * 10**6]),
        ("repaired", [20, 200, 2000, 20000]),
    ):
        built = [block.W_Q[1, 1] for block in blocks_of(kind, 4, "10")[0]]
        found = claim.measured("2M²", built, equation="M = B^(i−1), or M² = B^i", lifts=kind, B=10)
        found.equals(exact.rationals(lifts).tolist())
    floor = tower.error_floor(torch.tensor([0.5, 0.75]), 3, 2.0**22)  # t³ = 8/64, 27/64; step 1/2
    claim.measured("floor, in 64ths", round(64 * floor), equation="half a step, 16/64").equals(8)
    t = torch.full((1, N), 193 / 256, dtype=torch.bfloat16, device=claim.device)
    for kind, stored in (("doubling", 2797755455), ("single", 650271807)):
        error = errors(kind, 5, "1", t)[0].max() * 2**40
        at = {"equation": BOUND, "kind": kind, "t": "193/256", "times": "2^40"}
        claim.measured("error of the stored t^5", error, **at).equals(stored)


@pytest.mark.parametrize("B", BOUNDS, ids="B={}".format)
@pytest.mark.exact
def test_the_same_weights_store_exact_powers_in_rationals(B, claim):
    """The weights as float32 has them, the tokens as float32 has them, all powers to q = 10."""
    import torch

    q, rationals = 10, exact.rationals
    rows, t = model.Layout(N, q), rationals(draw(claim, B, "float32")[:40].double().cpu().numpy())
    rounded = [block.to(torch.float32).weights() for block in blocks_of("doubling", q, B)[0]]
    weights = [{name: rationals(w.double().numpy()) for name, w in one.items()} for one in rounded]
    Z = powers.tokens_after((model.Block(**one) for one in weights), rows, t)
    places = fewer_blocks.power_rows(rows)
    wrong = sum(int((Z[..., place, :] != t**s).sum()) for s, place in enumerate(places))
    claim.measured("wrong powers", wrong, equation="row of t^s = t^s").equals(0)


@pytest.mark.construct
def test_digits_against_the_bound_B_and_against_the_size_of_t(claim):
    """Errors over B^q for nine B, and over |t|^q for B = 1 and eight sizes of t."""
    q, dtype = 10, "float64"
    Bs = ["1/10", "3/10", "7/10", "9/10", "1", "3", "10", "30", "100"]
    sizes = [2.0**-k for k in range(8)]
    tokens = [draw(claim, "1", dtype, size / 2, size) for size in sizes]
    bound = derived(q, dtype)
    flat = max(over_B("doubling", q, B, draw(claim, B, dtype)) for B in Bs)
    small = max(relative("doubling", q, "1", t) for t in tokens)
    claim.measured("largest error over B^q", flat, equation=BOUND, B="all").at_most(bound)
    claim.measured(NAME, small, equation=BOUND, t="all sizes").at_most(bound)


LOSSES = [("float64", 5, "10"), ("float64", 10, "10"), ("float32", 5, "100")]


@pytest.mark.parametrize(
    ("dtype", "q", "B"), LOSSES, ids=[f"{d}-q={q}-B={B}" for d, q, B in LOSSES]
)
def test_control_the_printed_lifts_lose_q_minus_2_times_log_B_digits(dtype, q, B, claim):
    """2 M^2 = 2 B^(2q-2) for the scores -c: its rounding alone is u B^(q-2) of B^q."""
    t = draw(claim, B, dtype)
    found = over_B("printed", q, B, t)
    u, lost = roundoff.unit(dtype), (q - 2) * math.log10(float(B))
    claim.record("digits lost", math.log10(found / u))
    claim.record("digits predicted to be lost", lost)
    error = claim.measured("largest error over B^q", found, equation="u B^(q−2)")
    floor = tower.error_floor(t[:25], q, 2 * float(B) ** (2 * q - 2)) / float(B) ** q
    error.at_least(rounding_error(floor, "half a step at 2B^(2q−2), see tower.error_floor"))
    ours = fewer_blocks.roundoff_bound(q, dtype)
    error.at_least(theorem(10 * ours, "ten times our bound, as B^(q−2)/2 ≥ 10 (q−1)"))


@pytest.mark.parametrize("q", [5, 10], ids="q={}".format)
def test_control_even_the_repaired_lift_loses_the_digits_of_small_powers(q, claim):
    """2 M^2 = 2 B^q for the scores -c: rounding it costs u B^q, which is u 8^q of (B/8)^q."""
    t = draw(claim, "10", "float64", 0.125, 0.130)
    error = relative("repaired", q, "10", t)
    floor = tower.error_floor(t[:25], q, 2 * 10.0**q) / 1.3**q
    least = rounding_error(floor, "half a step at 2B^q, see tower.error_floor; |t| ≤ 0.13 B")
    claim.measured(NAME, error, equation="M² = B^q, |t| ≈ B/8").at_least(least)


def test_control_an_eighth_of_c_lets_the_wrong_token_win(claim):
    """t = (B/2, B), B = 1: token 1 stores B^2/2 - c = 3B^2/8 for B^2/4, half too much, exactly."""
    import torch

    rows = model.Layout(2, 2)
    block = fewer_blocks.products_block(rows, 0, 0, [(rows.one, rows.slot(2))], 0.125)
    block = block.to(torch.float32)
    stored = block(rows.tokens(torch.tensor([0.5, 1.0])))[rows.slot(2), 0].item()
    error = (stored - 0.25) / 0.25
    claim.measured(NAME, error, equation="c < B²/4").at_least(theorem(0.5, "(3/8 − 1/4) / (1/4)"))


def test_control_underflow_loses_the_power(claim):
    """|t|^q = 2^-165 is below the smallest float32, 2^-149: stored is 0, relative error 1."""
    import torch

    t = torch.full((1, N), 2.0**-11, dtype=torch.float32)
    error = relative("doubling", 15, "1", t)
    claim.measured(NAME, error, equation="|t|^q < 2^−149").at_least(theorem(1.0, "0 is stored"))
