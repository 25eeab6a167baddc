"""Theorem 3.5 (fang2022, p. 5; proof in Section 6): every polynomial, with zero error.

For every B > 0 and every polynomial Q of degree at most q on R^d there is a model with q blocks
such that C^q(x) = Q(x) for all ||x|| <= B. It has fewer than d^(q+1) + q d^q + 1 free parameters
and fewer than d^(q+1) + 3q d^q + 8q + 1 non-zero entries.

The proof for all B, d, q and Q stands in repro/fang2022/powers.py; "fewer" is shown below.

Checked: the literal blocks, with the lifts G = 2M^2 and the signs corrected. In rationals, for
random d, q, B, Q and x, the output is exactly Q(x). In symbols, it is the polynomial Q, and each
token wins by exactly G + y_i t_i - y_j t_i; the lifts M^2 = B^i are the least possible, up to a
factor 2. f_1* and f_2* of Section 5, the latter with all its 2002 tokens at laptop scale. As an
ordinary module in float64, within a derived bound. The counts.
Controls: q - 1 of these blocks (best possible error 2 (B/2)^q), lifts 2 % below the least.

Edge case of the proof: M = B^(i-1) in block i >= 3 is too small for q = 3 if B < 1/2, and for
q >= 4 if B < 1 (if there are two tokens). M = max(B, B^(i-1)) mends it; we use M^2 = B^i, which is
sharper. Misprint: beta holds (-1)^s beta_{k,s}, since slot s holds (-1)^s t^s.

"Fewer than": the proof's model has n_q (d + q) + 1 free parameters and n_q d + 3q n_q + 8q + 1
non-zero entries, and n_q < d^q for d, q >= 2. For q = 1 and for d = 1 it reaches the bounds, but
another model has fewer, as the theorem says. q = 1 < d: one token, xi along the gradient of Q, has
d + 2 of both. d = 1: xi = 1 is not free, block 1 can be 0, as row 0 holds t: q + 1 and 11q - 8.

Not checked: whether fewer than q blocks of another kind suffice (they do: finding fewer blocks).
"""

import dataclasses
import math

import numpy as np
import pytest

from repro.bounds import rounding_error, theorem
from repro.fang2022 import approximation, inputs, multiplication, pictures, polynomials, powers
from repro.fang2022 import fewer_blocks as few
from repro.fang2022 import model as models
from repro.fang2022 import network as networks
from repro.fang2022 import ridge as ridges
from repro.fang2022 import tower as towers
from repro.numerics import exact

ZERO = "C^q(x) = Q(x)"
DERIVED = "tower.output_bound, derived there"
SHAPES = [(1, 5), (2, 2), (2, 4), (3, 3)]
shapes = pytest.mark.parametrize(("d", "q"), SHAPES, ids=[f"d={d}-q={q}" for d, q in SHAPES])


@pytest.mark.exact
def test_no_error_for_any_polynomial_at_any_point(claim):
    def wrong(case):
        q, Q, B, x = case
        return int((powers.construction(Q, B, q=q)(x) != Q(x)).sum())

    examples, cases = claim.at_scale(smoke=40, laptop=300, paper=3000), inputs.points_of_the_ball()
    claim.for_all("points with C(x) ≠ Q(x)", cases, wrong, equation=ZERO, examples=examples)


@shapes
@pytest.mark.exact
def test_identity_of_polynomials_with_the_winner_known(d, q, claim):
    """Each token keeps itself: then C^q is a polynomial in x. Not a number, the polynomial Q."""
    Q = polynomials.random_polynomial(d, q, claim.rng("identity"))
    model = powers.construction(Q, exact.rational(3))
    x = exact.vector(exact.symbols(*(f"x{i}" for i in range(d))))
    for unit in (1, 2):
        C = model(x, attend=models.keep_own, activate=models.only_unit(unit))
        claim.measured("terms of C − Q", len(C - Q(x)), equation=ZERO, active_unit=unit).equals(0)


