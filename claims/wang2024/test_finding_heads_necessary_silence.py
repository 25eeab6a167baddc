"""Finding (converse of finding heads-equal-T): T heads or fewer do not beat the zero kernel.

At most T exponentials (lin-RPE), or at most T - 1 powers (log-RPE), of any exponents and weights,
differ from the indicator of T by at least 1 in l1; phi = 0 differs by exactly 1. One head more
makes the error as small as one likes: T + 1 exponentials, or T powers.

Proof in repro/wang2024/necessity.py: a sequence z with z_T = 1, |z| <= 1 and sum_t z_t phi(t) <= 0
shows that the error is at least z_T = 1.

Checked: in rationals, such a sequence z for random sets of bases or integer exponents: orthogonal
to all heads at once, whatever their weights. In balls, the best weights for real exponents: the
optimum is 1. One head more: exact errors below 1e-6. The other proof, by Rouche: a kernel with an
error below 1 has T zeros in the unit disc, counted.
Controls: one head more; the l2 norm, in which a single head already beats the zero kernel.

Not checked: all real exponents of powers (the proof covers them).
"""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.numerics import exact, l1, logarithms
from repro.wang2024 import necessity, powers

ERROR, FEW = "ℓ₁ error", "H few ⇒ ‖I − φ‖₁ ≥ 1"
SHOWN = rounding_error(1e-12, "balls of 512 bits and more, shown in double precision")


def defects(z, T, heads):
    """How often z fails: z_T = 1, |z| <= 1, sum_t z_t f(t) = 0 for the function f of each head."""
    unbounded = sum(abs(entry) > 1 for entry in z.values())
    not_orthogonal = sum(sum(z[t] * f(t) for t in z) != 0 for f in heads)
    return unbounded + not_orthogonal + (z[T] != 1)


@st.composite
def few_exponentials(draw):
    T = draw(st.integers(1, 12))
    bases = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)
    return T, draw(st.lists(bases, min_size=1, max_size=T, unique=True))


@st.composite
def few_powers(draw):
    T = draw(st.integers(2, 7))
    return T, draw(st.lists(st.integers(2, 40), min_size=1, max_size=T - 1, unique=True))


@pytest.mark.exact
def test_no_weights_of_t_exponentials_beat_the_zero_kernel(claim):
    def wrong(case):
        T, u = case
        z = necessity.against_exponentials(T, u)
        heads = [lambda t, v=v: v**t for v in exact.rationals(u)]
        return defects(z, T, heads) + (min(z) < 0)

    what, place = "defects of the test sequence, lin", "H ≤ T ⇒ ‖I − φ‖₁ ≥ 1"
    examples = claim.at_scale(smoke=40, laptop=150, paper=5000)
    claim.for_all(what, few_exponentials(), wrong, equation=place, examples=examples)


@pytest.mark.exact
def test_no_weights_of_t_minus_1_powers_beat_the_zero_kernel(claim):
    def wrong(case):
        T, exponents = case
        z = necessity.against_powers(T, exponents)
        heads = [lambda s, b=b: 1 / exact.rational(s) ** b for b in exponents]
        return defects(z, T, heads) + (min(z) < 1)

    what, place = "defects of the test sequence, log", "H ≤ T − 1 ⇒ ‖I − φ‖₁ ≥ 1"
    examples = claim.at_scale(smoke=30, laptop=150, paper=2000)
    claim.for_all(what, few_powers(), wrong, equation=place, examples=examples)


@pytest.mark.exact
def test_small_cases_by_hand(claim):
    """lin: (x - 1/2) (1 - x/2) = -1/2 + 5/4 x - x^2/2. log, T = 2, one power s^-2: the search
    begins at 1/2, and (x + g) (1 - x/2) with g + (1 - g/2) / 4 - 1 / 18 = 0 has g = -2/9: it is
    -2/9 + 10/9 x - x^2/2, that is -1/5, 1, -9/20, and indeed -1/5 + 1/4 - 1/20 = 0.

    One exponential more, bases 1/2, 1/3, 1/5 for T = 2: u^-2 over prod (1 - w/u), 4 / (1/3 3/5) =
    20, 9 / (-1/2 2/5) = -45, 25 / (-3/2 -2/3) = 25. The sum from t = 2 on is 2 3/2 5/4 = 15/4.

    1 / (1 - x/2) + b / (1 - x/4) is 0 at (1 + b) / (1/4 + b/2): 12/7, -1/2 and -2.
    """
    lin, log = necessity.against_exponentials(1, ["1/2"]), necessity.against_powers(2, [2])
    for rpe, z, by_hand in (
        ("lin", lin, {0: "-2/5", 1: 1, 2: "-2/5"}),
        ("log", log, {1: "-1/5", 2: 1, 3: "-9/20"}),
    ):
        number = claim.measured("z", [z[t] for t in sorted(z)], equation=FEW, rpe=rpe, t=sorted(z))
        number.equals(exact.rationals(list(by_hand.values())).tolist())
        claim.measured("times", sorted(z), equation=FEW, rpe=rpe).equals(list(by_hand))
    u = ["1/2", "1/3", "1/5"]
    weights = claim.measured("weights", necessity.shortest(2, u), equation="H = T + 1")
    weights.equals((20, -45, 25))
    error = claim.measured(ERROR, necessity.shortest_error(u), equation="H = T + 1")
    error.equals(exact.rational("11/4"))
    for b, zeros in (("-4", 0), ("-9/10", 1), ("-3/4", 0)):
        count = necessity.zeros_in_disc(u=["1/2", "1/4"], weights=[1, b])
        claim.measured("zeros of G in |x| < 1", count, equation="Rouché", b=b).equals(zeros)


