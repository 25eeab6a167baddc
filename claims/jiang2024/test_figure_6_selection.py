"""Figure 6 (jiang2024, Appendix B.1): eight tokens choose three each.

Tokens carry a vector v_t of the plane and k = 3 indices s(t); the output is the mean of the v that
are named, tau = 8. For the s of (66) "the attention matrix accurately reconstructs rho", that is
the weights 0, 1/3, 2/3, 1; y(1), y(3), y(6) rest on one input, y(0), y(2) on two, y(4), y(5), y(7)
on three; and F^ o f^ is the identity on v.

Cells: whether the matrix rounded to thirds is that of (66), which outputs rest on one, two and
three inputs, and F^ o f^.

Checked, on 2000 fresh inputs and for every seed: the total variation distance of the rows of the
trained attention from these weights; the error of F^ o f^ over the standard deviation of v. Both
limits were set on seeds 0 to 2 and are judged on others. For (66), with the first fresh v: which
weights are above 1/6, half the least that is asked for, and whether rounding to thirds gives (66).
Controls: the untrained twin; indices as integers in the place of one-hot codes.

Readings: the token carries its own index too, since the target is not of form (8) without it (claim
on (63)); indices are one-hot codes, as the paper does not say; d_v = 2; sizes, steps and optimiser
are ours (repro/jiang2024/learner.py).
"""

import pytest

from repro.bounds import chosen, stderr, theorem
from repro.jiang2024 import learner, recovery, tasks
from repro.jiang2024.pictures import tasks as pictures

FIRST = 3  # seed: limits were set on 0, 1 and 2
NEAREST = theorem(1 / 6, "below 1/6 rounding to thirds gives the weights")
FIVE = stderr(5, "five standard errors of a mean over the fresh inputs")
RESTS_ON = {1: [1, 3, 6], 2: [0, 2], 3: [4, 5, 7]}  # text below (66)


def spec(claim, seed, coded=True):
    width, steps = claim.at_scale(smoke=(64, 600), laptop=(64, 1000), paper=(128, 4000))
    shape = learner.Shape(d_v=2, f=learner.Dense(width), F=learner.Dense(width))
    recipe = learner.Recipe.ours(steps, lr=0.03, rest=5e-3)
    return learner.FitAttention(one_hot() if coded else tasks.Selection(), shape, recipe, seed)


def one_hot():
    return tasks.OneHot(tasks.Selection(), columns=4, size=8)


def seeds(claim):
    return range(FIRST, FIRST + claim.at_scale(smoke=1, laptop=2, paper=5))


def trained(claim, spec):
    return recovery.judged(spec, claim.train(spec, learner.train).outcome)


@pytest.mark.exact
def test_the_task_by_hand(claim):
    """(66) with v_t = (t, -t): y(0) = (4 + 5 + 5)/3, y(1) = 4, y(4) = (0 + 3 + 7)/3, each times 3.
    Token 2, coded: v, indices 1, 1, 7 and its own, 2, as unit vectors of length 8. Inputs: v fills
    [-1, 1], every index is drawn."""
    import torch

    told, t = one_hot(), torch.arange(8).double()
    s = torch.tensor(tasks.PRINTED_SELECTION).double()
    x = told.coded(told.task.tokens(torch.stack([t, -t], 1), s))
    ones = x[2, 2:].nonzero()[:, 0].tolist()
    drawn = told.task.draw(torch.Generator().manual_seed(claim.seed("inputs")), 100)
    filled = torch.histc(drawn[..., :2], 10, -1, 1).int()
    for name, found, expected in (
        ("three times row 0", (3 * told.weights(x)[0]).int().tolist(), [0, 0, 0, 0, 1, 2, 0, 0]),
        ("three times y", (3 * told.wanted(x)[[0, 1, 4], 0]).round().int().tolist(), [14, 12, 10]),
        ("readout", told.readout(x)[5].int().tolist(), [5, -5]),
        ("ones of a code", ones, [1, 8 + 1, 16 + 7, 24 + 2]),
        ("back from the code", told.plain(x)[2].int().tolist(), [2, -2, 1, 1, 7, 2]),
        ("numbers in [−1, 1]", int(filled.sum()), 1600),
        ("tenths without one", int((filled == 0).sum()), 0),
        ("indices drawn", drawn[..., 2:5].int().unique().tolist(), list(range(8))),
        ("sizes", [told.inputs, told.outputs], [2 + 4 * 8, 2]),
    ):
        claim.measured(name, found, equation="(63), (66)").equals(expected)


@pytest.mark.train
def test_attention_counts_the_indices(claim):
    found = claim.for_each(seeds(claim), lambda seed: trained(claim, spec(claim, seed)))
    claim.record("share of rows with the right argmax", [r.agreement() for r in found])
    most = claim.at_scale(smoke=0.1, laptop=0.05, paper=0.05)
    name, off = (
        "mean total variation distance from the counts over k",
        max(r.distance() for r in found),
    )
    claim.measured(name, off, equation="Figure 6 (a), (64)").at_most(
        chosen(most, "a third of one index is 1/3; set on seeds 0 to 2, smoke trainings are short")
    )


