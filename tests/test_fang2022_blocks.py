"""Theorem 3.5's blocks and targets by hand: lifts, what slots hold, right or wrong, and readout."""

import flint
import numpy as np
import pytest
import torch

from repro.fang2022 import fewer_blocks as few
from repro.fang2022 import network, polynomials, powers
from repro.fang2022.model import Layout, keep_own, one_hot_maximum
from repro.fang2022.polynomials import Polynomial
from repro.numerics.exact import rational, rationals, to_float

PLANE = [["3/5", "4/5"], ["-3/5", "4/5"]]

# --- tokens --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [rationals, torch.tensor])
def test_all_slots_may_be_filled(kind):
    t, x, y = kind([1, 2]), kind([3, 4]), kind([5, 6])
    Z = Layout(2, 2).tokens(t, x, y)
    assert Z.tolist() == [[1, 2], [1, 0], [0, 1], [3, 4], [5, 6], [1, 1]]


def test_own_scores_are_kept_in_every_member_of_a_batch():
    alpha = np.arange(18).reshape(2, 3, 3).astype(object)
    kept = keep_own(alpha).tolist()
    assert kept == [[[0, 0, 0], [0, 4, 0], [0, 0, 8]], [[9, 0, 0], [0, 13, 0], [0, 0, 17]]]
    assert one_hot_maximum(alpha).tolist()[1] == [[0, 0, 11], [0, 0, 14], [0, 0, 17]]


# --- what slots hold -----------------------------------------------------------------------------


def test_slots_hold_what_the_wrong_winner_leaves():
    """t = 1/2, -1/2, lifts 0 and 1/8: slot 1 is -t; in block 2 the other token wins with 1/4."""
    t = rationals(["1/2", "-1/2"])
    expected = [["-1/2", "1/2"], ["-1/8", "-1/8"]]
    assert powers.stored(t, [0, rational("1/8")]).tolist() == rationals(expected).tolist()


LIFTS = {"too small": lambda q, B: [B / 9] * q, "printed": powers.printed, "least": powers.least}


@pytest.mark.parametrize("lifts", LIFTS.values(), ids=LIFTS)
@pytest.mark.parametrize("B", ["1/3", "2"])
def test_slots_hold_what_the_blocks_leave(lifts, B):
    """The literal blocks, for a batch of tokens, with lifts that serve and with others."""
    B, q = rational(B), 4
    t = rationals([[0, 1, -1], ["1/2", "-1/3", "-1"], ["1/7", "1/9", "1"]]) * B
    rows = Layout(3, q)
    Z = rows.tokens(t)
    for block in powers.power_blocks(3, q, lifts(q, B)):
        Z = block(Z)
    found = powers.stored(t, lifts(q, B))
    assert found.shape == (q, 3, 3)
    for s in range(1, q + 1):
        assert (found[s - 1] == Z[:, rows.slot(s)]).all()


def test_the_readout_has_the_signs_of_the_slots():
    """n = 2, q = 3: a token has 7 rows, slots in rows 3 to 5."""
    beta = rationals([[1, 2, 3], [4, 5, 6]])
    expected = [[0, 0, 0, -1, 2, -3, 0], [0, 0, 0, -4, 5, -6, 0]]
    assert powers.readout(beta).reshape(2, 7).tolist() == rationals(expected).tolist()


# --- targets -------------------------------------------------------------------------------------


def test_sparse_polynomials_count_their_variables_from_1():
    Q = polynomials._sparse(3, (7, {1: 2, 3: 1}), (-2, {2: 4}), (5, {}))
    assert {a: int(c) for a, c in Q.coefficients.items()} == {
        (2, 0, 1): 7,
        (0, 4, 0): -2,
        (0, 0, 0): 5,
    }


# --- the module ----------------------------------------------------------------------------------


def test_the_module_is_the_exact_model_rounded():
    Q = Polynomial(2, {(1, 1): 1, (1, 0): 3, (0, 0): -4})
    model = network.polynomial_transformer(Q, 2)
    exact = powers.construction(Q, 2, lifts=powers.roomy)
    literal = model.transformer()
    assert literal.beta.tolist() == to_float(exact.beta).tolist()
    assert literal.F.tolist() == to_float(exact.F).tolist()
    for ours, block in zip(literal.blocks, exact.blocks, strict=True):
        for name, weight in block.weights().items():
            assert ours.weights()[name].tolist() == to_float(weight).tolist()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_the_ball_has_room_for_the_rounding_of_a_norm_and_no_more(dtype):
    model = network.polynomial_transformer(Polynomial(1, {(1,): 1}), 1, dtype=dtype)
    eps = torch.finfo(dtype).eps
    model(torch.tensor([[1 + 4 * eps]], dtype=dtype))
    with pytest.raises(ValueError, match=r"Theorem 3\.5 holds for"):
        model(torch.tensor([[1 + 5 * eps]], dtype=dtype))


def test_one_point_outside_the_ball_is_enough():
    model = network.polynomial_transformer(Polynomial(1, {(1,): 1}), 1)
    with pytest.raises(ValueError, match=r"got \|\|x\|\| = 3; build the model with B >= 3"):
        model(torch.tensor([[0.5], [3.0], [-2.0]], dtype=torch.float64))


