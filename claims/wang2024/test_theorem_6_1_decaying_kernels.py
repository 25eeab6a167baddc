"""Theorem 6.1 (wang2024, Section 6.2; proof: Theorem D.1): heads add up to any decaying kernel.

For y_t = f(X * rho_1, ..., X * rho_M) one dot-product-free layer has an error of at most
E_FFN + |f|_Lip E_Attn, E_FFN ~ |f|_B m^-1/2 and E_Attn ~ C(n) M^(n+1) H^-n: (A) with lin-RPE if
rho_k = O(e^{-beta t}), n <= 99 beta; (B) with log-RPE if rho_k = O(t^-beta), n <= 0.99 beta - 1.

Checked, end to end through the one model, for M = 2 kernels and f(y) = |y|_2: the error in float64
at random and at worst inputs against E_FFN + E_Attn, where E_Attn is proved over all of N and E_FFN
over the whole box; its fall with H (m = 4096) and with m (16 heads), each alone; E_Attn of the best
weights falls faster than the admitted H^-n. For f(y) = y no network of class (7) with these
exponents, of any width and with any readout, does better. Heads shared by all kernels do with H
what the printed ones do with M H, so that M^(n+1) can be M. The printed proof's errors, on exact
counterexamples: the present, the box, the residual, the constant.
Controls: the present left out, kernels exchanged, one kernel's exponents given to the other.

Not checked: all kernels and readouts (this illustrates an existence); the exponents of the proof,
0.005 + 0.01 h (Lemma E.3); the optimum over the exponents; H < M. That n = beta - 1 cannot be
exceeded is finding alternating-kernel.

Readings (all repaired in repro/wang2024/essential.py): the residual is kept and D = (M+1)d; the
readout is needed on the box of half-width E_Attn + max |rho_k|_1; H_k are integers; C depends on
the kernels.
"""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from repro.bounds import chosen, exactly, stderr, theorem
from repro.numerics import barron, exact, logarithms, roundoff
from repro.wang2024 import essential as essential_
from repro.wang2024 import fixed
from repro.wang2024 import model as model_
from repro.wang2024.pictures import essential as pictures

TARGETS = ["lin", "log", "log, heavy"]
targets = pytest.mark.parametrize("target", TARGETS)
ERROR = "largest error found"
M = 2
LIPSCHITZ = 1  # of |y|_2
ADMITTED = {  # n, with beta = 1, 4 and 5/2
    "lin": math.floor(99 * 1),
    "log": math.floor(Fraction(99, 100) * 4) - 1,
    "log, heavy": math.floor(Fraction(99, 100) * Fraction(5, 2)) - 1,
}


@functools.cache
def construction(target, H, shared):
    essential = essential_
    return essential.Construction.of(essential.EXAMPLES[target], H, shared=shared)


def length(claim, target):
    if target == "log, heavy":
        return claim.at_scale(smoke=200, laptop=400, paper=2000)
    return 60 if target == "lin" else claim.at_scale(smoke=100, laptop=120, paper=400)


def stored(heads, n):
    """phi_k(s) as the layer has it in float64, from unit impulses; (M, n)."""
    import torch

    network = heads.transformer(essential_.identity_readout(M), n).to(torch.float64)
    return network(torch.eye(n, dtype=torch.float64)[:, :, None])[:, -1, :].numpy()[::-1].T


def norm(y):
    return np.linalg.norm(y, axis=-1)


def measure(claim, heads, n, neurons, read):
    """|TF - |X * rho|_2| at the last token, for random signs and for the worst ones found."""
    import torch

    rho, network = heads.memories.values(n), heads.transformer(scalar(neurons), n)
    random = claim.rng("inputs").choice([-1.0, 1.0], (8, n, 1))
    X = np.concatenate([random, [essential_.adversary(rho, heads.values(n), read)]])
    outputs = network.to(torch.float64, claim.device)(torch.tensor(X, device=claim.device))
    stated = norm(essential_.convolutions(rho, X)[..., 0])
    errors = np.abs(outputs[:, -1, 0].cpu().numpy() - stated)
    assert np.isfinite(errors).all()
    return errors[:-1].max(), errors[-1]


