"""Proposition 6.3 (jiang2024, 6.2; proof in D.3): filters do not hurt an RNN.

If |rho(s)| <= e^{-s/gamma} and theta is a filter of length l with |theta|_1 <= 1, then C_RNN of H
and of H~_t(x) = H_t(theta * x) are said to be at most gamma.

False as printed: e^{-s/gamma} has C_RNN = 1 + gamma, and for gamma > 1 there is no bound in gamma
at all: e^{-T/gamma} delta_T has e^{T(1 - 1/gamma)}.

Corrected: with the one infimum C* = inf_c c sup_t e^{t/c} |rho(t)| for C_RNN, both are at most
gamma for the kernel theta * rho of (97); after a causal filter C* is at most gamma e^{(l-1)/gamma}.
With the printed C_RNN the bound is 1 + gamma, for gamma <= 1 only. Proof (memory.py): put
c = gamma; |sum theta(s) rho(t+s)| <= e^{-t/gamma} |theta|_1.

Checked, in rationals, for gamma = 1/log b, random kernels and random filters:
b^t |theta * rho(t)| <= 1, and <= b^{l-1} for causal filters, with equality for the pure delay.

Readings: the filter printed in Section 6.2 looks ahead, so that H~ is no convolution (see (92)). A
causal filter can raise the printed C_RNN: e^{-s}, delayed by 4, from 2 to 2 e^2.
"""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.jiang2024 import memory, recurrent
from repro.numerics import exact, logarithms

MOST = 8  # values of a kernel


def unit(values):
    """Divided by the sum of moduli, which makes it 1."""
    values = exact.rationals(values)
    return values / sum(abs(values))


bases = st.integers(11, 60).map(lambda k: exact.rational(k) / 10)
parts = st.lists(st.integers(-9, 9), min_size=MOST, max_size=MOST)
filters = st.lists(st.integers(-9, 9), min_size=1, max_size=5).filter(any).map(unit)
cases = st.tuples(bases, parts, filters)


def below(b, numerators):
    """|rho(s)| <= b^-s, i.e. e^{-s/gamma} for gamma = 1/log b; (MOST, 1)."""
    values = [exact.rational(k) / 9 / b**s for s, k in enumerate(numerators)]
    return exact.vector(values)[:, None]


def weighed(b, kernel):
    """sup_t b^t |rho(t)|, which is sup e^{t/gamma} |rho(t)|: C* is at most gamma times it."""
    return max(b**t * abs(value) for t, value in enumerate(kernel[:, 0]))


def many(claim):
    return claim.at_scale(smoke=60, laptop=300, paper=20000)


@pytest.mark.exact
def test_the_kernels_of_both_targets_stay_below_the_exponential(claim):
    def over(case):
        b, numerators, theta = case
        rho = below(b, numerators)
        filtered = recurrent.forward_filter(theta, rho)
        return max(weighed(b, rho) - 1, 0) + max(weighed(b, filtered) - 1, 0)

    name = "excess of sup e^(t/γ)|ρ(t)| over 1, before and after"
    claim.for_all(name, cases, over, equation="(97)", examples=many(claim))


@pytest.mark.exact
def test_after_a_causal_filter_of_length_l(claim):
    def over(case):
        b, numerators, theta = case
        rho = np.concatenate([below(b, numerators), 0 * theta[:, None]])
        filtered = recurrent.causal_filter(theta, rho)
        return max(weighed(b, filtered) - b ** (len(theta) - 1), 0)

    name = "excess of sup e^(t/γ)|ρ(t)| over e^((l−1)/γ)"
    claim.for_all(name, cases, over, equation="Proposition 6.3", examples=many(claim))
    b, delay = exact.rational(2), exact.rationals([0, 0, 0, 0, 1])
    filtered = recurrent.causal_filter(delay, below(b, [9] * MOST))
    largest = weighed(b, filtered)
    claim.measured("sup e^(t/γ)|ρ(t)| of a delay", largest, equation="(97)", delay=4).equals(b**4)


