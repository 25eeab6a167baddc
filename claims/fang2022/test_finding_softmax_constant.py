"""Finding (about fang2022, Section 2.2): with softmax the block would store a constant.

The paper replaces softmax by the one-hot maximum, which keeps the VALUE of the largest score. It
must: with weights that sum to 1, softmax at any temperature or any other normalised attention, the
block of Lemma 3.1 stores 2M^2 - 1, whatever the data are.
Proof. W^V z_j is 1 in slot 3 for every j, so slot 3 receives sum_j w_ij = 1, and the ReLU layer
makes -1 + 2M^2 of it. The scores, where alone the data stand, have no influence.
Consequence. After the q blocks of Theorem 3.5 slot i of every token holds 2M_i^2 - 1, so whatever
beta and b are, the model is an affine function of x. Hence |f(-B) - 2f(0) + f(B)| = 0 for it, while
x^2 has 2B^2: the error against x^2 on [-B, B] is at least B^2/2 (and B^2/2 is reached by B^2/2).
Contrast. The gated softmax, weights softmax(tau alpha)_j alpha_j, keeps the values: with the gaps
g_j = alpha_ii - alpha_ij >= 0 it stores -xy up to sum_j g_j exp(-tau g_j), at most (n-1)/(e tau).

Checked: arbitrary rational weights that sum to 1, for random samples and in symbols; softmax in
float64 at several temperatures; whole models with data-dependent normalised attention have second
differences 0, exactly; the gated softmax in float64. Controls: weights that do not sum to 1.

Not checked: other constructions that might work with softmax. Nothing here says that none do.
"""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.fang2022 import model as models
from repro.fang2022 import multiplication, polynomials, powers
from repro.numerics import exact, roundoff

HELD = ["7/2", "7/2", "73/8", "697/32"]  # 2M² - 1 for M = B, B, B², B³, and B = 3/2
CONSTANT = "Σ_j w_ij = 1, so the slot holds 2M² − 1"


@st.composite
def cases(draw):
    """n, M, any x, y (bounded or not), and an n x n table of weights whose rows sum to 1."""
    n, parts = draw(st.integers(1, 5)), draw(st.integers(1, 30))
    M = draw(st.fractions(Fraction(1, 50), 50, max_denominator=50))
    table = draw(st.lists(st.integers(-500, 500), min_size=n * (n + 2), max_size=n * (n + 2)))
    x, y, *weights = exact.rationals(table).reshape(n + 2, n) / parts
    for row in weights:
        row[-1] = 1 - sum(row[:-1])
    return exact.rational(M), x, y, np.stack(weights)


@pytest.mark.exact
def test_any_normalised_weights_store_the_same_constant(claim):
    def wrong(case):
        M, x, y, weights = case
        block = multiplication.multiplication_block(len(x), 3, M)
        slot = multiplication.stored(block, x, y, attend=lambda alpha: weights)
        return int((slot != 2 * M**2 - 1).sum())

    examples = claim.at_scale(smoke=100, laptop=500, paper=20000)
    name = "tokens that do not store 2M² − 1"
    claim.for_all(name, cases(), wrong, equation=CONSTANT, examples=examples)


@pytest.mark.parametrize("n", [1, 2, 4], ids="n={}".format)
@pytest.mark.exact
def test_identity_in_symbols(n, claim):
    """x, y, M and all weights but the last of each row are symbols; the first ReLU unit is on."""
    names = [f"{letter}{i}" for letter in "xy" for i in range(n)]
    names += [f"w{i}{j}" for i in range(n) for j in range(n - 1)]
    *gens, M = exact.symbols(*names, "M")
    x, y = (exact.vector(gens[k * n : (k + 1) * n]) for k in range(2))
    free = exact.vector(gens[2 * n :]).reshape(n, n - 1)
    weights = np.concatenate([free, 1 - free.sum(1, keepdims=True) + 0 * x[:, None]], axis=1)
    known = {"attend": lambda alpha: weights, "activate": models.only_unit(1)}
    slot = multiplication.stored(multiplication.multiplication_block(n, 3, M), x, y, **known)
    wrong = sum(bool(value != 2 * M**2 - 1) for value in slot)
    claim.measured("polynomials other than 2M² − 1", wrong, equation=CONSTANT).equals(0)


