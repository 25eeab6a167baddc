"""Table 2 (fang2022, A.1): the ReLU networks that f_1* is compared on, d = 2 and q = 2.

NN_width has one hidden layer of 10 units, NN_depth has q + 1 = 3 hidden layers of 4 units, and both
have about as many free parameters as the attention model, which Section 5 gives as 41.

Checked: every printed row beside the network we train; the numbers of free parameters; that the
attention model, as it is trained, puts out what the literal blocks of Section 2 put out, exactly.
Controls: a hidden layer more or less, and a block less.

Not checked: where the 4 comes from; the paper does not say.

Readings: Section 5 says that NN_width has n_q units, and A.1 that the attention model maps to
R^(n_q). But n_q = C(d-1+q, q) = 3, and both tables print C(d+1+q, q) (10 and 4368). Repaired: both
have n = 10. That is also the only n for which all free parameters of the model are 41; the two
other ways to 41 are counted below.
"""

import dataclasses
from itertools import zip_longest
from math import comb

import pytest

from repro.bounds import chosen, theorem
from repro.fang2022 import comparison
from repro.numerics import exact

D, Q = 2, 2  # of f_1*, Section 5
UNITS, DEPTH_UNITS = 10, 4  # Table 2
FREE = 41  # Section 5, "with only 41 free parameters"
PRINTED = {
    "NN_width": ["LINEAR(IN=2,OUT=10)", "RELU", "LINEAR(IN=10,OUT=1)"],
    "NN_depth": [
        "LINEAR(IN=2,OUT=4)",
        "RELU",
        *["LINEAR(IN=4,OUT=4)", "RELU"] * 2,  # "x 2" at the bracket of rows 3 and 4
        "LINEAR(IN=4,OUT=1)",  # numbered 7
    ],
}


def networks(hidden=Q + 1):
    return {
        "NN_width": comparison.Width(D, UNITS),
        "NN_depth": comparison.Depth(D, DEPTH_UNITS, hidden),
    }


def unlike_the_table(name, network):
    """Numbers of the rows that are not as printed, in either direction."""
    pairs = zip_longest(PRINTED[name], comparison.layers(network))
    return [row for row, (printed, ours) in enumerate(pairs, start=1) if printed != ours]


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.construct
def test_every_printed_layer_is_ours(name, claim):
    network = networks()[name]
    rows = zip(PRINTED[name], comparison.layers(network), strict=True)
    for row, (printed, ours) in enumerate(rows, start=1):
        claim.cell(f"layer {row}", name, paper=printed, ours=ours)
    claim.measured("rows that differ", unlike_the_table(name, network), equation="Table 2").equals(
        []
    )


@pytest.mark.construct
def test_the_three_models_have_41_41_and_57_free_parameters(claim):
    count = comparison.parameters
    ours = {name: count(network) for name, network in networks().items()}
    ours["ATTENTION"] = count(comparison.Attention(D, Q, UNITS))
    claim.cell("free parameters", "ATTENTION", paper=FREE, ours=ours["ATTENTION"])
    for name in PRINTED:
        claim.cell("free parameters", name, paper="comparable", ours=ours[name])
    claim.measured("free parameters, ATTENTION", ours["ATTENTION"], equation="n(d + q) + 1").equals(
        FREE
    )
    width, depth = 10 * 2 + 10 + 10 + 1, (2 * 4 + 4) + 2 * (4 * 4 + 4) + 4 + 1
    claim.measured("free parameters, NN_width", ours["NN_width"], equation="Table 2").equals(width)
    claim.measured("free parameters, NN_depth", ours["NN_depth"], equation="Table 2").equals(depth)


@pytest.mark.construct
def test_the_widths_of_both_tables_are_one_binomial_and_only_that(claim):
    """10 and 4368 (Table 3) against C(d+q+a, q): only a = 1 gives both; n_q has a = -1."""
    fits = [a for a in range(-4, 5) if (comb(4 + a, 2), comb(15 + a, 5)) == (UNITS, 4368)]
    claim.measured("shifts a that give 10 and 4368", fits, equation="C(d+q+a, q)").equals([1])


def integer_model_and_inputs(claim, n):
    """Small integers for all weights and inputs: in float32 nothing is rounded."""
    import torch

    model, rng = comparison.Attention(D, Q, n), claim.rng("integers")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.tensor(rng.integers(-3, 4, tuple(parameter.shape))))
    return model, torch.tensor(rng.integers(-5, 6, (20, D)), dtype=torch.float32)


