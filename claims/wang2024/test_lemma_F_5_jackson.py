"""Lemma F.5 (wang2024, Appendix F.3, after Jackson 1930): polynomials, with the constant 1.

If f in C^n([0, 1]) vanishes at 0 with its derivatives up to order n, then for every m some
polynomial of degree m - 1 is within M(n) / m^n of f, M(n) the largest of |f|, ..., |f^(n)|.

False as printed: it is true for n <= 37, and false for every n >= 38 that we looked at.
Corrected: a factor 1.12^n on the right. Proof in repro/wang2024/jackson.py: for m >= n the constant
1 is right. For m <= n the worst f is x^n/n!, or comes as near to it as one likes, and
m^n E_(m-1)(x^n)/n! grows like 1.1168^n for m near 0.65 n. Lemmas E.1 to E.6 are not touched: their
C(n) may contain this factor.

Checked: in rationals, m^n E_(m-1)(x^n)/n! < 1 for all m <= n <= 35, and for m >= n the bounds of
the proof; in balls, n = 36 and 37, and the two exponents of the proof for all n. Best polynomials
by Remez with proved bounds, for six families and n <= 6: the error alternates, a linear program
agrees, and m^n E / M is never above what is proved. The counterexamples are x^101/101! with m = 65,
and one for each n from 38 on.
Control: the sine, whose first derivative does not vanish at 0.

Quoted: Sinwel's inequality (1981), for m >= n >= 6.
Not checked: the exact largest ratio for m > n.
"""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.bounds import rounding_error, theorem
from repro.numerics import minimax
from repro.wang2024 import jackson
from repro.wang2024.pictures import sums as pictures

FAMILIES = ["power", "ramp", "perfect spline", "bumps", "exp(-1/x)", "wave"]
LAST = 37  # the largest n for which the constant 1 is right
RATIO, F5 = "mⁿE/M(n)", "Lemma F.5"
LEMMA = theorem(Fraction(1), "the lemma itself")


def pure_power(n):
    return minimax.Target((0.0, 1.0), (lambda x: x**n,))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6], ids="n={}".format)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.best_in_class
def test_best_polynomials_keep_to_the_bound(family, n, claim):
    """Degrees that do not contain f, or nearly so: for the ramp of width 0, all m > n do."""
    most = {"power": n + 1, "ramp": n}.get(family, math.inf)
    for m in claim.at_scale(smoke=[1, 3], laptop=[1, 2, 3, 4, 6, 8], paper=range(1, 17)):
        if m > most:
            continue
        f = jackson.member(family, n, m)
        found = minimax.best(f.f, m - 1)
        error = f.f(found.points) - found(found.points)
        signs = int((np.sign(error[1:]) != np.sign(error[:-1])).sum()) + 1
        number = claim.measured("signs of the error", signs, equation="Chebyshev's theorem", m=m)
        number.equals(m + 1)
        proved = jackson.power_ratio(n, m)[1] if m <= n else jackson.ratio_by_sinwel(n, m)
        claim.measured(RATIO, found.upper * m**n / f.M, equation=F5, m=m).at_most(
            theorem(min(1.0, 1.002 * float(proved)), "1 to 3 of jackson.py, and 0.2 % for cells")
        )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.best_in_class
def test_a_linear_program_finds_the_same_errors(family, claim):
    grid = (1 - np.cos(np.linspace(0, math.pi, 400))) / 2
    for n, m in [(1, 2), (4, 4)]:
        f = jackson.member(family, n, m)
        remez = minimax.best(f.f, m - 1)
        x = np.union1d(grid, remez.points)
        powers = np.polynomial.chebyshev.chebvander(2 * x - 1, m - 1)
        found = minimax.best_on_points(powers, f.f(x)).error
        least = theorem(
            (1 - 1e-6) * remez.lower, "de la Vallée Poussin at Remez's points; 1e-6: solver"
        )
        claim.measured("E by linear program", found, equation="E_(m−1)(f)", n=n, m=m).at_most(
            theorem((1 + 1e-6) * remez.upper, "points of [0, 1] have no larger E; 1e-6: solver")
        ).at_least(least)


