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

import numpy as np
import pytest

from repro.bounds import theorem
from repro.fang2022 import model as model_
from repro.fang2022 import multiplication, network, polynomials
from repro.numerics import exact


def factors(rng, n, M):
    """t, x, y in rationals, |x|, |y| <= M, for a batch of 5."""
    return [exact.rationals(v.tolist()) / 7 for v in rng.integers(-7 * M, 7 * M + 1, (3, 5, n))]


@pytest.mark.parametrize("n", [1, 2, 10, 40], ids="n={}".format)
@pytest.mark.exact
def test_one_block_gives_all_products_of_all_batches(n, claim):
    M, rows, rng = 4, model_.Layout(n, 3), claim.rng("batches")
    block = multiplication.multiplication_block(n, 3, M)
    before = {name: weight.tolist() for name, weight in block.weights().items()}
    wrong = 0
    for _ in range(claim.at_scale(smoke=1, laptop=10, paper=50)):
        t, x, y = factors(rng, n, M)
        Z = block(rows.tokens(t, x, y))
        wrong += int((Z[:, rows.slot(3)] != -x * y).sum())
    claim.measured("wrong products", wrong, equation="entry n+4 of every token").equals(0)
    after = {name: weight.tolist() for name, weight in block.weights().items()}
    claim.measured("the same weights for all data", after == before, equation="fixed").equals(True)


@pytest.mark.construct
def test_no_gradient_reaches_the_blocks(claim):
    import torch

    Q = polynomials.F_1_STAR
    model = network.polynomial_transformer(Q, 3, device=claim.device)
    blocks = {name: buffer.clone() for name, buffer in model.blocks.named_buffers()}
    free = {name: p.detach().clone() for name, p in model.named_parameters()}
    claim.measured("parameters", sorted(free), equation="free: F, β and b").equals(
        ["F", "b", "beta"]
    )
    claim.measured(
        "parameters of blocks", len(list(model.blocks.parameters())), equation="fixed"
    ).equals(0)
    x = torch.tensor(claim.rng("x").uniform(-1, 1, (30, 2)), device=claim.device)
    loss = (model(x) - 1).square().mean()
    loss.backward()
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    moved = [name for name, p in model.named_parameters() if not torch.equal(p, free[name])]
    kept = [n for n, buffer in model.blocks.named_buffers() if torch.equal(buffer, blocks[n])]
    claim.measured("parameters that the step changed", sorted(moved), equation="free").equals(
        sorted(free)
    )
    claim.measured("weights of blocks left as they were", len(kept), equation="fixed").equals(
        len(blocks)
    )


def test_control_factors_in_different_entries_are_not_multiplied(claim):
    """Token 2 keeps its first factor in slot 4; the block finds 0 in slot 1 and stores 0."""
    M, rows = 4, model_.Layout(2, 4)
    block = multiplication.multiplication_block(2, 4, M)
    t, x, y, moved = (exact.rationals(v) for v in ([0, 0], [3, 0], [2, 2], [0, 3]))
    stored = block(rows.tokens(t, x, y, 0 * x, moved))[rows.slot(3)]
    claim.measured(
        "error of token 2", abs(stored[1] + 6), equation="same two entries, broken"
    ).at_least(theorem(6, "|x_2 y_2| = 6, and 0 is stored"))
    claim.measured("token 1, whose factors are in place", stored[0], equation="Lemma 3.1").equals(
        -6
    )
    claim.measured(
        "tokens with the product", np.count_nonzero(stored == -6), equation="Lemma 3.1"
    ).equals(1)
