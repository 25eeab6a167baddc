"""Table 2 (jiang2024, Section 6.2, settings in Appendix C): the order of the inputs breaks a linear
RNN, a filter in front of them breaks the Transformer.

For H_t(x) = sum_s e^-s x(t-s), 32 uniform inputs: exchanging the first ten with the last ten raises
the RNN's mean square error from 1.02e-7 to 3.57e-2 and leaves the Transformer at 2e-5; a random
filter of length 5 leaves the RNN at 1.58e-7 and raises the Transformer's error to 2.39e-4.

Checked, on trained networks, medians and spreads over seeds:
- RNN with 128 units, trained on the exact mean square error over all sequences (kernel form and
  step by step agree within a derived bound): the exchange raises its error by 1e3 and more, and
  never below the exact floor; a causal filter does not raise it; the filter of Section 6.2, which
  sees the future, does.
- Transformer (5): near 1e-5 on the original and after the exchange, in every seed. Most filters of
  mixed signs stop its training where the smaller sign of each row is lost, at 0.2 to 0.4 of the
  variance; the same filters with one sign, positive or negative, never do: the table's last cell,
  2.39e-4, depends on the signs of a filter that the paper does not print.
Controls: an RNN that sees the sequence reversed; a Transformer without position encoding.

As printed false: 3.57e-2 is below the floor 0.0526 under every linear RNN, with biases or without,
for the exchange that Appendix C describes (finding on the floor under Table 2). And 1.58e-7 cannot
be had with the printed filter x(t+s) (claim on (92)): it must have been x(t-s).

Not checked: that training must fail for mixed signs. (5) with n = 32 holds every such target
(finding on tau d dimensions), so what is seen is about training, not about approximation, and a
part of the filters is learnt. Nor that every recipe follows the exchange as well as the original:
ours was chosen, among about fifteen, because it learns both; several that learn the original as
well (fewer steps, smaller batches, larger first W_Q and W_K) left seeds of the exchanged target at
a hundred times its error. The Transformer is not trained on the printed filter x(t+s), which for it
is a convolution like the other.

Readings: the text of Section 6.2 permutes e^-s, which would leave a convolution; Appendix C the
inputs. Filters are drawn from N(0, 1) and divided by the sum of absolute values; of those drawn we
take the first that leave more than a tenth of the variance to the smaller sign. The encoding is not
printed: a unit vector for each position, times 4. RNNs are trained with Adam, Transformers with
Muon and Adam (learner.py). Seeds 5 and later, which no choice of ours has seen, are part of paper
scale.
Reduced: at laptop scale 5 seeds, 2000 steps; at smoke scale tau = 8, one seed. Paper scale has not
been run.
"""

import statistics
from dataclasses import replace
from fractions import Fraction

import flint
import pytest

from repro import jiang2024, numerics

ORIGINAL, EXCHANGED = "Original", "Altered, ordering"
ONE_SIGN = "Altered, mixing, one sign"
CAUSAL, AHEAD = "Altered, mixing", "Altered, mixing, x(t + s)"
PRINTED = {
    "RNN": {ORIGINAL: 1.02e-7, EXCHANGED: 3.57e-2, CAUSAL: 1.58e-7, AHEAD: 1.58e-7},
    "Trans.": {ORIGINAL: 2.18e-5, EXCHANGED: 2.51e-5, CAUSAL: 2.39e-4},
}
ERROR = "mean square error"
TAU, TEN = 32, 10  # Appendix C


def setting(claim):
    of = jiang2024.comparison
    return claim.at_scale(smoke=of.SMALL, laptop=of.LAPTOP_2, paper=of.PAPER_2)


def exponential(claim, **changes):
    of = jiang2024.linear_tasks
    return of.LinearTask(of.Exponential(), tau=setting(claim).tau, **changes)


def tasks(claim):
    """The targets, one for each seed; with one sign: every other filter negative."""
    seeds, tau = setting(claim).seeds, setting(claim).tau
    filters = jiang2024.linear_tasks.of_mixed_signs(seeds, tau)
    one_sign = [
        tuple((-1) ** number * abs(v) for v in theta) for number, theta in enumerate(filters)
    ]
    return {
        ORIGINAL: [exponential(claim)] * seeds,
        EXCHANGED: [exponential(claim, order="exchanged")] * seeds,
        CAUSAL: [exponential(claim, theta=theta) for theta in filters],
        AHEAD: [exponential(claim, theta=theta, ahead=True) for theta in filters],
        ONE_SIGN: [exponential(claim, theta=theta) for theta in one_sign],
    }


# --- the RNN -------------------------------------------------------------------------------------


