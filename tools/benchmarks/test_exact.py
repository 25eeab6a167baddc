"""What exact arithmetic costs: in python-flint, and in fractions.Fraction."""

from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.fang2022 import model, multiplication, ridge
from repro.fang2022.polynomials import monomials
from repro.numerics import exact

pytestmark = pytest.mark.timing


def same_numbers(found, wanted):
    """In whatever rationals; and not all of them are 0."""
    assert [Fraction(str(v)) for v in found] == [Fraction(str(v)) for v in wanted]
    assert any(wanted)


def eliminated(rows):
    """Gauss elimination without tricks, as one would write it down."""
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


def test_the_solve_of_lemma_3_3(compare, switched_on):
    """Rows sum_k beta_k xi_k^a = m_a for all |a| = q, in rationals, and a right-hand side."""
    d, q, calls = (4, 5, 20) if switched_on else (2, 2, 1)
    rows = monomials(ridge.directions(d, q), q)
    n = len(rows)
    right = exact.rationals([Fraction(i % 7 - 3, i % 5 + 1) for i in range(n)])
    matrix, column = (
        flint.fmpq_mat(n, n, rows.ravel().tolist()),
        flint.fmpq_mat(n, 1, right.tolist()),
    )
    both = [[Fraction(int(v.p), int(v.q)) for v in row] for row in np.column_stack([rows, right])]
    compare(
        "Lemma 3.3's system in python-flint", fast=lambda: matrix.solve(column).entries(),
        slow=lambda: eliminated([list(row) for row in both]), same=same_numbers,
        against="Gauss elimination in fractions.Fraction", target=50,
        rounds=3, calls=calls, d=d, q=q, n_q=n,
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
