"""Finding (on jiang2024, D.1): what m units cannot do.

For d = 1 and every linear RNN with m units
    sum_s |rho(s) - c^T W^s U| >= sigma_{m+1}([rho(i+j)]).
For rho(s) = eps(s) e^{-s/gamma}, with the signs eps of Rudin and Shapiro, C_RNN = 1 + gamma, and
for gamma = 50 the floor exceeds C_RNN/m for some m. No constant times C_RNN/m is enough: the floor
over C_RNN/m is above 0.0124 sqrt(N) for gamma = 2N, m = N/16 and all powers N >= 128 of 2. Proofs
in repro/jiang2024/hankel.py.

Checked: ranks of Hankel matrices of networks; the flatness of the signs on the circle as an
identity of integers; sigma_{m+1} certified in balls, and its quotient with the rate for gamma = 30,
50, 100 (200 at laptop scale) at the m where it is largest; the bound of the proof below the
certified value, and above 2 from 2^15 on. Networks found by Ho and Kalman's method, and registers,
stay above the floor.

Not checked: that m units come near to the floor (finite sections only; the infimum is in general
larger); random signs, which behave alike with a smaller quotient.
"""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import as_printed, rounding_error, theorem
from repro.jiang2024 import hankel, recurrent
from repro.numerics import exact

BITS = 80
PROVED = "repro/jiang2024/hankel.py"


@pytest.mark.exact
def test_the_hankel_matrix_of_m_units_has_rank_m_at_most(claim):
    small = st.integers(-3, 3)
    cases = st.integers(1, 3).flatmap(
        lambda m: st.tuples(
            st.just(m), st.lists(small, min_size=m * m + 2 * m, max_size=m * m + 2 * m)
        )
    )

    def excess(case):
        m, numbers = case
        W, rest = numbers[: m * m], exact.rationals(numbers[m * m :])
        W = exact.rationals(W).reshape(m, m)
        rnn = recurrent.LinearRNN(W, rest[:m, None], rest[m:])
        rows = hankel.section(rnn.kernel(11)[:, 0].tolist())
        return max(flint.fmpq_mat(rows).rank() - m, 0)

    examples = claim.at_scale(smoke=60, laptop=200, paper=10000)
    claim.for_all("rank above m", cases, excess, equation="Kronecker", examples=examples)


