"""Theorem 3.5 (fang2022, p. 5; proof in Section 6): every polynomial, with zero error.

For every B > 0 and every polynomial Q of degree at most q on R^d there is a model with q blocks
such that C^q(x) = Q(x) for all ||x|| <= B. It has fewer than d^(q+1) + q d^q + 1 free parameters
and fewer than d^(q+1) + 3q d^q + 8q + 1 non-zero entries.

Checked: the literal blocks, with the lifts and the signs repaired (repro/fang2022/powers.py). In
rationals, for all d, q, B, Q and x that a search finds to try, the ends of the ball included, the
output differs from Q(x) by exactly 0. In symbols, the output is the polynomial Q, and each token
wins by exactly G + y_i t_i - y_j t_i; the lifts G are the least possible, up to a factor 2, for
every B. f_1* and f_2* of Section 5, the latter with all its 2002 tokens at laptop scale: in
rationals, and through the literal blocks in float64. As an ordinary module in float64, within a
derived bound. Weights are counted in the built model.
Controls: q - 1 of these blocks (best possible error 2 (B/2)^q), lifts 2 % below the least.

False as printed, and repaired:
- M = B^(i-1) in block i >= 3 is too small: for q = 3 if B < 1/2, for q >= 4 if B < 1 (if there
  are two tokens, so not for d = 1). The repair is M^2 = B^i.
- beta holds beta_{k,s}, but slot s holds (-1)^s t^s: C = -x for Q = x. The repair is the sign.
- "less than" is equality if and only if d = 1 or q = 1. The repair is "at most".

Not checked: whether fewer than q blocks of another kind suffice (they do: finding-fewer-blocks).
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.fang2022 import inputs as inputs_
from repro.fang2022 import model as model_
from repro.fang2022 import multiplication, network, polynomials, powers, ridge, tower
from repro.fang2022.pictures import precision as pictures
from repro.numerics import exact as exact_
from repro.numerics import roundoff

ZERO = "C^q(x) = Q(x)"


@st.composite
def cases(draw):
    """q, a polynomial, B, and points of the ball: some on its surface, along directions."""
    q, Q = draw(inputs_.polynomials({1: 7, 2: 5, 3: 3}))
    B = draw(inputs_.bounds)
    along = st.integers(0, polynomials.dimension(Q.d, q) - 1)
    points = st.tuples(along, inputs_.shares)
    return q, Q, B, draw(st.lists(points, min_size=1, max_size=4))


@pytest.mark.exact
def test_no_error_for_any_polynomial_at_any_point(claim):
    def wrong(case):
        q, Q, B, points = case
        model = powers.construction(Q, B, q=q)
        shares = exact_.rationals([[share] for _, share in points])
        x = model.F[[k for k, _ in points]] * shares * exact_.rational(B)  # |share| B
        return sum(bool(a != b) for a, b in zip(model(x), Q(x), strict=True))

    examples = claim.at_scale(smoke=40, laptop=300, paper=3000)
    claim.for_all("points with C(x) ≠ Q(x)", cases(), wrong, equation=ZERO, examples=examples)


SHAPES = [(1, 5), (2, 2), (2, 4), (3, 3)]
shapes = pytest.mark.parametrize(("d", "q"), SHAPES, ids=[f"d={d}-q={q}" for d, q in SHAPES])


@shapes
@pytest.mark.exact
def test_identity_of_polynomials_with_the_winner_known(d, q, claim):
    """Each token keeps itself: then C^q is a polynomial in x. Not a number, the polynomial Q."""
    Q, B = (
        polynomials.random_polynomial(d, q, claim.rng("identity")),
        exact_.rational(3),
    )
    model = powers.construction(Q, B)
    x = exact_.vector(exact_.symbols(*(f"x{i}" for i in range(d))))
    for unit in (1, 2):
        own = model_.keep_own
        C = model(x, attend=own, activate=model_.only_unit(unit))
        claim.measured(
            f"C − Q while ReLU unit {unit} is active, terms", len(C - Q(x)), equation=ZERO
        ).equals(0)


@pytest.mark.parametrize("q", [2, 3, 5, 8], ids="q={}".format)
@pytest.mark.exact
def test_each_token_wins_and_the_lifts_cannot_be_smaller(q, claim):
    """In block i the score of token 1 exceeds that of token 2 by G + t_1 (y_1 - y_2), where slot
    i-1 holds y = (-1)^(i-1) t^(i-1). At the pair named in powers.py this is 0 for the least lift.
    """
    t1, t2, B = exact_.symbols("t1", "t2", "B")
    lifts, least = powers.repaired(q, B), powers.least(q, B)
    blocks = powers.power_blocks(2, q, lifts)
    Z = model_.Layout(2, q).tokens(exact_.vector([t1, t2]))
    wrong = below = 0
    for i, block in enumerate(blocks, 1):
        alpha, sign = block.scores(Z), (-1) ** (i - 1)
        stored = [sign * t ** (i - 1) for t in (t1, t2)]
        margin = alpha[0, 0] - alpha[0, 1]
        wrong += margin != lifts[i - 1] + t1 * (stored[0] - stored[1])
        worst = {1: (B, B)}.get(i, (B, -B) if i % 2 == 0 else (-B, 0 * B))
        at_worst = margin.compose(*worst, B) - lifts[i - 1] + least[i - 1]
        below += at_worst != 0
        Z = block(Z, model_.keep_own, model_.only_unit(1))
    claim.measured(
        "margins that are not G + t_1(y_1 − y_2)", wrong, equation="proof, block i"
    ).equals(0)
    claim.measured("blocks whose least lift leaves a margin", below, equation="least lifts").equals(
        0
    )


@pytest.mark.exact
def test_the_first_target_of_section_5(claim):
    """f_1* = x_1^2 + x_2^2: three tokens, two blocks, all of a grid in the disc of radius 30."""
    Q, B = polynomials.F_1_STAR, exact_.rational(30)
    model = powers.construction(Q, B)
    grid = [(a, b) for a in range(-30, 31, 3) for b in range(-30, 31, 3) if a * a + b * b <= 900]
    x = exact_.rationals(grid)
    wrong = sum(bool(a != b) for a, b in zip(model(x), Q(x), strict=True))
    claim.measured(f"points of {len(grid)} with C ≠ f_1*", wrong, equation=ZERO).equals(0)
    claim.measured("tokens", model.layout.n, equation="n_q, d = q = 2").equals(3)


def second_target(claim, smoke):
    """f_2* up to degree q, with the directions and coefficients of the construction.

    All of f_2*, 2002 tokens, but at smoke scale, where q is `smoke`.
    """
    q = claim.at_scale(smoke=smoke, laptop=5, paper=5)
    terms = polynomials.F_2_STAR.coefficients
    Q = polynomials.Polynomial(10, {a: c for a, c in terms.items() if sum(a) <= q})
    return q, Q, ridge.directions(10, q), ridge.coefficients(Q, q)


@pytest.mark.exact
def test_the_second_target_of_section_5(claim):
    """f_2* through all blocks in rationals, every winner found, at points with ||x|| <= 5.

    In rationals one dense block of 2002 tokens takes 10^10 operations, most of them on zeros;
    `stored` leaves these out (below it is compared with the blocks).
    """
    q, Q, F, beta = second_target(claim, smoke=3)
    points = claim.at_scale(smoke=20, laptop=5, paper=50)
    x = exact_.rationals(claim.rng("points").integers(-15, 16, (points, 10)).tolist()) / 10
    slots = powers.stored(x @ F.T, powers.repaired(q, exact_.rational(5)))  # (q, points, n)
    model = model_.Transformer(F, (), powers.readout(beta), Q.at_zero())
    read = powers.slots_of(model)  # (n, q)
    C = exact_.vector([model.b] * points)
    for s in range(q):
        C = C + slots[s] @ read[:, s]
    wrong = sum(bool(a != b) for a, b in zip(C, Q(x), strict=True))
    claim.record("tokens", len(F))
    claim.record("degree", q)
    claim.measured(
        f"points of {points} with C ≠ f_2*, {len(F)} tokens", wrong, equation=ZERO
    ).equals(0)


@pytest.mark.parametrize("lifts", ["printed", "repaired", "least"])
@pytest.mark.exact
def test_what_the_blocks_store_can_be_found_without_their_zeros(lifts, claim):
    """`stored` against the literal blocks, right or wrong: the printed lifts fail at B = 1/2."""
    n, q, B = 4, 5, exact_.rational("1/2")
    G = getattr(powers, lifts)(q, B)
    t = exact_.rationals(claim.rng("t").integers(-9, 10, (30, n)).tolist()) * B / 9
    Z = model_.Layout(n, q).tokens(t)
    for block in powers.power_blocks(n, q, G):
        Z = block(Z)
    slots = np.moveaxis(Z[:, n + 1 : -1], 1, 0)  # (q, 30, n)
    differ = int((slots != powers.stored(t, G)).sum())
    claim.measured("slots that differ", differ, equation="slot i receives G − max α").equals(0)


def sparse(block):
    """The same block; a matrix is its places and values."""
    weights = block.weights().items()
    return model_.Block(**{k: w.to_sparse() if w.ndim == 2 else w for k, w in weights})


@pytest.mark.construct
def test_the_literal_blocks_with_all_tokens_of_the_second_target(claim):
    """f_2* at one point, float64: at laptop scale 2002 tokens of 2009 rows, all scores among them.

    Weights are kept without their zeros, which multiply nothing.
    """
    import torch

    q, Q, F, beta = second_target(claim, smoke=2)
    n, B, place = len(F), 2, claim.rng("sample").normal(size=10)
    model = model_.Transformer(F, (), powers.readout(beta), Q.at_zero())
    x = torch.tensor(place * (B / np.linalg.norm(place) / 1.01), device=claim.device)

    def rounded(weights):
        return model_.rounded(weights, torch.float64, claim.device)

    rows = model.layout
    Z = rows.tokens(rounded(F) @ x)
    for i, G in enumerate(powers.roomy(q, exact_.rational(B))):
        claim.progress(i, q)
        factor = rows.one if i == 0 else rows.slot(i)
        block = multiplication.product_block(rows, 0, factor, rows.slot(i + 1), G)
        Z = sparse(block.to(torch.float64, claim.device))(Z)
    C = (Z[rows.slot(1) : rows.one].mT * rounded(powers.slots_of(model))).sum()
    exact = exact_.to_float(Q(exact_.rationals(x.cpu().numpy())))
    off = abs(C.item() + float(exact_.to_float(model.b)) - float(exact))
    bound = tower.output_bound(model, B, "float64", powers.roomy)
    claim.measured(f"|C(x) − f_2*(x)|, {n} tokens", off, equation=ZERO).at_most(
        rounding_error(bound, "tower.output_bound, derived there; the sum of |β| is large")
    )
    last = (Z[rows.slot(q)] - (-Z[0]) ** q).abs().max().item()
    relative = tower.error_bound("float64", B, q, powers.roomy)
    allowed = (relative + q * roundoff.unit("float64")) * B**q
    claim.measured(
        f"largest error of the stored t^{q}, {n} tokens", last, equation="slot q holds (−t)^q"
    ).at_most(
        rounding_error(
            allowed, "the recursion of repro/fang2022/tower.py, and q roundings of t^q itself"
        )
    )


@shapes
@pytest.mark.construct
def test_an_ordinary_module_computes_the_polynomial(d, q, claim):
    import torch

    Q, B = polynomials.random_polynomial(d, q, claim.rng("module")), 2
    model = network.polynomial_transformer(Q, B, device=claim.device)
    x = claim.rng("inputs").normal(size=(200, d))
    x *= B / np.linalg.norm(x, axis=1, keepdims=True) * claim.rng("radii").uniform(size=(200, 1))
    exact = Q(exact_.rationals(x))
    ours = model(torch.tensor(x, device=claim.device)).detach().cpu().numpy()
    off = max(abs(exact_.rational(a) - b) for a, b in zip(ours, exact, strict=True))
    bound = tower.output_bound(powers.construction(Q, B), B, "float64", powers.roomy)
    claim.measured("largest |C(x) − Q(x)|", off, equation=ZERO).at_most(
        rounding_error(bound, "tower.output_bound, derived there")
    )
    zero = polynomials.Polynomial(d, {})
    again = network.polynomial_transformer(zero, B, q=q, device=claim.device)
    again.load_state_dict(model.state_dict())
    differ = int((again(torch.tensor(x, device=claim.device)).detach().cpu().numpy() != ours).sum())
    claim.measured("outputs changed by saving and loading", differ, equation="state_dict").equals(0)


@pytest.mark.construct
def test_figure_the_error_against_the_degree(claim):
    """Q = x^q on [-3, 3], at 200 points and both ends: in rationals, in two types, a block less."""
    B, qs, types = 3, range(1, 9), ("float64", "float32")
    drawn = np.append(claim.rng("points").uniform(-B, B, 200), [-B, B])
    places = {name: drawn.astype(name)[:, None] for name in types}
    x = exact_.rationals(places["float64"])
    exact, fewer = [], []
    floating, bounds = {name: [] for name in types}, {name: [] for name in types}
    for q in qs:
        Q, size = polynomials.Polynomial(1, {(q,): 1}), float(B**q)
        model = powers.construction(Q, B)
        exact.append(max(abs(model(x) - Q(x))))
        claim.measured(f"largest |C(x) − x^{q}|", exact[-1], equation=ZERO).equals(0)
        for name in types:
            floating[name].append(largest_error(Q, B, places[name]) / size)
            bounds[name].append(tower.output_bound(model, B, name, powers.roomy) / size)
            claim.measured(
                f"largest |C(x) − x^{q}| over B^q", floating[name][-1], equation=ZERO, name_=name
            ).at_most(rounding_error(bounds[name][-1], "tower.output_bound, derived there"))
        fewer.append(float(exact_.to_float(with_a_block_fewer(q, x))) / size)
    most = {name: f"{max(found):.1e}" for name, found in floating.items()}
    claim.figure(
        pictures.zero_error(qs, [float(error) for error in exact], floating, bounds, fewer),
        "zero-error",
        caption="Q = x^q on [−3, 3]. In rationals the error of q blocks is 0 at every point. In "
        "floating point what is left is round-off, below the derived bounds. With q − 1 of the "
        "blocks no β does better than 2 (B/2)^q.",
        alt=f"Largest error over B^q against the degree q from 1 to {qs[-1]}. In rationals 0 for "
        f"every q. In float64 at most {most['float64']}, in float32 at most {most['float32']}, "
        f"each below its bound. One block fewer: from {fewer[0]:g} down to {fewer[-1]:.1e}.",
    )


def largest_error(Q, B, x):
    """Of the module in the type of x, against Q in rationals."""
    import torch

    inputs = torch.tensor(x)
    found = network.polynomial_transformer(Q, B, dtype=inputs.dtype)(inputs)
    right = Q(exact_.rationals(x))
    off = [exact_.rational(a) - b for a, b in zip(found.tolist(), right, strict=True)]
    return float(exact_.to_float(max(map(abs, off))))


COUNTED = [(1, 1), (1, 4), (2, 1), (3, 1), (2, 2), (2, 4), (3, 3)]
counted = pytest.mark.parametrize(("d", "q"), COUNTED, ids=[f"d={d}-q={q}" for d, q in COUNTED])


def generic(d, q, rng):
    """A model none of whose free entries is 0: a dense Q, directions with no zero coordinate."""
    n, Q = polynomials.dimension(d, q), polynomials.random_polynomial(d, q, rng)
    while True:
        xi = exact_.rationals([[1]])
        if d > 1:
            xi = ridge.random_rational(d, n, rng)
        try:
            model = powers.construction(Q, 2, q=q, directions=xi)
        except ValueError:  # not independent: draw again
            continue
        slots = model.beta.reshape(n, -1)[:, n + 1 : -1]
        used = sum(polynomials.dimension(d, s) for s in range(1, q + 1))
        if (xi != 0).all() and int((slots != 0).sum()) == used:
            return model


@counted
@pytest.mark.construct
def test_counts_of_parameters_and_nonzero_entries(d, q, claim):
    """n_q (d + q) + 1 free parameters, n_q d + 3q n_q + 8q + 1 places that may be non-zero."""
    import torch

    model = generic(d, q, claim.rng("counts"))
    module = network.PolynomialTransformer(model, 2.0, torch.float64)
    n = math.comb(d - 1 + q, q)
    free = sum(p.numel() for p in module.parameters())
    unused = sum(n - polynomials.dimension(d, s) for s in range(1, q))  # zeros in beta
    places = model.nonzeros() + unused
    claim.record("counted", model.nonzeros())
    claim.record("zeros_where_a_beta_may_stand", unused)
    printed = {
        "free parameters": (free, n * (d + q) + 1, d ** (q + 1) + q * d**q + 1),
        "non-zero": (
            places,
            n * d + 3 * q * n + 8 * q + 1,
            d ** (q + 1) + 3 * q * d**q + 8 * q + 1,
        ),
    }
    for name, (ours, formula, bound) in printed.items():
        equal = "equal, not less" if ours == bound else ""
        claim.cell(f"d = {d}, q = {q}", f"{name}, fewer than", paper=bound, ours=ours, note=equal)
        claim.measured(name, ours, equation="counted in F, β, b and the blocks").equals(formula)
        claim.measured(name, ours, equation="Theorem 3.5").at_most(theorem(bound, "n_q ≤ d^q"))
        claim.measured(f"{name}: equality", ours == bound, equation="d=1 or q=1").equals(
            d == 1 or q == 1
        )


def test_printed_counts_are_reached(claim):
    """'Less than' is false for d = q = 1: three parameters (xi, beta, b) where 3 is the bound."""
    import torch

    Q = polynomials.Polynomial(1, {(0,): 1, (1,): 1})
    model = powers.construction(Q, 1)
    module = network.PolynomialTransformer(model, 1.0, torch.float64)
    counts = {"free parameters": sum(p.numel() for p in module.parameters())}
    counts["non-zero entries"] = model.nonzeros()
    for (name, ours), bound in zip(counts.items(), (1 + 1 + 1, 1 + 3 + 8 + 1), strict=True):
        claim.counterexample(
            f"the number of {name} is less than the bound",
            input={"d": 1, "q": 1, "Q": "1 + x", "B": 1},
            measured=ours,
            expected=bound,
            relation="<",
            equation="Theorem 3.5, last two sentences",
            snippet="from repro.fang2022 import network, polynomials, powers\n"
            "Q = polynomials.Polynomial(1, {(0,): 1, (1,): 1})\n"
            "module, exact = network.polynomial_transformer(Q, 1), powers.construction(Q, 1)\n"
            "d = q = 1\n"
            "free = sum(p.numel() for p in module.parameters())\n"
            "print(free, 'is not less than', d ** (q + 1) + q * d**q + 1)\n"
            "print(exact.nonzeros(), 'is not less than', d ** (q + 1) + 3*q * d**q + 8*q + 1)\n",
        )


def test_printed_sign_of_beta_gives_the_negative(claim):
    """'Set elements of beta as those beta_{k,s}': slot 1 holds -t, so Q = x comes out as -x."""
    Q = polynomials.Polynomial(1, {(1,): 1})
    model = powers.construction(Q, 1)
    unsigned = abs(model.beta)
    literal = model_.Transformer(model.F, model.blocks, unsigned, model.b)
    x = exact_.rationals([1])
    claim.counterexample(
        "beta consists of the beta_{k,s} of Lemma 3.3",
        input={"d": 1, "q": 1, "B": 1, "Q": "x", "beta": "1 for slot 1", "x": 1},
        measured=literal(x),
        expected=1,
        equation="proof of Theorem 3.5, choice of β",
        snippet="B, x, M = 1, 1, 1\n"
        "alpha = x * 1 + 2 * M**2            # block 1 multiplies t = x by the constant 1\n"
        "stored = alpha - 2 * max(alpha, 0) + 2 * max(-alpha, 0) + 2 * M**2\n"
        "print(1 * stored, 'should be', x)   # beta_{1,1} = 1, b = 0\n",
    )
    claim.measured("C(1) with the sign (−1)^s", model(x), equation=ZERO).equals(1)


def rational_points(*vectors):
    return exact_.rationals([[Fraction(c) for c in v] for v in vectors])


NARROW = ("-9999/10001", "200/10001")  # almost opposite to (1, 0), and a unit vector
FAILURES = {  # q, B, directions, and x = +-B e_1; just below both thresholds, and in small numbers
    "q=3-B=1/4": (3, "1/4", [("1", "0"), ("0", "1"), ("3/5", "4/5"), ("4/5", "3/5")], -1),
    "q=3-B=49/100": (
        3,
        "49/100",
        [("1", "0"), ("0", "1"), ("3/5", "4/5"), ("4/5", "3/5")],
        -1,
    ),
    "q=4-B=1/2": (
        4,
        "1/2",
        [("1", "0"), ("0", "1"), ("3/5", "4/5"), ("4/5", "3/5"), ("4/5", "-3/5")],
        1,
    ),
    "q=4-B=99/100": (
        4,
        "99/100",
        [("1", "0"), NARROW, ("0", "1"), ("3/5", "4/5"), ("4/5", "3/5")],
        1,
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_printed_lifts_let_another_token_win(case, claim):
    """Q = x_1^q and x = +-B e_1: the printed M = B^(i-1), against M^2 = B^i."""
    q, B, vectors, sign = FAILURES[case]
    B, xi = exact_.rational(B), rational_points(*vectors)
    Q = polynomials.Polynomial(2, {(q, 0): 1})
    x = exact_.rationals([sign * B, 0])
    built = {
        lifts: powers.construction(Q, B, directions=xi, lifts=lifts)
        for lifts in (powers.printed, powers.repaired)
    }
    claim.counterexample(
        "C^q = Q with M = B^(i-1) in block i >= 3",
        input={"d": 2, "q": q, "B": B, "Q": f"x_1^{q}", "xi": vectors, "x": [sign * B, 0]},
        measured=built[powers.printed](x),
        expected=Q(x),
        equation="proof of Theorem 3.5, choice of M",
        snippet=_snippet(q, B, sign, vectors),
    )
    claim.measured("C(x) with M² = B^i", built[powers.repaired](x), equation=ZERO).equals(Q(x))


def _snippet(q, B, sign, vectors):
    """Block by block in plain Python, for token 1."""
    return f"""from fractions import Fraction as R
