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

from repro.bounds import chosen, theorem
from repro.numerics import exact, logarithms
from repro.wang2024 import adaptive as adaptive_
from repro.wang2024 import depth as depth_
from repro.wang2024 import moving, targets
from repro.wang2024.pictures import nested as pictures

ERROR = "largest error"
LEVEL = Fraction(1, 100)
both = pytest.mark.parametrize("rpe", ["lin", "log"])


def networks(heads):
    """Theorem 5.1's two layers and Proposition 5.5's M + 1, for the two pointers."""
    target, adaptive = targets.TWO_POINTERS, adaptive_
    return [
        adaptive.transformer(target, heads, stages(target))
        for stages in (adaptive.two_layers, adaptive.one_by_one)
    ]


def interpolated(rpe):
    distances = targets.TWO_POINTERS.distances
    return [moving.interpolated(rpe, T, LEVEL) for T in distances]


@pytest.mark.exact
def test_both_networks_have_the_same_outputs(claim):
    """lin, in rationals, on all windows; both within |f|_Lip E_Attn."""
    target, n = targets.TWO_POINTERS, claim.at_scale(smoke=4, laptop=5, paper=6)
    heads, windows = interpolated("lin"), target.windows(n)
    tokens = exact.rationals(windows.astype(int))
    wide, deep = (network(tokens)[:, target.reach :, 0] for network in networks(heads))
    claim.measured(
        "outputs that differ", int((wide != deep).sum()), equation="{1, 2} or {1}, {2}"
    ).equals(0)
    error = abs(deep - exact.rationals(target(windows).astype(int))).max()
    squares = 3 * sum(one.error**2 for one in heads)
    claim.record("windows", len(windows))
    claim.record("error", error)
    claim.measured(f"{ERROR}, squared", error**2, equation="5.5").at_most(
        theorem(squares, "|f|_Lip² E_Attn², |f|_Lip² = 3, exact l1 errors")
    )
    claim.measured(ERROR, error, equation="5.5").at_least(
        chosen(
            sum(one.error for one in heads) / 2,
            "0.0159 was seen, the sum of both l1 errors; windows of 4 see less",
        )
    )


@pytest.mark.certified
def test_log_in_balls(claim):
    target, bits = targets.TWO_POINTERS, 384
    heads, windows = interpolated("log"), target.windows(4)
    y, apart, error = target(windows).astype(int), 0, flint.arb(0)
    with flint.ctx.workprec(bits):
        ball = np.frompyfunc(logarithms.ball, 1, 1)
        tokens = ball(exact.rationals(windows.astype(int)))
        wide, deep = (network.balls(bits)(tokens) for network in networks(heads))
        for w, t in np.ndindex(y.shape):
            outputs = [out[w, t + target.reach, 0] for out in (wide, deep)]
            apart += not abs(outputs[0] - outputs[1]) < 1e-30
            error = error.max(abs(outputs[1] - int(y[w, t])))
        allowed = (3 * sum((one.error**2 for one in heads), flint.arb(0))).sqrt()
    claim.record("windows", len(windows))
    claim.record("error", float(error))
    claim.record("heads", [one.H for one in heads])
    claim.measured(
        "outputs not within 1e-30 of each other", apart, equation="{1, 2} or {1}, {2}"
    ).equals(0)
    claim.measured(ERROR, error, equation="5.5").at_most(
        theorem(allowed, "|f|_Lip E_Attn, |f|_Lip² = 3, errors of the heads in balls")
    )


@both
@pytest.mark.exact
def test_width_and_heads_are_the_maximum_and_the_sum(rpe, claim):
    """Counted. The first FFN has one neuron more, for the constant."""
    target, heads, depth = targets.TWO_POINTERS, interpolated(rpe), depth_
    wide, deep = networks(heads)
    neurons = [len(getattr(memory, rpe).a) for memory in target.memories]
    claim.measured("layers, Theorem 5.1", len(wide.layers), equation="2").equals(2)
    claim.measured("layers, Proposition 5.5", len(deep.layers), equation="M + 1").equals(
        target.M + 1
    )
    claim.measured("neurons, 2 layers", depth.widths(wide), equation="sum").equals(
        [sum(neurons) + 1]
    )
    each = [neurons[0] + 1, neurons[1]]
    claim.measured(
        "neurons, M + 1 layers", depth.widths(deep), equation="max over the layers"
    ).equals(each)
    counts = [one.H for one in heads]
    claim.measured("heads, 2 layers", depth.heads(wide), equation="sum").equals([sum(counts)])
    claim.measured("heads, M + 1 layers", depth.heads(deep), equation="max over the layers").equals(
        counts
    )
    totals = [sum(depth.heads(network)) for network in (wide, deep)]
    claim.measured("heads in total", totals[0], equation="sum = sum").equals(totals[1])