@pytest.mark.parametrize("q", [2, 3, 5, 8], ids="q={}".format)
@pytest.mark.exact
def test_each_token_wins_and_the_lifts_cannot_be_smaller(q, claim):
    """In block i the score of token 1 exceeds that of token 2 by G + t_1 (y_1 - y_2), where slot
    i-1 holds y = (-1)^(i-1) t^(i-1). At the pair named in powers.py this is 0 for the least lift.
    """
    t1, t2, B = exact.symbols("t1", "t2", "B")
    lifts, least = powers.repaired(q, B), powers.least(q, B)
    Z = models.Layout(2, q).tokens(exact.vector([t1, t2]))
    wrong = slack = 0
    for i, block in enumerate(powers.power_blocks(2, q, lifts), 1):
        alpha, sign = block.scores(Z), (-1) ** (i - 1)
        margin = alpha[0, 0] - alpha[0, 1]
        wrong += margin != lifts[i - 1] + t1 * sign * (t1 ** (i - 1) - t2 ** (i - 1))
        worst = {1: (B, B)}.get(i, (B, -B) if i % 2 == 0 else (-B, 0 * B))
        slack += margin.compose(*worst, B) - lifts[i - 1] + least[i - 1] != 0
        Z = block(Z, models.keep_own, models.only_unit(1))
    claim.measured("margins that differ", wrong, equation="G + t_1(y_1 − y_2), block i").equals(0)
    claim.measured("least lifts with a margin", slack, equation="G ≥ max t_i (y_j − y_i)").equals(0)


@pytest.mark.exact
def test_the_first_target_of_section_5(claim):
    """f_1* = x_1^2 + x_2^2: three tokens, two blocks, all of a grid in the disc of radius 30."""
    model = powers.construction(polynomials.F_1_STAR, exact.rational(30))
    grid = [(a, b) for a in range(-30, 31, 3) for b in range(-30, 31, 3) if a * a + b * b <= 900]
    x = exact.rationals(grid)
    wrong = int((model(x) != polynomials.F_1_STAR(x)).sum())
    claim.measured("points with C ≠ f_1*", wrong, equation=ZERO, points=len(grid)).equals(0)
    claim.measured("tokens", model.layout.n, equation="n_q = C(d−1+q, q)").equals(3)


def second_target(claim, smoke):
    """f_2*, 2002 tokens, and its model without the blocks; at smoke scale f_2* to this degree."""
    q = claim.at_scale(smoke=smoke, laptop=5, paper=5)
    Q = polynomials.F_2_STAR.part(*range(q + 1))
    beta = powers.readout(ridges.coefficients(Q, q))
    return q, Q, models.Transformer(ridges.directions(10, q), (), beta, Q.at_zero())


@pytest.mark.exact
def test_the_second_target_of_section_5(claim):
    """f_2* through all blocks in rationals, every winner found, at points with ||x|| <= 5.

    A dense block of 2002 tokens takes 10^10 operations, most on zeros; `stored` leaves these out.
    """
    whole, one_to_ten = polynomials.F_2_STAR(exact.rationals([*range(1, 11)])), "(1, 2, ..., 10)"
    sum_of_terms = "Section 5: 1 + 48 + 54 + 60 + 75 + 672 + 18"
    claim.measured("f_2*", whole, equation=sum_of_terms, at=one_to_ten).equals(928)
    q, Q, model = second_target(claim, smoke=3)
    points = claim.at_scale(smoke=20, laptop=5, paper=50)
    x = exact.rationals(claim.rng("points").integers(-15, 16, (points, 10)).tolist()) / 10
    slots = powers.stored(x @ model.F.T, powers.repaired(q, exact.rational(5)))  # (q, points, n)
    C = model.b + (slots * powers.slots_of(model).T[:, None]).sum(axis=(0, 2))
    wrong, at = int((Q(x) != C).sum()), {"points": points, "tokens": len(model.F), "degree": q}
    claim.measured("points with C ≠ f_2*", wrong, equation=ZERO, **at).equals(0)


@pytest.mark.exact
def test_what_the_blocks_store_worked_out_by_hand(claim):
    """t = 1/2, -1/2, lifts 0 and 1/8: slot 1 is -t; in block 2 the other token wins, with 1/4."""
    t, lifts = exact.rationals(["1/2", "-1/2"]), [0, exact.rational("1/8")]
    Z = powers.tokens_after(powers.power_blocks(2, 2, lifts), models.Layout(2, 2), t)
    for way, slots in (("without zeros", powers.stored(t, lifts)), ("literal blocks", Z[3:5])):
        found = claim.measured("slots", slots.tolist(), equation="G − max α", way=way)
        found.equals(exact.rationals([["-1/2", "1/2"], ["-1/8", "-1/8"]]).tolist())


