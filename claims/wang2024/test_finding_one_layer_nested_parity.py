"""Finding (on Section 5.1's example and the prose of 5.3): the nested parity needs no depth.

t_1, t_2 <= 2, so y_t is a function of x_t, x_{t-1}, x_{t-2}. u_t = x_t + 2 x_{t-1} + 4 x_{t-2}
takes another odd value in -7, ..., 7 for each of the 8 triples of signs, and y_t is the piecewise
linear function of u_t through the 8 points: seven hinges and a constant. Its slopes are -1, 0, 1.
So one layer without dot product, whose heads make 2 I{s = 1} + 4 I{s = 2} within e in l1, errs by
at most e.

Checked, exactly: the formula on all triples; the layer in rationals, with T + 1 = 3 heads (lin) and
2 heads (log) of class (7), on all windows; that the same holds for every chain of memories by sign,
K <= M <= 5: depth K + 1 + I{M >= K+1} in Theorem 5.4, depth 1 here. In float64: error against H.
Controls: heads that do not see x_{t-2}, with the readout and with any.

Not checked: what depth can save for long memories. A function of R + 1 signs has 2^(R+1) points.
"""

import functools
import itertools
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.bounds import chosen, exactly, theorem
from repro.numerics import barron, exact, l1
from repro.wang2024 import (
    adaptive,
    chains,
    exponentials,
    fixed,
    heads,
    model,
    moving,
    powers,
    targets,
)
from repro.wang2024.pictures import nested as pictures

ERROR = "largest error"
FORMULA = {-7: 1, -5: -2, -3: 2, -1: -1, 1: -1, 3: 1, 5: 1}  # the weight of (u - node)_+
CONSTANT = -1
BOTH, ONE = ((1, 2), (2, 4)), ((1, 2),)  # 2 x_{t-1} + 4 x_{t-2}, or without x_{t-2}
rpes = pytest.mark.parametrize("rpe", ["lin", "log"])
HEADS = {"lin": (2, 3, 4, 5, 6), "log": (2, 3, 4, 5, 6, 7, 8)}  # every other one at smoke scale


def written(u):
    """The ledger's formula."""
    return CONSTANT + sum(weight * max(u - node, 0) for node, weight in FORMULA.items())


def through(target):
    """u -> y_t over the 8 triples; a window is (x_{t-2}, x_{t-1}, x_t)."""
    windows = target.windows(3)
    u = (windows[..., 0] @ [4, 2, 1]).astype(int).tolist()
    return dict(sorted(zip(u, target(windows)[:, 0].astype(int).tolist(), strict=True)))


def hinges(values):
    """The straight lines through these points as a constant and weights of (u - node)_+."""
    nodes = list(values)
    slopes = [Fraction(values[b] - values[a], b - a) for a, b in itertools.pairwise(nodes)]
    bends = [new - old for old, new in itertools.pairwise([Fraction(0), *slopes])]
    return values[nodes[0]], dict(zip(nodes, bends, strict=False))


@pytest.mark.exact
def test_the_formula_on_all_triples(claim):
    values = through(targets.NESTED)
    odd = list(range(-7, 8, 2))
    claim.measured("values of u", list(values), equation="x + 2x′ + 4x″").equals(odd)
    wrong = sum(written(u) != y for u, y in values.items())
    claim.measured("triples with another y_t", wrong, equation="y_t = −1 + (u + 7)₊ − …").equals(0)
    constant, bends = hinges(values)
    same = [constant, bends == FORMULA]
    claim.measured("constant and hinges", same, equation="y_t = −1 + (u + 7)₊ − …").equals(
        [CONSTANT, True]
    )
    slopes = list(itertools.accumulate(FORMULA.values()))
    claim.measured("largest slope", max(map(abs, slopes)), equation="Lipschitz in u").equals(1)


def readout(constant, bends):
    """constant + sum of weights (x_t + block 1 - node)_+ as 8 neurons."""
    rows = [(weight, [1, 1], -node) for node, weight in bends.items()]
    return targets.neurons((constant, [0, 0], 1), *rows)


def one_layer(rpe, exponents, alphas, n, neurons):
    """x_t in block 0; heads of class (7) put sum_s phi(s) x_{t-s} into block 1."""
    attention = fixed.extraction(rpe, exponents, alphas[:, None], length=n)
    W_E = fixed.identity(2)[:, :1]
    layer = model.Layer(attention, fixed.scalar_readout(neurons))
    return model.Transformer(W_E, W_E[:, 0] * 0, (layer,))


