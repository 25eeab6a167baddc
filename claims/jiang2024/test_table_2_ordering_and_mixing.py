"""Table 2 (jiang2024, Section 6.2, settings in Appendix C): the order of the inputs breaks a linear
RNN, a filter in front of them breaks the Transformer.

For H_t(x) = sum_s e^-s x(t-s), 32 uniform inputs: exchanging the first ten with the last ten raises
the RNN's mean square error from 1.02e-7 to 3.57e-2 and leaves the Transformer at 2e-5; a random
filter of length 5 leaves the RNN at 1.58e-7 and raises the Transformer's error to 2.39e-4.

Checked, on trained networks, medians and spreads over seeds:
- RNN with 128 units, trained on the exact mean square error over all sequences: its error on the
  original, and after a causal filter, is below the exact floor under every RNN after the exchange,
  or after the filter of Section 6.2, which sees the future; there it is above.
- Transformer (5): after the exchange below that floor, in every seed; on convolutions above the
  RNN, beyond five standard errors. Most filters of
  mixed signs stop its training where the smaller sign of each row is lost; the same filters with
  one sign never do: the last cell, 2.39e-4, depends on the signs of a filter that is not printed.
Controls: an RNN that sees the sequence reversed; a Transformer without position encoding.

The number 3.57e-2 and the exchange that Appendix C describes do not fit: averaged over the outputs
every linear RNN, with biases or without, has at least 0.0526 (finding ordering-floor).

Not checked: that training must fail for mixed signs. (5) with n = 32 holds every such target
(finding representation-n-tau-d), so what is seen is about training. Nor that every recipe follows
the exchange as well as the original: ours was chosen, among several, because it learns both.

Readings: the text of Section 6.2 permutes e^-s, which would leave a convolution; Appendix C the
inputs. The RNN's 1.58e-7 cannot be had with the printed filter x(t+s) (claim on (92)): we read
x(t-s) and show both. Filters are drawn from N(0, 1) and divided by the sum of absolute values; of
those drawn we take the first that leave more than a tenth of the variance to the smaller sign. The
encoding is not printed: a unit vector for each position, times 4. RNNs are trained with Adam,
Transformers with Muon and Adam (learner.py). Numbers of steps and of seeds are not printed: at
laptop scale 5 seeds and 2000 steps. Seeds 5 and later, which no choice of ours has seen, are part
of paper scale, which has not been run. Reduced at smoke scale: tau = 8, one seed.
"""

import math
import statistics
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.bounds import last_digit, rounding_error, stderr, theorem
from repro.jiang2024 import (
    comparison,
    learner,
    linear_tasks,
    ordering,
    recurrent,
    trained_recurrent,
)
from repro.jiang2024.pictures import tables as pictures
from repro.numerics import exact

ORIGINAL, EXCHANGED = "Original", "Altered, ordering"
ONE_SIGN = "Altered, mixing, one sign"
CAUSAL, AHEAD = "Altered, mixing", "Altered, mixing, x(t + s)"
PRINTED = {
    "RNN": {ORIGINAL: 1.02e-7, EXCHANGED: 3.57e-2, CAUSAL: 1.58e-7, AHEAD: 1.58e-7},
    "Trans.": {ORIGINAL: 2.18e-5, EXCHANGED: 2.51e-5, CAUSAL: 2.39e-4, ONE_SIGN: 2.39e-4},
}
NOTES = {
    ("RNN", EXCHANGED): "the printed number is below the least error of any linear RNN",
    ("RNN", AHEAD): "the filter as Section 6.2 prints it; it looks ahead",
    ("RNN", CAUSAL): "the filter with x(t − s)",
    ("Trans.", EXCHANGED): "the recipe was chosen, among several, on this target",
    ("Trans.", CAUSAL): "the filter is not printed: here filters of mixed signs",
    ("Trans.", ONE_SIGN): "the filter is not printed: here the same filters with one sign",
}
ERROR = "mean square error"
TAU, TEN = 32, 10  # Appendix C


def setting(claim):
    return comparison.TABLE_2[claim.scale]


def exponential(claim, **changes):
    of = linear_tasks
    return of.LinearTask(of.Exponential(), tau=setting(claim).tau, **changes)


