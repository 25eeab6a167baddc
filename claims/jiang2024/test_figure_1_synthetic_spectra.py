"""Figure 1 (jiang2024, Section 5.1, settings in Appendix C): synthetic spectra, trained.

tau = 16 uniform tokens, F = f = id, rho = sum_{i <= r} i^-alpha phi_i(u) phi_i(v) with
phi_i = sqrt2 sin(2 pi i x), r = 2, 6, infinity: the error of a trained Transformer (5) falls with
m_h = 1, ..., 16 as fast as the singular values decay, and at fixed m_h it grows with r.

Checked, on fresh sequences: the error, mean square and L1, falls with m_h; faster for the faster
decay; it grows with r; from m_h <= r/2 to the largest m_h >= r it drops tenfold, in every seed.
Beside it stand the construction (exact once m_h >= r), the same planted into the network and
trained on, and the best coupling of rank m_h found for these outputs (spectra.py).

Not checked: an exponent. Heads up to 16 end where that of the construction begins, at
m_h = tau - 1/2 (Theorem 4.1). Whether our curves follow the printed line stands in the cells.

Readings: alpha stands only in the picture; 3/2 and 2 here, since alpha <= 1 with equal sines has no
continuous coupling at r = infinity (Section 5.1). The activation is not printed. Sines in the first
layer hand the network the kind of functions that the target is made of; SiLU does not learn them in
our steps. "Adam" alone is slower than Muon with Adam, which we use; sequences are fresh at each
step, so that training and test error are one. The error is a mean square.
Reduced at laptop scale: some m_h, 1000 steps, and two seeds where the error drops, elsewhere one.
"""

import functools
import itertools
import math
import statistics

import pytest

from repro.bounds import chosen, rounding_error
from repro.jiang2024 import couplings, learner, spectra
from repro.jiang2024.pictures import trained as pictures

ALPHAS = ("3/2", "2")
RANKS = (2, 6, None)
ORDERS = ((2, 6), (2, None), (6, None))
alphas = pytest.mark.parametrize("alpha", ALPHAS, ids="alpha={}".format)
ranks = pytest.mark.parametrize("rank", RANKS, ids=["r=2", "r=6", "r=inf"])
finite_ranks = pytest.mark.parametrize("rank", RANKS[:2], ids="r={}".format)
SQUARE, ABSOLUTE = "mean square error", "mean absolute error"
ERRORS = (SQUARE, ABSOLUTE)
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


def learnt(claim, alpha, rank, kind=SQUARE):
    """{m_h: [error for each seed]}."""
    runs = [(m, seed) for m in heads(claim, rank) for seed in seeds(claim, rank, m)]
    specs = [from_random(claim, alpha, rank, *run) for run in runs]
    errors, found = claim.for_each(specs, lambda spec: error(claim, spec, kind)), {}
    for (m, _), value in zip(runs, errors, strict=True):
        found.setdefault(m, []).append(value)
    return found


def medians(found):
    return {m: statistics.median(errors) for m, errors in found.items()}


@functools.cache
def of_construction(alpha, rank, m) -> dict[str, float]:
    """Both errors of the construction, in double precision, on the sequences of seed 0."""
    task = spectra.Spectrum(alpha, rank)
    x = task.draw(learner.generator_at(0, -2), learner.JUDGED)
    off = spectra.construction(task, m, x)(x)[..., None] - task.wanted(x)
    assert off.isfinite().all()
    return learner.sizes(off)


def best(claim, alpha, rank, m, kind=SQUARE):
    """Error of the best coupling found; nothing is to be found once m_h >= r."""
    if rank and m >= rank:
        return 0.0
    waves, sequences, iterations = claim.at_scale(
        smoke=(16, 300, 60), laptop=(24, 1000, 200), paper=(32, 4000, 1000)
    )
    spec = spectra.BestCoupling(spectra.Spectrum(alpha, rank), m, waves, sequences, iterations, 0)
    return claim.train(spec, spectra.best_coupling).outcome.numbers[kind]


