"""Finding (about fang2022, Theorem 3.5, abstract, Remark 3.6, conclusion): blocks ~ log degree.

The paper spends q blocks on degree q. Its own blocks (Section 2.2, single head, one-hot maximum,
fixed weights) do it with far fewer. Theorems, with proofs in repro/fang2022/fewer_blocks.py:
A. floor(log2 q) = ceil(log2(q+1)) - 1 fixed blocks store t_i, ..., t_i^q in every token.
B. For one token (d = n = 1) no fewer fixed blocks do: l blocks store at most 2^(l+1) independent
   functions. With a W^V of rank one, as printed, they store l + 2: then q - 1 blocks are needed.
C. With tokens r xi of several lengths r for each direction xi, ceil(log3 q) fixed blocks serve
   every polynomial of degree q, in any number of variables; and no model with fewer blocks, fixed
   or trained, with however many tokens, equals any polynomial of degree q.
The abstract says that "the number of transformer encoder blocks is the same as the degree of the
target polynomial". That describes the paper's construction; such blocks can do with fewer.

Checked: A in rationals for random samples, and in symbols; blocks and weights counted; whole models
against random polynomials. B: exact ranks for random integer weights. C: exact ranks and values,
degrees of random models. Controls: position scores too weak, one block fewer, two tokens.

Not checked: the least number of blocks for d >= 2 with the paper's n_q tokens; it lies between C's
and A's.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.fang2022 import fewer_blocks as few
from repro.fang2022 import inputs, polynomials, powers, ridge
from repro.fang2022 import model as models
from repro.numerics import exact

SHAPES = [(1, 5), (2, 7), (3, 10), (2, 16)]
shapes = pytest.mark.parametrize(("n", "q"), SHAPES, ids=[f"n={n}-q={q}" for n, q in SHAPES])
some_blocks = pytest.mark.parametrize("l", [1, 2, 3], ids="l={}".format)


def wrong_entries(Z, t, sign=1):
    """Entries that are not those of [t_i, e_i, 0, t_i^2, ..., t_i^q, 1]; sign = -1: the paper's."""
    rows = models.Layout(len(t), len(Z) - len(t) - 2)
    stated = [sign ** (s - 1) * t**s for s in range(2, rows.q + 1)]
    return int((rows.tokens(t, 0 * t, *stated) != Z).sum())


@st.composite
def cases(draw):
    """n, q, B > 0 and |t_i| <= B, with the ends and the middle that are hardest for the winner."""
    n, q = draw(st.integers(1, 5)), draw(st.integers(1, 17))
    B = exact.rational(draw(inputs.bounds))
    shares = [draw(inputs.shares) for _ in range(n)]
    return n, q, B, exact.rationals(shares) * B


@pytest.mark.exact
def test_every_token_stores_all_powers_for_any_rational_input(claim):
    def wrong(case):
        n, q, B, t = case
        Z = powers.tokens_after(few.doubling_blocks(n, q, B), models.Layout(n, q), t)
        return wrong_entries(Z, t)

    examples = claim.at_scale(smoke=80, laptop=500, paper=5000)
    claim.for_all("wrong entries of Z", cases(), wrong, equation="A", examples=examples)


@shapes
@pytest.mark.exact
def test_identity_in_symbols_and_a_sum_of_squares_for_the_winner(n, q, claim):
    """alpha_ii - alpha_ij = (c - t_j^2p / 4) + (t_i^p - t_j^p / 2)^2 with c = B^2p: positive."""
    t = exact.vector(exact.symbols(*(f"t{i}" for i in range(n))))
    B, Z = exact.rational("7/3"), models.Layout(n, q).tokens(t)
    wrong = 0
    for k, block in enumerate(few.doubling_blocks(n, q, B)):
        alpha = (block.W_Q @ Z).mT @ (block.W_K @ Z)
        for i, j in itertools.permutations(range(n), 2):
            mine, other = t[i] ** 2**k, t[j] ** 2**k
            margin = B**2 ** (k + 1) - other**2 / 4 + (mine - other / 2) ** 2
            wrong += bool(alpha[i, i] - alpha[i, j] != margin)
        Z = block(Z, models.keep_own, models.only_unit(1))
    squares = "A: α_ii − α_ij = (c − t_j^(2p)/4) + (t_i^p − t_j^p/2)²"
    claim.measured("margins that differ", wrong, equation=squares).equals(0)
    claim.measured("wrong entries of Z", wrong_entries(Z, t), equation="A").equals(0)


