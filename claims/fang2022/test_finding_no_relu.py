"""Finding (sharpens fang2022, Lemma 3.1): the ReLU layer is not needed.

With W_1 = W_2 = 0 and b_2 = -2M^2 in the storage row, and all else as in the proof of Lemma 3.1,
the block stores +x_i y_i with 2n + 4 non-zero weights, instead of -x_i y_i with 2n + 8.
Proof. As in the lemma, the diagonal wins, since alpha_ii - alpha_ij = 2M^2 + x_i (y_i - y_j) >= 0,
and slot 3 receives x_i y_i + 2M^2. The ReLU layer of the lemma turns this a into -a, and adds 2M^2:
all it does is to change the sign. With W_2 = 0, z' = z-hat + b_2 holds x_i y_i.
With these blocks beta holds the beta_{k,s} of Lemma 3.3 themselves, as the proof of Theorem 3.5
prints: the sign (-1)^s that they otherwise need comes from the ReLU layer alone.

Checked: in rationals, for random samples, the whole output; in symbols; the weights counted; whole
models with the printed beta; in floating point the bound 4uM^2 of the lemma, whose proof needs no
change: xy + G is rounded as there, and taking G away is exact (Sterbenz).
Controls: M too small, the sign of b_2, b_2 omitted.

Not checked: that 2n + 4 is the least. It is not for n = 1, where G = 0 serves, with 3 weights.
"""

import pytest

from repro.bounds import rounding_error, theorem
from repro.fang2022 import fewer_blocks, inputs, multiplication, polynomials, ridge
from repro.fang2022 import model as models
from repro.numerics import exact, roundoff

SHAPES = [(1, 3), (2, 3), (3, 4), (6, 5)]
shapes = pytest.mark.parametrize(("n", "q"), SHAPES, ids=[f"n={n}-q={q}" for n, q in SHAPES])
ERROR = "largest error of the stored xy"


def block_for(n, q, M):
    """From slots 1 and 2 into slot 3, as in Lemma 3.1."""
    rows = models.Layout(n, q)
    make = fewer_blocks.product_block_without_relu
    return make(rows, rows.slot(1), rows.slot(2), rows.slot(3), 2 * M**2)


@pytest.mark.exact
def test_no_entry_is_wrong_for_any_rational_input(claim):
    def wrong(case):
        n, q, M, *numbers = case
        return multiplication.wrong_entries(block_for(n, q, M), *numbers, sign=1)

    examples, cases = claim.at_scale(smoke=60, laptop=300, paper=20000), inputs.factors()
    claim.for_all("wrong entries of Z′", cases, wrong, equation="z′ = ẑ + b₂", examples=examples)


@shapes
@pytest.mark.exact
def test_identity_in_symbols(n, q, claim):
    """With the winner known (token i itself) the block is a polynomial map: the stated one."""
    *gens, M = exact.symbols(*(f"{letter}{i}" for letter in "txy" for i in range(n)), "M")
    t, x, y = (exact.vector(gens[k * n : (k + 1) * n]) for k in range(3))
    known = {"attend": models.keep_own, "activate": models.only_unit(1)}
    wrong = multiplication.wrong_entries(block_for(n, q, M), t, x, y, sign=1, **known)
    claim.measured("wrong entries of Z′", wrong, equation="z′ = ẑ + b₂").equals(0)


@shapes
@pytest.mark.construct
def test_the_block_has_2n_plus_4_nonzero_weights(n, q, claim):
    import torch

    block, stated = block_for(n, q, 3), 2 * n + 4
    for kind, counted in [("integers", block), ("float32", block.to(torch.float32))]:
        found = claim.measured("weights ≠ 0", counted.nonzeros(), equation="2n + 4", weights=kind)
        found.equals(stated)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("M", [0.3, 1.0, 7.3, 1000.0], ids="M={}".format)
@pytest.mark.construct
def test_floating_point_error_within_the_bound_of_the_lemma(M, dtype, claim):
    import torch

    draws = claim.at_scale(smoke=5000, laptop=50_000, paper=500_000)
    factors = claim.rng("floating point").uniform(-M, M, (2, draws, 4))
    x, y = torch.tensor(factors, device=claim.device).to(getattr(torch, dtype))
    block = block_for(4, 3, roundoff.rounded(M, dtype))
    found = multiplication.floating_error(block, x, y, sign=1)
    u, rounded = roundoff.unit(dtype), roundoff.rounded(M, dtype)
    error = claim.measured(ERROR, found, equation="fl(xy + G) − G")
    why = "4uM²(1+2u), M as rounded, derived above multiplication.roundoff_bound"
    error.at_most(rounding_error(4 * u * rounded**2 * (1 + 2 * u), why))


