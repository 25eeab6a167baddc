"""Lemma E.2 (wang2024, Appendix E.1): one set of exponentials singles out a moving instant.

For every n there is a C(n) such that for all T and m some psi(u) = sum_k alpha_k e^{-beta_k u},
beta_k > 0, has ||I{. = B} - psi(. - B)||_1 <= C(n) e^{0.01 (n+1) T} / m^n for every 1 <= B <= T.

Proof, from Lemma E.1: with u = t - B the error for B is the sum of |I{u = 0} - psi(u)| over the
integers u >= -B, a part of the sum for T. So the worst B is T. For B = T put psi(u) = phi(u + T):
the error is that of phi against I{. = T}. Hence the best coefficients are those of Lemma E.1 for T,
moved by T, and the least possible C(n) is the same. B = 0, which Proposition B.4 uses, is covered.

Checked, in rationals: the error grows from B - 1 to B by |psi(-B)|, for random psi; an interpolant
for T up to 50 serves every B with the same error, within the statement; so the optimum for all B at
once is that for T alone. A layer without normalisation, whose dot product carries B_t, in rationals
and in float64.
Controls: coefficients that are not moved; B = T + 1; the wrong direction.

Readings: T = 0 is admitted in print and claims nothing.
Not checked: the constants of the printed proof, which are those of Lemma E.1 (its claim).
"""

import itertools
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.numerics import exact, logarithms
from repro.numerics.logarithms import ball
from repro.wang2024 import exponentials, heads, moving

E2, ERROR = "Lemma E.2", "l1 error"


