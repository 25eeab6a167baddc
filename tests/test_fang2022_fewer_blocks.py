"""Findings of our own: the blocks of fewer_blocks.py, and the steps of their proofs."""

from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from repro.fang2022 import fewer_blocks as few
from repro.fang2022.inputs import random_block
from repro.fang2022.model import Layout
from repro.fang2022.polynomials import Polynomial
from repro.fang2022.powers import tokens_after
from repro.numerics.exact import rational, rationals

HALF = flint.fmpq(1, 2)


@pytest.mark.parametrize("h", [0, 2, -3])
def test_every_move_is_multiplied_by_the_score_and_the_rest_stays(h):
    rows = Layout(3, 4)
    t, x = rationals([5, -2, 3]), rationals([1, 4, -6])
    Z = rows.tokens(t, x)
    moves = [(rows.one, rows.slot(2)), (0, rows.slot(3)), (rows.slot(1), rows.slot(4))]
    out = few.products_block(rows, 0, rows.slot(1), moves, 1000, h)(Z)
    score = (t + h) * x
    assert (out[: rows.slot(2)] == Z[: rows.slot(2)]).all()
    assert (out[rows.one] == 1).all()
    assert (out[rows.slot(2) : rows.one] == np.stack([score, score * t, score * x])).all()


def test_the_weights_of_a_products_block_are_counted():
    rows = Layout(4, 3)
    assert few.products_block(rows, 0, 0, [(0, rows.slot(1))], 2).nonzeros() == 3 * 4 + 2 + 1
    assert few.products_block(rows, 0, 0, [(0, rows.slot(1))], 2, 1).nonzeros() == 3 * 4 + 2 + 2


@pytest.mark.parametrize("make", [few.doubling_blocks, few.single_blocks])
@pytest.mark.parametrize("q", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("B", ["1/10", "1", "5"])
def test_the_powers_stand_in_their_rows(make, q, B):
    B, rows = rational(B), Layout(5, q)
    t = rationals([-1, 1, 0, HALF, -HALF]) * B
    Z = tokens_after(make(5, q, B), rows, t)
    for s, row in enumerate(few.power_rows(rows)):
        assert (Z[row] == t**s).all()
    assert len(make(5, q, B)) == (q - 1 if make is few.single_blocks else q.bit_length() - 1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("q", [1, 2, 15])
def test_the_round_off_bound_is_the_formula(q, dtype):
    u = Fraction(torch.finfo(dtype).eps) / 2
    expected = float((1 + u) ** (q - 1) - 1)
    assert few.roundoff_bound(q, dtype) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("l", [0, 1, 2, 3])
def test_tripling_blocks_store_the_functions_held(l):
    rows = Layout(4, max(1, 2 ** (l + 1) - 2))
    t = rationals([2, -2, HALF, 0])
    Z = tokens_after(few.tripling_blocks(rows, l, 2), rows, t)
    places, held = few.held_rows(rows, l), few.held_functions(l)
    assert len(places) == len(set(places)) == len(held) == 2 ** (l + 1)
    for row, f in zip(places, held, strict=True):
        assert Z[row].tolist() == [f(value) for value in t]


def test_tripling_moves_each_function_once():
    """The k-th block moves 2^k rows to the 2^k slots behind them."""
    blocks = few.tripling_blocks(Layout(1, 6), 2, 1)
    places = [7 + 1, 0, 2, 3, 4, 5, 6, 7]  # 1, t, slots 1 to 6 of a token with 9 rows
    for k, block in enumerate(blocks, 1):
        moved = {(int(source), int(target)) for target, source in np.argwhere(block.W_V != 0)}
        assert moved == set(zip(places[: 2**k], places[2**k : 2 ** (k + 1)], strict=True))


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_the_last_function_has_positive_coefficients_from_2_to_the_k_to_3_to_the_k(k):
    G = few.held_functions(k)[-1]
    assert G.degree() == 3**k
    assert [s for s, c in enumerate(G.coeffs()) if c != 0] == list(range(2**k, 3**k + 1))
    assert all(c >= 0 for c in G.coeffs())


@pytest.mark.parametrize(("l", "tokens"), [(0, 1), (1, 1), (2, 2), (3, 3), (4, 4)])
def test_few_lengths_span_all_polynomials(l, tokens):
    r = few.lengths(l)
    assert len(r) == len(set(r)) == tokens
    assert all(0 < abs(length) <= 1 for length in r)


@pytest.mark.parametrize("build", [few.doubling_transformer, few.tripling_transformer])
def test_linear_and_constant_polynomials_need_no_block(build):
    """d = 2: n_1 = 2 directions, and one slot that stays empty."""
    for coefficients in ({(1, 0): 3, (0, 0): 2}, {(0, 0): 2}):
        model = build(Polynomial(2, coefficients), 1)
        assert model.blocks == ()
        assert model.layout == Layout(2, 1)
        assert model(rationals([5, 1])) == Polynomial(2, coefficients)(rationals([5, 1]))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_near_0_a_model_with_any_weights_is_its_polynomials(n, seed):
    """Integer weights: a coefficient that is not 0 is at least 1, all are far below 2^500."""
    rows, lengths = Layout(n, 3), [1, -2, 3][:n]
    rng = np.random.default_rng(seed)
    blocks = [random_block(rng, n, 3), random_block(rng, n, 3)]
    one, *polynomials = few.functions(blocks, 3, lengths)
    assert one == 1
    assert max(abs(c) for p in polynomials for c in p.coeffs()) < 2**100
    x = flint.fmpq(1, 2**500)
    Z = tokens_after(blocks, rows, rationals(lengths) * x)
    assert Z.ravel().tolist() == [p(x) for p in polynomials]


def test_polynomials_near_0_by_hand():
    """t - 9 t^2 wins against 0 and t - 10 t^2, and passes the ReLU; -t + 9 t^2 does not."""
    p = [flint.fmpq_poly(c) for c in ([0, 1, -10], [0], [0, 1, -9], [0, -1, 9])]
    alpha = np.empty((1, 4), dtype=object)
    alpha[0] = p
    assert few._largest_near_zero(alpha)[0].tolist() == [0, 0, p[2], 0]
    assert few._relu_near_zero(alpha)[0].tolist() == [p[0], 0, p[2], 0]
    p, less = flint.fmpq_poly([0, 1]), flint.fmpq_poly([0, -1])
    alpha = np.empty((2, 3), dtype=object)
    alpha[:] = [[p, p, less], [less, p, p]]
    assert few._largest_near_zero(alpha).tolist() == [[p, 0, 0], [0, p, 0]]


def test_coefficients_and_spans_by_hand():
    p = [flint.fmpq_poly(c) for c in ([1], [0, 0, 5], [0])]
    assert few.coefficients(p[:1]).tolist() == [[1]]
    assert few.coefficients(p).tolist() == [[1, 0, 0], [0, 0, 5], [0, 0, 0]]
    one, x = flint.fmpq_poly([1]), flint.fmpq_poly([0, 1])
    tiny = flint.fmpq(1, 10**300)
    assert few.dimension([one, x, one + x, 0 * x]) == 2
    assert few.dimension([one, one + tiny * x]) == 2
    assert few.dimension([0 * x]) == 0