@pytest.mark.exact
def test_half_a_step_is_lost_worked_out_by_hand(claim):
    """M = 3 in float32: G = 18 lies in [16, 32), where numbers are 2^-19 apart. Of xy = 2^-20, the
    half of that, nothing is left or too much by half; 3 2^-19 is stored as it is. b_2 is -18.
    """
    import torch

    block = block_for(2, 3, 3)
    claim.measured("b_2", block.b_2[models.Layout(2, 3).slot(3)], equation="b₂ = −2M²").equals(-18)
    x, y = torch.tensor([[2.0**-10, 3 * 2.0**-10], [2.0**-10, 2.0**-9]])
    stored = exact.rationals(multiplication.stored(block.to(x.dtype), x, y).tolist()) * 2**20
    found = claim.measured("stored xy", stored.tolist(), equation="xy = 1, 6", times="2^20")
    found.equals(exact.rationals([0, 6]).tolist())
    error = exact.rational(multiplication.floating_error(block, x, y, sign=1)) * 2**20
    claim.measured(ERROR, error, equation="half a step", times="2^20").equals(1)


@pytest.mark.parametrize(("d", "q"), [(1, 4), (2, 3)], ids=["d=1-q=4", "d=2-q=3"])
@pytest.mark.exact
def test_theorem_3_5_holds_with_the_printed_beta(d, q, claim):
    """q such blocks store t, t^2, ..., t^q: beta_{k,s} itself belongs to slot s, as printed."""
    rng, B, wrong = claim.rng(f"{d} {q}"), exact.rational("1/2"), 0
    F = ridge.directions(d, q)
    rows = models.Layout(len(F), q)
    factors = [rows.one, *(rows.slot(s) for s in range(1, q))]
    product = fewer_blocks.product_block_without_relu
    blocks = tuple(product(rows, 0, y, rows.slot(s), 2 * B**s) for s, y in enumerate(factors, 1))
    for _ in range(claim.at_scale(smoke=2, laptop=10, paper=100)):
        Q = polynomials.random_polynomial(d, q, rng)
        beta = rows.readout(slice(rows.slot(1), rows.one), ridge.coefficients(Q, q))
        model = models.Transformer(F, blocks, beta, Q.at_zero())
        x = exact.rationals(rng.integers(-6, 7, (4, d)).tolist()) / (6 * d) * B
        wrong += int((model(x) != Q(x)).sum())
    claim.measured("values unlike Q(x)", wrong, equation="Theorem 3.5, β as printed").equals(0)


@pytest.mark.parametrize("r", ["11/10", "2", "10"], ids="r={}".format)
def test_control_a_bound_that_is_too_small_lets_another_token_win(r, claim):
    """M/r in place of M: the error is max_j x_i (y_j - y_i) - 2(M/r)^2, here 2M^2 (1 - 1/r^2)."""
    M, r = 3, exact.rational(r)
    x, y = exact.rationals([[M, -M], [-M, M]])
    found = max(abs(multiplication.stored(block_for(2, 3, M / r), x, y) - x * y))
    error = claim.measured(ERROR, found, equation="without |x|, |y| ≤ M")
    error.equals(2 * M**2 * (1 - 1 / r**2))
    error.at_least(theorem(exact.rational("1/10") * M**2, "r ≥ 1.1 costs M²/10"))


@pytest.mark.parametrize(("factor", "share"), [(-1, 4), (0, 2)], ids=["sign of b_2", "no b_2"])
def test_control_another_b_2_leaves_the_lift_in_place(factor, share, claim):
    """b_2 = +2M^2 leaves 4M^2 too much in every token, b_2 = 0 leaves 2M^2."""
    M, block = 3, block_for(3, 3, 3)
    block.b_2[:] = factor * block.b_2
    x, y = exact.rationals([[1, -2, 3], [3, 2, -3]])
    error = min(abs(multiplication.stored(block, x, y) - x * y))
    least = theorem(share * M**2, "G + b₂ stays in the slot")
    claim.measured("smallest error over the tokens", error, equation="z′ = ẑ + b₂").at_least(least)
