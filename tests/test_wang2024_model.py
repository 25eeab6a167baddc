import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from repro.numerics.exact import rational, rationals, vector
from repro.numerics.logarithms import Log
from repro.wang2024 import rounding, t5
from repro.wang2024.model import (
    Attention,
    FeedForward,
    Head,
    Layer,
    Transformer,
    exponentials,
    inner,
    phi,
    relu,
    rounded,
)

q, arb = flint.fmpq, flint.arb
ONE = rationals([[1]])
READ = FeedForward(ONE, ONE, rationals([0]))


def random(*shape, seed=0, low=-3, high=4):
    return rationals(np.random.default_rng(seed).integers(low, high, shape).tolist())


def heads(rpe, *W_V):
    """u = 1/2, 1/3, ... for lin, p = 1, 2, ... for log."""
    return [Head(w, Log(h + 2) if rpe == "lin" else h + 1) for h, w in enumerate(W_V)]


def network(rpe, normalised=True, L=2, D=3, d=2, m=4):
    def layer(number):
        W = [random(D, D, seed=10 * number + i) for i in range(3)]
        a = random(1 if number == L else D, m, seed=number + 50)
        ffn = FeedForward(a, random(m, D, seed=number + 60), random(m, seed=number + 70))
        return Layer(Attention(heads(rpe, *W[:2]), W[2], rpe, normalised), ffn)

    return Transformer(random(D, d, seed=1), random(D, seed=2), [layer(n + 1) for n in range(L)])


def test_phi_is_the_printed_one_in_every_arithmetic():
    assert phi("lin", rationals([0, 1, "5/2"])).tolist() == [0, -1, q(-5, 2)]
    assert phi("log", rationals([1, 2, "5/2"])).tolist() == [Log(1), Log("1/2"), Log("2/5")]
    z = torch.tensor([1.0, 2.0, 2.5], dtype=torch.float64)
    assert phi("lin", z).tolist() == [-1, -2, -2.5]
    assert phi("log", z).tolist() == [-math.log(v) for v in (1, 2, 2.5)]
    assert phi("lin", vector([arb(3)]))[0] == -3
    assert phi("log", vector([arb(3)]))[0].overlaps(-arb(3).log())


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_phi_of_what_is_not_a_number_is_refused(rpe):
    with pytest.raises(ValueError, match=f"phi_{rpe}"):
        phi(rpe, torch.tensor([2.0, math.nan]))
    with pytest.raises(ValueError, match=f"phi_{rpe}"):
        phi(rpe, vector([arb(1, 3)]))  # a ball from -2 to 4


@pytest.mark.parametrize("rpe", ["exp", "", "LIN"])
def test_another_encoding_is_refused(rpe):
    with pytest.raises(ValueError, match=r"Section 3\.2 has the RPE types lin and log"):
        phi(rpe, ONE)
    with pytest.raises(ValueError, match=r"Section 3\.2 has the RPE types lin and log"):
        Attention([Head(ONE, 1)], ONE, rpe)


def test_attention_by_hand():
    lin = Attention(heads("lin", ONE, ONE), ONE, "lin").kernel(3)
    assert lin.tolist() == [[q(4, 7), q(2, 7), q(1, 7)], [q(9, 13), q(3, 13), q(1, 13)]]
    log = Attention(heads("log", ONE, ONE), ONE, "log").kernel(4)
    assert log.tolist() == [[0, q(6, 11), q(3, 11), q(2, 11)], [0, q(36, 49), q(9, 49), q(4, 49)]]
    # W_O W_V x with W_V = e_0 e_1^T and W_O = 3 e_1 e_0^T puts 3 x[1] into entry 1.
    W_V, W_O = rationals([[0, 1], [0, 0]]), rationals([[0, 0], [3, 0]])
    assert Attention(heads("lin", W_V), W_O, "lin")(rationals([[5, 7]])).tolist() == [[0, 21]]
    assert Attention([Head(ONE, 0)], ONE, "log").kernel(3).tolist() == [[0, q(1, 2), q(1, 2)]]
    assert Attention([Head(ONE, Log(1))], ONE, "lin").kernel(2).tolist() == [[q(1, 2), q(1, 2)]]


def test_one_token_has_itself_under_lin_and_nothing_under_log():
    one, x = rationals([[5]]), rationals([[7]])
    assert Attention(heads("lin", one), ONE, "lin")(x).tolist() == [[35]]
    assert Attention(heads("log", one), ONE, "log", normalised=False)(x).tolist() == [[0]]
    for tokens in (x, torch.ones(1, 1, dtype=torch.float64)):
        layer = Attention(heads("log", one), ONE, "log")
        layer = layer if tokens is x else layer.to(torch.float64)
        with pytest.raises(ValueError, match=r"softmax with log-RPE needs n >= 2 tokens, got n=1"):
            layer(tokens)