@pytest.mark.parametrize("n", [3, UNITS], ids="n={}".format)
@pytest.mark.construct
def test_what_is_trained_is_the_model_of_section_2(n, claim):
    model, x = integer_model_and_inputs(claim, n)
    ours = [int(value) for value in model(x).tolist()]
    literal = model.literal(B=100)(exact.rationals(x.tolist()))
    wrong = sum(a != int(b) for a, b in zip(ours, literal, strict=True))
    claim.record("inputs", len(ours))
    claim.record("largest", max(map(abs, ours)))
    claim.measured(
        "outputs unlike the literal blocks'", wrong, equation="Sections 2.2 and 6"
    ).equals(0)


def test_printed_number_of_units_is_not_n_q(claim):
    claim.counterexample(
        "NN_width has n_q units in the hidden layer (Section 5; A.1 the same of both models)",
        input={"d": D, "q": Q, "n_q": "C(d-1+q, q)", "Table 2, layer 1": "OUT=10"},
        measured=UNITS,
        expected=comb(D - 1 + Q, Q),
        equation="n_q = C(d−1+q, q) against Table 2",
        snippet="from math import comb\nd, q = 2, 2\n"
        "print('n_q =', comb(d - 1 + q, q), 'but Table 2 has 10 units =', comb(d + 1 + q, q))\n",
    )
    claim.measured("units, repaired", comb(D + 1 + Q, Q), equation="C(d+1+q, q)").equals(UNITS)


def test_reading_of_41_with_n_q_directions(claim):
    """n_q = 3 directions leave 13 free parameters; 41 are then the entries that are not zero.

    The third way: n = 4 tokens and every entry of beta counted, also those that meet no power.
    """
    n_q = comb(D - 1 + Q, Q)
    free = comparison.parameters(comparison.Attention(D, Q, n_q))
    claim.counterexample(
        "41 free parameters, if n = n_q",
        input={"d": D, "q": Q, "n": n_q},
        measured=free,
        expected=FREE,
        equation="n(d + q) + 1",
        printed=False,
        snippet="from repro import fang2022\n"
        "model = fang2022.comparison.Attention(d=2, q=2, n=3)\n"
        "print(fang2022.comparison.parameters(model), 'free parameters, not 41')\n",
    )
    model = comparison.Attention(D, Q, n_q)
    for parameter in model.parameters():
        parameter.data.fill_(1)
    nonzero = model.literal(B=1).nonzeros()
    claim.measured(
        "non-zero entries with n = n_q", nonzero, equation="n_q d + 3q n_q + 8q + 1"
    ).equals(FREE)
    all_of_beta = [n for n in range(1, 20) if n * D + n * (n + Q + 2) + 1 == FREE]
    claim.measured("n for 41 with all of beta", all_of_beta, equation="nd + n(n+q+2) + 1").equals(
        [4]
    )


@pytest.mark.parametrize("hidden", [Q, Q + 2], ids="hidden={}".format)
def test_control_another_number_of_hidden_layers_is_another_table(hidden, claim):
    """q, or q + 2, hidden layers in place of q + 1: at least two rows are not as printed."""
    wrong = unlike_the_table("NN_depth", networks(hidden)["NN_depth"])
    claim.measured("rows that differ", len(wrong), equation="Table 2, NN_depth").at_least(
        theorem(2, "a layer more or less moves the last row by two")
    )


def test_control_without_the_last_block_it_is_another_model(claim):
    """q - 1 blocks in place of q: no square is ever stored, and beta reads zeros."""
    model, x = integer_model_and_inputs(claim, UNITS)
    ours = [int(value) for value in model(x).tolist()]
    literal = model.literal(B=100)
    shorter = dataclasses.replace(literal, blocks=literal.blocks[:-1])
    outputs = shorter(exact.rationals(x.tolist()))
    wrong = sum(a != int(b) for a, b in zip(ours, outputs, strict=True))
    claim.measured(
        "outputs unlike the literal blocks'", wrong, equation="Theorem 3.5 with q − 1 blocks"
    ).at_least(chosen(10, "20 seeded inputs; a random quadratic form is rarely 0 on them"))
