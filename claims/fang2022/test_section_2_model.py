"""Section 2 (fang2022, pp. 2-3): the single-head transformer with one-hot maximum.

x is embedded as n tokens z_i = [t_i, e_i, 0, ..., 0, 1] in R^(n+q+2), t_i = <xi_i, x>; a block is
    q_i = W^Q z_i,  k_i = W^K z_i,  alpha_i = [<q_i, k_1>, ..., <q_i, k_n>],
    z-hat_i = z_i + W^V Z m-hat(alpha_i),  z'_i = z-hat_i + W_2 sigma(W_1 z-hat_i + b_1) + b_2,
and the output after l blocks is beta . concat(z_1, ..., z_n) + b.

Checked: the one forward pass of this package (repro/fang2022/model.py, batched matrices) against
the equations above written out token by token in rationals, for random weights of all printed
shapes and up to three blocks: not one number differs. A batch gives what its samples give, and
float64 what the rationals give, to the bit, on integers.
Controls: the maximum taken over the wrong index, the residual left out, two blocks exchanged.

Not checked: the sketch of Figure 1 (its own claim).

Readings: z-hat_i inside sigma, where Section 2.2 prints z-hat_1 (a misprint: with the index 1 Lemma
3.1 would be false); k_i = W^K z_i, where the proof of Lemma 3.1 prints W^Q. At a tie one index is
kept, the first: the text says "the largest value", and "one hot". z_i has n + q + 2 entries, as the
text says; the display of z_i seems to show one zero more in the copy that we read.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.fang2022 import inputs, multiplication, polynomials, powers
from repro.fang2022 import model as models
from repro.numerics import exact


def model_and_inputs(seed, d, n, q, blocks):
    """A random model with thirds for F, and five inputs in thirds."""
    rng = np.random.default_rng(seed)
    model = inputs.random_model(rng, d, n, q, blocks)
    x = exact.rationals(rng.integers(-2, 3, (5, d)).tolist()) / 3
    return dataclasses.replace(model, F=model.F / 3), x


def printed(model, x, n, q):
    """The equations of Section 2, one token and one entry after the other."""

    def times(W, z):
        return [sum(w * a for w, a in zip(row, z, strict=True)) for row in W.tolist()]

    def m_hat(alpha):
        kept = alpha.index(max(alpha))
        return [a if j == kept else 0 for j, a in enumerate(alpha)]

    t = times(model.F, x)
    tokens = [[t[i], *[int(i == j) for j in range(n)], *[0] * q, 1] for i in range(n)]
    for block in model.blocks:
        keys = [times(block.W_K, z) for z in tokens]
        values = [times(block.W_V, z) for z in tokens]
        hats = []
        for z in tokens:
            query = times(block.W_Q, z)
            alpha = [sum(a * c for a, c in zip(query, key, strict=True)) for key in keys]
            m = m_hat(alpha)
            hats.append([a + sum(m[j] * values[j][r] for j in range(n)) for r, a in enumerate(z)])
        tokens = []
        for z in hats:
            hidden = [max(a + c, 0) for a, c in zip(times(block.W_1, z), block.b_1, strict=True)]
            after = times(block.W_2, hidden)
            tokens.append([a + c + e for a, c, e in zip(z, after, block.b_2, strict=True)])
    concat = [entry for z in tokens for entry in z]
    return sum(w * a for w, a in zip(model.beta, concat, strict=True)) + model.b


@pytest.mark.exact
def test_the_forward_pass_is_the_printed_equations(claim):
    def wrong(case):
        seed, d, n, q, blocks = case
        model, xs = model_and_inputs(seed, d, n, q, blocks)
        return sum(bool(a != printed(model, x, n, q)) for a, x in zip(model(xs), xs, strict=True))

    small = st.integers(1, 3)
    cases = st.tuples(st.integers(0, 2**32 - 1), small, small, small, st.integers(0, 3))
    examples = claim.at_scale(smoke=60, laptop=500, paper=5000)
    claim.for_all("wrong outputs", cases, wrong, equation="Section 2.2", examples=examples)


@pytest.mark.parametrize("n", [1, 2, 5], ids="n={}".format)
@pytest.mark.construct
def test_float64_gives_the_same_integers(n, claim):
    """Weights and inputs are small integers: every sum is one, below 2^53, and nothing rounds."""
    import torch

    model, xs = model_and_inputs(claim.seed("float64") % 2**32, 3, n, 2, 2)
    model = dataclasses.replace(model, F=3 * model.F)
    floats = model.to(torch.float64, claim.device)
    ours = floats(models.rounded(3 * xs, torch.float64, claim.device)).tolist()
    wrong = sum(a != int(b.p) for a, b in zip(ours, model(3 * xs), strict=True))
    claim.record("largest output", max(abs(a) for a in ours))
    claim.measured("outputs that differ in float64", wrong, equation="Section 2.2").equals(0)


def stored_by_token_2(M, x, y):
    first, second = (a * b + 2 * M**2 for a, b in zip(x, y, strict=True))  # after attention
    stored = second - 2 * max(first, 0) + 2 * max(-first, 0) + 2 * M**2  # z-hat_1 in the ReLU
    return stored, -x[1] * y[1]


def test_printed_index_in_the_relu_layer_breaks_lemma_3_1(claim):
    """With z-hat_1 in the ReLU of every token, token 2 gets x_2 y_2 - 2 x_1 y_1."""
    n, q, at = 2, 3, {"M": 2, "x": [1, 2], "y": [1, 1]}
    block = multiplication.multiplication_block(n, q, at["M"])
    Z = models.Layout(n, q).tokens(*(exact.rationals(v) for v in ([0, 0], at["x"], at["y"])))
    first = block(Z, activate=lambda a: models.relu(a[:, [0] * n]))
    claim.counterexample(
        "Lemma 3.1, if the ReLU layer of every token reads the first token",
        input={"n": n, "q": q, **at, "token": 2},
        measured=first[n + 3, 1],
        expected=-2,
        equation="Section 2.2, z′_i as printed",
        program=stored_by_token_2,
        **at,
    )
    stored = claim.measured("stored when the index is i", block(Z)[n + 3, 1], equation="Lemma 3.1")
    stored.equals(-2)


def square(x):
    """Theorem 3.5 for x^2 and |x| <= 3: one token, lifts 6 and 18, beta reads slot 2."""
    model = powers.construction(polynomials.Polynomial(1, {(2,): 1}), 3)
    return model, model.layout.tokens(exact.rationals([x]))


def test_control_without_the_residual_the_square_is_lost(claim):
    """x = 2. Block 1 leaves slot 1 = -2 and nothing else: no 1, no t. So block 2 multiplies 0 and
    reads 0 for the constant: its slot receives b_2 = 18 alone, for 4.
    """
    model, Z = square(2)
    for block in model.blocks:
        Z = block(Z) - Z
    claim.measured("output", model.read(Z), equation="Section 2.2 without z_i").equals(18)


def test_control_with_blocks_exchanged_the_square_is_lost(claim):
    """x = 2. Block 2, first, multiplies t by the empty slot 1, and stores 0 for 4."""
    model, Z = square(2)
    for block in model.blocks[::-1]:
        Z = block(Z)
    claim.measured("output", model.read(Z), equation="Section 2.2 in another order").equals(0)


def test_control_a_maximum_over_the_other_index_keeps_other_scores(claim):
    """x = (1, 2), y = (1, 3), no lift: alpha = (1 3; 2 6). By rows 3 and 6 are kept; by columns 2
    and 6, both for token 2. The ReLU layer turns a into -a.
    """
    rows = models.Layout(2, 3)
    block = multiplication.product_block(rows, rows.slot(1), rows.slot(2), rows.slot(3), 0)
    Z = rows.tokens(*exact.rationals([[0, 0], [1, 2], [1, 3]]))
    right = block(Z)[rows.slot(3)].tolist()
    claim.measured("stored", right, equation="m-hat(α_i)").equals([-3, -6])
    wrong = block(Z, attend=lambda a: models.one_hot_maximum(a.mT).mT)[rows.slot(3)].tolist()
    claim.measured("stored", wrong, equation="m-hat over i").equals([0, -8])