def scalar(neurons):
    return fixed.scalar_readout(neurons)


def readout_error(heads, neurons):
    """E_FFN, proved, on the box that the memories stay in; and rounding in a sum of m neurons."""
    box = essential_.box(heads.memories.norms(), heads.attention_error)
    u, m = roundoff.unit("float64"), len(neurons.a)
    rounding = (m + 20) * u * box * float(barron.path_norm(neurons))
    return barron.sup_error(neurons, box).upper + rounding


@targets
@pytest.mark.construct
def test_error_within_the_bound_for_every_number_of_heads(target, claim):
    few = (4,) if target == "log, heavy" else (4, 8)
    Hs = claim.at_scale(smoke=few, laptop=(4, 8, 12, 16), paper=(4, 8, 12, 16))
    n = length(claim, target)
    wide = 1024 if target == "log, heavy" else claim.at_scale(smoke=1024, laptop=4096, paper=4096)
    neurons = barron.norm_network(M, wide)
    curves = {"apart": [], "shared": [], "bound": [], "floor": []}
    for shared in (False, True):
        for H in (H // M if shared else H for H in Hs):
            heads = construction(target, H, shared)
            random, worst = measure(claim, heads, n, neurons, norm)
            E_FFN, E_Attn = readout_error(heads, neurons), heads.attention_error
            bound = E_FFN + LIPSCHITZ * E_Attn
            how = f"{'shared' if shared else 'apart'}, H = {H}"
            claim.record(f"error over bound, {'shared' if shared else 'apart'}", worst / bound, H=H)
            claim.record(f"E_Attn, {'shared' if shared else 'apart'}", E_Attn, H=H)
            allowed = bound + essential_.roundoff(heads.weight(n), n, H)
            name = f"{ERROR}, {how}"
            claim.measured(
                f"{ERROR}, {'shared' if shared else 'apart'}",
                max(random, worst),
                equation="6.1",
                H=H,
            ).at_most(
                theorem(allowed, "E_FFN + |f|_Lip E_Attn, both proved; and (3n + H + 30) u A")
            )
            least = 8 if target == "log, heavy" else 3
            claim.measured(
                f"{ERROR}, {'shared' if shared else 'apart'}",
                worst,
                equation="the bound is tight",
                H=H,
            ).at_least(
                chosen(
                    bound / least, f"within a factor {least}; of a heavy tail the window sees less"
                )
            )
            curves["shared" if shared else "apart"].append((H, worst))
            if shared:
                curves["floor"].append((H, max(best.floor for best in heads.best) / 2))
            else:
                curves["bound"].append((H, bound))
    curves["trained"] = trained_curve(claim, target)
    ends = {name: (points[0], points[-1]) for name, points in curves.items()}
    claim.figure(
        pictures.heads(target, curves),
        f"heads-{target.replace(', ', '-')}",
        caption=f"Two kernels ({target}) and the readout |y|₂: error of the whole layer in float64 "
        f"against the number of heads, m = {wide}. The trained layers choose their exponents, so "
        "the floor for the shared ones does not bind them.",
        alt="; ".join(
            f"{name}: {first[1]:.1e} at H = {first[0]}, {last[1]:.1e} at H = {last[0]}"
            for name, (first, last) in ends.items()
        ),
    )


def trained(claim, target, H):
    essential = essential_
    steps, seed = claim.at_scale(smoke=60, laptop=600, paper=6000), claim.seed("start") % 2**31
    spec = essential.TrainedHeads(
        example=target, rpe=target[:3], H=H, steps=steps, seed=seed, lr=0.1
    )
    return claim.train(spec, essential.train).outcome


def trained_curve(claim, target):
    """(H, worst error with the exact readout) of trained layers."""
    points = []
    for H in claim.at_scale(smoke=(2, 4), laptop=(2, 4, 8), paper=(2, 4, 8)):
        phi = trained(claim, target, H).tensors["phi"].numpy()
        rho = essential_.EXAMPLES[target].values(phi.shape[1])
        X = essential_.adversary(rho, phi, norm)
        by_phi, by_rho = (essential_.convolutions(k, X)[:, 0] for k in (phi, rho))
        points.append((H, abs(norm(by_phi) - norm(by_rho))))
    return points


@pytest.mark.parametrize("target", ["lin", "log"])
@pytest.mark.train
def test_layers_trained_from_a_random_start_learn(target, claim):
    """Least squares with free exponents, H = 4; how far from the best weights is only recorded."""
    numbers = trained(claim, target, 4).numbers
    best = construction(target, 4, True).attention_error
    claim.record("trained_over_construction", numbers["E_Attn"] / best)
    start = numbers["E_Attn at the start"]
    claim.measured(
        "E_Attn of the trained layer", numbers["E_Attn"], equation="it did learn"
    ).at_most(chosen(start / 2, "the training at least halves E_Attn"))


@targets
@pytest.mark.best_in_class
def test_rate_in_the_number_of_heads(target, claim):
    """Best weights, H_k = H/2: doubling H gains more than 2^n, for n = 1 and 2 if admitted."""
    Hs = (4, 8, 16) if target != "log, heavy" else (4, 8)
    found = [construction(target, H, False) for H in Hs]
    lower = [sum(best.floor for best in heads.best) for heads in found]
    n = min(ADMITTED[target], 2)
    for before, heads, H in zip(lower, found[1:], Hs, strict=False):
        ratio = heads.attention_error / before
        claim.measured(
            f"E_Attn at H = {2 * H} over E_Attn at H = {H}", ratio, equation="E_Attn ~ H^-n"
        ).at_most(theorem(2.0**-n, f"H^-n, n = {n} of the admitted 1 <= n <= {ADMITTED[target]}"))


@pytest.mark.parametrize("target", ["lin", "log"])
@pytest.mark.best_in_class
def test_no_network_with_these_exponents_does_better_for_a_linear_readout(target, claim):
    """f(y) = y: what any width and any readout leave is enclosed with what the heads leave."""
    for H in (4, 8):
        heads, n = construction(target, H, True), length(claim, target)
        errors = np.abs(stored(heads, n) - heads.memories.values(n)).sum(1)  # at worst inputs
        rounding = essential_.roundoff(heads.weight(n), n, H)
        for k, best in enumerate(heads.best):
            claim.record(f"no network errs less, kernel {k + 1}", best.floor, H=H)
            most, meets = 1.05 * best.floor, "E_Attn = distance"
            claim.measured(f"E_Attn, kernel {k + 1}", best.error, equation=meets, H=H).at_most(
                chosen(most, "equal by duality but for the tail beyond the window, 2 % of it seen")
            )
            allowed = best.error + rounding
            claim.measured(f"{ERROR}, kernel {k + 1}", errors[k], equation="6.1", H=H).at_most(
                theorem(allowed, "at most E_Attn, and (3n + H + 30) u A for rounding")
            )
            claim.measured(f"{ERROR}, kernel {k + 1}", errors[k], equation="6.1", H=H).at_least(
                chosen(best.floor / 2, "at least half of the l1 error lies within the window")
            )


@targets
@pytest.mark.best_in_class
def test_shared_heads_gain_as_if_there_were_twice_as_many(target, claim):
    """C M H^-n for the printed C M^(n+1) H^-n: with the same 8 heads better by more than M^n."""
    n = min(ADMITTED[target], 2)
    apart = sum(best.floor for best in construction(target, 8, False).best)
    gain = construction(target, 8, True).attention_error / apart
    claim.measured("shared over apart", gain, equation="E_Attn", H=8).at_most(
        theorem(float(M) ** -n, f"M^-n with n = {n}, admitted")
    )


@pytest.mark.construct
def test_rate_in_the_width(claim):
    """16 heads apart, log: like m^-1/2 for neurons drawn at random, like m^-2 for spread ones."""
    heads, n, rng = construction("log", 16, False), 60, claim.rng("neurons")
    # One draw scatters by half of its mean. Of 12 draws at m = 32 and at 512, resampled from 120, 3
    # standard errors are below 0.4 always and miss -1/2 for 0.9 % of the seeds (16 draws: 0.7 %);
    # from 32 to 128 with 6 draws they exceed 0.4 in 95 % and could tell nothing.
    some = (32, 64, 128, 256, 512)
    widths = claim.at_scale(smoke=some[::2], laptop=some, paper=(*some, 1024))
    draws = claim.at_scale(smoke=12, laptop=16, paper=48)
    found, bounds = {"drawn": [], "spread": []}, {"drawn": [], "spread": []}
    for m, kind in itertools.product(widths, found):
        for _ in range(draws if kind == "drawn" else 1):
            neurons = barron.norm_network(M, m, rng if kind == "drawn" else None)
            read = functools.partial(barron.value, neurons)
            found[kind].append(max(measure(claim, heads, n, neurons, read)))
            bounds[kind].append(readout_error(heads, neurons) + heads.attention_error)
            allowed = bounds[kind][-1] + 1e-10
            claim.measured(ERROR, found[kind][-1], equation="6.1", m=m, kind=kind).at_most(
                theorem(
                    allowed,
                    "E_FFN + |f|_Lip E_Attn, both proved; rounding in the heads is below 1e-10",
                )
            )
    drawn = np.reshape(found["drawn"], (len(widths), draws))
    means, octaves = drawn.mean(1), np.log(widths[-1] / widths[0])
    relative = drawn.std(1, ddof=1) / means / math.sqrt(draws)
    exponent, error = np.log(means[-1] / means[0]) / octaves, 3 * norm(relative[[0, -1]]) / octaves
    claim.measured("exponent of m, drawn", exponent, equation="m^-1/2").within(
        -0.5, stderr(error, f"3 standard errors of {draws} draws at both ends")
    )
    claim.measured("3 standard errors of it", error, equation="neither 0 nor -1").at_most(
        stderr(0.4, f"3 standard errors of {draws} draws at both ends")
    )
    for m, error, bound in zip(widths, found["spread"], bounds["spread"], strict=True):
        claim.measured(f"{ERROR}, spread", error, equation="the bound is tight", m=m).at_least(
            chosen(bound / 4, "the worst inputs come within a factor 4 of the bound")
        )
    ratio = (bounds["spread"][-1] - heads.attention_error) / bounds["spread"][0]
    claim.measured(
        f"E_FFN at m = {widths[-1]} over m = {widths[0]}, spread", ratio, equation="m^-2"
    ).at_most(
        theorem(
            1.1 * (widths[0] / widths[-1]) ** 2,
            "equispaced angles, 1 - (pi/m) cot(pi/m) ~ m^-2 times a constant",
        )
    )
    curves = {"drawn": means, "spread": found["spread"]}
    bounds["drawn"] = np.reshape(bounds["drawn"], drawn.shape).mean(1)
    claim.figure(
        pictures.width(widths, curves, bounds, heads.attention_error, heads=16, target="$|y|_2$"),
        "width",
        caption="The same layer (log, 16 heads) against the width m of its readout |y|₂.",
        alt=f"Drawn at random, mean of {draws}: {means[0]:.2f} at m = {widths[0]} to "
        f"{means[-1]:.2f} at m = {widths[-1]}; spread evenly: {found['spread'][0]:.1e} to "
        f"{found['spread'][-1]:.1e}; E_Attn is {heads.attention_error:.1e}.",
    )


def exactly(rpe, exponents, alphas, at_zero, X):
    """Blocks read by f(y) = y for one kernel, in rationals, at the last token of X."""
    rationals = exact.rationals
    network = essential_.network(
        rpe, exponents, rationals(alphas), rationals(at_zero),
        essential_.identity_readout(len(at_zero)), length=len(X),
    )  # fmt: skip
    return network, network(rationals(X)[:, None])[-1]


@pytest.mark.exact
@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_kernels_within_the_span_of_the_heads_are_met_exactly(rpe, claim):
    """rho = 3 u^s or 3 s^-2 after any rho(0), and a second kernel: error 0 in rationals."""
    Log = logarithms.Log
    exponents = [Log(2), Log(3)] if rpe == "lin" else [2, 3]
    X = [Fraction(k * k % 7 - 3, 3) for k in range(9)]
    alphas, at_zero = [[3, 0], [-1, 5]], [7, Fraction(-1, 2)]
    _, y = exactly(rpe, exponents, alphas, at_zero, X)
    for k in range(2):
        rho = [at_zero[k]] + [
            sum(row[k] * (Fraction(1, 2 + h) ** s if rpe == "lin" else Fraction(1, s ** (2 + h)))
                for h, row in enumerate(alphas)) for s in range(1, 9)
        ]  # fmt: skip
        stated = sum((r * x for r, x in zip(rho, X[::-1], strict=True)), start=Fraction(0))
        claim.measured(f"memory {k + 1}", y[k], equation="D.1").equals(exact.rational(stated))


def test_printed_log_heads_without_the_residual_never_see_the_present(claim):
    """rho = I(s = 0) and f(y) = y: D.1 (B) has E_Attn = E_FFN = 0. Without the residual x_t = 1 and
    x_t = -1 give one output, and the error is at least 1 for every network; with it, 0."""
    pasts = {x_t: [0, 1, -1, x_t] for x_t in (1, -1)}

    def without_residual(alphas, X):
        network, _ = exactly("log", [2, 3], alphas, [1], X)
        embedded = exact.rationals(X)[:, None] * network.W_E[:, 0]
        return network.layers[0].attention(embedded)[-1, 1]

    some = [without_residual([[4], [-7]], X) for X in pasts.values()]
    claim.measured("outputs for x_t = 1 and -1", some[0], equation="no s = 0").equals(some[1])
    errors = [abs(without_residual([[0], [0]], X) - x_t) for x_t, X in pasts.items()]
    claim.counterexample(
        "Theorem D.1 (B) for its network without residual blocks",
        input={"rho": "I(s = 0)", "phi": 0, "f(y)": "y", "pasts": list(pasts.values())},
        measured=max(errors),
        expected=0,
        relation="<=",
        equation="D.1, case (B): E_FFN + |f|_Lip E_Attn = 0",
        snippet="from fractions import Fraction\n"
        "past = [Fraction(1, s**2) for s in range(1, 9)]   # a log head: from s = 1 on\n"
        "output = {x_t: sum(past) for x_t in (1, -1)}      # the same for both\n"
        "print(max(abs(x_t - output[x_t]) for x_t in (1, -1)), 'is not <= 0, nor below 1')\n",
    )
    repaired = [abs(exactly("log", [2], [[0]], [1], X)[1][0] - x_t) for x_t, X in pasts.items()]
    claim.measured("error with the residual", max(repaired), equation="6.1 (B), repaired").equals(0)


def test_printed_box_is_too_small_for_a_kernel_of_norm_three(claim):
    """rho(s) = (2/3)^s, one lin head, E_Attn = 0. |X * rho| <= 1 is printed; it tends to 3. For
    f(y) = relu(y - 2) the network 0 is exact on [-2, 2] and misses f by almost 1."""
    Log, n = logarithms.Log, 20
    _, y = exactly("lin", [Log(Fraction(3, 2))], [[1]], [1], [1] * n)
    shown = 3 - 3 * exact.rational(Fraction(2, 3)) ** n
    claim.measured("X * rho for x = 1", y[0], equation="D.1").equals(shown)
    snippet = (
        "from fractions import Fraction\n"
        "y = sum(Fraction(2, 3)**s for s in range(20))   # x = 1\n"
        "print(float(y), 'is not <= 1;', float(max(y - 2, 0)), 'is not <= 0')\n"
    )
    claim.counterexample(
        "|X * rho_k| <= 1", input={"rho(s)": "(2/3)^s", "x": 1, "tokens": n},
        measured=y[0], expected=1, relation="<=", equation="D.1, before Step II", snippet=snippet,
    )  # fmt: skip
    claim.counterexample(
        "E_FFN + |f|_Lip E_Attn with E_FFN on [-2, 2]",
        input={"f(y)": "relu(y - 2)", "FFN": 0, "E_FFN on [-2, 2]": 0, "E_Attn": 0, "tokens": n},
        measured=max(y[0] - 2, 0), expected=0, relation="<=", equation="D.1, the final bound",
        snippet=snippet,
    )  # fmt: skip
    half_width = essential_.box([3])
    claim.measured("half-width 1 + |rho|_1", half_width, equation="repaired").at_least(
        theorem(y[0], "|X * rho| <= |rho|_1 = 3")
    )


def test_reading_with_the_residual_but_without_its_block_adds_the_token(claim):
    """D = M d as printed, in class (7), which has the residual: x_t lands in block 1, error 1."""
    model, rationals = model_, exact.rationals
    one, Log = rationals([[1]]), logarithms.Log
    X, n = [1, -1, 1], 3
    value = fixed.normalisers("lin", (Log(2),), n)[0]
    attention = model.Attention((model.Head(one * value, Log(2)),), one, "lin")
    ffn = essential_.identity_readout(1)
    network = model.Transformer(one, one[0] * 0, (model.Layer(attention, ffn),))
    y = network(rationals(X)[:, None])[-1, 0]
    claim.counterexample(
        "the network of D.1 with D = Md as a member of class (7)",
        input={"rho(s)": "2^-s", "x": X, "f": "y"},
        measured=y,
        expected=exact.rational(Fraction(3, 4)),
        equation="D.1: x^(1/2) = X * rho",
        printed=False,
        snippet="from fractions import Fraction\n"
        "x = [1, -1, 1]\n"
        "stated = sum(Fraction(1, 2**s) * x[2 - s] for s in range(3))\n"
        "print(x[2] + stated, 'should be', stated)   # the residual adds x_t\n",
    )
    _, repaired = exactly("lin", [Log(2)], [[1]], [1], X)
    claim.measured("with D = 2d", repaired[0], equation="repaired").equals(exact.rational("3/4"))


def test_printed_constant_depends_on_the_kernels(claim):
    """rho(s) = lam (-1/2)^s, H = 1, f(y) = y. For a head u^s the past z = (0, u, -1) counts 0, so
    z and -z give one output of any network; the targets are -+lam (u/2 + 1/4)."""
    lam, C = 4 * 10**6 + 4, 10**6
    worst = []
    for u in (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)):
        z = [Fraction(0), u, Fraction(-1)]
        Log, rng = logarithms.Log, claim.rng("weights")
        blocks = [[int(v)] for v in rng.integers(-3, 4, 1)]
        pair = [
            exactly("lin", [Log(1 / u)], blocks, [0], [s * v for v in z[::-1]])[1][0]
            for s in (1, -1)
        ]
        claim.measured("difference of outputs", pair[0] - pair[1], equation="(3)", u=u).equals(0)
        target = sum(lam * Fraction(-1, 2) ** s * v for s, v in enumerate(z))
        worst.append(abs(target))
    claim.counterexample(
        "C(1) = 10^6, the same for all kernels",
        input={"rho(s)": f"{lam} (-1/2)^s", "H": 1, "M": 1, "past": "(0, u, -1), any 0 < u < 1"},
        measured=min(worst),
        expected=C,
        relation="<=",
        equation="6.1 (A): C(n) M^(n+1) / H^n, n = 1",
        snippet="from fractions import Fraction\n"
        "lam, u = 4 * 10**6 + 4, Fraction(1, 3)                 # any 0 < u < 1\n"
        "z = [0, u, -1]\n"
        "print('the head sees', sum(u**s * z[s] for s in range(3)))\n"
        "error = abs(sum(lam * Fraction(-1, 2)**s * z[s] for s in range(3)))\n"
        "print('error', error, 'is not <=', 10**6)\n",
    )


