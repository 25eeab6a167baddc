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
the gradients. Control: with one of the eleven forms left out, least squares over all coefficients
misses f_2* by a positive distance.

Not checked: whether 9 or 10 directions suffice.
"""

import numpy as np
import pytest

from repro.bounds import theorem
from repro.fang2022 import model as model_
from repro.fang2022 import polynomials, ridge
from repro.fang2022 import powers as powers_
from repro.numerics import exact


def forms():
    """Rows: coefficients of the 11 linear forms on x_1, ..., x_10; beta (11, 5)."""
    xi, beta = np.zeros((11, 10), dtype=object), np.zeros((11, 5), dtype=object)
    half = exact.rational("1/2")

    def place(row, powers, **coefficients):
        for name, c in coefficients.items():
            xi[row, int(name[1:]) - 1] = c
        for s, b in powers.items():
            beta[row, s - 1] = b

    place(0, {5: 1}, x1=1)
    place(1, {4: 3}, x2=1)
    place(2, {3: 2}, x3=1)
    place(3, {2: 5}, x3=half, x4=half)
    place(4, {2: -5}, x3=half, x4=-half)
    place(5, {2: 3}, x5=1)
    place(6, {1: 2}, x9=1)
    two_thirds = exact.rational("2/3")  # 2/24 times 2^3, since the forms are halved
    for row, (sign, b, c) in enumerate([(1, 1, 1), (-1, 1, -1), (-1, -1, 1), (1, -1, -1)], 7):
        place(row, {3: sign * two_thirds}, x6=half, x7=b * half, x8=c * half)
    return exact.rationals(xi), exact.rationals(beta)


def model(B):
    xi, beta = forms()
    blocks = powers_.power_blocks(11, 5, powers_.repaired(5, B))
    return model_.Transformer(xi, blocks, powers_.readout(beta), 0 * B)


@pytest.mark.exact
def test_eleven_forms_give_the_target(claim):
    xi, beta = forms()
    x = exact.vector(exact.symbols(*(f"x{i}" for i in range(1, 11))))
    t = xi @ x
    total = sum(b * t[k] ** (s + 1) for k, row in enumerate(beta) for s, b in enumerate(row))
    difference = total - polynomials.F_2_STAR(x)
    claim.measured(
        "terms of the difference", len(difference), equation="Σ β (ξ·x)^s = f_2*"
    ).equals(0)
    longest = max((v * v).sum() for v in xi)
    claim.measured("largest ‖ξ‖²", longest, equation="Section 2.1").at_most(theorem(1, "‖ξ‖ ≤ 1"))


@pytest.mark.exact
def test_the_literal_blocks_with_eleven_tokens_are_the_target(claim):
    B = exact.rational(8)
    transformer = model(B)
    points = claim.at_scale(smoke=20, laptop=200, paper=2000)
    x = exact.rationals(claim.rng("points").integers(-25, 26, (points, 10)).tolist()) / 10
    wrong = transformer(x) != polynomials.F_2_STAR(x)
    claim.measured(
        f"points of {points} with C ≠ f_2*", int(wrong.sum()), equation="C^5 = f_2*"
    ).equals(0)
    free = transformer.F.size + 11 * 5 + 1
    claim.measured("free parameters", free, equation="n(d + q) + 1").equals(166)


@pytest.mark.exact
def test_fewer_than_nine_directions_cannot(claim):
    """The gradients of f_2* at nine points are independent, so nine directions are needed."""
    import flint

    points = claim.rng("gradients").integers(-9, 10, (9, 10))
    terms = polynomials.F_2_STAR.coefficients.items()
    gradients = [slope(terms, x, i) for x in exact.rationals(points) for i in range(10)]
    rank = flint.fmpq_mat(9, 10, gradients).rref()[1]
    claim.measured("rank of nine gradients", rank, equation="n ≥ 9").equals(9)


def slope(terms, x, i):
    """The derivative of the polynomial by x_i, at x."""
    total = 0 * x[0]
    for a, c in terms:
        if a[i]:
            lowered = [e - (j == i) for j, e in enumerate(a)]
            total += c * a[i] * np.prod([v**e for v, e in zip(x, lowered, strict=True)])
    return total


@pytest.mark.parametrize(
    "left_out", [0, 3, 6, 8], ids=["x_1", "x_3 + x_4", "x_9", "x_6 + x_7 - x_8"]
)
def test_control_ten_of_the_eleven_forms_are_not_enough(left_out, claim):
    """Bombieri distance, exactly: the part of degree s that needs the form is not in the span."""
    import flint

    xi, beta = forms()
    s = next(s + 1 for s in range(5) if beta[left_out, s] != 0)
    kept = np.delete(xi, left_out, axis=0)
    rows = polynomials.monomials(kept, s)
    basis = kept[ridge.independent(rows)]
    part = polynomials.F_2_STAR.part(s)
    norm = sum(c * c * polynomials.bombieri(a) for a, c in part.coefficients.items())
    n = len(basis)
    gram = flint.fmpq_mat(n, n, [(u @ v) ** s for u in basis for v in basis])
    inner = flint.fmpq_mat(n, 1, part(basis).tolist())  # <p, (xi . x)^s> = p(xi)
    distance = norm - (inner.transpose() * gram.solve(inner))[0, 0]
    least = exact.rational("1/100")
    claim.measured(
        f"relative distance², degree {s}", distance / norm, equation="one form fewer"
    ).at_least(theorem(least, "not in the span, so positive"))
