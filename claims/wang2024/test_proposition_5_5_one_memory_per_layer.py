"""Proposition 5.5 (wang2024, Section 5.3; proof: C.2): one memory for each layer.

For M memories that read x_t only, a Transformer of M + 1 layers needs the width of the hardest
memory function, max_i c_i (c_i = |g_i|_B^2 or |log g_i|_B^2 T_i^2), where Theorem 5.1's two layers
need the sum, and its extraction term is C(n) H^-n sqrt(sum_l a_l^(2n+2)).

Checked: two pointers (T = 3 and 2, tokens -1, 0, 1), both networks built: the same outputs, in
rationals and balls, with the same number of heads in all; neurons, heads and layers counted; with
the same number of heads in each layer, M times as many in all, the deep network errs less. The
extraction term for every n and H: the proof stands in repro/wang2024/budgets.py (log by Lemma E.5);
with the constants for few heads, lin for all n and log for n = 1, its inequalities are checked.
Controls: two layers with the width of one memory function; two layers with the heads of one memory.

Readings: where K is printed we read M, and class (10) for (8); for class (11) M + 1 layers suffice
as well (the case K = M of Theorem 5.4). What depth saves is per layer: see Section C.2.
Not checked: E_FFN, which is 0 here (Lemma F.6, with a factor that depends on M); drawn memory
functions (Theorem 5.1).
"""

import functools
import itertools
import math

import flint
import pytest

from repro.bounds import rounding_error, theorem
from repro.numerics import exact
from repro.wang2024 import adaptive, budgets, following, moving, targets

ERROR = "largest error"
ROUNDING = "of heads and readout, derived at adaptive.rounding"
SAME = "Theorem 5.1, Proposition 5.5"
NAMES = "2 layers", "M + 1 layers"
COSTS = {"lin": (math.exp(0.03), math.exp(0.02)), "log": (3**1.01, 2**1.01)}  # a_k for T = 3 and 2
C_2 = "the bounds of 5.5 and 5.1 for n = 1: √(a₁⁴ + a₂⁴) / (a₁ + a₂)²"
both = pytest.mark.parametrize("rpe", ["lin", "log"])


def exact_heads(rpe):
    return following.exact_heads(targets.TWO_POINTERS, rpe)


def two_and_more_layers(heads):
    """Theorem 5.1's two layers and Proposition 5.5's M + 1."""
    target = targets.TWO_POINTERS
    stages = adaptive.two_layers(target), adaptive.one_by_one(target)
    return [adaptive.transformer(target, heads, one) for one in stages]


def majority(*x):
    return max(-1, min(1, sum(x)))


def by_definition(heads, n):
    """The largest |majority(x_t, sum_s psi_k(s; g_k) x_{t-s}) - majority(x_t, x_{t-g_k})|, exact.

    lin, g_1 = x_t + 2, g_2 = 1 + |x_t|, at t = 3, ..., n - 1 of all windows of n tokens.
    """
    found = []
    for x in itertools.product((-1, 0, 1), repeat=n):
        for t in range(3, n):
            now, held, read = x[t], [], []
            for psi, g in zip(heads, (now + 2, 1 + abs(now)), strict=True):
                pairs = list(zip(psi.alphas, psi.exponents, strict=True))
                held.append(
                    sum(a * p.of ** (g - s) * x[t - s] for a, p in pairs for s in range(t + 1))
                )
                read.append(x[t - g])
            found.append(abs(majority(now, *held) - majority(now, *read)))
    return max(found)


def compared(heads, n):
    """How many windows of n tokens; outputs of both that differ, in balls by 1e-30; deep error."""
    target, windows = targets.TWO_POINTERS, targets.TWO_POINTERS.windows(n)
    with flint.ctx.workprec(following.BITS):
        both = [following.rigorous(one) for one in two_and_more_layers(heads)]
        wide, deep = (one(exact.rationals(windows))[:, target.reach :, 0] for one in both)
        differ = wide != deep if heads[0].rpe == "lin" else ~(abs(wide - deep) < 1e-30).astype(bool)
        error = adaptive.largest(deep - exact.rationals(target(windows)))
    return len(windows), int(differ.sum()), error