def data(claim, stream, n, M):
    """Random factors |x|, |y| <= M in float64, and the block of Lemma 3.1."""
    import torch

    draws = claim.at_scale(smoke=2000, laptop=20_000, paper=200_000)
    x, y = torch.tensor(claim.rng(stream).uniform(-M, M, (2, draws, n)), device=claim.device)
    return x, y, multiplication.multiplication_block(n, 3, M).to(x.dtype, claim.device)


@pytest.mark.parametrize("tau", [0.01, 0.5, 1.0, 20.0], ids="tau={}".format)
@pytest.mark.construct
def test_softmax_in_float64_stores_the_constant(tau, claim):
    """n = 5 tokens, M = 2, random data; the spread over tokens and draws is round-off."""
    n, M = 5, 2.0
    x, y, block = data(claim, "softmax", n, M)
    slot = multiplication.stored(block, x, y, attend=lambda alpha: (tau * alpha).softmax(-1))
    # Whatever exp gives, e_j / S has S = sum e_j to (n-1)u and one or two roundings: the weights
    # sum to 1 within (n+1)u; adding them costs (n-1)u; G - a is rounded once, u (2M^2 - 1) at most.
    allowed = (2 * n + 2 * M**2) * roundoff.unit("float64")
    error = (slot - (2 * M**2 - 1)).abs().max()
    most = rounding_error(allowed, "2n u for the sum of the weights, u 2M² for the rest; see above")
    claim.measured("distance from 2M² − 1", error, equation=CONSTANT).at_most(most)


def normalised(alpha):
    """An attention that depends on the data and sums to 1 in rationals: (1 + a^2) / sum."""
    weights = 1 + alpha * alpha
    return weights / weights.sum(-1, keepdims=True)


def random_model(rng, d, n, q, B):
    """The printed blocks of Theorem 3.5, and any F with ||xi_i|| <= 1, beta and b."""

    def draw(*shape):
        return exact.rationals(rng.integers(-9, 10, shape).tolist())

    blocks = powers.power_blocks(n, q, powers.printed(q, B))
    F, beta, b = draw(n, d) / (9 * d), draw(n * (n + q + 2)), draw(1)[0]
    return models.Transformer(F, blocks, beta, b)


@pytest.mark.exact
def test_four_printed_blocks_worked_out_by_hand(claim):
    """M = B, B, B², B³ and B = 3/2: 2M² = 9/2, 9/2, 81/8, 729/32, and 1 less is stored in
    both tokens, t = 1 and -1, by weights (1 + α²) over their sum.
    """
    rows, t = models.Layout(2, 4), exact.rationals([1, -1])
    blocks = powers.power_blocks(2, 4, powers.printed(4, exact.rational("3/2")))
    slots = powers.tokens_after(blocks, rows, t, attend=normalised)[3:7]
    held = claim.measured("slots", slots.tolist(), equation=CONSTANT, B="3/2")
    held.equals(exact.rationals([[G, G] for G in HELD]).tolist())
    lifts = claim.measured("2M²", [b.W_Q[1, 1] for b in blocks], equation="M = B, B, B², B³")
    lifts.equals(exact.rationals(["9/2", "9/2", "81/8", "729/32"]).tolist())


@pytest.mark.exact
def test_the_whole_model_with_normalised_attention_is_affine(claim):
    """C(x+h) - 2 C(x) + C(x-h) = 0 for all beta, b, F; and slot i holds 2M_i^2 - 1."""

    def wrong(case):
        seed, d, n, q = case
        rng, B = np.random.default_rng(seed), exact.rational("3/2")
        model = random_model(rng, d, n, q, B)
        x, h = exact.rationals(rng.integers(-5, 6, (2, d)).tolist()) / 7
        left, middle, right = (model(v, attend=normalised) for v in (x - h, x, x + h))
        rows, constants = model.layout, exact.rationals([[G] * n for G in HELD[:q]])
        Z = powers.tokens_after(model.blocks, rows, x @ model.F.mT, attend=normalised)
        wrong = int((Z[rows.slot(1) : rows.one] != constants).sum())
        return wrong + int(left - 2 * middle + right != 0)

    small = st.integers(1, 4)
    cases = st.tuples(st.integers(0, 2**32 - 1), small, small, small)
    examples = claim.at_scale(smoke=30, laptop=300, paper=3000)
    name = "wrong slots and second differences that are not 0"
    claim.for_all(name, cases, wrong, equation="C is affine", examples=examples)