def recurrent(claim, targets, *, offsets=False):
    """The spec of one network for each target, and what its training gave."""
    spec = setting(claim).recurrent(targets, offsets=offsets)
    return spec, claim.train(spec, jiang2024.trained_recurrent.train).outcome


def errors_of_rnns(claim, row, *, offsets=False):
    _, outcome = recurrent(claim, tasks(claim)[row], offsets=offsets)
    return outcome.numbers["mean square errors"]


def stay_above_the_floor(claim, targets, errors, offset, equation):
    """No trained network is below the exact floor of its target."""
    floors = [jiang2024.linear_tasks.recurrent_floor(task, offset) for task in targets]
    claim.record(**{f"floors, offset: {offset}": floors})
    source = "theorem: no convolution errs less (ordering.py), floor in rationals"
    for error, floor in zip(errors, floors, strict=True):
        claim.at_least(error, floor, f"{ERROR}, RNN", equation=equation, source=source)
    return floors


@pytest.mark.train
def test_another_order_breaks_the_rnn(claim):
    original = errors_of_rnns(claim, ORIGINAL)
    for offsets, offset in ((False, "none"), (True, "free")):
        errors = errors_of_rnns(claim, EXCHANGED, offsets=offsets)
        targets = tasks(claim)[EXCHANGED]
        stay_above_the_floor(claim, targets, errors, offset, "Table 2, ordering")
        ratio = min(errors) / max(original)
        source = "spread: 2e5 recorded; 1e3 is asked for"
        claim.at_least(ratio, 1e3, "altered / original", equation="Table 2, RNN", source=source)


@pytest.mark.train
def test_a_causal_filter_does_not(claim):
    original, filtered = (errors_of_rnns(claim, row) for row in (ORIGINAL, CAUSAL))
    ratio = statistics.median(filtered) / statistics.median(original)
    source = "spread: 0.1 recorded; 5 is allowed (printed: 1.5)"
    claim.at_most(ratio, 5, "altered / original", equation="Table 2, RNN", source=source)


@pytest.mark.train
def test_the_printed_filter_does(claim):
    """It sees x(t+1), ..., x(t+4), which no causal model knows."""
    original, filtered = (errors_of_rnns(claim, row) for row in (ORIGINAL, AHEAD))
    targets = tasks(claim)[AHEAD]
    stay_above_the_floor(claim, targets, filtered, "none", "Table 2, x(t + s)")
    source = "spread: 3e4 recorded; 1e3 is asked for"
    ratio = min(filtered) / max(original)
    claim.at_least(ratio, 1e3, "altered / original", equation="Table 2, RNN", source=source)


