"""Lemma 3.3 (fang2022, p. 4; quoted from Zhou 2018): polynomials are sums of ridge powers.

There are n_q = C(d-1+q, q) unit vectors xi_k in R^d such that every polynomial Q of degree at most
q is Q(0) + sum over k and s of beta_{k,s} (xi_k . x)^s.

Checked: rational unit vectors written down for all d and q, with a proof that they serve
(repro/fang2022/ridge.py). Their norms are exactly 1; the coefficients are found without a matrix
inverse, and the polynomial that they give, expanded in symbols, is Q: every coefficient, for all Q
that a search finds to try, and for d = 10, q = 5 with its 2002 directions. A Gauss elimination in
rationals finds the same coefficients. In float64, for four families of directions, the residual is
that of a backward stable solver; the condition number for equispaced angles in the plane is the
sqrt C(q, q/2) that a circulant matrix predicts.
Controls: n_q - 1 directions, and n_q directions two of which are opposite, miss some form wholly.

Not checked: that these directions are well conditioned for large d (3e5 at d = 10, q = 5).
"""

import math

import numpy as np
import pytest

from repro.bounds import rounding_error, theorem
from repro.fang2022 import inputs, polynomials, ridge
from repro.fang2022.pictures import precision as pictures
from repro.numerics import exact as exact_
from repro.numerics import roundoff

SHAPES = [(1, 4), (2, 2), (2, 7), (3, 5), (5, 3)]
shapes = pytest.mark.parametrize(("d", "q"), SHAPES, ids=[f"d={d}-q={q}" for d, q in SHAPES])


def wrong_terms(Q, xi, beta):
    """Coefficients in which Q(0) + sum beta_{k,s} (xi_k . x)^s, expanded in symbols, is not Q."""
    x = exact_.symbols(*(f"x{i + 1}" for i in range(Q.d)))
    difference = Q.at_zero() - Q(exact_.vector(x))
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
    xi = ridge.directions(d, q)
    norms = (xi * xi).sum(-1)
    claim.measured("directions", len(xi), equation="n_q = C(d−1+q, q)").equals(
        math.comb(d - 1 + q, q)
    )
    claim.measured(
        "norms that are not 1", sum(norm != 1 for norm in norms), equation="‖ξ_k‖ = 1"
    ).equals(0)
    lines = {tuple(v) for v in xi.tolist()} | {tuple(-c for c in v) for v in xi.tolist()}
    claim.measured("directions and their opposites", len(lines), equation="distinct").equals(
        2 * len(xi)
    )


@pytest.mark.exact
def test_ten_variables_and_degree_five(claim):
    """The size of the paper's second experiment, n_q = 2002, at laptop scale; else degree 3."""
    q = claim.at_scale(smoke=3, laptop=5, paper=5)
    f_2 = polynomials.F_2_STAR
    low = polynomials.Polynomial(10, {a: c for a, c in f_2.coefficients.items() if sum(a) <= q})
    xi = ridge.directions(10, q)
    for name, Q in {
        "f_2*": low,
        "dense": polynomials.random_polynomial(10, q, claim.rng("dense")),
    }.items():
        claim.progress(0, 1)
        beta = ridge.coefficients(Q, q)
        bits = max(max(int(b.p).bit_length(), int(b.q).bit_length()) for b in beta.ravel())
        claim.record("bits of β", bits, name_=name)
        claim.record("β ≠ 0", int((beta != 0).sum()), name_=name)
        claim.measured(
            f"wrong coefficients, degree {q}, {len(xi)} directions",
            wrong_terms(Q, xi, beta),
            equation="(1)",
            name_=name,
        ).equals(0)


@shapes
@pytest.mark.exact
def test_gauss_elimination_finds_the_same_coefficients(d, q, claim):
    """A second solver: rows are moments, columns directions; for s = q the solution is unique."""
    Q, xi = (
        polynomials.random_polynomial(d, q, claim.rng("gauss")),
        ridge.directions(d, q),
    )
    ours, other = ridge.coefficients(Q, q), ridge.solve(Q, xi, q)
    claim.measured(
        "coefficients on which the two solvers disagree", int((ours != other).sum()), equation="(1)"
    ).equals(0)
    drawn = ridge.random_rational(d, len(xi), claim.rng("rational")) if d > 1 else xi
    wrong = wrong_terms(Q, drawn, ridge.solve(Q, drawn, q))
    claim.measured(
        "wrong coefficients with random rational directions", wrong, equation="(1)"
    ).equals(0)


def families(claim, d, q):
    n, rng = polynomials.dimension(d, q), claim.rng("directions")
    named = {
        "ours": exact_.to_float(ridge.directions(d, q)),
        "lattice": ridge.lattice(d, q),
        "random": ridge.random(d, n, rng),
    }
    return named | ({"equispaced": ridge.equispaced(n)} if d == 2 else {})


FLOATING = [(2, 2), (2, 5), (2, 10), (3, 5), (5, 3), (5, 5)]