def test_a_feed_forward_network_is_rounded_as_its_name_says():
    weights = (rationals([["4/5"]]), ONE, rationals([0]))
    x = rationals([[2], [-3]])  # 8/5 and 0
    assert FeedForward(*weights)(x).tolist() == [[q(8, 5)], [0]]
    assert FeedForward(*weights, "lin")(x).tolist() == [[2], [0]]
    assert FeedForward(*weights, "log")(x).tolist() == [[Log(5)], [0]]  # e^1.6 = 4.95
    for a, b, c in (((1, 3), (2, 2), 2), ((1, 2), (3, 2), 2), ((1, 2), (2,), 2)):
        with pytest.raises(ValueError, match=r"Section 3\.2 has a \(D_out, m\), b \(m, D\), c"):
            FeedForward(random(*a), random(*b), random(c))
    with pytest.raises(ValueError, match=r"equation \(15\) rounds for lin or log, got 'exp'"):
        FeedForward(ONE, ONE, rationals([0]), "exp")


def test_the_last_outputs_alone_are_the_last_of_all():
    x, W = random(6, 2), random(2, 2, seed=5)
    layer = Attention(heads("log", W, W), W, "log")
    assert layer(x, queries=2).tolist() == layer(x)[-2:].tolist()
    assert layer(x, queries=5).tolist() == layer(x).tolist()
    with pytest.raises(ValueError, match=r"log-RPE needs n >= 7 tokens, got n=6"):
        layer(x, queries=6)  # the first token has no key


def test_only_a_head_without_dot_product_has_a_kernel():
    dot = Head(ONE, Log(2), W_Q=vector([Log(2)])[:, None], W_K=ONE)
    tmx = Head(ONE, Log(2), w=rationals([1]))
    for head in (dot, tmx):
        assert not head.dot_product_free
        with pytest.raises(ValueError, match=r"Remark 3\.2: only a dot-product-free attention"):
            Attention([head], ONE, "lin").kernel(3)
        with pytest.raises(ValueError, match=r"Remark 3\.2: only a dot-product-free attention"):
            Attention([*heads("lin", ONE), head], ONE, "lin").kernel(3)


def test_a_dot_product_of_logarithms_and_integers_is_exact():
    """Queries read entry 0, keys entry 1: e^{log 3 x_t[0] x_{t-s}[1]} 2^-s."""
    W_Q = vector([Log(3), q(0)])[None, :]
    head = Head(random(2, 2), Log(2), W_Q, W_K=rationals([[0, 1]]))
    scores = Attention([head], random(2, 2), "lin", normalised=False).scores(
        head, rationals([[1, 3], [2, 1]])
    )
    assert scores.tolist() == [[27, 0], [q(729, 2), 9]]


KINDS = {"dot product": ("W_Q", "W_K"), "free": (), "TMX": ("w",)}
MIXED = [list(KINDS), ["free", "TMX"]]


@pytest.mark.parametrize("kinds", [*([kind] * 3 for kind in KINDS), *MIXED], ids="-".join)
@pytest.mark.parametrize("normalised", [True, False])
def test_heads_together_are_heads_one_by_one(kinds, normalised):
    rng = np.random.default_rng(3)

    def drawn(*shape):
        return torch.from_numpy(rng.random(shape))  # positive: the centre of TMX has to be

    shapes = {"W_Q": (2, 3), "W_K": (2, 3), "w": (3,)}
    several = [
        Head(drawn(3, 3), drawn(), **{name: drawn(*shapes[name]) for name in KINDS[kind]})
        for kind in kinds
    ]
    x, W_O = drawn(4, 5, 3), drawn(3, 3)
    one_by_one = sum(Attention([head], W_O, "lin", normalised)(x).numpy() for head in several)
    together = Attention(several, W_O, "lin", normalised)(x)
    assert together.numpy() == pytest.approx(one_by_one, rel=1e-13)


def test_tmx_is_centred_where_the_token_says():
    head = Head(ONE, Log(2), w=rationals([1]))
    scores = Attention([head], ONE, "lin", normalised=False).scores(head, rationals([[1], [2]]))
    assert scores.tolist() == [[2, 0], [2, 4]]  # 2^(w.x_t - s)
    log = Head(ONE, 2, w=rationals([1]))
    scores = Attention([log], ONE, "log", normalised=False).scores(log, rationals([[1], [3], [3]]))
    assert scores.tolist() == [[0, 0, 0], [9, 0, 0], [q(9, 4), 9, 0]]  # (w.x_t / s)^2


