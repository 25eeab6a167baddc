"""Remark 3.2 (fang2022, p. 4): all products at once, and nothing to train.

The block of Lemma 3.1 computes the product of the same two entries in all n tokens at the same
time, stores the negative value in the same entry of each, and being fixed it needs no training.

Both follow from Lemma 3.1, whose proof (repro/fang2022/multiplication.py) treats every token alike
and has weights made of n, q and M alone.

Checked: one block, built before any data are known, gives all n products of every batch it is
shown, n up to 40, in rationals. Two trainings towards different targets end with the same blocks,
bit for bit, and with different F, beta and b: in the torch module of Theorem 3.5 the blocks hold no
parameter.
Control: tokens that keep their factors in different entries, the hypothesis "within the same two
entries" broken.

Readings: "fixed" means fixed once M is known; another bound on the data needs another block.
"""

import pytest

from repro.bounds import theorem
from repro.fang2022 import model as models
from repro.fang2022 import multiplication, network, polynomials, powers
from repro.numerics import exact


@pytest.mark.parametrize("n", [1, 2, 10, 40], ids="n={}".format)
@pytest.mark.exact
def test_one_block_gives_all_products_of_all_batches(n, claim):
    M, rng, wrong = 4, claim.rng("batches"), 0
    block = multiplication.multiplication_block(n, 3, M)
    for _ in range(claim.at_scale(smoke=1, laptop=10, paper=50)):
        _, x, y = exact.rationals(rng.integers(-7 * M, 7 * M + 1, (3, 5, n)).tolist()) / 7
        wrong += int((multiplication.stored(block, x, y) != -x * y).sum())
    claim.measured("wrong products", wrong, equation="Remark 3.2, all n tokens").equals(0)


@pytest.mark.exact
def test_three_tokens_worked_out_by_hand(claim):
    """M = 4: attention puts x_i y_i + 32 into slot 3, the ReLU layer makes -x_i y_i of it."""
    rows, block = models.Layout(3, 3), multiplication.multiplication_block(3, 3, 4)
    Z = rows.tokens(*exact.rationals([[7, 8, 9], [1, -2, 4], [3, 4, -4]]))
    attended = block.attention(Z)
    for layer, stored in ((attended, [35, 24, 16]), (block.fully_connected(attended), [-3, 8, 16])):
        slot = claim.measured("slot 3", layer[rows.slot(3)].tolist(), equation="Remark 3.2")
        slot.equals(stored)
    changed = int((block(Z) != Z).sum())
    claim.measured("entries that change", changed, equation="Remark 3.2").equals(3)


@pytest.mark.construct
def test_two_trainings_change_all_but_the_blocks(claim):
    """The model of f_1*, trained towards 1 and towards x_1 with everything that may be trained.

    At its start F has the rows (0, 1), (±3/5, 4/5): 25/18 for the last two makes x_1² + 16/9 x_2².
    """
    import torch

    x = torch.tensor(claim.rng("x").uniform(-1, 1, (30, 2)), device=claim.device)
    start, ends = powers.construction(polynomials.F_1_STAR, 3), []
    by_hand = {"F": (start.F, [[0, 1], ["3/5", "4/5"], ["-3/5", "4/5"]])}
    by_hand["beta"] = powers.slots_of(start), [[0, "-7/9"], [0, "25/18"], [0, "25/18"]]
    for name, (found, expected) in by_hand.items():
        first = claim.measured("weights at the start", found.tolist(), equation="f_1*", of=name)
        first.equals(exact.rationals(expected).tolist())
    for target in (0 * x[:, 0] + 1, x[:, 0]):
        built = powers.construction(polynomials.F_1_STAR, 3, lifts=powers.roomy)
        model = network.PolynomialTransformer(built, 3, torch.float64, claim.device)
        engine = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=0.1)
        for _ in range(5):
            engine.zero_grad()
            (model(x) - target).square().mean().backward()
            engine.step()
        ends.append(model.state_dict())
    one, other = ends
    differ = sorted(name for name in one if not torch.equal(one[name], other[name]))
    equation = "Remark 3.2: F, β and b are trained, the blocks are fixed"
    claim.measured("weights that differ", differ, equation=equation).equals(["F", "b", "beta"])


def test_control_factors_in_different_entries_are_not_multiplied(claim):
    """Token 2 keeps its first factor in slot 4; the block finds 0 in slot 1 and stores 0."""
    rows, broken = models.Layout(2, 4), "Remark 3.2 without 'the same two entries'"
    x, y, moved = exact.rationals([[3, 0], [2, 2], [0, 3]])
    block = multiplication.multiplication_block(2, 4, 4)
    slot = block(rows.tokens(0 * x, x, y, 0 * x, moved))[rows.slot(3)]
    least = theorem(6, "|x_2 y_2| = 6, and 0 is stored")
    claim.measured("error of token 2", abs(slot[1] + 6), equation=broken).at_least(least)
    claim.measured("token 1, whose factors are in place", slot[0], equation="Lemma 3.1").equals(-6)
    right = sum(value == -6 for value in slot)
    claim.measured("tokens with the product", right, equation="Lemma 3.1").equals(1)
