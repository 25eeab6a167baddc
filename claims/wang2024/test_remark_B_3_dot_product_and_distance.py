"""Remark B.3 (wang2024, Section 5.2 and Appendix B.1): dot product and RPE cooperate.

In the second attention layer every logit is, for the pointer g_k(x_t) that the dot product brings
from the space of tokens into that of times,
    -beta_h (s - g_k(x_t))  with lin-RPE,        -beta_h log(s / g_k(x_t))  with log-RPE.

Checked, for every head, all windows and all distances: lin exactly, e^logit being the rational
power of its q; log with integer beta_h, where W_Q x_t = beta_h log g exactly and W_K x = log 2 /
log 2 is a ball around 1, and the logit as a whole in balls. The heads add up to an attention map
that is the indicator of the key t - g_k(x_t), within their l1 error (float64, and the figure).
Controls: the RPE alone, and the dot product alone: both lose the memory whatever the weights of
the heads are, by 1 at least.

For every head, every window and every distance this is an identity: W_Q x_t = beta_h g_k(x_t) and
W_K x_{t-s} = 1 (lin; log has beta_h log g_k(x_t) and log 2 / log 2), and p phi(s) = -beta_h s or
-beta_h log s.

Readings: for lin-RPE the remark prints the token x_{s - g_i(x_t)} where the number s - g_i(x_t) is
meant. The weights are those of repro/wang2024/adaptive.py: as printed, W_Q and W_K are transposed.
"""

import dataclasses
import itertools

import flint
import numpy as np
import pytest

from repro.bounds import rounding_error, theorem
from repro.numerics import exact, logarithms
from repro.wang2024 import adaptive, exponentials, model, moving, targets
from repro.wang2024.pictures import networks as pictures

STEPS = {"FOLLOW": [lambda x: x + 2], "TWO_POINTERS": [lambda x: x + 2, lambda x: 1 + abs(x)]}
names = pytest.mark.parametrize("name", STEPS)


def built(name, rpe):
    """The target, two heads for each pointer, and the network of the proof in exact weights.

    What is claimed of the logits holds for all exponents and values.
    """
    target, rational = getattr(targets, name), exact.rational
    beta = (logarithms.Log(2), logarithms.Log(6)) if rpe == "lin" else (rational(2), rational(5))
    values = rational(3), rational("-1/4")
    heads = [moving.Moving(rpe, T, beta, values, rational(1)) for T in target.distances]
    reads = [target.reads(k) for k in range(1, target.M + 1)]
    assert reads == [1] * target.M, "both pointers read the token alone"
    stages = adaptive.two_layers(target)
    return target, heads, adaptive.transformer(target, heads, stages)


def cases(name, heads, windows):
    """(window, t, s, pointer, number of the head, beta) for every head of the second layer."""
    n = windows.shape[1]
    of_memory = [k for k, one in enumerate(heads) for _ in range(one.H)]
    exponents = [beta for one in heads for beta in one.exponents]
    for (w, x), t in itertools.product(enumerate(windows[..., 0].astype(int).tolist()), range(n)):
        for h, (k, beta) in enumerate(zip(of_memory, exponents, strict=True)):
            for s in range(t + 1):
                yield w, t, s, STEPS[name][k](x[t]), h, beta


def distances(n):
    return np.arange(n)[:, None] - np.arange(n)


@names
@pytest.mark.exact
def test_lin_logits_are_beta_times_pointer_minus_distance(name, claim):
    """beta_h = log r_h with r_h rational: e^logit = r_h^(g - s), in rationals."""
    target, heads, network = built(name, "lin")
    windows = target.windows(4)
    x = adaptive.pointed(network, exact.rationals(windows))
    attention = network.layers[1].attention
    logits = [head.logits(x, "lin", distances(4)) for head in attention.heads]
    wrong = count = 0
    for w, t, s, g, h, beta in cases(name, heads, windows):
        found, count = logarithms.exp(logits[h][w, t, t - s]), count + 1
        wrong += found != beta.of ** (g - s)
    claim.record("logits", count)
    claim.record("windows", len(windows))
    claim.record("heads", len(logits))
    claim.measured("logits that are not −β (s − g)", wrong, equation="B.3, lin").equals(0)


