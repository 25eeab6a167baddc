"""Finding (sharpens wang2024, Lemmas E.1 and E.2 and the prose of 4.2): T plus a few heads do.

Exponentials q^t, ..., q^{Ht} that interpolate the indicator of T at 0, ..., H - 1 differ from it in
l1(N) by at most q^{j(j+1)/2} / ((1 - q) (q; q)_inf^2), where j = H - T. So with lin-RPE the heads
needed for a given accuracy are T plus a constant; Section 4.2 says that they grow exponentially.

Proof: repro/wang2024/exponentials.py, Interpolation. There also: for fixed j the error increases
with T to a limit E_j, and it is at least (1 - q^{T+1} / (1 - q)) E_j, since each of Gauss's
binomials is within this factor of its limit. The law is thus two-sided.

Checked, in rational numbers throughout: the bound and both sides of the law for every T up to 60
(laptop scale) and q = 1/4, 1/2, 3/4; the heads needed for four accuracies; interpolation, the sign
of the tail and its values by Gauss's binomials for random q, T and H; the error against a plain
sum, and through the attention layer itself at the input of the worst signs.
Controls: one head less; instants 1, ..., H; one sign changed.

Not checked: irrational q, which the proof covers. That T heads do not suffice is finding
heads-necessary.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

import flint
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.numerics import exact
from repro.numerics.logarithms import ball
from repro.wang2024 import exponentials, heads
from repro.wang2024.pictures import sums as pictures

EXTRA = {"1/4": range(1, 6), "1/2": range(1, 9), "3/4": (3, 6, 10, 14)}  # q: values of j = H - T
CASES = [(q, j) for q, js in EXTRA.items() for j in js]
HALF = Fraction(1, 2)
ERROR = "l1 error"
BOUND = "q^(j(j+1)/2) / ((1−q) (q;q)_∞²)"


def interpolant(T, H, q: Any = HALF):
    return exponentials.Interpolant(T, H, q)


def instants(claim):
    return range(1, claim.at_scale(smoke=20, laptop=60, paper=200) + 1)


@pytest.mark.parametrize(("q", "j"), CASES, ids=[f"q={q}-j={j}" for q, j in CASES])
@pytest.mark.exact
def test_the_error_depends_on_H_minus_T_only(q, j, claim):
    Ts = instants(claim)
    errors = [interpolant(T, T + j, q).error for T in Ts]
    bound, q = exponentials.interpolation_bound(j, q), exact.rational(q)
    claim.record("smallest error", float(errors[0]))
    most = theorem(bound, "the bound of the finding, rounded up to 64 bits")
    claim.measured("largest l1 error over T", ball(max(errors)), equation=BOUND).at_most(most)
    falls = sum(later < earlier for earlier, later in itertools.pairwise(errors))
    claim.measured("T at which the error falls", falls, equation="binom(T+j+s, T)_q").equals(0)
    limit = exponentials.interpolation_limit(j, q)
    with flint.ctx.workprec(exponentials.BITS):
        least = [limit * (1 - q ** (T + 1) / (1 - q)) for T in Ts]
        inside = sum(a <= error <= limit for a, error in zip(least, errors, strict=True))
    law = "(1 − q^(T+1)/(1−q)) E_j ≤ ‖I − φ‖₁ ≤ E_j"
    claim.measured("T within the law", inside, equation=law).equals(len(Ts))
    factor = (1 - q) * exponentials.infinite_factorial(q)
    allowed = theorem(
        factor * bound, "E_j over the bound is (1−q) (q;q)_∞ / (q;q)_(j−1) Σ q^(jk) (q;q)_k"
    )
    claim.measured("E_j", limit, equation=BOUND).at_least(allowed)


ACCURACIES = {"1/2": 3, "1/10": 4, "1/100": 5, "1/1000000": 7}


@pytest.mark.parametrize("accuracy", ACCURACIES, ids="error={}".format)
@pytest.mark.exact
def test_heads_needed_are_T_plus_a_constant(accuracy, claim):
    """The least j with E_j within the accuracy serves every T, and is needed by the last T.

    E_2, E_3, E_4 are 1, 0.154 and 0.0107 (by hand, below); 2^(1-j(j+1)/2) / e^2 is less than 1/100
    for j = 5 and 1e-6 for j = 7, E_6 > 2^-21 / e > 1e-6.
    """
    level, Ts = exact.rational(accuracy), instants(claim)

    def needed(T):
        return next(j for j in range(1, 20) if interpolant(T, T + j).error <= level)

    extra = [needed(T) for T in Ts]
    claim.record("heads for the last T", Ts[-1] + extra[-1])
    stated = ACCURACIES[accuracy]
    claim.measured("most heads beyond T", max(extra), equation="E_j ≤ error").equals(stated)
    claim.measured("heads beyond the last T", extra[-1], equation="E_(j−1) > error").equals(stated)


def gauss(n, k, q):
    """Gauss's binomial by Pascal's rule, apart from the products in the library."""
    row = [flint.fmpq(1)]
    for _ in range(n):
        pairs = zip([0, *row], [*row, 0], strict=True)
        row = [left + q**i * right for i, (left, right) in enumerate(pairs)]
    return row[k]


@pytest.mark.exact
def test_interpolation_sign_and_size_of_the_tail_for_any_q(claim):
    """phi(i) = I{i = T} for i < H, and phi(H + s) as the proof has it, with its sign."""
    ratios = st.fractions(min_value="1/50", max_value="49/50", max_denominator=50)
    cases = st.tuples(ratios, st.integers(1, 8), st.integers(1, 6), st.integers(0, 6))

    def wrong(case):
        q, T, j, s = exact.rational(case[0]), *case[1:]
        phi = interpolant(T, T + j, q)
        missed = sum(phi(i) != int(i == T) for i in range(T + j))
        size = q ** (j * (j + 1) // 2 + s) * gauss(T + j + s, T, q) * gauss(j - 1 + s, s, q)
        return missed + int(phi(T + j + s) != (-1) ** (j - 1) * size)

    examples = claim.at_scale(smoke=30, laptop=300, paper=4000)
    claim.for_all("wrong values of phi", cases, wrong, equation="φ_H(H + s)", examples=examples)


@pytest.mark.exact
def test_enclosures_hold_what_a_short_sum_leaves_out(claim, monkeypatch):
    """With 8 bits for 256, q = 1/2: e lies between 9 factors 1 - 2^-k times 1 - 2^-10 / (1/2) and
    the 9 factors; E_2 = 2^-3 / ((1/2) e) sum_k 4^-k (q; q)_k, of which k < 10 leave 4^-10 / (3/4).
    """
    monkeypatch.setattr(exponentials, "BITS", 8)
    exponentials._factorials.cache_clear()
    e, limit = exponentials.infinite_factorial(HALF), exponentials.interpolation_limit(2, HALF)
    exponentials._factorials.cache_clear()
    nine = [math.prod(1 - Fraction(1, 2**i) for i in range(1, k + 1)) for k in range(10)]
    low, high = nine[9] * (1 - Fraction(1, 2**9)), nine[9]
    total, rest = sum(f / 4**k for k, f in enumerate(nine)), Fraction(1, 3 * 4**9)
    for name, found, ends in (
        ("(q; q)_∞", e, (low, high)),
        ("E_2", limit, (total / high / 4, (total + rest) / low / 4)),
    ):
        fine = rounding_error(2e-8, "the ends of a ball are rounded to 30 bits outwards")
        claim.measured(name, found.lower(), equation="T → ∞", end="low").within(ends[0], fine)
        claim.measured(name, found.upper(), equation="T → ∞", end="high").within(ends[1], fine)


SUMMED = [(1, 1), (7, 2), (20, 5)]


@pytest.mark.parametrize(("T", "j"), SUMMED, ids=[f"T={T}-j={j}" for T, j in SUMMED])
@pytest.mark.exact
def test_error_against_a_plain_sum_of_absolute_values(T, j, claim):
    """No argument about signs: 80 terms, and sum |alpha_h| q^{hN} / (1 - q^h) for the rest."""
    phi = interpolant(T, T + j)
    N = T + j + 80
    inside = sum((abs(phi(t) - int(t == T)) for t in range(N)), flint.fmpq(0))
    terms = enumerate(phi.alphas, start=1)
    rest = sum((abs(a) * phi.q ** (h * N) / (1 - phi.q**h) for h, a in terms), flint.fmpq(0))
    left = rest - abs(phi.error - inside)
    claim.record("rest over error", ball(rest / phi.error))
    found = claim.measured("rest less the difference of both sums", ball(left), equation="‖I − φ‖₁")
    found.at_least(theorem(0, "the triangle inequality beyond 80 terms"))


@pytest.mark.exact
def test_small_cases_by_hand(claim):
    """q = 1/2, T = 1. x (x - 1) is -1/4 at x = 1/2, so for H = 2 phi(t) = 4 2^-t - 4 4^-t, which
    sums to 2 - 1/3 from t = 2 on. x (x - 1) (x - 1/4) is -1/16, so for H = 3 the coefficients are
    -4, 20, -16, and from t = 3 on they sum to -1 + 5/12 - 1/28.

    E_j = q^(j(j+1)/2) S_j / ((q; q)_(j-1) e), S_j = sum_k q^(jk) (q; q)_k and e = (q; q)_inf. Since
    q^(k+1) (q; q)_k is (q; q)_k - (q; q)_(k+1), q S_1 = 1 - e and q S_(j+1) = S_j - q^-j (S_j - 1):
    for q = 1/2 S_1, ..., S_4 are 2 - 2e, 4e, 8 - 24e, 336e - 96, and E_1, ..., E_4 are 1/e - 1, 1,
    1/(3e) - 1 and 1 - 2/(7e). By Euler e = 1 - q - q^2 + q^5 + q^7 - ...; the bound is
    2^(1 - j(j+1)/2) / e^2.
    """
    for H, alphas, error in ((2, (4, -4), "5/3"), (3, (-4, 20, -16), "13/21")):
        phi = interpolant(1, H)
        claim.measured("α", phi.alphas, equation="φ(t) = I{t = 1}, t < H", H=H).equals(alphas)
        found = claim.measured(ERROR, phi.error, equation="‖I − φ‖₁", H=H)
        found.equals(exact.rational(error))
    found = claim.measured("Σ|α_h|", interpolant(1, 3).weight, equation="φ(t) = I{t = 1}, t < H")
    found.equals(40)
    fine = rounding_error(1e-60, "balls of 256 bits")
    with flint.ctx.workprec(exponentials.BITS):
        e = sum((-1) ** k * flint.arb(0.5) ** (k * (3 * k - 1) // 2) for k in range(-15, 16))
        by_hand = [1 / e - 1, flint.arb(1), 1 / (3 * e) - 1, 1 - 2 / (7 * e)]
        for j, stated in enumerate(by_hand, 1):
            limit = exponentials.interpolation_limit(j, HALF)
            claim.measured("E_j", limit, equation="T → ∞", j=j).within(stated, fine)
        for j, factor in ((1, 1), (2, 4), (3, 32)):
            stated, bound = 1 / (factor * e**2), exponentials.interpolation_bound(j, HALF)
            found = claim.measured("bound", bound, equation=BOUND, j=j).at_least(
                theorem(stated, BOUND)
            )
            found.at_most(
                theorem(stated, BOUND) + rounding_error(stated / 2**62, "64 bits, upwards")
            )


def worst_output(alphas, exponents, T, length):
    """Output minus x_{t-T} at the last of `length` tokens, x being the worst signs; exact."""
    values = heads.values("lin", exponents, alphas, length)
    attention = heads.summed("lin", exponents, values)
    kernel = values @ attention.kernel(length)
    difference = [k - int(s == T) for s, k in enumerate(kernel)]
    x = [-1 if d < 0 else 1 for d in reversed(difference)]
    (output,) = attention(exact.rationals(x)[:, None], queries=1)[:, 0]
    return output - x[-1 - T]


@pytest.mark.parametrize("T", [3, 10, 20], ids="T={}".format)
@pytest.mark.exact
def test_the_layer_itself_has_this_error_at_the_worst_signs(T, claim):
    """Softmax heads with p = h log 2, in rationals: the error less what lies beyond the window."""
    phi, length = interpolant(T, T + 4), T + 16
    error = worst_output(phi.alphas, phi.exponents, T, length)
    claim.record("error of the layer", float(error))
    off = error - (phi.error - abs(phi.tail(length)))
    claim.measured("error of the layer less that of φ on the window", off, equation="(3)").equals(0)


@pytest.mark.exact
def test_figure_error_and_heads_against_T(claim):
    Ts, js = instants(claim), range(2, 9)
    errors = {j: [float(interpolant(T, T + j).error) for T in Ts] for j in js}
    bounds = {j: float(exponentials.interpolation_bound(j, "1/2")) for j in js}
    tenth = exact.rational("1/10")
    needed = [next(T + j for j in js if interpolant(T, T + j).error <= tenth) for T in Ts]
    most = max(H - T for H, T in zip(needed, Ts, strict=True))
    claim.measured("most heads beyond T", most, equation="E_4 ≤ 1/10 < E_3", error="1/10").equals(4)
    claim.figure(
        pictures.heads_equal_T(list(Ts), errors, bounds),
        "heads",
        caption="Exact l1 error of T + j exponentials 2^-ht against the indicator of T; the dashed "
        "bounds do not depend on T.",
    )


@pytest.mark.parametrize("j", range(3, 9), ids="j={}".format)
def test_control_with_one_head_less_the_bound_fails(j, claim):
    """H - 1 heads where the bound for H = T + j is asked: E_{j-1} is more than twice that."""
    error, bound = interpolant(10, 9 + j).error, exponentials.interpolation_bound(j, "1/2")
    least = theorem(
        2 * bound, "(1 − 2^-10) E_(j−1) ≥ 2 q^(j(j+1)/2) / ((1−q)(q;q)²) for q = 1/2, j ≥ 3"
    )
    claim.measured(ERROR, ball(error), equation="H = T + j − 1").at_least(least)


@pytest.mark.parametrize("T", [1, 5, 20], ids="T={}".format)
def test_control_without_the_instant_0_the_error_is_astronomical(T, claim):
    """Zeros at 1, ..., H instead: |phi(0)| >= q^{-T(T+1)/2 - Tj}, by the same product."""
    q, j = exact.rational("1/2"), 4
    value = 1 / q**T
    for i in range(1, T + j + 1):
        value *= (1 - q**i) / (q**T - q**i) if i != T else 1
    least = 1 / q ** (T * (T + 1) // 2 + T * j)
    bound = exponentials.interpolation_bound(j, q)
    claim.measured("|φ(0)|", ball(abs(value)), equation="instants 1, …, H").at_least(
        theorem(ball(least), "the product, factor by factor")
    ).at_least(theorem(1000 * bound, "2^(T(T+1)/2 + 4T) ≥ 32, the bound is 0.03"))


@pytest.mark.parametrize("h", [1, 6, 12], ids="h={}".format)
def test_control_one_sign_changed_shows_in_the_layer(h, claim):
    """-alpha_h for alpha_h adds 2 |alpha_h| 2^{-hs} at every s, 2 |alpha_h| at s = 0 alone: more
    than 1, the error without heads, since |alpha_h| is the smallest for h = 1 and 42 there."""
    T = 8
    phi = interpolant(T, T + 4)
    changed = [-a if i == h else a for i, a in enumerate(phi.alphas, start=1)]
    error = worst_output(changed, phi.exponents, T, T + 16)
    least = 2 * abs(phi.alphas[h - 1])
    limit = theorem(ball(least), "φ(0) = 0 becomes −2α_h")
    claim.measured(ERROR, ball(error), equation="−α_h for α_h").at_least(limit)