@pytest.mark.exact
def test_for_m_up_to_n_one_power_decides(claim):
    """For m <= n <= 35: 2 m^n / 4^n sum_(k >= m) C(2n, n-k) < n!, integers on both sides."""
    worst = max(jackson.largest_power_ratio(n)[1] for n in range(1, 36))
    # n = 35, m = 23: the signs at the extrema of T_23 prove .798, from the term j = 1 alone
    least = Fraction(2 * 23**35 * math.comb(70, 12), 4**35 * math.factorial(35))
    found = claim.measured("largest mⁿE/M(n), all m ≤ n ≤ 35", worst, equation=F5)
    found.at_most(LEMMA).at_least(theorem(least, "2 of jackson.py: 2/4ⁿ C(2n, n − m) mⁿ/n!"))


@pytest.mark.exact
def test_bounds_by_hand(claim):
    """2 of jackson.py. x³, m = 1: 2/64 (15 + 1) = 1/2, which E_0 is, 2/64 (15 + 6 + 1). x⁴, m = 1:
    2/256 (56 + 8), 2/256 (56 + 28 + 8 + 1). x³, m = 2: 2/64 · 6 and 2/64 (6 + 1); times 2³/3! they
    are 1/4 and 7/24, the largest for n = 3. m = n: 2/4ⁿ.

    3 of jackson.py, 355/113 for π. Interpolation: mⁿ 2 / (4ⁿ n!). All steps: 25/(5 · 4) (355/452)²
    for n = 2, m = 5, Šinwel's 25/(5 · 4) · 355/226 / 4. One of three: 27/3 · 355/452 · 2/(4² 2!).
    """
    half, quarter = Fraction(1, 2), Fraction(355, 452)
    of_powers = {
        (3, 1): (half, Fraction(11, 16)), (4, 1): (half, Fraction(93, 128)),
        (3, 2): (Fraction(3, 16), Fraction(7, 32)), (5, 5): (Fraction(1, 512), Fraction(1, 512)),
    }  # fmt: skip
    for (n, m), stated in of_powers.items():
        found = list(jackson.least_error_of_power(n, m))
        claim.measured("bounds", found, equation="E_(m−1)(xⁿ)", n=n, m=m).equals(list(stated))
    found = list(jackson.largest_power_ratio(3))
    claim.measured("ratios", found, equation=F5, n=3).equals([Fraction(1, 4), Fraction(7, 24)])
    for name, n, m, found, stated in (
        ("elementary", 1, 1, jackson.elementary_ratio(1, 1), half),
        ("elementary", 1, 2, jackson.elementary_ratio(1, 2), quarter),
        ("elementary", 2, 3, jackson.elementary_ratio(2, 3), Fraction(9, 16)),
        ("elementary", 2, 5, jackson.elementary_ratio(2, 5), Fraction(5, 4) * quarter**2),
        ("one step of three", 3, 3, jackson._after_steps(3, 3, 1), 9 * quarter / 16),
        ("Šinwel", 2, 5, jackson.ratio_by_sinwel(2, 5), Fraction(5, 8) * quarter),
        ("Šinwel", 2, 3, jackson.ratio_by_sinwel(2, 3), Fraction(9, 16)),
        ("repaired", 2, 1, jackson.repaired_constant(2), Fraction(784, 625)),
    ):
        claim.measured(name, found, equation="Lemma F.5, corrected", n=n, m=m).equals(stated)


@pytest.mark.parametrize("n", [36, 37], ids="n={}".format)
@pytest.mark.certified
def test_the_last_two_orders_for_which_it_holds(n, claim):
    """Where the closed bound is above 1, the best polynomials for x^n, enclosed."""
    beyond = [m for m in range(1, n + 1) if jackson.power_ratio(n, m)[1] > 1]
    claim.record("m beyond the closed bound", beyond)
    for m in beyond:
        ratio = minimax.best(pure_power(n), m - 1).upper * m**n / math.factorial(n)
        claim.measured(RATIO, ratio, equation=F5, m=m).at_most(theorem(1, "the lemma itself"))


