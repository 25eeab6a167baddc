"""Lemma 3.3 and Theorem 3.5 of fang2022: directions, coefficients, the module, bad input."""

import doctest
import math
import re
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from repro.fang2022 import network, polynomials, powers, ridge, tower
from repro.fang2022.model import Block
from repro.fang2022.polynomials import F_1_STAR, F_2_STAR, Polynomial
from repro.numerics.exact import rational, rationals, to_float

PARABOLOID = Polynomial(2, {(2, 0): 1, (0, 2): 1})


# --- polynomials -------------------------------------------------------------------------------------


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


def test_bombieri_reproduces_point_evaluation():
    """<p, (xi . x)^s> = p(xi), with p = x_1 x_2^2 and xi = (2, 3)."""
    s, xi = 3, (2, 3)
    ridge_power = {
        a: math.comb(s, a[0]) * xi[0] ** a[0] * xi[1] ** a[1] for a in polynomials.exponents(2, s)
    }
    assert ridge_power[1, 2] * polynomials.bombieri((1, 2)) == 2 * 3**2


# --- Lemma 3.3 ---------------------------------------------------------------------------------------


def test_the_first_directions_serve_lower_degrees():
    """N(d, s) is the head of N(d, q)."""
    for d, s, q in [(2, 1, 4), (3, 2, 4), (4, 1, 2)]:
        head = ridge.directions(d, q)[: polynomials.dimension(d, s)]
        assert (head == ridge.directions(d, s)).all()


def test_points_of_the_circle_are_distinct_lines_with_positive_sine():
    points = ridge.circle(40)
    assert len(set(points)) == len(points) == 40
    assert all(c * c + s * s == 1 and s > 0 for c, s in points)


@pytest.mark.parametrize(("d", "q"), [(2, 4), (3, 3), (4, 2)])
def test_solvers_agree_in_floating_point_where_the_solution_is_unique(d, q):
    rng = np.random.default_rng(1)
    Q = Polynomial(d, {a: int(rng.integers(-5, 6)) for a in polynomials.exponents(d, q)})
    xi = ridge.directions(d, q)
    exact = to_float(ridge.coefficients(Q, q)[:, -1])
    floating, condition = ridge.solve_float(Q, to_float(xi), q)
    allowed = 100 * condition * 2**-53 * np.linalg.norm(exact)  # condition number times round-off
    assert np.linalg.norm(floating[:, -1] - exact) <= allowed


def test_directions_that_do_not_serve_are_refused():
    xi = rationals([[1, 0], [0, 1], [-1, 0]])
    with pytest.raises(ValueError, match=r"Lemma 3.3 needs n_2 = 3 directions .* got 3 of rank 2"):
        ridge.solve(Polynomial(2, {(1, 1): 1}), xi, 2)


def test_condition_number_of_a_singular_set_is_infinite_or_huge():
    assert ridge.condition(np.array([[1.0, 0.0], [-1.0, 0.0]]), 1) > 1e15


def test_random_rational_directions_are_unit_vectors_of_distinct_lines():
    xi = ridge.random_rational(3, 30, np.random.default_rng(0))
    assert ((xi * xi).sum(-1) == 1).all()
    lines = {tuple(v) for v in xi.tolist()} | {tuple(-c for c in v) for v in xi.tolist()}
    assert len(lines) == 60


# --- Theorem 3.5 -------------------------------------------------------------------------------------


def test_lifts_as_derived():
    B = rational("1/2")
    assert powers.printed(4, B) == [B**2 * 2, B**2 * 2, B**4 * 2, B**6 * 2]
    assert powers.repaired(3, B) == [2 * B, 2 * B**2, 2 * B**3]
    assert powers.least(5, B) == [0, 2 * B**2, B**3, 2 * B**4, B**5]
    assert all(a > b for a, b in zip(powers.roomy(4, B), powers.repaired(4, B), strict=True))


def test_the_module_is_ordinary(tmp_path):
    model = network.polynomial_transformer(PARABOLOID, 3)
    assert isinstance(model, torch.nn.Module)
    assert repr(model).startswith("PolynomialTransformer(\n  d=2, n=3, q=2, B=3\n")
    assert set(model.state_dict()) == {"F", "beta", "b"} | {
        f"blocks.{i}.{name}" for i in range(2) for name in Block.__dataclass_fields__
    }
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    other = network.polynomial_transformer(Polynomial(2, {}), 3, q=2)
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    x = torch.tensor([[[1.0, 2.0], [0.0, -1.0]]], dtype=torch.float64)
    assert other(x).tolist() == model(x).tolist()
    assert model(x).shape == (1, 2)


@pytest.mark.parametrize("module", [network, polynomials])
def test_examples_in_docstrings_run(module):
    names = {
        "torch": torch,
        "Polynomial": Polynomial,
        "polynomial_transformer": network.polynomial_transformer,
    }
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, extraglobs=names, optionflags=flags).failed == 0


# --- precision ---------------------------------------------------------------------------------------


def test_the_recursion_is_what_the_docstring_says_to_leading_order():
    u = 2.0**-53
    for q in (2, 5, 9):
        assert tower.error_bound("float64", 3, q, powers.roomy) == pytest.approx(
            4.25 * q * u, rel=1e-3, abs=0
        )
    assert tower.error_bound("float64", 1000, 5, powers.printed) == pytest.approx(
        2 * u * 1000**3, rel=1e-2, abs=0
    )
    assert tower.error_bound("float64", 0.1, 5, powers.printed) > 1  # another token wins
    assert tower.error_bound("float64", 1e200, 9, powers.printed) == math.inf


