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

from repro import numerics, wang2024

ERROR = "largest error"
FORMULA = {-7: 1, -5: -2, -3: 2, -1: -1, 1: -1, 3: 1, 5: 1}  # the weight of (u - node)_+
CONSTANT = -1
both = pytest.mark.parametrize("rpe", ["lin", "log"])
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
    values = through(wang2024.targets.NESTED)
    claim.equals(list(values), list(range(-7, 8, 2)), "values of u", equation="x + 2x′ + 4x″")
    wrong = sum(written(u) != y for u, y in values.items())
    claim.equals(wrong, 0, "triples with another y_t", equation="y_t = −1 + (u + 7)₊ − …")
    constant, bends = hinges(values)
    claim.equals([constant, bends == FORMULA], [CONSTANT, True], "no other hinges",
                 equation="straight between the points")  # fmt: skip
    slopes = list(itertools.accumulate(FORMULA.values()))
    claim.equals(max(map(abs, slopes)), 1, "largest slope", equation="Lipschitz in u")


def readout(constant, bends):
    """constant + sum of weights (x_t + block 1 - node)_+ as 8 neurons."""
    rows = [(weight, [1, 1], -node) for node, weight in bends.items()]
    return wang2024.targets.neurons((constant, [0, 0], 1), *rows)


def one_layer(rpe, exponents, alphas, n, neurons):
    """x_t in block 0; heads of class (7) put sum_s phi(s) x_{t-s} into block 1."""
    fixed, model = wang2024.fixed, wang2024.model
    attention = fixed.extraction(rpe, exponents, alphas[:, None], length=n)
    W_E = fixed.identity(2)[:, :1]
    layer = model.Layer(attention, fixed.scalar_readout(neurons))
    return model.Transformer(W_E, W_E[:, 0] * 0, (layer,))


def interpolants(rpe):
    """Heads that single out 1 and 2, with the same exponents, and their l1 errors."""
    if rpe == "lin":
        ones = [wang2024.exponentials.Interpolant(T, 3, "1/1024") for T in (1, 2)]
        return ones[0].exponents, [one.alphas for one in ones], [one.error for one in ones]
    ones = [wang2024.powers.fixed(T, 2, first=16, step=16) for T in (1, 2)]
    exponents = [numerics.exact.rational(b) for b in ones[0].exponents]
    return exponents, [one.coefficients for one in ones], [one.error() for one in ones]


@both
@pytest.mark.exact
def test_the_layer_in_rationals(rpe, claim):
    """Dot-product-free, softmax, 8 neurons, every window; error at most 2 e_1 + 4 e_2."""
    target, n = wang2024.targets.NESTED, claim.at_scale(smoke=6, laptop=7, paper=9)
    exponents, alphas, errors = interpolants(rpe)
    combined = 2 * numerics.exact.vector(alphas[0]) + 4 * numerics.exact.vector(alphas[1])
    network = one_layer(rpe, exponents, combined, n, readout(CONSTANT, FORMULA))
    windows = target.windows(n)
    y = network(numerics.exact.rationals(windows.astype(int)))[:, -1, 0]
    error = abs(y - numerics.exact.rationals(target(windows)[:, -1].astype(int))).max()
    allowed = 2 * flint.arb(errors[0]) + 4 * flint.arb(errors[1])
    head, ffn = network.layers[0].attention.heads[0], network.layers[0].feed_forward
    claim.equals(
        [len(network.layers), head.dot_product_free, ffn.c.shape[0]], [1, True, 8],
        "layers, no dot product, neurons", equation="class (7)",
    )  # fmt: skip
    claim.record(windows=len(windows), heads=len(exponents), error=float(error))
    proved = "theorem: slope 1 in u, l1 error of the heads"
    claim.at_most(error, allowed, ERROR, equation="2e₁ + 4e₂", source=proved)
    small = "spread: 0.0039 (lin, q = 1/1024) and 0.0062 (log, b = 16) were seen"
    claim.at_most(error, Fraction(1, 50), ERROR, equation="2e₁ + 4e₂", source=small)


@pytest.mark.exact
def test_one_layer_for_every_depth_of_nesting(claim):
    """Chains by sign, T_i = 2: all 20 pairs K <= M <= 5 are functions of the same 8 triples."""
    wrong, deepest, steepest = 0, 0, 0
    pairs = [(K, M) for M in range(1, 6) for K in range(M + 1)]
    for K, M in pairs:
        target = wang2024.chains.chain(K, M)
        values = through(target)
        constant, bends = hinges(values)
        neurons = readout(constant, bends)
        for u, y in values.items():
            wrong += numerics.barron.value(neurons, numerics.exact.rationals([u, 0])) != y
        deepest = max(deepest, len(wang2024.adaptive.nested(target)) + 1)
        steepest = max(steepest, *map(abs, itertools.accumulate(bends.values())))
    claim.record(pairs=len(pairs), layers_of_theorem_5_4=deepest, largest_slope=steepest)
    claim.equals(wrong, 0, "triples with another y_t, over all (K, M)", equation="L = 1")
    claim.equals(deepest, 6, "largest L of Theorem 5.4 among them", equation="K + 1 + I{M ≥ K+1}")


