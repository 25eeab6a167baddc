"""Table 3 (fang2022, A.1): the ReLU networks that f_2* is compared on, d = 10 and q = 5.

NN_width has one hidden layer of 4368 units, NN_depth has q + 1 = 6 hidden layers of 120 units, and
both have "a comparable number of free parameters".

Checked: every printed row, one cell each, read off the network that we train; the numbers of free
parameters, 65521, 52417 and 74041; that six is the only number of hidden layers
that leads to the printed row number 13.
Controls: another shift of the binomial (that of n_q among them), a hidden layer more or less.

Not checked: where the 120 comes from; the paper does not say.

Readings: how often the inner pair is repeated cannot be read in the copy at hand; q + 1 (Section 5)
and the number 13 of the last row both give six hidden layers. The printed 4368 is C(d+1+q, q),
while Section 5 and A.1 say n_q = C(d-1+q, q) = 2002: the misprint of Table 2. We take n = 4368 for
both models.
"""

from math import comb

import pytest

from repro.bounds import theorem
from repro.fang2022 import experiments

D, Q = 10, 5  # of f_2*, Section 5
UNITS, DEPTH_UNITS = 4368, 120  # Table 3
PRINTED = {
    "NN_width": {1: "LINEAR(IN=10,OUT=4368)", 2: "RELU", 3: "LINEAR(IN=4368,OUT=1)"},
    "NN_depth": {
        1: "LINEAR(IN=10,OUT=120)",
        2: "RELU",
        3: "LINEAR(IN=120,OUT=120)",  # these two in a bracket with a damaged number
        4: "RELU",
        13: "LINEAR(IN=120,OUT=1)",
    },
}


def networks(units=UNITS, hidden=Q + 1):
    return {
        "NN_width": experiments.Width(D, units),
        "NN_depth": experiments.Depth(D, DEPTH_UNITS, hidden),
    }


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.construct
def test_every_printed_layer_is_ours(name, claim):
    network = networks()[name]
    ours, wrong = experiments.layers(network), experiments.differing_rows(network, PRINTED[name])
    for row, printed in PRINTED[name].items():
        claim.cell(f"layer {row}", name, paper=printed, ours=dict(enumerate(ours, 1)).get(row))
    claim.measured("rows that differ", wrong, equation="Table 3").equals([])


def rows_that_differ(hidden):
    """Of NN_depth with so many hidden layers."""
    return experiments.differing_rows(networks(hidden=hidden)["NN_depth"], PRINTED["NN_depth"])


@pytest.mark.construct
def test_only_six_hidden_layers_end_in_row_13(claim):
    fits = [hidden for hidden in range(1, 12) if not rows_that_differ(hidden)]
    claim.measured("hidden layers that fit", fits, equation="Table 3, row 13").equals([Q + 1])


@pytest.mark.construct
def test_the_three_models_have_65521_52417_and_74041_free_parameters(claim):
    models = {"ATTENTION": experiments.Attention(D, Q, UNITS), **networks()}
    expected = {
        "ATTENTION": 4368 * 10 + 4368 * 5 + 1,
        "NN_width": (10 * 4368 + 4368) + (4368 + 1),
        "NN_depth": (10 * 120 + 120) + 5 * (120 * 120 + 120) + (120 + 1),
    }
    counts = {name: experiments.parameters(model) for name, model in models.items()}
    for name, count in expected.items():
        found = claim.measured("free parameters", counts[name], equation="Table 3", model=name)
        found.equals(count)


@pytest.mark.construct
def test_the_width_is_the_binomial_of_table_2(claim):
    """Table 2's 10 is C(d+1+q, q) too (its claim): the same slip, d + 1 for d - 1."""
    ours = experiments.layers(networks(units=comb(D + 1 + Q, Q))["NN_width"])[0]
    printed = PRINTED["NN_width"][1]
    claim.measured("layer 1 of NN_width", ours, equation="C(d+1+q, q)").equals(printed)


@pytest.mark.parametrize("shift", [-1, 0, 2], ids="d+q+{}".format)
def test_control_another_binomial_is_another_table(shift, claim):
    """C(d+q+a, q) units for a = -1 (the stated n_q), 0 and 2: off by over 1000 units."""
    layer = networks(units=comb(D + Q + shift, Q))["NN_width"][0]
    off = abs(layer.out_features - UNITS)
    least = theorem(1000, "C(16, 5) = 4368, its neighbours are 3003 and 6188")
    claim.measured("units too many or too few", off, equation="Table 3, NN_width").at_least(least)


@pytest.mark.parametrize("hidden", [Q, Q + 2], ids="hidden={}".format)
def test_control_another_number_of_hidden_layers_is_another_table(hidden, claim):
    wrong = len(rows_that_differ(hidden))
    least = theorem(1, "a layer more or less moves the last row by two")
    claim.measured("rows that differ", wrong, equation="Table 3, NN_depth").at_least(least)