SIZES = [
    ("A", 1, 7, 2), ("A", 2, 5, 2), ("A", 3, 3, 1), ("C", 1, 9, 2), ("C", 2, 4, 2), ("C", 3, 3, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("theorem", "d", "q", "blocks"), SIZES, ids=[f"{a}-d={d}-q={q}" for a, d, q, _ in SIZES]
)
@pytest.mark.exact
def test_a_whole_model_equals_a_random_polynomial(theorem, d, q, blocks, claim):
    """F, blocks, beta and b, in the ball ||x|| <= B and on its surface."""
    rng, B, wrong = claim.rng(f"{theorem} {d} {q}"), exact.rational("3/2"), 0
    build = {"A": few.doubling_transformer, "C": few.tripling_transformer}[theorem]
    for _ in range(claim.at_scale(smoke=2, laptop=10, paper=100)):
        Q = polynomials.random_polynomial(d, q, rng)
        model = build(Q, B)
        surface = ridge.random_rational(d, 2, rng) if d > 1 else [[1], [-1]]
        inside = exact.rationals(rng.integers(-6, 7, (3, d)).tolist()) / (6 * d)
        x = np.concatenate([surface, inside]) * B
        wrong += int((model(x) != Q(x)).sum())
    claim.record("tokens", model.F.shape[0])
    count = "⌊log₂ q⌋ blocks" if theorem == "A" else "⌈log₃ q⌉ blocks"
    claim.measured("blocks", len(model.blocks), equation=f"{theorem}: {count}").equals(blocks)
    claim.measured("values unlike Q(x)", wrong, equation=f"{theorem}: C(x) = Q(x)").equals(0)


@pytest.mark.exact
def test_scores_functions_and_lengths_worked_out_by_hand(claim):
    """c = (G + |h|)². A, B = 3: t^p is at most 3^p: 9, 81, 6561. C: h = 1, G_1 = t, G_2 = t³ + t²:
    (3 + 1)², (36 + 1)² for B = 3; (1/4 + 1)², (5/64 + 1)² for B = 1/4. One product t t^(s-1): 2B^s.
    As printed 2M², M = 3, 3, 9, 27, 81.
    C, l = 2: α = G_2² + G_2 = t² + t³ + t⁴ + 2t⁵ + t⁶, and α G_2 = G_2³ + G_2² is the last.
    """
    small, rows = exact.rational("1/4"), models.Layout(2, 6)
    blocks = {
        ("A", 3): (few.doubling_blocks(2, 8, 3), [9, 81, 6561]),
        ("C", 3): (few.tripling_blocks(rows, 2, 3), [16, 1369]),
        ("C", "1/4"): (few.tripling_blocks(rows, 2, small), ["25/16", "4761/4096"]),
        ("one product", 3): (few.single_blocks(2, 4, 3), [18, 54, 162]),
        ("printed, q − 1", 3): (few.printed_products(2, 4, 3), [18, 54, 162]),
        ("printed", 3): (
            powers.power_blocks(2, 5, powers.printed(5, 3)),
            [18, 18, 162, 1458, 13122],
        ),
    }
    for (of, B), (built, expected) in blocks.items():
        at = {"equation": "c = (G + |h|)²", "of": of, "B": B}
        for i in (1, 2):
            c = claim.measured("c", [block.W_Q[i, i] for block in built], token=i, **at)
            c.equals(exact.rationals(expected).tolist())
    held = [[int(c) for c in f.coeffs()] for f in few.held_functions(2)]
    by_hand = [[1], [0, 1], [0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1, 1, 2, 1]]
    claim.measured("first functions", held[:5], equation="C", l=2).equals(by_hand)
    last = claim.measured("last function", held[-1], equation="C: G_3 = G_2³ + G_2²", l=2)
    last.equals([0, 0, 0, 0, 1, 2, 2, 3, 3, 1])
    lengths = [[*map(str, few.lengths(l))] for l in (1, 2, 3)]
    three = claim.measured("lengths r", lengths, equation="C: 1, 2, 3 for l = 1, 2, 3")
    three.equals([["1"], ["1", "-1"], ["1", "-1", "1/2"]])


@some_blocks
@pytest.mark.exact
def test_one_token_stores_at_most_2_to_the_l_plus_1_functions(l, claim):
    """B, for random weights of all layers. With the printed rank of W^V, one, it is l + 2."""
    rng, slots, q = claim.rng(f"l={l}"), 2 ** (l + 1), 2 ** (l + 1) - 1
    draws, name = claim.at_scale(smoke=8, laptop=30, paper=300), "independent functions stored"
    for rank_one, most in [(False, 2 ** (l + 1)), (True, l + 2)]:
        networks = (
            [inputs.random_block(rng, 1, slots, rank_one) for _ in range(l)] for _ in range(draws)
        )
        largest = max(few.dimension(few.functions(blocks, slots)) for blocks in networks)
        rank = 1 if rank_one else "any"
        found = claim.measured(name, largest, equation="B", blocks="random", rank_of_W_V=rank)
        found.at_most(theorem(most, "the dimension of S_l in the proof of B"))
    doubling = few.dimension(few.functions(few.doubling_blocks(1, q, 1), q))
    claim.measured(name, doubling, equation="B: 2^(l+1)", blocks="doubling").equals(q + 1)
    products = few.dimension(few.functions(few.printed_products(1, q, 1)[:l], q))
    claim.measured(name, products, equation="B: l + 2", blocks="as printed").equals(l + 2)


@pytest.mark.exact
def test_the_first_printed_block_can_go(claim):
    """q - 1 printed products store -t^2, t^3, ... in the slots 2, 3, ...; row 0 has t anyway."""

    def wrong(case):
        n, q, B, t = case
        Z = powers.tokens_after(few.printed_products(n, q, B), models.Layout(n, q), t)
        return wrong_entries(Z, t, sign=-1)

    examples = claim.at_scale(smoke=30, laptop=200, paper=2000)
    name = "wrong entries of Z, printed products"
    claim.for_all(name, cases(), wrong, equation="B: q − 1 blocks", examples=examples)


@some_blocks
@pytest.mark.exact
def test_l_blocks_reach_degree_3_to_the_l_and_not_beyond(l, claim):
    """C. Random models with up to three tokens; x^(3^l) by cubing; all of P_(3^l) by tripling."""
    rng, draws = claim.rng(f"degree, l={l}"), claim.at_scale(smoke=8, laptop=30, paper=300)
    lengths = [exact.rational(v) for v in ("1", "-1/2", "1/3")]
    found_by_chance = (
        few.functions([inputs.random_block(rng, n, 3) for _ in range(l)], 3, lengths[:n])
        for n in (1, 2, 3)
        for _ in range(draws)
    )
    largest = max(p.degree() for found in found_by_chance for p in found)
    most = theorem(3**l, "α has degree 2D, αW^V z degree 3D")
    claim.measured("largest degree of random models", largest, equation="C: 3^l ≥ q").at_most(most)
    rows = models.Layout(1, l)
    steps = itertools.pairwise([0, *(rows.slot(k) for k in range(1, l + 1))])
    cubing = [few.products_block(rows, g, g, [(g, cube)], 1) for g, cube in steps]
    power, (_, x, *_) = few.functions(cubing, l)[1 + rows.slot(l)], few.functions([], 1)
    claim.measured("what l cubing blocks store", power, equation="C: x^(3^l)").equals(x**3**l)
    r = few.lengths(l)
    claim.record("tokens for one direction", len(r))
    rows = models.Layout(len(r), 2 ** (l + 1) - 2)
    others = [exact.rational(f"{(-1) ** k}/{k // 2 + 2}") for k in range(len(r))]
    for first, lengths in {"1": r, "1/2": others}.items():
        stored = few.functions(few.tripling_blocks(rows, l, 1), rows.q, lengths)
        span, all_of_them = few.dimension(stored), "C: all of degree 3^l, for distinct r ≠ 0"
        name = "independent functions stored"
        claim.measured(name, span, equation=all_of_them, first_length=first).equals(3**l + 1)


@pytest.mark.construct
def test_the_number_of_blocks_is_logarithmic_in_the_degree(claim):
    """Counted from the weights; of C also that the model for x^q, d = 1, gives (3/2)^q at 3/2."""
    n, B = 4, exact.rational("3/2")
    qs = list(range(1, claim.at_scale(smoke=17, laptop=33, paper=82)))
    doubling = [few.doubling_blocks(n, q, B) for q in qs]
    printed = [powers.power_blocks(n, q, powers.printed(q, B)) for q in qs]
    power = [polynomials.Polynomial(1, {(q,): 1}) for q in qs]
    tripling = [few.tripling_transformer(Q, B) for Q in power]
    ours, triples = [len(b) for b in doubling], [len(model.blocks) for model in tripling]
    least = [math.ceil(math.log2(q + 1)) - 1 for q in qs]
    claim.measured("numbers of blocks", ours, equation="A: ⌈log₂(q+1)⌉ − 1").equals(least)
    least = [next(l for l in range(q) if 3**l >= q) for q in qs]
    claim.measured("numbers of blocks", triples, equation="C: ⌈log₃ q⌉").equals(least)
    values = [model(exact.vector([B])) for model in tripling]
    wrong = sum(bool(v != B**q) for q, v in zip(qs, values, strict=True))
    claim.measured("powers that the model misses", wrong, equation="C(x) = x^q at x = B").equals(0)
    weights = [[sum(block.nonzeros() for block in b) for b in side] for side in (doubling, printed)]
    formula = [L * (3 * n + 2) + q - 1 for q, L in zip(qs, ours, strict=True)]
    claim.measured("non-zero weights", weights[0], equation="A: (3n+2)L + q − 1").equals(formula)
    saved = min(theirs - mine for mine, theirs in zip(*weights, strict=True))
    floor = theorem(1, "(2n+8)q > (3n+2)L + q − 1")
    claim.measured("non-zero weights saved", saved, equation="A").at_least(floor)
    for q in (2, 5, 9, 16):
        claim.record("blocks by A and by C; printed: q", [ours[q - 1], triples[q - 1]], q=q)


def first_block(c):
    """The block of A that stores t^2 and t^3 for two tokens, with any c."""
    rows = models.Layout(2, 3)
    moves = [(rows.one, rows.slot(2)), (0, rows.slot(3))]
    return rows, few.products_block(rows, 0, 0, moves, c)


@pytest.mark.exact
def test_a_quarter_of_c_and_a_little_is_enough(claim):
    """c = 26/100 B^2 for B^2: no wrong entry for t on a grid with the worst case (B/2, B)."""
    B, grid = exact.rational("3/2"), range(-8, 9)
    rows, block = first_block(exact.rational("26/100") * B**2)
    tokens = (exact.rationals(t) * B / 8 for t in itertools.product(grid, grid))
    wrong = sum(wrong_entries(block(rows.tokens(t)), t) for t in tokens)
    claim.measured("wrong entries of Z", wrong, equation="A: c > B^(2p)/4").equals(0)


@pytest.mark.parametrize("factor", ["0", "1/8", "24/100"], ids="c={} B^2".format)
def test_control_less_than_a_quarter_of_c_lets_another_token_win(factor, claim):
    """With t = (B/2, B) token 1 keeps token 2: it stores B^2/2 - c for B^2/4."""
    B, broken = exact.rational("3/2"), "A with c < B^(2p)/4"
    c, t = exact.rational(factor) * B**2, exact.rationals([1, 2]) * B / 2
    rows, block = first_block(c)
    square, cube = block(rows.tokens(t))[[rows.slot(2), rows.slot(3)], 0]
    error = claim.measured("error of the stored t²", square - t[0] ** 2, equation=broken)
    error.equals(B**2 / 4 - c)
    error.at_least(theorem(B**2 / 100, "B²/4 − c with c ≤ 24/100 B²"))
    right = (B**2 / 2 - c) * B - B**3 / 8
    claim.measured("error of the stored t³", cube - t[0] ** 3, equation=broken).equals(right)


@pytest.mark.parametrize("q", [2, 4, 8], ids="q={}".format)
def test_control_one_block_fewer_misses_a_power(q, claim):
    """At q + 1 points near Chebyshev's, w . z = 0 for every stored entry z: then no beta and b come
    nearer to x^q than |w . x^q| / |w|_1, which is about 2 (B/2)^q."""
    import flint

    B = exact.rational("3/2")
    points = [Fraction(math.cos(k * math.pi / q)).limit_denominator(50) for k in range(q + 1)]
    t = exact.rationals(points) * B
    *blocks, last = few.doubling_blocks(1, q, B)
    Z = powers.tokens_after(blocks, models.Layout(1, q), t[:, None])  # (q+1, q+3, 1)
    reduced, rank = flint.fmpq_mat(Z[..., 0].T.tolist()).rref()
    name, fewer = "independent functions on q + 1 points", "A with one block fewer"
    claim.measured(name, rank, equation=fewer).equals(q)
    w = [*(-reduced[i, q] for i in range(q)), 1]
    distance = abs(sum(a * x**q for a, x in zip(w, t, strict=True))) / sum(abs(a) for a in w)
    near = "2(B/2)^q at Chebyshev's points; these, of denominator 50, lose less than 1 %"
    least = theorem(exact.rational("99/100") * (2 * (B / 2) ** q), near)
    claim.measured("distance of x^q from all models", distance, equation=fewer).at_least(least)
    full = flint.fmpq_mat(last(Z)[..., 0].T.tolist()).rank()
    claim.measured(name, full, equation="A").equals(q + 1)


@pytest.mark.parametrize("l", [2, 3], ids="l={}".format)
def test_control_two_tokens_store_more_than_one_can(l, claim):
    """B without n = 1: t and -t in two tokens of the tripling blocks pass 2^(l+1)."""
    rows = models.Layout(2, 2 ** (l + 1) - 2)
    found = few.dimension(few.functions(few.tripling_blocks(rows, l, 1), rows.q, (1, -1)))
    least = theorem(2 ** (l + 1) + 2, "one token has 2^(l+1); two hold at most 2 + 2 (2^(l+1) − 2)")
    claim.measured("independent functions stored", found, equation="B with n = 2").at_least(least)