@pytest.mark.construct
def test_the_literal_blocks_with_all_tokens_of_the_second_target(claim):
    """f_2* at one point, float64, all scores of all tokens; zeros of weights are left out."""
    import torch

    q, Q, model = second_target(claim, smoke=2)
    rows, B, place = model.layout, 2, claim.rng("sample").normal(size=10)
    x = torch.tensor(place * (B / np.linalg.norm(place) / 1.01), device=claim.device)
    F, beta = (
        models.rounded(w, torch.float64, claim.device) for w in (model.F, powers.slots_of(model))
    )
    lifts = powers.roomy(q, exact.rational(B))
    Z = powers.tokens_after_sparse(rows, F @ x, lifts, claim.progress)
    C = (Z[rows.slot(1) : rows.one].mT * beta).sum()
    right = exact.to_float(Q(exact.rationals(x.cpu().numpy())))
    off = abs(C.item() + float(exact.to_float(model.b)) - float(right))
    bound = towers.output_bound(model, B, "float64")
    most = rounding_error(bound, f"{DERIVED}; the sum of |β| is large")
    claim.measured("|C(x) − f_2*(x)|", off, equation=ZERO, tokens=rows.n).at_most(most)


@pytest.mark.exact
def test_the_bound_on_the_round_off_at_a_point_worked_out_by_hand(claim):
    """Q = x_2² + 3x_2 + 7 stands on ξ_1 = (0, 1); B = 2, so |β| B^s = 6, 4. In units of u: ξ·x is
    off by 3, slot s by 4.25s, and 6 β and b with 8: 6 (4.25 + 3) + 4 (8.5 + 6) + 8 (6 + 4 + 7).
    """
    two = polynomials.Polynomial(2, {(0, 2): 1, (0, 1): 3, (0, 0): 7})
    bound = towers.output_bound(powers.construction(two, 2), 2, "float32") / 2.0**-24
    found = claim.measured("bound over u", bound, equation="tower.output_bound")
    found.within(237.5 * (1 + 2**-10), rounding_error(1e-3, "terms of second order"))


@shapes
@pytest.mark.construct
def test_an_ordinary_module_computes_the_polynomial(d, q, claim):
    import torch

    Q, B = polynomials.random_polynomial(d, q, claim.rng("module")), 2
    x = claim.rng("inputs").normal(size=(200, d))
    x *= B / np.linalg.norm(x, axis=1, keepdims=True) * claim.rng("radii").uniform(size=(200, 1))
    built = powers.construction(Q, B, lifts=powers.roomy)
    model = networks.PolynomialTransformer(built, B, torch.float64, claim.device)
    ours = model(torch.tensor(x, device=claim.device)).detach().cpu().numpy()
    off = max(abs(exact.rationals(ours) - Q(exact.rationals(x))))
    bound = towers.output_bound(built, B, "float64")
    error = claim.measured("largest |C(x) − Q(x)|", off, equation=ZERO)
    error.at_most(rounding_error(bound, DERIVED))


