"""Section 2 and Lemma 3.1: tokens, blocks in every arithmetic, round-off, and the control."""

import flint
import numpy as np
import pytest
import torch

from repro.fang2022 import multiplication
from repro.fang2022.model import (
    Layout,
    Transformer,
    keep_own,
    one_hot_maximum,
    only_unit,
    product,
    relu,
)
from repro.fang2022.multiplication import (
    multiplication_block,
    roundoff_bound,
    sup_error,
    two_relu_units,
)
from repro.numerics.exact import rationals
from repro.training import Workspace

q = flint.fmpq
KINDS = ["torch", "objects"]


def array(values, kind):
    """The same integers as a float64 tensor, in which they are exact, or as rationals."""
    return torch.tensor(values, dtype=torch.float64) if kind == "torch" else rationals(values)


def integers(*shape, seed=0, low=-9, high=10):
    return np.random.default_rng(seed).integers(low, high, shape).tolist()


ROWS = {
    "the largest": ([[3, 7, 5]], [[0, 7, 0]]),
    "each row for itself": ([[1, 2], [4, 3]], [[0, 2], [4, 0]]),
    "the first at a tie": ([[5, 9, 9, 9]], [[0, 9, 0, 0]]),
    "all tied": ([[2, 2, 2]], [[2, 0, 0]]),
    "all negative": ([[-3, -1, -2]], [[0, -1, 0]]),
    "negative and zero": ([[-3, 0, -2]], [[0, 0, 0]]),
    "one token": ([[-4]], [[-4]]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("alpha", "kept"), ROWS.values(), ids=ROWS)
def test_the_one_hot_maximum_keeps_one_entry_and_its_value(alpha, kept, kind):
    found = one_hot_maximum(array(alpha, kind))
    assert found.tolist() == kept


@pytest.mark.parametrize("kind", KINDS)
def test_relu_and_known_branches_keep_what_they_say(kind):
    assert relu(array([[-2, 0, 3], [1, -1, 0]], kind)).tolist() == [[0, 0, 3], [1, 0, 0]]
    alpha = np.arange(18).reshape(2, 3, 3).astype(object)
    kept = [[[0, 0, 0], [0, 4, 0], [0, 0, 8]], [[9, 0, 0], [0, 13, 0], [0, 0, 17]]]
    assert keep_own(alpha).tolist() == kept
    a = np.array([[3, -4], [5, 6]], dtype=object)
    assert only_unit(1)(a).tolist() == [[3, -4], [0, 0]]
    assert only_unit(2)(a).tolist() == [[0, 0], [5, 6]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_reads_as_section_2_1_prints_it(kind):
    t, x, y = ([10, 20, 30], [1, 2, 3], [4, 5, 6])
    Z = Layout(3, 4).tokens(*(array(v, kind) for v in (t, x, y)))
    assert Z.tolist() == [
        [10, 20, 30],
        [1, 0, 0], [0, 1, 0], [0, 0, 1],
        [1, 2, 3], [4, 5, 6], [0, 0, 0], [0, 0, 0],
        [1, 1, 1],
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_all_slots_can_be_filled(kind):
    t = array([1, 2], kind)
    Z = Layout(2, 2).tokens(t, array([3, 4], kind), array([5, 6], kind))
    assert Z.tolist() == [[1, 2], [1, 0], [0, 1], [3, 4], [5, 6], [1, 1]]


def test_products_of_objects_with_rows_of_zeros_have_the_batch_of_both_sides():
    W, z = rationals(integers(2, 1, 3, 4)), rationals(integers(5, 4, 6, seed=1))
    W[:, :, 1] = 0 * W[:, :, 1]
    assert product(W, z).tolist() == (W @ z).tolist()
    assert product(W, z[0]).tolist() == (W @ z[0]).tolist()
    assert product(W[0, 0], z).tolist() == (W[0, 0] @ z).tolist()


def test_a_batch_goes_through_the_transformer_like_its_samples():
    block = multiplication_block(2, 3, 3)
    beta = np.arange(14).astype(object)
    model = Transformer(np.array([[1, 2], [0, 1]], dtype=object), (block, block), beta, 5)
    xs = np.array([[[1, 0], [0, 1], [1, 1]]] * 2, dtype=object)
    assert model(xs).shape == (2, 3)
    assert model(xs).tolist() == [[model(x) for x in row] for row in xs]


def test_a_model_reads_token_after_token():
    """n = 2, q = 1, no block: tokens (5, 1, 0, 0, 1) and (7, 0, 1, 0, 1), beta = 1, ..., 10, b = 3."""
    model = Transformer(rationals([[1, 2], [3, 2]]), (), np.arange(1, 11).astype(object), 3)
    x = rationals([1, 2])
    assert model.layout == Layout(2, 1)
    assert model(x) == (5 * 1 + 2 + 5) + (7 * 6 + 8 + 10) + 3
    assert model.nonzeros() == 4 + 10 + 1
    assert model.to(torch.float64)(torch.tensor([1.0, 2.0], dtype=torch.float64)).item() == 75


@pytest.mark.parametrize("M", [0.5, 1.0, 8.0], ids="M={}".format)
def test_the_bound_on_the_round_off_is_4_u_M_squared(M):
    """M is a number of every type here, so it is not rounded."""
    for dtype, u in {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8}.items():
        expected = 4 * u * M**2 * (1 + 2 * u)
        assert roundoff_bound(M, dtype) == pytest.approx(expected, rel=1e-12, abs=0)
    assert roundoff_bound(0.3, "bfloat16") == roundoff_bound(0.30078125, "bfloat16")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_a_block_in_floating_point_has_the_nearest_weights(dtype):
    block = multiplication_block(2, 3, q(1, 3)).to(dtype)
    assert {weight.dtype for weight in block.weights().values()} == {dtype}
    G = torch.tensor(2 / 9, dtype=torch.float64).to(dtype)
    assert block.W_Q[1, 1] == block.W_Q[2, 2] == block.b_2[5] == G
    assert block.W_2[5].tolist() == [-2, 2]
    assert block.nonzeros() == 2 * 2 + 8


def test_weights_are_rounded_once():
    """1 + 2^-24 + 2^-60 lies above the middle of 1 and 1 + 2^-23, and its float64 in the middle."""
    block = multiplication_block(1, 3, 1)
    block.W_Q[0, 0] = 1 + q(1, 2**24) + q(1, 2**60)
    assert block.to(torch.float32).W_Q[0, 0].item() == 1 + 2.0**-23


def two_units(a, b, c):
    """The network that stores c + a relu(x + y - b) + a relu(-x - y - b)."""
    weights = {
        "0.weight": [[1, 1], [-1, -1]],
        "0.bias": [-b, -b],
        "2.weight": [[a, a]],
        "2.bias": [c],
    }
    model = two_relu_units()
    model.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    return model


def test_the_floor_is_reached_on_the_diagonal():
    """-s² is met by the slopes 4/3, 0, -4/3 with corners at s = -1/3, 1/3, each off by 1/18."""
    model, s = two_units(a=-2 / 3, b=2 / 3, c=-1 / 18), torch.linspace(-1, 1, 2001)
    with torch.no_grad():
        off = (model(torch.stack([s, s], 1)).squeeze() + s**2).abs().max().item()
    assert off == pytest.approx(1 / 18, abs=1e-5)
    assert sup_error(model, 1.0) > 1 / 18
    for seed in range(20):
        torch.manual_seed(seed)
        assert sup_error(two_relu_units(), 1.0) >= 1 / 18


def test_the_sup_error_is_the_largest_on_the_grid():
    constant = two_units(a=0.0, b=0.0, c=0.25)
    for points in ({}, {"points": 2}, {"points": 1}):
        assert sup_error(constant, 2.0, **points) == pytest.approx(4.25, rel=1e-6)
    model = torch.nn.Linear(2, 1, bias=False)  # |x + 2y + xy| is largest, 10, in the corner (2, 2)
    model.weight.data = torch.tensor([[1.0, 2.0]])
    assert sup_error(model, 2.0) == pytest.approx(10, abs=1e-5)


def test_without_attention_the_target_is_the_negative_product_on_the_square(monkeypatch):
    """With -|x + y| in place of the trained network, on [-2, 2]^2, new samples in each step."""
    losses = []

    def fit(model, loss, *, steps, **recipe):
        for parameter in model.parameters():
            parameter.data.zero_()
        model[0].weight.data = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
        model[2].weight.data = torch.tensor([[-1.0, -1.0]])  # -|x + y|
        losses.extend(loss(model, step).item() for step in range(100))
        assert steps == 17
        return {}

    monkeypatch.setattr(multiplication, "fit", fit)
    spec = multiplication.WithoutAttention(M=2.0, steps=17, seed=0)
    outcome = multiplication.train_without_attention(spec, Workspace())
    # E (xy - |x+y|)^2 = E x^2 y^2 - 2 E xy |x+y| + E (x+y)^2 = 1/9, 4/15, 2/3 times 16, 8, 4
    assert np.mean(losses) == pytest.approx(16 / 9 - 8 * 4 / 15 + 4 * 2 / 3, abs=0.03)
    assert len(set(losses)) == 100
    assert outcome.numbers["sup error"] == pytest.approx(4, rel=1e-6)  # at (2, -2): -0 + xy