def tasks(claim):
    """The targets, one for each seed; with one sign: every other filter negative."""
    seeds = setting(claim).seeds
    filters = linear_tasks.of_mixed_signs(seeds, setting(claim).tau)
    one_sign = [tuple((-1) ** n * abs(v) for v in theta) for n, theta in enumerate(filters)]
    return {
        ORIGINAL: [exponential(claim)] * seeds,
        EXCHANGED: [exponential(claim, order="exchanged")] * seeds,
        CAUSAL: [exponential(claim, theta=theta) for theta in filters],
        AHEAD: [exponential(claim, theta=theta, ahead=True) for theta in filters],
        ONE_SIGN: [exponential(claim, theta=theta) for theta in one_sign],
    }


def trained_rnns(claim, targets, *, offsets=False):
    """The spec of one network for each target, and what its training gave."""
    spec = setting(claim).recurrent(targets, offsets=offsets)
    return spec, claim.train(spec, trained_recurrent.train).outcome


def errors_of_rnns(claim, row, *, offsets=False):
    _, outcome = trained_rnns(claim, tasks(claim)[row], offsets=offsets)
    return outcome.numbers["mean square errors"]


def stay_above_the_floor(claim, targets, errors, offset, equation):
    """No trained network is below the exact floor of its target."""
    floors = [linear_tasks.recurrent_floor(task, offset) for task in targets]
    claim.record("floors", floors, offset=offset)
    over = [error / floor for error, floor in zip(errors, floors, strict=True) if floor]
    claim.record(f"{ERROR} over the least possible", over, offset=offset)
    for seed, (error, floor) in enumerate(zip(errors, floors, strict=True)):
        at = {"equation": equation, "offset": offset, "seed": seed}
        claim.measured(f"{ERROR}, RNN", error, **at).at_least(
            theorem(floor, "no convolution errs less (ordering.py), floor in rationals")
        )
    return floors


def below_the_floor(claim, errors, floors, **at):
    """Errors on a target that a convolution can hold, floors of one that none can, by seed."""
    for seed, (error, floor) in enumerate(zip(errors, floors, strict=True)):
        claim.measured(f"{ERROR}, RNN", error, **at, seed=seed).at_most(
            theorem(floor, "the floor under every RNN of the altered target (ordering.py)")
        )


@pytest.mark.train
def test_another_order_breaks_the_rnn(claim):
    original = errors_of_rnns(claim, ORIGINAL)
    for offsets, offset in ((False, "none"), (True, "free")):
        errors, targets = errors_of_rnns(claim, EXCHANGED, offsets=offsets), tasks(claim)[EXCHANGED]
        floors = stay_above_the_floor(claim, targets, errors, offset, "Table 2, ordering")
        below_the_floor(claim, original, floors, equation="Table 2, original", offset=offset)
        claim.record("altered / original", min(errors) / max(original), offset=offset)


@pytest.mark.train
def test_a_causal_filter_does_not_and_the_printed_one_does(claim):
    """It sees x(t+1), ..., x(t+4), which no causal model knows."""
    where = "Table 2, RNN, mixing"
    original, causal, ahead = (errors_of_rnns(claim, row) for row in (ORIGINAL, CAUSAL, AHEAD))
    floors = stay_above_the_floor(claim, tasks(claim)[AHEAD], ahead, "none", where)
    for row, errors in ((ORIGINAL, original), (CAUSAL, causal)):
        below_the_floor(claim, errors, floors, equation=where, row=row)
    claim.record("altered / original", min(ahead) / max(original))


