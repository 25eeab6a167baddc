"""Proposition 5.5 (wang2024, Section 5.3; proof: C.2): one memory for each layer.

For M memories that read x_t only, a Transformer of M + 1 layers needs the width of the hardest
memory function, max_i c_i (c_i = |g_i|_B^2 or |log g_i|_B^2 T_i^2), where Theorem 5.1's two layers
need the sum, and its extraction term is C(n) H^-n sqrt(sum_l a_l^(2n+2)).

Checked: two pointers (T = 3 and 2, tokens -1, 0, 1), both networks built: the same outputs, in
rationals and balls; neurons, heads and layers counted; with the same number of heads in each layer
the deep network errs less, lin and log. The statement for every H with its constant, lin for all n
and log for n = 1: here a memory that lacks heads spoils no other, and no factor sqrt(M) is needed.
Controls: two layers with the width of one memory function; two layers with the heads of one memory.

Readings: where K is printed we read M, and class (10) for (8); for class (11) M + 1 layers suffice
as well (the case K = M of Theorem 5.4). What depth saves is per layer: see Section C.2.
Not checked: all targets; E_FFN (Lemma F.6); drawn memory functions (Theorem 5.1).
"""

import functools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro import numerics, wang2024

ERROR = "largest error"
LEVEL = Fraction(1, 100)
both = pytest.mark.parametrize("rpe", ["lin", "log"])


def networks(heads):
    """Theorem 5.1's two layers and Proposition 5.5's M + 1, for the two pointers."""
    target, adaptive = wang2024.targets.TWO_POINTERS, wang2024.adaptive
    return [
        adaptive.transformer(target, heads, stages(target))
        for stages in (adaptive.two_layers, adaptive.one_by_one)
    ]


def interpolated(rpe):
    distances = wang2024.targets.TWO_POINTERS.distances
    return [wang2024.moving.interpolated(rpe, T, LEVEL) for T in distances]


@pytest.mark.exact
def test_both_networks_have_the_same_outputs(claim):
    """lin, in rationals, on all windows; both within |f|_Lip E_Attn."""
    target, n = wang2024.targets.TWO_POINTERS, claim.at_scale(smoke=4, laptop=5, paper=6)
    heads, windows = interpolated("lin"), target.windows(n)
    tokens = numerics.exact.rationals(windows.astype(int))
    wide, deep = (network(tokens)[:, target.reach :, 0] for network in networks(heads))
    claim.equals(int((wide != deep).sum()), 0, "outputs that differ", equation="{1, 2} or {1}, {2}")
    error = abs(deep - numerics.exact.rationals(target(windows).astype(int))).max()
    squares = 3 * sum(one.error**2 for one in heads)
    claim.record(windows=len(windows), error=error)
    proved = "theorem: |f|_Lip² E_Attn², |f|_Lip² = 3, exact l1 errors"
    claim.at_most(error**2, squares, f"{ERROR}, squared", equation="5.5", source=proved)
    tight = "spread: 0.0159 was seen, the sum of both l1 errors; windows of 4 see less"
    claim.at_least(error, sum(one.error for one in heads) / 2, ERROR, equation="5.5", source=tight)


@pytest.mark.certified
def test_log_in_balls(claim):
    target, bits = wang2024.targets.TWO_POINTERS, 384
    heads, windows = interpolated("log"), target.windows(4)
    y, apart, error = target(windows).astype(int), 0, flint.arb(0)
    with flint.ctx.workprec(bits):
        ball = np.frompyfunc(numerics.logarithms.ball, 1, 1)
        tokens = ball(numerics.exact.rationals(windows.astype(int)))
        wide, deep = (network.balls(bits)(tokens) for network in networks(heads))
        for w, t in np.ndindex(y.shape):
            outputs = [out[w, t + target.reach, 0] for out in (wide, deep)]
            apart += not abs(outputs[0] - outputs[1]) < 1e-30
            error = error.max(abs(outputs[1] - int(y[w, t])))
        allowed = (3 * sum((one.error**2 for one in heads), flint.arb(0))).sqrt()
    claim.record(windows=len(windows), error=float(error), heads=[one.H for one in heads])
    claim.equals(apart, 0, "outputs not within 1e-30 of each other", equation="{1, 2} or {1}, {2}")
    proved = "theorem: |f|_Lip E_Attn, |f|_Lip² = 3, errors of the heads in balls"
    claim.at_most(error, allowed, ERROR, equation="5.5", source=proved)