def interpolants(rpe):
    """Heads that single out 1 and 2, with the same exponents, and their l1 errors."""
    if rpe == "lin":
        ones = [exponentials.Interpolant(T, 3, "1/1024") for T in (1, 2)]
        return ones[0].exponents, [one.alphas for one in ones], [one.error for one in ones]
    ones = [powers.fixed(T, 2, first=16, step=16) for T in (1, 2)]
    exponents = [exact.rational(b) for b in ones[0].exponents]
    return exponents, [one.coefficients for one in ones], [one.error() for one in ones]


@rpes
@pytest.mark.exact
def test_the_layer_in_rationals(rpe, claim):
    """Dot-product-free, softmax, 8 neurons, every window; error at most 2 e_1 + 4 e_2."""
    target, n = targets.NESTED, claim.at_scale(smoke=6, laptop=7, paper=9)
    exponents, alphas, errors = interpolants(rpe)
    combined = 2 * exact.vector(alphas[0]) + 4 * exact.vector(alphas[1])
    network = one_layer(rpe, exponents, combined, n, readout(CONSTANT, FORMULA))
    windows = target.windows(n)
    y = network(exact.rationals(windows.astype(int)))[:, -1, 0]
    error = abs(y - exact.rationals(target(windows)[:, -1].astype(int))).max()
    allowed = 2 * flint.arb(errors[0]) + 4 * flint.arb(errors[1])
    head, ffn = network.layers[0].attention.heads[0], network.layers[0].feed_forward
    shape = [len(network.layers), head.dot_product_free, ffn.c.shape[0]]
    claim.measured("layers, no dot product, neurons", shape, equation="(7)").equals([1, True, 8])
    claim.record("windows", len(windows))
    claim.record("heads", len(exponents))
    claim.measured(ERROR, error, equation="|y − y_t| ≤ 2e₁ + 4e₂").at_most(
        theorem(allowed, "slope 1 in u, l1 error of the heads")
    ).at_most(chosen(Fraction(1, 50), "y_t is −1 or 1: a fiftieth of what tells them apart"))


@pytest.mark.exact
def test_one_layer_for_every_depth_of_nesting(claim):
    """Chains by sign, T_i = 2: all 20 pairs K <= M <= 5 are functions of the same 8 triples."""
    wrong, deepest, steepest = 0, 0, 0
    pairs = [(K, M) for M in range(1, 6) for K in range(M + 1)]
    for K, M in pairs:
        target = chains.chain(K, M)
        values = through(target)
        constant, bends = hinges(values)
        neurons = readout(constant, bends)
        for u, y in values.items():
            wrong += barron.value(neurons, exact.rationals([u, 0])) != y
        deepest = max(deepest, len(adaptive.nested(target)) + 1)
        steepest = max(steepest, *map(abs, itertools.accumulate(bends.values())))
    claim.record("pairs (K, M)", len(pairs))
    claim.record("largest slope", steepest)
    claim.measured("triples with another y_t, over all (K, M)", wrong, equation="L = 1").equals(0)
    claim.measured("largest L of Theorem 5.4", deepest, equation="K + 1 + I{M ≥ K+1}").equals(6)


@functools.cache
def coefficients(rpe, H, weights, length):
    """The best heads for sum_s weights[s] I{. = s} in float64, and their l1 error and rounding."""
    exponents = moving.usual_exponents(rpe, H)
    kernel = l1.Kernel(
        lambda s: flint.arb(dict(weights).get(s, 0)),
        lambda start: flint.arb(sum(w for s, w in weights if s >= start)),
    )
    found = heads.fit(rpe, kernel, exponents, length)
    sums = [float(s) for s in fixed.normalisers(rpe, exponents, length)]
    return exponents, found.values / sums, found.error, found.floor


def sizes(claim, rpe):
    return HEADS[rpe][:: claim.at_scale(smoke=2, laptop=1, paper=1)]


def measured(claim, rpe, H, weights, n=24):
    return _measured(rpe, H, weights, n, claim.seed("older"), claim.device)