@pytest.mark.parametrize("gamma", ["1/3", "1/2", "1"], ids="gamma={}".format)
@pytest.mark.construct
def test_for_gamma_up_to_one_the_printed_measure_is_at_most_one_plus_gamma(gamma, claim):
    rng = claim.rng("kernels")
    bound, worst = logarithms.ball(gamma) + 1, flint.arb(0)
    for _ in range(claim.at_scale(smoke=20, laptop=100, paper=1000)):
        sizes = rng.uniform(-1, 1, MOST)
        values = [(-t / logarithms.ball(gamma)).exp() * v for t, v in enumerate(sizes)]
        rho = exact.vector(values)[:, None]
        theta = unit(rng.integers(1, 9, 3).tolist())
        filtered = recurrent.forward_filter(theta, rho)
        for kernel in (rho, filtered):
            worst = worst.max(memory.C_RNN(memory.Kernel(kernel[:, 0].tolist())))
    claim.measured("largest C_RNN", worst, equation="(78)").at_most(
        theorem(bound, "C_1 ≤ 1 + γ and C_2 ≤ 1, repro/jiang2024/memory.py")
    )
    whole = memory.Kernel(terms=(memory.Exponential(1, 1 / exact.rational(gamma)),))
    attained = Fraction(gamma) + 1
    claim.measured("C_1 of e^(−s/γ)", memory.C_1(whole), equation="(76)").equals(attained)
    claim.measured("C_2 of e^(−s/γ)", memory.C_2(whole), equation="(77)").equals(1)


@pytest.mark.construct
def test_the_printed_measure_of_a_sum_by_hand(claim):
    """rho(t) = 100 e^-t - 99 e^-2t: 1 at t = 0. C_1 = 1 + 1, and e^(t/2) rho(t) is 1 at t = 0, at
    t = 1 100 e^(-1/2) - 99 e^(-3/2) = 38.56, at t = 2 100/e - 99/e^3 = 31.86, and falls from there.
    C_RNN is twice the largest."""
    rho = memory.Kernel(terms=(memory.Exponential(100, 1), memory.Exponential(-99, 2)))
    largest = 100 * flint.arb(-0.5).exp() - 99 * flint.arb(-1.5).exp()
    claim.measured("C_RNN", memory.C_RNN(rho), equation="(76)-(78)").within(
        2 * largest, rounding_error(1e-12, "radii of balls of 53 bits around numbers below 128")
    )
    slow = memory.Kernel(terms=(memory.Exponential(1, Fraction(1, 2)),))  # e^(-s/2): 1 + 2
    claim.measured("C_1 of a slow kernel", memory.C_1(slow), equation="(76)").equals(3)
    rho, x = exact.rationals([[1], [2]]), exact.rationals([[1], [10], [100]])
    outputs = list(recurrent.convolution(rho, x))  # 1, 10 + 2, 100 + 20
    claim.measured("outputs of a short kernel", outputs, equation="(75)").equals([1, 12, 120])


def complexity_of_the_exponential(gamma):
    """C_RNN of e^(-s/gamma), and gamma."""
    from math import exp

    C_1 = 1 + gamma  # (76): e^(t/beta) e^(-t/gamma) -> 0 for every beta > gamma
    C_2 = max(exp(t / C_1 - t / gamma) for t in range(100))
    return C_1 * C_2, gamma


def test_printed_the_bound_by_gamma_forgets_the_one(claim):
    gamma = 2
    rho = memory.Kernel(terms=(memory.Exponential(1, Fraction(1, gamma)),))
    claim.counterexample(
        "C_RNN(H) is at most gamma if |rho(s)| is at most e^(-s/gamma)",
        input={"rho(s)": "e^(-s/2)"},
        measured=memory.C_RNN(rho), expected=gamma, relation="<=", equation="Proposition 6.3, (76)",
        program=complexity_of_the_exponential, gamma=gamma,
    )  # fmt: skip