def too_small(claim, rank):
    """The heads that cannot have the rank."""
    return [m for m in heads(claim, rank) if not rank or m < rank]


@alphas
@ranks
@pytest.mark.train
def test_a_larger_head_has_a_smaller_error(alpha, rank, claim):
    """From each m_h < r to the next, for the median over seeds; both errors."""
    for kind in ERRORS:
        found = learnt(claim, alpha, rank, kind)
        for m, errors in found.items():
            claim.record(kind, errors, m_h=m)
        middle = medians(found)
        for before, after in itertools.pairwise(middle):
            if before in too_small(claim, rank):
                most = chosen(middle[before] / 1.1, "the error of the head before, less a tenth")
                found = claim.measured(kind, middle[after], equation="Figure 1", m_h=after)
                found.at_most(most)


@alphas
@finite_ranks
@pytest.mark.train
def test_the_error_drops_once_the_head_has_the_rank(alpha, rank, claim):
    """From the largest m_h <= r/2 to the largest of all, seed by seed. At m_h = r = 6 a training
    from random may miss the last wave; from the construction the error drops there already."""
    name = f"drop of the {SQUARE}"
    tenfold = chosen(10, "the control, at infinite rank from m_h = 3 to 8, falls by less")
    every = heads(claim, rank)
    few, large = max(m for m in every if 2 * m <= rank), [m for m in every if m >= rank]
    for seed in seeds(claim, rank, few):
        errors = {m: error(claim, from_random(claim, alpha, rank, m, seed)) for m in (few, *large)}
        for m in large:
            at = {"few": few, "m_h": m, "seed": seed}
            drop = errors[few] / errors[m]
            claim.record("drop of the error", drop, **at)
        claim.measured(name, drop, equation=DROPS, **at).at_least(tenfold)
    left = error(claim, from_construction(claim, alpha, rank, few))
    for m in large:
        drop = left / error(claim, from_construction(claim, alpha, rank, m))
        at = {"few": few, "m_h": m}
        found = claim.measured(f"{name}, from the construction", drop, equation=DROPS, **at)
        found.at_least(tenfold)


@pytest.mark.train
def test_the_error_falls_faster_where_the_singular_values_do(claim):
    """r = infinity, first m_h to last; smoke trainings from random are too short. And all cells."""
    starts = {"construction": from_construction, "random": from_random}
    if claim.scale == "smoke":
        del starts["random"]
    few, *_, many = heads(claim, None)
    name, where = "fall of the error, faster decay over slower", "Figure 1: (a) against (b)"
    for start, spec in starts.items():
        falls = []
        for alpha in ALPHAS:
            before, after = (error(claim, spec(claim, alpha, None, m)) for m in (few, many))
            claim.record("fall of the error", before / after, alpha=alpha, start=start)
            falls.append(before / after)
        ratio, at = falls[1] / falls[0], {"few": few, "many": many, "start": start}
        claim.measured(name, ratio, equation=where, **at).at_least(
            chosen(1.3, "1 if the decay of the singular values did not matter")
        )
    draw_as_printed(claim)


@alphas
@pytest.mark.train
def test_the_error_grows_with_the_rank(alpha, claim):
    """At every m_h that two ranks have in common; the same sequences, seed 0."""
    for r, more in ORDERS:
        for m in sorted(set(heads(claim, r)) & set(heads(claim, more))):
            small, large = (error(claim, from_random(claim, alpha, k, m)) for k in (r, more))
            at = {"r": r, "larger": more or "∞", "m_h": m}
            claim.measured(SQUARE, small, equation="Figure 1", **at).at_most(
                chosen(large, "the error at the larger rank: the order of the printed curves")
            )