B, q = R({int(B.p)}, {int(B.q)}), {q}
x = ({sign} * B, 0)
xi = [{", ".join(f"(R('{a}'), R('{b}'))" for a, b in vectors)}]
t = [u * x[0] + v * x[1] for u, v in xi]
y = [R(1)] * len(t)
for i in range(1, q + 1):
    M = B if i <= 2 else B ** (i - 1)        # as printed
    scores = [[t[k] * y[j] + 2 * M**2 * (j == k) for j in range(len(t))] for k in range(len(t))]
    y = [2 * M**2 - max(row) for row in scores]

print((-1) ** q * y[0], 'should be', t[0] ** q)      # beta reads slot q of token 1 with (-1)^q
"""


@pytest.mark.exact
def test_the_printed_lifts_fail_exactly_below_the_thresholds(claim):
    """A grid of t in [-B, B]^2, through the blocks: M = B^(i-1) is wrong for q = 3 if and only if
    B < 1/2, for q >= 4 if and only if B < 1; M^2 = B^i never.
    """
    half = claim.at_scale(smoke=3, laptop=10, paper=20)
    scanned = {3: ["2/5", "9/20", "49/100", "1/2", "51/100", "1"], 4: ["9/10", "99/100", "1", "2"]}
    if claim.scale != "smoke":
        scanned |= {5: ["9/10", "99/100", "1", "2"], 6: ["99/100", "1"]}
    for q, Bs in scanned.items():
        threshold = exact_.rational("1/2" if q == 3 else 1)
        for B in map(exact_.rational, Bs):
            wrong = {name: wrong_pairs(q, B, name, half) for name in ("printed", "repaired")}
            claim.record("wrong pairs (t_1, t_2)", wrong["printed"], q=q, B=B)
            name = f"printed M wrong somewhere, q = {q}, B = {B}"
            claim.measured(
                "printed M wrong somewhere", wrong["printed"] > 0, equation="thresholds", q=q, B=B
            ).equals(bool(threshold > B))
            claim.measured(
                "wrong with M² = B^i", wrong["repaired"], equation=ZERO, q=q, B=B
            ).equals(0)


def wrong_pairs(q, B, lifts, half):
    """Pairs (t_1, t_2) of multiples of B/half for which some slot does not hold (-1)^s t^s."""
    blocks = powers.power_blocks(2, q, getattr(powers, lifts)(q, B))
    steps = [k * B / half for k in range(-half, half + 1)]
    t = exact_.rationals(list(itertools.product(steps, steps)))
    Z = model_.Layout(2, q).tokens(t)
    for block in blocks:
        Z = block(Z)
    stored = np.stack([(-1) ** s * t**s for s in range(1, q + 1)], axis=-2)
    return int((Z[:, 3 : 3 + q] != stored).any(axis=(-2, -1)).sum())


@pytest.mark.parametrize("q", [2, 3, 5, 8], ids="q={}".format)
def test_control_one_block_fewer_leaves_chebyshevs_error(q, claim):
    """With q - 1 of these blocks the slots hold t, ..., t^(q-1), so C is of degree < q, whatever
    beta is. For Q = x^q, d = 1, the best of those is x^q - 2 (B/2)^q T_q(x/B), off by 2 (B/2)^q.

    For any p of degree < q and any nodes, sum_k w_k (x_k^q - p(x_k)) = 1 with the weights w of the
    divided difference; so the error is at least 1 / sum |w_k|. Nodes near Chebyshev's extrema,
    rational, prove all but 1 % of it.
    """
    B = exact_.rational(3)
    optimum = 2 * (B / 2) ** q
    nodes = [
        B * exact_.rational(round(1000 * math.cos(k * math.pi / q))) / 1000 for k in range(q + 1)
    ]
    weights = [1 / math.prod((a - b for b in nodes if b != a), start=B / B) for a in nodes]
    floor = 1 / sum(abs(w) for w in weights)
    x = exact_.rationals([[node] for node in nodes])
    error = with_a_block_fewer(q, x)
    claim.measured("error with q − 1 blocks", error, equation="Chebyshev").at_least(
        theorem(floor, "divided difference at q + 1 rational nodes, for all β")
    )
    claim.measured("proved part", floor, equation="2(B/2)^q").at_least(
        theorem(optimum * 99 / 100, "2(B/2)^q, the divided difference at Chebyshev's own nodes")
    )
    claim.measured("error of the best β, at x = B", error, equation="2(B/2)^q").equals(optimum)
    whole = powers.construction(polynomials.Polynomial(1, {(q,): 1}), B)
    claim.measured("error with q blocks", max(abs(whole(x) - x[:, 0] ** q)), equation=ZERO).equals(
        0
    )


def with_a_block_fewer(q, x):
    """Largest error at these x of [-3, 3] of the best output, for Q = x^q, of q - 1 blocks."""
    B = exact_.rational(3)
    best = polynomials.Polynomial(1, below_chebyshev(q, B))
    model = powers.construction(best, B, q=q)
    fewer = model_.Transformer(model.F, model.blocks[:-1], model.beta, model.b)
    return max(abs(fewer(x) - x[:, 0] ** q))


def below_chebyshev(q, B):
    """Coefficients of x^q - 2 (B/2)^q T_q(x/B), which is of degree q - 2."""
    last, T = {0: 1}, {1: 1}
    for _ in range(q - 1):
        doubled = {a + 1: 2 * c for a, c in T.items()}
        last, T = T, {a: doubled.get(a, 0) - last.get(a, 0) for a in {*doubled, *last}}
    return {(a,): -2 * (B / 2) ** q * c / B**a for a, c in T.items() if a < q}


@pytest.mark.parametrize("i", [2, 3, 4, 5], ids="block={}".format)
def test_control_a_lift_below_the_least_stores_the_wrong_power(i, claim):
    """2 % below: at the worst pair of tokens slot i is off by exactly those 2 %."""
    B = exact_.rational(3)
    lifts = powers.least(i, B)
    lack = lifts[-1] / 50
    lifts[-1] -= lack
    t = exact_.rationals([B, -B] if i % 2 == 0 else [-B, 0])
    Z = model_.Layout(2, i).tokens(t)
    for block in powers.power_blocks(2, i, lifts):
        Z = block(Z)
    error = abs(Z[2 + i, 0] - (-t[0]) ** i)
    claim.measured("error of the stored power", error, equation="least lifts").at_least(
        theorem(lack, "the block stores G − max α, so the lack of G is the error")
    )
    claim.measured("error of the stored power", error, equation="least lifts − 2 %").equals(lack)