@pytest.mark.train
def test_the_readout_is_the_projection_to_v(claim):
    found = claim.for_each(seeds(claim), lambda seed: trained(claim, spec(claim, seed)))
    rms, largest = zip(*(r.errors() for r in found), strict=True)
    small = claim.at_scale(smoke=0.1, laptop=0.05, paper=0.05)
    same = recovery.cell("the identity", max(rms) <= small, "RMS error over the deviation", rms)
    claim.cell("(c) F∘f", "random inputs", **same)
    claim.record("largest error of F∘f over the deviation of v", largest)
    name = "RMS error of F∘f over the deviation of v"
    claim.measured(name, max(rms), equation="Figure 6 (c)").at_most(
        chosen(small, "divides 'the identity' from others; set on seeds 0 to 2")
    )


def printed_input(claim, seed):
    """The s of (66) with the v of the first fresh input."""
    import torch

    one, told = spec(claim, seed), one_hot()
    drawn = learner.batch(one, -2, 1)[0].double()
    s = torch.tensor(tasks.PRINTED_SELECTION).double()
    tokens = told.coded(told.task.tokens(drawn[0, :, :2], s))
    network = learner.trained(one, claim.train(one, learner.train).outcome)
    return recovery.of_tokens(told, network, tokens[None])


@pytest.mark.train
def test_the_printed_input_rests_where_the_text_says(claim):
    """(66): weights above 1/6, half of 1/3; and how far from the counts the worst of 64 is."""
    results = claim.for_each(seeds(claim), lambda seed: printed_input(claim, seed))
    worst = [(r.attention - r.weights).abs().max().item() for r in results]
    rounds = recovery.cell("the weights of (66)", max(worst) < 1 / 6, "largest |A − weight|", worst)
    claim.cell("(a) matrix, rounded to thirds", "the input of (66)", **rounds)
    first = (results[0].attention[0] > 1 / 6).sum(-1).tolist()
    for n, stated in RESTS_ON.items():
        rest = [t for t in range(8) if first[t] == n]
        on = f"(b) outputs that rest on {n} input{'s' if n > 1 else ''}"
        claim.cell(on, "the input of (66)", paper=stated, ours=rest)
    for seed in seeds(claim):
        result = printed_input(claim, seed)
        relied = (result.attention[0] > 1 / 6).sum(-1).tolist()
        found = {n: [t for t in range(8) if relied[t] == n] for n in RESTS_ON}
        name, at = "outputs that rest on 1, 2, 3 inputs", {"equation": "text below (66)"}
        claim.measured(name, found, **at, seed=seed).equals(RESTS_ON)
        worst, name = (result.attention - result.weights).abs().max(), "largest |A − weight| of 64"
        claim.measured(name, worst.item(), equation="Figure 6 (a)", seed=seed).at_most(NEAREST)
    draw(claim)


def draw(claim):
    first, example = spec(claim, FIRST), printed_input(claim, FIRST)
    result, before = trained(claim, first), recovery.judged(first)
    rms, worst = result.errors()[0], (example.attention - example.weights).abs().max().item()

    matrices = example.attention[0].tolist(), example.weights[0].tolist()
    claim.figure(
        pictures.selection(*matrices, result.pairs(60), before.pairs(60)),
        "selection",
        caption="The indices of (66), from 0. (a) Attention of the trained network; written: how "
        "often row t names index s, over 3. (b) The same weights as lines from inputs to outputs. "
        "(c) What the network makes of a token alone, against its v.",
        alt=f"The colours of the matrix follow the counts: the largest difference is {worst:.2f}. "
        "Outputs 1, 3 and 6 hang on one input each, 0 and 2 on two, 4, 5 and 7 on three. F∘f lies "
        f"on the diagonal with an RMS error of {rms:.1%} of the deviation; of the untrained "
        "network it is nearly constant.",
    )


def test_control_the_untrained_twin(claim):
    for seed in seeds(claim):
        before, after = recovery.judged(spec(claim, seed)), trained(claim, spec(claim, seed))
        check_it_is_farther(claim, before, after, seed=seed)


def check_it_is_farther(claim, worse, better, **at):
    """From the counts and from the projection, on the same inputs."""
    found = worse.by_sequence()
    for name, least in better.by_sequence().items():
        more = recovery.in_standard_errors(found[name], least)
        name = f"{name}, less that of the trained network, in its standard errors"
        claim.measured(name, more, equation="Figure 6", **at).at_least(FIVE)


@pytest.mark.needs(scale="laptop")
def test_control_indices_as_integers(claim):
    """The same training; a network would have to tell 8 places on a line apart, 4 times over."""
    coded, plain = (trained(claim, spec(claim, FIRST, coded)) for coded in (True, False))
    claim.record("total variation, integers", plain.distance())
    check_it_is_farther(claim, plain, coded)
