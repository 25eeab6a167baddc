"""Finding (wang2024, sharpens Proposition 5.2 (B)): without dot product, no better than a constant.

For y_t = x_{t-g(x_t)} with any g >= 1 that is not constant on a finite set of tokens, the least of
    sup over X of |y_t - h(x_t) - sum_{s >= 1} rho_s x_{t-s}|
over all kernels rho and all functions h of the present token is exactly half the width of the token
set, the error of a constant. For the tokens -1, 0, 1 of Proposition 5.2 (as printed, g = 0, 1, 2,
or in class (10), g = 1, 2, 3) it is 1, the error of 0.

Proof: repro/wang2024/pointer.py, (B). Four windows and weights 1/4, -1/4, -1/4, 1/4 annihilate h
and every rho_s, and the weighted targets add up to half the width.

Checked, in rationals: the certificate for both targets, for the pointer of the nested example on
two tokens, and for random pointers and tokens, with the present token unseen (log), affine (lin) or
in any function; the two forced errors, attained, for random rho and h; that the constant in the
middle attains the bound. By linear programming: 1 in every case with the tokens -1, 0, 1.
Controls: coefficients that may depend on x_t; a constant g; weights with one sign wrong.

Not checked by computation: infinite windows, to which the four windows extend with any past, the
same for all four: sums of rho over it cancel as well.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.numerics import exact, minimax
from repro.wang2024 import pointer

POINTERS = {
    "printed, g = 0, 1, 2": {-1: 0, 0: 1, 1: 2},
    "in class (10), g = 1, 2, 3": {-1: 1, 0: 2, 1: 3},
    "two tokens, g = 2, 1": {-1: 2, 1: 1},
}
PRESENT = ["unseen", "affine", "any function"]
pointers = pytest.mark.parametrize("g", POINTERS.values(), ids=POINTERS)
presents = pytest.mark.parametrize("present", PRESENT)
LEAST, TARGET = "least error", "x_{t−g} − h(x_t) − Σ ρ_s x_{t−s}"
SOLVER = "tolerance 1e-7 of the solver"


def certified(g, present, n=6):
    """sum w y / sum |w|, exact, the weights being checked against every column."""
    follow = pointer.Pointer(g)
    x, weights = pointer.certificate(follow, n)
    return pointer.lower_bound(weights, pointer.columns(follow, x, present), follow(x))


@pointers
@presents
@pytest.mark.exact
def test_four_windows_prove_1_and_zero_attains_it(g, present, claim):
    least, follow = certified(g, present), pointer.Pointer(g)
    claim.measured("least error, from below", least, equation=TARGET).equals(1)
    zero = int(abs(follow(follow.windows(4))).max())
    claim.measured("error of the output 0", zero, equation=TARGET).equals(1)


@pytest.mark.exact
def test_the_certificate_by_hand(claim):
    """As a reader would check it: x_t, x_{t-1}, x_{t-2}, target, weight, for the printed g."""
    rows = [
        (0, 1, -1, 1, Fraction(1, 4)),
        (0, -1, 1, -1, Fraction(-1, 4)),
        (1, 1, -1, -1, Fraction(-1, 4)),
        (1, -1, 1, 1, Fraction(1, 4)),
    ]
    wrong = sum(y != (x, a, b)[x + 1] for x, a, b, y, _ in rows)
    claim.measured("targets other than x_{t−g}", wrong, equation="g = x + 1").equals(0)
    for token in (0, 1):
        of_token = sum(w for x, *_, w in rows if x == token)
        claim.measured("weight of h(x_t)", of_token, equation="Σ w h(x_t) = 0", x_t=token).equals(0)
    for s in (1, 2):
        of_rho = sum(row[s] * row[-1] for row in rows)
        claim.measured("weight of ρ_s", of_rho, equation="Σ w ρ_s x_{t−s} = 0", s=s).equals(0)
    forced = sum(w * y for *_, y, w in rows)
    claim.measured("weighted targets", forced, equation="Σ w y").equals(1)
    claim.measured("total weight", sum(abs(w) for *_, w in rows), equation="Σ |w|").equals(1)


@pytest.mark.exact
def test_columns_and_multiples_of_weights_by_hand(claim):
    """The window (0, 1, -1), -1 last: x_{t-1} = 1, x_{t-2} = 0, and of x_t = -1 the constant, the
    token itself, or the indicators of -1, 0, 1. Three times the weights prove the same."""
    follow, x = pointer.PRINTED, np.array([[0, 1, -1]])
    stated = {"unseen": [1, 0, 1], "affine": [1, 0, 1, -1], "any function": [1, 0, 1, 0, 0]}
    for present, row in stated.items():
        found = pointer.columns(follow, x, present)[0].tolist()
        claim.measured("columns", found, equation=TARGET, present=present).equals(row)
    x, weights = pointer.certificate(follow, 6)
    table = pointer.columns(follow, x, "any function")
    least = pointer.lower_bound(3 * weights, table, follow(x))
    claim.measured("least error, from below", least, equation="Σ w y / Σ |w|").equals(1)


@pytest.mark.exact
def test_every_pointer_that_moves_has_half_the_width_of_its_tokens(claim):
    """Two to five tokens between -9 and 9, distances 1 to 5, not all the same. The constant in the
    middle of the tokens errs by half the width, because y_t is a token."""
    tables = st.dictionaries(st.integers(-9, 9), st.integers(1, 5), min_size=2, max_size=5).filter(
        lambda g: len(set(g.values())) > 1
    )
    examples = claim.at_scale(smoke=40, laptop=300, paper=3000)

    def differs(g):
        middle, half = Fraction(max(g) + min(g), 2), Fraction(max(g) - min(g), 2)
        attained = max(abs(y - middle) for y in g)
        return abs(certified(g, "any function") - exact.rational(half)) + int(attained != half)

    name = "certified and attained error, less half the width of the tokens"
    claim.for_all(name, tables, differs, equation=TARGET, examples=examples)


@pytest.mark.exact
def test_what_each_token_forces(claim):
    """For random rho_1, rho_2, h: the largest error with x_t = 0 or 1 is at least the stated sum,
    equal to it for the best h, and the two sums are 2 or more."""
    halves = st.integers(-9, 9).map(lambda k: Fraction(k, 6))
    signs = list(itertools.product([-1, 1], repeat=2))

    def violated(case):
        rho, h = case[:2], case[2:]
        stated = [abs(1 - rho[0]) + abs(rho[1]), abs(rho[0]) + abs(1 - rho[1])]

        def errors(token, constant):
            targets = [(past[token], past) for past in signs]  # g(0) = 1, g(1) = 2
            return [y - constant - rho[0] * a - rho[1] * b for y, (a, b) in targets]

        largest = [max(map(abs, errors(token, h[token]))) for token in (0, 1)]
        without = [max(map(abs, errors(token, 0))) for token in (0, 1)]
        as_stated = all(e >= s for e, s in zip(largest, stated, strict=True))
        return int(not (as_stated and without == stated and sum(stated) >= 2))

    examples, cases = claim.at_scale(smoke=60, laptop=500, paper=10000), st.tuples(*[halves] * 4)
    stated, name = (
        "|1 − ρ_1| + |ρ_2| + |ρ_1| + |1 − ρ_2| ≥ 2",
        "kernels that are no case of the proof",
    )
    claim.for_all(name, cases, violated, equation=stated, examples=examples)


@pointers
@presents
@pytest.mark.best_in_class
def test_linear_programming_finds_nothing_below_1(g, present, claim):
    """All windows of 5 tokens, all rho_1, ..., rho_4; its own dual solution is looked at too."""
    follow = pointer.Pointer(g)
    x = follow.windows(5)
    table = pointer.columns(follow, x, present).astype(float)
    best = minimax.best_on_points(table, follow(x).astype(float))
    claim.measured(LEAST, best.error, equation=TARGET).within(1, rounding_error(1e-7, SOLVER))
    attained = np.abs(follow(x) - table @ best.coefficients).max()
    number = claim.measured("error of its coefficients", attained, equation=TARGET)
    number.within(1, rounding_error(1e-7, SOLVER))
    left = np.abs(table.T @ best.weights).max()
    dual = claim.measured("dual weights on a column", left, equation="w ⊥ columns")
    dual.at_most(rounding_error(1e-7, SOLVER))


def least_error(columns, y):
    return minimax.best_on_points(columns.astype(float), y.astype(float)).error


def test_control_coefficients_that_depend_on_the_token(claim):
    """What a dot product gives: rho_s(x_t) for rho_s. Then 1 is no bound: the error is 0."""
    follow = pointer.SHIFTED
    x = follow.windows(5)
    past = pointer.columns(follow, x, "unseen")
    table = np.concatenate([past * (x[:, -1:] == v) for v in follow.tokens], axis=1)
    gap = 1 - least_error(table, follow(x))
    none = theorem(1 - 1e-7, f"rho_s(x) = I{{s = g(x)}} has error 0; {SOLVER}")
    claim.measured("1 − least error", gap, equation="ρ_s(x_t)").at_least(none)


def test_control_a_pointer_that_does_not_move(claim):
    follow = pointer.Pointer({-1: 2, 0: 2, 1: 2})
    x = follow.windows(5)
    gap = 1 - least_error(pointer.columns(follow, x, "unseen"), follow(x))
    none = theorem(1 - 1e-7, f"rho = I{{s = 2}} has error 0; {SOLVER}")
    claim.measured("1 − least error", gap, equation="g = 2").at_least(none)


def test_control_one_wrong_sign_is_no_certificate(claim):
    """Weights 1/4, 1/4, -1/4, 1/4 leave 1/2 of h(x_t)."""
    x, weights = pointer.certificate(pointer.PRINTED, 6)
    weights[1] = -weights[1]
    columns = pointer.columns(pointer.PRINTED, x, "any function")
    left = max(abs(exact.rationals(columns).T @ weights))
    with pytest.raises(ValueError, match="annihilate every column"):
        pointer.lower_bound(weights, columns, pointer.PRINTED(x))
    half = theorem(Fraction(1, 2), "1/4 + 1/4 at the token 0")
    claim.measured("left of a column", left, equation="w ⊥ columns").at_least(half)
