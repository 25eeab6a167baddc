"""Lemma 3.1 (fang2022, p. 4; proof in Section 6): one block multiplies, without error.

For tokens z_i = [t_i, e_i, x_i, y_i, 0, ..., 0, 1] with |x_i|, |y_i| <= M there is one fixed
encoder block, with 2n + 8 non-zero weights, that puts -x_i y_i into the next slot of every token
and leaves everything else as it was.

The proof for all n, q >= 3, M and real x_i, y_i stands in repro/fang2022/multiplication.py.

Checked: the literal matrices of the proof. In rationals, for random samples, the whole output is
the stated one. In symbols, it is the stated polynomial on both branches of the ReLU, and the
diagonal wins by 2M^2 + x_i (y_i - y_j) >= 0. In floating point the error is within the derived
4 u M^2 and grows like M^2. The weights are counted.
Controls: M too small, softmax, one sign of W_2, one index of W^V, no attention at all (trained).

Not checked: nothing of the lemma. That 2n + 8 is not the least is a finding (no ReLU).

Edge case: at |x_i| = |y_i| = M two scores can tie. The proof asks for less than M, the lemma does
not; it holds if one index is kept at a tie.

Readings: z-hat_i for the printed z-hat_1, and k_i = W^K z_i for the printed W^Q
(repro/fang2022/model.py); one index is kept at a tie; q >= 3, since three slots are named.
"""

import numpy as np
import pytest

from repro.bounds import rounding_error, theorem
from repro.fang2022 import inputs, model, multiplication
from repro.numerics import exact, roundoff

SHAPES = [(1, 3), (2, 3), (3, 4), (6, 5)]
shapes = pytest.mark.parametrize(("n", "q"), SHAPES, ids=[f"n={n}-q={q}" for n, q in SHAPES])
ERROR = "largest error of the stored −xy"


@pytest.mark.exact
def test_no_entry_is_wrong_for_any_rational_input(claim):
    def wrong(case):
        n, q, M, *numbers = case
        return multiplication.wrong_entries(multiplication.multiplication_block(n, q, M), *numbers)

    examples, cases = claim.at_scale(smoke=100, laptop=1000, paper=20000), inputs.factors()
    claim.for_all("wrong entries of Z′", cases, wrong, equation="Lemma 3.1", examples=examples)


@shapes
@pytest.mark.exact
def test_identity_in_symbols_on_both_branches_of_the_relu(n, q, claim):
    """With the winner known (token i itself) the block is a polynomial map: the stated one."""
    *gens, M = exact.symbols(*(f"{letter}{i}" for letter in "txy" for i in range(n)), "M")
    t, x, y = (exact.vector(gens[k * n : (k + 1) * n]) for k in range(3))
    block, Z = multiplication.multiplication_block(n, q, M), model.Layout(n, q).tokens(t, x, y)
    for unit in (1, 2):
        known = {"attend": model.keep_own, "activate": model.only_unit(unit)}
        wrong = multiplication.wrong_entries(block, t, x, y, **known)
        claim.measured("wrong entries of Z′", wrong, equation="Lemma 3.1", active=unit).equals(0)
    alpha = (block.W_Q @ Z).mT @ (block.W_K @ Z)
    others = [(i, j) for i in range(n) for j in range(n) if i != j]
    wrong = sum(alpha[i, i] - alpha[i, j] != 2 * M**2 + x[i] * (y[i] - y[j]) for i, j in others)
    margin = "proof of Lemma 3.1: α_ii − α_ij = 2M² + x_i(y_i − y_j)"
    claim.measured("pairs (i, j) with another margin", wrong, equation=margin).equals(0)


@shapes
@pytest.mark.construct
def test_the_block_has_2n_plus_8_nonzero_weights(n, q, claim):
    block = multiplication.multiplication_block(n, q, 3)
    ours = {name: int((weight != 0).sum()) for name, weight in block.weights().items()}
    for name, value in ours.items():
        claim.record("non-zero entries", value, weight=name)
    total = sum(ours.values())
    claim.measured("non-zero weights", total, equation="Lemma 3.1, last line").equals(2 * n + 8)


def softmax_of(alpha):
    return alpha.softmax(-1)


def factors(claim, dtype, spread, draws):
    """Random |x|, |y| <= spread in the type named `dtype`, n = 4 tokens."""
    import torch

    drawn = claim.rng("floating point").uniform(-spread, spread, (2, draws, 4))
    return torch.tensor(drawn, device=claim.device).to(getattr(torch, dtype))


