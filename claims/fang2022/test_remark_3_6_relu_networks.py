"""Remark 3.6 (fang2022, Section 3): a ReLU network never produces a polynomial; these blocks do.

"Since the linear combination of the output units of traditional ReLU neural networks is only a
piece-wise linear function of the input, no matter how many finite layers and free parameters, it
can never produce a polynomial of the input with no error." And: the blocks of Theorem 3.5 are
fixed, so only F, beta and b need training.

As printed this is false: polynomials of degree 0 and 1 are produced, x = relu(x) - relu(-x).
Repaired, "of degree at least 2", it holds: repro/fang2022/piecewise.py has the proof, and the best
error for x^2 on [-1, 1] with k linear pieces, 1/(2 k^2), in the mean square 4/(45 k^4).

Checked: in rationals, ReLU networks of one layer (k units at most) and of m layers (3m - 1 units,
k = 2^m) attain 1/(2 k^2) exactly; no choice of knots does better (linear programs); trained
networks lie above the floor of their own pieces, counted exactly from their weights. The model of
Theorem 3.5 makes x^2 with error 0 in rationals and with round-off in float64, and its blocks do not
depend on the polynomial.
Controls: a target of degree 1; softmax for the one-hot maximum.

Not checked: polynomials other than x^2 in numbers (the proof covers them); that the degree is
"reflected in the number of blocks" (finding-fewer-blocks shows that far fewer blocks do).
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from repro import fang2022, numerics

WIDTHS = {"1 x 10": (10,), "3 x 4": (4, 4, 4), "1 x 40": (40,)}  # layers x units
LAYER, DEEP = [2, 3, 5, 8, 11, 25], [1, 2, 3, 4, 5, 6]
ERROR = "largest |x² − network|"


def square():
    """The model of Theorem 3.5 for Q(x) = x^2, |x| <= 1."""
    Q = fang2022.polynomials.Polynomial(1, {(2,): 1})
    return fang2022.powers.construction(Q, 1, lifts=fang2022.powers.roomy)


def one_layer(k):
    return fang2022.piecewise.interpolant(k, fang2022.piecewise.least_error(k))


def deep(m):
    return fang2022.piecewise.sawtooth(m, fang2022.piecewise.least_error(2**m))


@pytest.mark.exact
def test_the_attention_model_has_no_error(claim):
    model = square()

    def difference(x):
        (C,) = model(numerics.exact.rationals([[x]]))
        return C - numerics.exact.rational(x) ** 2

    numbers = st.sampled_from([-1, 0, 1]) | st.fractions(-1, 1)
    examples = claim.at_scale(smoke=100, laptop=500, paper=5000)
    claim.for_all(numbers, difference, "C²(x) − x²", equation="Theorem 3.5", examples=examples)


@pytest.mark.exact
def test_the_blocks_do_not_depend_on_the_polynomial(claim):
    """Ten polynomials of degree 3 in two variables: F, beta and b differ, no block does."""
    rng = claim.rng("polynomials")
    drawn = [fang2022.polynomials.random_polynomial(2, 3, rng) for _ in range(10)]
    models = [fang2022.powers.construction(Q, 2) for Q in drawn]
    first = models[0].blocks
    other = sum(
        bool((ours.weights()[name] != weight).any())
        for model in models
        for ours, block in zip(model.blocks, first, strict=True)
        for name, weight in block.weights().items()
    )
    claim.equals(other, 0, "weights of blocks that differ", equation="no training is needed")
    readouts = {tuple(map(str, (*model.beta, model.b))) for model in models}
    claim.equals(len(readouts), len(models), "different β and b", equation="the free parameters")


@pytest.mark.parametrize("k", LAYER, ids="k={}".format)
@pytest.mark.exact
def test_one_hidden_layer_attains_the_least_error(k, claim):
    network = one_layer(k)
    pieces = fang2022.piecewise.linear_pieces(network)
    claim.equals(len(pieces), k, "linear pieces", equation="w + 1")
    claim.equals(network.widths, (k - k % 2,), "units", equation="k − 1 if k is odd")
    error, least = fang2022.piecewise.sup_error(pieces), fang2022.piecewise.least_error(k)
    claim.equals(error, least, ERROR, equation="1/(2k²)")
    other = fang2022.piecewise.interpolant(k, least * 4 / 3)
    square = fang2022.piecewise.mean_square(fang2022.piecewise.linear_pieces(other))
    claim.equals(
        square, fang2022.piecewise.least_mean_square(k), "mean square", equation="4/(45k⁴)"
    )


@pytest.mark.parametrize("m", DEEP, ids="m={}".format)
@pytest.mark.exact
def test_deep_networks_attain_it_with_few_units(m, claim):
    network = deep(m)
    pieces = fang2022.piecewise.linear_pieces(network)
    claim.equals(
        (len(pieces), sum(network.widths)), (2**m, 3 * m - 1), "pieces, units", equation="2^m"
    )
    least = fang2022.piecewise.least_error(2**m)
    claim.equals(fang2022.piecewise.sup_error(pieces), least, ERROR, equation="1/(2k²)")


@pytest.mark.parametrize("k", [2, 3, 5, 8], ids="k={}".format)
@pytest.mark.best_in_class
def test_no_choice_of_knots_does_better(k, claim):
    """The best continuous function for given knots, by linear programs: equal pieces are best."""
    points, least = 401, 1 / (2 * k**2)
    grid = "grid: spacing²/4, derived at best_with_knots, and 1e-9 for the linear program"
    off = (2 / (points - 1)) ** 2 / 4 + 1e-9
    found = fang2022.piecewise.best_with_knots(np.linspace(-1, 1, k + 1), points)
    claim.within(found, least, off, "least error, equal pieces", equation="1/(2k²)", source=grid)
    rng = claim.rng("knots")
    draws = claim.at_scale(smoke=10, laptop=50, paper=500)
    others = [
        fang2022.piecewise.best_with_knots(np.sort([-1, 1, *rng.uniform(-1, 1, k - 1)]), points)
        for _ in range(draws)
    ]
    name = f"least error, {draws} random sets of knots"
    claim.at_least(min(others), least - off, name, equation="≥ 1/(2k²)", source=grid)


def trained(claim, widths):
    """For every seed: pieces, sup error and mean square from the trained weights.

    Exact numbers of a thousand digits, rounded down: what is still above a floor is above it.
    """
    steps = claim.at_scale(smoke=100, laptop=300, paper=2000)
    for run in range(claim.at_scale(smoke=2, laptop=5, paper=20)):
        spec = fang2022.piecewise.ReluFit(widths, steps, claim.seed(f"run {run}") % 2**31)
        tensors = claim.train(spec, fang2022.piecewise.train).outcome.tensors
        pieces = fang2022.piecewise.linear_pieces(fang2022.piecewise.network_of(tensors))
        sizes = fang2022.piecewise.sup_error(pieces), fang2022.piecewise.mean_square(pieces)
        yield (len(pieces), *np.nextafter(numerics.exact.to_float(sizes), 0))


@pytest.mark.parametrize("shape", WIDTHS)
@pytest.mark.train
def test_trained_networks_stay_above_the_floor_of_their_pieces(shape, claim):
    found = list(trained(claim, WIDTHS[shape]))
    for k, error, square in found:
        most = fang2022.piecewise.most_pieces(WIDTHS[shape])
        count, mean = "theorem: Π (w + 1), see piecewise.py", "theorem: 4/(45k⁴) for its k pieces"
        claim.at_most(k, most, "linear pieces", equation="w + 1 per layer", source=count)
        least, sup = fang2022.piecewise.least_error(k), "theorem: 1/(2k²) for its k pieces"
        claim.at_least(error, least, ERROR, equation="1/(2k²)", source=sup)
        least = fang2022.piecewise.least_mean_square(k)
        claim.at_least(square, least, "mean square", equation="4/(45k⁴)", source=mean)
    two = "theorem: 4/(45·2⁴), what two pieces leave; so the training did something"
    least = fang2022.piecewise.least_mean_square(2)
    name = "mean square of the best"
    claim.at_most(min(s for *_, s in found), least, name, equation="it did learn", source=two)


@pytest.mark.train
def test_float64_attention_is_far_below_every_network(claim):
    import torch

    x = claim.rng("x").uniform(-1, 1, 2000)
    exact = numerics.exact.rationals(x) ** 2
    t = torch.tensor(x[:, None], device=claim.device)
    out = square().to(torch.float64, claim.device)(t).cpu().numpy()
    attention = numerics.exact.to_float(abs(numerics.exact.rationals(out) - exact)).max()
    bound = fang2022.tower.output_bound(square(), 1, "float64", fang2022.powers.roomy)
    derived = "roundoff: tower.output_bound of Theorem 3.5's model, derived there"
    claim.at_most(attention, bound, "largest |x² − C²(x)|", equation="float64", source=derived)
    runs = {shape: list(trained(claim, widths)) for shape, widths in WIDTHS.items()}
    points = {
        f"trained, {shape} units": [(k, error) for k, error, _ in found]
        for shape, found in runs.items()
    }
    lowest = min(error for found in points.values() for _, error in found)
    far = "theorem: 1/(2k²) ≥ 1/(2·125²) for these three shapes"
    claim.at_least(lowest, 3.2e-5, "smallest error of a network", equation="1/(2k²)", source=far)
    largest = max(64, *(k for found in points.values() for k, _ in found))
    optimal = {
        "one layer, k units at most": [(k, 1 / (2 * k**2)) for k in LAYER],
        "m layers, 3m − 1 units": [(2**m, 1 / (2 * 4**m)) for m in DEEP],
    }
    claim.figure(
        fang2022.pictures.pieces.floor(
            [(k, 1 / (2 * k**2)) for k in range(1, largest + 1)], optimal, points, attention
        ),
        "floor",
        caption="ReLU networks against x² on [−1, 1]. k linear pieces leave 1/(2k²), constructed "
        "networks attain it, trained ones do not; the attention model has no error to leave.",
        alt="Largest error against the number of linear pieces, both axes logarithmic. The floor "
        f"1/(2k²) falls from 0.5 at one piece to {1 / (2 * largest**2):.1e} at {largest}; "
        "constructed networks lie on it. "
        + "; ".join(
            f"{label}: {min(k for k, _ in found)} to {max(k for k, _ in found)} pieces, errors "
            f"{min(e for _, e in found):.2g} to {max(e for _, e in found):.2g}"
            for label, found in points.items()
        )
        + f". The attention model lies at {attention:.1e}, its bound is {bound:.1e}.",
    )


SNIPPET = """\
from fractions import Fraction
relu = lambda a: max(a, 0)
for x in (Fraction(-7, 3), Fraction(0), Fraction(22, 7)):
    print(relu(x) - relu(-x) == x)      # two units, and the polynomial x with no error