@both
@pytest.mark.exact
def test_width_and_heads_are_the_maximum_and_the_sum(rpe, claim):
    """Counted. The first FFN has one neuron more, for the constant."""
    target, heads, depth = wang2024.targets.TWO_POINTERS, interpolated(rpe), wang2024.depth
    wide, deep = networks(heads)
    neurons = [len(getattr(memory, rpe).a) for memory in target.memories]
    claim.equals(len(wide.layers), 2, "layers, Theorem 5.1", equation="2")
    claim.equals(len(deep.layers), target.M + 1, "layers, Proposition 5.5", equation="M + 1")
    claim.equals(depth.widths(wide), [sum(neurons) + 1], "neurons, 2 layers", equation="sum")
    each = [neurons[0] + 1, neurons[1]]
    claim.equals(depth.widths(deep), each, "neurons, M + 1 layers", equation="max over the layers")
    counts = [one.H for one in heads]
    claim.equals(depth.heads(wide), [sum(counts)], "heads, 2 layers", equation="sum")
    claim.equals(depth.heads(deep), counts, "heads, M + 1 layers", equation="max over the layers")
    totals = [sum(depth.heads(network)) for network in (wide, deep)]
    claim.equals(totals[0], totals[1], "heads in total", equation="sum = sum")


def seen(claim, rpe):
    Hs = claim.at_scale(smoke=(6, 8), laptop=(6, 8, 10), paper=(6, 8, 10))
    return curves(rpe, Hs, claim.at_scale(smoke=6, laptop=7, paper=9), claim.device)


@functools.cache
def curves(rpe, Hs, n, device):
    """H heads in each layer: split between both memories, or all for one."""
    import torch

    target, adaptive = wang2024.targets.TWO_POINTERS, wang2024.adaptive
    windows, found = target.windows(n), {}
    for H in Hs:
        costs = [float(wang2024.depth.cost(rpe, T)) for T in target.distances]
        shares = wang2024.moving.allocate(H, costs, 2)
        split, whole = (
            [wang2024.moving.fitted(rpe, T, h) for T, h in zip(target.distances, hs, strict=True)]
            for hs in (shares, [H] * target.M)
        )
        pair = networks(split)[0], networks(whole)[1]
        errors = [
            adaptive.errors(one.to(torch.float64, device), target, windows).max() for one in pair
        ]
        floors = [sum(5 * one.floor for one in heads) for heads in (split, whole)]
        bounds = [math.sqrt(3) * adaptive.attention_error(heads) for heads in (split, whole)]
        found[H] = [*zip(errors, bounds, floors, strict=True)]
    return found


@both
@pytest.mark.construct
def test_the_same_heads_per_layer_err_less_in_a_deep_network(rpe, claim):
    found = seen(claim, rpe)
    for H, pair in found.items():
        for name, (error, bound, floor) in zip(("2 layers", "M + 1 layers"), pair, strict=True):
            claim.record(**{f"error, {name}, H = {H}": error})
            proved = "spread: √3 E_Attn of the fits; 10 for the roundings of eps A (1 + β_max T)"
            allowed = bound + 2 * floor
            claim.at_most(error, allowed, f"{name}, H = {H}", equation="5.1, 5.5", source=proved)
        ratio = pair[1][0] / pair[0][0]
        less = "spread: 0.0002 to 0.11 were seen"
        name = f"error of M + 1 layers over that of 2, H = {H}"
        claim.at_most(ratio, 0.3, name, equation="per layer", source=less)


@pytest.mark.construct
def test_figure_heads_per_layer(claim):
    drawn, alts = {}, []
    for rpe in ("lin", "log"):
        found = seen(claim, rpe)
        wide, deep = ([pair[i][0] for pair in found.values()] for i in (0, 1))
        drawn[rpe] = (list(found), wide, deep)
        alts.append(f"{rpe}, H = {min(found)}: {wide[0]:.2g} and {deep[0]:.1e}")
        fall = "spread: at H = 6 the deep network errs 6 times less or better"
        claim.at_least(wide[0] / deep[0], 3, f"gain, {rpe}", equation="H = 6", source=fall)
    rounding = max(floor for pair in seen(claim, "lin").values() for *_, floor in pair)
    claim.figure(
        wang2024.pictures.nested.depth(drawn),
        "depth",
        caption="Two pointers, T = 3 and 2: largest error in float64 against the heads in each "
        "layer. Two layers split them, three layers give all of them to one memory each; in total "
        f"three layers have twice as many. Rounding in float64 may leave {rounding:.0e} (lin).",
        alt="Two layers and three: " + "; ".join(alts) + ".",
    )