@pytest.mark.exact
def test_the_targets_by_hand(claim):
    """y = M x. The filter (1/2, -1/4) makes row 1 of e^-s (e/2 - 1/4, 1/2), e = e^-1, with x(t+s)
    (e/2, 1/2 - e/4, -1/4). Of 32 the exchange puts x(22) first and x(9) last: row 31 begins with
    e^-9, ends with e^-22; row 0 has its 1 in column 22. Of small M: variance (1 + 4 + 9)/24; row
    sums 3, 3 add nothing, 1, 3 add (1/2)^2; smaller signs 8/26; without places the others,
    (1, 3), (2, 2), (0, 4), leave (2 + 0 + 8)/36."""
    import torch

    of, e = linear_tasks, math.exp(-1)
    filtered = of.LinearTask(of.Exponential(), theta=(0.5, -0.25), tau=4)
    level, half = replace(filtered, standardised=True), torch.full((1, 4, 5), 0.5).double()
    wide = of.LinearTask(of.Exponential(), order="exchanged").matrix()
    for name, found, expected in (
        ("row", filtered.matrix()[1], (e / 2 - 0.25, 0.5, 0, 0)),
        ("row, ahead", replace(filtered, ahead=True).matrix()[1], (e / 2, 0.5 - e / 4, -0.25, 0)),
        ("ends of rows", (*wide[31, [0, 31]], *wide[0, [0, 22]]), (e**9, e**22, 0, 1)),
        ("variance", of.variance(np.array([[1, 2], [0, 3]])), 14 / 24),
        ("constant, same sums", of.error_of_a_constant(np.array([[1, 2], [0, 3]])), 14 / 24),
        ("constant", of.error_of_a_constant(np.array([[1, 0], [0, 3]])), 10 / 24 + 1 / 4),
        ("smaller sign", of.minority(np.array([[2, -3], [3, -2]])), 8 / 26),
        ("standardised mean", (level.wanted(half).mean().item(), level.outputs), (0, 1)),
        ("no places", of.floor_without_places(np.array([[9, 1, 3], [2, 9, 2], [0, 4, 9]])), 5 / 18),
    ):
        off = np.abs(np.subtract(found, expected)).max()
        claim.measured(f"{name}, off by", off, equation="Appendix C").at_most(
            rounding_error(2**-50, "a few operations on numbers below 4")
        )
    drawn = (np.random.default_rng(seed).normal(size=5) for seed in range(40))
    thetas = [tuple((theta / abs(theta).sum()).tolist()) for theta in drawn]
    smaller = {t: of.minority(of.LinearTask(of.Exponential(), theta=t).matrix()) for t in thetas}
    first = [theta for theta in thetas if smaller[theta] > 1 / 10][:9] == of.of_mixed_signs(9, TAU)
    claim.measured("the filters are the first of mixed signs", first, equation="Appendix C").equals(
        True
    )
    codes, places = filtered.draw(torch.Generator(), 1)[0, :, 1:].int(), 4 * np.eye(4, dtype=int)
    claim.measured("places", codes.tolist(), equation="Appendix C").equals(places.tolist())


