"""Section 2 (wang2024), positional encoding: what a Transformer cannot do without it.

"Theoretically, Transformer without PE lacks UAP and is restricted to representing
permutation-invariant functions." In (3) the mask is a part of the relative encoding R, so without
it every token attends to all n tokens of the sequence:

    Attn(x_t) = W_O sum_h sum_s W_V x_s e^{<W_Q x_t, W_K x_s>} / sum_j e^{<W_Q x_t, W_K x_j>}.

Proof. Both sums run over all tokens, in whatever order, so Attn(x_t) depends on x_t and on the
multiset of the tokens. Embedding, residuals and feed-forward layers act on each token by itself. By
induction over the layers, permuted inputs give outputs permuted in the same way; so the output of
one token, as a function of the other ones, is invariant under their permutations, with and without
the denominator. No such network tells the pasts (1, -1) and (-1, 1) apart, so for y_t = x_{t-1}
each errs by at least 1: there is no universal approximation.

Checked, in rationals: random networks of two layers with dot products, ReLU and softmax, under all
permutations of their tokens; the error for x_{t-1}.
Controls: with lin-RPE the order matters. With the mask alone, R = 0 for s <= t, it matters from two
layers on, but not in one: the restriction needs that the mask goes as well.

Not checked: universal approximation with positional encoding, which is a theorem of other papers.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from repro.bounds import exactly, theorem
from repro.numerics import exact, logarithms
from repro.wang2024 import model

D, N = 2, 4


def two_layers(rng):
    """Integer weights: of each layer W_Q, W_K, W_V, and a, b, c of a network of three neurons."""
    shapes = {"Q": (1, D), "K": (1, D), "V": (D, D), "a": (D, 3), "b": (3, D), "c": (3,)}
    small = [{name: rng.integers(-1, 2, shape) for name, shape in shapes.items()} for _ in "12"]
    return [{name: exact.rationals(w.tolist()) for name, w in one.items()} for one in small]


def without_encoding(layers, x, normalised=True):
    """The network on tokens x (n, D), all of which attend to all; e^z is 2^z for whole logits z.

    In the second layer the logits are rounded, as is any function of the two tokens.
    """
    for one in layers:
        logits = (x @ one["Q"].T) @ (x @ one["K"].T).T
        whole = [[int(z.p // z.q) for z in row] for row in logits]
        shares = exact.rationals([[Fraction(2) ** z for z in row] for row in whole])
        if normalised:
            shares = shares / shares.sum(1, keepdims=True)
        x = x + shares @ (x @ one["V"].T)
        x = x + np.maximum(x @ one["b"].T + one["c"], 0) @ one["a"].T
    return x


@pytest.mark.parametrize("normalised", [True, False], ids=["softmax", "no softmax"])
@pytest.mark.exact
def test_permuted_tokens_give_permuted_outputs(normalised, claim):
    rng, differ = claim.rng("networks"), 0
    for _ in range(claim.at_scale(smoke=3, laptop=10, paper=100)):
        layers, x = two_layers(rng), exact.rationals(rng.integers(-1, 2, (N, D)).tolist())
        y = without_encoding(layers, x, normalised)
        for order in itertools.permutations(range(N)):
            moved = without_encoding(layers, x[list(order)], normalised)
            differ += int((moved != y[list(order)]).sum())
    claim.measured("outputs that differ", differ, equation="(3), R = 0").equals(0)


@pytest.mark.exact
def test_the_token_before_is_missed_by_at_least_1(claim):
    """y_t = x_{t-1} at the last of the tokens (1, -1, 0) and (-1, 1, 0)."""
    rng, errors = claim.rng("networks"), []
    for _ in range(20):
        layers = two_layers(rng)
        for past in ([1, -1], [-1, 1]):
            x = exact.rationals([[v, 0] for v in [*past, 0]])
            errors.append(abs(without_encoding(layers, x)[-1, 0] - past[-1]))
    worst = min(map(max, zip(errors[::2], errors[1::2], strict=True)))
    why = "equal outputs, targets −1 and 1"
    claim.measured("least error of 20 networks", worst, equation="(3), R = 0").at_least(
        theorem(1, why)
    )


def masked(slope, layers, x):
    """Causal layers of one head on scalar tokens, uniform for slope 0; the last output."""
    one = exact.rationals([[1]])
    x = exact.rationals(x)[:, None]
    for _ in range(layers):
        x = model.Attention((model.Head(one, slope),), one, "lin")(x)
    return x[-1, 0]


def test_control_with_the_mask_alone_two_layers_see_the_order(claim):
    """Uniform attention to the past: one layer has the mean, two have 11/18 and 5/18."""
    pasts = [1, 0, 0], [0, 1, 0]
    one, other = (masked(exact.rational(0), 1, x) for x in pasts)
    claim.measured("one layer", one, equation="R = 0, masked").equals(other)
    two = [masked(exact.rational(0), 2, x) for x in pasts]
    stated = [exact.rational("11/18"), exact.rational("5/18")]
    claim.measured("two layers", two, equation="R = 0, masked").equals(stated)


def test_control_with_lin_rpe_one_layer_sees_the_order(claim):
    """p = log 2: the shares of the distances 0, 1, 2 are 4/7, 2/7, 1/7."""
    one, other = (masked(logarithms.Log(2), 1, x) for x in ([1, 0, 0], [0, 1, 0]))
    apart = claim.measured("difference of the outputs", other - one, equation="(4)")
    apart.at_least(exactly(exact.rational("1/7"), "2/7 − 1/7"))