def test_the_bound_on_the_output_to_leading_order():
    """Q = x_1 + 7, d = 2, q = 1, B = 3: e_1 = 4.25 u B, t is off by (d+1) u B, nq + 2 roundings."""
    model = powers.construction(Polynomial(2, {(1, 0): 1, (0, 0): 7}), 3)
    size, u = float(np.abs(to_float(powers.slots_of(model))).sum()) * 3, 2.0**-53
    expected = u * ((4.25 + 3) * size + 4 * (size + 7))
    assert tower.output_bound(model, 3, "float64", powers.roomy) == pytest.approx(
        expected, rel=2e-3, abs=0
    )


# --- bad input ---------------------------------------------------------------------------------------

BAD = {
    "no variables": (lambda: Polynomial(0, {}), "Lemma 3.3 needs d >= 1 variables, got d=0"),
    "short exponent": (lambda: Polynomial(2, {(1,): 1}), r"an exponent is 2 integers >= 0 here, got \(1,\)"),
    "negative exponent": (lambda: Polynomial(1, {(-1,): 1}), "an exponent is 1 integers >= 0"),
    "x too long": (lambda: PARABOLOID(rationals([1, 2, 3])), "Q has d=2 variables, x has 3"),
    "no direction": (lambda: ridge.directions(0, 2), "Lemma 3.3 needs d >= 1 and a degree q >= 0, got d=0"),
    "degree too high": (lambda: ridge.coefficients(PARABOLOID, 1), "Lemma 3.3 with q=1 needs a Q of degree <= 1, got 2"),
    "degree not positive": (lambda: powers.construction(PARABOLOID, 1, q=0), "Theorem 3.5 needs B > 0 and q >= 1, got B=1, q=0"),
    "bound not positive": (lambda: powers.construction(PARABOLOID, 0), "Theorem 3.5 needs B > 0 and q >= 1, got B=0"),
    "bound negative": (lambda: network.polynomial_transformer(PARABOLOID, -1), "Theorem 3.5 needs B > 0"),
    "Q above q": (lambda: network.polynomial_transformer(F_2_STAR, 1, q=4), "Theorem 3.5 with q=4 needs a Q of degree <= 4, got 5"),
    "not unit vectors": (
        lambda: powers.construction(PARABOLOID, 1, directions=rationals([[1, 0], [0, 1], [1, 1]])),
        r"Lemma 3.3 needs \|\|xi_k\|\| = 1, got \|\|xi_3\|\|\^2 = 2",
    ),
    "outside the ball": (
        lambda: network.polynomial_transformer(PARABOLOID, 2)(torch.tensor([[0.0, 2.5]], dtype=torch.float64)),
        r"Theorem 3.5 holds for \|\|x\|\| <= B = 2, got \|\|x\|\| = 2.5; build the model with B >= 2.5",
    ),
    "x not a number": (
        lambda: network.polynomial_transformer(PARABOLOID, 2)(torch.tensor([[0.0, math.nan]], dtype=torch.float64)),
        "Theorem 3.5 holds for",
    ),
    "bfloat16 cannot": (
        lambda: network.polynomial_transformer(PARABOLOID, 2, dtype=torch.bfloat16),
        "bfloat16 does not carry Theorem 3.5 at B=2, q=2",
    ),
    "float32 overflows": (
        lambda: network.polynomial_transformer(PARABOLOID, 1e30, dtype=torch.float32),
        r"float32 does not carry Theorem 3.5 at B=1e\+30, q=2: B\^q leaves its range; it needs 1.1e-19 <= B <= 7.2e\+18",
    ),
    "float32 underflows": (
        lambda: network.polynomial_transformer(Polynomial(1, {(5,): 1}), 1e-10, dtype=torch.float32),
        "float32 does not carry Theorem 3.5 at B=1e-10, q=5: B\\^q leaves its range",
    ),
    "coefficients overflow": (
        lambda: network.polynomial_transformer(Polynomial(1, {(1,): 10**60}), 1, dtype=torch.float32),
        "a coefficient of Lemma 3.3 is too large for torch.float32",
    ),
    "bound not a number": (lambda: powers.construction(PARABOLOID, math.nan), "needs a finite B > 0, got B=nan"),
    "bound infinite": (lambda: powers.construction(PARABOLOID, math.inf), "needs a finite B > 0, got B=inf"),
    "degree not whole": (lambda: powers.construction(PARABOLOID, 1, q=2.5), "needs B > 0 and q >= 1, got B=1, q=2.5"),  # pyright: ignore
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_the_statement_and_the_number(case):
    act, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        act()


def test_float32_carries_what_it_can():
    model = network.polynomial_transformer(Polynomial(1, {(5,): 1}), 100, dtype=torch.float32)
    x = torch.linspace(-100, 100, 101)[:, None]
    error = (model(x).detach().double() - x[:, 0].double() ** 5).abs().max().item()
    exact = powers.construction(Polynomial(1, {(5,): 1}), 100)
    assert error <= tower.output_bound(exact, 100, "float32", powers.roomy)
    assert not re.search("nan|inf", str(error))
    assert isinstance(exact.b, flint.fmpq)