def seen(claim, rpe):
    Hs = claim.at_scale(smoke=(6, 8), laptop=(6, 8, 10), paper=(6, 8, 10))
    return curves(rpe, Hs, claim.at_scale(smoke=6, laptop=7, paper=9), claim.device)


@functools.cache
def curves(rpe, Hs, n, device):
    """H heads in each layer: split between both memories, or all for one."""
    import torch

    target, adaptive = targets.TWO_POINTERS, adaptive_
    windows, found = target.windows(n), {}
    for H in Hs:
        costs = [float(depth_.cost(rpe, T)) for T in target.distances]
        shares = moving.allocate(H, costs, 2)
        split, whole = (
            [moving.fitted(rpe, T, h) for T, h in zip(target.distances, hs, strict=True)]
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
            claim.record("error", error, name_=name, H=H)
            allowed = bound + 2 * floor
            claim.measured(name, error, equation="5.1, 5.5", H=H).at_most(
                chosen(
                    allowed, "√3 E_Attn of the fits; 10 for the roundings of eps A (1 + β_max T)"
                )
            )
        ratio = pair[1][0] / pair[0][0]
        name = f"error of M + 1 layers over that of 2, H = {H}"
        claim.measured(
            "error of M + 1 layers over that of 2", ratio, equation="per layer", H=H
        ).at_most(chosen(0.3, "0.0002 to 0.11 were seen"))


@pytest.mark.construct
def test_figure_heads_per_layer(claim):
    drawn, alts = {}, []
    for rpe in ("lin", "log"):
        found = seen(claim, rpe)
        wide, deep = ([pair[i][0] for pair in found.values()] for i in (0, 1))
        drawn[rpe] = (list(found), wide, deep)
        alts.append(f"{rpe}, H = {min(found)}: {wide[0]:.2g} and {deep[0]:.1e}")
        claim.measured("gain", wide[0] / deep[0], equation="H = 6", rpe=rpe).at_least(
            chosen(3, "at H = 6 the deep network errs 6 times less or better")
        )
    rounding = max(floor for pair in seen(claim, "lin").values() for *_, floor in pair)
    claim.figure(
        pictures.depth(drawn),
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
        C = adaptive_.constant_lin(n) if rpe == "lin" else 1
        wrong += not (C * depth_.extraction(rpe, [[t] for t in T], H, n)) ** 2 >= p
    claim.record("with_too_few_heads", lacking)
    claim.measured("(n, H, T) with a bound below √p", wrong, equation="C(n) H⁻ⁿ √Σ ≥ √p").equals(0)


def test_reading_the_sums_run_to_K(claim):
    """The warm-up case has K = 0: sums and maxima over [K] are empty, and the bound would be 0."""
    target, n = targets.TWO_POINTERS, 4
    heads = interpolated("lin")
    windows = target.windows(n)
    out = networks(heads)[1](exact.rationals(windows.astype(int)))[:, -1, 0]
    errors = abs(out - exact.rationals(target(windows)[:, -1].astype(int)))
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

    target, adaptive = targets.TWO_POINTERS, adaptive_
    heads = [moving.fitted(rpe, T, 8) for T in target.distances]
    g = [getattr(memory, rpe) for memory in target.memories]
    network = adaptive.transformer(
        target,
        heads,
        adaptive.two_layers(target),
        memory_networks=[g[0], g[1]._replace(a=0 * g[1].a)],
    )
    network = network.to(torch.float64, claim.device)
    error = adaptive.errors(network, target, target.windows(6)).max()
    claim.measured(ERROR, error, equation="m = max for 2 layers").at_least(
        chosen(0.9, "1 to 2 were seen; another token is fetched for memory 2")
    )


@both
def test_control_two_layers_with_the_heads_of_one_memory(rpe, claim):
    """As many heads as the hardest memory needs, split between both: neither is fetched."""
    import torch

    target, adaptive = targets.TWO_POINTERS, adaptive_
    heads = [moving.fitted(rpe, T, 2) for T in target.distances]
    network = networks(heads)[0].to(torch.float64, claim.device)
    error = adaptive.errors(network, target, target.windows(6)).max()
    claim.measured(ERROR, error, equation="H = 4 for 2 layers").at_least(
        chosen(0.9, "2 was seen; two heads fetch neither T = 2 nor T = 3 (lin), T = 3 (log)")
    )
