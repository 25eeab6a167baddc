"""Figure 1 (fang2022, p. 2): the architecture, by its caption and Section 2.

x goes through the pre-processing F; then, for each block, W^Q, W^K and W^V are applied, queries
meet keys (MatMul), the maximum is kept, values are taken (MatMul), the input is added, a fully
connected layer follows with its own addition; at the end all tokens are read out linearly.

Checked: the model run box by box. For random weights of the printed shapes and one to three blocks
the composition of the boxes is the model's output, exactly; every stage has shape (n+q+2) x n. The
additions are there: with W^V = 0 the attention layer passes its input on, with W_2 = 0 and b_2 = 0
the fully connected layer does. Our figure shows what the boxes do to the tokens for f_1* of
Section 5. Controls: fully connected layer before attention; no addition.

Not checked: the drawing itself, which is missing from the copy that we read. The boxes are those
that its caption and Section 2 name, and the cells say so; one stands for what else is drawn.
"""

import dataclasses

import numpy as np
import pytest

from repro.fang2022 import inputs, pictures, polynomials, powers
from repro.numerics import exact


def boxes(model, x):
    """What caption and Section 2 name, one box after the other; yields every Z, then the output."""
    n, Z = len(model.F), model.layout.tokens(model.F @ x)
    yield Z
    for block in model.blocks:
        queries, keys, values = block.W_Q @ Z, block.W_K @ Z, block.W_V @ Z  # three boxes
        alpha = queries.T @ keys  # MatMul
        kept = exact.rationals(np.zeros((n, n), dtype=int))
        for i in range(n):  # one-hot maximum
            winner = alpha[i].tolist().index(max(alpha[i]))
            kept[winner, i] = alpha[i, winner]
        Z = Z + values @ kept  # MatMul, addition
        yield Z
        hidden = block.W_1 @ Z + block.b_1[:, None]
        Z = Z + block.W_2 @ np.where(hidden > 0, hidden, 0 * hidden) + block.b_2[:, None]
        yield Z
    yield sum(b * z for b, z in zip(model.beta, Z.T.ravel(), strict=True)) + model.b


@pytest.mark.parametrize("blocks", [1, 2, 3], ids="blocks={}".format)
@pytest.mark.construct
def test_the_model_is_the_boxes_in_the_order_of_section_2(blocks, claim):
    rng, wrong, shapes = claim.rng("boxes"), 0, set()
    models = claim.at_scale(smoke=10, laptop=50, paper=500)
    for _ in range(models):
        d, n, q = rng.integers(1, 4, 3).tolist()
        model = inputs.random_model(rng, d, n, q, blocks)
        x = exact.rationals(rng.integers(-3, 4, d).tolist())
        *stages, output = boxes(model, x)
        wrong += bool(model(x) != output)
        shapes |= {Z.shape == (n + q + 2, n) for Z in stages}
    claim.record("models", models)
    if blocks == 3:
        order = "F, then attention and a fully connected layer in turn, then the readout"
        ours = order if wrong == 0 else "another order"
        claim.cell("order of the boxes", "by caption and Section 2", paper=order, ours=ours)
        parts = "query, key and value matrix, two matrix products (MatMul), maximum between them"
        ours = parts if wrong == 0 else "other parts"
        claim.cell("attention layer", "by caption and Section 2", paper=parts, ours=ours)
        unseen = "the drawing is missing from the copy that we read"
        claim.cell("the drawing", "anything else", paper="not seen", ours=None, note=unseen)
    claim.measured("models unlike the boxes", wrong, equation="Figure 1").equals(0)
    claim.measured("Z is (n+q+2) × n", sorted(shapes), equation="Section 2.2").equals([True])


@pytest.mark.construct
def test_the_additions_pass_the_input_on(claim):
    """Without values the attention layer is the identity, without W_2, b_2 the other layer is."""
    model = inputs.random_model(claim.rng("additions"), 2, 3, 2, 1)
    Z, (block,) = model.layout.tokens(exact.rationals([1, -2, 3])), model.blocks
    zero = {name: 0 * block.weights()[name] for name in ("W_V", "W_2", "b_2")}
    idle = dataclasses.replace(block, **zero)
    layers = {
        "W^V = 0": ("entries changed by attention", idle.attention),
        "W_2 = 0, b_2 = 0": ("entries changed by the fully connected layer", idle.fully_connected),
    }
    for equation, (name, layer) in layers.items():
        claim.measured(name, int((layer(Z) != Z).sum()), equation=equation).equals(0)