@alphas
@finite_ranks
@pytest.mark.construct
def test_the_construction_is_exact_once_the_head_has_the_rank(alpha, rank, claim):
    """Target and network add the same products in another order: round-off of double precision, and
    an error that falls with m_h before."""
    found = [of_construction(alpha, rank, m)[SQUARE] for m in range(1, rank + 1)]
    for m, (before, after) in enumerate(itertools.pairwise(found), 2):
        claim.measured(SQUARE, after, equation="Figure 1, m_h < r", m_h=m).at_most(
            chosen(before / 2, "half the error of the head before: each wave kept counts")
        )
    why = "2 ((r + 8) 2 Σ σ_i + τ + 4) u < 200 u, as in Section 5.1's claim"
    for m in (rank, 16):
        largest, most = of_construction(alpha, rank, m)[ABSOLUTE], rounding_error(200 * 2**-53, why)
        claim.measured(ABSOLUTE, largest, equation=DROPS, m_h=m).at_most(most)


@alphas
@ranks
@pytest.mark.best_in_class
def test_the_best_coupling_for_outputs_is_far_below_the_construction(alpha, rank, claim):
    """The construction is nearly the best for logits; outputs forgive some of its errors."""
    for m in too_small(claim, rank):
        at = {"equation": "Figure 1, m_h < r", "m_h": m}
        least, fitted = (best(claim, alpha, rank, m, k) for k in (SQUARE, f"{SQUARE}, fitted"))
        ratio = of_construction(alpha, rank, m)[SQUARE] / least
        claim.record("construction over best", ratio, m_h=m)
        claim.measured(f"{SQUARE}, construction over best coupling found", ratio, **at).at_least(
            chosen(1.3, "1 if the best for logits were the best for outputs")
        )
        name = f"{SQUARE} on fresh sequences over that of the fit"
        claim.measured(name, least / fitted, **at).at_most(
            chosen(2, "a fit to its own sequences alone would err far more on fresh ones")
        )


@alphas
@ranks
@pytest.mark.train
def test_both_starts_of_training_end_near_the_best_coupling(alpha, rank, claim):
    """While m_h < r: never four times below it, though F^ and f^ help; from the construction not
    twice above. From random, m_h = 16 is left where training, not the rank, is the limit."""
    for m in too_small(claim, rank):
        least = best(claim, alpha, rank, m)
        random = claim.at_scale(smoke=10, laptop=3 if m <= 8 else 10, paper=10)
        for start, spec, most in (
            ("random", from_random(claim, alpha, rank, m), random),
            ("construction", from_construction(claim, alpha, rank, m), 2),
        ):
            ratio = error(claim, spec) / least
            name, at = f"{SQUARE} over best coupling found", {"start": start, "m_h": m}
            claim.record(name, ratio, **at)
            found = claim.measured(name, ratio, equation="Figure 1", **at)
            found.at_most(chosen(most, "near where the rank is the limit, farther where time is"))
            found.at_least(chosen(0.25, "far below it F^ and f^ would have replaced the coupling"))


WAYS = {  # label: (frequency of the first layer, Adam alone)
    "sines, Muon and Adam": (SINES, False),
    "sines, Adam alone": (SINES, True),
    "SiLU, Muon and Adam": (None, False),
    "SiLU, Adam alone": (None, True),
}


@pytest.mark.train
def test_sines_in_the_first_layer_learn_in_the_steps_where_silu_does_not(claim):
    """r = 6, m_h = 8, where the error could be 0; the same steps for all four."""
    errors = {}
    for way, (sines, adam) in WAYS.items():
        if adam and claim.scale == "smoke":
            continue
        spec = from_random(claim, "3/2", 6, 8, sines=sines, printed=adam)
        errors[way] = error(claim, spec)
        claim.record(SQUARE, errors[way], way=way)
    first, *others = errors
    for way in others:
        name, ratio = f"{SQUARE} over that with {first}", errors[way] / errors[first]
        claim.measured(name, ratio, equation="Appendix C", way=way).at_least(
            chosen(2, "1 if activation and optimiser did not matter")
        )