@pytest.mark.parametrize(("d", "q"), FLOATING, ids=[f"d={d}-q={q}" for d, q in FLOATING])
@pytest.mark.construct
def test_float64_finds_coefficients_with_a_small_residual(d, q, claim):
    Q, points = (
        polynomials.random_polynomial(d, q, claim.rng("float64")),
        claim.rng("points").normal(size=(50, d)),
    )
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    exact = exact_.to_float(Q(exact_.rationals(points)))
    for name, xi in families(claim, d, q).items():
        beta, condition = ridge.solve_float(Q, xi, q)
        t, size = points @ xi.T, np.abs(beta).sum()
        constant = exact_.to_float(Q.at_zero())
        values = constant + sum(t ** (s + 1) @ beta[:, s] for s in range(q))
        # Backward stable: (A_s + E) beta_s = m_s with ||E|| <= 10 n u ||A_s||, ||A_s|| <= sqrt(n),
        # and a form of Bombieri norm r is at most r on the sphere. Each term is off by (d + q) u
        # from its powers, the sum by n q u.
        n, u = len(xi), roundoff.unit("float64")
        solved = 10 * n * math.sqrt(n) * np.linalg.norm(beta, axis=0).sum()
        summed = (n * q + 4 * (d + q)) * (size + abs(exact).max())
        claim.record("condition", condition, name_=name)
        claim.record("|β|₁", size, name_=name)
        off = np.abs(values - exact).max()
        claim.measured("largest residual on the sphere", off, equation="(1)", name_=name).at_most(
            rounding_error(
                u * (solved + summed),
                "backward stability 10nu‖A‖‖β‖, and (nq + 4(d + q))u of each term",
            )
        )


@pytest.mark.construct
def test_rate_the_condition_number_in_the_plane(claim):
    """Equispaced angles: the Gram matrix cos^q((j-k) pi/n) is circulant up to signs, n = q + 1, and
    its eigenvalues are n 2^-q C(q, m), m = 0, ..., q; the condition number is the root of a ratio.
    """
    degrees = list(range(1, claim.at_scale(smoke=9, laptop=15, paper=15)))
    found = {name: [] for name in ("ours", "lattice", "random", "equispaced")}
    for q in degrees:
        for name, xi in families(claim, 2, q).items():
            found[name].append(ridge.condition(xi, q))
        predicted = math.sqrt(math.comb(q, q // 2))
        # A singular value is off by a few u sigma_1: the ratio by u cond^2, times a factor ~ n.
        allowed = 10 * (q + 1) * roundoff.unit("float64") * predicted**2
        name = f"condition number, q = {q}"
        measured = found["equispaced"][-1]
        claim.measured("condition number", measured, equation="√C(q, q/2)", q=q).within(
            predicted, rounding_error(allowed, "10nu‖A‖ in each singular value")
        )
    predictions = [math.sqrt(math.comb(q, q // 2)) for q in degrees]
    claim.figure(
        pictures.conditions(degrees, found, predictions),
        "condition",
        caption="How much a solver loses: the condition number of β ↦ Σ β_k (ξ_k·x)^q for d = 2. "
        "Any directions in general position serve; equispaced angles serve best.",
        alt=f"Condition number against the degree from 1 to {degrees[-1]}, logarithmic. Equispaced "
        f"angles follow the prediction up to {found['equispaced'][-1]:.0f}; ours, rational, reach "
        f"{found['ours'][-1]:.1e}, the lattice {found['lattice'][-1]:.1e}, random directions "
        f"{found['random'][-1]:.1e}.",
    )


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
    chosen = rows[:, ridge.independent(rows)]
    kept = len(chosen[0])
    claim.measured("independent powers", kept, equation="n_q − 1").equals(len(rows) - 1)
    p = vanishing(chosen)
    weights = [polynomials.bombieri(a) for a in polynomials.exponents(d, q)]
    norm = sum(c * c * w for c, w in zip(p, weights, strict=True))
    gram = flint.fmpq_mat(kept, kept, [(u @ v) ** q for u in xi[:kept] for v in xi[:kept]])
    inner = flint.fmpq_mat(kept, 1, (p @ chosen).tolist())
    projected = (inner.transpose() * gram.solve(inner))[0, 0]  # ||projection of p||^2
    claim.measured(
        "distance² of p from the span, over ‖p‖²", (norm - projected) / norm, equation="(1), broken"
    ).at_least(theorem(1, "p ⟂ the span"))


def vanishing(columns):
    """Coefficients of the form of degree q that is 0 at all the columns' points; exact, not 0."""
    import flint

    n_q, n = columns.shape
    reduced, rank = flint.fmpq_mat(n, n_q, columns.T.ravel().tolist()).rref()
    pivots = [next(j for j in range(n_q) if reduced[i, j] != 0) for i in range(rank)]
    free = next(j for j in range(n_q) if j not in pivots)
    p = exact_.rationals([int(j == free) for j in range(n_q)])
    for i, j in enumerate(pivots):
        p[j] = -reduced[i, free]
    return p
