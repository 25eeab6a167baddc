"""What exact arithmetic costs: Lemma 3.3's system in python-flint, in fractions.Fraction, in sympy.

Ratios by `make bench` (measuring.py). The system is the same for all, and so is its solution.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from fractions import Fraction

import flint
import numpy as np
import pytest
from sympy import QQ, Matrix, Rational
from sympy.polys.matrices import DomainMatrix

from repro.fang2022 import model, multiplication, ridge
from repro.fang2022.polynomials import Polynomial, bombieri, dimension, exponents, monomials
from repro.numerics import exact
from tools.benchmarks import page as benchmarks

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


def same_numbers(found, wanted):
    """In whatever rationals; and not all of them are 0."""
    assert [Fraction(str(v)) for v in found] == [Fraction(str(v)) for v in wanted]
    assert any(wanted)


@pytest.mark.parametrize("name", OTHERS)
def test_the_solve_of_lemma_3_3(compare, switched_on, name):
    d, q = (4, 5) if switched_on else (2, 2)
    rows, right = system(d, q)
    n, (other, target) = len(rows), OTHERS[name]
    matrix = flint.fmpq_mat(n, n, rows.ravel().tolist())
    compare(
        f"Lemma 3.3's system in python-flint, over {name}", fast=in_flint(rows, right), slow=other(rows, right),
        same=same_numbers, against=ELIMINATION, target=target,
        limit=lambda: flint.fmpq_mat(matrix), limit_is="to copy the matrix once",
        rounds=3 if target else 31, calls=20 if switched_on else 1, d=d, q=q, n_q=n,
    )  # fmt: skip


IN_PYTHON = """
import json, sys, time
from sympy import QQ
from sympy.external.pythonmpq import PythonMPQ
from sympy.polys.matrices import DomainMatrix

assert QQ.dtype is PythonMPQ
rows, right, rounds = json.load(sys.stdin)
n = len(rows)
matrix = DomainMatrix([[QQ(*map(int, v)) for v in row] for row in rows], (n, n), QQ)
column = DomainMatrix([[QQ(*map(int, v))] for v in right], (n, 1), QQ)
seconds = []
for _ in range(rounds):
    began = time.process_time()
    found = matrix.lu_solve(column)
    seconds.append(time.process_time() - began)
print(json.dumps([seconds, [str(v) for v in found.to_list_flat()]]))
"""


def in_sympys_own_rationals(rows, right, rounds):
    """Seconds, and the solution. sympy chooses its rationals when it is imported: in a new process."""
    both = (
        [[[str(v.p), str(v.q)] for v in row] for row in rows],
        [[str(v.p), str(v.q)] for v in right],
    )
    process = subprocess.run(
        [sys.executable, "-c", IN_PYTHON], input=json.dumps([*both, rounds]), text=True, capture_output=True,
        check=True, env={**os.environ, "SYMPY_GROUND_TYPES": "python"},
    )  # fmt: skip
    return json.loads(process.stdout)


def test_the_solve_of_lemma_3_3_in_sympys_own_rationals(benchmark, measured, switched_on):
    (d, q), rounds, calls = ((4, 5), 3, 60) if switched_on else ((2, 2), 1, 1)
    rows, right = system(d, q)
    theirs, found = benchmark.pedantic(lambda: in_sympys_own_rationals(rows, right, rounds))
    solve = in_flint(rows, right)
    same_numbers(solve(), found)
    began = time.process_time()
    for _ in range(calls):
        solve()
    ours = (time.process_time() - began) / calls
    slow = statistics.median(theirs)
    measured(
        "Lemma 3.3's system in python-flint, over sympy's DomainMatrix in Python's integers", slow / ours,
        unit=benchmarks.TIMES, relation=">=", target=50, seconds=f"{ours:.3g} against {slow:.3g}",
        against=f"{ELIMINATION}; each in a process of its own, by the seconds of its processor", d=d, q=q, n_q=len(rows),
    )  # fmt: skip


def a_form(d, q):
    return Polynomial(d, {a: i % 7 - 3 or 1 for i, a in enumerate(exponents(d, q))})


def moments(Q, q):
    return exact.vector([Q.coefficients[a] * bombieri(a) for a in exponents(Q.d, q)])


def test_the_recursion_against_the_elimination(compare, switched_on):
    """The proof of Lemma 3.3, read backwards, needs no matrix inverse."""
    d, q = (5, 5) if switched_on else (2, 2)
    Q, xi = a_form(d, q), ridge.directions(d, q)
    compare(
        "Lemma 3.3 by the recursion of its proof", fast=lambda: ridge.coefficients(Q, q).ravel(),
        slow=lambda: ridge.solve(Q, xi, q).ravel(), same=same_numbers, against=f"python-flint: {ELIMINATION}", rounds=3,
        d=d, q=q, n_q=dimension(d, q),
    )  # fmt: skip


SIZES = ((4, 5), (4, 6), (5, 5), (5, 6), (6, 6))  # (d, q): n_q = 56, 84, 126, 210, 462


@pytest.mark.parametrize("way", ["elimination", "recursion"])
def test_growth_with_n_q(growth, switched_on, way):
    sizes = {dimension(d, q): (d, q) for d, q in (SIZES if switched_on else ((2, 2),))}

    def problem(n_q):
        d, q = sizes[n_q]
        return system(d, q)[0], moments(a_form(d, q), q)

    def prepare(n_q):
        if way == "elimination":
            return in_flint(*problem(n_q))
        d, q = sizes[n_q]
        Q = a_form(d, q)
        return lambda: ridge.coefficients(Q, q)[:, -1]

    def right(n_q, beta):
        rows, m = problem(n_q)
        same_numbers(rows @ exact.vector(beta), m)

    growth(
        f"time of Lemma 3.3 in python-flint, {way}, growth with the number n_q of equations", tuple(sizes), prepare,
        right=right, of="n_q", rounds=3,
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
