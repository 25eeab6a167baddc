"""Lemma 3.3: polynomials, directions and coefficients by hand, the other families."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from repro.fang2022 import polynomials, ridge
from repro.fang2022.polynomials import F_1_STAR, F_2_STAR, Polynomial
from repro.numerics.exact import rational, rationals

ROOT = math.sqrt(0.5)


def test_the_targets_are_those_of_section_5():
    x = [Fraction(k, 3) for k in range(-4, 6)]
    x1, x2, x3, x4, x5, x6, x7, x8, x9, _ = x
    printed = x1**5 + 3 * x2**4 + 2 * x3**3 + 5 * x3 * x4 + 3 * x5**2 + 2 * x6 * x7 * x8 + 2 * x9
    assert F_2_STAR(rationals(x)) == rational(printed)
    assert (F_2_STAR.d, F_2_STAR.degree, len(F_2_STAR.coefficients)) == (10, 5, 7)
    assert F_1_STAR(rationals([3, 4])) == 25
    assert F_1_STAR(torch.tensor([[3.0, 4.0], [1.0, 0.0]])).tolist() == [25.0, 1.0]


def test_a_polynomial_is_the_sum_of_its_parts():
    Q = Polynomial(2, {(0, 0): 7, (1, 0): "1/3", (1, 1): 2, (0, 3): -1, (2, 1): 0})
    x = rationals([[1, 2], ["1/2", -3]])
    assert Q.degree == 3
    assert Q.at_zero() == 7
    assert (2, 1) not in Q.coefficients
    assert (sum(Q.part(s)(x) for s in range(4)) == Q(x)).all()
    assert Polynomial(3, {}).degree == 0


def test_polynomials_by_hand():
    Q = polynomials._sparse(3, (7, {1: 2, 3: 1}), (-2, {2: 4}), (5, {}))
    assert {a: int(c) for a, c in Q.coefficients.items()} == {
        (2, 0, 1): 7,
        (0, 4, 0): -2,
        (0, 0, 0): 5,
    }
    Q = polynomials.random_polynomial(4, 6, np.random.default_rng(0))
    assert len(Q.coefficients) == math.comb(10, 4)
    assert {int(c) for c in Q.coefficients.values()} == {*range(-9, 0), *range(1, 10)}
    assert list(polynomials.exponents(2, 2)) == [(2, 0), (1, 1), (0, 2)]
    assert polynomials.exponents_up_to(2, 1) == [(0, 0), (1, 0), (0, 1)]
    assert polynomials.dimension(10, 5) == 2002
    assert polynomials.bombieri((2, 1, 0)) == rational("1/3")
    # <p, (xi . x)^s> = p(xi), with p = x_1 x_2^2 and xi = (2, 3).
    s, xi = 3, (2, 3)
    ridge_power = {
        a: math.comb(s, a[0]) * xi[0] ** a[0] * xi[1] ** a[1] for a in polynomials.exponents(2, s)
    }
    assert ridge_power[1, 2] * polynomials.bombieri((1, 2)) == 2 * 3**2


@pytest.mark.parametrize("exponent", [(1, -1), (-1, 1), (2, 1.0), (2, "0"), (0, 1, 0)], ids=str)
def test_one_bad_exponent_is_enough(exponent):
    with pytest.raises(ValueError, match="an exponent is 2 integers >= 0 here"):
        Polynomial(2, {(1, 1): 1, exponent: 1})


def test_polynomials_of_degree_0_have_a_value_for_each_point():
    x = rationals([[1, 2], [3, 4], [5, 6]])
    assert Polynomial(2, {})(x).tolist() == [0, 0, 0]
    assert Polynomial(2, {})(torch.ones(2, 2)).tolist() == [0, 0]
    assert Polynomial(2, {(0, 0): "3/2"})(x).tolist() == [rational("3/2")] * 3
    assert Polynomial(2, {(0, 0): "3/2"})(torch.ones(3, 2)).tolist() == [1.5] * 3
    assert polynomials.monomials(x, 0).tolist() == [[1, 1, 1]]


def test_the_circle_begins_with_the_smallest_triples_and_has_distinct_lines():
    """3-4-5, 5-12-13; 6-8-10 is 3-4-5 again."""
    expected = [[0, 1]]
    for a, b, c in ((3, 4, 5), (4, 3, 5), (5, 12, 13), (12, 5, 13), (8, 15, 17)):
        expected += [[f"{a}/{c}", f"{b}/{c}"], [f"-{a}/{c}", f"{b}/{c}"]]
    assert rationals([list(point) for point in ridge.circle(11)]).tolist() == (
        rationals(expected).tolist()
    )
    assert len(ridge.circle(1)) == 1
    points = ridge.circle(40)
    assert len(set(points)) == len(points) == 40
    assert all(c * c + s * s == 1 and s > 0 for c, s in points)


def test_the_directions_begin_with_those_of_lower_degree():
    assert ridge.directions(3, 0).tolist() == rationals([[0, 0, 1]]).tolist()
    # N(d, s) is the head of N(d, q).
    for d, s, q in [(2, 1, 4), (3, 2, 4), (4, 1, 2)]:
        head = ridge.directions(d, q)[: polynomials.dimension(d, s)]
        assert (head == ridge.directions(d, s)).all()


def test_other_families_in_the_plane():
    equispaced = [[1, 0], [ROOT, ROOT], [0, 1], [-ROOT, ROOT]]
    assert np.allclose(ridge.equispaced(4), equispaced, atol=1e-15)
    points = np.array([[2.0, 0], [1, 1], [0, 2]])
    assert np.allclose(ridge.normalised(points), [[1, 0], [ROOT, ROOT], [0, 1]], atol=1e-15)


def test_random_rational_directions():
    """d = 2, |u| <= 4: (2u, u^2 - 1) / (u^2 + 1); of u = 1 and -1, opposite, one is left."""
    found = ridge.random_rational(2, 8, np.random.default_rng(0))
    every = {
        (rational(2 * u) / (u * u + 1), rational(u * u - 1) / (u * u + 1)) for u in range(-4, 5)
    }
    assert {tuple(v) for v in found.tolist()} < every
    assert {abs(v) for v in found[:, 0]} == {abs(c) for c, _ in every}
    assert len({tuple(v) for v in found.tolist()}) == 8
    xi = ridge.random_rational(3, 30, np.random.default_rng(0))
    assert ((xi * xi).sum(-1) == 1).all()
    lines = {tuple(v) for v in xi.tolist()} | {tuple(-c for c in v) for v in xi.tolist()}
    assert len(lines) == 60


def test_independent_columns_by_hand():
    assert ridge.independent(rationals([[0, 0, 1], [0, 0, 2]])) == [2]
    assert ridge.independent(rationals([[1, 2, 0, 5], [2, 4, 1, 5]])) == [0, 2]
    assert ridge.independent(rationals([[0, 0], [0, 0]])) == []
    xi = rationals([[1, 0], [0, 1], [-1, 0]])
    with pytest.raises(ValueError, match=r"Lemma 3.3 needs n_2 = 3 directions .* got 3 of rank 2"):
        ridge.solve(Polynomial(2, {(1, 1): 1}), xi, 2)


@pytest.mark.parametrize("s", [1, 3])
def test_gauss_elimination_takes_the_earliest_directions(s):
    """The first direction twice: the second copy gets nothing, as all that come too late."""
    xi = ridge.directions(2, 3)
    twice = np.concatenate([xi[:1], xi])
    Q = Polynomial(2, {(s, 0): 2, (s - 1, 1): 3})
    beta, once = ridge.solve(Q, twice, 3), ridge.coefficients(Q, 3)
    assert (beta[1] == 0).all()
    assert (np.delete(beta, 1, axis=0) == once).all()


def test_coefficients_in_floating_point_are_those_of_least_norm():
    """Three equispaced directions are a tight frame: beta_{k,1} = (2/3) cos(k pi/3) for x_1. For
    s = 2: x_1 x_2 = sum beta_k (xi_k . x)^2 with beta = (0, 1, -1) / sqrt(3)."""
    Q = Polynomial(2, {(1, 0): 1, (1, 1): 1})
    beta, condition = ridge.solve_float(Q, ridge.equispaced(3), 2)
    expected = np.array([[2 / 3, 0], [1 / 3, 1 / math.sqrt(3)], [-1 / 3, -1 / math.sqrt(3)]])
    assert np.allclose(beta, expected, atol=1e-14)
    assert condition == pytest.approx(math.sqrt(2), rel=1e-13)


def test_condition_numbers():
    """(xi_j . xi_k)^q in d = 3: its eigenvalues are the squares of the singular values."""
    xi = ridge.normalised(np.array([*polynomials.exponents(3, 2)], dtype=float))
    values = np.linalg.eigvalsh((xi @ xi.T) ** 2)
    assert ridge.condition(xi, 2) == pytest.approx(math.sqrt(values[-1] / values[0]), rel=1e-9)
    assert ridge.condition(np.array([[1.0, 0.0], [0.0, 0.0]]), 1) == math.inf
    assert ridge.condition(np.array([[1.0, 0.0], [-1.0, 0.0]]), 1) > 1e15