@pytest.mark.construct
def test_figure_the_error_against_the_degree(claim):
    """Q = x^q on [-3, 3], at 200 points and both ends: in rationals, in two types, a block less."""
    import torch

    B, qs, types = 3, range(1, 9), ("float64", "float32")
    drawn = np.append(claim.rng("points").uniform(-B, B, 200), [-B, B])[:, None]
    x, errors, fewer = exact.rationals(drawn), [], []
    floating, bounds = {name: [] for name in types}, {name: [] for name in types}
    for q in qs:
        Q, size = polynomials.Polynomial(1, {(q,): 1}), float(B**q)
        model = powers.construction(Q, B, lifts=powers.roomy)
        errors.append(max(abs(model(x) - Q(x))))
        claim.measured("largest |C(x) − x^q|", errors[-1], equation=ZERO, q=q).equals(0)
        for name in types:
            points = torch.tensor(drawn.astype(name))
            C = networks.PolynomialTransformer(model, B, points.dtype)(points).tolist()
            off = max(abs(exact.rationals(C) - Q(exact.rationals(points.tolist()))))
            floating[name].append(float(exact.to_float(off)) / size)
            bounds[name].append(towers.output_bound(model, B, name) / size)
            at = {"equation": ZERO, "q": q, "dtype": name}
            error = claim.measured("largest |C(x) − x^q| over B^q", floating[name][-1], **at)
            error.at_most(rounding_error(bounds[name][-1], DERIVED))
        fewer.append(float(exact.to_float(approximation.error_with_a_block_fewer(q, B, x))) / size)
    most = {name: f"{max(found):.1e}" for name, found in floating.items()}
    claim.figure(
        pictures.zero_error(qs, [float(error) for error in errors], floating, bounds, fewer),
        "zero-error",
        caption="In rationals the error of q blocks is 0 at every point. In floating point what is "
        "left is round-off, below the derived bounds. With q − 1 of the blocks no β does better "
        "than 2 (B/2)^q. Q = x^q on [−3, 3].",
        alt=f"Largest error over B^q against the degree q from 1 to {qs[-1]}. In rationals 0 for "
        f"every q. In float64 at most {most['float64']}, in float32 at most {most['float32']}, "
        f"each below its bound. One block fewer: from {fewer[0]:g} down to {fewer[-1]:.1e}.",
    )


COUNTED = {  # d, q: n_q (d + q) + 1 and n_q d + 3q n_q + 8q + 1, then the printed bounds; by hand
    **{(1, 1): (3, 13, 3, 13), (1, 4): (6, 46, 6, 46), (2, 1): (7, 19, 7, 19)},
    **{(3, 1): (13, 27, 13, 27), (2, 2): (13, 41, 17, 49), (2, 4): (31, 103, 97, 257)},
    (3, 3): (61, 145, 163, 349),  # n_q = 10: 61 and 30 + 90 + 25; 81 + 81 + 1 and 81 + 243 + 25
}
COUNTS = ("free parameters", "non-zero")


@pytest.mark.parametrize(("d", "q"), COUNTED, ids=[f"d={d}-q={q}" for d, q in COUNTED])
@pytest.mark.construct
def test_counts_of_parameters_and_nonzero_entries(d, q, claim):
    import torch

    model = inputs.generic_model(claim.rng("counts"), d, q, B=2)
    module = networks.PolynomialTransformer(model, 2.0, torch.float64)
    n, (*formulas, free, nonzero) = math.comb(d - 1 + q, q), COUNTED[d, q]
    unused = sum(n - math.comb(d - 1 + s, s) for s in range(1, q))  # zeros in beta
    ours = sum(p.numel() for p in module.parameters()), model.nonzeros() + unused
    for name, count, by_hand, bound in zip(COUNTS, ours, formulas, (free, nonzero), strict=True):
        found = claim.measured("numbers in the model", count, equation="Theorem 3.5", counted=name)
        found.equals(by_hand).at_most(theorem(bound, "printed; n_q ≤ d^q"))


def smaller_model(Q, q):
    """d = 1: block 1 is 0, row 0 holds t. q = 1: one token, xi along the gradient of Q."""
    rows, of = models.Layout(1, q), Q.coefficients
    blocks = (multiplication.identity(rows), *few.printed_products(1, q, 2))
    if Q.d == 1:
        F, read = [[1]], [(-1) ** (s + 1) * of[s,] for s in range(1, q + 1)]
    else:
        gradient = [of[tuple(row)] for row in np.eye(Q.d, dtype=int).tolist()]
        read = [sum(map(abs, gradient))]  # so that ||xi|| <= 1
        F = [[c / read[0] for c in gradient]]
    beta = rows.readout(few.power_rows(rows)[1:], exact.rationals([read]))
    return models.Transformer(exact.rationals(F), blocks, beta, Q.at_zero())


FEWER = {(1, 1): (2, 3), (1, 4): (5, 36), (2, 1): (4, 4), (5, 1): (7, 7)}  # q + 1, 11q - 8; d + 2