@alphas
@pytest.mark.train
def test_the_errors_are_drawn_beside_their_references(alpha, claim):
    for kind in ERRORS:
        panels, file = {}, kind.removesuffix(" error").replace(" ", "-")
        for rank in RANKS:
            random, ms = learnt(claim, alpha, rank, kind), heads(claim, rank)
            after = {m: error(claim, from_construction(claim, alpha, rank, m), kind) for m in ms}
            references = {
                "construction": {m: of_construction(alpha, rank, m)[kind] for m in ms},
                "best": {m: best(claim, alpha, rank, m, kind) for m in ms},
                "from construction": after,
            }
            panels[f"r = {rank or '∞'}"] = (random, references)
            for m in too_small(claim, rank):
                ratio = references["construction"][m] / references["best"][m]
                name, at = f"{kind}, construction over best coupling", {"r": rank or "∞", "m_h": m}
                claim.measured(name, ratio, equation="Figure 1", **at).at_least(
                    chosen(1.1, "the caption says that the construction lies above")
                )
        claim.figure(
            pictures.beside_references(panels, kind, nothing=1e-9 if kind == SQUARE else 1e-5),
            f"{file}-{alpha.replace('/', '-')}",
            caption=f"σ_i = i^(−{alpha}), i ≤ r. What training finds lies near the best coupling "
            "of rank m_h; the construction, made for logits, lies above. Open marks: other seeds.",
        )


def draw_as_printed(claim):
    """With the line m^-(2 alpha - 1), which is no fit, and the exponents between heads."""
    panels, falls = {}, []
    for alpha in ALPHAS:
        line = 2 * float(couplings.rational(alpha)) - 1
        curves = {rank: medians(learnt(claim, alpha, rank)) for rank in RANKS}
        steps = [math.log(e / f) / math.log(n / m) for (m, e), (n, f) in pairs(curves[None])]
        claim.record("local exponents", steps, alpha=alpha, r="∞")
        falls.append(tabulate(claim, alpha, line, curves))
        every = {f"r = {rank or '∞'}": learnt(claim, alpha, rank) for rank in RANKS}
        panels[f"$\\sigma_i = i^{{-{alpha}}}$"] = (line, every)
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


@finite_ranks
def test_control_a_network_that_is_not_trained_has_learnt_nothing(rank, claim):
    """The twin before training, against the trained one, m_h >= r."""
    spec = from_random(claim, "3/2", rank, heads(claim, rank)[-1])
    tokens, wanted = learner.batch(spec, -2, 500)
    off = learner.untrained(spec)(tokens) - wanted
    ratio = off.square().mean().item() / error(claim, spec)
    claim.measured(f"{SQUARE}, untrained over trained", ratio, equation="Figure 1").at_least(
        chosen(1000, "1 if training learnt nothing")
    )


@alphas
def test_control_a_head_that_fits_rank_6_leaves_an_error_at_infinite_rank(alpha, claim):
    """m_h = 8 with r = infinity: far above the same head with r = 6, and no drop from m_h = 3. At
    smoke scale training is too short for the second: there is no such drop with r = 6 either."""
    finite, infinite = (error(claim, from_random(claim, alpha, rank, 8)) for rank in (6, None))
    least = chosen(claim.at_scale(smoke=1.2, laptop=3, paper=5), "1 if the rank did not matter")
    name = f"{SQUARE}, infinite rank over rank six"
    claim.measured(name, infinite / finite, equation=DROPS).at_least(least)
    if claim.scale == "smoke":
        return
    ratio = infinite / error(claim, from_random(claim, alpha, None, 3))
    name = f"{SQUARE}, infinite rank, large head over small"
    claim.measured(name, ratio, equation=DROPS).at_least(
        chosen(0.1, "no drop: a drop is tenfold or more")
    )
