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

Not checked: the display of z_i in Section 2.1, which shows one zero more than R^(n+q+2) has room
for; the sketch of Figure 1 (its own claim).

Readings: z-hat_i inside sigma, where Section 2.2 prints z-hat_1 (a counterexample shows that the
printed index breaks Lemma 3.1); k_i = W^K z_i, where the proof of Lemma 3.1 prints W^Q; one index
is kept at a tie, the first.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import chosen
from repro.fang2022 import model as model_
from repro.fang2022 import multiplication
from repro.numerics import exact as exact_

SHAPES = {
    "W_Q": lambda n, q: (n + 1, n + q + 2),
    "W_K": lambda n, q: (n + 1, n + q + 2),
    "W_V": lambda n, q: (n + q + 2, n + q + 2),
    "W_1": lambda n, q: (2, n + q + 2),
    "W_2": lambda n, q: (n + q + 2, 2),
    "b_1": lambda n, q: (2,),
    "b_2": lambda n, q: (n + q + 2,),
}  # Sections 2.1 and 2.2, as printed


def random_model(seed, d, n, q, blocks):
    """Integer weights from -2 to 2, thirds for F and x: exact, with many ties among the scores."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return exact_.rationals(rng.integers(-2, 3, shape).tolist())

    weights = [{name: draw(*shape(n, q)) for name, shape in SHAPES.items()} for _ in range(blocks)]
    model = model_.Transformer(
        F=draw(n, d) / 3,
        blocks=tuple(model_.Block(**w) for w in weights),
        beta=draw(n * (n + q + 2)),
        b=draw(1)[0],
    )
    return model, draw(5, d) / 3


def printed(model, x, n, q):
    """The equations of Section 2, one token and one entry after the other."""

    def times(W, z):
        return [sum(w * a for w, a in zip(row, z, strict=True)) for row in W.tolist()]

    def one_hot_maximum(alpha):
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
            m = one_hot_maximum(alpha)
            hats.append([a + sum(m[j] * values[j][r] for j in range(n)) for r, a in enumerate(z)])
        tokens = []
        for z in hats:
            hidden = [max(a + c, 0) for a, c in zip(times(block.W_1, z), block.b_1, strict=True)]
            after = times(block.W_2, hidden)
            tokens.append([a + c + e for a, c, e in zip(z, after, block.b_2, strict=True)])
    concat = [entry for z in tokens for entry in z]
    return sum(w * a for w, a in zip(model.beta, concat, strict=True)) + model.b


small = st.integers(1, 3)
cases = st.tuples(st.integers(0, 2**32 - 1), small, small, small, st.integers(0, 3))


@pytest.mark.exact
def test_the_forward_pass_is_the_printed_equations(claim):
    def wrong(case):
        seed, d, n, q, blocks = case
        model, xs = random_model(seed, d, n, q, blocks)
        return sum(bool(a != printed(model, x, n, q)) for a, x in zip(model(xs), xs, strict=True))

    examples = claim.at_scale(smoke=60, laptop=500, paper=5000)
    claim.for_all("wrong outputs", cases, wrong, equation="Section 2.2", examples=examples)


@pytest.mark.parametrize("n", [1, 2, 5], ids="n={}".format)
@pytest.mark.construct
def test_float64_gives_the_same_integers(n, claim):
    """Weights and inputs are small integers: every sum is one, below 2^53, and nothing rounds."""
    import torch

    model, xs = random_model(claim.seed("float64") % 2**32, 3, n, 2, 2)
    exact = model_.Transformer(3 * model.F, model.blocks, model.beta, model.b)
    floats = model_.Transformer(
        model_.rounded(exact.F, torch.float64, claim.device),
        tuple(block.to(torch.float64, claim.device) for block in exact.blocks),
        model_.rounded(exact.beta, torch.float64, claim.device),
        float(int(exact.b.p)),
    )
    ours = floats(model_.rounded(3 * xs, torch.float64, claim.device)).tolist()
    wrong = sum(a != int(b.p) for a, b in zip(ours, exact(3 * xs), strict=True))
    claim.record("largest", max(abs(a) for a in ours))
    claim.measured("outputs that differ in float64", wrong, equation="Section 2.2").equals(0)


def test_reading_with_the_printed_index_breaks_lemma_3_1(claim):
    """With z-hat_1 in the ReLU of every token, token 2 gets x_2 y_2 - 2 x_1 y_1."""
    n, q, x, y = 2, 3, [1, 2], [1, 1]
    block = multiplication.multiplication_block(n, q, 2)
    t, x_, y_ = (exact_.rationals(v) for v in ([0, 0], x, y))
    Z = model_.Layout(n, q).tokens(t, x_, y_)

    def of_the_first(a):
        return model_.relu(a[:, [0] * n])

    claim.counterexample(
        "Lemma 3.1, if the ReLU layer of every token reads the first token",
        input={"n": n, "q": q, "M": 2, "x": x, "y": y, "token": 2},
        measured=block(Z, activate=of_the_first)[n + 3, 1],
        expected=-2,
        equation="Section 2.2, z′_i as printed",
        printed=False,
        snippet="M, x, y = 2, [1, 2], [1, 1]\n"
        "first, second = (a * b + 2 * M**2 for a, b in zip(x, y))   # after attention\n"
        "stored = second - 2 * max(first, 0) + 2 * max(-first, 0) + 2 * M**2   # z-hat_1\n"
        "print(stored, 'should be', -x[1] * y[1])\n",
    )
    claim.measured("stored when the index is i", block(Z)[n + 3, 1], equation="Lemma 3.1").equals(
        -2
    )


@pytest.mark.parametrize("broken", ["maximum over i", "no residual", "blocks exchanged"])
def test_control_another_reading_of_the_equations_gives_other_outputs(broken, claim):
    """One change to the forward pass; of 40 random models over half must come out wrong."""
    wrong = 0
    for seed in range(40):
        model, xs = random_model(seed, 2, 3, 2, 2)
        first, second = model.blocks
        if broken == "blocks exchanged":
            model = model_.Transformer(model.F, (second, first), model.beta, model.b)
            right = model_.Transformer(model.F, (first, second), model.beta, model.b)
            ours = model(xs)[0]
        else:
            right, Z = model, model.layout.tokens(xs @ model.F.mT)
            for block in model.blocks:
                if broken == "maximum over i":
                    Z = block(Z, attend=lambda a: model_.one_hot_maximum(a.mT).mT)
                else:
                    Z = block(Z) - Z
            ours = (Z[0].mT.reshape(-1) @ model.beta) + model.b
        wrong += bool(ours != printed(right, xs[0], 3, 2))
    claim.measured(
        "models out of 40 with another output", wrong, equation=f"Section 2.2, {broken}"
    ).at_least(chosen(21, "40 seeded models, over half"))