def test_the_softmax_does_not_overflow_and_the_bare_exponential_says_so():
    logits, keys = torch.tensor([[800.0, 900.0]]), torch.tensor([[True, True]])
    tiny = pytest.approx(math.exp(-100), abs=2.0**-149)  # float32 has no numbers between those
    assert exponentials(logits, keys, True).tolist() == [[tiny, 1]]
    head = Head(ONE, Log(2), W_Q=vector([Log(2)])[:, None], W_K=rationals([[2000]]))
    layers = [Layer(Attention([head], ONE, "lin", normalised=False), READ)]
    model = Transformer(ONE, rationals([0]), layers)
    assert model(rationals([[1]]))[0, 0] == 2**2000 + 1
    with pytest.raises(
        ValueError, match=r"Section 3\.2: an output is not finite in torch\.float64"
    ):
        model.to(torch.float64)(torch.ones(1, 1, dtype=torch.float64))
    with pytest.raises(ValueError, match="an output is not finite"):  # the second of two
        model.to(torch.float64)(torch.tensor([[0.0], [1.0]], dtype=torch.float64))


def test_keys_left_out_have_no_part_in_the_maximum_or_in_gradients():
    logits = torch.tensor([[1e4, -5.0, 1e30]], requires_grad=True)
    shares = exponentials(logits, torch.tensor([[False, True, False]]), True)
    assert shares.tolist() == [[0, 1, 0]]
    (gradient,) = torch.autograd.grad(shares[0, 1], logits)
    assert gradient.tolist() == [[0, 0, 0]]  # the only key has the share 1, whatever its logit


def test_networks_replace_add_and_embed():
    zero = rationals([[0]])
    idle = Attention(heads("lin", zero), ONE, "lin")
    add = FeedForward(rationals([[2]]), ONE, rationals([0]))
    model = Transformer(ONE, rationals([0]), [Layer(idle, add), Layer(idle, add)])
    assert model(rationals([[1], [5]])).tolist() == [[6], [30]]  # x + 2x = 3x, then 2 (3x)
    # W_E x + b_E with W_E = (2, -1)^T, b_E = (3, 5); an idle layer, and y_1 + 10 y_2 of it.
    nothing, read = rationals([[0, 0], [0, 0]]), rationals([[1, 10]])
    idle = Attention(heads("lin", nothing), nothing, "lin")
    last = FeedForward(read, rationals([[1, 0], [0, 1]]), rationals([0, 0]))
    model = Transformer(rationals([[2], [-1]]), rationals([3, 5]), [Layer(idle, last)])
    assert model(rationals([[1], [4]])).tolist() == [[5 + 40], [11 + 10]]


def test_a_weight_is_rounded_once():
    assert rounded(vector([Log(3)]), torch.float64).tolist() == [math.log(3)]
    middle = 1 + q(1, 2**24) + q(1, 2**60)  # its float64 lies between two float32
    assert rounded(vector([middle]), torch.float32).tolist() == [1 + 2.0**-23]
    assert rounded(torch.ones(2), torch.float64).dtype == torch.float64
    assert rounded(vector([arb(3)]), torch.float64).tolist() == [3]


def test_parameters_are_counted_in_every_part():
    head = Head(random(3, 3), Log(2), random(2, 3), random(2, 3))
    assert head.parameters_count() == 9 + 1 + 6 + 6
    assert Head(random(3, 3), Log(2), w=random(3)).parameters_count() == 9 + 1 + 3
    layer = Attention([head, head], random(3, 3), "lin")
    assert layer.parameters_count() == layer.balls(60).parameters_count() == 2 * 22 + 9
    assert layer.to(torch.float32).parameters_count() == 2 * 22 + 9


def test_products_and_relu_of_balls_and_zeros():
    a = vector([Log(2), q(0), q(3)])[None, :]
    assert inner(a, rationals([[1, 7, 0]])).tolist() == [[Log(2)]]
    assert inner(a, rationals([[0, 7, "1/2"]])).tolist() == [[q(3, 2)]]
    ball = arb(0, 1)  # it holds 0 and is not 0
    assert inner(vector([ball])[None, :], rationals([[2]]))[0, 0].contains(2)
    (out,) = relu(vector([arb(0, 1)]))
    assert out.contains(0)
    assert out.contains(1)
    assert relu(vector([q(-1), q(2), Log("1/2"), Log(2)])).tolist() == [0, 2, 0, Log(2)]


