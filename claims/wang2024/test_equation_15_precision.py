"""Equation (15) (wang2024, Appendix B): the feed-forward layer with precision.

FFN-tilde(x) = [FFN(x)] for lin-RPE, log[exp(FFN(x))] for log-RPE, [.] being the nearest integer; so
that, for an integer g in {1, ..., T},
    |FFN(x) - g| < 1/2  =>  [FFN(x)] = g,        |FFN(x) - log g| < 1/(4T)  =>  [exp FFN(x)] = g.

Class (12) has such layers, but for the last one, and attention without the denominator of (3); its
forward pass is compared with the formulas in the claim on Section 3.2.

Checked: the first in rationals, for random samples, through the model's own layer. The second by
the proof's chain: exp FFN(x) is off g by at most g (e^{1/(4T)} - 1), which is at most
T (e^{1/(4T)} - 1) <= e^{1/4} - 1 = 0.284... < 1/2 (it falls with T: (e^x - 1)/x rises with x);
in balls for every T up to 2000. Through the model's layer, at nearly the full 1/(4T) above and
below every log g: in rationals Log(g) comes out, in balls one that holds log g, in float64 what
torch has for log g.
Controls: 1/(2T) for 1/(4T); 1/2 itself for "< 1/2"; a g that jumps on a connected set of tokens,
where no continuous FFN stays within 1/2: near the jump it would have to be below and above 3/2. So
the premise can hold on separated tokens only, if g is not constant.

Not checked: that a network of some width meets the premises (Lemma F.6, Theorem 5.1).

Readings: at half an odd integer argmin is not unique, and the even integer is taken; no premise
leads there. The proofs do not round the last layer. Where e^z <= 1/2 the log form is log 0: here an
error. Where the proof prints |g_r - f|, |log g_r - f| is meant.
"""

from fractions import Fraction

import pytest
from hypothesis import strategies as st

from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import exact, logarithms
from repro.wang2024 import model, rounding

BITS = 200


def identity(rpe):
    """FFN(x) = relu(x + 1) - relu(-x - 1) - relu(1) = x, and then (15)."""
    a, b, c = (exact.rationals(w) for w in ([[1, -1, -1]], [[1], [-1], [0]], [1, -1, 1]))
    return model.FeedForward(a, b, c, rpe)


def near(g, offset):
    """A rational within 1e-50 of log g + offset."""
    import flint

    with flint.ctx.workprec(BITS):
        return rounding.midpoint(flint.arb(g).log()) + exact.rational(offset)


@pytest.mark.exact
def test_within_a_half_the_integer_comes_out(claim):
    layer, half = identity("lin"), Fraction(1, 2)

    def wrong(case):
        g, off = case
        return layer(exact.rationals([[g + off]]))[0, 0] - g

    offsets = st.fractions(-half, half).filter(lambda off: abs(off) < half)
    cases = st.tuples(st.integers(1, 60), offsets)
    examples = claim.at_scale(smoke=60, laptop=300, paper=10_000)
    claim.for_all("[FFN(x)] − g", cases, wrong, equation="(15), lin", examples=examples)


@pytest.mark.certified
def test_within_a_quarter_of_1_over_T_the_exponential_rounds_to_g(claim):
    """T (e^{1/(4T)} - 1) < 1/2 above g = T, T (1 - e^{-1/(4T)}) < 1/2 below, and less for g < T."""
    import flint

    half, wrong, last = flint.fmpq(1, 2), 0, flint.fmpq(1, 2)
    with flint.ctx.workprec(BITS):
        for T in range(1, 2001):
            x = flint.arb(1) / (4 * T)
            above, below = T * x.expm1(), -T * (-x).expm1()
            wrong += not (below < above < last)
            last = above
        first = flint.arb("1/4").expm1()
    claim.measured("T for which the error does not fall", wrong, equation="(15), log").equals(0)
    most = theorem(half, "e^{1/4} − 1 < 1/2")
    claim.measured("largest |exp FFN(x) − g|", first, equation="(15), log", T=1).at_most(most)


