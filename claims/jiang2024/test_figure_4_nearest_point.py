"""Figure 4 (jiang2024, Appendix B.1): green points find red points.

Six points u(t) and six points v(s) of the plane; (5) is trained to give the v nearest to each u.
(a) The attention matrix of one input, (b) the same as lines between points: "exactly reveals that
each green point in set U is linked to the nearest point in V"; (c) F^ o f^ "is also found to learn
an identity function", the projection (u, v) -> v that is.

Cells: how many of the six points are linked to the nearest in the one input that is drawn (the
second fresh one: in the first most points meet the one of their own number); F^ o f^. The paper
does not say which input it draws.

Checked, on 2000 fresh inputs and for every seed: the total variation distance of the rows from
(55) and the error of F^ o f^ over the standard deviation of v; both limits were set on seeds 0 to 2
and are judged on others. "Exactly" depends on the input: (54) jumps where two points are at one
distance, (5) is continuous, and the wrong rows are those with a small gap, beyond five standard
errors. Training comes to this by a detour: it rests near the error of the best guess that sees u(t)
alone (drawn), and only then looks at the v: in the end it errs less than that guess. With d_v = 2,
the least that a point of the plane needs, it is the same as with 32.
Controls: the untrained twin; a training that ends on the detour.

"The attention matrix recovers rho" is an observation on trainings that ended well, not a property
of the task and of (5) (Proposition B.1 (3) is false). On the detour a query writes its guess into
the average by the way it divides its weight, whatever the v are. Larger steps can
fail to leave this place.

Readings: the paper gives no sizes, steps or optimiser for this figure. Points are uniform on
[-1, 1]^2; n = m_h = d_v = 32 as in Section 6, networks of width 64, Muon and Adam
(repro/jiang2024/learner.py).
Not checked: (55) itself, which is the claim on (54).
"""

import statistics

import pytest

from repro.bounds import chosen, stderr
from repro.jiang2024 import learner, recovery, tasks
from repro.jiang2024.pictures import tasks as pictures
from repro.jiang2024.pictures import trained as curves_of

GAP = 0.1  # between the least and the next distance: a row that is easy to tell
FIRST = 3  # seed: limits were set on 0, 1 and 2
READOUT = chosen(0.05, "divides 'an identity function' from others; set on seeds 0 to 2")
FIVE = stderr(5, "five standard errors of a mean over the fresh inputs")


def spec(claim, seed, d_v=32, steps=None):
    steps = steps or claim.at_scale(smoke=2000, laptop=2000, paper=4000)
    shape = learner.Shape(d_v=d_v, f=learner.Dense(64), F=learner.Dense(64))
    recipe = learner.Recipe.ours(steps, rest=3e-3)
    return learner.FitAttention(tasks.Nearest(), shape, recipe, seed)


def seeds(claim):
    return range(FIRST, FIRST + claim.at_scale(smoke=1, laptop=2, paper=5))


def trained(claim, spec):
    return recovery.judged(spec, claim.train(spec, learner.train).outcome)


def all_trained(claim):
    return claim.for_each(seeds(claim), lambda seed: trained(claim, spec(claim, seed)))


@pytest.mark.train
def test_every_green_point_finds_its_red_point(claim):
    found = all_trained(claim)
    name = "share of rows with the largest weight at the nearest point"
    claim.record(name, min(r.agreement() for r in found))
    name, off = "mean total variation distance from (55)", max(r.distance() for r in found)
    claim.measured(name, off, equation="Figure 4 (a)").at_most(
        chosen(0.1, "at most a fifth of the rows can be wrong; set on seeds 0 to 2")
    )


