"""Figure 1 (jiang2024, Section 5.1, settings in Appendix C): synthetic spectra, trained.

tau = 16 uniform tokens, F = f = id, rho = sum_{i <= r} i^-alpha phi_i(u) phi_i(v) with
phi_i = sqrt2 sin(2 pi i x), r = 2, 6, infinity: the error of a trained Transformer (5) falls with
m_h = 1, ..., 16 as fast as the singular values decay, and at fixed m_h it grows with r.

Checked, over 2000 fresh sequences that all networks share, each time beyond five standard errors:
the mean square error falls with m_h; faster for the faster decay; it grows with r; once m_h >= r it
is below that of the best coupling found of a smaller rank, in every seed; and for m_h <= 8 it is
below that of the construction, which costs what is worked out by hand, and nothing once m_h >= r.
Beside them stands the construction planted into the network and trained on (spectra.py).

Not checked: an exponent. Heads up to 16 end where that of the construction begins, at
m_h = tau - 1/2 (Theorem 4.1). Whether our curves follow the printed line stands in the cells.

Readings: alpha stands only in the picture; 3/2 and 2 here, since alpha <= 1 with equal sines has no
continuous coupling at r = infinity (Section 5.1). The activation is not printed. Sines in the first
layer hand the network what the target is made of; SiLU does not learn it in our steps. "Adam" alone
is slower than Muon with Adam, which we use. The error is a mean square.
Reduced at laptop scale: some m_h, 1000 steps, two seeds where the error drops, elsewhere one.
"""

import functools
import itertools
import math
import statistics

import pytest

from repro.bounds import rounding_error, stderr
from repro.jiang2024 import couplings, learner, spectra
from repro.jiang2024.pictures import trained as pictures

ALPHAS = ("3/2", "2")
RANKS = (2, 6, None)
ORDERS = ((2, 6), (2, None), (6, None))
alphas = pytest.mark.parametrize("alpha", ALPHAS, ids="alpha={}".format)
ranks = pytest.mark.parametrize("rank", RANKS, ids=["r=2", "r=6", "r=inf"])
finite_ranks = pytest.mark.parametrize("rank", RANKS[:2], ids="r={}".format)
SQUARE, ABSOLUTE = "mean square error", "mean absolute error"
DROPS = "Figure 1, m_h ≥ r"
SINES = 60.0  # beyond 2 pi 6: frequencies of the first layer before training reach up to it


def heads(claim, rank):
    small = {2: (1, 2), 6: (1, 8), None: (3, 8)}
    some = {2: (1, 2), 6: (1, 3, 6, 8), None: (1, 3, 8, 16)}
    return claim.at_scale(smoke=small, laptop=some, paper=dict.fromkeys(RANKS, range(1, 17)))[rank]


def seeds(claim, rank, m):
    """More than one at laptop scale where the error drops."""
    return range(claim.at_scale(smoke=1, laptop=2 if rank and 2 * m >= rank else 1, paper=3))


def shape(claim, m, sines=SINES):
    """As printed, but narrower for smoke; `sines` or, with None, SiLU in the first layer of f^."""
    width = claim.at_scale(smoke=64, laptop=128, paper=128)
    return learner.Shape(m, f=learner.Dense(width, sines=sines), F=learner.Dense(width))


def from_random(claim, alpha, rank, m, seed=0, *, sines=SINES, printed=False):
    """The spec of a training from PyTorch's initialisation."""
    setting = {"steps": 1000, "batch": 32, "rest": 1e-3}
    brief = {"steps": 300, "batch": 16, "lr": 0.015, "rest": 2e-3}
    setting = claim.at_scale(smoke=brief, laptop=setting, paper={**setting, "steps": 8000})
    ours = learner.Recipe.ours(**setting)
    recipe = learner.Recipe.printed(ours.steps, ours.batch) if printed else ours
    task = spectra.Spectrum(alpha, rank)
    return learner.FitAttention(task, shape(claim, m, sines), recipe, seed)


def from_construction(claim, alpha, rank, m):
    steps = claim.at_scale(smoke=60, laptop=200, paper=2000)
    recipe = learner.Recipe.ours(steps, batch=32, lr=2e-3, rest=1e-4)
    return spectra.FromConstruction(spectra.Spectrum(alpha, rank), shape(claim, m), recipe, 0)


