"""Lemma 3.3 (fang2022, p. 4; quoted from Zhou 2018): polynomials are sums of ridge powers.

There are n_q = C(d-1+q, q) unit vectors xi_k in R^d such that every polynomial Q of degree at most
q is Q(0) + sum over k and s of beta_{k,s} (xi_k . x)^s.

Rational unit vectors for all d and q, and the proof that they serve, stand in
repro/fang2022/ridge.py.

Checked: the three facts that the proof uses: the inner product <p, (xi . x)^s> = p(xi), the
hyperplane that holds the last directions and no other, and that no form of degree q vanishes at
all directions. The polynomial that they give, expanded in symbols, is Q: every
coefficient, for random Q, and for d = 10, q = 5 with its 2002 directions. A Gauss elimination finds
the same coefficients. In float64, for four families of directions, the residual is that of a
backward stable solver; the condition number for equispaced angles is sqrt C(q, q/2), as predicted.
Controls: n_q - 1 directions, and n_q directions two of which are opposite, miss some form wholly.

Not checked: that these directions are well conditioned for large d.
"""

import math

import numpy as np
import pytest

from repro.bounds import rounding_error, theorem
from repro.fang2022 import inputs, polynomials, ridge
from repro.numerics import exact, roundoff

SHAPES = [(1, 4), (2, 2), (2, 7), (3, 5), (5, 3)]
shapes = pytest.mark.parametrize(("d", "q"), SHAPES, ids=[f"d={d}-q={q}" for d, q in SHAPES])


def wrong_terms(Q, xi, beta):
    """Coefficients in which Q(0) + sum beta_{k,s} (xi_k . x)^s, expanded in symbols, is not Q."""
    x = exact.symbols(*(f"x{i + 1}" for i in range(Q.d)))
    difference = Q.at_zero() - Q(exact.vector(x))
    for direction, row in zip(xi, beta, strict=True):
        t = sum(c * symbol for c, symbol in zip(direction, x, strict=True))
        value = 0 * t
        for b in row[::-1]:  # Horner: ((beta_q t + ...) t + beta_1) t
            value = (value + b) * t
        difference = difference + value
    return len(difference)


@pytest.mark.exact
def test_one_set_of_directions_serves_every_polynomial(claim):
    def wrong(case):
        q, Q = case
        xi = ridge.directions(Q.d, q)
        return wrong_terms(Q, xi, ridge.coefficients(Q, q))

    examples = claim.at_scale(smoke=60, laptop=400, paper=4000)
    cases = inputs.polynomials({1: 8, 2: 6, 3: 5, 4: 3})
    claim.for_all("wrong coefficients", cases, wrong, equation="(1)", examples=examples)


@pytest.mark.parametrize(("d", "q"), [*SHAPES, (5, 5), (10, 5)], ids="{}".format)
@pytest.mark.exact
def test_the_directions_are_unit_vectors_and_as_many_as_stated(d, q, claim):
    xi, n_q = ridge.directions(d, q), math.comb(d - 1 + q, q)
    claim.measured("directions", len(xi), equation="n_q = C(d−1+q, q)").equals(n_q)
    wrong = sum(norm != 1 for norm in (xi * xi).sum(-1))
    claim.measured("norms that are not 1", wrong, equation="‖ξ_k‖ = 1").equals(0)
    lines = {tuple(sign * c for c in v) for v in xi for sign in (1, -1)}
    claim.measured("directions and opposites", len(lines), equation="ξ_j ≠ ±ξ_k").equals(2 * n_q)