def complexity_of_a_spike(T, gamma, multiple):
    """Less than C_RNN of e^(-T/gamma) delta_T, which has C_1 = 1 and C_2 = e^T e^(-T/gamma)."""
    from fractions import Fraction

    return Fraction(27, 10) ** (T - T // gamma), multiple * gamma  # 27/10 is less than e


def test_printed_no_bound_in_gamma_holds(claim):
    """gamma = 2: e^{-T/2} delta_T has C_1 = 1 and C_RNN = e^{T/2}, for every T."""
    at = {"T": 20, "gamma": 2, "multiple": 10_000}
    rho = memory.spike(20, flint.arb(-10).exp())
    claim.counterexample(
        "C_RNN(H) is at most this multiple of gamma",
        input={"rho": "e^(-T/2) at s = T, else 0"},
        measured=memory.C_RNN(rho), expected=10_000 * 2, relation="<=", equation="Proposition 6.3",
        program=complexity_of_a_spike, **at,
    )  # fmt: skip


def first_output(theta, x):
    """For rho = delta_0, and the 0 that every convolution has there: x(0) = 0."""
    from fractions import Fraction

    return sum(Fraction(weight) * value for weight, value in zip(theta, x, strict=True)), 0


def test_reading_the_filter_that_looks_ahead_leaves_no_convolution(claim):
    """rho = delta_0, theta = (1/2, 1/2): H~_0(x) = (x(0) + x(1))/2; (75) has no x(1) at t = 0."""
    theta, x, delta = ["1/2", "1/2"], [0, 1], exact.rationals([[1], [0]])
    seen = recurrent.forward_filter(exact.rationals(theta), exact.rationals(x)[:, None])
    claim.counterexample(
        "the target that sees the filtered input has an RNN complexity",
        input={"rho": [1, 0], "t": 0},
        measured=recurrent.convolution(delta, seen)[0], expected=0, equation="(75)",
        printed=False, program=first_output, theta=theta, x=x,
    )  # fmt: skip


def complexities(delay):
    """C_RNN of e^-s after and before a delay; C_1 = 2 for both."""
    from math import exp

    def C_RNN(first):
        return 2 * max(exp(t / 2 - (t - first)) for t in range(first, 200))

    return C_RNN(delay), C_RNN(0)


def test_reading_a_causal_filter_raises_the_printed_measure(claim):
    """e^{-s} delayed by 4: C_1 = 2 still, and C_2 = e^{4/2}."""
    # e^4 e^{-t} from t = 4 on; in `first` what makes the values before it 0.
    early = [-(flint.arb(4 - t)).exp() for t in range(4)]
    delayed = memory.Kernel(early, (memory.Exponential(flint.arb(4).exp(), 1),))
    plain = memory.Kernel(terms=(memory.Exponential(1, 1),))
    claim.counterexample(
        "a causal filter of norm 1 does not raise the printed C_RNN",
        input={"rho(s)": "e^-s", "theta": "delta_4"},
        measured=memory.C_RNN(delayed), expected=memory.C_RNN(plain), relation="<=",
        equation="Proposition 6.3", printed=False, program=complexities, delay=4,
    )  # fmt: skip


def test_control_a_filter_of_norm_two(claim):
    b = exact.rational("3/2")
    theta = exact.rationals([2])
    filtered = recurrent.forward_filter(theta, below(b, [9] * MOST))
    claim.measured("sup e^(t/γ)|ρ|", weighed(b, filtered), equation="Proposition 6.3").at_least(
        theorem(2, "‖θ‖₁ = 2 at t = 0")
    )


def test_control_a_kernel_that_decays_with_another_constant(claim):
    """|rho(s)| <= e^{-s/(2 gamma)}: b^t rho(t) = b^{t/2} is not bounded; b = 4."""
    b, rho = 4, below(exact.rational(2), [9] * MOST)
    claim.measured("sup e^(t/γ)|ρ|", weighed(b, rho), equation="Proposition 6.3").at_least(
        theorem(2**7, "4^t 2^−t at t = 7, the last")
    )