@pytest.mark.parametrize(("d", "q"), FEWER, ids="{}".format)
@pytest.mark.exact
def test_fewer_than_the_bounds_also_where_n_q_is_d_to_the_q(d, q, claim):
    Q = polynomials.random_polynomial(d, q, claim.rng("fewer"))
    model = smaller_model(Q, q)
    x = exact.rationals(claim.rng("x").integers(-9, 10, (50, d)).tolist()) * 2 / (9 * d)
    wrong = int((model(x) != Q(x)).sum())
    claim.measured("points with C(x) ≠ Q(x)", wrong, equation=ZERO, blocks=q).equals(0)
    bounds = {**COUNTED, (5, 1): (31, 49)}[d, q][-2:]  # 25 + 5 + 1 and 25 + 15 + 9
    ours = (d if d > 1 else 0) + q + 1, model.nonzeros()  # F if it is not 1, beta and b
    for name, count, by_hand, bound in zip(COUNTS, ours, FEWER[d, q], bounds, strict=True):
        found = claim.measured("numbers in the model", count, equation="n_q = d^q", counted=name)
        found.equals(by_hand).at_most(theorem(bound - 1, "'less than' the printed bound"))


def output_with_the_printed_beta(x, M):
    alpha = x * 1 + 2 * M**2  # block 1 multiplies t = x by the constant 1
    stored = alpha - 2 * max(alpha, 0) + 2 * max(-alpha, 0) + 2 * M**2
    return 1 * stored, x  # beta_{1,1} = 1, b = 0


def test_printed_sign_of_beta_gives_the_negative(claim):
    """'Set elements of beta as those beta_{k,s}': slot 1 holds -t, so Q = x comes out as -x."""
    model = powers.construction(polynomials.Polynomial(1, {(1,): 1}), 1)
    unsigned, x = dataclasses.replace(model, beta=abs(model.beta)), exact.rationals([1])
    claim.counterexample(
        "beta consists of the beta_{k,s} of Lemma 3.3",
        input={"d": 1, "q": 1, "B": 1, "Q": "x", "beta": "1 for slot 1", "x": 1},
        measured=unsigned(x),
        expected=1,
        equation="proof of Theorem 3.5, choice of β",
        program=output_with_the_printed_beta,
        **{"x": 1, "M": 1},
    )
    claim.measured("C(1) with the sign (−1)^s", model(x), equation=ZERO).equals(1)


FOUR = [("1", "0"), ("0", "1"), ("3/5", "4/5"), ("4/5", "3/5")]
NARROW = ("-9999/10001", "200/10001")  # almost opposite to (1, 0), and a unit vector
FAILURES = {  # q, B, directions, and x = +-B e_1; just below both thresholds, and in small numbers
    "q=3-B=1/4": (3, "1/4", FOUR, -1),
    "q=3-B=49/100": (3, "49/100", FOUR, -1),
    "q=4-B=1/2": (4, "1/2", [*FOUR, ("4/5", "-3/5")], 1),
    "q=4-B=99/100": (4, "99/100", [("1", "0"), NARROW, *FOUR[1:]], 1),
}


def output_with_the_printed_lifts(q, B, sign, cosines):
    from fractions import Fraction

    B = Fraction(B)
    t = [sign * B * Fraction(c) for c in cosines]  # xi_k . x for x = sign B e_1
    y = [Fraction(1)] * len(t)
    for i in range(1, q + 1):
        M = B if i <= 2 else B ** (i - 1)
        scores = [[a * b + 2 * M**2 * (j == k) for j, b in enumerate(y)] for k, a in enumerate(t)]
        y = [2 * M**2 - max(row) for row in scores]
    return (-1) ** q * y[0], t[0] ** q  # beta reads slot q of token 1 with (-1)^q


@pytest.mark.parametrize("case", FAILURES)
def test_printed_lifts_let_another_token_win(case, claim):
    """Q = x_1^q and x = +-B e_1."""
    q, B, vectors, sign = FAILURES[case]
    Q, xi = polynomials.Polynomial(2, {(q, 0): 1}), exact.rationals(vectors)
    x = exact.rationals([sign * exact.rational(B), 0])
    printed = powers.construction(Q, B, directions=xi, lifts=powers.printed)
    repaired = powers.construction(Q, B, directions=xi, lifts=powers.repaired)
    claim.counterexample(
        "C^q = Q with M = B^(i-1) in block i >= 3",
        input={"d": 2, "q": q, "B": B, "Q": f"x_1^{q}", "xi": vectors, "x": x.tolist()},
        measured=printed(x),
        expected=Q(x),
        equation="proof of Theorem 3.5, choice of M",
        program=output_with_the_printed_lifts,
        **{"q": q, "B": B, "sign": sign, "cosines": [c for c, _ in vectors]},
    )
    claim.measured("C(x) with M² = B^i", repaired(x), equation=ZERO).equals(Q(x))