@pytest.mark.parametrize("shape", [(5,), (5, 1), (2, 5, 3)], ids=str)
def test_tokens_of_another_dimension_are_refused(shape):
    with pytest.raises(ValueError, match=r"tokens with d=2, got shape"):
        network("lin")(random(*shape))


TIES = {"1/2": 0, "3/2": 2, "5/2": 2, "-1/2": 0, "-3/2": -2, "7/3": 2, "8/3": 3, "-8/3": -3, 4: 4}


def test_the_nearest_integer_goes_to_even_at_a_tie_in_every_arithmetic():
    assert rounding.nearest(rationals(list(TIES))).tolist() == list(TIES.values())
    floats = torch.tensor([float(Fraction(x)) for x in TIES], dtype=torch.float64)
    assert rounding.nearest(floats).tolist() == list(TIES.values())
    exact = [x for x in TIES if rational(x).q in (1, 2)]
    balls = rounding.nearest(vector([arb(rational(x)) for x in exact]))
    assert [int(b.unique_fmpz()) for b in balls] == [TIES[x] for x in exact]


def test_the_nearest_integer_of_balls_and_logarithms():
    assert rounding.nearest(vector([arb(2, 0.4)]))[0] == 2
    for ball in (arb(2.5, 0.1), arb(2, 0.5), arb(3, 0.5), arb(0, 10), arb("nan"), arb("inf")):
        with pytest.raises(ValueError, match=r"\(15\): the ball .* may be half an odd integer"):
            rounding.nearest(vector([ball]))
    assert rounding.nearest(vector([arb(-3, 0.4), arb(-1, 0.25)])).tolist() == [-3, -1]
    assert rounding.nearest(vector([Log(20), Log(1), Log("1/20")])).tolist() == [3, 0, -3]


def test_the_logarithm_of_the_rounded_exponential():
    z = vector([Log(2), Log("7/3"), Log("5/2"), q(0), q(1), q(1, 10), Log("51/100")])
    wanted = [Log(2), Log(2), Log(2), 0, Log(3), 0, 0]
    assert rounding.nearest_logarithm(z).tolist() == wanted
    ball = rounding.nearest_logarithm(vector([arb(1)]))[0]
    assert ball.overlaps(arb(3).log())
    floats = rounding.nearest_logarithm(torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64))
    assert floats.tolist() == [math.log(3), 0, math.log(7)]
    with pytest.raises(ValueError, match=r"exp\(-5\.0\) gives none"):
        rounding.nearest_logarithm(torch.tensor([0.0, -5.0, 3.0]))
    match = r"\(15\) rounds exp\(z\) to an integer >= 1"
    for z in (vector([Log("1/2")]), vector([q(-1)]), vector([arb(-1)])):
        with pytest.raises(ValueError, match=match):
            rounding.nearest_logarithm(z)
    for z in (-1.0, -800.0, 800.0, math.nan):
        with pytest.raises(ValueError, match=match):
            rounding.nearest_logarithm(torch.tensor([1.0, z], dtype=torch.float64))
    # e^z within 1e-60 of 5/2, on either side.
    with flint.ctx.workprec(400):
        z = rounding.midpoint(arb(q(5, 2)).log())
    above, below = z + q(1, 10**60), z - q(1, 10**60)
    assert rounding.nearest_logarithm(vector([above, below])).tolist() == [Log(3), Log(2)]


def test_both_sides_of_proposition_b_1():
    assert rounding.movement(3, arb(3)).contains(0)
    assert rounding.movement(3, arb(q(7, 2))).overlaps(arb(q(7, 6)).log())
    assert rounding.bound(3, arb(q(7, 2))).overlaps(arb(q(1, 6)))
    assert rounding.bound(3, arb(q(5, 2))).overlaps(arb(q(1, 5)))


def test_the_staircase_of_t5_by_hand():
    """B = 2, D = 32: steps where n/2 is a power of 4."""
    stairs = {0: 0, 1: 1, 2: 2, 7: 2, 8: 3, 31: 3, 32: 3, 10**9: 3}
    assert {n: t5.staircase(n, 2, 32) for n in stairs} == stairs
    stairs = {15: 9, 16: 10, 31: 11, 32: 12, 63: 13, 64: 14, 90: 14, 91: 15}
    assert {n: t5.staircase(n, 8, 128) for n in stairs} == stairs


@pytest.mark.parametrize("difference", [False, True])
def test_in_float64_the_staircase_is_the_same(difference):
    for n in range(200):
        found = t5.floating(n, 8, 128, torch.float64, difference=difference)
        assert found == t5.staircase(n, 8, 128)