@pytest.mark.exact
def test_no_rate_is_admitted_for_slow_decay(claim):
    """The ranges 1 <= n <= floor(99 beta) and floor(0.99 beta) - 1 are empty for these beta."""
    for beta in (Fraction(1, 100), Fraction(1, 1000)):
        claim.measured("largest n of (A)", math.floor(99 * beta), equation="6.1", beta=beta).equals(
            0
        )
    for beta in (Fraction(3, 2), Fraction(2), Fraction(202, 100)):
        largest = math.floor(Fraction(99, 100) * beta) - 1
        claim.measured("largest n of (B)", largest, equation="6.1", beta=beta).at_most(
            exactly(0, "floor(0.99 beta) - 1")
        )
    claim.measured(
        "n at 2.03", math.floor(Fraction(99, 100) * Fraction(203, 100)) - 1, equation="6.1"
    ).equals(1)


@pytest.mark.parametrize("target", ["lin", "log"])
def test_control_without_the_present_the_error_stays(target, claim):
    """r_k = 0: the past (1, 0, 0, ...) has the target |rho(0)|, and the layer stores phi(0)."""
    import torch

    heads, n = construction(target, 8, True), length(claim, target)
    network = essential_.network(
        target, heads.exponents, heads.alphas,
        at_zero=heads.alphas.sum(0) if target == "lin" else [0] * M,
        readout=essential_.identity_readout(M), length=n,
    ).to(torch.float64)  # fmt: skip
    present = torch.eye(n, dtype=torch.float64)[:, -1:]
    error = abs(norm(heads.memories.values(1)[:, 0]) - norm(network(present)[-1].numpy()))
    claim.measured("error at x = (1, 0, 0, ...)", error, equation="without r_k").at_least(
        theorem(1.0, "phi(0) is free, for log it is 0; sqrt 2 is |rho(0)|")
    )


