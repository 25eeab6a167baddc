"""Section 5.1, example I (wang2024): a parity that finds its own way back.

y_t = x_t x_{t-t_1} x_{t-t_2} with t_1 = g(x_t), t_2 = g(x_{t-t_1}), g(1) = 1, g(-1) = 2, on signs:
an adaptive memory (8) with K = M = 2.

Checked, exactly: the formula, written out, on all windows; that K = M = 2 and K = 1, M = 2 both
describe it, and that Theorem 5.4 builds the same network of L = 3 layers for either; that the
target is in class (11): g and log g are networks at the tokens, |g|_B = 2, and the readout is a
zigzag of the sum of its three tokens, which is the product at signs and has |f|_Lip = sqrt 3.
Controls: g with its values exchanged; t_2 counted from t - t_1.

Readings: t_2 counts from t, as x_{t-g(...)} says. A function on finitely many tokens has many
extensions; sqrt 3 and the path norm 29 belong to the zigzag.
"""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import exactly
from repro.numerics import barron, exact, logarithms
from repro.wang2024 import following, moving, targets

FORMULA = "y_t = x_t x_(t−t₁) x_(t−t₂)"
TRIPLES = list(itertools.product([-1, 1], repeat=3))  # x_{t-2}, x_{t-1}, x_t


def g(x):
    return 1 if x == 1 else 2


def formula(x, t, g=g):
    return x[t] * x[t - g(x[t])] * x[t - g(x[t - g(x[t])])]


def described(K):
    return dataclasses.replace(targets.NESTED, K=K)


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.exact
def test_the_target_is_the_formula_on_all_windows(K, claim):
    target, n = described(K), claim.at_scale(smoke=8, laptop=12, paper=16)
    windows = target.windows(n)
    rows = windows[..., 0].astype(int).tolist()
    stated = [[formula(x, t) for t in range(2, n)] for x in rows]
    wrong = int((target(windows).astype(int) != np.array(stated)).sum())
    claim.record("windows", len(rows))
    claim.measured("positions with another y_t", wrong, equation=FORMULA).equals(0)


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.exact
def test_one_window_by_hand(K, claim):
    """1, -1, -1, 1, -1: the third goes 2 back to 1, so 1 back; the fourth 1 back to -1, so 2; the
    fifth 2 back to -1, so 2."""
    target, x = described(K), np.array([1.0, -1, -1, 1, -1])[:, None]
    steps, tokens = (found.astype(int).tolist() for found in target.fetched(x))
    claim.measured("t₁, t₂", steps, equation=FORMULA).equals([[2, 1], [1, 2], [2, 2]])
    read = [[-1, 1, -1], [1, -1, -1], [-1, -1, -1]]
    claim.measured("tokens", tokens, equation=FORMULA).equals(read)
    counts = [target.reads(i) for i in (1, 2, 3)]
    reads = claim.measured("tokens that g_i reads", counts, equation="(8)")
    reads.equals([1, 2, 1 + K])  # x_t and the memories before, K of them at most
    with pytest.raises(ValueError, match="memories reach 2 back: n=2 tokens are too few"):
        target.fetched(x[:2])


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.exact
def test_two_descriptions_one_network_of_three_layers(K, claim):
    target, alphas = described(K), exact.rationals(["8/3", -2, "1/3"]).tolist()
    bases = (2, 4, 8)  # 8/3 2^-u - 2 4^-u + 1/3 8^-u is 1 at u = 0 and 0 at -1 and -2
    heads = moving.Moving("lin", 2, tuple(map(logarithms.Log, bases)), tuple(alphas), 1)
    network, other = (following.nested(described(k), heads) for k in (K, 3 - K))
    claim.measured("layers L", len(network.layers), equation="K + 1 + I{M ≥ K + 1}").equals(3)
    tokens = exact.rationals(target.windows(4).astype(int))
    differ = int((network(tokens) != other(tokens)).sum())
    name = "outputs that differ from the other description's"
    claim.measured(name, differ, equation="(8)").equals(0)