"""


def affine_network(slope, offset):
    """slope (sigma(x) - sigma(-x)) + offset."""
    rationals = numerics.exact.rationals
    return fang2022.piecewise.ReluNetwork(
        (rationals([[1], [-1]]), rationals([[slope, -slope]])),
        (rationals([0, 0]), rationals([offset])),
    )


def test_printed_polynomials_of_degree_one_are_produced(claim):
    """sigma(x) - sigma(-x) is one linear piece, the polynomial x itself, on every interval."""
    affine = {"1": (0, 1), "x": (1, 0), "3 - 2x": (-2, 3)}
    produced = 0
    for slope, offset in affine.values():
        network = affine_network(slope, offset)
        pieces = fang2022.piecewise.linear_pieces(network, -(10**9), 10**9)
        produced += [(piece.slope, piece.offset) for piece in pieces] == [(slope, offset)]
    claim.counterexample(
        "a ReLU network can never produce a polynomial of the input with no error",
        input={"networks": "a (relu(x) - relu(-x)) + c", "polynomials": list(affine)},
        measured=produced,
        expected=0,
        equation="Remark 3.6, polynomials produced out of 3",
        snippet=SNIPPET,
    )


def test_control_for_a_target_of_degree_one_there_is_no_floor(claim):
    """Degree 1 in place of 2: a network with two pieces to spend misses x by 0, not by 1/8."""
    (piece,) = fang2022.piecewise.linear_pieces(affine_network(1, 0))
    error = max(abs(piece.slope * x + piece.offset - x) for x in (piece.left, piece.right))
    floor, name = fang2022.piecewise.least_error(2), "how far the error is below 1/(2k²)"
    affine = "theorem: an affine target leaves no error"
    claim.at_least(floor - error, floor, name, equation="1/(2k²) for x", source=affine)


def test_control_with_softmax_the_attention_model_is_constant(claim):
    """Softmax for the one-hot maximum: both slots hold a constant, and no x^2 is left."""
    import torch

    x = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    out = square().to(torch.float64)(x, attend=lambda alpha: alpha.softmax(-1))
    error, half = (out - x[:, 0] ** 2).abs().max(), "theorem: no constant is nearer to 0 and 1"
    claim.at_least(error, 0.5, "largest |x² − C²(x)|", equation="softmax", source=half)
