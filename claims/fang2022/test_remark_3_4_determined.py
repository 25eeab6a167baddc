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

from repro import fang2022, numerics

PRIME = 2**31 - 1


def polynomial(constant, beta, xi):
    """Q(0) + sum beta_{k,s} (xi_k . x)^s in symbols."""
    x = numerics.exact.symbols(*(f"x{i}" for i in range(xi.shape[1])))
    t = [sum(c * symbol for c, symbol in zip(v, x, strict=True)) for v in xi]
    powers = [
        b * t_k ** (s + 1) for t_k, row in zip(t, beta, strict=True) for s, b in enumerate(row)
    ]
    return sum(powers, 0 * x[0] + constant)


SHAPES = [(1, 3), (2, 2), (2, 4), (3, 2)]


@pytest.mark.parametrize(("d", "q"), SHAPES, ids=[f"d={d}-q={q}" for d, q in SHAPES])
@pytest.mark.exact
def test_the_data_determine_the_polynomial_that_the_model_outputs(d, q, claim):
    rng, xi = claim.rng("data"), fang2022.ridge.directions(d, q)
    beta = numerics.exact.rationals(rng.integers(-9, 10, (len(xi), q)).tolist()) / 4
    constant = numerics.exact.rational(5)
    blocks = fang2022.powers.power_blocks(len(xi), q, fang2022.powers.repaired(q, constant))
    model = fang2022.model.Transformer(xi, blocks, fang2022.powers.readout(beta), constant)
    x = numerics.exact.vector(numerics.exact.symbols(*(f"x{i}" for i in range(d))))
    C = model(x, attend=fang2022.model.keep_own, activate=fang2022.model.only_unit(1))
    terms = len(C - polynomial(constant, beta, xi))
    claim.equals(terms, 0, "terms in which C and the polynomial differ", equation="Remark 3.4")


def rank(xi, s):
    """Rank of the (xi_k . x)^s modulo a prime: at most the rank over the rationals."""
    import flint

    points = np.array(
        [[int(c.p) * pow(int(c.q), -1, PRIME) % PRIME for c in v] for v in xi], dtype=object
    )
    rows = fang2022.polynomials.monomials(points, s) % PRIME
    n_s, n = rows.shape
    return flint.nmod_mat(n_s, n, rows.ravel().tolist(), PRIME).rank()


@pytest.mark.parametrize("size", ["small", "Section 5"])
@pytest.mark.exact
def test_how_many_coefficients_give_the_same_polynomial(size, claim):
    """Dimension of {beta : sum beta_{k,s} (xi_k . x)^s = 0}; for s = q it is 0."""
    large = claim.at_scale(
        smoke=(5, 3, 35 - 5 + 35 - 15), laptop=(10, 5, 7008), paper=(10, 5, 7008)
    )
    d, q, expected = (2, 2, 1) if size == "small" else large
    xi = fang2022.ridge.directions(d, q)
    free = {s: len(xi) - rank(xi, s) for s in range(1, q + 1)}
    claim.record(**{f"free β_k,{s}": n for s, n in free.items()})
    claim.equals(free[q], 0, f"free directions of β_k,q, d={d}, q={q}", equation="s = q")
    name = f"dimension of the β that give 0, d={d}, q={q}"
    claim.equals(sum(free.values()), expected, name, equation="Σ_{s<q} (n_q − n_s)")


def test_reading_that_the_coefficients_are_unique_fails(claim):
    """3/5 (1,0).x + 4/5 (0,1).x - (3/5,4/5).x = 0: for s = 1 < q three directions are too many."""
    xi = numerics.exact.rationals([[1, 0], [0, 1], ["3/5", "4/5"]])
    zero = numerics.exact.rationals([["3/5", 0], ["4/5", 0], [-1, 0]])
    claim.counterexample(
        "Q determines the beta_{k,s}",
        input={"d": 2, "q": 2, "xi": xi.tolist(), "beta": zero.tolist(), "other beta": "all 0"},
        measured=max(abs(b) for b in zero.ravel()),
        expected=0,
        equation="β_{k,s} unique",
        printed=False,
        snippet="from fractions import Fraction as R\n"
        "xi = [(1, 0), (0, 1), (R(3, 5), R(4, 5))]\n"
        "beta = [R(3, 5), R(4, 5), -1]          # for s = 1, not all 0\n"
        "for x in [(1, 0), (0, 1)]:             # a linear form is 0 if it is 0 here\n"
        "    print(sum(b * (u * x[0] + v * x[1]) for b, (u, v) in zip(beta, xi)))\n",
    )
    claim.equals(len(polynomial(0, zero, xi)), 0, "terms of the polynomial", equation="it is 0")


def test_control_without_the_constant_the_polynomial_is_not_determined(claim):
    """The same beta and xi, Q(0) = 0 and Q(0) = 1: two polynomials, 1 apart everywhere."""
    xi, beta = fang2022.ridge.directions(2, 2), numerics.exact.rationals([[1, 2], [3, 4], [5, 6]])
    apart = polynomial(1, beta, xi) - polynomial(0, beta, xi)
    name, source = "distance of the two polynomials", "theorem: Q(0) differs by 1"
    claim.at_least(abs(apart.leading_coefficient()), 1, name, equation="no Q(0)", source=source)
    claim.equals(apart.total_degree(), 0, "degree of the difference", equation="no Q(0)")
