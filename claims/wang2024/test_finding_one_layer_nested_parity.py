"""Finding (on Section 5.1's example and the prose of 5.3): the nested parity needs no depth.

y_t is a piecewise linear function of u_t = x_t + 2 x_{t-1} + 4 x_{t-2} with slopes -1, 0, 1: seven
hinges and a constant. So one layer without dot product, whose heads make 2 I{s = 1} + 4 I{s = 2}
within e in l1, errs by at most e (repro/wang2024/one_layer.py).

The same holds for every chain of memories by sign with T_i = 2, whatever K <= M. Proof: every t_i
is 1 or 2, so y_t is a function of x_t, x_{t-1}, x_{t-2} with values -1 and 1. u_t tells the 8
triples apart by odd integers, and the lines through the 8 points have slopes -1, 0 or 1.

Checked, exactly: the formula on all triples; the layer in rationals, with T + 1 = 3 heads (lin) and
2 heads (log) of class (7), on all windows; the chains with K <= M <= 5: depth K + 1 + I{M >= K+1}
in Theorem 5.4, depth 1 here. In float64: error against H.
Controls: heads that do not see x_{t-2}, with the readout and with any.

Not checked: what depth can save for long memories. A function of R + 1 signs has 2^(R+1) points.
"""

import functools
import itertools
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.bounds import chosen, exactly, rounding_error, theorem
from repro.numerics import barron, exact, l1, logarithms
from repro.wang2024 import adaptive, chains, fixed, heads, moving, one_layer, targets
from repro.wang2024.pictures import networks as pictures

ERROR, FORMULA = "largest error", "y_t = −1 + (u + 7)₊ − …"
SLOPE = "slope 1 in u, l1 error of the heads"
rpes = pytest.mark.parametrize("rpe", ["lin", "log"])
HEADS = {"lin": (2, 3, 4, 5, 6), "log": (2, 3, 4, 5, 6, 7, 8)}  # every other one at smoke scale


@pytest.mark.exact
def test_the_formula_on_all_triples(claim):
    values, odd = one_layer.through(targets.NESTED), list(range(-7, 8, 2))
    claim.measured("values of u", list(values), equation="x + 2x′ + 4x″").equals(odd)
    wrong = sum(one_layer.formula(u) != y for u, y in values.items())
    claim.measured("triples with another y_t", wrong, equation=FORMULA).equals(0)
    constant, bends = one_layer.hinges(values)
    same = [constant, bends == one_layer.FORMULA]
    claim.measured("constant and hinges", same, equation=FORMULA).equals([-1, True])
    steepest = max(map(abs, itertools.accumulate(one_layer.FORMULA.values())))
    claim.measured("largest slope", steepest, equation="|y(u) − y(v)| ≤ |u − v|").equals(1)


@rpes
@pytest.mark.exact
def test_the_layer_in_rationals(rpe, claim):
    """Dot-product-free, softmax, 8 neurons, every window; error at most 2 e_1 + 4 e_2."""
    target, n = targets.NESTED, claim.at_scale(smoke=6, laptop=7, paper=9)
    network, (e_1, e_2) = one_layer.interpolated(rpe, n)
    allowed = 2 * logarithms.ball(e_1) + 4 * logarithms.ball(e_2)
    windows = target.windows(n)
    y = network(exact.rationals(windows.astype(int)))[:, -1, 0]
    error = abs(y - exact.rationals(target(windows)[:, -1].astype(int))).max()
    heads, ffn = network.layers[0].attention.heads, network.layers[0].feed_forward
    shape = [len(network.layers), heads[0].dot_product_free, ffn.c.shape[0]]
    claim.measured("layers, no dot product, neurons", shape, equation="(7)").equals([1, True, 8])
    claim.record("windows", len(windows))
    fewest = {"lin": 3, "log": 2}[rpe]  # T + 1 and T for T = 2: finding heads-necessary
    claim.measured("heads", len(heads), equation="(7)").equals(fewest)
    measured = claim.measured(ERROR, error, equation="|y − y_t| ≤ 2e₁ + 4e₂")
    measured.at_most(theorem(allowed, SLOPE))
    measured.at_most(chosen(Fraction(1, 50), "y_t is −1 or 1: a fiftieth of what tells them apart"))


@pytest.mark.exact
def test_one_layer_for_every_depth_of_nesting(claim):
    """Chains by sign, T_i = 2: all 20 pairs K <= M <= 5 are functions of the same 8 triples."""
    wrong, deepest, steepest = 0, 0, 0
    pairs = [(K, M) for M in range(1, 6) for K in range(M + 1)]
    for K, M in pairs:
        target = chains.chain(K, M)
        values = one_layer.through(target)
        constant, bends = one_layer.hinges(values)
        neurons = one_layer.readout(constant, bends)
        for u, y in values.items():
            wrong += barron.value(neurons, exact.rationals([u, 0])) != y
        deepest = max(deepest, len(adaptive.nested(target)) + 1)
        steepest = max(steepest, *map(abs, itertools.accumulate(bends.values())))
    claim.record("pairs (K, M)", len(pairs))
    most = theorem(1, "values −1 and 1 at neighbouring odd u")
    claim.measured("largest slope", steepest, equation="|y(u) − y(v)| ≤ |u − v|").at_most(most)
    claim.measured("triples with another y_t, over all (K, M)", wrong, equation="L = 1").equals(0)
    claim.measured("largest L of Theorem 5.4", deepest, equation="K + 1 + I{M ≥ K+1}").equals(6)


def sizes(claim, rpe):
    return HEADS[rpe][:: claim.at_scale(smoke=2, laptop=1, paper=1)]


@functools.cache
def in_float64(rpe, H, past, seed, device):
    """The heads fitted to the sum of w x_{t-s} over (s, w) in `past`; and the largest error at the
    last of 24 tokens: all windows of 8 after random older tokens, and the worst signs."""
    import torch

    exponents, n, target = moving.usual_exponents(rpe, H), 24, targets.NESTED
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
    recent = target.windows(8)
    older = target.draw(len(recent), n - 8, np.random.default_rng(seed))
    worst = target.continued(target.windows(3), gap)
    tried = [np.concatenate([older, recent], axis=1), worst]
    return fit, max(fixed.errors(layer, target, some)[..., -1].max() for some in tried)


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
    error.at_most(chosen(1e-5, "five orders of magnitude below the 1 left without x_(t−2)"))


@pytest.mark.construct
def test_figure_one_layer(claim):
    for rpe in HEADS:
        Hs = sizes(claim, rpe)
        seen = [layer(claim, rpe, H)[1] for H in (Hs[0], Hs[-1])]
        why = "five orders of magnitude; without x_(t−2) the error does not fall"
        fall = claim.measured("fall of the error", seen[0] / seen[-1], equation="L = 1", rpe=rpe)
        fall.at_least(chosen(1e5, why))
    claim.figure(
        pictures.one_layer(one_layer.through(targets.NESTED)),
        "one-layer",
        caption="The nested parity without nesting: a function of u with 7 hinges, which one "
        "dot-product-free layer with 8 neurons computes.",
    )


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
    values = one_layer.through(targets.NESTED)
    errors = [
        max(abs(one_layer.formula(u) - weight * max(u - node, 0) - y) for u, y in values.items())
        for node, weight in one_layer.FORMULA.items()
    ]
    last = exactly(2, "the last hinge, at 5, counts |u − 5| = 2 at u = 7")
    claim.measured(ERROR, min(errors), equation=FORMULA).at_least(last)
