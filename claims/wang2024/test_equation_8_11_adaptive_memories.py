"""Equations (8)-(11) (wang2024, Section 5.1): Task II, distances that the tokens choose.

    y_t = f(x_t, x_{t-t_1}, ..., x_{t-t_M}),    t_i = g_i(x_t, x_{t-t_1}, ..., x_{t-t_min(i-1, K)}),
with g_i in the Barron space, integers 1 <= g_i <= T_i, and f in it and Lipschitz; K = 0 is (9).

Checked, in integers and rationals: Target.fetched against the definition, written down once more
for one position, on all windows, K = 0, 1 and 2; the memory functions are networks with the stated
values, and so are their logarithms, which log-RPE needs. An integer-valued g that is continuous is
constant on a connected set of tokens: between two values every network passes 3/2, found exactly.
So the class has adaptive memories for separated tokens only; for finitely many every g is a
network. (9) as printed.
Controls: a pointer that depends on a memory is no function of x_t; distances beyond T_i.

Not checked: that f and g_i of the targets have the least possible norms (the claims on (5)-(7) and
Theorem 5.1 do some). "f in B and in L": a Barron function is Lipschitz, see the claim on (5)-(7).
"""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.numerics import barron, exact, logarithms
from repro.wang2024 import adaptive, chains, moving, rounding, targets


def sign_step(*tokens):
    return 1 if tokens[-1] == 1 else 2


MEMORIES = {  # name: K, and the g_i of all tokens that they may read, by hand
    "FOLLOW": (0, [lambda x: x + 2]),
    "TWO_POINTERS": (0, [lambda x: x + 2, lambda x: 1 + abs(x)]),
    "NESTED": (1, [sign_step, sign_step]),
    "BRANCHED": (1, [sign_step, lambda x, y: 1 if x == y else 2, sign_step]),
    "THREE_DEEP": (2, [sign_step, sign_step, sign_step]),
}


def target(name):
    return chains.chain(2, 3) if name == "THREE_DEEP" else getattr(targets, name)


def readout(name, tokens):
    """f by hand: a product of signs, a majority, or the fetched token itself."""
    if name == "FOLLOW":
        return tokens[1]
    if name == "TWO_POINTERS":
        return max(-1, min(1, sum(tokens)))
    return int(np.prod(tokens))


def by_definition(name, x, t):
    """(8) for one t: the distances t_1, ..., t_M and y_t."""
    K, functions = MEMORIES[name]
    distances = []
    for i, g in enumerate(functions, start=1):
        reads = [x[t]] + [x[t - distance] for distance in distances[: min(i - 1, K)]]
        distances.append(g(*reads))
    return distances, readout(name, [x[t]] + [x[t - distance] for distance in distances])


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.exact
def test_every_window_by_the_definition(name, claim):
    """All windows of `reach` + 3 tokens, at every position that has its memories."""
    one = target(name)
    windows = one.windows(one.reach + 3)
    distances, outputs = one.fetched(windows)[0], one(windows)
    wrong = 0
    for x, found, y in zip(windows[..., 0].astype(int).tolist(), distances, outputs, strict=True):
        stated = [by_definition(name, x, t) for t in range(one.reach, len(x))]
        wrong += found.tolist() != [d for d, _ in stated] or y.tolist() != [y for _, y in stated]
    claim.record("windows", len(windows))
    claim.record("positions", 3 * len(windows))
    claim.measured("windows with another distance or output", wrong, equation="(8)").equals(0)
    claim.measured("K", one.K, equation="(8)").equals(MEMORIES[name][0])


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.exact
def test_memory_functions_and_their_logarithms_are_networks(name, claim):
    """At all tokens that they can read: equal to g_i, and e^network equal to g_i, exactly."""
    Log, one = logarithms.Log, target(name)
    for i, memory in enumerate(one.memories, start=1):
        combinations = one.windows(one.reads(i))[..., 0]
        stated = [MEMORIES[name][1][i - 1](*map(int, tokens)) for tokens in combinations]
        at = exact.rationals(combinations)
        lin, log = ([barron.value(f, x) for x in at] for f in (memory.lin, memory.log))
        wrong = sum(a != b for a, b in zip(lin, stated, strict=True))
        claim.measured("wrong values of g_i", wrong, equation="g_i ∈ B", i=i).equals(0)
        wrong = sum(a != Log(b) for a, b in zip(log, stated, strict=True))
        claim.measured("wrong values of log g_i", wrong, equation="log g_i", i=i).equals(0)
        outside = sum(not 1 <= value <= memory.T for value in stated)
        beyond = claim.measured("values beyond 1, ..., T_i", outside, equation="(10), (11)", i=i)
        beyond.equals(0)