@pytest.mark.exact
def test_the_task_by_hand(claim):
    """u = (0, 0), (5, 1), v = (5, 0), (4, 4): distances 25, 32 and 1, 10 squared. Inputs fill
    [-1, 1]: 200 draws of 24 numbers leave no tenth of it empty."""
    import torch

    task = tasks.Nearest(tau=2)
    x = torch.tensor([[0, 0, 5, 0], [5, 1, 4, 4]], dtype=torch.float64)
    drawn = tasks.Nearest().draw(torch.Generator().manual_seed(claim.seed("inputs")), 200)
    filled = torch.histc(drawn, 10, -1, 1).int()
    for name, found, expected in (
        ("weights", task.weights(x).int().tolist(), [[1, 0], [1, 0]]),
        ("outputs", task.wanted(x).int().tolist(), [[5, 0], [5, 0]]),
        ("readout", task.readout(x).int().tolist(), [[5, 0], [4, 4]]),
        ("shape of inputs", list(drawn.shape), [200, 6, 4]),
        ("numbers in [−1, 1]", int(filled.sum()), 4800),
        ("tenths without one", int((filled == 0).sum()), 0),
    ):
        claim.measured(name, found, equation="(54), (55)").equals(expected)


def with_a_gap(result):
    """Rows whose second nearest point is farther than the nearest by more than GAP."""
    two = tasks.Nearest().distances(result.tokens, result.tokens).sort(-1).values
    return two[..., 1] - two[..., 0] > GAP


@pytest.mark.train
def test_the_wrong_rows_are_those_with_a_small_gap(claim):
    """The text says "exactly"; of all inputs, how many have six right rows?"""
    for seed in seeds(claim):
        result = trained(claim, spec(claim, seed))
        clear, at = with_a_gap(result), {"gap": GAP, "seed": seed}
        exactly = result.right.all(-1).double().mean().item()
        claim.record("inputs with all six rows right", exactly, seed=seed)
        claim.record("rows with a gap", clear.double().mean().item(), **at)
        (easy, m), (hard, n) = (wrong_share(result, rows) for rows in (clear, ~clear))
        claim.record("shares of wrong rows, large gap and small", (easy, hard), **at)
        deviation = (easy * (1 - easy) / m + hard * (1 - hard) / n) ** 0.5
        name = "share of wrong rows, small gap less large"
        claim.measured(name, hard - easy, equation="(54)", **at).at_least(
            stderr(5 * deviation, "five standard errors of both shares")
        )


def wrong_share(result, rows):
    """And of how many rows."""
    return 1 - result.agreement(rows), int(rows.sum())


@pytest.mark.train
def test_the_readout_is_the_projection_to_v(claim):
    found = all_trained(claim)
    rms, largest = zip(*(r.errors() for r in found), strict=True)
    same = recovery.cell("the identity", max(rms) <= 0.05, "RMS error over the deviation", rms)
    claim.cell("(c) F∘f", "random inputs", **same)
    claim.record("largest error of F∘f over the deviation of v", largest)
    name = "RMS error of F∘f over the deviation of v"
    claim.measured(name, max(rms), equation="Figure 4 (c)").at_most(READOUT)


def guess_from_u(claim):
    """Mean square error of the best guess that sees u(t) alone, by means over 256 cells."""
    import torch

    task = tasks.Nearest()
    x = task.draw(torch.Generator().manual_seed(claim.seed("guess")), 20000)
    y, u = task.wanted(x).reshape(-1, 2), x[..., :2].reshape(-1, 2)
    cell = ((u + 1) * 8).long() @ torch.tensor([16, 1])
    sums = torch.zeros(256, 2, dtype=y.dtype).index_add(0, cell, y)
    squares = (y - (sums / cell.bincount(minlength=256)[:, None])[cell]).square().mean(-1)
    return squares.mean().item(), squares.std().item() / 20000**0.5  # six tokens count as one


