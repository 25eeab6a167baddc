"""Section 4.2, non-necessity of the dot product (wang2024, p. 6).

"The DP component in Attn is not necessary and can be omitted for modeling fixed, long but sparse
memories ... one-layer Transformer can successfully tackle [sparse Boolean functions] even without
the dot product in the attention layer."

Every target: the layers of Theorem 4.1 have no dot product, and its corrected form is proved in
repro/wang2024/fixed.py.

Checked: heads with W_Q = W_K = 0 and heads without them give the same numbers, in rationals; with
them the error of Theorem 4.1's layer falls faster than H^-3. One layer without dot product computes
all 256 Boolean functions of x_t, x_{t-1}, x_{t-2} at once, with 256 outputs: in rationals with an
error below 1e-6 and every sign right, and in float64, for both types of RPE.
Trained on the parity of x_t, x_{t-1}, x_{t-3}, with and without dot product, from several random
starts: all runs are recorded. The sentence is about what can be represented, and how far training
gets is no part of it.
Control: for distances that the tokens choose, an attention without dot product, by itself, errs by
at least 1 (Proposition 5.2).

Not checked: whether a dot product could save heads. After an attention without dot product a ReLU
network can still choose among fixed memories, so that the control says nothing of whole layers
(finding one-layer-nested).
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.bounds import rounding_error, theorem
from repro.numerics import exact, logarithms
from repro.wang2024 import (
    exponentials,
    fixed,
    fixed_heads,
    powers,
    tables,
    targets,
    trained_transformer,
)
from repro.wang2024 import heads as head_sums

ERROR = "largest error found"
rpes = pytest.mark.parametrize("rpe", ["lin", "log"])


def with_zero_dot_product(network):
    """The same network whose heads have W_Q = W_K = 0."""
    (layer,) = network.layers
    nothing = 0 * layer.attention.W_O[:1]  # (1, D)
    heads = tuple(replace(head, W_Q=nothing, W_K=nothing) for head in layer.attention.heads)
    return replace(
        network, layers=(replace(layer, attention=replace(layer.attention, heads=heads)),)
    )


@rpes
@pytest.mark.exact
def test_a_zero_dot_product_is_none(rpe, claim):
    """All windows of 5 tokens; lin heads 2^-s, 3^-s and log heads s^-2, s^-3."""
    target, rationals = targets.SPARSE_PARITY, exact.rationals
    exponents = [logarithms.Log(k) for k in (2, 3)] if rpe == "lin" else [2, 3]
    without = fixed.transformer(target, rpe, exponents, rationals([[3, -1], [-2, 5]]), length=5)
    zero = with_zero_dot_product(without)
    free = [network.layers[0].attention.heads[0].dot_product_free for network in (without, zero)]
    claim.measured("heads without W_Q and W_K", free, equation="(7)").equals([True, False])
    differ = 0
    for x in itertools.product([-1, 1], repeat=5):
        tokens = rationals(x)[:, None]
        differ += bool((without(tokens) != zero(tokens)).any())
    claim.measured("windows with another output", differ, equation="W_Q = W_K = 0").equals(0)


def off_parity(network, windows):
    """|output - x_t x_{t-1} x_{t-3}| at the end of each window, in float64."""
    import torch

    outputs = network(torch.tensor(windows))[:, -1, 0].numpy()
    errors = np.abs(outputs - windows[:, [-1, -2, -4], 0].prod(1))
    assert np.isfinite(errors).all()
    return errors


@rpes
@pytest.mark.construct
def test_the_rate_of_theorem_4_1_without_dot_product(rpe, claim):
    """W_Q = W_K = 0 in float64, all windows of 10 tokens: faster than H^-1, H^-2, H^-3."""
    import torch

    target, few = targets.SPARSE_PARITY, 4 if rpe == "lin" else 5
    found = {}
    for H in (few, 2 * few):
        heads = fixed_heads.shared(rpe, target.distances, H)
        network = with_zero_dot_product(heads.transformer(target, 10).to(torch.float64))
        errors = off_parity(network, target.windows(10))
        found[H] = errors.max()
        allowed = math.sqrt(3) * heads.attention_error + heads.rounding(target, 10)
        most = theorem(allowed, "|f|_Lip E_Attn, E_FFN = 0; and rounding (wang2024.fixed_heads.py)")
        claim.measured(ERROR, found[H], equation="Theorem 4.1", H=H).at_most(most)
    for n in (1, 2, 3):
        ratio = found[2 * few] / found[few]
        fall = claim.measured(
            "error over that of half the heads", ratio, equation="Theorem 4.1", H=2 * few, n=n
        )
        fall.at_most(theorem(2.0**-n, "H^-n, as in Theorem 4.1"))


def all_functions():
    """The values of the 256 Boolean functions of three bits; (256, 8)."""
    return np.array(list(itertools.product([-1, 1], repeat=8)))


def every_boolean_function(rpe, exponents, alphas, length):
    """One layer with 256 outputs, for T = (1, 2)."""
    hats = tables.hats(tables.BOOLEAN, 3)
    target = targets.Target.fixed("bits", (1, 2), targets.majority(3))
    network = fixed.transformer(target, rpe, exponents, alphas, length=length, readout=hats)
    (layer,) = network.layers
    reads = replace(layer.feed_forward, a=exact.rationals(all_functions()))
    return replace(network, layers=(replace(layer, feed_forward=reads),))


def looked_up(x):
    """All 256 values at the last token, from the tables: word (x_t, x_{t-1}, x_{t-2}) in binary."""
    bits = [int(v > 0) for v in (x[-1], x[-2], x[-3])]
    return all_functions()[:, 4 * bits[0] + 2 * bits[1] + bits[2]]


@rpes
@pytest.mark.exact
def test_all_boolean_functions_of_three_bits_in_rationals(rpe, claim):
    """The 8 neurons of a table have slopes of at most 1/2 in each argument: error 4 (E_1 + E_2)."""
    if rpe == "lin":
        found = [exponentials.Interpolant(far, 3, flint.fmpq(1, 2**30)) for far in (1, 2)]
        alphas, errors = [one.alphas for one in found], [one.error for one in found]
    else:
        found = [powers.fixed(far, 2, first=50, step=50) for far in (1, 2)]
        alphas, errors = [one.coefficients for one in found], [one.error() for one in found]
    columns = exact.rationals([list(column) for column in alphas]).T
    n = claim.at_scale(smoke=4, laptop=5, paper=6)
    network = every_boolean_function(rpe, found[0].exponents, columns, n)
    worst, wrong = flint.fmpq(0), 0
    for x in itertools.product([-1, 1], repeat=n):
        outputs = network(exact.rationals(x)[:, None])[-1]
        stated = looked_up(x)
        worst = max(worst, *abs(outputs - stated))
        wrong += sum(bool(y * int(c) <= 0) for y, c in zip(outputs, stated, strict=True))
    claim.measured("wrong signs", wrong, equation="Section 4.1, example I", tokens=n).equals(0)
    total = sum(errors, errors[0] * 0)
    most = theorem(4 * total, "sum |c(w)| |w|_∞ / δ = 4, repro/wang2024/tables.py")
    claim.measured(ERROR, worst, equation="Section 4.1, example I").at_most(most)
    small = exact.rational(Fraction(1, 10**6))
    most = theorem(small, "the errors E_1, E_2 of the heads, in exact numbers")
    claim.measured("4 (E_1 + E_2)", 4 * total, equation="Section 4.1, example I").at_most(most)


@rpes
@pytest.mark.construct
def test_all_boolean_functions_of_three_bits_in_float64(rpe, claim):
    import torch

    heads, n = fixed_heads.shared(rpe, (1, 2), 7 if rpe == "lin" else 9), 10
    network = every_boolean_function(rpe, heads.exponents, heads.alphas, n).to(torch.float64)
    x = targets.TRIGRAM.windows(n)
    outputs = network(torch.tensor(x))[:, -1].numpy()
    assert np.isfinite(outputs).all()
    stated = np.array([looked_up(row) for row in x[..., 0]])
    claim.measured(
        "wrong signs", int((outputs * stated <= 0).sum()), equation="Section 4.1, example I"
    ).equals(0)
    error = np.abs(outputs - stated).max()
    weight = sum(float(head.W_V.abs().sum()) for head in network.layers[0].attention.heads)
    rounding = head_sums.roundoff(weight + 100, n, len(heads.exponents))
    allowed = 4 * (sum(heads.errors) + rounding)
    found = claim.measured(ERROR, error, equation="Section 4.1, example I")
    found.at_most(
        theorem(
            allowed, "4 (E_1 + E_2), proved over all of N; and 4 times the rounding of the heads"
        )
    )


def trained(claim, dot_product):
    """Of every run the numbers, its heads with a dot product, and its error by the definition."""
    fit = trained_transformer
    spec = fit.FitTransformer(
        target="sparse parity", rpe="lin", layers=1, heads=6, dot_product=dot_product,
        steps=claim.at_scale(smoke=25, laptop=400, paper=6000), length=12, lr=1e-2,
        seed=claim.seed("start") % 2**31, runs=claim.at_scale(smoke=2, laptop=5, paper=20),
        normalised=True,
    )  # fmt: skip
    outcome = claim.train(spec, fit.train).outcome
    networks, rng = fit.networks(spec, outcome), np.random.default_rng(spec.seed)
    judged = targets.SIGNS[rng.integers(2, size=(fit.JUDGED, 12))]
    heads = [network.layers[0].attention.heads for network in networks]
    see = [sum(not head.dot_product_free for head in some) for some in heads]
    return outcome.numbers, see, [off_parity(network, judged).max() for network in networks]


@pytest.mark.train
def test_trained_with_and_without_dot_product(claim):
    """Six lin heads, 16 neurons; the construction has six heads and four neurons."""
    import torch

    target = targets.SPARSE_PARITY
    network = fixed_heads.shared("lin", target.distances, 6).transformer(target, 12)
    built = off_parity(network.to(torch.float64), target.windows(12)).max()
    claim.record("largest error of the construction", built)
    for kind, dot_product in (("without", False), ("with dot product", True)):
        numbers, heads, stated = trained(claim, dot_product)
        for name, runs in numbers.items():
            claim.record(name, runs, trained=kind)
        see = claim.measured("heads with a dot product", heads, equation="(7)", trained=kind)
        see.equals([6 * dot_product] * len(stated))
        for found, by_hand in zip(numbers["largest error"], stated, strict=True):
            error = claim.measured("largest error of a run", found, equation="(5)", trained=kind)
            error.within(by_hand, rounding_error(2.0**-40, "the same sums, in another order"))


def test_control_a_distance_that_tokens_choose_needs_more_than_such_an_attention(claim):
    """y_t = x_{t-2} if x_t = 0 and x_{t-1} if x_t = -1. By itself it gives c(x_t) + sum_s rho_s
    x_{t-s}. With the past and its negative the errors are at least |rho_1| + |1 - rho_2| and
    |1 - rho_1| + |rho_2|; their sum is 2 or more."""
    target, steps = targets.FOLLOW, [Fraction(k, 2) for k in range(-2, 3)]
    pasts = [(a, b, now) for a, b in itertools.product((-1, 1), repeat=2) for now in (0, -1)]
    windows = np.array([[0, 0, a, b, now] for a, b, now in pasts], dtype=float)[..., None]
    stated = np.rint(target(windows)[:, -1]).astype(int).tolist()
    wanted = [a if now == 0 else b for a, b, now in pasts]
    claim.measured("outputs", stated, equation="(8)").equals(wanted)
    least = []
    for *c, rho_1, rho_2 in itertools.product(steps, repeat=4):
        errors = [
            abs(y - c[now] - rho_1 * b - rho_2 * a)
            for y, (a, b, now) in zip(stated, pasts, strict=True)
        ]
        least.append(max(errors))
    limit = theorem(1, "two errors that add up to 2 or more, as the docstring shows")
    claim.measured(ERROR, min(least), equation="Proposition 5.2").at_least(limit)