@functools.cache
def _measured(rpe, H, weights, n, seed, device):
    """Largest error at the last position: all windows' last tokens, older ones by chance."""
    import torch

    target = targets.NESTED
    exponents, alphas, e, floor = coefficients(rpe, H, weights, n)
    network = one_layer(rpe, exponents, exact.rationals(alphas), n, readout(CONSTANT, FORMULA))
    network = network.to(torch.float64, device)
    recent = target.windows(8)
    older = target.draw(len(recent), n - 8, np.random.default_rng(seed))
    kernel = network.layers[0].attention.kernel(n).cpu().numpy()
    values = [float(head.W_V[1, 0]) for head in network.layers[0].attention.heads]
    gap = np.array(values) @ kernel
    gap[[s for s, _ in weights]] -= [w for _, w in weights]
    worst = [
        np.concatenate([sign * np.where(gap > 0, 1.0, -1.0)[:2:-1], triple])
        for sign in (1, -1)
        for triple in target.windows(3)[..., 0]
    ]
    tried = [np.concatenate([older, recent], axis=1), np.array(worst)[..., None]]
    return max(fixed.errors(network, target, some).max() for some in tried), e, floor


@rpes
@pytest.mark.construct
def test_error_falls_with_the_heads(rpe, claim):
    for H in sizes(claim, rpe):
        error, e, floor = measured(claim, rpe, H, BOTH)
        claim.record("l1 error", e, H=H)
        claim.measured(ERROR, error, equation="|y − y_t| ≤ e", H=H).at_most(
            theorem(e, "slope 1 in u, l1 error of the heads")
            + chosen(5 * floor, "5 eps A, A = Σ|W_V|: every head rounds a few times")
        )
        blind = measured(claim, rpe, H, ONE)[0]
        claim.measured("largest error without x_(t−2)", blind, equation="L = 1", H=H).at_least(
            theorem(1 - 1e-6, "no function of x_t, x_(t−1) errs by less than 1; 1e-6: rounding")
        )
    claim.measured(ERROR, error, equation="|y − y_t| ≤ e", H=H).at_most(
        chosen(1e-5, "five orders of magnitude below the 1 that is left without x_(t−2)")
    )


@pytest.mark.construct
def test_figure_one_layer(claim):
    curves = {}
    for rpe in HEADS:
        Hs = sizes(claim, rpe)
        seen = [measured(claim, rpe, H, BOTH)[0] for H in Hs]
        blind = [measured(claim, rpe, H, ONE)[0] for H in Hs]
        curves[rpe] = {"network": (Hs, seen), "blind": (Hs, blind)}
        fall = seen[0] / seen[-1]
        claim.measured("fall of the error", fall, equation="L = 1", rpe=rpe).at_least(
            chosen(1e5, "five orders of magnitude; without x_(t−2) the error does not fall")
        )
    values = through(targets.NESTED)
    claim.figure(
        pictures.one_layer(values, curves),
        "one-layer",
        caption="The nested parity without nesting: as a function of u, and the largest error of "
        "one dot-product-free layer with 8 neurons in float64.",
        alt="; ".join(
            f"{rpe}: {c['network'][1][0]:.2g} with {c['network'][0][0]} heads, "
            f"{c['network'][1][-1]:.1e} with {c['network'][0][-1]}; without x_(t−2) "
            f"{c['blind'][1][-1]:.2g}"
            for rpe, c in curves.items()
        ),
    )


def test_control_no_function_of_two_tokens_will_do(claim):
    values = {}
    for triple in itertools.product([-1, 1], repeat=3):
        u = triple[0] + 2 * triple[1] + 4 * triple[2]  # x_t, x_{t-1}, x_{t-2}
        values.setdefault(triple[:2], set()).add(written(u))
    best = max(Fraction(max(ys) - min(ys), 2) for ys in values.values())
    claim.measured("least error of any readout", best, equation="without x_(t−2)").at_least(
        exactly(1, "half the spread of y_t for one (x_t, x_(t−1))")
    )


def test_control_a_hinge_left_out(claim):
    """Without one of the seven hinges, the value at some triple moves by 2 or more."""
    values = through(targets.NESTED)
    errors = [
        max(abs(written(u) - weight * max(u - node, 0) - y) for u, y in values.items())
        for node, weight in FORMULA.items()
    ]
    claim.measured(ERROR, min(errors), equation="six hinges").at_least(
        exactly(2, "the last hinge, at 5, counts |u − 5| = 2 at u = 7")
    )
