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

from repro.bounds import grid_error, rounding_error, theorem
from repro.fang2022 import piecewise, polynomials, powers, tower
from repro.fang2022.pictures import pieces as pictures
from repro.numerics import exact as exact_

WIDTHS = {"1 x 10": (10,), "3 x 4": (4, 4, 4), "1 x 40": (40,)}  # layers x units
LAYER, DEEP = [2, 3, 5, 8, 11, 25], [1, 2, 3, 4, 5, 6]
ERROR = "largest |x² − network|"


def square():
    """The model of Theorem 3.5 for Q(x) = x^2, |x| <= 1."""
    Q = polynomials.Polynomial(1, {(2,): 1})
    return powers.construction(Q, 1, lifts=powers.roomy)


def one_layer(k):
    return piecewise.interpolant(k, piecewise.least_error(k))


def deep(m):
    return piecewise.sawtooth(m, piecewise.least_error(2**m))


@pytest.mark.exact
def test_the_attention_model_has_no_error(claim):
    model = square()

    def difference(x):
        (C,) = model(exact_.rationals([[x]]))
        return C - exact_.rational(x) ** 2

    numbers = st.sampled_from([-1, 0, 1]) | st.fractions(-1, 1)
    examples = claim.at_scale(smoke=100, laptop=500, paper=5000)
    claim.for_all("C²(x) − x²", numbers, difference, equation="Theorem 3.5", examples=examples)


@pytest.mark.exact
def test_the_blocks_do_not_depend_on_the_polynomial(claim):
    """Ten polynomials of degree 3 in two variables: F, beta and b differ, no block does."""
    rng = claim.rng("polynomials")
    drawn = [polynomials.random_polynomial(2, 3, rng) for _ in range(10)]
    models = [powers.construction(Q, 2) for Q in drawn]
    first = models[0].blocks
    other = sum(
        bool((ours.weights()[name] != weight).any())
        for model in models
        for ours, block in zip(model.blocks, first, strict=True)
        for name, weight in block.weights().items()
    )
    claim.measured("weights of blocks that differ", other, equation="no training is needed").equals(
        0
    )
    readouts = {tuple(map(str, (*model.beta, model.b))) for model in models}
    claim.measured("different β and b", len(readouts), equation="the free parameters").equals(
        len(models)
    )


@pytest.mark.parametrize("k", LAYER, ids="k={}".format)
@pytest.mark.exact
def test_one_hidden_layer_attains_the_least_error(k, claim):
    network = one_layer(k)
    pieces = piecewise.linear_pieces(network)
    claim.measured("linear pieces", len(pieces), equation="w + 1").equals(k)
    claim.measured("units", network.widths, equation="k − 1 if k is odd").equals((k - k % 2,))
    error, least = piecewise.sup_error(pieces), piecewise.least_error(k)
    claim.measured(ERROR, error, equation="1/(2k²)").equals(least)
    other = piecewise.interpolant(k, least * 4 / 3)
    square = piecewise.mean_square(piecewise.linear_pieces(other))
    claim.measured("mean square", square, equation="4/(45k⁴)").equals(
        piecewise.least_mean_square(k)
    )


@pytest.mark.parametrize("m", DEEP, ids="m={}".format)
@pytest.mark.exact
def test_deep_networks_attain_it_with_few_units(m, claim):
    network = deep(m)
    pieces = piecewise.linear_pieces(network)
    claim.measured("pieces, units", (len(pieces), sum(network.widths)), equation="2^m").equals(
        (2**m, 3 * m - 1)
    )
    least = piecewise.least_error(2**m)
    claim.measured(ERROR, piecewise.sup_error(pieces), equation="1/(2k²)").equals(least)


@pytest.mark.parametrize("k", [2, 3, 5, 8], ids="k={}".format)
@pytest.mark.best_in_class
def test_no_choice_of_knots_does_better(k, claim):
    """The best continuous function for given knots, by linear programs: equal pieces are best."""
    points, least = 401, 1 / (2 * k**2)
    off = (2 / (points - 1)) ** 2 / 4 + 1e-9
    found = piecewise.best_with_knots(np.linspace(-1, 1, k + 1), points)
    claim.measured("least error, equal pieces", found, equation="1/(2k²)").within(
        least,
        grid_error(off, "spacing²/4, derived at best_with_knots, and 1e-9 for the linear program"),
    )
    rng = claim.rng("knots")
    draws = claim.at_scale(smoke=10, laptop=50, paper=500)
    others = [
        piecewise.best_with_knots(np.sort([-1, 1, *rng.uniform(-1, 1, k - 1)]), points)
        for _ in range(draws)
    ]
    claim.measured(
        f"least error, {draws} random sets of knots", min(others), equation="≥ 1/(2k²)"
    ).at_least(
        grid_error(
            least - off, "spacing²/4, derived at best_with_knots, and 1e-9 for the linear program"
        )
    )


