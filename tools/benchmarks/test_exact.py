"""What exact arithmetic costs: Lemma 3.3's system in python-flint, in fractions.Fraction, in sympy.

Ratios by `make bench` (measuring.py). The system is the same for all, and so is its solution.
"""

from fractions import Fraction

import flint
import numpy as np
import pytest
from sympy import Matrix, Rational

from repro.fang2022 import model, multiplication, ridge
from repro.fang2022.polynomials import Polynomial, dimension, exponents, monomials
from repro.numerics import exact

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


OTHERS = {"fractions.Fraction": in_fractions, "sympy's Matrix.LUsolve": in_sympy}


def same_numbers(found, wanted):
    """In whatever rationals; and not all of them are 0."""
    assert [Fraction(str(v)) for v in found] == [Fraction(str(v)) for v in wanted]
    assert any(wanted)


@pytest.mark.parametrize("name", OTHERS)
def test_the_solve_of_lemma_3_3(compare, switched_on, name):
    d, q = (4, 5) if switched_on else (2, 2)
    rows, right = system(d, q)
    compare(
        f"Lemma 3.3's system in python-flint, over {name}", fast=in_flint(rows, right), slow=OTHERS[name](rows, right),
        same=same_numbers, against=ELIMINATION, target=50,
        rounds=3, calls=20 if switched_on else 1, d=d, q=q, n_q=len(rows),
    )  # fmt: skip


def a_form(d, q):
    return Polynomial(d, {a: i % 7 - 3 or 1 for i, a in enumerate(exponents(d, q))})


def test_the_recursion_against_the_elimination(compare, switched_on):
    """The proof of Lemma 3.3, read backwards, needs no matrix inverse."""
    d, q = (5, 5) if switched_on else (2, 2)
    Q, xi = a_form(d, q), ridge.directions(d, q)
    compare(
        "Lemma 3.3 by the recursion of its proof", fast=lambda: ridge.coefficients(Q, q).ravel(),
        slow=lambda: ridge.solve(Q, xi, q).ravel(), same=same_numbers, against=f"python-flint: {ELIMINATION}", rounds=3,
        d=d, q=q, n_q=dimension(d, q),
    )  # fmt: skip


def test_a_block_in_rationals(compare, switched_on):
    """The same forward pass, the same values: only the type of number differs."""
    n = 6 if switched_on else 2
    values = [[Fraction(3 * i + k, 7 + i) for i in range(n)] for k in range(3)]

    def forward(number, array):
        block = multiplication.multiplication_block(n, 3, number(3))
        tokens = model.Layout(n, 3).tokens(*map(array, values))
        return lambda: block(tokens).ravel()

    compare(
        "a block in python-flint's rationals", fast=forward(exact.rational, exact.rationals),
        slow=forward(Fraction, lambda v: np.array(v, dtype=object)), same=same_numbers,
        against="fractions.Fraction", target=2, n=n,
    )  # fmt: skip