def error_and_floor(claim, M, dtype, spread, draws):
    """The largest error, and what it must be at least for some of these factors."""
    x, y = factors(claim, dtype, spread, draws)
    block = multiplication.multiplication_block(4, 3, roundoff.rounded(M, dtype))
    error = claim.measured(ERROR, multiplication.floating_error(block, x, y), equation="Lemma 3.1")
    why = "a ≥ 2M² where xy > 0: multiples of its spacing, see roundoff_floor"
    return error, rounding_error(multiplication.roundoff_floor(M, x[:100], y[:100]), why)


@pytest.mark.exact
def test_the_bound_and_the_floor_at_points_worked_out_by_hand(claim):
    """4uM²(1+2u): M = 3 in float32, u = 2^-24, gives 36 (2^23 + 1) / 2^47; M = 1/2 in bfloat16,
    u = 2^-8, gives (1 + 2^-7) / 2^8 = 129/2^15. M = 3: numbers in [16, 32) are 2^-19 apart in
    float32, so of xy = 2^-20 the half of a step is left: of 2^-10 2^-10. Of 3 2^-19 nothing is.
    """
    import torch

    bounds = {("float32", 3): (36 * (2**23 + 1), 47), ("bfloat16", 0.5): (129, 15)}
    for (dtype, M), (top, e) in bounds.items():
        found = exact.rational(multiplication.roundoff_bound(M, dtype)) * 2**e
        at = {"M": M, "dtype": dtype, "times": f"2^{e}"}
        claim.measured("bound on the error", found, equation="4uM²(1+2u)", **at).equals(top)
    x = torch.tensor([[-(2.0**-10), 3 * 2.0**-10]])
    y = torch.tensor([[-(2.0**-10), 2.0**-9]])
    floor = multiplication.roundoff_floor(3, x, y)
    at = {"equation": "half a step", "M": 3, "times": "2^20"}
    claim.measured("least error of these factors", round(2**20 * floor), **at).equals(1)
    block = multiplication.multiplication_block(2, 3, 3)
    error = exact.rational(multiplication.floating_error(block, x, y))
    claim.measured(ERROR, 2**20 * error, **at).equals(1)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("M", [0.3, 1.0, 1.5, 7.3, 1000.0], ids="M={}".format)
@pytest.mark.construct
def test_floating_point_error_within_the_derived_bound(M, dtype, claim):
    draws = claim.at_scale(smoke=5000, laptop=50_000, paper=500_000)
    error, floor = error_and_floor(claim, M, dtype, spread=M, draws=draws)
    bound = multiplication.roundoff_bound(M, dtype)
    error.at_most(rounding_error(bound, "4uM²(1+2u), derived above roundoff_bound"))
    error.at_least(floor)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("M", [1.0, 27.0, 729.0], ids="M={}".format)
@pytest.mark.construct
def test_rate_the_error_grows_like_M_squared(M, dtype, claim):
    """The same x, y in [-1, 1], a larger M: digits are lost, for 2M^2 is added and taken away.

    Half a step at 2M^2 is between uM^2 and 2uM^2: M^1.5 or M^2.5 would be off by 27 at M = 729.
    """
    error, floor = error_and_floor(claim, M, dtype, spread=1.0, draws=1000)
    u = roundoff.unit(dtype)
    error.at_least(floor)
    error.at_most(rounding_error(4 * u * M**2 * (1 + 2 * u), "4uM²(1+2u)"))


def stored_if_every_maximum_is_kept(M, x, y):
    alpha = [x[0] * y[j] + 2 * M**2 * (j == 0) for j in range(2)]  # scores of token 1: a tie
    kept = sum(a for a in alpha if a == max(alpha))
    return 2 * M**2 - kept, -x[0] * y[0]


def test_reading_that_keeps_every_maximum_fails_at_a_tie(claim):
    """Section 2.2 leaves m-hat open at a tie, and the lemma allows |x_i| = M, where ties happen."""
    at = {"M": 1, "x": [1, 1], "y": [-1, 1]}
    block = multiplication.multiplication_block(2, 3, 1)
    x, y = exact.rationals([at["x"], at["y"]])

    def keep_all(alpha):
        return np.where(alpha == alpha.max(-1, keepdims=True), alpha, 0 * alpha)

    claim.counterexample(
        "the lemma, if m-hat keeps every largest value",
        input={"n": 2, "q": 3, **at, "alpha_1": [1, 1]},
        measured=multiplication.stored(block, x, y, attend=keep_all)[0],
        expected=1,
        equation="Section 2.2, m-hat",
        printed=False,
        program=stored_if_every_maximum_is_kept,
        **at,
    )
    one = multiplication.stored(block, x, y)[0]
    claim.measured("stored if one index is kept", one, equation="Lemma 3.1").equals(1)