@pytest.mark.train
def test_training_rests_at_the_guess_from_u_alone(claim):
    """The median loss of the second fifth of all steps; and in the end less."""
    (guess, deviation), curves = guess_from_u(claim), {}
    for seed in seeds(claim):
        outcome = claim.train(spec(claim, seed), learner.train).outcome
        losses = outcome.curves["loss"]
        curves[f"seed {seed}"] = outcome.curves["step"], losses
        resting = statistics.median(losses[len(losses) // 5 : 2 * len(losses) // 5]) / guess
        claim.record("resting loss over that of the guess", resting, seed=seed)
        last, at = outcome.numbers["mean square error"], {"equation": "(54)", "seed": seed}
        claim.measured("error of the guess less that in the end", guess - last, **at).at_least(
            stderr(10 * deviation, "ten standard errors of the guess over 20000 inputs")
        )
    last = ", ".join(f"{name}: {losses[-1]:.3f}" for name, (_, losses) in curves.items())
    claim.figure(
        curves_of.losses(curves, guess),
        "detour",
        caption="The loss during training. Until it finds out about the v, the network guesses "
        "from u(t) alone.",
        alt=f"All curves fall to {guess:.3f}, the error of the guess, and rest there. "
        f"In the end they are at: {last}.",
    )


@pytest.mark.needs(scale="laptop")
@pytest.mark.train
def test_two_value_coordinates_do_as_well(claim):
    result = trained(claim, spec(claim, FIRST, d_v=2))
    claim.record("share of rows with the right argmax", result.agreement(), d_v=2)
    name, rms = "RMS error of F∘f over the deviation of v", result.errors()[0]
    claim.measured(name, rms, equation="(54)", d_v=2).at_most(READOUT)


@pytest.mark.train
def test_figure_points_and_lines(claim):
    """The second fresh input: in the first most points meet the one of their own number."""
    first = spec(claim, FIRST)
    result, before = trained(claim, first), recovery.judged(first)
    right = int(result.right[1].sum())
    rms, _ = result.errors()
    matrices = result.attention[1].tolist(), result.weights[1].tolist()
    points = result.tokens[1, :, :2].tolist(), result.tokens[1, :, 2:].tolist()
    claim.figure(
        pictures.nearest(*matrices, *points, result.pairs(60), before.pairs(60)),
        "nearest",
        caption="Green points ask, red ones answer. (a) Attention of the trained network for one "
        "input; where 1 is written, the nearest point is. (b) The same weights as lines. (c) What "
        "the network makes of a token alone, against its v.",
        alt=f"In the matrix and in the plane {right} of 6 green points are linked most darkly to "
        f"their nearest red point. F∘f lies on the diagonal with an RMS error of {rms:.1%} of the "
        "deviation; of the untrained network it is nearly constant.",
    )
    clear = with_a_gap(result)[1]
    found = int(result.right[1][clear].sum())
    of_those = f"{found} of the {int(clear.sum())} rows with a gap above {GAP} are right"
    claim.cell(
        "(a), (b) green points linked to the nearest red point", "one input",
        paper="6 of 6", ours=f"{right} of 6", order=bool(result.right[1][clear].all()),
        printed_size="6 and 6 points", run_size=f"{first.task.tau} and {first.task.tau} points",
        note=f"the input drawn is ours; {of_those}",
    )  # fmt: skip
    claim.measured("right rows with a gap, shown", found, equation="Figure 4 (b)", gap=GAP).equals(
        int(clear.sum())
    )


def test_control_the_untrained_twin(claim):
    for seed in seeds(claim):
        before, after = recovery.judged(spec(claim, seed)), trained(claim, spec(claim, seed))
        check_it_is_farther(claim, before, after, seed=seed)


def check_it_is_farther(claim, worse, better, **at):
    """From (55) and from the projection, on the same inputs."""
    found = worse.by_sequence()
    for name, least in better.by_sequence().items():
        more = recovery.in_standard_errors(found[name], least)
        name = f"{name}, less that of the trained network, in its standard errors"
        claim.measured(name, more, equation="Figure 4", **at).at_least(FIVE)


def test_control_a_training_that_ends_on_the_detour(claim):
    """A fifth of the steps: the loss has fallen by more than half, and nothing is recovered."""
    short = spec(claim, FIRST, steps=400)
    outcome, result = claim.train(short, learner.train).outcome, trained(claim, short)
    share = outcome.numbers["mean square error"] / outcome.numbers["variance"]
    claim.record("mean square error over variance", share)
    check_it_is_farther(claim, result, trained(claim, spec(claim, FIRST)))