def cases(claim, count):
    rng = claim.rng("every H")
    for _ in range(count):
        M, n = int(rng.integers(1, 7)), int(rng.integers(1, 6))
        T = rng.integers(1, rng.choice([4, 60, 1000]), size=M).tolist()
        yield n, T, int(rng.integers(1, 2 + max(T)))


@both
@pytest.mark.certified
def test_the_statement_for_every_H_with_its_constant(rpe, claim):
    """p memories lack heads: their blocks stay 0, which costs |f|_Lip sqrt(p); the bound is more.

    lin needs T + 1 heads, C(n) = max_T (T+1)^n e^{-0.01(n+1)T}; log, n = 1: at most T^2, C(1) = 1.
    """
    wrong, lacking = 0, 0
    for n, T, H in cases(claim, claim.at_scale(smoke=400, laptop=3000, paper=30000)):
        n = n if rpe == "lin" else 1
        needs = [t + 1 if rpe == "lin" else 1 + t * (t - 1) // 2 for t in T]
        p = sum(need > H for need in needs)
        if not p:
            continue
        lacking += 1
        C = wang2024.adaptive.constant_lin(n) if rpe == "lin" else 1
        wrong += not (C * wang2024.depth.extraction(rpe, [[t] for t in T], H, n)) ** 2 >= p
    claim.record(with_too_few_heads=lacking)
    claim.equals(wrong, 0, "(n, H, T) with a bound below √p", equation="C(n) H⁻ⁿ √Σ ≥ √p")


def test_reading_the_sums_run_to_K(claim):
    """The warm-up case has K = 0: sums and maxima over [K] are empty, and the bound would be 0."""
    target, n = wang2024.targets.TWO_POINTERS, 4
    heads = interpolated("lin")
    windows = target.windows(n)
    out = networks(heads)[1](numerics.exact.rationals(windows.astype(int)))[:, -1, 0]
    errors = abs(out - numerics.exact.rationals(target(windows)[:, -1].astype(int)))
    empty = sum((one.error**2 for one in heads[: target.K]), flint.fmpq(0))
    claim.counterexample(
        "E_Attn is a sum over l ≤ K, in the warm-up case K = 0",
        input={"K": target.K, "M": target.M, "heads": [one.H for one in heads]},
        measured=errors.max() ** 2,
        expected=3 * empty,
        relation="<=",
        equation="|f|_Lip² Σ_{l ≤ K}",
        printed=False,
        snippet="from repro.wang2024.targets import TWO_POINTERS\n"
        "TWO_POINTERS.K, TWO_POINTERS.M   # class (10) has K = 0: the sums run to M\n",
    )


@both
def test_control_two_layers_with_the_width_of_one_memory_function(rpe, claim):
    """FFN 1 has neurons for g_1 only: pointer 2 stays empty."""
    import torch

    target, adaptive = wang2024.targets.TWO_POINTERS, wang2024.adaptive
    heads = [wang2024.moving.fitted(rpe, T, 8) for T in target.distances]
    g = [getattr(memory, rpe) for memory in target.memories]
    network = adaptive.transformer(
        target,
        heads,
        adaptive.two_layers(target),
        memory_networks=[g[0], g[1]._replace(a=0 * g[1].a)],
    )
    network = network.to(torch.float64, claim.device)
    error = adaptive.errors(network, target, target.windows(6)).max()
    seen = "spread: 1 to 2 were seen; another token is fetched for memory 2"
    claim.at_least(error, 0.9, ERROR, equation="m = max for 2 layers", source=seen)


@both
def test_control_two_layers_with_the_heads_of_one_memory(rpe, claim):
    """As many heads as the hardest memory needs, split between both: neither is fetched."""
    import torch

    target, adaptive = wang2024.targets.TWO_POINTERS, wang2024.adaptive
    heads = [wang2024.moving.fitted(rpe, T, 2) for T in target.distances]
    network = networks(heads)[0].to(torch.float64, claim.device)
    error = adaptive.errors(network, target, target.windows(6)).max()
    seen = "spread: 2 was seen; two heads fetch neither T = 2 nor T = 3 (lin), T = 3 (log)"
    claim.at_least(error, 0.9, ERROR, equation="H = 4 for 2 layers", source=seen)