def trained(claim, widths):
    """For every seed: pieces, sup error and mean square from the trained weights.

    Exact numbers of a thousand digits, rounded down: what is still above a floor is above it.
    """
    steps = claim.at_scale(smoke=100, laptop=300, paper=2000)
    for run in range(claim.at_scale(smoke=2, laptop=5, paper=20)):
        spec = piecewise.ReluFit(widths, steps, claim.seed(f"run {run}") % 2**31)
        tensors = claim.train(spec, piecewise.train).outcome.tensors
        pieces = piecewise.linear_pieces(piecewise.network_of(tensors))
        sizes = piecewise.sup_error(pieces), piecewise.mean_square(pieces)
        yield (len(pieces), *np.nextafter(exact_.to_float(sizes), 0))


@pytest.mark.parametrize("shape", WIDTHS)
@pytest.mark.train
def test_trained_networks_stay_above_the_floor_of_their_pieces(shape, claim):
    found = list(trained(claim, WIDTHS[shape]))
    for k, error, square in found:
        most = piecewise.most_pieces(WIDTHS[shape])
        claim.measured("linear pieces", k, equation="w + 1 per layer").at_most(
            theorem(most, "Π (w + 1), see piecewise.py")
        )
        least = piecewise.least_error(k)
        claim.measured(ERROR, error, equation="1/(2k²)").at_least(
            theorem(least, "1/(2k²) for its k pieces")
        )
        least = piecewise.least_mean_square(k)
        claim.measured("mean square", square, equation="4/(45k⁴)").at_least(
            theorem(least, "4/(45k⁴) for its k pieces")
        )
    least = piecewise.least_mean_square(2)
    claim.measured(
        "mean square of the best", min(s for *_, s in found), equation="it did learn"
    ).at_most(theorem(least, "4/(45·2⁴), what two pieces leave; so the training did something"))


@pytest.mark.train
def test_float64_attention_is_far_below_every_network(claim):
    import torch

    x = claim.rng("x").uniform(-1, 1, 2000)
    exact = exact_.rationals(x) ** 2
    t = torch.tensor(x[:, None], device=claim.device)
    out = square().to(torch.float64, claim.device)(t).cpu().numpy()
    attention = exact_.to_float(abs(exact_.rationals(out) - exact)).max()
    bound = tower.output_bound(square(), 1, "float64", powers.roomy)
    claim.measured("largest |x² − C²(x)|", attention, equation="float64").at_most(
        rounding_error(bound, "tower.output_bound of Theorem 3.5's model, derived there")
    )
    runs = {shape: list(trained(claim, widths)) for shape, widths in WIDTHS.items()}
    points = {
        f"trained, {shape} units": [(k, error) for k, error, _ in found]
        for shape, found in runs.items()
    }
    lowest = min(error for found in points.values() for _, error in found)
    claim.measured("smallest error of a network", lowest, equation="1/(2k²)").at_least(
        theorem(3.2e-5, "1/(2k²) ≥ 1/(2·125²) for these three shapes")
    )
    largest = max(64, *(k for found in points.values() for k, _ in found))
    optimal = {
        "one layer, k units at most": [(k, 1 / (2 * k**2)) for k in LAYER],
        "m layers, 3m − 1 units": [(2**m, 1 / (2 * 4**m)) for m in DEEP],
    }
    claim.figure(
        pictures.floor(
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
    rationals = exact_.rationals
    return piecewise.ReluNetwork(
        (rationals([[1], [-1]]), rationals([[slope, -slope]])),
        (rationals([0, 0]), rationals([offset])),
    )


def test_printed_polynomials_of_degree_one_are_produced(claim):
    """sigma(x) - sigma(-x) is one linear piece, the polynomial x itself, on every interval."""
    affine = {"1": (0, 1), "x": (1, 0), "3 - 2x": (-2, 3)}
    produced = 0
    for slope, offset in affine.values():
        network = affine_network(slope, offset)
        pieces = piecewise.linear_pieces(network, -(10**9), 10**9)
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
    (piece,) = piecewise.linear_pieces(affine_network(1, 0))
    error = max(abs(piece.slope * x + piece.offset - x) for x in (piece.left, piece.right))
    floor = piecewise.least_error(2)
    claim.measured(
        "how far the error is below 1/(2k²)", floor - error, equation="1/(2k²) for x"
    ).at_least(theorem(floor, "an affine target leaves no error"))


def test_control_with_softmax_the_attention_model_is_constant(claim):
    """Softmax for the one-hot maximum: both slots hold a constant, and no x^2 is left."""
    import torch

    x = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    out = square().to(torch.float64)(x, attend=lambda alpha: alpha.softmax(-1))
    error = (out - x[:, 0] ** 2).abs().max()
    claim.measured("largest |x² − C²(x)|", error, equation="softmax").at_least(
        theorem(0.5, "no constant is nearer to 0 and 1")
    )