@pytest.mark.exact
def test_directions_and_coefficients_worked_out_by_hand(claim):
    """The circle: (0, 1), (±3/5, 4/5), (±4/5, 3/5), (±5/13, 12/13). N(3, 1): ((0, 1) y), then x' of
    N(2, 1) = (0, 1), (3/5, 4/5) with y turned by (3/5, 4/5).
    x_1 x_2 + 3x_1 + 9: (±3/5 x_1 + 4/5 x_2)² differ by 48/25 x_1 x_2; 3x_1 = 5 (3/5 x_1 + 4/5 x_2)
    - 4 x_2. Bombieri: <x^a, x^a> = a!/s!, so 1/2 for x_1 x_2, 1/6 for three factors, 1 for a power.
    """
    circle = [[0, 1]]
    for a, b, c in ((3, 4, 5), (4, 3, 5), (5, 12, 13)):
        circle += [[f"{a}/{c}", f"{b}/{c}"], [f"-{a}/{c}", f"{b}/{c}"]]
    space = [[0, 0, 1], [0, "3/5", "4/5"], ["3/5", "12/25", "16/25"]]
    Q = polynomials.Polynomial(2, {(1, 1): 1, (1, 0): 3, (0, 0): 9})
    products = [polynomials.bombieri(a) for a in ((1, 1), (1, 1, 1), (3, 0), (2, 1))]
    by_hand = {
        "circle": (np.array(ridge.circle(7)), circle),
        "N(1, 4)": (ridge.directions(1, 4), [[1]]),
        "N(2, 2)": (ridge.directions(2, 2), circle[:3]),
        "N(3, 1)": (ridge.directions(3, 1), space),
        "β of x_1 x_2 + 3x_1 + 9": (
            ridge.coefficients(Q, 2),
            [[-4, 0], [5, "25/48"], [0, "-25/48"]],
        ),
        "<x^a, x^a>": (np.array(products), ["1/2", "1/6", 1, "1/3"]),
        "monomials of (2, 3)": (
            polynomials.monomials(exact.rationals([[2, 3]]), 2),
            [[4], [6], [9]],
        ),
    }
    for name, (found, expected) in by_hand.items():
        numbers = claim.measured("numbers", found.tolist(), equation="Lemma 3.3", of=name)
        numbers.equals(exact.rationals(expected).tolist())
    sizes = [polynomials.dimension(d, s) for d, s in ((2, 2), (3, 2), (10, 5))]
    claim.measured("n_q", sizes, equation="n_q = C(d−1+q, q)").equals([3, 6, 2002])


@shapes
@pytest.mark.exact
def test_the_facts_that_the_proof_uses(d, q, claim):
    xi, proof = ridge.directions(d, q), "Lemma 3.3, proof in ridge.py"
    p = polynomials.random_polynomial(d, q, claim.rng("form")).part(q)
    x, wrong = exact.vector(exact.symbols(*(f"x{i}" for i in range(d)))), 0
    for direction in xi:
        of = ((direction @ x) ** q).to_dict()  # the coefficients of (xi . x)^q
        inner = sum(c * of.get(a, 0) * polynomials.bombieri(a) for a, c in p.coefficients.items())
        wrong += bool(inner != p(direction))
    claim.measured("directions with ⟨p, (ξ·x)^q⟩ ≠ p(ξ)", wrong, equation=proof).equals(0)
    rank = len(ridge.independent(polynomials.monomials(xi, q)))
    claim.measured("rank of all monomials at all ξ_k", rank, equation=proof).equals(len(xi))
    if d > 1:
        c, s = ridge.circle(q + 1)[q]
        on = [bool(c * v[-1] == s * v[-2]) for v in xi]
        last = polynomials.dimension(d - 1, q)
        expected, l = [k >= len(xi) - last for k in range(len(xi))], "l(ξ_k) = 0"
        claim.measured("which ξ_k lie on the hyperplane", on, equation=l).equals(expected)


@pytest.mark.exact
def test_ten_variables_and_degree_five(claim):
    """The size of the paper's second experiment, n_q = 2002, at laptop scale; else degree 3."""
    q = claim.at_scale(smoke=3, laptop=5, paper=5)
    xi = ridge.directions(10, q)
    targets = {
        "f_2*": polynomials.F_2_STAR.part(*range(q + 1)),
        "dense": polynomials.random_polynomial(10, q, claim.rng("dense")),
    }
    for name, Q in targets.items():
        claim.progress(0, 1)
        beta, at = ridge.coefficients(Q, q), {"Q": name, "degree": q, "directions": len(xi)}
        bits = max(max(int(b.p).bit_length(), int(b.q).bit_length()) for b in beta.ravel())
        claim.record("bits of β", bits, **at)
        claim.record("β ≠ 0", int((beta != 0).sum()), **at)
        wrong = wrong_terms(Q, xi, beta)
        claim.measured("wrong coefficients", wrong, equation="(1)", **at).equals(0)


@shapes
@pytest.mark.exact
def test_gauss_elimination_finds_the_same_coefficients(d, q, claim):
    """A second solver: rows are moments, columns directions; for s = q the solution is unique."""
    xi, Q = ridge.directions(d, q), polynomials.random_polynomial(d, q, claim.rng("gauss"))
    differ = int((ridge.coefficients(Q, q) != ridge.solve(Q, xi, q)).sum())
    claim.measured("coefficients that differ", differ, equation="(1)", directions="ours").equals(0)
    drawn = ridge.random_rational(d, len(xi), claim.rng("rational")) if d > 1 else xi
    wrong = wrong_terms(Q, drawn, ridge.solve(Q, drawn, q))
    claim.measured("wrong coefficients", wrong, equation="(1)", directions="random").equals(0)