def error(claim, spec, kind=SQUARE):
    return claim.train(spec, spectra.train).outcome.numbers[kind]


def squares(claim, spec):
    """The mean square error on each fresh sequence of seed 0."""
    network = learner.trained(spec, claim.train(spec, spectra.train).outcome)
    task, x = fresh(spec.task.alpha, spec.task.rank)
    return by_sequence(network(x.float()) - task.wanted(x))


def by_sequence(errors):
    return errors.square().mean((-1, -2))


def is_below(claim, name, better, worse, **at):
    """Five standard errors of the mean difference, sequence by sequence."""
    gain = worse - better
    over = (gain.mean() / gain.std() * len(gain) ** 0.5).item()
    claim.record(name, gain.mean().item(), **{k: v for k, v in at.items() if k != "equation"})
    found = claim.measured(f"{name}, in its standard errors", over, **at)
    found.at_least(stderr(5, f"five standard errors of a mean over {len(gain)} sequences"))


def learnt(claim, alpha, rank, kind=SQUARE):
    """{m_h: [error for each seed]}."""
    runs = [(m, seed) for m in heads(claim, rank) for seed in seeds(claim, rank, m)]
    specs = [from_random(claim, alpha, rank, *run) for run in runs]
    errors, found = claim.for_each(specs, lambda spec: error(claim, spec, kind)), {}
    for (m, _), value in zip(runs, errors, strict=True):
        found.setdefault(m, []).append(value)
    return found


@functools.cache
def fresh(alpha, rank):
    """The task, and the sequences of seed 0, in double precision."""
    task = spectra.Spectrum(alpha, rank)
    return task, task.draw(learner.generator_at(0, -2), learner.JUDGED)


@functools.cache
def of_construction(alpha, rank, m):
    """Errors of the outputs of the construction, in double precision."""
    task, x = fresh(alpha, rank)
    return spectra.construction(task, m, x)(x)[..., None] - task.wanted(x)


def best(claim, alpha, rank, m):
    """The training that finds the best coupling."""
    waves, sequences, iterations = claim.at_scale(
        smoke=(16, 300, 60), laptop=(24, 1000, 200), paper=(32, 4000, 1000)
    )
    spec = spectra.BestCoupling(spectra.Spectrum(alpha, rank), m, waves, sequences, iterations, 0)
    return claim.train(spec, spectra.best_coupling).outcome