@pytest.mark.exact
def test_g_is_a_network_of_norm_2(claim):
    """Above by the path norm; below since |relu(b x + c)| <= |b| + |c| for |x| <= 1."""
    value, memory = barron.value, targets.by_sign()
    at_tokens = [value(memory.lin, exact.rationals([x])) for x in (1, -1)]
    claim.measured("g at 1 and −1", at_tokens, equation="g(1) = 1, g(−1) = 2").equals([g(1), g(-1)])
    norm = barron.path_norm(memory.lin)
    claim.measured("|g|_B, at most", norm, equation="2 relu((3 − x)/4)").equals(2)
    claim.measured("|g|_B, at least", max(at_tokens), equation="sup |g| ≤ |g|_B").equals(2)
    half = abs(at_tokens[0] - at_tokens[1]) / 2
    slope = abs(memory.lin.a[0] * memory.lin.b[0, 0])
    least = claim.measured(
        "|g|_Lip, and no extension has less", slope, equation="|g(1) − g(−1)| / 2"
    )
    least.equals(half)
    logs = [value(memory.log, exact.rationals([x])) for x in (1, -1)]
    off = sum(log != logarithms.Log(g(x)) for log, x in zip(logs, (1, -1), strict=True))
    name = "tokens at which log g is another"
    claim.measured(name, off, equation="log 2 relu((1 − x)/2)").equals(0)


def zigzag_network():
    network = targets.parity(3).network
    assert network is not None
    return network


@pytest.mark.exact
def test_the_readout_is_the_product_at_signs(claim):
    network = zigzag_network()
    values = [barron.value(network, exact.rationals(x)) for x in TRIPLES]
    products = [x[0] * x[1] * x[2] for x in TRIPLES]
    claim.measured("f at the 8 triples of signs", values, equation="x x′ x″").equals(products)


@pytest.mark.exact
def test_the_readout_is_a_zigzag_of_the_sum(claim):
    """The network against the zigzag written out, at rational points of |x|_inf <= 2."""
    network = zigzag_network()

    def zigzag(s):
        return s + 2 if s <= -1 else (-s if s <= 1 else s - 2)

    def difference(x):
        stated = exact.rational(zigzag(sum(x)))
        return barron.value(network, exact.rationals(x)) - stated

    points = st.tuples(*[st.fractions(min_value=-2, max_value=2, max_denominator=12)] * 3)
    examples = claim.at_scale(smoke=60, laptop=400, paper=5000)
    zig = {"equation": "f(x) = zigzag(Σ x)", "examples": examples}
    claim.for_all("network less zigzag", points, difference, **zig)
    x, y = [Fraction(1)] * 3, [Fraction(1, 3)] * 3
    rise = zigzag(sum(x)) - zigzag(sum(y))
    squares = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    slope = claim.measured(
        "largest slope squared, attained", rise**2 / squares, equation="|f|_Lip = √3"
    )
    slope.equals(3)
    claim.record("path norm of the readout", barron.path_norm(network))


def test_control_exchanged_values_of_g_are_another_target(claim):
    swapped = sum(formula(x, 2) != formula(x, 2, lambda token: 3 - g(token)) for x in TRIPLES)
    target = dataclasses.replace(targets.NESTED, memories=(swap(1), swap(2)))
    windows = target.windows(3)
    counted = int((target(windows) != targets.NESTED(windows)).sum())
    place = "g(1) = 1, g(−1) = 2"
    claim.measured("triples that differ, by the target", counted, equation=place).equals(swapped)
    differ = claim.measured("triples that differ", swapped, equation=place)
    differ.at_least(exactly(4, "counted over all 8 triples"))


def swap(reads):
    memory = targets.by_sign(reads)
    return dataclasses.replace(memory, g=lambda x: 3 - memory.g(x))


def test_control_steps_counted_from_the_token_fetched_are_another_target(claim):
    """x_{t-t_1-t_2} for x_{t-t_2}: it reaches four tokens back."""
    fives = list(itertools.product([-1, 1], repeat=5))

    def onward(x, t=4):
        there = t - g(x[t])
        return x[t] * x[there] * x[there - g(x[there])]

    wrong = sum(formula(x, 4) != onward(x) for x in fives)
    half = exactly(16, "counted over all 32 windows of 5")
    claim.measured("windows that differ", wrong, equation=FORMULA).at_least(half)
