"""Finding (about Table 1 of fang2022): eleven directions are enough for f_2*, and nine are needed.

f_2* = x_1^5 + 3 x_2^4 + 2 x_3^3 + 5 x_3 x_4 + 3 x_5^2 + 2 x_6 x_7 x_8 + 2 x_9 is a combination of
powers of 11 linear forms, so a Transformer with n = 11 tokens and 166 free parameters outputs it
exactly, where Lemma 3.3 offers n_q = 2002 and 30031 (and Table 3 has 4368).

Proof. x_3 x_4 = (a + b)(a - b) = a^2 - b^2 with a, b = (x_3 +- x_4)/2, and
    24 x y z = (x+y+z)^3 - (x+y-z)^3 - (x-y+z)^3 + (x-y-z)^3.
The forms are x_1, x_2, x_3, x_5, x_9, the two of x_3 x_4 and the four of x_6 x_7 x_8: 11. Halved
where needed, they have ||xi|| <= 1, as Section 2.1 asks.
At least 9: a function of (xi_k . x), k <= n, does not change along any v orthogonal to all xi_k;
f_2* depends on 9 variables, its gradients span R^9, so n >= 9.

Checked: the identity in symbols; the literal blocks with n = 11, exactly; the counts; the span of
the gradients. Control: without one of the eleven forms, least squares over all coefficients misses
f_2* by a positive distance.

Not checked: whether 9 or 10 directions suffice.
"""

import numpy as np
import pytest

from repro.bounds import theorem
from repro.fang2022 import model as models
from repro.fang2022 import polynomials, powers, ridge
from repro.numerics import exact

FORMS = [  # {variable: coefficient}, the power s, and its beta_{k,s}
    ({1: 1}, 5, 1),
    ({2: 1}, 4, 3),
    ({3: 1}, 3, 2),
    ({3: "1/2", 4: "1/2"}, 2, 5),
    ({3: "1/2", 4: "-1/2"}, 2, -5),
    ({5: 1}, 2, 3),
    ({9: 1}, 1, 2),
    ({6: "1/2", 7: "1/2", 8: "1/2"}, 3, "2/3"),  # 2/24 times 2^3, since the forms are halved
    ({6: "1/2", 7: "1/2", 8: "-1/2"}, 3, "-2/3"),
    ({6: "1/2", 7: "-1/2", 8: "1/2"}, 3, "-2/3"),
    ({6: "1/2", 7: "-1/2", 8: "-1/2"}, 3, "2/3"),
]


def forms():
    """Rows xi_k (11, 10), and beta_{k,s} (11, 5)."""
    xi, beta = exact.rational_zeros(11, 10), exact.rational_zeros(11, 5)
    for k, (form, s, b) in enumerate(FORMS):
        beta[k, s - 1] = exact.rational(b)
        for i, c in form.items():
            xi[k, i - 1] = exact.rational(c)
    return xi, beta


def symbols():
    return exact.vector(exact.symbols(*(f"x{i}" for i in range(1, 11))))


@pytest.mark.exact
def test_eleven_forms_give_the_target(claim):
    (xi, beta), x = forms(), symbols()
    t = xi @ x
    total = sum(b * t[k] ** s for k, row in enumerate(beta) for s, b in enumerate(row, start=1))
    terms = len(total - polynomials.F_2_STAR(x))
    claim.measured("terms of the difference", terms, equation="Σ β (ξ·x)^s = f_2*").equals(0)
    longest = max((v * v).sum() for v in xi)
    claim.measured("largest ‖ξ‖²", longest, equation="Section 2.1").at_most(theorem(1, "‖ξ‖ ≤ 1"))


@pytest.mark.exact
def test_the_literal_blocks_with_eleven_tokens_are_the_target(claim):
    (xi, beta), B = forms(), exact.rational(8)
    blocks = powers.power_blocks(11, 5, powers.repaired(5, B))
    model = models.Transformer(xi, blocks, powers.readout(beta), 0 * B)
    points = claim.at_scale(smoke=20, laptop=200, paper=2000)
    x = exact.rationals(claim.rng("points").integers(-25, 26, (points, 10)).tolist()) / 10
    wrong = int((model(x) != polynomials.F_2_STAR(x)).sum())
    claim.measured("points with C ≠ f_2*", wrong, equation="C^5 = f_2*", points=points).equals(0)
    free = model.F.size + 11 * 5 + 1
    claim.measured("free parameters", free, equation="n(d + q) + 1").equals(166)


@pytest.mark.exact
def test_fewer_than_nine_directions_cannot(claim):
    """The gradients of f_2* at nine points are independent, so nine directions are needed."""
    import flint

    points = exact.rationals(claim.rng("gradients").integers(-9, 10, (9, 10)))
    f = polynomials.F_2_STAR(symbols())
    gradients = [f.derivative(i)(*x) for x in points for i in range(10)]
    rank = flint.fmpq_mat(9, 10, gradients).rank()
    claim.measured("rank of nine gradients", rank, equation="n ≥ 9").equals(9)


LEFT_OUT = {
    "x_1": (0, "1"),
    "x_3 + x_4": (3, "25/129"),
    "x_9": (6, "1"),
    "x_6 + x_7 - x_8": (8, "1/25"),
}


@pytest.mark.parametrize("form", LEFT_OUT)
def test_control_ten_of_the_eleven_forms_are_not_enough(form, claim):
    """Bombieri distance of the part of degree s, over its norm, squared; <x^a, x^a> = a!/s!.

    x_1^5 and 2x_9 are orthogonal to the other forms: all of them is left. 5x_3x_4 + 3x_5^2 has
    norm² 25/2 + 9; of 5x_3x_4 the part along (x_3 - x_4)² - x_3² = x_4² - 2x_3x_4, of norm² 3,
    is 5²/3, and 25/2 - 25/3 = 25/6 is left: 25/129. 2x_3³ + 2x_6x_7x_8 has norm² 4 + 4/6; the three
    cubes of x_6 +- x_7 +- x_8 left, signed so that all have 2 with 2x_6x_7x_8, have the Gram matrix
    27 and -1, so each has weight 2/25: of 2/3 there remain 2/3 - 12/25 = 14/75, over 14/3 1/25.
    """
    import flint

    left_out, expected = LEFT_OUT[form]
    kept, s = np.delete(forms()[0], left_out, axis=0), FORMS[left_out][1]
    basis = kept[ridge.independent(polynomials.monomials(kept, s))]
    part, n = polynomials.F_2_STAR.part(s), len(basis)
    norm = sum(c * c * polynomials.bombieri(a) for a, c in part.coefficients.items())
    gram = flint.fmpq_mat(n, n, [(u @ v) ** s for u in basis for v in basis])
    inner = flint.fmpq_mat(n, 1, part(basis).tolist())  # <p, (xi . x)^s> = p(xi)
    share = (norm - (inner.transpose() * gram.solve(inner))[0, 0]) / norm
    found = claim.measured("relative distance²", share, equation="f_2* with one form fewer", s=s)
    found.equals(exact.rational(expected))