@pytest.mark.parametrize("T", [1, 3, 10, 50], ids="T={}".format)
@pytest.mark.exact
def test_one_set_of_coefficients_serves_every_B(T, claim):
    """The interpolant meets I{u = 0} at u = -T, ..., H - T - 1, hence for every B up to T."""
    phi = exponentials.Interpolant(T, T + 4, "1/2")
    Bs = range(0, T + 1, claim.at_scale(smoke=max(1, T // 5), laptop=1, paper=1))
    errors = [phi.moved_error(B) for B in Bs]
    claim.record("error", float(phi.error))
    claim.record("number of B", len(Bs))
    different = sum(error != phi.error for error in errors)
    claim.measured("B with another error than E.1 has for T", different, equation=E2).equals(0)
    for n in (1, 2, 3):
        growth = (flint.arb((n + 1) * T) / 100).exp()
        bound = exponentials.smallest_constant(n) * growth / phi.H**n
        most = theorem(bound, "Lemma E.2 with C(n) = max T^n e^(−0.01(n+1)T)")
        claim.measured("largest l1 error over B", ball(max(errors)), equation=E2, n=n).at_most(most)


@pytest.mark.exact
def test_from_B_minus_1_to_B_the_error_grows_by_one_term(claim):
    """For any psi, on t <= B + 6: the terms u >= -B are those u >= -(B-1), and |psi(-B)|."""
    ratios = st.fractions(min_value="1/9", max_value="8/9", max_denominator=9)
    weights = st.fractions(min_value=-9, max_value=9, max_denominator=9)
    terms = st.lists(st.tuples(ratios, weights), min_size=1, max_size=4)

    def difference(case):
        pairs, B = exact.rationals(case[0]), case[1]

        def psi(u):
            return sum((a * q**u for q, a in pairs), flint.fmpq(0))

        def error(B):
            return sum((abs(psi(t - B) - int(t == B)) for t in range(B + 7)), flint.fmpq(0))

        return error(B) - error(B - 1) - abs(psi(-B))

    what, place = "growth of the error less |psi(−B)|", "Σ_{u≥−B} |I{u = 0} − ψ(u)|"
    cases = st.tuples(terms, st.integers(1, 8))
    examples = claim.at_scale(smoke=25, laptop=150, paper=5000)
    claim.for_all(what, cases, difference, equation=place, examples=examples)


@pytest.mark.exact
def test_the_coefficients_for_T_1_by_hand(claim):
    """T = 1, two heads 2^-t and 4^-t: x (x - 1) over its value -1/4 at x = 1/2 is 4x - 4x^2, moved
    by 1: 2 and -1. psi(u) = 2 2^-u - 4^-u is 0 at u = -1 and 1 at u = 0; what is left is
    the sum over t >= 2 of 4 2^-t - 4 4^-t, that is 4/2 - 4/12 = 5/3. C(1) = 50/e, C(2) = 67^2
    e^-2.01 (Lemma E.1)."""
    for n, C in ((1, 18.39397206), (2, 601.4751606)):
        constant = claim.measured("C(n)", exponentials.smallest_constant(n), equation=E2, n=n)
        constant.within(C, rounding_error(1e-9 * C, "worked out to ten digits"))
    phi = exponentials.Interpolant(1, 2, "1/2")
    alphas = [exact.rational(a) for a in (4, -4)]
    claim.measured("α", list(phi.alphas), equation=E2).equals(alphas)
    moved = [exact.rational(a) for a in (2, -1)]
    claim.measured("α, moved", list(phi.moved()), equation="α_k e^(−β_k T)").equals(moved)
    found = [phi.moved_error(B) for B in (0, 1, 2)]
    # B = 2 sees u = -2 as well, where psi is 2 4 - 16 = -8
    stated = [exact.rational(e) for e in ("5/3", "5/3", "29/3")]
    claim.measured(ERROR, found, equation=E2, B="0, 1, 2").equals(stated)


@pytest.mark.exact
def test_layer_whose_dot_product_carries_B_in_rationals(claim):
    """Tokens (x_t, B_t, 1), every position with its own B_t: the convolution, term by term."""
    T, n, rng = 4, 12, claim.rng("tokens")
    phi = exponentials.Interpolant(T, T + 3, "1/2")
    layer = heads.moving("lin", phi.exponents, phi.moved())
    x = [int(v) for v in rng.choice([-1, 1], n)]
    B = [int(v) for v in rng.integers(0, T + 1, n)]
    out = layer(exact.rationals([[a, b, 1] for a, b in zip(x, B, strict=True)]))[:, 0]
    stated = [sum(phi(s - B[t] + T) * x[t - s] for s in range(t + 1)) for t in range(n)]
    wrong = sum(a != b for a, b in zip(out, stated, strict=True))
    claim.measured("positions with another output", wrong, equation="(12)").equals(0)
    worst = max(abs(out[t] - x[t - B[t]]) for t in range(n) if B[t] <= t)
    most = theorem(ball(phi.error), "Lemma E.2, tokens in [−1, 1]")
    claim.measured("largest |output − x_(t−B)|", ball(worst), equation=E2).at_most(most)


@pytest.mark.parametrize("T", [1, 2, 3], ids="T={}".format)
@pytest.mark.construct
def test_float64_layer_within_its_l1_error_and_the_floor(T, claim):
    """beta B and beta s are rounded before they cancel: some u beta T of each head is lost."""
    import torch

    phi, n = exponentials.Interpolant(T, T + 5, "1/2"), 2 * T + 20
    layer = heads.moving("lin", phi.exponents, phi.moved())
    layer = layer.to(torch.float64, claim.device)
    kernel = moving.Moving("lin", T, phi.exponents, phi.moved(), phi.error)
    l1_error = float(phi.error)
    lost = rounding_error(kernel.rounding(n), "derived at Moving.rounding (moving.py)")
    claim.record(ERROR, l1_error)
    draws = claim.rng("signs").choice([-1.0, 1.0], (64, n))
    for B in range(T + 1):
        psi = [phi(s - B + T) - int(s == B) for s in range(n)]
        worst = np.array([-1.0 if p < 0 else 1.0 for p in reversed(psi)])
        x = torch.tensor(np.vstack([draws, worst]), device=claim.device)  # (65, n)
        tokens = torch.stack([x, torch.full_like(x, B), torch.ones_like(x)], dim=-1)
        out = layer(tokens, queries=1)[:, 0, 0]
        finite = bool(out.isfinite().all())
        claim.measured("outputs are finite", finite, equation="(12)", B=B).equals(True)
        errors = (out - x[:, n - 1 - B]).abs()
        for signs, error in (("random", errors[:-1].max()), ("worst", errors[-1])):
            seen = claim.measured("error", float(error), equation=E2, signs=signs, B=B)
            seen.at_most(theorem(l1_error, "Lemma E.2") + lost)
        seen.at_least(
            theorem(l1_error * (1 - 1e-3), "the worst signs attain it; 0.1 % is off the window")
            + rounding_error(-kernel.rounding(n), "as above")
        )


@pytest.mark.exact
def test_error_against_B(claim):
    phi = exponentials.Interpolant(5, 10, "1/2")
    errors = [phi.moved_error(B) for B in range(8)]
    falls = sum(later < earlier for earlier, later in itertools.pairwise(errors))
    claim.measured("B at which the error falls", falls, equation=E2).equals(0)
    least = theorem(1, "the error of the zero kernel: nothing bounds ψ(−T − 1)")
    claim.measured(ERROR, errors[6], equation="B = T + 1").at_least(least)


@pytest.mark.exact
def test_rounding_by_hand(claim):
    """One head 3 · 2^-u, T = 1: A = 3 e^β / (1 − e^-β) = 12, and for 10 tokens in units of 2^-53
    1.01 · 12 (6 log 2 + 10 + 2 + 40) + 10 = 690.645663."""
    one = moving.Moving("lin", 1, (logarithms.Log(2),), (3,), 0)
    weight = claim.measured("A", one.weight, equation="moving.py")
    weight.within(12, rounding_error(1e-14, "float64"))
    units = claim.measured(
        "rounding in units of u", 2.0**53 * one.rounding(10), equation="moving.py"
    )
    units.within(690.645663, rounding_error(5e-6, "worked out to nine digits"))


@pytest.mark.parametrize("B", [1, 5, 9], ids="B={}".format)
def test_control_coefficients_that_are_not_moved_fail_for_B_below_T(B, claim):
    """phi(B) = 0 and phi(T) = 1: the l1 error against the indicator of B is 2 plus that for T."""
    phi = exponentials.Interpolant(10, 14, "1/2")
    before = sum((abs(phi(t) - int(t == B)) for t in range(phi.H)), flint.fmpq(0))
    least = theorem(2, "phi(B) = 0 and phi(T) = 1")
    claim.measured(ERROR, ball(before + phi.error), equation="ψ(t) for ψ(t − B)").at_least(least)


@pytest.mark.parametrize("T", [1, 3, 10], ids="T={}".format)
def test_control_beyond_T_the_error_explodes(T, claim):
    """B = T + 1 sees u = -T - 1, where |psi| = q^{-(T+1)} prod (q^{-1} - q^i) / |q^T - q^i|."""
    phi = exponentials.Interpolant(T, T + 4, "1/2")
    least = theorem(1 / phi.q ** (T + 1), "the product, whose factors are above 1")
    claim.measured(ERROR, ball(phi.moved_error(T + 1)), equation="B = T + 1").at_least(least)


def test_control_the_wrong_direction_finds_nothing(claim):
    """psi(t + B) for psi(t - B): at t = B it sees u = 2B, where psi is small."""
    T, B = 10, 5
    at_B = abs(1 - exponentials.Interpolant(T, T + 4, "1/2")(T + 2 * B))
    least = theorem(Fraction(98, 100), "|ψ(2B)| ≤ the l1 error ≤ E_4 < 0.02, finding heads-equal-T")
    claim.measured(ERROR, ball(at_B), equation="ψ(t + B) for ψ(t − B)").at_least(least)