@pytest.mark.exact
def test_both_networks_have_the_same_outputs(claim):
    """lin, in rationals, on all windows; both within |f|_Lip E_Attn."""
    n = claim.at_scale(smoke=4, laptop=5, paper=6)
    heads = exact_heads("lin")
    windows, differ, error = compared(heads, n)
    claim.measured("outputs that differ", differ, equation=SAME, windows=windows).equals(0)
    errors = [one.error for one in heads]
    squares, why = sum(e**2 for e in errors), "|f|_Lip² E_Attn², |f|_Lip² = 3, exact l1 errors"
    bound = theorem(3 * squares, why)
    claim.measured(f"{ERROR}, squared", error**2, equation="5.5").at_most(bound)
    claim.measured(ERROR, error, equation="5.5").equals(by_definition(heads, n))


@pytest.mark.certified
def test_log_in_balls(claim):
    heads = exact_heads("log")
    windows, differ, error = compared(heads, 4)
    counts = " + ".join(str(one.H) for one in heads)
    at = {"windows": windows, "error": float(error), "heads": counts}
    claim.measured("outputs 1e-30 apart", differ, equation=SAME, **at).equals(0)
    with flint.ctx.workprec(384):
        squares = sum((one.error**2 for one in heads), flint.arb(0))
        bound = theorem((3 * squares).sqrt(), "|f|_Lip E_Attn, |f|_Lip² = 3, errors in balls")
    claim.measured(ERROR, error, equation="5.5").at_most(bound)


@both
@pytest.mark.exact
def test_width_and_heads_are_the_maximum_and_the_sum(rpe, claim):
    """Counted. The first FFN has one neuron more, for the constant.

    g_1 = 3 relu((x + 2)/3) and g_2 = 1 + relu(x) + relu(-x); log g_1 = log 2 - log 2 relu(-x) +
    log(3/2) relu(x) and log g_2 = log 2 (relu(x) + relu(-x)). Heads for T = 3 and 2: T + 1 (lin);
    1 + |F_T|, F_3 = 1/3, 1/2, 2/3, F_2 = 1/2 (log).
    """
    target, heads = targets.TWO_POINTERS, exact_heads(rpe)
    wide, deep = two_and_more_layers(heads)
    (first, second), counts = {"lin": ((1, 3), [4, 3]), "log": ((3, 2), [4, 2])}[rpe]
    rows = [
        ("layers", "5.1", len(wide.layers), 2),
        ("layers", "5.5", len(deep.layers), target.M + 1),
        ("neurons in each layer", "C.2", budgets.widths(wide), [first + second + 1]),
        ("neurons in each layer", "C.2", budgets.widths(deep), [first + 1, second]),
        ("heads in each layer", "C.2", budgets.heads(wide), [sum(counts)]),
        ("heads in each layer", "C.2", budgets.heads(deep), counts),
        ("heads in total", "C.2", sum(budgets.heads(wide)), sum(budgets.heads(deep))),
    ]
    for name, place, found, stated in rows:
        claim.measured(name, found, equation=place).equals(stated)


@functools.cache
def curves(rpe, Hs, n, device):
    """H -> error, bound and rounding for two layers, whose H heads both memories share out, and for
    M + 1, where each has H; float64, all windows of n tokens."""
    target, found = targets.TWO_POINTERS, {}
    costs = [float(budgets.cost(rpe, T)) for T in target.distances]
    for H in Hs:
        points = []
        for number, hs in enumerate((budgets.allocate(H, costs, 2), [H] * target.M)):
            heads = [moving.fitted(rpe, *pair) for pair in zip(target.distances, hs, strict=True)]
            network = two_and_more_layers(heads)[number]
            error = adaptive.float_error(network, target, target.windows(n), device)
            bound = math.sqrt(3) * adaptive.attention_error(heads)
            points.append((error, bound, adaptive.rounding(target, heads, n)))
        found[H] = points
    return found


def some_curves(claim, rpe):
    Hs, n = claim.at_scale(smoke=((6, 8), 6), laptop=((6, 8, 10), 7), paper=((6, 8, 10), 9))
    return curves(rpe, Hs, n, claim.device)


@both
@pytest.mark.construct
def test_the_same_heads_per_layer_err_less_in_a_deep_network(rpe, claim):
    for H, pair in some_curves(claim, rpe).items():
        for layers, (found, bound, lost) in zip(NAMES, pair, strict=True):
            error = claim.measured(ERROR, found, equation="5.1, 5.5", layers=layers, H=H)
            error.at_most(theorem(bound, "√3 E_Attn") + rounding_error(lost, ROUNDING))
        (wide, *_), (deep, *_) = pair
        gain = claim.measured(
            "error of M + 1 layers over that of 2", deep / wide, equation="C.2", H=H
        )
        gain.at_most(theorem(sum(a**4 for a in COSTS[rpe]) ** 0.5 / sum(COSTS[rpe]) ** 2, C_2))


