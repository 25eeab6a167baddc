"""Finding (on Section 5.1's example and the prose of 5.3): the nested parity needs no depth.

y_t is a piecewise linear function of u_t = x_t + 2 x_{t-1} + 4 x_{t-2} with slopes -1, 0, 1: seven
hinges and a constant. So one layer without dot product, whose heads make 2 I{s = 1} + 4 I{s = 2}
within e in l1, errs by at most e (repro/wang2024/one_layer.py).

The same holds for every chain of memories by sign with T_i = 2, whatever K <= M. Proof: every t_i
is 1 or 2, so y_t is a function of x_t, x_{t-1}, x_{t-2} with values -1 and 1. u_t tells the 8
triples apart by odd integers, and the lines through the 8 points have slopes -1, 0 or 1.

Checked, exactly: the formula on all triples, whose y_t are worked out by hand; the layer in
rationals, with T + 1 = 3 heads (lin) and 2 heads (log) of class (7), on all windows; the chains
with K <= M <= 5: depth K + 1 + I{M >= K+1} in Theorem 5.4, depth 1 here. In float64: error
against H.
Controls: heads that do not see x_{t-2}, with the readout and with any.

Not checked: what depth can save for long memories. A function of R + 1 signs has 2^(R+1) points.
"""

import functools
import itertools
import math
import types
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import barron, exact, l1, logarithms
from repro.wang2024 import adaptive, fixed, heads, moving, one_layer
from repro.wang2024.pictures import networks as pictures

ERROR, FORMULA = "largest error", "y_t = −1 + (u + 7)₊ − …"
SLOPE = "slope 1 in u, l1 error of the heads"
rpes = pytest.mark.parametrize("rpe", ["lin", "log"])
TABLE = {-7: -1, -5: 1, -3: -1, -1: 1, 1: 1, 3: -1, 5: -1, 7: 1}  # u_t: y_t, by hand below
TRIPLES = sorted(
    itertools.product([-1, 1], repeat=3), key=lambda x: x[2] + 2 * x[1] + 4 * x[0]
)  # x_{t-2}, x_{t-1}, x_t, by u
HEADS = {"lin": (2, 3, 4, 5, 6), "log": (2, 3, 4, 5, 6, 7, 8)}  # every other one at smoke scale


def stated(K, M, triple):
    """y_t by (11): g_i reads the last of the min(i - 1, K) memories before it, or x_t; t_i = 1 if
    its sign is 1, else 2; y_t is the product of all that is fetched."""
    fetched = [triple[-1]]
    for i in range(1, M + 1):
        step = 1 if fetched[min(i - 1, K)] == 1 else 2
        fetched.append(triple[-1 - step])
    return math.prod(fetched)


@pytest.mark.exact
def test_the_formula_on_all_triples(claim):
    """y = x a b, a = x' if x = 1 and x'' if x = -1, b = x' if a = 1 and x'' if a = -1. So y is, for
    x = 1: 1 if x' = 1, -x'' if x' = -1; for x = -1: -x' if x'' = 1, -1 if x'' = -1. The slopes
    between u = -7, -5, ..., 7 are 1, -1, 1, 0, -1, 0, 1, and their differences the hinges.
    """
    values = {x[2] + 2 * x[1] + 4 * x[0]: stated(1, 2, x) for x in TRIPLES}
    claim.measured("y_t at each u", values, equation="x + 2x′ + 4x″").equals(TABLE)
    found = {u: one_layer.formula(u) for u in TABLE}
    claim.measured("formula at each u", found, equation=FORMULA).equals(TABLE)
    bends = {-7: 1, -5: -2, -3: 2, -1: -1, 1: -1, 3: 1, 5: 1}
    claim.measured("constant and hinges", one_layer.hinges(TABLE), equation=FORMULA).equals(
        (-1, bends)
    )
    claim.measured("hinges as built", one_layer.FORMULA, equation=FORMULA).equals(bends)
    claim.figure(
        pictures.one_layer(values),
        "one-layer",
        caption="The nested parity without nesting: a function of u with 7 hinges, which one "
        "dot-product-free layer with 8 neurons computes.",
    )


def at_the_end(x):
    """y_t at the last token of a window."""
    return TABLE[int(x[-1] + 2 * x[-2] + 4 * x[-3])]


@rpes
@pytest.mark.exact
def test_the_layer_in_rationals(rpe, claim):
    """Dot-product-free, softmax, 8 neurons, every window; error at most 2 e_1 + 4 e_2, where the
    heads are chosen so that e_1 and e_2 are at most 1/1000 (lin) or 1/500 (log)."""
    n = claim.at_scale(smoke=6, laptop=7, paper=9)
    network, (e_1, e_2) = one_layer.interpolated(rpe, n)
    allowed = 2 * logarithms.ball(e_1) + 4 * logarithms.ball(e_2)
    windows = list(itertools.product([-1, 1], repeat=n))
    y = network(exact.rationals(windows)[..., None])[:, -1, 0]
    error = abs(y - exact.rationals([at_the_end(x) for x in windows])).max()
    heads, ffn = network.layers[0].attention.heads, network.layers[0].feed_forward
    shape = [len(network.layers), heads[0].dot_product_free, ffn.c.shape[0]]
    claim.measured("layers, no dot product, neurons", shape, equation="(7)").equals([1, True, 8])
    claim.record("windows", len(windows))
    fewest = {"lin": 3, "log": 2}[rpe]  # T + 1 and T for T = 2: finding heads-necessary
    claim.measured("heads", len(heads), equation="(7)").equals(fewest)
    measured = claim.measured(ERROR, error, equation="|y − y_t| ≤ 2e₁ + 4e₂")
    measured.at_most(theorem(allowed, SLOPE))
    level = {"lin": Fraction(1, 1000), "log": Fraction(1, 500)}[rpe]
    measured.at_most(theorem(6 * level, "2e₁ + 4e₂ for heads of this level"))