def floor_of_appendix_c(tau, offset):
    """Under every linear RNN, for e^-s with the first and the last inputs exchanged, in balls."""
    ordering = jiang2024.ordering
    with flint.ctx.workprec(128):
        rho = numerics.exact.vector([flint.arb(-s).exp() for s in range(tau)])
        exchanged = ordering.permuted(rho, ordering.exchange(tau, TEN * tau // TAU))
        return ordering.floor(exchanged, offset)


@pytest.mark.best_in_class
def test_the_exchange_is_that_of_appendix_c(claim):
    """The target that is trained has the floor of the one that is described.

    A root mean square moves by no more than the target does, and that by 2^-52 sum e^-s.
    """
    for offset in ("none", "free"):
        found = jiang2024.linear_tasks.recurrent_floor(tasks(claim)[EXCHANGED][0], offset)
        described = float(floor_of_appendix_c(setting(claim).tau, offset))
        name, source = "least mean square error, RNN", "roundoff: 2 √floor Σ e^-s 2^-52 < 2^-50"
        claim.within(found, described, 2**-50, name, equation=f"offset: {offset}", source=source)


@pytest.mark.best_in_class
def test_training_ends_near_the_best_rnn(claim):
    """Of all convolutions without offset, and with; what is left is slow, not impossible."""
    for offsets, offset in ((False, "none"), (True, "free")):
        targets = tasks(claim)[EXCHANGED]
        errors = recurrent(claim, targets, offsets=offsets)[1].numbers["mean square errors"]
        floors = stay_above_the_floor(claim, targets, errors, offset, "Table 2, ordering")
        ratio, name = max(errors) / floors[0], f"{ERROR} over the least possible"
        source = "spread: 1.2 and 1.6 recorded; twice is allowed"
        claim.at_most(ratio, 2, name, equation=f"offset: {offset}", source=source)


@pytest.mark.train
def test_kernel_form_and_steps_agree(claim):
    """c W^s U, in which it was trained, and (72) with its trained weights; in float64."""
    import torch

    of = jiang2024.trained_recurrent
    spec, outcome = recurrent(claim, tasks(claim)[ORIGINAL])
    generator = torch.Generator().manual_seed(claim.seed("inputs"))
    worst, errors = 0.0, []
    for (task, _), rnn in zip(spec.members, of.trained(spec, outcome), strict=True):
        x = torch.rand(2000, task.tau, 1, dtype=torch.float64, generator=generator)
        y = rnn(x)
        apart = y - jiang2024.recurrent.convolution(rnn.kernel(task.tau), x)
        assert apart.isfinite().all()
        worst = max(worst, (apart.abs() / of.roundoff(rnn, x)).max().item())
        errors.append((y - task.wanted(x)[..., 0]).square().mean(-1))
    source = "roundoff: the sum of both bounds, trained_recurrent.py"
    claim.at_most(worst, 1, "difference over its bound", equation="(72), (74)", source=source)
    for found, error in zip(outcome.numbers["mean square errors"], errors, strict=True):
        deviation = error.std().item() / len(error) ** 0.5
        source = f"stderr: 5 standard errors, {len(error)} sequences"
        name = f"{ERROR}, step by step"
        claim.within(error.mean(), found, 5 * deviation, name, equation="(72)", source=source)


def test_printed_no_linear_rnn_reaches_the_printed_error(claim):
    """3.57e-2, and half a unit of its last digit, for the exchange of Appendix C, in balls."""
    claim.counterexample(
        "an RNN has the mean square error 3.57e-2 after the exchange of Appendix C",
        input={"kernel": "e^-s", "tau": TAU, "exchanged": TEN, "offsets": "free"},
        measured=Fraction(3575, 100_000),
        relation=">=",
        expected=floor_of_appendix_c(TAU, "free"),
        equation="Table 2, ordering, RNN",
        snippet="import flint\nfrom repro import numerics\nfrom repro.jiang2024 import ordering\n"
        "rho = numerics.exact.vector([flint.arb(-s).exp() for s in range(32)])\n"
        "M = ordering.permuted(rho, ordering.exchange(32, 10))\n"
        "print(ordering.floor(M, 'free'), 'is the least; printed is 0.0357')",
    )


# --- the Transformer -----------------------------------------------------------------------------


def errors_of_transformers(claim, row):
    specs, train = setting(claim).attention(tasks(claim)[row]), jiang2024.learner.train
    runs = claim.for_each(specs, lambda spec: claim.train(spec, train))
    return [run.outcome.numbers[ERROR] for run in runs]


@pytest.mark.train
def test_the_transformer_follows_every_order(claim):
    original, exchanged = (errors_of_transformers(claim, row) for row in (ORIGINAL, EXCHANGED))
    ratio = statistics.median(exchanged) / statistics.median(original)
    source = "spread: 1.6; 5 is allowed (printed: 1.15)"
    claim.at_most(ratio, 5, "altered / original", equation="Table 2, Trans.", source=source)
    near, source = claim.at_scale(
        smoke=(1e-3, "spread: 3.3e-5 at smoke scale"),
        laptop=(1e-4, "spread: 1.5e-5; printed: 2.18e-5"),
        paper=(2.18e-5, "printed: 2.18e-5"),
    )
    level = statistics.median(original)
    claim.at_most(level, near, f"{ERROR}, Trans.", equation="Table 2, original", source=source)
    floor = jiang2024.linear_tasks.recurrent_floor(tasks(claim)[EXCHANGED][0], "free")
    beyond = "spread: 4e-4; a hundredth is allowed"
    name = "Transformer over the least possible RNN"
    level = statistics.median(exchanged) / floor
    claim.at_most(level, 0.01, name, equation="Table 2, ordering", source=beyond)


@pytest.mark.train
def test_filters_of_mixed_signs_hurt_the_transformer_and_those_of_one_sign_do_not(claim):
    hurt, fine = (
        jiang2024.comparison.parts(errors_of_transformers(claim, row), tasks(claim)[row])
        for row in (CAUSAL, ONE_SIGN)
    )
    predicted = [jiang2024.linear_tasks.minority(task.matrix()) for task in tasks(claim)[CAUSAL]]
    claim.record(minority=predicted, missed=hurt, missed_with_one_sign=fine)
    name, source = "part of the variance missed", "spread: 5e-4 and less (smoke: 9e-4)"
    allowed = claim.at_scale(smoke=0.01, laptop=1e-3, paper=1e-3)
    claim.at_most(max(fine), allowed, name, equation="Table 2, one sign", source=source)
    if len(hurt) > 1:  # of several, since now and then one is learnt
        source = "spread: 0.27 the second largest of five; 0.03 is asked for"
        second = sorted(hurt)[-2]
        claim.at_least(second, 0.03, name, equation="Table 2, mixed signs", source=source)


# --- the table -----------------------------------------------------------------------------------


@pytest.mark.train
def test_neither_is_always_better(claim):
    """All cells; the RNN is better on convolutions, the Transformer on the exchanged order."""
    found = {
        "RNN": {row: errors_of_rnns(claim, row) for row in (ORIGINAL, EXCHANGED, CAUSAL, AHEAD)},
        "Trans.": {
            row: errors_of_transformers(claim, row)
            for row in (ORIGINAL, EXCHANGED, CAUSAL, ONE_SIGN)
        },
    }
    steps = {"RNN": setting(claim).recurrent_steps, "Trans.": setting(claim).recipe.steps}
    for column, rows in found.items():
        for row, errors in rows.items():
            told = jiang2024.comparison.told(errors, tasks(claim)[row])
            paper, ours = PRINTED[column].get(row, "not printed"), statistics.median(errors)
            claim.table(row, column, paper=paper, ours=ours, note=f"{steps[column]} steps; {told}")
    medians = {
        (column, row): statistics.median(errors)
        for column, rows in found.items()
        for row, errors in rows.items()
    }
    for row, better, worse in (
        (ORIGINAL, "RNN", "Trans."),
        (EXCHANGED, "Trans.", "RNN"),
        (CAUSAL, "RNN", "Trans."),
    ):
        ratio, name = medians[better, row] / medians[worse, row], f"{better} over {worse}"
        source = "spread: 0.005 and less; a tenth is allowed"
        claim.at_most(ratio, 0.1, name, equation=f"Table 2, {row}", source=source)
    claim.figure(
        picture(claim, found),
        "errors",
        caption="Table 2, every seed: the RNN trained on the exact mean square error, the "
        "Transformer on samples. Bars: the printed cells. Arrows: exact floors under the RNN.",
        alt="Median mean square errors: "
        + "; ".join(f"{c}, {row}: {value:.2g}" for (c, row), value in medians.items())
        + ".",
    )


def picture(claim, found):
    of, pictures = jiang2024.linear_tasks, jiang2024.pictures.tables
    floor = of.recurrent_floor(tasks(claim)[EXCHANGED][0], "none")
    panels = {
        title: [
            pictures.Cell(row, errors, PRINTED[column].get(row), under.get(row))
            for row, errors in found[column].items()
        ]
        for title, column, under in (
            ("linear RNN", "RNN", {EXCHANGED: floor}),
            ("Transformer", "Trans.", {}),
        )
    }
    return pictures.cells(panels)


# --- controls ------------------------------------------------------------------------------------


def test_control_an_rnn_that_sees_the_sequence_reversed(claim):
    """No filter, no exchange, only time runs backwards. Trained as the others, it ends near a floor
    that is as high as theirs is not: at least a million times their error."""
    targets = [exponential(claim, order="reversed")] * setting(claim).seeds
    _, outcome = recurrent(claim, targets)
    errors = outcome.numbers["mean square errors"]
    equation = "Table 2, reversed"
    floors = stay_above_the_floor(claim, targets, errors, "none", equation)
    near, name = "spread: 1.01 times the least possible; twice is allowed", f"{ERROR}, reversed"
    claim.at_most(max(errors), 2 * floors[0], name, equation=equation, source=near)
    ratio, name = min(errors) / max(errors_of_rnns(claim, ORIGINAL)), "reversed / original"
    source = "spread: 2.8e5 and more; 1e3 is asked for, as of the exchange"
    claim.at_least(ratio, 1e3, name, equation=equation, source=source)


def test_control_a_transformer_without_position_encoding(claim):
    """At the size of smoke scale, where the same network with places learns."""
    of, small = jiang2024.linear_tasks, jiang2024.comparison.SMALL
    task = of.LinearTask(of.Exponential(), tau=small.tau)
    error, told = (
        claim.train(spec, jiang2024.learner.train).outcome.numbers[ERROR]
        for seen in (False, True)
        for spec in small.attention([replace(task, encoded=seen)])
    )
    least = of.floor_without_places(task.matrix())
    claim.record(without_places=error, with_places=told, least_possible=least)
    ratio, source = error / told, "spread: 580; 30 is asked for"
    name = "without places over with places"
    claim.at_least(ratio, 30, name, equation="Table 2, no places", source=source)
    source = "theorem: the others in whatever order (floor_without_places), less a tenth: sampled"
    name = f"{ERROR}, Trans."
    claim.at_least(error, 0.9 * least, name, equation="Table 2, no places", source=source)
