"""Finding (sharpens fang2022, Lemma 3.1): the ReLU layer is not needed.

With W_1 = W_2 = 0 and b_2 = -2M^2 in the storage row, and all else as in the proof of Lemma 3.1,
the block stores +x_i y_i with 2n + 4 non-zero weights, instead of -x_i y_i with 2n + 8.
Proof. As in the lemma, the diagonal wins, since alpha_ii - alpha_ij = 2M^2 + x_i (y_i - y_j) >= 0,
and slot 3 receives x_i y_i + 2M^2. The ReLU layer of the lemma turns this a into -a, and adds 2M^2:
all it does is to change the sign. With W_2 = 0, z' = z-hat + b_2 holds x_i y_i.
So Theorem 3.5 holds with the beta_{k,s} that its proof prints: its sign (-1)^s, which they lack,
comes from the ReLU layer alone.

Checked: in rationals, for all cases that a search finds to try, the whole output; in symbols; the
weights counted; in floating point the bound 4uM^2 of the lemma, whose proof needs no change: xy + G
is rounded as there, and taking G away is exact (Sterbenz). Whole models with the printed beta.
Controls: M too small, the sign of b_2, b_2 left out.

Not checked: that 2n + 4 is the least. It is not for n = 1, where G = 0 serves, with 3 weights.
"""

import numpy as np
import pytest

from repro.bounds import chosen, rounding_error, theorem
from repro.fang2022 import fewer_blocks, inputs, multiplication, polynomials, ridge
from repro.fang2022 import model as model_
from repro.numerics import exact, roundoff

SHAPES = [(1, 3), (2, 3), (3, 4), (6, 5)]
shapes = pytest.mark.parametrize(("n", "q"), SHAPES, ids=[f"n={n}-q={q}" for n, q in SHAPES])
ERROR = "largest error of the stored xy"


def block_for(n, q, M):
    """From slots 1 and 2 into slot 3, as in Lemma 3.1."""
    rows = model_.Layout(n, q)
    make = fewer_blocks.product_block_without_relu
    return make(rows, rows.slot(1), rows.slot(2), rows.slot(3), 2 * M**2)


def wrong_entries(Z, t, x, y):
    """Entries of Z' unlike z'_i = [t_i, e_i, x_i, y_i, x_i y_i, 0, ..., 0, 1]."""
    rows, n = Z.shape
    unit = [[int(i == j) for j in range(n)] for i in range(n)]
    product = [a * b for a, b in zip(x, y, strict=True)]
    stated = [t, *unit, x, y, product, *[[0] * n] * (rows - n - 5), [1] * n]
    return sum(bool(Z[r, i] != stated[r][i]) for r in range(rows) for i in range(n))


@pytest.mark.exact
def test_no_entry_is_wrong_for_any_rational_input(claim):
    def wrong(case):
        n, q, M, t, x, y = case
        Z = model_.Layout(n, q).tokens(t, x, y)
        return wrong_entries(block_for(n, q, M)(Z), t, x, y)

    examples = claim.at_scale(smoke=60, laptop=300, paper=20000)
    cases = inputs.factors()
    claim.for_all("wrong entries of Z′", cases, wrong, equation="z′ = ẑ + b₂", examples=examples)


@shapes
@pytest.mark.exact
def test_identity_in_symbols(n, q, claim):
    """With the winner known (token i itself) the block is a polynomial map: the stated one."""
    *gens, M = exact.symbols(*(f"{letter}{i}" for letter in "txy" for i in range(n)), "M")
    t, x, y = (exact.vector(gens[k * n : (k + 1) * n]) for k in range(3))
    Z = model_.Layout(n, q).tokens(t, x, y)
    Z = block_for(n, q, M)(Z, model_.keep_own, model_.only_unit(1))
    claim.measured("wrong polynomials", wrong_entries(Z, t, x, y), equation="z′ = ẑ + b₂").equals(0)


@shapes
@pytest.mark.construct
def test_the_block_has_2n_plus_4_nonzero_weights(n, q, claim):
    import torch

    block = block_for(n, q, 3)
    printed = multiplication.multiplication_block(n, q, 3).nonzeros()
    for kind, counted in [("integers", block), ("float32", block.to(torch.float32))]:
        claim.measured("non-zero weights", counted.nonzeros(), equation="2n + 4", kind=kind).equals(
            2 * n + 4
        )
    claim.cell(f"n = {n}", "non-zero weights", paper=2 * n + 8, ours=block.nonzeros())
    claim.measured("weights saved", printed - block.nonzeros(), equation="W₁ and W₂").equals(4)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("M", [0.3, 1.0, 7.3, 1000.0], ids="M={}".format)