small = st.fractions(min_value=-3, max_value=3, max_denominator=6)
networks = st.lists(st.tuples(small, small, small), min_size=1, max_size=6)


def value(neurons, x):
    return sum((a * max(b * x + c, 0) for a, b, c in neurons), start=Fraction(0))


def crossing(neurons, level):
    """A point of [-1, 1] where the network is exactly `level`, which it passes from -1 to 1."""
    bends = {-c / b for _, b, c in neurons if b != 0}
    places = sorted({Fraction(-1), Fraction(1), *(x for x in bends if -1 < x < 1)})
    for left, right in itertools.pairwise(places):
        low, high = value(neurons, left) - level, value(neurons, right) - level
        if low * high <= 0:
            return left if low == 0 else left + (right - left) * low / (low - high)
    raise AssertionError("a continuous function skips no value")


@pytest.mark.exact
def test_between_two_integers_every_network_passes_the_middle(claim):
    """Any network h with h(-1) != h(1), scaled to g(-1) = 2 and g(1) = 1: somewhere g = 3/2."""

    def away(h):
        low, high = value(h, Fraction(-1)), value(h, Fraction(1))
        if low == high:
            return 0  # nothing to scale
        slope = 1 / (low - high)
        g = [(a * slope, b, c) for a, b, c in h] + [(1 - slope * high, Fraction(0), Fraction(1))]
        ends = abs(value(g, Fraction(-1)) - 2) + abs(value(g, Fraction(1)) - 1)
        return ends + abs(value(g, crossing(g, Fraction(3, 2))) - Fraction(3, 2))

    name = "distance of g from 2, 1 and 3/2 where it must be that"
    examples = claim.at_scale(smoke=30, laptop=200, paper=10_000)
    claim.for_all(name, networks, away, equation="(10)", examples=examples)


@pytest.mark.exact
def test_on_finitely_many_tokens_every_function_is_a_network(claim):
    """One neuron for each token of the line, whatever the values: class (10) is not empty there."""
    tokens = st.lists(small, min_size=1, max_size=8, unique=True).map(sorted)
    cases = st.tuples(tokens, st.lists(st.integers(1, 9), min_size=8, max_size=8))

    def wrong(case):
        x, g = case[0], [Fraction(v) for v in case[1]]
        neurons, slope = [(g[0], Fraction(0), Fraction(1))], Fraction(0)
        for j in range(len(x) - 1):
            steeper = (g[j + 1] - g[j]) / (x[j + 1] - x[j]) - slope
            neurons.append((steeper, Fraction(1), -x[j]))
            slope += steeper
        return sum(value(neurons, place) != v for place, v in zip(x, g, strict=False))

    examples = claim.at_scale(smoke=25, laptop=200, paper=5000)
    claim.for_all("tokens with another value", cases, wrong, equation="g_i ∈ B", examples=examples)


def value_and_nearest_integer(x):
    """g is continuous, with g(-1) = 2 and g(1) = 1."""
    from fractions import Fraction

    g = 2 * max(Fraction(3 - x, 4), 0)
    return g, round(g)


def test_reading_the_tokens_may_fill_an_interval(claim):
    """g(1) = 1, g(-1) = 2 of Section 5.1 as a network on [-1, 1]: at 0 it is 3/2, no distance."""
    network = targets.by_sign().lin
    at_zero = barron.value(network, exact.rationals([0]))
    (nearest,) = rounding.nearest(exact.vector([at_zero]))
    claim.counterexample(
        "a Barron function with values in 1, 2, ... takes two of them on a connected set of tokens",
        input={"g": "2 relu((3 - x)/4)", "g(-1)": 2, "g(1)": 1, "x": 0}, printed=False,
        measured=at_zero, expected=nearest, equation="g(0) = [g(0)]",
        program=value_and_nearest_integer, x=0,
    )  # fmt: skip