@pytest.mark.exact
def test_for_m_from_n_on_the_constant_is_right(claim):
    """The bounds fall from m = 4n on: m^n / (m (m-1) ... (m-n+1)) does."""
    falls = theorem(Fraction(1), "mⁿ / (m ⋯ (m − n + 1)) falls with m, so m = 4n decides")
    beyond = {n: Fraction((4 * n) ** n, math.perm(4 * n, n)) for n in range(1, 61)}
    for last, proof, bound, at_4n in [
        (5, "Favard's steps", jackson.elementary_ratio, lambda n: Fraction(355, 452) ** n),
        (60, "Sinwel", jackson.ratio_by_sinwel, lambda n: Fraction(355, 226) / 2**n),
    ]:
        worst = max(bound(n, m) for n in range(1, last + 1) for m in range(n, 4 * n))
        place = {"equation": "Lemma F.5, m ≥ n", "proof": proof, "last_n": last}
        claim.measured("largest bound, n ≤ m < 4n", worst, **place).at_most(LEMMA)
        steps = max(beyond[n] * at_4n(n) for n in range(1, last + 1))
        claim.measured("largest bound, m ≥ 4n", steps, **place).at_most(falls)


@pytest.mark.certified
def test_the_two_exponents_of_the_proof(claim):
    """m <= n: g is concave, so below its tangent at 0.648 on all of (0, 1]. m >= n: k(e/4)."""
    with flint.ctx.workprec(128):
        u = flint.arb("0.648")
        g = 1 + u.log() - (1 + u) * (1 + u).log() - (1 - u) * (1 - u).log()
        slope = 1 / u + ((1 - u) / (1 + u)).log()
        largest, room = g + abs(slope), flint.arb("1.12").log()
        v = flint.arb(1).exp() / 4
        k = 1 + (1 - v) * (1 - v).log() / v - flint.arb(2).log()
        first = flint.arb.pi() / 2 * (-6 * flint.arb("0.22")).exp()  # n = 6
    number = claim.measured("max g, from above", largest, equation="exp(n g(u)) ≤ 1.12ⁿ")
    number.at_most(theorem(room, "log 1.12"))
    number = claim.measured("k(e/4) − log 2", k, equation="Lemma F.5, m ≥ n")
    number.at_most(theorem(Fraction(-22, 100), "as the proof has it"))
    number = claim.measured("(π/2) e^(−0.22 n)", first, equation="Lemma F.5, m ≥ n", n=6)
    number.at_most(LEMMA)


@pytest.mark.exact
def test_with_the_corrected_constant_it_holds(claim):
    """m^n E / n! <= 1.12^n for all m <= n; 1.11^n is not enough for n = 2000, m = 1296."""
    last = claim.at_scale(smoke=60, laptop=100, paper=200)
    ratios = {n: jackson.largest_power_ratio(n) for n in range(1, last + 1)}
    worst = max(upper / jackson.repaired_constant(n) for n, (_, upper) in ratios.items())
    most = theorem(Fraction(1), "Chernoff and Stirling, jackson.py")
    claim.measured("largest mⁿE/M(n) over 1.12ⁿ", worst, equation=F5, last_n=last).at_most(most)
    lower, upper = jackson.power_ratio(2000, 1296)
    found = claim.measured("mⁿE/M(n), from below", lower, equation="1.1168ⁿ", n=2000, m=1296)
    found.at_least(theorem(Fraction(111, 100) ** 2000, "one hundredth less than 1.12"))
    found = claim.measured("mⁿE/M(n), from above", upper, equation="1.1168ⁿ", n=2000, m=1296)
    found.at_most(theorem(Fraction(112, 100) ** 2000, "Chernoff and Stirling, jackson.py"))


def ratio_of_power(n, m):
    from fractions import Fraction
    from math import comb, factorial

    # f = x^N / N!, so M(n) = max f^(n) = 1; 4^N x^N = C(2N, N) + 2 sum_k C(2N, N-k) cos kt for
    # x = (1 + cos t)/2, and the signs at the extrema of cos mt bound E_(m-1) from below
    N = n + 1
    return m**n * Fraction(2 * comb(2 * N, N - m), 4**N * factorial(N)), 1


def test_printed_constant_one_is_too_small(claim):
    """f = x^101 / 101! vanishes at 0 with 100 derivatives; f^(100) = x, so M(100) = 1."""
    n, m = 100, 65
    claim.counterexample(
        "E_(m-1)(f) <= M(n) / m^n",
        input={"f": "x^101 / 101!", "n": n, "m": m, "M(n)": 1},
        measured=ratio_of_power(n, m)[0],
        expected=1,
        relation="<=",
        equation="Lemma F.5, times mⁿ",
        program=ratio_of_power,
        n=n,
        m=m,
    )