def floor_of_appendix_c(tau, offset):
    """Under every linear RNN, for e^-s with the first and the last inputs exchanged, in balls."""
    with flint.ctx.workprec(128):
        rho = exact.vector([flint.arb(-s).exp() for s in range(tau)])
        exchanged = ordering.permuted(rho, ordering.exchange(tau, TEN * tau // TAU))
        return ordering.floor(exchanged, offset)


@pytest.mark.best_in_class
def test_the_exchange_is_that_of_appendix_c(claim):
    """The target that is trained has the floor of the one that is described.

    A root mean square moves by no more than the target does, and that by 2^-52 sum e^-s.
    """
    for offset in ("none", "free"):
        found = linear_tasks.recurrent_floor(tasks(claim)[EXCHANGED][0], offset)
        described = float(floor_of_appendix_c(setting(claim).tau, offset))
        at = {"equation": "Appendix C", "offset": offset}
        claim.measured("least mean square error, RNN", found, **at).within(
            described, rounding_error(2**-50, "2 √floor Σ e^-s 2^-52 < 2^-50")
        )


@pytest.mark.train
def test_kernel_form_and_steps_agree(claim):
    """c W^s U, in which it was trained, and (72) with its trained weights; in float64."""
    import torch

    of = trained_recurrent
    spec, outcome = trained_rnns(claim, tasks(claim)[ORIGINAL])
    generator = torch.Generator().manual_seed(claim.seed("inputs"))
    worst, errors = 0.0, []
    for (task, _), rnn in zip(spec.members, of.trained(spec, outcome), strict=True):
        x = torch.rand(2000, task.tau, 1, dtype=torch.float64, generator=generator)
        y = rnn(x)
        apart = y - recurrent.convolution(rnn.kernel(task.tau), x)
        assert apart.isfinite().all()
        worst = max(worst, (apart.abs() / of.roundoff(rnn, x)).max().item())
        errors.append((y - task.wanted(x)[..., 0]).square().mean(-1))
    claim.measured("difference over its bound", worst, equation="(72), (74)").at_most(
        rounding_error(1, "the sum of both bounds, trained_recurrent.py")
    )
    both = zip(outcome.numbers["mean square errors"], errors, strict=True)
    for seed, (found, error) in enumerate(both):
        deviation = error.std().item() / len(error) ** 0.5
        claim.measured(f"{ERROR}, step by step", error.mean(), equation="(72)", seed=seed).within(
            found, stderr(5 * deviation, f"5 standard errors, {len(error)} sequences")
        )


def printed_error_and_its_floor(tau, exchanged):
    """3.57e-2 and half a unit of its last digit; the least error of any linear RNN with offsets."""
    import flint

    from repro.jiang2024 import ordering
    from repro.numerics import exact

    rho = exact.vector([flint.arb(-s).exp() for s in range(tau)])
    M = ordering.permuted(rho, ordering.exchange(tau, exchanged))
    return flint.fmpq(3575, 100_000), ordering.floor(M, "free")


def test_printed_no_linear_rnn_reaches_the_printed_error(claim):
    """3.57e-2, and half a unit of its last digit, for the exchange of Appendix C, in balls."""
    claim.counterexample(
        "an RNN has the mean square error 3.57e-2 after the exchange of Appendix C",
        input={"kernel": "e^-s", "tau": TAU, "exchanged": TEN, "offsets": "free"},
        measured=Fraction(3575, 100_000), expected=floor_of_appendix_c(TAU, "free"), relation=">=",
        equation="Table 2, ordering, RNN", program=printed_error_and_its_floor,
        tau=TAU, exchanged=TEN,
    )  # fmt: skip


# --- the Transformer -----------------------------------------------------------------------------


def judged_transformers(claim, row):
    """Mean square error and its standard error, for each seed."""
    specs, judged = setting(claim).attention(tasks(claim)[row]), comparison.judged
    return claim.for_each(
        specs, lambda spec: judged(spec, claim.train(spec, learner.train).outcome)
    )


def errors_of_transformers(claim, row):
    return [error for error, _ in judged_transformers(claim, row)]


@pytest.mark.train
def test_the_transformer_follows_every_order(claim):
    original, exchanged = (errors_of_transformers(claim, row) for row in (ORIGINAL, EXCHANGED))
    claim.record("altered / original", statistics.median(exchanged) / statistics.median(original))
    floor = linear_tasks.recurrent_floor(tasks(claim)[EXCHANGED][0], "free")
    for seed, error in enumerate(exchanged):
        at = {"equation": "Table 2, ordering", "seed": seed}
        claim.measured(f"{ERROR}, Trans.", error, **at).at_most(
            theorem(floor, "what no RNN passes below (ordering.py)")
        )


@pytest.mark.needs(scale="laptop")
@pytest.mark.train
def test_filters_of_mixed_signs_hurt_the_transformer_and_those_of_one_sign_do_not(claim):
    """The second largest error with mixed signs, since now and then one is learnt."""
    variances = np.array([[linear_tasks.variance(t.matrix())] for t in tasks(claim)[CAUSAL]])
    hurt, fine = (
        sorted((judged_transformers(claim, row) / variances).tolist()) for row in (CAUSAL, ONE_SIGN)
    )
    predicted = [linear_tasks.minority(task.matrix()) for task in tasks(claim)[CAUSAL]]
    for told, parts in (("minority", predicted), ("missed", hurt), ("missed, one sign", fine)):
        claim.record(told, parts)
    (more, deviation), (less, other) = hurt[-2], fine[-1]
    name, where = "part of the variance missed, mixed signs less one", "Table 2, Trans., mixing"
    claim.measured(name, more - less, equation=where).at_least(
        stderr(5 * (deviation + other), "5 standard errors of both")
    )


@pytest.mark.train
def test_neither_is_always_better(claim):
    """All cells; the RNN is better on convolutions, the Transformer on the exchanged order."""
    both = (ORIGINAL, EXCHANGED, CAUSAL)
    found = {
        "RNN": {row: errors_of_rnns(claim, row) for row in (*both, AHEAD)},
        "Trans.": {row: errors_of_transformers(claim, row) for row in (*both, ONE_SIGN)},
    }
    medians = {
        (c, row): statistics.median(e) for c, rows in found.items() for row, e in rows.items()
    }
    tabulate(claim, found, medians)
    for row in (ORIGINAL, CAUSAL):  # for the exchange: below the floor, above
        for seed, (error, deviation) in enumerate(judged_transformers(claim, row)):
            more, at = error - found["RNN"][row][seed], {"row": row, "seed": seed}
            claim.measured(f"{ERROR}, Trans. less RNN", more, equation="Table 2", **at).at_least(
                stderr(5 * deviation, "5 standard errors; that of the RNN is over all sequences")
            )
    claim.figure(
        picture(claim, found),
        "errors",
        caption="Table 2, every seed: the RNN trained on the exact mean square error, the "
        "Transformer on samples. Bars: the printed cells. Arrows: exact floors under the RNN.",
        alt="Median mean square errors: "
        + "; ".join(f"{c}, {row}: {value:.2g}" for (c, row), value in medians.items())
        + ".",
    )


def tabulate(claim, found, medians):
    """Every printed cell, and whether what the paper draws from it came out: the RNN is better on
    the original; there is "a performance drop", tenfold or more, or none, fivefold at most."""
    steps = {"RNN": setting(claim).recurrent_steps, "Trans.": setting(claim).recipe.steps}
    drops = {("RNN", EXCHANGED), ("Trans.", CAUSAL), ("Trans.", ONE_SIGN)}
    sizes = {
        "RNN": "128 units",
        "Trans.": f"n = d_v = m_h = 32, width {setting(claim).shape.f.width}",
    }
    for (column, row), ours in medians.items():
        ratio = ours / medians[column, ORIGINAL]
        order = ratio >= 10 if (column, row) in drops else ratio <= 5
        if row == ORIGINAL:
            order = medians["RNN", row] < medians["Trans.", row]
        told = comparison.told(found[column][row], tasks(claim)[row])
        notes = "; ".join(filter(None, [f"{steps[column]} steps", told, NOTES.get((column, row))]))
        paper = PRINTED[column][row]
        claim.cell(
            row, column, paper=paper, ours=ours, order=order, tolerance=last_digit(paper, 3),
            printed_size=f"τ = {TAU}, {sizes[column].replace('width 64', 'width 128')}",
            run_size=f"τ = {setting(claim).tau}, {sizes[column]}", note=notes,
        )  # fmt: skip


def picture(claim, found):
    floor = linear_tasks.recurrent_floor(tasks(claim)[EXCHANGED][0], "none")
    panels = {}
    for title, column, floors in (
        ("linear RNN", "RNN", {EXCHANGED: floor}),
        ("Transformer", "Trans.", {}),
    ):
        panels[title] = [
            pictures.Cell(row, errors, PRINTED[column][row], floors.get(row))
            for row, errors in found[column].items()
        ]
    return pictures.cells(panels, "mean square error")


def test_control_an_rnn_that_sees_the_sequence_reversed(claim):
    """Only time runs backwards: the floor of this target is above the error on the original."""
    targets = [exponential(claim, order="reversed")] * setting(claim).seeds
    _, outcome = trained_rnns(claim, targets)
    errors = outcome.numbers["mean square errors"]
    equation = "Table 2, RNN"
    floors = stay_above_the_floor(claim, targets, errors, "none", equation)
    below_the_floor(claim, errors_of_rnns(claim, ORIGINAL), floors, equation="Table 2, original")


def test_control_a_transformer_without_position_encoding(claim):
    """At the size of smoke scale, where the same network with places learns."""
    of, small = linear_tasks, comparison.SMALL
    task = of.LinearTask(of.Exponential(), tau=small.tau)
    (error, deviation), (told, _) = (
        comparison.judged(spec, claim.train(spec, learner.train).outcome)
        for seen in (False, True)
        for spec in small.attention([replace(task, encoded=seen)])
    )
    least = theorem(of.floor_without_places(task.matrix()), "linear_tasks.floor_without_places")
    name = f"{ERROR} and 5 standard errors, without places"
    claim.measured(name, error + 5 * deviation, equation="Table 2").at_least(least)
    claim.measured(f"{ERROR}, with places", told, equation="Table 2").at_most(least)
