"""Remark 3.4 (fang2022, p. 4): the representation determines the polynomial.

A polynomial of degree at most q is uniquely determined by Q(0), the beta_{k,s} and the xi_k.

Checked: in rationals. Q(0), beta and xi, drawn at random, give a polynomial, and it is the one that
the Transformer with these weights outputs, coefficient by coefficient. The other direction, for
the directions of Lemma 3.3: the beta_{k,q} of highest degree are determined by Q, the others are
not; the space of all beta that give the polynomial 0 has dimension sum over s < q of (n_q - n_s),
which is 1 for d = q = 2 and 7008 for d = 10, q = 5. (Ranks are computed modulo a prime, which can
only lower them, and n_s is the most they can be.)
Control: without Q(0) the polynomial is not determined.

Readings: the remark does not say that the beta are unique; the counterexample stored here shows
that they are not.
"""

import numpy as np
import pytest

from repro.bounds import theorem
from repro.fang2022 import model as models
from repro.fang2022 import polynomials, powers, ridge
from repro.numerics import exact

PRIME = 2**31 - 1


def polynomial(constant, beta, xi):
    """Q(0) + sum beta_{k,s} (xi_k . x)^s in symbols."""
    x = exact.symbols(*(f"x{i}" for i in range(xi.shape[1])))
    t = [sum(c * symbol for c, symbol in zip(v, x, strict=True)) for v in xi]
    rows = zip(t, beta, strict=True)
    terms = [b * t_k**s for t_k, row in rows for s, b in enumerate(row, start=1)]
    return sum(terms, 0 * x[0] + constant)


SHAPES = [(1, 3), (2, 2), (2, 4), (3, 2)]


@pytest.mark.parametrize(("d", "q"), SHAPES, ids=[f"d={d}-q={q}" for d, q in SHAPES])
@pytest.mark.exact
def test_the_data_determine_the_polynomial_that_the_model_outputs(d, q, claim):
    rng, xi = claim.rng("data"), ridge.directions(d, q)
    beta = exact.rationals(rng.integers(-9, 10, (len(xi), q)).tolist()) / 4
    constant = exact.rational(5)
    blocks = powers.power_blocks(len(xi), q, powers.repaired(q, constant))
    model = models.Transformer(xi, blocks, powers.readout(beta), constant)
    x = exact.vector(exact.symbols(*(f"x{i}" for i in range(d))))
    C = model(x, attend=models.keep_own, activate=models.only_unit(1))
    terms = len(C - polynomial(constant, beta, xi))
    claim.measured("terms of C − Q", terms, equation="Remark 3.4").equals(0)


def rank(xi, s):
    """Rank of the (xi_k . x)^s modulo a prime: at most the rank over the rationals."""
    import flint

    residues = [[int(c.p) * pow(int(c.q), -1, PRIME) % PRIME for c in v] for v in xi]
    rows = polynomials.monomials(np.array(residues, dtype=object), s) % PRIME
    n_s, n = rows.shape
    return flint.nmod_mat(n_s, n, rows.ravel().tolist(), PRIME).rank()


@pytest.mark.parametrize("size", ["small", "Section 5"])
@pytest.mark.exact
def test_how_many_coefficients_give_the_same_polynomial(size, claim):
    """Dimension of {beta : sum beta_{k,s} (xi_k . x)^s = 0}; for s = q it is 0."""
    full = (10, 5, 7008)
    large = claim.at_scale(smoke=(5, 3, 35 - 5 + 35 - 15), laptop=full, paper=full)
    d, q, expected = (2, 2, 1) if size == "small" else large
    xi = ridge.directions(d, q)
    free = {s: len(xi) - rank(xi, s) for s in range(1, q + 1)}
    for s, n in free.items():
        claim.record("free directions of β_k,s", n, s=s)
    at, total = {"d": d, "q": q}, sum(free.values())
    claim.measured("free directions of β_k,q", free[q], equation="n_q − n_q", **at).equals(0)
    found = claim.measured("dimension of the β of 0", total, equation="Σ_{s<q} (n_q − n_s)", **at)
    found.equals(expected)


def largest_coefficient_of_the_zero_polynomial():
    from fractions import Fraction as R

    xi, beta = [(1, 0), (0, 1), (R(3, 5), R(4, 5))], [R(3, 5), R(4, 5), -1]  # beta_{k,1}
    Q = [sum(b * v[i] for b, v in zip(beta, xi, strict=True)) for i in (0, 1)]
    assert Q == [0, 0]  # the coefficients of x_1 and x_2: Q is 0, as for beta = 0
    return max(map(abs, beta)), 0


def test_reading_that_the_coefficients_are_unique_fails(claim):
    """3/5 (1,0).x + 4/5 (0,1).x - (3/5,4/5).x = 0: for s = 1 < q three directions are too many."""
    xi = exact.rationals([[1, 0], [0, 1], ["3/5", "4/5"]])
    zero = exact.rationals([["3/5", 0], ["4/5", 0], [-1, 0]])
    claim.counterexample(
        "Q determines the beta_{k,s}",
        input={"d": 2, "q": 2, "xi": xi.tolist(), "beta": zero.tolist(), "other beta": "all 0"},
        measured=max(abs(b) for b in zero.ravel()),
        expected=0,
        equation="Remark 3.4, were the β_{k,s} unique",
        printed=False,
        program=largest_coefficient_of_the_zero_polynomial,
    )
    terms = len(polynomial(0, zero, xi))
    claim.measured("terms of Σ β_{k,s} (ξ_k·x)^s", terms, equation="Remark 3.4").equals(0)


def test_control_without_the_constant_the_polynomial_is_not_determined(claim):
    """The same beta and xi, Q(0) = 0 and Q(0) = 1: two polynomials, 1 apart everywhere."""
    xi, beta = ridge.directions(2, 2), exact.rationals([[1, 2], [3, 4], [5, 6]])
    apart, broken = polynomial(1, beta, xi) - polynomial(0, beta, xi), "Remark 3.4 without Q(0)"
    size = abs(apart.leading_coefficient())
    least = theorem(1, "Q(0) differs by 1")
    claim.measured("distance of the two polynomials", size, equation=broken).at_least(least)
    claim.measured("degree of the difference", apart.total_degree(), equation=broken).equals(0)