@pytest.mark.construct
def test_what_each_box_does_to_the_tokens(claim):
    """f_1* = x_1^2 + x_2^2 at x = (2, -1), B = 3: three tokens, two blocks, output 5.

    ξ = (0, 1), (3/5, 4/5), (-3/5, 4/5), so t = -1, 2/5, -2. Attention puts t + 2 3 into slot 1, and
    2 9 - t² into slot 2. 25/18 for ξ_2 and ξ_3 makes x_1² and 16/9 x_2², and -7/9 is left for ξ_1.
    """
    model = powers.construction(polynomials.F_1_STAR, 3)
    *stages, output = boxes(model, exact.rationals([2, -1]))
    by_hand = {
        "t": (stages[0][0], [-1, "2/5", -2]),
        "slot 1 after A¹": (stages[1][4], [5, "32/5", 4]),
        "slot 1 after B¹": (stages[2][4], [1, "-2/5", 2]),
        "slot 2 after A²": (stages[3][5], [17, "446/25", 14]),
        "slot 2 after B²": (stages[4][5], [1, "4/25", 4]),
        "β for slot 2": (powers.slots_of(model)[:, 1], ["-7/9", "25/18", "25/18"]),
        "β for slot 1": (powers.slots_of(model)[:, 0], [0, 0, 0]),
    }
    for name, (found, expected) in by_hand.items():
        three = claim.measured("three tokens", found.tolist(), equation="Figure 1", row=name)
        three.equals(exact.rationals(expected).tolist())
    names = ["F(x)", "after A¹", "after B¹", "after A²", "after B²"]
    tables = {name: exact.to_float(Z).tolist() for name, Z in zip(names, stages, strict=True)}
    t = " , ".join(f"{v:g}" for v in tables["F(x)"][0])
    claim.measured("output at (2, −1)", output, equation="2² + 1²").equals(5)
    claim.figure(
        pictures.stages(
            tables,
            ["t", "e₁", "e₂", "e₃", "slot 1", "slot 2", "1"],
            "f₁* = x₁² + x₂² at x = (2, −1): the readout of the last table is 5, exactly",
        ),
        "stages",
        caption="Each box changes one slot and nothing else: attention puts the product plus 2M² "
        "into it, the ReLU layer makes that −t, then t². The tables show what the three tokens of "
        "Figure 1 hold after each box; framed entries have just been written.",
        alt=f"Five tables of 7 rows and 3 tokens. The first row holds t = {t} throughout; the "
        "one-hot rows and the last row do not change. Slot 1 is written by the first block "
        "and ends as −t, slot 2 by the second block and ends as t squared.",
    )


@pytest.mark.parametrize("broken", ["fully connected layer first", "no addition"])
def test_control_another_drawing_is_another_model(broken, claim):
    """x^2 at x = 2, B = 3, lifts 6 and 18; the drawn model gives 4.

    Fully connected layer first: slot 1 holds b_2 = 6, and with the score 2 + 6 it holds 14. Slot 2
    holds 18, and with the score 2 14 + 18 it holds 64. No addition: after block 1 all but slot 1
    is 0, so block 2 finds neither t nor 1, and slot 2 holds b_2 = 18.
    """
    model = powers.construction(polynomials.Polynomial(1, {(2,): 1}), 3)
    Z = model.layout.tokens(exact.rationals([2]))
    for block in model.blocks:
        if broken == "no addition":
            Z = block.fully_connected(block.attention(Z) - Z)
        else:
            Z = block.attention(block.fully_connected(Z))
    expected = {"fully connected layer first": 64, "no addition": 18}[broken]
    claim.measured("output", model.read(Z), equation="Figure 1", drawn=broken).equals(expected)