@pytest.mark.construct
def test_floating_point_error_within_the_bound_of_the_lemma(M, dtype, claim):
    import torch

    draws = claim.at_scale(smoke=5000, laptop=50_000, paper=500_000)
    factors = claim.rng("floating point").uniform(-M, M, (2, draws, 4))
    x, y = torch.tensor(factors, device=claim.device).to(getattr(torch, dtype))
    block = block_for(4, 3, roundoff.rounded(M, dtype)).to(x.dtype, claim.device)
    stored = block(model_.Layout(4, 3).tokens(0 * x, x, y))[..., 7, :].double()
    high, low = roundoff.two_product(x.double(), y.double())  # xy = high + low, exactly
    error, bound = (
        ((stored - high) - low).abs().max(),
        multiplication.roundoff_bound(M, dtype),
    )
    claim.measured(ERROR, error, equation="fl(xy + G) − G").at_most(
        rounding_error(bound, "4uM²(1+2u), derived above multiplication.roundoff_bound")
    )
    claim.measured(ERROR, error, equation="the bound is tight").at_least(
        chosen(
            bound / 4, "half an ulp of a ≥ 2M² exceeds uM²; thousands of seeded draws reach that"
        )
    )


@pytest.mark.parametrize(("d", "q"), [(1, 4), (2, 3)], ids=["d=1-q=4", "d=2-q=3"])
@pytest.mark.exact
def test_theorem_3_5_holds_with_the_printed_beta(d, q, claim):
    """q such blocks store t, t^2, ..., t^q: beta_{k,s} itself belongs to slot s, as printed."""
    rng, B, wrong = claim.rng(f"{d} {q}"), exact.rational("1/2"), 0
    F = ridge.directions(d, q)
    rows = model_.Layout(len(F), q)
    factors = [rows.one, *(rows.slot(s) for s in range(1, q))]
    product = fewer_blocks.product_block_without_relu
    blocks = tuple(product(rows, 0, y, rows.slot(s), 2 * B**s) for s, y in enumerate(factors, 1))
    for _ in range(claim.at_scale(smoke=2, laptop=10, paper=100)):
        Q = polynomials.random_polynomial(d, q, rng)
        places = 0 * exact.rationals(np.ones((rows.n, rows.size), dtype=int))
        places[:, rows.slot(1) : rows.one] = ridge.coefficients(Q, q)
        model = model_.Transformer(F, blocks, places.ravel(), Q.at_zero())
        x = exact.rationals(rng.integers(-6, 7, (4, d)).tolist()) / (6 * d) * B
        wrong += int((model(x) != Q(x)).sum())
    claim.measured(
        "values unlike Q(x)", wrong, equation="Theorem 3.5, β_(k,s) without a sign"
    ).equals(0)


def error_of(block, x, y):
    """How far what the block stores is from xy, in rationals, n = len(x) tokens, q = 3."""
    t, x, y = (exact.rationals(v) for v in ([0] * len(x), x, y))
    return abs(block(model_.Layout(len(x), 3).tokens(t, x, y))[len(x) + 3] - x * y)


@pytest.mark.parametrize("r", ["11/10", "2", "10"], ids="r={}".format)
def test_control_a_bound_that_is_too_small_lets_another_token_win(r, claim):
    """M/r in place of M: the error is max_j x_i (y_j - y_i) - 2(M/r)^2, here 2M^2 (1 - 1/r^2)."""
    M, r = 3, exact.rational(r)
    error = max(error_of(block_for(2, 3, M / r), [M, -M], [-M, M]))
    broken, tenth = "without |x|, |y| ≤ M", exact.rational("1/10") * M**2
    claim.measured(ERROR, error, equation=broken).equals(2 * M**2 * (1 - 1 / r**2))
    claim.measured(ERROR, error, equation=broken).at_least(theorem(tenth, "r ≥ 1.1 costs M²/10"))


@pytest.mark.parametrize(("factor", "share"), [(-1, 4), (0, 2)], ids=["sign of b_2", "no b_2"])
def test_control_another_b_2_leaves_the_lift_in_place(factor, share, claim):
    """b_2 = +2M^2 leaves 4M^2 too much in every token, b_2 = 0 leaves 2M^2."""
    M, block = 3, block_for(3, 3, 3)
    block.b_2[:] = factor * block.b_2
    error = min(error_of(block, [1, -2, 3], [3, 2, -3]))
    claim.measured("smallest error over the tokens", error, equation="b₂ changed").at_least(
        theorem(share * M**2, "G − b₂ stays")
    )