@functools.cache
def coefficients(rpe, H, weights, length):
    """The best heads for sum_s weights[s] I{. = s} in float64, and their l1 error and rounding."""
    moving, l1 = wang2024.moving, numerics.l1
    exponents = moving.usual_exponents(rpe, H)
    kernel = l1.Kernel(
        lambda s: flint.arb(dict(weights).get(s, 0)),
        lambda start: flint.arb(sum(w for s, w in weights if s >= start)),
    )
    found = wang2024.heads.fit(rpe, kernel, exponents, length)
    sums = [float(s) for s in wang2024.fixed.normalisers(rpe, exponents, length)]
    return exponents, found.values / sums, found.error, found.floor


def heads(claim, rpe):
    return HEADS[rpe][:: claim.at_scale(smoke=2, laptop=1, paper=1)]


def measured(claim, rpe, H, weights, n):
    return _measured(rpe, H, weights, n, claim.seed("older"), claim.device)


@functools.cache
def _measured(rpe, H, weights, n, seed, device):
    """Largest error at the last position: all windows' last tokens, older ones by chance."""
    import torch

    target = wang2024.targets.NESTED
    exponents, alphas, e, floor = coefficients(rpe, H, weights, n)
    network = one_layer(
        rpe, exponents, numerics.exact.rationals(alphas), n, readout(CONSTANT, FORMULA)
    )
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
    return max(wang2024.fixed.errors(network, target, some).max() for some in tried), e, floor


@both
@pytest.mark.construct
def test_error_falls_with_the_heads(rpe, claim):
    n, both_tokens, one_token = 24, ((1, 2), (2, 4)), ((1, 2),)
    curves = {"network": [], "blind": []}
    for H in heads(claim, rpe):
        error, e, floor = measured(claim, rpe, H, both_tokens, n)
        claim.record(**{f"error, H = {H}": error, f"l1 error, H = {H}": e})
        proved = "spread: slope 1, so the l1 error on the window; 5 for the roundings of eps A"
        name = f"{ERROR}, H = {H}"
        claim.at_most(error, e + 5 * floor, name, equation="|y − y_t| ≤ e", source=proved)
        curves["network"].append(error)
        curves["blind"].append(measured(claim, rpe, H, one_token, n)[0])
    small = "spread: 2.3e-6 (lin, H = 6) and 1.5e-6 (log, H = 8) were seen"
    claim.at_most(curves["network"][-1], 1e-5, ERROR, equation="the last H", source=small)
    for error in curves["blind"]:
        without = "theorem: no function of x_t, x_(t−1) errs by less than 1; and 1e-6"
        claim.at_least(error, 1 - 1e-6, f"{ERROR}, no x_(t−2)", equation="L = 1", source=without)


@pytest.mark.construct
def test_figure_one_layer(claim):
    curves = {}
    for rpe in HEADS:
        Hs = heads(claim, rpe)
        seen = [measured(claim, rpe, H, ((1, 2), (2, 4)), 24)[0] for H in Hs]
        blind = [measured(claim, rpe, H, ((1, 2),), 24)[0] for H in Hs]
        curves[rpe] = {"network": (Hs, seen), "blind": (Hs, blind)}
        fall = seen[0] / seen[-1]
        falls = "spread: a factor of 10⁶ was seen"
        claim.at_least(fall, 1e5, f"fall of the error, {rpe}", equation="H", source=falls)
    values = through(wang2024.targets.NESTED)
    claim.figure(
        wang2024.pictures.nested.one_layer(values, curves),
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
    source = "exact: half the spread of y_t for one (x_t, x_(t−1))"
    claim.at_least(best, 1, "least error of any readout", equation="without x_(t−2)", source=source)


def test_control_a_hinge_left_out(claim):
    """Without one of the seven hinges, the value at some triple moves by 2 or more."""
    values, least = through(wang2024.targets.NESTED), []
    for left_out in FORMULA:

        def broken(u, left_out=left_out):
            return written(u) - FORMULA[left_out] * max(u - left_out, 0)

        least.append(max(abs(broken(u) - y) for u, y in values.items()))
    source = "exact: the last hinge, at 5, counts |u − 5| = 2 at u = 7"
    claim.at_least(min(least), 2, ERROR, equation="six hinges", source=source)
