"""Section F.1 (wang2024, Appendix F): how T5 counts distance.

    -r(n) = n for n < B,  B + floor(B log(n/B) / log(D/B)) for B <= n < D,  2B - 1 for n >= D,
said to be linear, then logarithmic, and logarithmic on the whole.

Checked: the formula in integers (repro/wang2024/t5.py: the floor is the largest k with
(D/B)^k <= (n/B)^B) against its logarithms in balls, for all B <= 12, D <= 40 and more; where a ball
holds an integer, which no number of bits resolves, (D/B)^k = (n/B)^B is checked in integers. It is
n below B; between B and D it is at most B + B log(n/B)/log(D/B), and less than 1 below that (exact:
two inequalities between integers); it never falls, and takes no value beyond 2B - 1.
Proof for all B, D, n: a floor is at most its argument and less than 1 below it; the argument grows
with n, from 0 at n = B to less than B at n < D, so the floor never falls and is at most B - 1.
Controls: rounding to the nearest integer for the floor; log n for log(n/B).

Readings: "logarithmic on the whole" is about n < D, D being "the longest distance of concern": from
D on r is constant. "Polynomial" decay below B is linear. In T5 itself
(Raffel et al. 2020) this number is the index of a bucket, and the bias is a scalar that each head
learns for each bucket: that r decreases is a choice of this paper, not of T5. T5 has 2B buckets for
each direction: B = 8, D = 128 where both directions are looked at, B = 16 in a causal decoder.
"""

import pytest

from repro.bounds import exactly
from repro.numerics import logarithms
from repro.wang2024 import t5


def pairs(claim):
    small = claim.at_scale(smoke=5, laptop=12, paper=16)
    some = [(B, D) for B in range(1, small + 1) for D in range(B + 1, 41)]
    return [*some, (8, 128), (16, 128), (32, 1000)]


def by_logarithms(n, B, D):
    """-r(n) as printed, in balls; None where a ball holds an integer."""
    import flint

    if not B <= n < D:
        return n if n < B else 2 * B - 1
    with flint.ctx.workprec(200):
        ball = logarithms.ball
        k = (B * (ball(n) / B).log() / (ball(D) / B).log()).floor().unique_fmpz()
    return None if k is None else B + int(k)


@pytest.mark.exact
def test_integers_and_logarithms_agree(claim):
    wrong = tried = undecided = 0
    for B, D in pairs(claim):
        for n in range(D + 3):
            exact, ball = t5.staircase(n, B, D), by_logarithms(n, B, D)
            tried += 1
            if ball is None:
                undecided += 1
                wrong += n**B * B ** (exact - B) != D ** (exact - B) * B**B
            else:
                wrong += exact != ball
    claim.record("distances tried", tried)
    claim.record("decided by integers alone", undecided)
    claim.measured("distances that differ", wrong, equation="Section F.1, −r(n)").equals(0)
    least = exactly(3, "n = 16, 32, 64, B = 8")
    claim.measured("floors of an integer", undecided, equation="Section F.1").at_least(least)


STAIRS = {  # (B, D), n: -r(n)
    (2, 32): {0: 0, 1: 1, 2: 2, 7: 2, 8: 3, 31: 3, 32: 3, 10**9: 3},
    (8, 128): {7: 7, 8: 8, 11: 8, 12: 9, 15: 9, 16: 10, 22: 10, 23: 11, 31: 11, 32: 12, 45: 12,
               46: 13, 63: 13, 64: 14, 90: 14, 91: 15, 127: 15, 128: 15},
    (1, 2): {0: 0, 1: 1, 2: 1},
}  # fmt: skip


@pytest.mark.exact
def test_staircases_by_hand(claim):
    """B = 2, D = 32: a step where n/2 is a power of 4. B = 8, D = 128: where n/8 is one of sqrt 2,
    8 sqrt 2 = 11.3, 16, 22.6, 32, 45.3, 64, 90.5. The last value is 2B - 1."""
    for (B, D), stairs in STAIRS.items():
        found = {n: t5.staircase(n, B, D) for n in stairs}
        claim.measured("−r(n)", found, equation="Section F.1", B=B, D=D).equals(stairs)


@pytest.mark.exact
def test_linear_then_within_one_of_the_logarithm_then_constant(claim):
    """k <= B log(n/B)/log(D/B) < k + 1 is D^k B^B <= n^B B^k and D^(k+1) B^B > n^B B^(k+1)."""
    linear = logarithmic = constant = falls = 0
    for B, D in pairs(claim):
        r = [t5.staircase(n, B, D) for n in range(2 * D)]
        linear += r[:B] != list(range(B))
        constant += set(r[D:]) != {2 * B - 1} or max(r) > 2 * B - 1
        falls += r != sorted(r)
        for n in range(B, D):
            k = r[n] - B
            below = D**k * B**B <= n**B * B**k
            above = D ** (k + 1) * B**B > n**B * B ** (k + 1)
            logarithmic += not (below and above)
    claim.measured("pairs (B, D) not linear below B", linear, equation="−r(n) = n").equals(0)
    claim.measured(
        "distances not within 1 of the logarithm", logarithmic, equation="B ≤ n < D"
    ).equals(0)
    claim.measured("pairs not constant from D on", constant, equation="−r(n) = 2B − 1").equals(0)
    claim.measured("pairs whose staircase falls somewhere", falls, equation="Section F.1").equals(0)


@pytest.mark.exact
def test_a_factor_of_ten_gains_six_steps_up_to_D_and_none_beyond(claim):
    """B = 8, D = 128: a logarithm gains B log(10) / log(D/B) = 6.6 with each factor 10."""
    within = t5.staircase(127, 8, 128) - t5.staircase(13, 8, 128)
    claim.measured("gain from 13 to 127", within, equation="Section F.1").equals(6)
    beyond = t5.staircase(1280, 8, 128) - t5.staircase(128, 8, 128)
    claim.measured("gain from 128 to 1280", beyond, equation="Section F.1").equals(0)


CHANGES = {
    "nearest for floor": lambda n, B, D, log: B + round(B * log(n / B) / log(D / B)),
    "log n for log(n/B)": lambda n, B, D, log: B + int(B * log(n) / log(D)),
}
FIRST = {
    "nearest for floor": (10, 1, "8 log(10/8) / log 16 = 0.64"),
    "log n for log(n/B)": (8, 3, "8 log 8 / log 128 = 24/7"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_control_another_formula_gives_other_distances(change, claim):
    """B = 8 and D = 128, at the first distance where the other formula differs."""
    import math

    formula, (n, more, why) = CHANGES[change], FIRST[change]
    other = formula(n, 8, 128, math.log) - t5.staircase(n, 8, 128)
    claim.measured("steps too many", other, equation="Section F.1", n=n).at_least(
        exactly(more, why)
    )
