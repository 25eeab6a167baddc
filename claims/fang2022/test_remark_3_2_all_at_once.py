"""Remark 3.2 (fang2022, p. 4): all products at once, and nothing to train.

The block of Lemma 3.1 computes the product of the same two entries in all n tokens at the same
time, stores the negative value in the same entry of each, and being fixed it needs no training.

Checked: one block, built before any data are known, gives all n products of every batch it is
shown, n up to 40, in rationals. In the torch module of Theorem 3.5 the blocks hold no parameter:
no gradient reaches them, and a step of training changes F, beta and b and leaves them bit for bit.
Control: tokens that keep their factors in different entries, the hypothesis "within the same two
entries" broken.

Readings: "fixed" means fixed once M is known; another bound on the data needs another block.
"""

import pytest

from repro.bounds import theorem
from repro.fang2022 import model as models
from repro.fang2022 import multiplication, network, polynomials
from repro.numerics import exact


@pytest.mark.parametrize("n", [1, 2, 10, 40], ids="n={}".format)
@pytest.mark.exact
def test_one_block_gives_all_products_of_all_batches(n, claim):
    M, rng, wrong = 4, claim.rng("batches"), 0
    block = multiplication.multiplication_block(n, 3, M)
    before = {name: weight.tolist() for name, weight in block.weights().items()}
    for _ in range(claim.at_scale(smoke=1, laptop=10, paper=50)):
        _, x, y = exact.rationals(rng.integers(-7 * M, 7 * M + 1, (3, 5, n)).tolist()) / 7
        wrong += int((multiplication.stored(block, x, y) != -x * y).sum())
    claim.measured("wrong products", wrong, equation="Remark 3.2, all n tokens").equals(0)
    same = {name: weight.tolist() for name, weight in block.weights().items()} == before
    claim.measured("the same weights for all data", same, equation="Remark 3.2, fixed").equals(True)


@pytest.mark.construct
def test_no_gradient_reaches_the_blocks(claim):
    import torch

    model = network.polynomial_transformer(polynomials.F_1_STAR, 3, device=claim.device)
    blocks = {name: buffer.clone() for name, buffer in model.blocks.named_buffers()}
    free = {name: p.detach().clone() for name, p in model.named_parameters()}
    trained, fixed = "Theorem 3.5: F, β and b are free", "Remark 3.2: the blocks are fixed"
    claim.measured("parameters", sorted(free), equation=trained).equals(["F", "b", "beta"])
    inner = len(list(model.blocks.parameters()))
    claim.measured("parameters of blocks", inner, equation=fixed).equals(0)
    x = torch.tensor(claim.rng("x").uniform(-1, 1, (30, 2)), device=claim.device)
    (model(x) - 1).square().mean().backward()
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    moved = [name for name, p in model.named_parameters() if not torch.equal(p, free[name])]
    claim.measured("parameters changed", sorted(moved), equation=trained).equals(sorted(free))
    kept = sum(torch.equal(buffer, blocks[n]) for n, buffer in model.blocks.named_buffers())
    claim.measured("weights of blocks kept", kept, equation=fixed).equals(len(blocks))


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