@pytest.mark.exact
def test_an_affine_model_misses_the_square_by_half_of_B_squared(claim):
    """d = 1: at -B, 0, B, for random beta, b; the least is that of the constant B^2/2."""
    rng, B = claim.rng("square"), exact.rational("3/2")
    points = exact.rationals([[-1], [0], [1]]) * B

    def error(model):
        return max(abs(model(x, attend=normalised) - x[0] ** 2) for x in points)

    draws = claim.at_scale(smoke=20, laptop=200, paper=2000)
    models = [random_model(rng, 1, 2, 2, B) for _ in range(draws)]
    smallest = min(error(model) for model in models)
    least, affine = B**2 / 2, "|C − x²| ≥ B²/2 for affine C"
    found = claim.measured("smallest error against x² at −B, 0, B", smallest, equation=affine)
    found.at_least(theorem(least, "x² has second difference 2B², an affine function 0"))
    best = dataclasses.replace(models[0], beta=0 * models[0].beta, b=least)
    claim.measured("error of the constant B²/2", error(best), equation=affine).equals(least)


@pytest.mark.construct
def test_the_gated_softmax_tends_to_the_maximum(claim):
    """Weights softmax(tau alpha) alpha, M = 2, n = 5: within sum g exp(-tau g) of -xy, for all."""
    import torch

    n, M, u = 5, 2.0, roundoff.unit("float64")
    x, y, block = data(claim, "gated", n, M)
    gaps = 2 * M**2 + x[..., :, None] * (y[..., :, None] - y[..., None, :])  # i against j
    gaps = gaps * (1 - torch.eye(n, dtype=x.dtype, device=x.device))  # 0 for j = i
    # Scores are at most 3M^2: they are rounded (twice, u each), weighted, added; the weights sum
    # to 1 within (n+1)u: at most (2n+6) u 3M^2. The argument of exp is off by a few u tau 3M^2,
    # which changes the leak by a factor within 1e-9.
    allowed = (2 * n + 6) * u * 3 * M**2
    for tau in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0):
        slot = multiplication.stored(
            block, x, y, attend=lambda a, tau=tau: (tau * a).softmax(-1) * a
        )
        error, leak = (slot + x * y).abs(), (gaps * (-tau * gaps).exp()).sum(-1)
        beyond = (error - leak * (1 + 1e-9)).max()
        at = {"equation": "weights softmax(τα)_j α_j", "tau": tau}
        derived = rounding_error(allowed, "(2n+6) u 3M², derived above")
        claim.measured("error beyond Σ g exp(−τg)", beyond, **at).at_most(derived)
        most = theorem((n - 1) / (math.e * tau), "(n−1)/(eτ), since g exp(−τg) ≤ 1/(eτ)")
        claim.measured("largest error", error.max().item(), **at).at_most(most)


@pytest.mark.parametrize("tau", [3.0, None], ids=["gated, tau=3", "one-hot maximum"])
def test_control_weights_that_do_not_sum_to_1_store_what_depends_on_the_data(tau, claim):
    """x = (M, M), y = (M, -M): the tokens store -M^2 and M^2, far from one another."""
    import torch

    M = 2.0
    x, y = torch.tensor([[M, M], [M, -M]], dtype=torch.float64)
    kept = models.one_hot_maximum if tau is None else lambda a: (tau * a).softmax(-1) * a
    block = multiplication.multiplication_block(2, 3, M).to(x.dtype)
    first, second = multiplication.stored(block, x, y, attend=kept).tolist()
    name = "difference of the stored values"
    least = theorem(M**2, "2M² less the leak 4M² exp(−4M²τ), below M²")
    claim.measured(name, second - first, equation="Σ_j w_ij ≠ 1").at_least(least)


def test_control_with_the_one_hot_maximum_the_model_is_not_affine(claim):
    """Theorem 3.5's model for x^2: its second difference is 2h^2, not 0."""
    B = exact.rational("3/2")
    model = powers.construction(polynomials.Polynomial(1, {(2,): 1}), B)
    left, middle, right = (model(x) for x in exact.rationals([[-1], [0], [1]]) * B)
    bend = left - 2 * middle + right
    least = theorem(2 * B**2, "(−B)² − 2·0 + B² = 2B²")
    claim.measured("second difference at −B, 0, B", bend, equation="Σ_j w_ij ≠ 1").at_least(least)