def squares_of_best(claim, alpha, rank, m):
    """Of A w(u) . B w(v), w = (1, sines, cosines), on each fresh sequence; written out here."""
    import torch

    task, x = fresh(alpha, rank)
    A, B = (best(claim, alpha, rank, m).tensors[name] for name in "AB")
    angles = 2 * math.pi * x * torch.arange(1, A.shape[1] // 2 + 1)
    w = torch.cat([torch.ones_like(x), 2**0.5 * angles.sin(), 2**0.5 * angles.cos()], -1)
    e = ((w @ A.T) @ (w @ B.T).mT).exp()
    most = 2 * (A.abs().sum(1) * B.abs().sum(1)).sum().item()  # of a logit
    return by_sequence((e @ x) / e.sum(-1, keepdim=True) - task.wanted(x)), most


def too_small(claim, rank):
    """The heads that cannot have the rank."""
    return [m for m in heads(claim, rank) if not rank or m < rank]


# (alpha, r, m): S_m and T_m, the sums of sigma_i and of sigma_i^2 beyond m, by hand
TAILS = {
    ("2", 2, 1): (1 / 4, 1 / 16),
    ("2", 6, 3): (1 / 16 + 1 / 25 + 1 / 36, 1 / 256 + 1 / 625 + 1 / 1296),
    ("2", None, 1): (math.pi**2 / 6 - 1, math.pi**4 / 90 - 1),
    ("3/2", 2, 1): (2**-1.5, 1 / 8),
    ("3/2", 6, 3): (1 / 8 + 5**-1.5 + 6**-1.5, 1 / 64 + 1 / 125 + 1 / 216),
    ("3/2", None, 1): (1.6123753486854883, 0.2020569031595943),  # zeta(3/2) - 1, zeta(3) - 1
}


@alphas
@ranks
@pytest.mark.construct
def test_the_logits_of_the_construction_cost_what_is_derived(alpha, rank, claim):
    """E sum_s delta_ts^2 = c (T_m + S_m^2 / (m + c)), c = tau - 1/2 = 31/2 (rate.py, 2 and 3). For
    alpha = r = 2, m_h = 1: 31/2 (1/16 + 1/16 / (33/2)) = 1085/1056."""
    task, x = fresh(alpha, rank)
    ((m, (S, T)),) = ((k[2], tails) for k, tails in TAILS.items() if k[:2] == (alpha, rank))
    delta = spectra.construction(task, m, x).target().logits(x) - task.coupling.rho(x, x)
    raised = float(spectra.kept(spectra.Spectrum("2", 2), 1)[0])  # 1 + (1/4) / (1 + 31/2)
    claim.measured("s_1", raised, equation="(47)").within(67 / 66, rounding_error(2**-52, "u"))
    costs = delta.square().sum(-1).mean(-1)
    deviation = costs.std().item() / len(costs) ** 0.5
    claim.measured("sum of (ρ − ρ̂)² over s", costs.mean().item(), equation="(47)", m_h=m).within(
        31 / 2 * (T + S * S / (m + 31 / 2)),
        stderr(5 * deviation, f"5 standard errors, {len(costs)} sequences"),
    )


@alphas
@finite_ranks
@pytest.mark.construct
def test_the_construction_is_exact_once_the_head_has_the_rank(alpha, rank, claim):
    """Target and network add the same products in another order: round-off of double precision."""
    why = "2 ((r + 8) 2 Σ σ_i + τ + 4) u < 200 u, as in Section 5.1's claim"
    for m in (rank, 16):
        largest = of_construction(alpha, rank, m).abs().max().item()
        claim.measured("largest error", largest, equation=DROPS, m_h=m).at_most(
            rounding_error(200 * 2**-53, why)
        )


@alphas
@ranks
@pytest.mark.best_in_class
def test_the_best_coupling_for_outputs_is_below_the_construction(alpha, rank, claim):
    """The construction is nearly the best for logits; outputs forgive some of its errors."""
    why = "2000 u (1 + largest logit): waves off by 300 u, products by 85, on both sides, twice"
    for m in too_small(claim, rank):
        at = {"equation": "Figure 1, m_h < r", "m_h": m}
        (found, most), told = squares_of_best(claim, alpha, rank, m), best(claim, alpha, rank, m)
        claim.measured(f"{SQUARE}, best coupling", found.mean().item(), **at).within(
            told.numbers[SQUARE], rounding_error(2000 * 2**-53 * (1 + most), why)
        )
        theirs = by_sequence(of_construction(alpha, rank, m))
        claim.record("construction over best", (theirs.mean() / found.mean()).item(), m_h=m)
        is_below(claim, f"{SQUARE}, construction less best coupling found", found, theirs, **at)


@alphas
@ranks
@pytest.mark.train
def test_a_larger_head_has_a_smaller_error(alpha, rank, claim):
    """From each m_h < r to the next; and from random below the construction, but for larger heads,
    where training, not the rank, is the limit. How near to the best coupling is recorded."""
    found = {m: squares(claim, from_random(claim, alpha, rank, m)) for m in heads(claim, rank)}
    for m, errors in learnt(claim, alpha, rank).items():
        claim.record(SQUARE, errors, m_h=m)
    for before, after in itertools.pairwise(found):
        if before not in too_small(claim, rank):
            continue
        at = {"equation": "Figure 1", "smaller": before, "m_h": after}
        is_below(claim, f"{SQUARE}, smaller head less larger", found[after], found[before], **at)
    for m in too_small(claim, rank):
        least, at = best(claim, alpha, rank, m).numbers[SQUARE], {"m_h": m}
        for start, spec in {"random": from_random, "construction": from_construction}.items():
            ratio = error(claim, spec(claim, alpha, rank, m)) / least
            claim.record(f"{SQUARE} over best coupling found", ratio, start=start, **at)
        if m <= claim.at_scale(smoke=3, laptop=8, paper=8):
            theirs, name = of_construction(alpha, rank, m), f"{SQUARE}, construction less trained"
            is_below(claim, name, found[m], by_sequence(theirs), equation="Figure 1", **at)


@alphas
@finite_ranks
@pytest.mark.train
def test_the_error_drops_once_the_head_has_the_rank(alpha, rank, claim):
    """Below what the best coupling found of a rank m_h <= r/2 leaves, seed by seed. At m_h = r = 6
    a training from random may miss the last wave; from the construction it does not."""
    every = heads(claim, rank)
    few, large = max(m for m in every if 2 * m <= rank), [m for m in every if m >= rank]
    left, name = (
        squares_of_best(claim, alpha, rank, few)[0],
        f"{SQUARE}, best of less rank less ours",
    )
    for m in large:
        at = {"equation": DROPS, "few": few, "m_h": m}
        ours = squares(claim, from_construction(claim, alpha, rank, m))
        is_below(claim, name, ours, left, **at, start="construction")
    for seed in seeds(claim, rank, few):
        spec = from_random(claim, alpha, rank, large[-1], seed)
        is_below(claim, name, squares(claim, spec), left, **at, start="random", seed=seed)


@pytest.mark.train
def test_the_error_falls_faster_where_the_singular_values_do(claim):
    """r = infinity, first m_h to last; smoke trainings from random are too short. And all cells."""
    starts = {"construction": from_construction, "random": from_random}
    if claim.scale == "smoke":
        del starts["random"]
    few, *_, many = heads(claim, None)
    name, where = "log fall of the error, faster decay less slower", "Figure 1: (a) against (b)"
    for start, spec in starts.items():
        falls, deviation = [], 0.0
        for alpha in ALPHAS:
            before, after = (squares(claim, spec(claim, alpha, None, m)) for m in (few, many))
            falls.append((before.mean() / after.mean()).log().item())
            claim.record("fall of the error", math.exp(falls[-1]), alpha=alpha, start=start)
            for found in (before, after):
                deviation += (found.std() / found.mean()).item() / len(found) ** 0.5
        at = {"few": few, "many": many, "start": start}
        claim.measured(name, falls[1] - falls[0], equation=where, **at).at_least(
            stderr(5 * deviation, "5 standard errors, those of the four logarithms added")
        )
    draw_as_printed(claim)


@alphas
@pytest.mark.train
def test_the_error_grows_with_the_rank(alpha, claim):
    """At every m_h that two ranks have in common; the same sequences, seed 0."""
    for r, more in ORDERS:
        for m in sorted(set(heads(claim, r)) & set(heads(claim, more))):
            small, large = (squares(claim, from_random(claim, alpha, k, m)) for k in (r, more))
            at = {"r": r, "larger": more or "∞", "m_h": m}
            is_below(
                claim, f"{SQUARE}, larger rank less r", small, large, equation="Figure 1", **at
            )
    draw_beside_references(claim, alpha)


WAYS = {  # label: (frequency of the first layer, Adam alone)
    "sines, Muon and Adam": (SINES, False), "sines, Adam alone": (SINES, True),
    "SiLU, Muon and Adam": (None, False), "SiLU, Adam alone": (None, True),
}  # fmt: skip


@pytest.mark.train
def test_sines_in_the_first_layer_learn_in_the_steps_where_silu_does_not(claim):
    """r = 6, m_h = 8, where the error could be 0; the same steps for all four."""
    errors = {}
    for way, (sines, adam) in WAYS.items():
        if adam and claim.scale == "smoke":
            continue
        spec = from_random(claim, "3/2", 6, 8, sines=sines, printed=adam)
        errors[way] = squares(claim, spec)
        claim.record(SQUARE, errors[way].mean().item(), way=way)
    first, *others = errors
    for way in others:
        name, at = f"{SQUARE}, this way less {first}", {"equation": "Appendix C", "way": way}
        is_below(claim, name, errors[first], errors[way], **at)


def draw_beside_references(claim, alpha):
    for kind in (SQUARE, ABSOLUTE):
        panels, file = {}, kind.removesuffix(" error").replace(" ", "-")
        for rank in RANKS:
            ms, of, few = heads(claim, rank), (alpha, rank), too_small(claim, rank)
            references = {
                "construction": {m: learner.sizes(of_construction(*of, m))[kind] for m in ms},
                "best": {m: best(claim, *of, m).numbers[kind] if m in few else 0.0 for m in ms},
                "from construction": {
                    m: error(claim, from_construction(claim, *of, m), kind) for m in ms
                },
            }
            panels[f"r = {rank or '∞'}"] = (learnt(claim, *of, kind), references)
        claim.figure(
            pictures.beside_references(panels, kind, nothing=1e-9 if kind == SQUARE else 1e-5),
            f"{file}-{alpha.replace('/', '-')}",
            caption=f"σ_i = i^(−{alpha}), i ≤ r. What training finds, beside the best coupling of "
            "rank m_h and the construction, which is made for logits. Open marks: other seeds.",
        )


def draw_as_printed(claim):
    """With the line m^-(2 alpha - 1), which is no fit, and the exponents between heads."""
    panels, falls = {}, []
    for alpha in ALPHAS:
        line = 2 * float(couplings.rational(alpha)) - 1
        every = {rank: learnt(claim, alpha, rank) for rank in RANKS}
        curves = {r: {m: statistics.median(e) for m, e in every[r].items()} for r in RANKS}
        steps = [math.log(e / f) / math.log(n / m) for (m, e), (n, f) in pairs(curves[None])]
        claim.record("local exponents", steps, alpha=alpha, r="∞")
        falls.append(tabulate(claim, alpha, line, curves))
        found = {f"r = {rank or '∞'}": errors for rank, errors in every.items()}
        panels[f"$\\sigma_i = i^{{-{alpha}}}$"] = (line, found)
    seen = "falls faster" if falls[0] < falls[1] else "falls no faster"
    compare(claim, "r = ∞, against the slower decay", ALPHAS[1], "falls faster", seen)
    claim.figure(
        pictures.as_printed(panels),
        "as-printed",
        caption="Figure 1 again: error of networks trained from random, and the printed line.",
    )


def pairs(curve):
    return list(itertools.pairwise(curve.items()))


def tabulate(claim, alpha, line, curves):
    """What a reader sees in one panel, and its exponent for r = infinity."""
    for rank, curve in curves.items():
        grows = any(f > e for (m, e), (_, f) in pairs(curve) if m in too_small(claim, rank))
        seen = "does not fall" if grows else "falls with m_h"
        compare(claim, f"r = {rank or '∞'}, m_h < r", alpha, "falls with m_h", seen)
        if rank:
            few = max(m for m in curve if 2 * m <= rank)
            drop = curve[few] / curve[max(curve)]
            seen = "drops" if drop >= 10 else "does not drop"
            compare(claim, f"r = {rank}, m_h ≥ r", alpha, "drops", seen)
    ordered = all(
        curves[r][m] <= curves[more][m]
        for r, more in ORDERS
        for m in set(curves[r]) & set(curves[more])
    )
    seen = "grows with r" if ordered else "does not grow with r"
    compare(claim, "all r, fixed m_h", alpha, "grows with r", seen)
    (m, first), *_, (n, last) = curves[None].items()
    exponent = math.log(first / last) / math.log(n / m)
    seen = "flatter" if exponent < line - 0.5 else "steeper" if exponent > line + 0.5 else "along"
    compare(claim, "r = ∞, beside the line m_h^−(2α − 1)", alpha, "along", seen)
    return exponent


def compare(claim, row, alpha, paper, ours):
    run = f"m_h = {', '.join(map(str, heads(claim, None)))} for r = ∞"
    note = "α of the printed panels stands only in the picture; sines in the first layer"
    sizes = {"printed_size": "m_h = 1, 2, ..., 16", "run_size": run}
    claim.cell(row, f"α = {alpha}", paper=paper, ours=ours, note=note, **sizes)


@alphas
def test_control_a_head_that_fits_rank_6_leaves_an_error_at_infinite_rank(alpha, claim):
    """m_h = 8 with r = infinity: above the same head with r = 6."""
    finite, infinite = (squares(claim, from_random(claim, alpha, rank, 8)) for rank in (6, None))
    is_below(claim, f"{SQUARE}, infinite rank less rank six", finite, infinite, equation=DROPS)