OFFSETS = {"above": Fraction(999_999, 1_000_000), "below": Fraction(-999_999, 1_000_000)}


@pytest.mark.parametrize("T", [1, 2, 7, 40], ids="T={}".format)
@pytest.mark.parametrize("side", OFFSETS)
@pytest.mark.exact
def test_the_layer_gives_the_logarithm_in_every_arithmetic(side, T, claim):
    import flint
    import torch

    layer, Log = identity("log"), logarithms.Log
    z = exact.vector([near(g, OFFSETS[side] / (4 * T)) for g in range(1, T + 1)])[:, None]
    wrong = sum(out != Log(g) for g, out in enumerate(layer(z)[:, 0], start=1))
    claim.measured("g whose logarithm is another, rationals", wrong, equation="(15), log").equals(0)
    with flint.ctx.workprec(BITS):
        out = layer.balls(BITS)(z)[:, 0]
        wrong = sum(not ball.overlaps(flint.arb(g).log()) for g, ball in enumerate(out, start=1))
        widest = max(ball.rad() for ball in out)
    claim.measured("g whose logarithm is another, balls", wrong, equation="(15), log").equals(0)
    most = rounding_error(flint.arb("1e-50"), "200 bits")
    claim.measured("radius", widest, equation="(15), log").at_most(most)
    floats = layer.to(torch.float64, claim.device)
    out = floats(model.rounded(z, torch.float64, claim.device))[:, 0]
    right = torch.arange(1, T + 1, dtype=torch.float64, device=claim.device).log()
    wrong = int((out != right).sum())
    claim.measured("g whose logarithm is another, float64", wrong, equation="(15), log").equals(0)


@pytest.mark.parametrize("T", [2, 7, 40], ids="T={}".format)
def test_control_twice_the_distance_is_too_much(T, claim):
    """1/(2T) for 1/(4T): T e^{1/(2T)} > T + 1/2, and T + 1 comes out."""
    z = near(T, OFFSETS["above"] / (2 * T))
    out = identity("log")(exact.vector([z])[:, None])[0, 0]
    least = theorem(1, "T e^{1/(2T)} − T > 1/2 + 1/(8T)")
    claim.measured("|[exp FFN(x)] − T|", abs(out.of - T), equation="(15), log").at_least(least)


def test_control_at_a_half_another_integer_is_as_near(claim):
    """|FFN(x) - g| = 1/2 for "< 1/2", g = 1: both 1 and 2 are nearest, and 2 is taken."""
    out = identity("lin")(exact.rationals([["3/2"]]))[0, 0]
    least = exactly(1, "[3/2] = 2 where ties go to even")
    claim.measured("|[FFN(x)] − g|", abs(out - 1), equation="(15), lin").at_least(least)


@pytest.mark.parametrize("slope", [1, 10**3, 10**9], ids="slope={}".format)
def test_control_a_jump_on_an_interval_is_not_met(slope, claim):
    """g = 1 for x <= 0 and 2 for x > 0 on [-1, 1]; FFN(x) = 1 + relu(s x) - relu(s x - 1)."""
    weights = ([[1, 1, -1]], [[0], [slope], [slope]], [1, 0, -1])
    ramp = model.FeedForward(*map(exact.rationals, weights), rounding="lin")
    x = exact.rationals([[-1], [0], [Fraction(1, 4 * slope)], [1]])
    off = abs(ramp(x)[:, 0] - exact.rationals([1, 1, 2, 2]))
    claim.measured(
        "of four tokens, those that are right", int((off == 0).sum()), equation="(15)"
    ).equals(3)
    least = theorem(1, "a continuous function takes the value 3/2 near the jump")
    claim.measured("largest |[FFN(x)] − g|", off.max(), equation="(15)").at_least(least)