def first_distance_by_9_and_by_8(t):
    """g(x) = x + 2: (9) prints g(x_1), and (8) with K = 0 has g(x_t)."""
    x = [0, -1, 1, 0, 1]
    return x[1] + 2, x[t] + 2


def test_printed_nine_takes_the_token_number_i(claim):
    """(9) has t_i = g(x_i) where (8) with K = 0 has t_i = g_i(x_t): one window, t = 4, i = 1."""
    x, t = [0, -1, 1, 0, 1], 4
    (by_eight,), _ = by_definition("FOLLOW", x, t)
    by_nine = MEMORIES["FOLLOW"][1][0](x[1])
    found = targets.FOLLOW.fetched(np.array(x, dtype=float)[:, None])[0]
    claim.measured("t_1 of the model", int(found[-1, 0]), equation="(8), K = 0").equals(by_eight)
    claim.counterexample(
        "(9), t_i = g(x_i), is (8) with K = 0",
        input={"x_0, ..., x_4": x, "t": t, "g(x)": "x + 2", "i": 1}, measured=by_nine,
        expected=by_eight, equation="t_1 by (9) = t_1 by (8)",
        program=first_distance_by_9_and_by_8, t=t,
    )  # fmt: skip


def test_control_a_pointer_that_reads_a_memory_is_no_function_of_the_token(claim):
    """NESTED in one stage: refused; any function of x_t alone is off by 1/2 or more somewhere."""
    one = targets.NESTED
    heads = [moving.silent("lin", T) for T in one.distances]
    with pytest.raises(ValueError, match=r"g_2 reads the memories \[1\], not fetched before"):
        adaptive.transformer(one, heads, adaptive.two_layers(one))
    windows = one.windows(one.reach + 1)
    present, second = windows[:, -1, 0], one.fetched(windows)[0][:, -1, 1]
    least = [Fraction(int(np.ptp(second[present == x])), 2) for x in (-1, 1)]
    name = "error of the best function of x_t for t_2"
    why = "t_2 takes both values 1 and 2 for the same x_t; (15) needs less than 1/2"
    claim.measured(name, max(least), equation="(10), (11)").at_least(theorem(Fraction(1, 2), why))


def test_control_distances_beyond_T_are_refused(claim):
    """g(x) = x + 2 with T = 2 for T = 3: the target says so, and so do heads for T = 2.

    They follow 1 and 2: 8/3 - 2 + 1/3 = 1, 16/3 - 8 + 8/3 = 0, 32/3 - 32 + 64/3 = 0 at s = B,
    B - 1, B - 2. At s = B - 3 they have 64/3 - 128 + 512/3 = 64.
    """
    memory = dataclasses.replace(targets.by_value(), T=2)
    short = dataclasses.replace(targets.FOLLOW, memories=(memory,))
    with pytest.raises(ValueError, match="g_1 has to lie between 1 and 2"):
        short.fetched(short.windows(4))
    with pytest.raises(ValueError, match="memories reach 3 back: n=3 tokens are too few"):
        targets.FOLLOW.fetched(short.windows(3))
    bases, alphas = (2, 4, 8), exact.rationals(["8/3", -2, "1/3"]).tolist()
    heads = [moving.Moving("lin", 2, tuple(map(logarithms.Log, bases)), tuple(alphas), 1)]
    with pytest.raises(ValueError, match="memory 1 reaches T=3, got heads for T=2"):
        adaptive.transformer(targets.FOLLOW, heads, [[1]])
    missed = abs(heads[0].kernel(3, 4) - np.eye(4)[3]).sum()
    why = "ψ(0) = 1, ψ(−1) = ψ(−2) = 0 and ψ(−3) = 64, for ψ(u) = 8/3 2⁻ᵘ − 2 4⁻ᵘ + 1/3 8⁻ᵘ"
    off = claim.measured("ℓ₁ error of these heads", missed, equation="g ≤ T", g=3)
    off.at_least(theorem(64 - 1e-9, why + "; 1e-9 for rounding"))