def least_ratio(first, last, digits):
    from fractions import Fraction
    from math import comb, factorial

    def ratio(n, m):  # of x^n / n!, from which f differs by at most w/(n-1)!, w = 10^-digits
        least = sum(comb(2 * n, n - k) for k in range(m, n + 1, 2 * m))
        return Fraction(2 * least * m**n, 4**n * factorial(n))

    lost = {n: Fraction(n**n, 10**digits * factorial(n - 1)) for n in range(first, last + 1)}
    return min(max(ratio(n, m) for m in range(1, n + 1)) - lost[n] for n in lost), 1


def test_printed_lemma_fails_from_thirty_eight_on(claim):
    """f = (x^(n+1) - (x-w)_+^(n+1)) / (w (n+1)!): f^(n) = min(x/w, 1), so f(0) = ... = f^(n)(0) = 0
    and M(n) = 1. As a mean of t^n/n! over [x-w, x], f is within w/(n-1)! of x^n/n!.
    """
    settings = {"first": LAST + 1, "last": claim.at_scale(smoke=60, laptop=100, paper=200)}
    claim.counterexample(
        "E_(m-1)(f) <= M(n) / m^n, for every n above 37 that was tried",
        input={"f": "(x^(n+1) - (x-w)_+^(n+1)) / (w (n+1)!)", "w": "10^-100", **settings},
        measured=least_ratio(**settings, digits=100)[0],
        expected=1,
        relation="<=",
        equation="Lemma F.5, times mⁿ, the smallest over n of the largest over m",
        program=least_ratio,
        **settings,
        digits=100,
    )


@pytest.mark.certified
def test_balls_agree_with_the_closed_bounds(claim):
    """Remez's enclosure of E_(m-1)(x^n) lies between the two closed bounds, and near m = 0.65 n."""
    for n, m in [(5, 3), (12, 8), (24, 16), (38, 25)]:
        f, place = pure_power(n), {"equation": "E_(m−1)(xⁿ)", "n": n, "m": m}
        found = minimax.best(f, m - 1)
        lower, upper = map(float, jackson.least_error_of_power(n, m))
        least = theorem(lower, "2 of jackson.py: Σ_(j odd) C(2n, n−jm)")
        claim.measured("E, from above", found.upper, **place).at_least(least)
        most = theorem(upper, "2 of jackson.py: Σ_(k≥m) C(2n, n−k)")
        claim.measured("E, from below", found.lower, **place).at_most(most)
        level = abs(minimax.level(f, (1 + minimax.chebyshev_points(m - 1)) / 2))
        claim.measured("E from the signs at the extrema of T_m", float(level), **place).within(
            lower, rounding_error(1e-9 * lower, "extrema moved by 1e-16, where f's share is flat")
        )
    orders = list(range(1, claim.at_scale(smoke=61, laptop=101, paper=101)))
    lower, upper = zip(*map(jackson.largest_power_ratio, orders), strict=True)
    curves = {
        "lower": [float(ratio) for ratio in lower],
        "upper": [float(ratio) for ratio in upper],
        "repaired": [float(jackson.repaired_constant(n)) for n in orders],
    }
    claim.figure(
        pictures.jackson(orders, curves),
        "ratios",
        caption="The largest mⁿE over the class with M(n) = 1 and m ≤ n. The lemma says that it is "
        "at most 1; it is for n ≤ 37.",
    )


@pytest.mark.parametrize(("n", "m"), [(8, 2), (8, 3)], ids=["n=8-m=2", "n=8-m=3"])
def test_control_without_the_zeros_the_sine_is_too_far(n, m, claim):
    """sin x has M(n) = 1, but f'(0) = 1."""
    sine = minimax.Target((0.0, 1.0), (np.sin,))
    level = abs(minimax.level(sine, minimax.best(sine, m - 1).points))
    claim.measured("mⁿE/M(n), from below", m**n * level, equation="F.5 without f'(0) = 0").at_least(
        theorem(1, "what the lemma allows; from below by de la Vallée Poussin, in balls")
    )
