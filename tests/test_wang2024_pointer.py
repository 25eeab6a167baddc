"""Following a pointer in one layer: what attention can, and what it cannot without dot products."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from repro.numerics.barron import value
from repro.numerics.exact import rationals, vector
from repro.wang2024 import adaptive, budgets, exponentials, moving, targets
from repro.wang2024.model import Attention
from repro.wang2024.pointer import (
    PRINTED,
    SHIFTED,
    Pointer,
    adversary,
    any_pointer,
    attention,
    certificate,
    chooser,
    columns,
    embedded,
    errors,
    least_mean_square,
    lower_bound,
    shifted,
)

q = flint.fmpq
BINARY = Pointer({-1: 2, 1: 1})


def test_pointers_by_hand():
    x = np.array([[-1, 0, 1, -1], [-1, 0, 1, 0], [-1, 0, 1, 1]])
    assert PRINTED(x).tolist() == [-1, 1, 0]
    assert SHIFTED(x).tolist() == [1, 0, -1]
    assert (PRINTED.T, SHIFTED.T, BINARY.T) == (2, 3, 2)
    x = SHIFTED.windows(5)
    assert (SHIFTED(x) == targets.FOLLOW(x[..., None].astype(float))[:, -1]).all()


def test_the_layer_follows_in_rationals():
    heads = moving.interpolated("lin", 2, "1/50")
    x = PRINTED.windows(4)
    assert max(errors(attention(heads, 1), PRINTED, x)) <= q(1, 50)
    assert max(errors(attention(heads, 1, dot_product=False), PRINTED, x)) > 1
    heads = moving.interpolated("lin", 3, "1/50")
    assert max(errors(attention(heads, 2), SHIFTED, SHIFTED.windows(4)[::5])) <= q(1, 50)


def test_the_layer_is_the_same_in_float64():
    heads = moving.interpolated("lin", 2, "1/50")
    exact = attention(heads, 1)
    x = PRINTED.windows(3)
    floats = errors(exact.to(torch.float64), PRINTED, x)
    apart = floats - np.array([float(e.p) / float(e.q) for e in errors(exact, PRINTED, x)])
    assert np.abs(apart).max() <= heads.rounding(5)


def test_shifts_and_layers_have_the_shapes_of_the_proof():
    layer = attention(moving.interpolated("lin", 3, "1/2"), 2)
    assert isinstance(layer, Attention)
    assert not layer.normalised
    assert shifted(2).g == SHIFTED.g
    phi = exponentials.accurate(3, 4, "1/2")
    assert layer.heads[0].W_V.tolist() == [[phi.moved()[0], 0], [0, 0]]
    one = any_pointer(Pointer({0: 1}), "log", [2], {0: [3]}).heads[0]
    assert one.W_V.tolist() == [[3, 0], [0, 0]]


def test_any_pointer_has_the_coefficients_asked_for():
    """The weight of x_{t-s} is sum_k c_k(x_t) s^-p_k: every token has its own."""
    pointer = Pointer({-1: 1, 0: 2, 2: 1})
    wanted = {-1: [3, 5], 0: [-1, 0], 2: [7, "1/2"]}
    layer = any_pointer(pointer, "log", [2, 3], wanted)
    assert len(layer.heads) == 6
    for present, (first, second) in wanted.items():
        x = rationals([[0, 1, present]])
        out = layer(embedded(x), queries=1)[0, 0, 0]
        assert out == rationals(first) + rationals(second)  # x_{t-1} = 1, 1^-p = 1
        far = layer(embedded(rationals([[1, 0, present]])), queries=1)[0, 0, 0]
        assert far == rationals(first) / 4 + rationals(second) / 8


def test_the_adversary_adds_up_every_error():
    for difference, total in (([0.5, -0.25, 0.125, -1.0], 1.875), ([-0.5, 0.25, -1.0], 1.75)):
        for present in (-1, 1):
            x = adversary(np.array(difference), present)
            assert x[-1] == present
            assert abs(np.array(difference) @ x[::-1]) == total
    difference = np.array([0.5, -0.25, 0.125, -1.0])
    assert abs(difference @ adversary(difference, 0)[::-1]) == 1.375


@pytest.mark.parametrize("pointer", [PRINTED, SHIFTED, BINARY, Pointer({-1: 4, 1: 1, 2: 2})])
def test_the_certificate_proves_half_the_width_of_the_tokens(pointer):
    x, weights = certificate(pointer, 7)
    half = q(max(pointer.tokens) - min(pointer.tokens)) / 2
    for present in ("unseen", "affine", "any function"):
        for scale in (1, -3):
            assert lower_bound(scale * weights, columns(pointer, x, present), pointer(x)) == half
    assert (len(x), sum(map(abs, weights), q(0))) == (4, 1)


def test_columns_and_what_is_no_certificate():
    x = np.array([[5, 4, -1]])
    assert columns(SHIFTED, x, "unseen").tolist() == [[4, 5, 1]]
    assert columns(SHIFTED, x, "affine").tolist() == [[4, 5, 1, -1]]
    assert columns(SHIFTED, x, "any function").tolist() == [[4, 5, 1, 0, 0]]
    x, _ = certificate(SHIFTED, 6)
    with pytest.raises(ValueError, match="annihilate every column"):
        lower_bound(vector([q(1)] * 4), columns(SHIFTED, x, "affine"), SHIFTED(x))


def test_least_mean_squares_by_hand():
    """rho_s = P(g = s): E y^2 - sum_s P(g = s)^2 E x^2, E y^2 = E x^2 = 2/3 or 1."""
    assert least_mean_square(SHIFTED, 5, "any function") == q(2, 3) * (1 - 3 * q(1, 9))
    assert least_mean_square(BINARY, 4, "unseen") == 1 - 2 * q(1, 4)
    # g(-1) = 0: h(-1) = -1 leaves nothing there; two thirds of the tokens have 2/3, less 2 (1/9) 2/3
    assert least_mean_square(PRINTED, 4, "any function") == q(2, 3) * q(2, 3) - 2 * q(1, 9) * q(
        2, 3
    )


@pytest.mark.parametrize("pointer", [SHIFTED, BINARY, Pointer({-2: 1, 0: 3, 1: 3, 3: 2})])
def test_the_chooser_chooses(pointer):
    sixths = np.random.default_rng(0).integers(-6, 7, (50, pointer.T)).tolist()
    for v, z in itertools.product(pointer.tokens, rationals(sixths) / 6):
        assert value(chooser(pointer), np.append(rationals([v]), z)) == z[pointer.g[v] - 1]


def test_depth_by_hand():
    a = [1, 2]
    assert budgets.complexity([a], 1) == 3**4
    assert budgets.complexity([[x] for x in a], 1) == 1 + 2**4
    assert budgets.complexity([[1, 2], [3]], 2) == 3**6 + 3**6
    assert budgets.ratio(a, 1) == q(17, 81)
    assert budgets.printed_ratio([1, 4]) == q(17, 25)
    assert float(budgets.cost("lin", 100)) == pytest.approx(2.718281828459045, rel=1e-15)
    assert float(budgets.cost("log", 10)) == pytest.approx(10**1.01, rel=1e-14)
    assert budgets.root(Fraction(1, 16), 2).overlaps(flint.arb(0.5))
    a = [math.exp(T / 100) for T in (1, 40, 90)]
    stated = math.sqrt(a[0] ** 6 + (a[1] + a[2]) ** 6) / 5**2
    assert float(budgets.extraction("lin", [[1], [40, 90]], 5, 2)) == pytest.approx(
        stated, rel=1e-14
    )
    stated = (3**1.01 + 4**1.01) ** 2 / 7
    assert float(budgets.extraction("log", [[3, 4]], 7, 1)) == pytest.approx(stated, rel=1e-14)
    target = targets.TWO_POINTERS
    heads = [moving.interpolated("lin", T, "1/2") for T in target.distances]
    deep = adaptive.transformer(target, heads, adaptive.one_by_one(target))
    assert (budgets.heads(deep), budgets.widths(deep)) == ([4, 3], [2, 3])