def unlike(claim, target, **changes):
    """sum_k |rho_k - phi_k|_1 on the window, of the construction with something changed."""
    heads = construction(target, 8, False)
    n, given = length(claim, target), {"exponents": heads.exponents, "alphas": heads.alphas}
    rpe, at_zero = heads.memories.rpe, [k.ball(0) for k in heads.memories.kernels]
    import torch

    network = essential_.network(
        rpe, **{**given, **{name: change(given[name]) for name, change in changes.items()}},
        at_zero=at_zero, readout=essential_.identity_readout(M), length=n,
    ).to(torch.float64)  # fmt: skip
    phi = network(torch.eye(n, dtype=torch.float64)[:, :, None])[:, -1, :].numpy()[::-1].T
    return float(np.abs(phi - heads.memories.values(n)).sum())


@pytest.mark.parametrize("target", ["lin", "log"])
def test_control_kernels_exchanged(target, claim):
    """Block 1 gets phi_2 and block 2 gets phi_1: off by 2 |rho_1 - rho_2|_1 on N_+."""
    n = length(claim, target)
    rho = essential_.EXAMPLES[target].values(n)[:, 1:]
    apart = 2 * float(np.abs(rho[0] - rho[1]).sum())
    error = unlike(claim, target, alphas=lambda alphas: alphas[:, ::-1])
    least = apart - construction(target, 8, False).attention_error
    claim.measured("E_Attn", error, equation="block k from phi_k").at_least(
        theorem(least, "the triangle inequality")
    )
    claim.measured("what that asks", least, equation="the kernels differ").at_least(
        theorem(0.1, "the triangle inequality")
    )


@pytest.mark.parametrize("target", ["lin", "log"])
def test_control_a_head_too_many_for_the_first_kernel(target, claim):
    """The exponents moved by one head: kernel 2 begins with the last exponent of kernel 1."""
    error = unlike(claim, target, exponents=lambda p: [p[-1], *p[:-1]])
    least = 10 * construction(target, 8, False).attention_error
    claim.measured("E_Attn", error, equation="H_k heads for kernel k").at_least(
        chosen(least, "ten times E_Attn at least; 4 heads of each kernel")
    )