@pytest.mark.exact
def test_one_layer_for_every_depth_of_nesting(claim):
    """Chains by sign, T_i = 2: all 20 pairs K <= M <= 5 are functions of the same 8 triples."""

    wrong, depths, steepest = 0, 0, 0
    pairs = [(K, M) for M in range(1, 6) for K in range(M + 1)]
    for K, M in pairs:
        values = {x[2] + 2 * x[1] + 4 * x[0]: stated(K, M, x) for x in TRIPLES}
        constant, bends = one_layer.hinges(values)
        neurons = one_layer.readout(constant, bends)
        for u, y in values.items():
            wrong += barron.value(neurons, exact.rationals([u, 0])) != y
        stages = adaptive.nested(types.SimpleNamespace(K=K, M=M))  # type: ignore[arg-type]
        depths += len(stages) + 1 != K + 1 + (M >= K + 1)
        steepest = max(steepest, *map(abs, itertools.accumulate(bends.values())))
    claim.record("pairs (K, M)", len(pairs))
    most = theorem(1, "values −1 and 1 at neighbouring odd u")
    claim.measured("largest slope", steepest, equation="|y(u) − y(v)| ≤ |u − v|").at_most(most)
    claim.measured("triples with another y_t, over all (K, M)", wrong, equation="L = 1").equals(0)
    number = claim.measured("pairs with another L in Theorem 5.4", depths, equation="Theorem 5.4")
    number.equals(0)


def sizes(claim, rpe):
    return HEADS[rpe][:: claim.at_scale(smoke=2, laptop=1, paper=1)]


@functools.cache
def in_float64(rpe, H, past, seed, device):
    """The heads fitted to the sum of w x_{t-s} over (s, w) in `past`; and the largest error at the
    last of 24 tokens: all windows of 8 after random older tokens, and the worst signs."""
    import torch

    exponents, n = moving.usual_exponents(rpe, H), 24
    kernel = l1.Kernel(
        lambda s: flint.arb(dict(past).get(s, 0)),
        lambda start: flint.arb(sum(w for s, w in past if s >= start)),
    )
    fit = heads.fit(rpe, kernel, exponents, n)
    alphas = exact.rationals(fit.values / fixed.normalisers(rpe, exponents, n).astype(float))
    layer = one_layer.network(rpe, exponents, alphas, n).to(torch.float64, device)
    attention = layer.layers[0].attention
    gap = np.array([float(head.W_V[1, 0]) for head in attention.heads])
    gap = gap @ attention.kernel(n).cpu().numpy()
    gap[[s for s, _ in past]] -= [w for _, w in past]
    recent = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    older = np.random.default_rng(seed).choice([-1.0, 1.0], (len(recent), n - 8))
    signs = np.where(gap < 0, -1.0, 1.0)[:2:-1]  # of the distances n - 1, ..., 3
    worst = [[*side * signs, *triple] for side in (1, -1) for triple in TRIPLES]
    tried = np.concatenate([np.concatenate([older, recent], axis=1), worst])
    y = layer(torch.tensor(tried, device=device)[..., None])[:, -1, 0].cpu().numpy()
    return fit, abs(y - [at_the_end(x) for x in tried]).max()


def layer(claim, rpe, H, past=((1, 2), (2, 4))):
    return in_float64(rpe, H, past, claim.seed("older"), claim.device)


@rpes
@pytest.mark.construct
def test_error_falls_with_the_heads(rpe, claim):
    for H in sizes(claim, rpe):
        (fit, found), (_, blind) = layer(claim, rpe, H), layer(claim, rpe, H, ((1, 2),))
        claim.record("l1 error", fit.error, H=H)
        error = claim.measured(ERROR, found, equation="|y − y_t| ≤ e", H=H)
        rounding = rounding_error(fit.rounding, "of the heads, derived at Fit.rounding (heads.py)")
        error.at_most(theorem(fit.error, SLOPE) + rounding)
        left = claim.measured("largest error without x_(t−2)", blind, equation="L = 1", H=H)
        why = "no function of x_t, x_(t−1) errs by less than 1; 1e-6: rounding"
        left.at_least(theorem(1 - 1e-6, why))


def test_control_no_function_of_two_tokens_will_do(claim):
    values = {}
    for triple in itertools.product([-1, 1], repeat=3):
        u = triple[0] + 2 * triple[1] + 4 * triple[2]  # x_t, x_{t-1}, x_{t-2}
        values.setdefault(triple[:2], set()).add(one_layer.formula(u))
    best = max(Fraction(max(ys) - min(ys), 2) for ys in values.values())
    error = claim.measured("least error of any readout", best, equation="y_t = f(x_t, x_(t−1))")
    error.at_least(exactly(1, "half the spread of y_t for one (x_t, x_(t−1))"))


def test_control_a_hinge_left_out(claim):
    """Without one of the seven hinges, the value at some triple moves by 2 or more."""
    errors = [
        max(abs(one_layer.formula(u) - weight * max(u - node, 0) - y) for u, y in TABLE.items())
        for node, weight in one_layer.FORMULA.items()
    ]
    last = exactly(2, "the last hinge, at 5, counts |u − 5| = 2 at u = 7")
    claim.measured(ERROR, min(errors), equation=FORMULA).at_least(last)