@pytest.mark.parametrize("r", ["11/10", "2", "10"], ids="r={}".format)
def test_control_a_bound_that_is_too_small_lets_another_token_win(r, claim):
    """M/r in place of M: the error is max_j x_i(y_j - y_i) - 2(M/r)^2, here 2M^2 (1 - 1/r^2)."""
    M, r = 3, exact.rational(r)
    x, y = exact.rationals([[M, -M], [-M, M]])
    block = multiplication.multiplication_block(2, 3, M / r)
    found = max(abs(multiplication.stored(block, x, y) + x * y))
    error = claim.measured(ERROR, found, equation="Lemma 3.1 without |x|, |y| ≤ M")
    error.equals(2 * M**2 * (1 - 1 / r**2))
    error.at_least(theorem(exact.rational("1/10") * M**2, "r ≥ 1.1 costs M²/10"))


def test_control_softmax_makes_the_block_constant(claim):
    """Softmax for the one-hot maximum: its weights sum to 1, so the block stores 2M^2 - 1."""
    import torch

    M = 2.0
    x, y = torch.tensor([[M, M, 1.0, 0.0], [M, -M, 0.5, M]], dtype=torch.float64)
    block = multiplication.multiplication_block(4, 3, M).to(torch.float64)
    slot = multiplication.stored(block, x, y, attend=softmax_of)
    off, error = (slot - (2 * M**2 - 1)).abs().max(), (slot + x * y).abs().max()
    # Whatever exp gives, e_j / S has S = sum e_j to 3u and one or two roundings: the weights sum to
    # 1 within 5u; adding them in W^V Z m-hat costs 3u; G - a is rounded once, u (2M^2 - 1) at most.
    allowed = (8 + 2 * M**2) * roundoff.unit("float64")
    claim.measured("distance from 2M² − 1", off, equation="Σ softmax = 1").at_most(
        rounding_error(allowed, "8u for the sum of 4 weights and u 2M² for 2M² − 1, derived above")
    )
    least = theorem(M**2, "no constant is nearer than M² to both M² and −M²")
    claim.measured(ERROR, error, equation="Lemma 3.1 with softmax").at_least(least)


@pytest.mark.parametrize("weight", ["W_2", "W_V"], ids=["sign of W_2", "index of W_V"])
def test_control_one_changed_weight_breaks_every_product(weight, claim):
    """-2 becomes 2 in W_2: 4xy + 8M^2 too much. W^V reads slot 3, not the constant: 2M^2 + xy."""
    M, rows = 3, model.Layout(3, 3)
    block = multiplication.multiplication_block(3, 3, M)
    if weight == "W_2":
        least, block.W_2[rows.slot(3), 0] = 4 * M**2, 2
    else:
        least, block.W_V[rows.slot(3)] = M**2, np.roll(block.W_V[rows.slot(3)], -1)
    x, y = exact.rationals([[1, -2, 3], [3, 2, -3]])
    error = min(abs(multiplication.stored(block, x, y) + x * y))
    claim.measured("smallest error over the tokens", error, equation="proof of Lemma 3.1").at_least(
        theorem(least, "4xy + 8M² for W_2 and 2M² + xy for W^V, where |xy| ≤ M²")
    )


def test_control_without_attention_a_trained_relu_layer_cannot_multiply(claim):
    """The attention layer is omitted, its two ReLU units are trained: the floor is M^2/18."""
    M = 1.0
    steps = claim.at_scale(smoke=1000, laptop=4000, paper=4000)
    spec = multiplication.WithoutAttention(M=M, steps=steps, seed=claim.seed() % 2**31)
    outcome = claim.train(spec, multiplication.train_without_attention).outcome
    broken = "Lemma 3.1 without attention"
    most = theorem(M**4 / 9, "E (xy)² = M⁴/9, the least of an affine map: the ReLUs have learnt")
    claim.measured("mean square error", outcome.curves["loss"][-1], equation=broken).at_most(most)
    least = theorem(M**2 / 18, "three linear pieces miss s² by M²/18")
    claim.measured(ERROR, outcome.numbers["sup error"], equation=broken).at_least(least)