@pytest.mark.exact
def test_the_signs_are_flat_on_the_circle(claim):
    """P(z) P(1/z) + P'(z) P'(1/z) = 4N: all autocorrelations of the two cancel, but the first."""
    for k in range(1, claim.at_scale(smoke=8, laptop=11, paper=13)):
        length = 2**k
        first = np.array([hankel.sign(s) for s in range(length)])
        second = first * np.where(np.arange(length) < length // 2, 1, -1)
        lags = np.correlate(first, first, "full") + np.correlate(second, second, "full")
        expected = np.zeros(2 * length - 1, dtype=int)
        expected[length - 1] = 2 * length
        unlike, at = int((lags != expected).sum()), {"equation": "|P|² + |P′|² = 4N"}
        claim.measured("autocorrelations unlike", unlike, length=length, **at).equals(0)


def quotient(gamma):
    """m, and m sigma_{m+1} / C_RNN in float64 and in balls, where it is largest; N = 2 gamma. What
    float64 may be off by: N 2u sigma_1, for the entries and by Weyl, times m / C_RNN."""
    N = 2 * gamma
    with flint.ctx.workprec(BITS):
        rho = hankel.rough(gamma, 2 * N - 1)
        sigma = np.linalg.svd(hankel.section([float(v) for v in rho]), compute_uv=False)
        m = max(range(1, N), key=lambda m: m * sigma[m])
        share = m / (1 + gamma)
        rounded = N * 2**-52 * sigma[0] * share
        return m, sigma[m] * share, hankel.floor(rho, m) * m / (1 + gamma), rounded


@pytest.mark.certified
def test_the_floor_exceeds_the_rate(claim):
    gammas = claim.at_scale(
        smoke=(30, 50, 100), laptop=(30, 50, 100, 200), paper=(30, 50, 100, 200)
    )
    for gamma in gammas:
        m, measured, value, rounded = quotient(gamma)
        claim.record("floor over rate, and its m", {"m": m, "floor over rate": value}, gamma=gamma)
        over = {"equation": "section D.1: C_RNN/m", "gamma": gamma}
        claim.measured("m σ_(m+1) / C_RNN", value, m=m, **over).at_least(
            as_printed(1, "at most 1, if C_RNN/m held")
        )
        claim.measured("m σ_(m+1) / C_RNN in float64", float(value), m=m, **over).within(
            measured,
            rounding_error(rounded, "N 2u σ_1, of the entries and by Weyl, times m / C_RNN"),
        )


PROVED_BY_HAND = {  # (1 - 1/e)^2 = 0.399576400893728; N, m and the floor
    (16, 1): 1.597739207522,  # (102.29155862879 - 64) / 15 = 2.55277057525
    (64, 2): 4.2590793683019,  # (1636.66493806071 - 512) / 62 = 18.13975706549
    (8, 0): 1.7879069347004,  # (1 - 1/e) √8
    (64, 63): 0,  # 63 may take all
}


@pytest.mark.certified
def test_the_bound_of_the_proof_at_four_sizes_by_hand(claim):
    """((1 - 1/e)^2 N^2 - 4Nm) / (N - m), and its root."""
    for (N, m), stated in PROVED_BY_HAND.items():
        found = claim.measured(
            "bound of the proof", hankel.proved_floor(N, m), equation=PROVED, N=N, m=m
        )
        found.within(stated, rounding_error(1e-12, "digits worked out by hand, 14 of them"))


@pytest.mark.parametrize("N", [16, 64, 128], ids="N={}".format)
@pytest.mark.certified
def test_the_bound_of_the_proof_is_below_the_certified_value(N, claim):
    m = N // 16
    with flint.ctx.workprec(BITS):
        floor, proved = hankel.floor(hankel.rough(2 * N, 2 * N - 1), m), hankel.proved_floor(N, m)
    claim.record("floor", floor)
    claim.record("proved", proved)
    claim.measured("σ_(m+1)", floor, equation="σ_(m+1) for γ = 2N, m = N/16").at_least(
        theorem(proved, PROVED)
    )
    stated = claim.measured("bound of the proof", proved, equation="> √(0.1595 N)")
    why = "((1 − 1/e)² − 1/4) 16/15 = 0.159548..."
    low, high = ((Fraction(digits) * N) ** 0.5 for digits in ("0.1595", "0.1596"))
    stated.at_least(theorem(low, why)).at_most(theorem(high, why))


@pytest.mark.certified
def test_no_constant_is_enough(claim):
    """The bound of the proof, for N up to 2^40: it doubles with 4N, and passes 1 and 2."""
    for k in (7, 13, 15, 20, 40):
        N, m = 2**k, 2**k // 16
        value = hankel.proved_floor(N, m) * m / (1 + 2 * N)
        root = flint.arb(N).sqrt()
        quotient = claim.measured("m σ_(m+1) / C_RNN", value, equation="> 0.0124 √N", N=N)
        quotient.at_least(theorem(root * flint.arb("0.0124"), PROVED))
        quotient.at_most(theorem(root * flint.arb("0.01249"), "√0.159548... / 32 = 0.012482..."))
        if k in (13, 15):
            quotient.at_least(theorem(1 if k == 13 else 2, PROVED))


@pytest.mark.construct
def test_networks_stay_above_the_floor(claim):
    """l1 errors over the window, which are below those over all times."""
    gamma, N = 20, 60
    with flint.ctx.workprec(BITS):
        balls = hankel.rough(gamma, 2 * N)
        floors = {m: hankel.floor(balls[:-1], m) for m in (4, 8, 16, 32)}
    rho = np.array([float(v) for v in balls])
    for m, floor in floors.items():
        for name, network in (
            ("Ho and Kalman", hankel.ho_kalman(rho, m)),
            ("register", recurrent.shift_register(rho[:m, None])),
        ):
            error = np.abs(network.kernel(2 * N)[:, 0] - rho).sum()
            assert np.isfinite(error)
            claim.measured("l1 error", error, equation="≥ σ_(m+1)", network=name, m=m).at_least(
                theorem(floor, PROVED)
            )


def test_control_with_all_signs_alike_one_unit_is_enough(claim):
    """r^s with and without the signs, r = 49/50: one unit errs by 0, and no quotient is left.

    C_1 = 1 + 1/log(50/49), C_2 = 1 for both. The error of one unit is over 199 times, in rationals;
    the floor is that of 37 units, with signs."""
    m, N = 37, 100
    r, one = exact.rational("49/50"), exact.rationals([1])
    plain = [r**s for s in range(2 * N - 1)]
    unit = recurrent.LinearRNN(exact.rationals([[r]]), one[:, None], one)
    error = sum(abs(a - b) for a, b in zip(unit.kernel(2 * N - 1)[:, 0], plain, strict=True))
    claim.measured("l1 error of one unit, signs +", error, equation="C_RNN/m holds").equals(0)
    with flint.ctx.workprec(BITS):
        rough = [flint.arb(hankel.sign(s) * value) for s, value in enumerate(plain)]
        rate = (1 + 1 / flint.arb(1 / r).log()) / m
        lost = (hankel.floor(rough, m) - error) / rate
    claim.measured("quotient lost", lost, equation="C_RNN/m, signs +", m=m).at_least(
        theorem(1, "σ_38 with signs is above the rate, 0 without")
    )


def test_control_more_units_go_below_the_floor_of_fewer(claim):
    """A register with 180 units, against sigma_9: 8 units cannot."""
    gamma, m, units = 20, 8, 180
    with flint.ctx.workprec(BITS):
        floor = hankel.floor(hankel.rough(gamma, 119), m)
        tail = (-flint.arb(units) / gamma).exp() / (1 - (-flint.arb(1) / gamma).exp())
    claim.measured("σ_9 / error", floor / tail, equation="≥ σ_(m+1)", units=units).at_least(
        theorem(100, "the tail Σ_(s≥180) e^(−s/20) = e^−9 / (1 − e^(−1/20))")
    )
