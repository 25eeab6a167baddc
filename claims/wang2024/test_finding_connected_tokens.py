"""Finding (wang2024, on classes (10) and (11)): on connected tokens adaptive memories are fixed.

A Barron function whose values are integers is constant on every connected set of tokens. So if the
set of tokens is connected, all t_i of (10) and (11) are constants, and these classes are no larger
than that of Section 4 (equal t_i are merged). Different pointers need tokens apart: g(x) != g(x')
forces |g|_B >= 1 / |x - x'|_inf, so the width that Theorem 5.1 asks for grows like
|x - x'|^-2.

Proof. 1. |relu(b.x + c) - relu(b.x' + c)| <= |b|_1 |x - x'|_inf, so |g(x) - g(x')| is at most
|g|_B |x - x'|_inf. If the values are different integers, the left side is 1 or more.
2. So g is continuous, and a continuous function with integer values on a connected set is constant.
3. Class (11), by induction. The set of sequences is a product of connected sets, and so connected.
If t_1, ..., t_i are constants T_1, ..., T_i, then g_(i+1)(x_t, x_{t-T_1}, ..., x_{t-T_i}) is a
continuous function of the sequence with integer values: a constant.

Checked, in rationals: 1 for random measures and tokens; on the segment between two tokens with the
pointers 1 and 2 the token, found exactly, at which a random g is 3/2; a g with the pointers 1 and 2
at the distance delta, whose norm is at most 1/delta + 1.
Control: a steep step, whose norm is not bounded; only few tokens lie between the integers.

Not checked: whether a width of order |x - x'|^-2 is necessary; (15) and Lemma F.6 ask for it.
"""

from itertools import pairwise

import pytest

from repro.bounds import exactly, theorem
from repro.numerics import barron, exact

STEP = "|g(x) − g(x′)| ≤ |g|_B |x − x′|_∞"


def drawn(claim, d):
    """Random measures on five neurons, and two tokens each; coordinates are halves."""
    rng = claim.rng(f"measures, {d}")
    for _ in range(claim.at_scale(smoke=20, laptop=200, paper=5000)):
        shares = rng.integers(1, 10, 5).tolist()
        p = [exact.rational(share) / sum(shares) for share in shares]
        a, c = (rng.integers(-6, 7, 5).tolist() for _ in range(2))
        f = barron.Measure.of(list(zip(p, a, rng.integers(-6, 7, (5, d)).tolist(), c, strict=True)))
        x, y = exact.rationals(rng.integers(-4, 5, (2, d)).tolist()) / 2
        if f(x) != f(y):
            yield f, x, y


@pytest.mark.exact
def test_a_function_and_its_norm_by_hand(claim):
    """2 relu(x - y) and -3 relu(y + 1/2), with 1/2 each: 2 - 9/4 at (3, 1), 0 - 3/4 at (0, 0), and
    the norm (2 (1 + 1) + 3 (1 + 1/2)) / 2. The step is 1/2 <= 17/4 3. Probabilities add up to 1."""
    f = barron.Measure.of([("1/2", 2, [1, -1], 0), ("1/2", -3, [0, 1], "1/2")])
    stated = exact.rationals(["-1/4", "-3/4", "17/4"]).tolist()
    claim.measured("values, norm", [f([3, 1]), f([0, 0]), f.moment(1)], equation=STEP).equals(
        stated
    )
    for p in (("1/2", "1/3"), ("3/2", "-1/2")):
        with pytest.raises(ValueError, match="needs probabilities that sum to 1"):
            barron.Measure.of([(p[0], 1, [1], 0), (p[1], 1, [1], 0)])


@pytest.mark.parametrize("d", [1, 3], ids="d={}".format)
@pytest.mark.exact
def test_different_pointers_need_a_large_norm_or_distant_tokens(d, claim):
    """g = 1 + (f - f(x)) / (f(y) - f(x)) is 1 at x and 2 at y; its slopes are scaled ones of f."""
    ratios = []
    for f, x, y in drawn(claim, d):
        slopes = f.probabilities @ (abs(f.a) * abs(f.b).sum(-1))  # at most B_1 of f
        ratios.append(slopes / abs(f(y) - f(x)) * max(abs(x - y)))
    claim.record("pairs of tokens", len(ratios))
    least = claim.measured("least norm times distance", min(ratios), equation=STEP)
    least.at_least(theorem(exact.rational(1), "1 of the proof"))


def halfway(f, x, y):
    """A point of the segment from x to y at which f is the mean of f(x) and f(y), exactly.

    Along the segment f is straight between the points at which one of its neurons bends.
    """
    wanted, zero, one = (f(x) + f(y)) / 2, exact.rational(0), exact.rational(1)
    start, change = f.b @ x + f.c, f.b @ (y - x)
    bends = [-s / v for s, v in zip(start, change, strict=True) if v != 0 and zero < -s / v < one]
    for s, t in pairwise(sorted([zero, *bends, one])):
        low, high = (f(x + r * (y - x)) - wanted for r in (s, t))
        if low * high <= 0 and low != high:
            return x + (s + (t - s) * low / (low - high)) * (y - x)
    raise ArithmeticError("no point of the segment has the mean value")


@pytest.mark.parametrize("d", [1, 3], ids="d={}".format)
@pytest.mark.exact
def test_between_two_pointers_some_token_has_none(d, claim):
    """The same g: at the point where f is the mean of f(x) and f(y) it is 3/2."""
    cases = list(drawn(claim, d))
    values = set()
    for f, x, y in cases:
        token = halfway(f, x, y)
        values.add(str(1 + (f(token) - f(x)) / (f(y) - f(x))))
    claim.record("pairs of tokens", len(cases))
    claim.measured("g at that token", sorted(values), equation="g(x) = 1, g(y) = 2").equals(["3/2"])


@pytest.mark.parametrize("apart", ["1/2", "1/10", "1/1000"], ids="delta={}".format)
@pytest.mark.exact
def test_two_tokens_apart_may_have_two_pointers(apart, claim):
    """Tokens 0 and delta: relu(x/delta + 1) is 1 and 2. Its norm is from 1/delta to 1/delta + 1."""
    delta = exact.rational(apart)
    g = barron.Measure.of([(1, 1, [1 / delta], 1)])
    values = [g([0]), g([delta])]
    claim.measured("g(0), g(δ)", values, equation="(10)").equals([1, 2])
    norm = claim.measured("norm of g", g.moment(1), equation=STEP)
    norm.at_least(theorem((values[1] - values[0]) / delta, "1 of the proof"))
    norm.at_most(exactly(1 / delta + 1, "|b| + |c| of one neuron"))


def test_control_a_steep_step_leaves_few_tokens_between(claim):
    """1 + relu(m x) - relu(m x - 1) on [-1, 1]: its norm grows with m, and only the tokens between
    0 and 1/m have no integer. A limit of such functions is a step, which is not Barron."""
    for m in (10, 1000):
        step = barron.Network(*map(exact.rationals, ([1, 1, -1], [[0], [m], [m]], [1, 0, -1])))
        ends = barron.value(step, exact.rationals([[-1], [0], [f"1/{m}"], [1]])).tolist()
        claim.measured("g at −1, 0, 1/m, 1", ends, equation="(10)", m=m).equals([1, 1, 2, 2])
        share = exact.rational(f"1/{m}") / 2  # of the tokens in [-1, 1]
        whole = claim.measured("share of tokens with an integer", 1 - share, equation="(10)", m=m)
        whole.at_least(exactly(exact.rational("19/20"), "1 − 1/(2m) for m = 10"))