def families(claim, d, q):
    n, rng = polynomials.dimension(d, q), claim.rng("directions")
    named = {
        "ours": exact.to_float(ridge.directions(d, q)),
        "lattice": ridge.normalised(np.array([*polynomials.exponents(d, q)], dtype=float)),
        "random": ridge.normalised(rng.normal(size=(n, d))),
    }
    return named | ({"equispaced": ridge.equispaced(n)} if d == 2 else {})


FLOATING = [(2, 2), (2, 5), (2, 10), (3, 5), (5, 3), (5, 5)]


@pytest.mark.parametrize(("d", "q"), FLOATING, ids=[f"d={d}-q={q}" for d, q in FLOATING])
@pytest.mark.construct
def test_float64_finds_coefficients_with_a_small_residual(d, q, claim):
    Q = polynomials.random_polynomial(d, q, claim.rng("float64"))
    points = claim.rng("points").normal(size=(50, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    right = exact.to_float(Q(exact.rationals(points)))
    for name, xi in families(claim, d, q).items():
        beta, condition = ridge.solve_float(Q, xi, q)
        t, size = points @ xi.T, np.abs(beta).sum()
        constant = exact.to_float(Q.at_zero())
        values = constant + sum(t ** (s + 1) @ beta[:, s] for s in range(q))
        # Backward stable: (A_s + E) beta_s = m_s with ||E|| <= 10 n u ||A_s||, ||A_s|| <= sqrt(n),
        # and a form of Bombieri norm r is at most r on the sphere. Each term is off by (d + q) u
        # from its powers, the sum by n q u.
        n, u = len(xi), roundoff.unit("float64")
        solved = 10 * n * math.sqrt(n) * np.linalg.norm(beta, axis=0).sum()
        summed = (n * q + 4 * (d + q)) * (size + abs(right).max())
        stable = rounding_error(u * solved, "backward stability, 10nu‖A‖‖β‖")
        terms = rounding_error(u * summed, "(nq + 4(d + q))u of each term")
        claim.record("condition number", condition, directions=name)
        claim.record("|β|₁", size, directions=name)
        off = np.abs(values - right).max()
        residual = claim.measured("largest residual", off, equation="(1)", directions=name)
        residual.at_most(stable + terms)


@pytest.mark.construct
def test_rate_the_condition_number_in_the_plane(claim):
    """Equispaced angles: the Gram matrix cos^q((j-k) pi/n) is circulant up to signs, n = q + 1, and
    its eigenvalues are n 2^-q C(q, m), m = 0, ..., q; the condition number is the root of a ratio.
    """
    for q in range(1, claim.at_scale(smoke=9, laptop=15, paper=15)):
        found = ridge.condition(ridge.equispaced(q + 1), q)
        predicted = math.sqrt(math.comb(q, q // 2))
        # A singular value is off by a few u sigma_1: the ratio by u cond^2, times a factor ~ n.
        allowed = 10 * (q + 1) * roundoff.unit("float64") * predicted**2
        number = claim.measured("condition", found, equation="√C(q, q/2)", q=q)
        number.within(predicted, rounding_error(allowed, "10nu‖A‖ in each singular value"))


@pytest.mark.parametrize("broken", ["one direction fewer", "two opposite directions"])
@pytest.mark.parametrize(
    ("d", "q"), [(2, 3), (3, 3), (3, 4)], ids=["d=2-q=3", "d=3-q=3", "d=3-q=4"]
)
def test_control_a_form_that_vanishes_at_all_directions_is_missed(d, q, broken, claim):
    """Take p with p(xi_k) = 0 for all k. Since <p, (xi . x)^q> = p(xi), p is orthogonal to all that
    the directions can make: the best they do against Q = p is 0, and the distance is all of p.
    """
    import flint

    xi = ridge.directions(d, q)
    xi = xi[:-1] if broken == "one direction fewer" else np.concatenate([xi[:-1], -xi[:1]])
    rows = polynomials.monomials(xi, q)  # (n_q, n)
    columns = rows[:, ridge.independent(rows)]
    kept = len(columns[0])
    claim.measured("independent powers", kept, equation="n_q − 1").equals(len(rows) - 1)
    p = exact.annihilator(columns)
    weights = [polynomials.bombieri(a) for a in polynomials.exponents(d, q)]
    norm = sum(c * c * w for c, w in zip(p, weights, strict=True))
    gram = flint.fmpq_mat(kept, kept, [(u @ v) ** q for u in xi[:kept] for v in xi[:kept]])
    inner = flint.fmpq_mat(kept, 1, (p @ columns).tolist())
    projected = (inner.transpose() * gram.solve(inner))[0, 0]  # ||projection of p||^2
    name, share = "distance² of p from the span, over ‖p‖²", (norm - projected) / norm
    least = theorem(1, "p is orthogonal to the span")
    claim.measured(name, share, equation="(1) with such directions").at_least(least)