def test_one_coefficient_that_is_too_large_is_enough():
    Q = Polynomial(1, {(1,): 10**60, (2,): 1})
    with pytest.raises(ValueError, match=r"a coefficient of Lemma 3\.3 is too large"):
        network.polynomial_transformer(Q, 1, dtype=torch.float32)


def test_a_module_of_no_points_has_no_values():
    model = network.polynomial_transformer(Polynomial(2, {(1, 0): 1}), "1/2")
    assert model(torch.zeros(0, 2, dtype=torch.float64)).shape == (0,)
    with pytest.raises(ValueError, match="takes x of shape"):
        model(torch.zeros(3, dtype=torch.float64))


# --- fewer blocks --------------------------------------------------------------------------------


def test_the_scores_of_other_tokens_are_lowered_as_stated():
    """2 B^s; B^(2p) for t^p times t^p; (G + 1)^2 with G = B, then B^2 (B + 1)."""
    cases = [
        (few.single_blocks(2, 4, 3), [18, 54, 162]),
        (few.doubling_blocks(2, 8, 3), [9, 81, 6561]),
        (few.tripling_blocks(Layout(2, 14), 3, 2), [9, 169, (144 * 13 + 1) ** 2]),
    ]
    for blocks, c in cases:
        assert [block.W_Q[1, 1] for block in blocks] == c
        assert [block.W_Q[2, 2] for block in blocks] == c


def test_tripling_moves_each_function_once():
    """The k-th block moves 2^k rows to the 2^k slots behind them."""
    blocks = few.tripling_blocks(Layout(1, 6), 2, 1)
    places = [7 + 1, 0, 2, 3, 4, 5, 6, 7]  # 1, t, slots 1 to 6 of a token with 9 rows
    for k, block in enumerate(blocks, 1):
        moved = {(int(source), int(target)) for target, source in np.argwhere(block.W_V != 0)}
        assert moved == set(zip(places[: 2**k], places[2**k : 2 ** (k + 1)], strict=True))


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(("q", "L"), [(2, 1), (5, 2), (8, 3), (9, 3)])
def test_doubling_blocks_have_the_stated_number_of_weights(n, q, L):
    blocks = few.doubling_blocks(n, q, 2)
    assert sum(block.nonzeros() for block in blocks) == (3 * n + 2) * L + q - 1


@pytest.mark.parametrize("build", [few.doubling_transformer, few.tripling_transformer])
def test_linear_and_constant_polynomials_need_no_block(build):
    """d = 2: n_1 = 2 directions, and one slot that stays empty."""
    for coefficients in ({(1, 0): 3, (0, 0): 2}, {(0, 0): 2}):
        model = build(Polynomial(2, coefficients), 1)
        assert model.blocks == ()
        assert model.layout == Layout(2, 1)
        assert model(rationals([5, 1])) == Polynomial(2, coefficients)(rationals([5, 1]))


@pytest.mark.parametrize("exponent", [(1, -1), (-1, 1), (2, 1.0), (2, "0"), (0, 1, 0)], ids=str)
def test_one_bad_exponent_is_enough(exponent):
    with pytest.raises(ValueError, match="an exponent is 2 integers >= 0 here"):
        Polynomial(2, {(1, 1): 1, exponent: 1})


def test_coefficients_of_polynomials_have_a_column_for_each_degree():
    p = [flint.fmpq_poly(c) for c in ([1], [0, 0, 5], [0])]
    assert few.coefficients(p[:1]).tolist() == [[1]]
    assert few.coefficients(p).tolist() == [[1, 0, 0], [0, 0, 5], [0, 0, 0]]


def test_near_0_the_first_of_equal_scores_is_kept():
    p, less = flint.fmpq_poly([0, 1]), flint.fmpq_poly([0, -1])
    alpha = np.empty((2, 3), dtype=object)
    alpha[:] = [[p, p, less], [less, p, p]]
    assert few._largest_near_zero(alpha).tolist() == [[p, 0, 0], [0, p, 0]]


# --- shapes of what is trivial -------------------------------------------------------------------


def test_the_polynomial_0_and_monomials_of_degree_0_have_a_value_for_each_point():
    x = rationals([[1, 2], [3, 4], [5, 6]])
    assert Polynomial(2, {})(x).tolist() == [0, 0, 0]
    assert Polynomial(2, {(0, 0): 4})(torch.ones(3, 2)).tolist() == [4, 4, 4]
    assert polynomials.monomials(x, 0).tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("b", [7, 1, 0])
def test_the_weights_of_a_model_are_counted_over_all_its_parts(b):
    """x_1 x_2 + b with three directions: 5 entries of F, 2 (2n + 8) in blocks, 2 of beta, b."""
    Q = Polynomial(2, {(1, 1): 1, (0, 0): b})
    model = powers.construction(Q, 1, directions=rationals([[0, 1], *PLANE]))
    assert model.nonzeros() == 5 + 28 + 2 + (b != 0)
    assert powers.construction(Q, 1).nonzeros() == model.nonzeros()