@pytest.mark.certified
def test_the_bound_at_points_worked_out_by_hand(claim):
    """M = 2. n = 1, H = 10: sqrt 2 e^2 / 10 (lin, T = 100), sqrt 2 10^2.02 / 10 (log, T = 10).
    n = 2, H = 3: sqrt(2 e^6) / 9 (lin, T = 100), sqrt(2^6.06 + 4^6.06) / 9 (log, T = 2 and 4)."""
    for rpe, T, H, n, value in (
        ("lin", [[100], [100]], 10, 1, 1.044970334824336),
        ("log", [[10], [10]], 10, 1, 14.808633942016295),
        ("lin", [[100], [100]], 3, 2, 3.156137636035285),
        ("log", [[2], [4]], 3, 2, 7.468438782431075),
    ):
        found = float(budgets.extraction(rpe, T, H, n).mid())
        bound = claim.measured("E_Attn / C(n)", found, equation="5.5", rpe=rpe, T=T, H=H, n=n)
        bound.within(value, rounding_error(1e-14 * value, "16 digits by hand"))
    most = [budgets.most_heads(rpe, 4) for rpe in ("lin", "log")]
    claim.measured("enough heads", most, equation="T + 1, 1 + T(T − 1)/2", T=4).equals([5, 7])


@both
@pytest.mark.certified
def test_the_statement_for_every_H_with_its_constant(rpe, claim):
    """budgets.py: p memories lack heads: their blocks stay 0, which costs |f|_Lip sqrt(p)."""
    count = claim.at_scale(smoke=400, laptop=3000, paper=30000)
    lacking, wrong = budgets.cases(rpe, False, count, claim.rng("every H"))
    bounds = claim.measured("bounds below √p", wrong, equation="C(n) H⁻ⁿ √Σ ≥ √p", lacking=lacking)
    bounds.equals(0)


def bound_of_K_memories(error, K, M):
    """Every block is off by `error`: |f|_Lip^2 = 3 times all M squares; and times the first K."""
    return 3 * M * error**2, 3 * K * error**2


def test_printed_the_sums_run_to_K(claim):
    """The warm-up case has K = 0: sums and maxima over [K] are empty, and the bound would be 0."""
    target, heads = targets.TWO_POINTERS, exact_heads("lin")
    empty = sum((one.error**2 for one in heads[: target.K]), flint.fmpq(0))
    claim.counterexample(
        "E_Attn is a sum over l ≤ K, in the warm-up case K = 0",
        input={"K": target.K, "M": target.M, "heads": [one.H for one in heads]},
        measured=compared(heads, 4)[2] ** 2, expected=3 * empty, relation="<=",
        equation="|f|_Lip² Σ_{l ≤ K}", program=bound_of_K_memories, error=0.01, K=0, M=2,
    )  # fmt: skip


@both
def test_control_two_layers_with_the_width_of_one_memory_function(rpe, claim):
    """FFN 1 has neurons for g_1 only: pointer 2 stays empty."""
    target = targets.TWO_POINTERS
    heads = [moving.fitted(rpe, T, 8) for T in target.distances]
    g = [getattr(memory, rpe) for memory in target.memories]
    stages, narrow = adaptive.two_layers(target), [g[0], g[1]._replace(a=0 * g[1].a)]
    network = adaptive.transformer(target, heads, stages, memory_networks=narrow)
    error = adaptive.float_error(network, target, target.windows(6), claim.device)
    lost = sum(psi.error for psi in heads) + adaptive.rounding(target, heads, 6)
    token = theorem(2 - lost, "x_t (lin), x_{t−1} (log) for memory 2: some majority is the other")
    claim.measured(ERROR, error, equation="Theorem 5.1").at_least(token)


@both
def test_control_two_layers_with_the_heads_of_one_memory(rpe, claim):
    """As many heads as the hardest memory needs, split between both: neither is fetched."""
    target = targets.TWO_POINTERS
    heads = [moving.fitted(rpe, T, 2) for T in target.distances]
    network, _ = two_and_more_layers(heads)
    error = adaptive.float_error(network, target, target.windows(6), claim.device)
    enough = [moving.fitted(rpe, T, 8) for T in target.distances]
    allowed = math.sqrt(3) * adaptive.attention_error(enough) + adaptive.rounding(target, enough, 6)
    few = theorem(allowed, "what eight heads for each memory stay within")
    claim.measured(ERROR, error, equation="Theorem 5.1").at_least(few)
