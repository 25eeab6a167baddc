"""Remark 3.6 (fang2022, Section 3): a ReLU network never produces a polynomial; these blocks do.

"Since the linear combination of the output units of traditional ReLU neural networks is only a
piece-wise linear function of the input, no matter how many finite layers and free parameters, it
can never produce a polynomial of the input with no error." And: the blocks of Theorem 3.5 are
fixed, so only F, beta and b need training.

The remark is about polynomials that are not affine: x = relu(x) - relu(-x) is one linear piece. For
degree 2 and more repro/fang2022/piecewise.py has the proof, and the best error for x^2 on [-1, 1]
with k linear pieces, 1/(2 k^2), in the mean square 4/(45 k^4).

Checked: in rationals, ReLU networks of one layer (k units at most) and of m layers (3m - 1 units,
k = 2^m) attain 1/(2 k^2) exactly; no choice of knots does better (linear programs); trained
networks lie above the floor of their own pieces, counted exactly. The model of Theorem 3.5 makes
x^2 with error 0 in rationals and with round-off in float64; its blocks do not depend on Q.
Controls, each breaks one word of the remark: targets of degree 1; units relu(x)^2 in place of
relu(x), which make x^2 without error and without attention; softmax for the one-hot maximum.

Not checked: polynomials other than x^2 in numbers (the proof covers them); that the degree is
"reflected in the number of blocks" (it is in the construction; far fewer blocks do: finding fewer
blocks). "Outperforms other classical models" is read as the two reasons that the remark gives.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import grid_error, rounding_error, theorem
from repro.fang2022 import pictures, piecewise, polynomials, powers
from repro.numerics import exact, roundoff

WIDTHS = {"1 x 10": (10,), "3 x 4": (4, 4, 4), "1 x 40": (40,)}  # layers x units
LAYER, DEEP = [2, 3, 5, 8, 11, 25], [1, 2, 3, 4, 5, 6]
ERROR = "largest |x² − network|"


def square():
    """The model of Theorem 3.5 for Q(x) = x^2, |x| <= 1."""
    return powers.construction(polynomials.Polynomial(1, {(2,): 1}), 1, lifts=powers.roomy)


@pytest.mark.exact
def test_the_attention_model_has_no_error(claim):
    def difference(x):
        (C,) = square()(exact.rationals([[x]]))
        return C - exact.rational(x) ** 2

    numbers = st.sampled_from([-1, 0, 1]) | st.fractions(-1, 1)
    examples = claim.at_scale(smoke=100, laptop=500, paper=5000)
    claim.for_all("C²(x) − x²", numbers, difference, equation="Theorem 3.5", examples=examples)


@pytest.mark.exact
def test_the_blocks_do_not_depend_on_the_polynomial(claim):
    """Ten polynomials of degree 3 in two variables: F, beta and b differ, no block does."""
    rng = claim.rng("polynomials")
    drawn = [polynomials.random_polynomial(2, 3, rng) for _ in range(10)]
    models = [powers.construction(Q, 2) for Q in drawn]
    weights = [[[*b.weights().values()] for b in model.blocks] for model in models]
    pairs = [zip(built, weights[0], strict=True) for built in weights]
    both = [weight for blocks in pairs for one in blocks for weight in zip(*one, strict=True)]
    other = sum(bool((ours != theirs).any()) for ours, theirs in both)
    claim.measured("weights of blocks that differ", other, equation="Remark 3.6, fixed").equals(0)
    lifts = [block.W_Q[1, 1] for block in square().blocks]
    claim.measured("9/4 B^i of x²", lifts, equation="Remark 3.6, fixed", B=1).equals(
        exact.rationals(["9/4", "9/4"]).tolist()
    )
    readouts = {tuple(map(str, (*model.beta, model.b))) for model in models}
    claim.measured("different β and b", len(readouts), equation="Remark 3.6, free").equals(10)


@pytest.mark.parametrize("k", LAYER, ids="k={}".format)
@pytest.mark.exact
def test_one_hidden_layer_attains_the_least_error(k, claim):
    network = piecewise.interpolant(k, piecewise.least_error(k))
    pieces = piecewise.linear_pieces(network)
    claim.measured("linear pieces", len(pieces), equation="w + 1").equals(k)
    claim.measured("units", network.widths, equation="k − 1 if k is odd").equals((k - k % 2,))
    error, least = piecewise.sup_error(pieces), piecewise.least_error(k)
    claim.measured(ERROR, error, equation="1/(2k²)").equals(least)
    lower = piecewise.linear_pieces(piecewise.interpolant(k, least * 4 / 3))
    square, least = piecewise.mean_square(lower), piecewise.least_mean_square(k)
    claim.measured("mean square", square, equation="4/(45k⁴)").equals(least)


@pytest.mark.parametrize("m", DEEP, ids="m={}".format)
@pytest.mark.exact
def test_deep_networks_attain_it_with_few_units(m, claim):
    least = piecewise.least_error(2**m)
    network = piecewise.sawtooth(m, least)
    pieces = piecewise.linear_pieces(network)
    size = claim.measured("pieces, units", (len(pieces), sum(network.widths)), equation="2^m")
    size.equals((2**m, 3 * m - 1))
    claim.measured(ERROR, piecewise.sup_error(pieces), equation="1/(2k²)").equals(least)


@pytest.mark.parametrize("k", [2, 3, 5, 8], ids="k={}".format)
@pytest.mark.best_in_class
def test_no_choice_of_knots_does_better(k, claim):
    """The best continuous function for given knots, by linear programs: equal pieces are best."""
    points, least = 401, 1 / (2 * k**2)
    off = (2 / (points - 1)) ** 2 / 4 + 1e-9
    found = piecewise.best_with_knots(np.linspace(-1, 1, k + 1), points)
    program = "spacing²/4, derived at best_with_knots, and 1e-9 for the linear program"
    equal = claim.measured("least error", found, equation="1/(2k²)", knots="equal")
    equal.within(least, grid_error(off, program))
    rng, draws = claim.rng("knots"), claim.at_scale(smoke=10, laptop=50, paper=500)
    knots = (np.sort([-1, 1, *rng.uniform(-1, 1, k - 1)]) for _ in range(draws))
    others = min(piecewise.best_with_knots(some, points) for some in knots)
    drawn = claim.measured("least error", others, equation="1/(2k²)", knots="random", draws=draws)
    drawn.at_least(grid_error(least - off, program))


@pytest.mark.exact
def test_the_floors_at_two_points_worked_out_by_hand(claim):
    """1/(2k²), 4/(45k⁴), (w_1 + 1)(w_2 + 1) ...: 1/8 and 4/720 for k = 2, 1/18 and 4/3645 for 3."""
    for k, error, square in ((2, "1/8", "1/180"), (3, "1/18", "4/3645")):
        found = claim.measured("least error", piecewise.least_error(k), equation="1/(2k²)", k=k)
        found.equals(exact.rational(error))
        mean = claim.measured(
            "mean square", piecewise.least_mean_square(k), equation="4/(45k⁴)", k=k
        )
        mean.equals(exact.rational(square))
    pieces = [piecewise.most_pieces(widths) for widths in WIDTHS.values()]
    claim.measured("most pieces", pieces, equation="Π (w + 1)").equals([11, 125, 41])


def trained(claim, widths):
    """For every seed: linear pieces, sup error and mean square of the trained network."""
    steps = claim.at_scale(smoke=100, laptop=300, paper=2000)
    for run in range(claim.at_scale(smoke=2, laptop=5, paper=20)):
        spec = piecewise.ReluFit(widths, steps, claim.seed(f"run {run}") % 2**31)
        yield piecewise.sizes(claim.train(spec, piecewise.train).outcome.tensors)


@pytest.mark.parametrize("shape", WIDTHS)
@pytest.mark.train
def test_trained_networks_stay_above_the_floor_of_their_pieces(shape, claim):
    found = list(trained(claim, WIDTHS[shape]))
    most = theorem(piecewise.most_pieces(WIDTHS[shape]), "Π (w + 1), see piecewise.py")
    for run, (k, error, square) in enumerate(found):
        floor = theorem(piecewise.least_error(k), "1/(2k²) for its k pieces")
        claim.measured("linear pieces", k, equation="k ≤ Π (w + 1)", run=run).at_most(most)
        claim.measured(ERROR, error, equation="1/(2k²)", run=run).at_least(floor)
        floor = theorem(piecewise.least_mean_square(k), "4/(45k⁴) for its k pieces")
        claim.measured("mean square", square, equation="4/(45k⁴)", run=run).at_least(floor)
    two = theorem(piecewise.least_mean_square(2), "what two pieces leave; so it has learnt")
    best = min(square for *_, square in found)
    claim.measured("mean square of the best", best, equation="4/(45·2⁴)").at_most(two)


@pytest.mark.train
def test_float64_attention_is_far_below_every_network(claim):
    import torch

    x = claim.rng("x").uniform(-1, 1, 2000)
    t = torch.tensor(x[:, None], device=claim.device)
    out = square().to(torch.float64, claim.device)(t).cpu().numpy()
    attention = exact.to_float(abs(exact.rationals(out) - exact.rationals(x) ** 2)).max()
    bound = 12.6 * roundoff.unit("float64")
    by_hand = "4.25u in each block (tower.py); β is rounded, multiplied, added to two others: 4u"
    most = rounding_error(bound, by_hand)
    claim.measured("largest |x² − C²(x)|", attention, equation="Theorem 3.5").at_most(most)
    points = {
        f"trained, {shape} units": [(k, error) for k, error, _ in trained(claim, widths)]
        for shape, widths in WIDTHS.items()
    }
    lowest = min(error for found in points.values() for _, error in found)
    least = theorem(3.2e-5, "1/(2k²) ≥ 1/(2·125²) for these three shapes")
    claim.measured("smallest error of a network", lowest, equation="1/(2k²)").at_least(least)
    largest = max(64, *(k for found in points.values() for k, _ in found))
    optimal = {
        "one layer, k units at most": [(k, 1 / (2 * k**2)) for k in LAYER],
        "m layers, 3m − 1 units": [(2**m, 1 / (2 * 4**m)) for m in DEEP],
    }
    told = [
        f"{label}: {min(k for k, _ in found)} to {max(k for k, _ in found)} pieces, errors "
        f"{min(e for _, e in found):.2g} to {max(e for _, e in found):.2g}"
        for label, found in points.items()
    ]
    floor = [(k, 1 / (2 * k**2)) for k in range(1, largest + 1)]
    claim.figure(
        pictures.floor(floor, optimal, points, attention),
        "floor",
        caption="k linear pieces leave an error of 1/(2k²) against x² on [−1, 1]. Constructed ReLU "
        "networks attain it, trained ones do not; the attention model has no error to leave.",
        alt="Largest error against the number of linear pieces, both axes logarithmic. The floor "
        f"1/(2k²) falls from 0.5 at one piece to {1 / (2 * largest**2):.1e} at {largest}; "
        f"constructed networks lie on it. {'; '.join(told)}. The attention model lies at "
        f"{attention:.1e}, its bound is {bound:.1e}.",
    )


@pytest.mark.parametrize(("slope", "offset"), [(0, 1), (1, 0), (-2, 3)], ids=["1", "x", "3 - 2x"])
def test_control_for_targets_of_degree_one_there_is_no_floor(slope, offset, claim):
    """Degree 1 in place of 2: with two pieces to spend the least error is 0, not 1/8."""
    (piece,) = piecewise.linear_pieces(piecewise.affine(slope, offset))
    ends = (piece.left, piece.right)
    error = max(abs((piece.slope - slope) * x + piece.offset - offset) for x in ends)
    floor = piecewise.least_error(2)
    found = claim.measured("how far the error is below 1/(2k²)", floor - error, equation="1/(2k²)")
    found.at_least(theorem(floor, "an affine target leaves no error"))


def test_control_with_squared_units_two_of_them_make_the_square(claim):
    """x^2 = relu(x)^2 + relu(-x)^2: rectified power units represent polynomials without error (Li,
    Tang, Yu 2019, PowerNet, arXiv:1909.05136), so it is the linear pieces that matter.
    """
    x = exact.rationals(claim.rng("squared").integers(-99, 100, 200).tolist()) / 99
    hidden = [np.where(side * x > 0, side * x, 0 * x) for side in (1, -1)]
    error = max(abs(hidden[0] ** 2 + hidden[1] ** 2 - x**2))
    floor = piecewise.least_error(3)
    found = claim.measured("how far the error is below 1/(2k²)", floor - error, equation="1/(2k²)")
    found.at_least(theorem(floor, "two ReLU units have three pieces; two squared ones no error"))


def test_control_with_softmax_the_attention_model_is_constant(claim):
    """Softmax for the one-hot maximum: both slots hold a constant, and no x^2 is left."""
    import torch

    x = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    out = square().to(torch.float64)(x, attend=lambda alpha: alpha.softmax(-1))
    error = (out - x[:, 0] ** 2).abs().max()
    off = claim.measured("largest |x² − C²(x)|", error, equation="Section 2.2 with softmax")
    off.at_least(theorem(0.5, "no constant is nearer to 0 and 1"))
