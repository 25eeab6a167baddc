"""Remark 3.1 (wang2024, Section 3.2): the number of parameters does not depend on the length.

The parameters are W_E, the a_k, b_k, c_k of the feed-forward layers, and W_Q, W_K, W_V, one p per
head and W_O of the attention layers: so one set of weights runs on sequences of every length.

Checked: the model's weights, counted, are D d + D + sum over the layers of
    H (D^2 + 2 r D + 1) + D^2 + m (D_out + D + 1),
which has no n in it; one exact network runs on windows of every length up to 9, and of 30, and its
first outputs on a longer window are, exactly, those on the shorter one.
Control: with absolute positions in the embedding there are D numbers more for each token, and what
fits 3 tokens refuses 8.

Readings: the printed list leaves out the bias b_E of the embedding, D numbers, constant in length
as well.
"""

import numpy as np
import pytest

from repro.bounds import theorem
from repro.numerics import exact, logarithms
from repro.wang2024 import model

d, D, D_out, H, m, r = 2, 3, 1, 2, 4, 2
LENGTHS = [*range(2, 10), 30]


def random_model(rng, rpe, L):
    rationals, Log = exact.rationals, logarithms.Log

    def draw(*shape):
        return rationals(rng.integers(-2, 3, shape).tolist())

    def head():
        W_Q, W_K = rationals([[0] * D] * r), draw(r, D)
        W_Q[0, D - 1], W_K[:, : D - 1] = Log(3), 0  # they read the constant, row D - 1
        return model.Head(draw(D, D), Log(2) if rpe == "lin" else 2, W_Q, W_K)

    def layer(last):
        W_O, a = draw(D, D), draw(D_out if last else D, m)
        W_O[D - 1] = 0
        if not last:
            a[D - 1] = 0
        attention = model.Attention([head() for _ in range(H)], W_O, rpe)
        return model.Layer(attention, model.FeedForward(a, draw(m, D), draw(m)))

    W_E, b_E = draw(D, d), rationals([0, 0, 1])
    W_E[D - 1] = 0
    return model.Transformer(W_E, b_E, [layer(number == L) for number in range(1, L + 1)])


@pytest.mark.parametrize("L", [1, 2, 3], ids="L={}".format)
@pytest.mark.exact
def test_the_parameters_are_those_of_the_list_and_the_embedding_bias(L, claim):
    """W_E has 6, b_E 3; a layer 2 (9 + 12 + 1) of heads, 9 of W_O, and 4 (3 + 3 + 1), the last one
    4 (1 + 3 + 1): 9 + 73, and 81 for each further layer."""
    network = random_model(claim.rng("weights"), "lin", L)
    number = claim.measured("parameters", network.parameters_count(), equation="Remark 3.1")
    number.equals({1: 82, 2: 163, 3: 244}[L])


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.exact
def test_outputs_of_every_length_by_hand(rpe, claim):
    """Tokens (x, 1), logits log 3 x_{t-s} + p phi(s), p = log 2 or 1; then x + 2 relu(5 - x) - 7
    relu(x - 9), no second attention, and 2 relu(x - 1). For x = 1, 2, 1 and lin the shares are 1;
    9 : 3/2; 3 : 9/2 : 3/4, so attention adds 1, 13/7, 17/11 and x is 2, 27/7, 28/11, then 8, 43/7,
    82/11. For log 1 and 9 : 3/2 add 1, 13/7 from t = 1 on; x is 3, 20/7, then 7, 50/7; and the
    second softmax has no key at t = 1. (A layer of log loses the first token.)
    """
    q, Log = exact.rationals, logarithms.Log
    W_Q, zero, one = q([[0, 0]]), q([[0, 0], [0, 0]]), q([[1, 0], [0, 1]])
    W_Q[0, 1], p = Log(3), Log(2) if rpe == "lin" else 1
    head = model.Head(q([[1, 0], [0, 0]]), p, W_Q, q([[1, 0]]))
    first = model.FeedForward(q([[2, -7], [0, 0]]), q([[-1, 0], [1, 0]]), q([5, -9]))
    last = model.FeedForward(q([[2]]), q([[1, 0]]), q([-1]))
    layers = [
        model.Layer(model.Attention([head], one, rpe), first),
        model.Layer(model.Attention([model.Head(zero, p)], zero, rpe), last),
    ]
    network = model.Transformer(q([[1], [0]]), q([0, 1]), layers)
    y = network(q([[1], [2], [1]]))[:, 0].tolist()
    stated = {"lin": [14, "72/7", "142/11"], "log": ["86/7"]}[rpe]
    claim.measured("outputs", y, equation="Remark 3.1", n=3).equals(q(stated).tolist())
    claim.measured("parameters", network.parameters_count(), equation="Remark 3.1").equals(40)
    with pytest.raises(TypeError, match="exact weights"):
        network(np.ones((3, 1)))
    with pytest.raises(ValueError, match="needs n >="):  # more queries than tokens with a key
        layers[0].attention(q([[1, 1]] * 3), queries=4)


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.exact
def test_one_set_of_weights_runs_at_every_length(rpe, claim):
    """And a longer window only adds outputs: the first ones stay exactly what they were."""
    rng = claim.rng("tokens")
    network = random_model(rng, rpe, 2)
    x = exact.rationals(rng.integers(-3, 4, (LENGTHS[-1], d)).tolist())
    whole, counts, changed = network(x), set(), 0
    lengths = [n for n in LENGTHS if n > network.first]
    for n in lengths:
        y = network(x[:n])
        counts.add(network.parameters_count())
        changed += len(y) != n - network.first or bool((y != whole[: len(y)]).any())
    claim.record("lengths", len(lengths))
    found = claim.measured("lengths at which an output is another", changed, equation="Remark 3.1")
    found.equals(0)
    claim.measured("numbers of parameters", len(counts), equation="Remark 3.1").equals(1)


def test_control_a_table_of_positions_grows_with_the_length(claim):
    """Tokens (x_t, e_t) with absolute positions e_t: W_E has a column more for each position."""
    network = random_model(claim.rng("weights"), "lin", 2)

    def with_positions(n):
        positions = exact.rationals(np.ones((D, n), dtype=int).tolist())
        W_E = np.concatenate([network.W_E, positions], axis=1)
        x = np.concatenate([np.ones((n, d), dtype=int), np.eye(n, dtype=int)], axis=1)
        longer = model.Transformer(W_E, network.b_E, network.layers)
        return longer, exact.rationals(x.tolist())

    (short, x), (long, more) = with_positions(3), with_positions(8)
    extra = long.parameters_count() - short.parameters_count()
    found = claim.measured("parameters that 5 more tokens need", extra, equation="Remark 3.1")
    found.at_least(theorem(5 * D, "D = 3 for each position"))
    claim.measured("outputs for 3 tokens", len(short(x)), equation="Remark 3.1").equals(3)
    with pytest.raises(ValueError, match="d=5, got shape"):
        short(more)
