"""Table 2 (fang2022, A.1): the ReLU networks that f_1* is compared on, d = 2 and q = 2.

NN_width has one hidden layer of 10 units, NN_depth has q + 1 = 3 hidden layers of 4 units, and both
have "a comparable number of free parameters"; Section 5 gives 41 for the attention model.

Checked: every printed row, one cell each, read off the network that we train; the numbers of free
parameters; that the attention model, as it is trained,
puts out what the literal blocks of Section 2 put out, exactly.
Controls: a hidden layer more or less, and a block less.

Not checked: where the 4 comes from; the paper does not say.

Misprint: Section 5 says that NN_width has n_q units, and A.1 that the attention model maps to
R^(n_q). But n_q = C(d-1+q, q) = 3, and both tables print C(d+1+q, q) (10 and 4368). We take n = 10
for both. That is also the only n for which all free parameters of the model are 41; the two other
ways to 41 are counted below.
"""

import dataclasses
from math import comb

import pytest

from repro.bounds import theorem
from repro.fang2022 import experiments
from repro.numerics import exact

D, Q = 2, 2  # of f_1*, Section 5
UNITS, DEPTH_UNITS = 10, 4  # Table 2
FREE = 41  # Section 5, "with only 41 free parameters"
OUTPUTS = "outputs that differ from those of the literal blocks"
PRINTED = {
    "NN_width": {1: "LINEAR(IN=2,OUT=10)", 2: "RELU", 3: "LINEAR(IN=10,OUT=1)"},
    "NN_depth": {
        1: "LINEAR(IN=2,OUT=4)",
        2: "RELU",
        3: "LINEAR(IN=4,OUT=4)",
        4: "RELU",
        5: "LINEAR(IN=4,OUT=4)",  # rows 5 and 6 are not printed, but a bracket at 3 and 4: x 2
        6: "RELU",
        7: "LINEAR(IN=4,OUT=1)",
    },
}
TWICE = 2  # the bracket


def networks(hidden=Q + 1):
    return {
        "NN_width": experiments.Width(D, UNITS),
        "NN_depth": experiments.Depth(D, DEPTH_UNITS, hidden),
    }


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.construct
def test_every_printed_layer_is_ours(name, claim):
    network = networks()[name]
    ours, wrong = experiments.layers(network), experiments.differing_rows(network, PRINTED[name])
    for row, printed in PRINTED[name].items():
        if row not in (5, 6):
            claim.cell(f"layer {row}", name, paper=printed, ours=dict(enumerate(ours, 1)).get(row))
    if name == "NN_depth":
        pairs = sum(ours[k : k + 2] == ours[2:4] for k in range(2, len(ours) - 1, 2))
        claim.cell("layers 3 and 4, repeated", name, paper=TWICE, ours=pairs)
    claim.measured("rows that differ", wrong, equation="Table 2").equals([])


@pytest.mark.construct
def test_the_three_models_have_41_41_and_57_free_parameters(claim):
    models = {"ATTENTION": experiments.Attention(D, Q, UNITS), **networks()}
    width, depth = 10 * 2 + 10 + 10 + 1, (2 * 4 + 4) + 2 * (4 * 4 + 4) + 4 + 1
    counts = {name: experiments.parameters(model) for name, model in models.items()}
    for (name, ours), expected in zip(counts.items(), (FREE, width, depth), strict=True):
        claim.measured("free parameters", ours, equation="Table 2", model=name).equals(expected)


@pytest.mark.construct
def test_the_widths_of_both_tables_are_one_binomial_and_only_that(claim):
    """10 and 4368 (Table 3) against C(d+q+a, q): only a = 1 gives both; n_q has a = -1."""
    fits = [a for a in range(-4, 5) if (comb(4 + a, 2), comb(15 + a, 5)) == (UNITS, 4368)]
    claim.measured("shifts a that give 10 and 4368", fits, equation="C(d+q+a, q)").equals([1])


def integer_model_and_outputs(claim, n):
    """Small integers for all weights and 20 inputs: in float32 nothing is rounded."""
    import torch

    model, rng = experiments.Attention(D, Q, n), claim.rng("integers")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.tensor(rng.integers(-3, 4, tuple(parameter.shape))))
    x = torch.tensor(rng.integers(-5, 6, (20, D)), dtype=torch.float32)
    return model, exact.rationals(x.tolist()), [int(value) for value in model(x).tolist()]