@pytest.mark.exact
def test_bound_for_as_many_powers_as_T_by_hand(claim):
    """(2): R 2^-22 (1 + 2/21) for c = 22, j = 0; R 4^-3 (1 + 4/2) / (7 26) for c = 3, j = 2.
    1/R = 1 - x - x^2 + x^5 + x^7 - ... with x = e^-c, by Euler.
    """
    for j, c, rest in ((0, 22, Fraction(23, 21 * 2**22)), (2, 3, Fraction(3, 64 * 7 * 26))):
        with flint.ctx.workprec(256):
            x = (-flint.arb(c)).exp()
            R = 1 / sum((-1) ** k * x ** (k * (3 * k - 1) // 2) for k in range(-9, 10))
            by_hand = R * flint.arb(exact.rational(rest))
            bound = powers.error_bound(j, c)
        number = claim.measured("bound for every T", bound, equation="(2), powers.py", j=j, c=c)
        number.within(by_hand, rounding_error(by_hand / 10**15, "53 bits"))


@pytest.mark.parametrize("T", [10, 20], ids="T={}".format)
@pytest.mark.exact
def test_far_back_as_well(T, claim):
    """As many heads as the finding allows: exponents 2, 3, ..., and bases 1/2, 2/3, 3/4, ..."""
    exponents = list(range(2, min(T, 12) + 1))
    z = necessity.against_powers(T, exponents)
    of_powers = defects(z, T, [lambda s, b=b: 1 / exact.rational(s) ** b for b in exponents])
    claim.measured("defects of z", of_powers, equation="H ≤ T − 1", rpe="log").equals(0)
    u = [exact.rational(Fraction(h, h + 1)) for h in range(1, T + 1)]
    z = necessity.against_exponentials(T, u)
    of_exponentials = defects(z, T, [lambda t, v=v: v**t for v in u])
    claim.measured("defects of z", of_exponentials, equation="H ≤ T", rpe="lin").equals(0)


@pytest.mark.parametrize("T", [1, 2, 5, 20], ids="T={}".format)
@pytest.mark.exact
def test_one_exponential_more_is_enough(T, claim):
    """u_h = q^h, h = 1, ..., T + 1, with q = 10^-7: zero before T, 1 at T, a small sum after."""
    q = exact.rational(Fraction(1, 10**7))
    u = [q**h for h in range(1, T + 2)]
    alpha = necessity.shortest(T, u)
    before = [sum(a * v**t for a, v in zip(alpha, u, strict=True)) for t in range(T + 1)]
    claim.measured("φ(0), ..., φ(T)", before, equation="x^T Π 1/(1 − u_h x)").equals([0] * T + [1])
    total = sum(a / (1 - v) for a, v in zip(alpha, u, strict=True))
    error = necessity.shortest_error(u)
    claim.measured("Σ φ(t) over t > T", total - 1, equation="Π 1/(1 − u_h) − 1").equals(error)
    most = theorem(2 * q, "1/(q; q)∞ − 1 < 2q for every T")
    claim.measured(ERROR, error, equation="H = T + 1").at_most(most)


@pytest.mark.parametrize("T", [1, 2, 5, 10], ids="T={}".format)
@pytest.mark.exact
def test_one_power_more_is_enough(T, claim):
    """Exponents cT, 2cT, ..., T cT with c = 22 (powers.py): zero before T, 1 at T, little after."""
    c = 22
    phi = powers.fixed(T, T, first=c * T, step=c * T)
    claim.measured("powers", len(phi.exponents), equation="H = T").equals(T)
    values = [phi(s) for s in range(1, T + 1)]
    claim.measured("φ(1), ..., φ(T)", values, equation="H = T").equals([0] * (T - 1) + [1])
    most = theorem(Fraction(262, 10**9), "(2) in powers.py: 2^-22 23/21 R = 2.612e-7 for every T")
    claim.measured(ERROR, phi.error(), equation="H = T").at_most(most)


EXPONENTS = {
    "lin": {"equispaced": lambda h: Fraction(3, 10) * h, "geometric": lambda h: Fraction(1, 2**h)},
    "log": {"1.5 + h/2": lambda h: 1 + Fraction(h, 2) + Fraction(1, 2), "2h": lambda h: 2 * h},
}
CASES = [(rpe, name, T) for rpe in EXPONENTS for name in EXPONENTS[rpe] for T in (2, 3, 4, 6, 10)]
WINDOW = 60


def optimum(rpe, exponents, T):
    family = (l1.Exponentials if rpe == "lin" else l1.Powers)(exponents)
    return l1.best(l1.indicator(T), family, window=WINDOW)


@pytest.mark.parametrize(("rpe", "name", "T"), CASES, ids=lambda value: str(value))
@pytest.mark.best_in_class
def test_the_best_weights_of_real_exponents_leave_exactly_1(rpe, name, T, claim):
    """All the heads that the finding allows; the dual solution is feasible in balls."""
    heads = T if rpe == "lin" else T - 1
    found = optimum(rpe, [EXPONENTS[rpe][name](h) for h in range(1, heads + 1)], T)
    number = claim.measured("least ℓ₁ error, from below", found.floor, equation=FEW, H=heads)
    number.within(1, SHOWN)
    number = claim.measured("least ℓ₁ error, from above", found.error, equation=FEW, H=heads)
    number.within(1, SHOWN)


@pytest.mark.parametrize("rpe", EXPONENTS)
@pytest.mark.best_in_class
def test_the_best_weights_of_random_exponents_leave_exactly_1(rpe, claim):
    """Sets of T (lin) or T - 1 (log) exponents, drawn from an exponential law, to three digits."""
    rng, sets = claim.rng(rpe), claim.at_scale(smoke=3, laptop=12, paper=200)
    floors = []
    for _ in range(sets):
        T = int(rng.integers(2, 7))
        heads, least = (T, 0) if rpe == "lin" else (T - 1, 1)
        drawn = 1 + np.ceil(1000 * rng.exponential(2, heads)).astype(int).cumsum()
        floors.append(optimum(rpe, [least + Fraction(int(k), 1000) for k in drawn], T).floor)
    found = claim.measured("smallest of the least errors", min(floors), equation=FEW, sets=sets)
    found.within(1, SHOWN)


@pytest.mark.parametrize("T", [1, 3, 5], ids="T={}".format)
@pytest.mark.best_in_class
def test_a_kernel_better_than_the_zero_kernel_has_T_zeros_in_the_disc(T, claim):
    """Rouche: the best weights of T + 2 and T + 4 exponentials 3^-ht, as rationals nearby."""
    for heads in (T + 2, T + 4):
        found = optimum("lin", [logarithms.Log(3) * h for h in range(1, heads + 1)], T)
        most = theorem(1, "Rouché: |G(x) − x^T| ≤ error < 1 = |x^T| for |x| = 1")
        claim.measured(ERROR, found.error, equation="error < 1", H=heads).at_most(most)
        u = [Fraction(1, 3**h) for h in range(1, heads + 1)]
        weights = [a.mid().fmpq() for a in found.coefficients]
        count = necessity.zeros_in_disc(u, weights)
        claim.measured("zeros of G in |x| < 1", count, equation="Rouché", H=heads).equals(T)


@pytest.mark.parametrize("rpe", ["lin", "log"])
def test_control_one_head_more_beats_the_zero_kernel(rpe, claim):
    """H = T + 1 exponentials, or T powers, T = 5: the hypothesis on H is the only one broken."""
    T = 5
    if rpe == "lin":
        error = necessity.shortest_error([Fraction(1, 100**h) for h in range(1, T + 2)])
    else:
        error = powers.fixed(T, T, first=40, step=40).error()
    why = "lin: 1/(q; q)∞ − 1 < 2q, q = 1/100; log: (2) in powers.py, c = 8: 9/7 R/256 < 1/50"
    least = theorem(Fraction(98, 100), why)
    claim.measured("gain on the zero kernel", 1 - error, equation="H = T + 1, or T").at_least(least)


def test_control_in_l2_a_single_head_beats_the_zero_kernel(claim):
    """The best multiple of 2^-t leaves 1 - (1 - u^2) u^(2T) of the square, T = 3: l1 is needed."""
    T, times = 3, np.arange(WINDOW)
    left = np.linalg.lstsq(0.5 ** times[:, None], 1.0 * (times == T))[1].item()
    claim.measured(
        "gain of one head, of the squared ℓ₂ error", 1 - left, equation="‖I − φ‖₂²"
    ).at_least(theorem(Fraction(1, 100), "the projection onto u^t, (1 − u²) u^{2T} = 3/256"))
