"""What exact arithmetic costs: Lemma 3.3's system in python-flint, in fractions.Fraction, in sympy.

Ratios by `make bench` (measuring.py). The system is the same for all three, and so is its solution.
"""

from fractions import Fraction

import flint
import numpy as np
import pytest
from sympy import QQ, Matrix, Rational
from sympy.polys.matrices import DomainMatrix

from repro.fang2022 import model, multiplication, ridge
from repro.fang2022.polynomials import Polynomial, dimension, exponents, monomials
from repro.numerics import exact

PART = 2
pytestmark = pytest.mark.timing
ELIMINATION = "Gauss elimination on the same rational matrix of n_q rows"


def system(d, q):
    """Rows sum_k beta_k xi_k^a = m_a for all |a| = q, in rationals, and a right-hand side."""
    rows = monomials(ridge.directions(d, q), q)
    right = exact.rationals([Fraction(i % 7 - 3, i % 5 + 1) for i in range(len(rows))])
    return rows, right


def in_flint(rows, right):
    n = len(rows)
    matrix = flint.fmpq_mat(n, n, rows.ravel().tolist())
    column = flint.fmpq_mat(n, 1, right.tolist())
    return lambda: matrix.solve(column).entries()


def in_fractions(rows, right):
    """Gauss elimination without tricks, as one would write it down."""
    both = np.column_stack([rows, right])
    whole = [[Fraction(int(v.p), int(v.q)) for v in row] for row in both]
    return lambda: eliminated([list(row) for row in whole])


def eliminated(rows):
    n = len(rows)
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, n):
            if factor := rows[k][i] / rows[i][i]:
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    beta = [Fraction(0)] * n
    for i in reversed(range(n)):
        known = sum((rows[i][k] * beta[k] for k in range(i + 1, n)), Fraction(0))
        beta[i] = (rows[i][n] - known) / rows[i][i]
    return beta


def in_sympy(rows, right):
    n = len(rows)
    matrix = Matrix(n, n, [Rational(int(v.p), int(v.q)) for v in rows.ravel()])
    column = Matrix(n, 1, [Rational(int(v.p), int(v.q)) for v in right])
    return lambda: matrix.LUsolve(column).flat()


def in_domain_matrices(rows, right):
    """sympy's fastest; where python-flint is installed its rationals are python-flint's."""
    n = len(rows)
    matrix = DomainMatrix([[QQ(int(v.p), int(v.q)) for v in row] for row in rows], (n, n), QQ)
    column = DomainMatrix([[QQ(int(v.p), int(v.q))] for v in right], (n, 1), QQ)
    return lambda: matrix.lu_solve(column).to_list_flat()


OTHERS = {
    "fractions.Fraction": (in_fractions, 50),
    "sympy's Matrix.LUsolve": (in_sympy, 50),
    "sympy's DomainMatrix, itself on python-flint": (in_domain_matrices, None),
}


def a_polynomial(d, q):
    return Polynomial(d, {a: i % 7 - 3 or 1 for i, a in enumerate(exponents(d, q))})


@pytest.mark.parametrize("name", OTHERS)
def test_the_solve_of_lemma_3_3(compare, switched_on, name):
    """The same system for all, in the numbers of each; and the same solution."""
    d, q = (4, 5) if switched_on else (2, 2)
    rows, right = system(d, q)
    n, (other, target) = len(rows), OTHERS[name]
    fast, slow = in_flint(rows, right), other(rows, right)
    assert [Fraction(str(v)) for v in slow()] == [Fraction(str(v)) for v in fast()]
    matrix = flint.fmpq_mat(n, n, rows.ravel().tolist())
    compare(
        f"Lemma 3.3's system in python-flint, over {name}", fast=fast, slow=slow, against=ELIMINATION, target=target,
        limit=lambda: flint.fmpq_mat(matrix), limit_is="to copy the matrix once", rounds=3,
        calls=20 if switched_on else 1, d=d, q=q, n_q=n,
    )  # fmt: skip


def test_the_recursion_against_the_elimination(compare, switched_on):
    """The proof of Lemma 3.3, read backwards, needs no matrix inverse."""
    d, q = (5, 5) if switched_on else (2, 2)
    Q, xi = a_polynomial(d, q), ridge.directions(d, q)
    assert (ridge.coefficients(Q, q) == ridge.solve(Q, xi, q)).all()
    compare(
        "Lemma 3.3 by the recursion of its proof", fast=lambda: ridge.coefficients(Q, q),
        slow=lambda: ridge.solve(Q, xi, q), against=f"python-flint: {ELIMINATION}", rounds=3, d=d, q=q,
        n_q=dimension(d, q),
    )  # fmt: skip


SIZES = ((4, 5), (4, 6), (5, 5), (5, 6), (6, 6))  # (d, q): n_q = 56, 84, 126, 210, 462


@pytest.mark.parametrize("way", ["elimination", "recursion"])
def test_growth_with_n_q(growth, switched_on, way):
    sizes = {dimension(d, q): (d, q) for d, q in (SIZES if switched_on else ((2, 2),))}

    def prepare(n_q):
        d, q = sizes[n_q]
        if way == "elimination":
            return in_flint(*system(d, q))
        Q = a_polynomial(d, q)
        return lambda: ridge.coefficients(Q, q)

    growth(
        f"Lemma 3.3 in python-flint, {way}, growth in n_q",
        tuple(sizes),
        prepare,
        of="n_q",
        rounds=3,
    )


def test_a_block_in_rationals(compare, switched_on):
    """The same forward pass, the same values: only the type of number differs."""
    n = 6 if switched_on else 2
    values = [[Fraction(3 * i + k, 7 + i) for i in range(n)] for k in range(3)]
    layout = model.Layout(n, 3)
    with_flint = (
        multiplication.multiplication_block(n, 3, exact.rational(3)),
        layout.tokens(*map(exact.rationals, values)),
    )
    as_objects = [np.array(v, dtype=object) for v in values]
    with_fractions = (
        multiplication.multiplication_block(n, 3, Fraction(3)),
        layout.tokens(*as_objects),
    )
    compare(
        "a block in python-flint's rationals", fast=lambda: with_flint[0](with_flint[1]),
        slow=lambda: with_fractions[0](with_fractions[1]), against="fractions.Fraction", target=2, n=n,
    )  # fmt: skip