def unlike(literal, x, outputs):
    return sum(ours != int(value) for ours, value in zip(outputs, literal(x), strict=True))


@pytest.mark.parametrize("n", [3, UNITS], ids="n={}".format)
@pytest.mark.construct
def test_what_is_trained_is_the_model_of_section_2(n, claim):
    model, x, ours = integer_model_and_outputs(claim, n)
    claim.record("inputs", len(ours))
    claim.record("largest output", max(map(abs, ours)))
    wrong = unlike(model.literal(B=100), x, ours)
    claim.measured(OUTPUTS, wrong, equation="Sections 2.2 and 6").equals(0)


def units_and_n_q(units, d, q):
    from math import comb

    return units, comb(d - 1 + q, q)


def test_printed_number_of_units_is_not_n_q(claim):
    claim.counterexample(
        "NN_width has n_q units in the hidden layer (Section 5; A.1 the same of both models)",
        input={"d": D, "q": Q, "n_q": "C(d-1+q, q)", "Table 2, layer 1": "OUT=10"},
        measured=UNITS,
        expected=comb(D - 1 + Q, Q),
        equation="n_q = C(d−1+q, q) against Table 2",
        program=units_and_n_q,
        **{"units": UNITS, "d": D, "q": Q},
    )
    claim.measured("units, corrected", comb(D + 1 + Q, Q), equation="C(d+1+q, q)").equals(UNITS)


def free_parameters(d, q, n):
    F, beta, b = n * d, n * q, 1
    return F + beta + b, 41


def test_reading_of_41_with_n_q_directions(claim):
    """n_q = 3 directions leave 13 free parameters; 41 are then the entries that are not zero.

    The third way: n = 4 tokens and every entry of beta counted, also those that meet no power.
    """
    at = {"d": D, "q": Q, "n": comb(D - 1 + Q, Q)}
    model = experiments.Attention(D, Q, at["n"])
    claim.counterexample(
        "the model has 41 free parameters if n = n_q",
        input=at,
        measured=experiments.parameters(model),
        expected=FREE,
        equation="n(d + q) + 1",
        printed=False,
        program=free_parameters,
        **at,
    )
    for parameter in model.parameters():
        parameter.data.fill_(1)
    nonzero, entries = model.literal(B=1).nonzeros(), "n_q d + 3q n_q + 8q + 1"
    claim.measured("non-zero entries, n = n_q", nonzero, equation=entries).equals(FREE)
    fits = [n for n in range(1, 20) if n * D + n * (n + Q + 2) + 1 == FREE]
    claim.measured("n for 41 with all of beta", fits, equation="nd + n(n+q+2) + 1").equals([4])


@pytest.mark.parametrize("hidden", [Q, Q + 2], ids="hidden={}".format)
def test_control_another_number_of_hidden_layers_is_another_table(hidden, claim):
    """q, or q + 2, hidden layers in place of q + 1: at least two rows are not as printed."""
    wrong = experiments.differing_rows(networks(hidden)["NN_depth"], PRINTED["NN_depth"])
    least = theorem(2, "a layer more or less moves the last row by two")
    claim.measured("rows that differ", len(wrong), equation="Table 2, NN_depth").at_least(least)


def test_control_without_the_last_block_it_is_another_model(claim):
    """q - 1 blocks in place of q: no square is stored. All weights are 1, so with t = x_1 + x_2 =
    3, -2, 5 the output is 10 (t + t²) + 1, and 10 t + 1 is left.
    """
    import torch

    model = experiments.Attention(D, Q, UNITS)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1)
    literal, x = model.literal(B=100), exact.rationals([[1, 2], [-3, 1], [0, 5]])
    fewer = dataclasses.replace(literal, blocks=literal.blocks[:-1])
    outputs = {"q blocks": (literal, [121, 21, 301]), "q − 1 blocks": (fewer, [31, -19, 51])}
    for equation, (with_blocks, expected) in outputs.items():
        found = claim.measured("outputs", with_blocks(x).tolist(), equation=equation)
        found.equals(expected)