@names
@pytest.mark.exact
def test_log_queries_carry_beta_times_the_logarithm_of_the_pointer(name, claim):
    """W_Q x_t = beta_h log g, exactly; less beta_h log s this is log (g/s)^beta_h, exactly."""
    Log = logarithms.Log
    target, heads, network = built(name, "log")
    windows = target.windows(4)
    x = adaptive.pointed(network, exact.rationals(windows))
    queries = [model.inner(x, head.W_Q)[..., 0] for head in network.layers[1].attention.heads]
    wrong = 0
    for w, t, s, g, h, beta in cases(name, heads, windows):
        if s > 0:
            wrong += queries[h][w, t] + beta * -Log(s) != Log(flint.fmpq(g, s)) * beta
    claim.measured("logits that are not −β log(s / g)", wrong, equation="B.3, log").equals(0)


@names
@pytest.mark.certified
def test_log_logits_in_balls(name, claim):
    """The layer as it is, with 1/log 2 in W_K: e^logit holds (g/s)^beta_h, and little else."""
    target, heads, network = built(name, "log")
    windows, bits = target.windows(4), 256
    if claim.scale == "smoke":
        windows = windows[::3]
    wrong, widest = 0, flint.arb(0)
    with flint.ctx.workprec(bits):
        balls = network.balls(bits)
        x = adaptive.pointed(balls, exact.rationals(windows))
        attention = balls.layers[1].attention
        logits = [head.logits(x, "log", distances(4)) for head in attention.heads]
        for w, t, s, g, h, beta in cases(name, heads, windows):
            if s > 0:
                weight, stated = logits[h][w, t, t - s].exp(), flint.fmpq(g, s) ** int(beta.p)
                wrong += not weight.contains(stated)
                widest = widest.max(weight.rad() / stated)
    claim.measured("logits whose ball misses −β log(s / g)", wrong, equation="B.3, log").equals(0)
    most = rounding_error(flint.arb(2) ** -200, "256 bits, less 3 for β ≤ 5 and a few operations")
    claim.measured("relative radius", widest, equation="B.3, log").at_most(most)


def worst_row(maps, one, windows, steps):
    """Largest l1 distance of a row of the attention map from the indicator of t - g."""
    n = windows.shape[1]
    found = 0.0
    for w, x in enumerate(windows[..., 0].astype(int).tolist()):
        for t in range(one.T, n):
            wanted = np.eye(n)[t - steps(x[t])]
            found = max(found, float(np.abs(maps[w, t] - wanted).sum()))
    return found


def summed(attention, x, psi):
    """sum_h alpha_h e^logit over all heads, and the first of them; (windows, n, n)."""
    n = x.shape[-2]
    scores = [attention.scores(head, x).expand(len(x), n, n).numpy() for head in attention.heads]
    alphas = np.array([float(logarithms.ball(a)) for a in psi.alphas])
    return np.einsum("h,hwts->wts", alphas, np.stack(scores)), scores[0]


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.construct
def test_the_heads_add_up_to_a_map_that_follows_the_pointer(rpe, claim):
    """FOLLOW in float64, 6 or 8 heads; beside it the two halves of the logit, each alone."""
    import torch

    target, H = targets.FOLLOW, {"lin": 6, "log": 8}[rpe]
    psi = moving.fitted(rpe, 3, H)
    network = adaptive.transformer(target, [psi], [[1]]).to(torch.float64)
    n = 12
    windows = target.draw(claim.at_scale(smoke=20, laptop=100, paper=1000), n, claim.rng("x"))
    windows[0, :, 0] = [0, 1, -1, -1, 1, 0, 1, -1, 0, 0, -1, 1]
    x = adaptive.pointed(network, torch.from_numpy(windows))
    attention = network.layers[1].attention
    maps, first = summed(attention, x, psi)
    worst = worst_row(maps, psi, windows, STEPS["FOLLOW"][0])
    lost = rounding_error(psi.rounding(n), "derived at Moving.rounding (moving.py)")
    claim.measured(
        "largest ℓ₁ distance of a row from the indicator of t − g", worst, equation="B.3, E.2, E.5"
    ).at_most(theorem(psi.error, "the ℓ₁ error of the heads") + lost)
    if rpe == "log" and claim.scale == "smoke":
        return
    still, _ = summed(alone(attention, "RPE alone"), x, psi)
    _, even = summed(alone(attention, "dot product alone"), x, psi)
    half = {"one head": first, "all heads": maps, "RPE alone": still, "dot product alone": even}
    steps = windows[0, :, 0].astype(int) + 2
    wanted = [(t, int(t - steps[t])) for t in range(n) if t >= steps[t]]
    peaks = [maps[0][place] for place in wanted]
    claim.figure(
        pictures.attention_maps(
            {part: table[0] for part, table in half.items()}, windows[0, :, 0].tolist(), wanted
        ),
        f"maps-{rpe}",
        caption=f"y_t = x_(t−g), g = x_t + 2, {rpe}-RPE. One head leans towards small distances; "
        f"{H} heads of both signs cancel everywhere but at the key that the token names. Without "
        "dot product the map cannot move with the pointer; without RPE a head sees all keys of a "
        "row alike.",
        alt=f"{len(half)} maps, query against key, {n} tokens. All {H} heads together: weight "
        f"{min(peaks):.4f} to {max(peaks):.4f} at the {len(wanted)} wanted keys, and rows within "
        f"{worst:.1e} of the indicator. RPE alone: the same weights along every diagonal. Dot "
        "product alone: every row is constant.",
    )