def larger(q, B):
    return [2 * max(B, B ** (i - 1)) ** 2 for i in range(1, q + 1)]


@pytest.mark.exact
def test_the_printed_lifts_fail_exactly_below_the_thresholds(claim):
    """A grid of t in [-B, B]^2, through the blocks: M = B^(i-1) is wrong for q = 3 if and only if
    B < 1/2, for q >= 4 if and only if B < 1; M^2 = B^i and M = max(B, B^(i-1)) never.
    """
    half = claim.at_scale(smoke=3, laptop=10, paper=20)
    scanned = {3: ["2/5", "9/20", "49/100", "1/2", "51/100", "1"], 4: ["9/10", "99/100", "1", "2"]}
    if claim.scale != "smoke":
        scanned |= {5: ["9/10", "99/100", "1", "2"], 6: ["99/100", "1"]}
    for q, B in ((q, exact.rational(B)) for q, Bs in scanned.items() for B in Bs):
        threshold = exact.rational("1/2" if q == 3 else 1)
        printed = powers.wrong_pairs(q, B, powers.printed, half)
        wrong = claim.measured("M wrong somewhere", printed > 0, equation="M = B^(i−1)", q=q, B=B)
        wrong.equals(bool(threshold > B))
        enough = {"M² = B^i": powers.repaired, "M = max(B, B^(i−1))": larger}
        for M, lifts in enough.items():
            found = powers.wrong_pairs(q, B, lifts, half)
            claim.measured("wrong pairs", found, equation=M, q=q, B=B).equals(0)


@pytest.mark.parametrize("q", [2, 3, 5, 8], ids="q={}".format)
def test_control_one_block_fewer_leaves_chebyshevs_error(q, claim):
    """With q - 1 of these blocks the slots hold t, ..., t^(q-1), so C is of degree < q, whatever
    beta is. For Q = x^q, d = 1, the least error is 2 (B/2)^q; rational nodes near Chebyshev's
    extrema prove all but 1 % of it (approximation.distance).
    """
    B, law = exact.rational(3), "2(B/2)^q"
    optimum, cosines = 2 * (B / 2) ** q, [math.cos(k * math.pi / q) for k in range(q + 1)]
    nodes = exact.rationals([round(1000 * c) for c in cosines]) * B / 1000
    floor = approximation.distance(nodes**q, np.stack([nodes**s for s in range(q)], axis=1))
    x = nodes[:, None]
    least = approximation.error_with_a_block_fewer(q, B, x)
    error = claim.measured("error with q − 1 blocks", least, equation=law)
    error.at_least(theorem(floor, "divided difference at q + 1 rational nodes, for all β"))
    error.equals(optimum)
    claim.measured("proved part of it", floor, equation=law).at_least(
        theorem(optimum * 99 / 100, "2(B/2)^q, the divided difference at Chebyshev's own nodes")
    )


@pytest.mark.parametrize("i", [2, 3, 4, 5], ids="block={}".format)
def test_control_a_lift_below_the_least_stores_the_wrong_power(i, claim):
    """2 % below: at the worst pair of tokens slot i is off by those 2 %, of 2B^i or B^i."""
    B = exact.rational(3)
    lifts = powers.least(i, B)
    lack = lifts[-1] / 50
    lifts[-1] -= lack
    t = exact.rationals([B, -B] if i % 2 == 0 else [-B, 0])
    Z = powers.tokens_after(powers.power_blocks(2, i, lifts), models.Layout(2, i), t)
    off = abs(Z[2 + i, 0] - (-t[0]) ** i)
    error = claim.measured("error of the stored power", off, equation="least lifts less 2 %")
    error.equals({2: 18, 3: 27, 4: 162, 5: 243}[i] / exact.rational(50))