def alone(attention, part):
    """The same layer with one half of each logit: no W_Q and W_K, or p = 0."""
    change = {"W_Q": None, "W_K": None} if part == "RPE alone" else {"p": 0 * attention.heads[0].p}
    heads = tuple(dataclasses.replace(head, **change) for head in attention.heads)
    return dataclasses.replace(attention, heads=heads)


def lost(network, part):
    """The network with one half of each logit in its second layer."""
    layers = list(network.layers)
    layers[1] = dataclasses.replace(layers[1], attention=alone(layers[1].attention, part))
    return dataclasses.replace(network, layers=layers)


@pytest.mark.exact
def test_what_pointers_read_and_heads_need_by_hand(claim):
    """T + 1 (lin), 1 + |{1/5, 1/4, ..., 4/5}| = 10 (log). 4 2^-t − 4 4^-t leaves 5/3 for T = 1, and
    16/3 (4^-t − 16^-t) leaves 19/45. g_i reads the token and min(i − 1, K) memories, K = 0, 1."""
    for rpe, stated in (("lin", 6), ("log", 10)):
        found = moving.heads_needed(rpe, 5)
        claim.measured("heads needed", found, equation="E.2, E.5", rpe=rpe, T=5).equals(stated)
    bases = [exponentials.accurate(1, 2, level).q for level in ("5/3", "1/2")]
    stated = exact.rationals(["1/2", "1/4"]).tolist()
    claim.measured("q for the levels 5/3, 1/2", bases, equation="E.2").equals(stated)
    for one, stated in ((targets.TWO_POINTERS, [1, 1]), (targets.BRANCHED, [1, 2, 2])):
        reads = [one.reads(i) for i in range(1, one.M + 1)]
        claim.measured("tokens that g_i reads", reads, equation="(11)", K=one.K).equals(stated)


PARTS = "RPE alone", "dot product alone"
EXCHANGED = [1, -1, 0, 1], [-1, 1, 0, 1]  # x_t = 1 asks for the first token: 1 or -1


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.parametrize("part", PARTS)
def test_control_either_part_alone_loses_the_memory(part, rpe, claim):
    """FOLLOW. Without RPE two pasts that are exchanged give one output, and the targets are 1 and
    -1. Without dot product the output is one kernel rho: for g = 1 and g = 3 the errors
    |1 - rho_1| + |rho_3| and |rho_1| + |1 - rho_3| add up to 2 or more.
    """
    target, heads = targets.FOLLOW, moving.interpolated(rpe, 3, "1/100")
    network = adaptive.transformer(target, [heads], [[1]])
    needed = [moving.heads_needed(kind, 3) for kind in ("lin", "log")]  # 1 + |{1/3, 1/2, 2/3}|
    claim.measured("heads, and those needed", [heads.H, *needed], equation="B.3", T=3).equals(
        [4, 4, 4]
    )
    level = theorem(exact.rational("1/100"), "the level asked for")
    claim.measured("ℓ₁ error of the heads", heads.error, equation="E.2, E.5").at_most(level)
    bits = 256
    with flint.ctx.workprec(bits):
        half = lost(network if rpe == "lin" else network.balls(bits), part)
        windows = target.windows(4)
        outputs = half(exact.rationals(windows))[:, -1, 0]
        stated = [w[1 - int(w[3])] for w in windows[..., 0]]  # x_(t−x_t−2) at t = 3
        errors = abs(outputs - exact.rationals(stated))
        worst = max(errors, key=float)
    claim.record("largest error, the heads of the proof", float(worst))
    least = theorem(1, "1 for every choice of α_h and β_h, by the two pasts of the docstring")
    claim.measured("largest error", worst, equation="B.3").at_least(least)
    if part == "dot product alone":
        rows = [windows[..., 0].astype(int).tolist().index(past) for past in EXCHANGED]
        a, b = (outputs[row] for row in rows)
        same = a == b if rpe == "lin" else a.overlaps(b)
        claim.measured("one output for both pasts", same, equation="p = 0").equals(True)
