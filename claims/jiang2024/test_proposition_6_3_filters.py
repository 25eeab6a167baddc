"""Proposition 6.3 (jiang2024, 6.2; proof in D.3): filters do not hurt an RNN.

Printed: if |rho(s)| <= e^{-s/gamma} and theta is a filter of length l with |theta|_1 <= 1, then
C_RNN of H and of H~_t(x) = H_t(theta * x) are at most gamma.

False as printed, three times. e^{-s/gamma} has C_RNN = 1 + gamma. For gamma > 1 there is no bound
in gamma at all: e^{-T/gamma} delta_T has e^{T(1 - 1/gamma)}. And with the printed filter, which
looks ahead, H~ is no target of an RNN: H~_t depends on x(t+1), ..., x(t+l-1) (see (92)).
Repaired: with the one infimum C* = inf_c c sup_t e^{t/c} |rho(t)| for C_RNN, both are at most gamma
for the kernel theta * rho of (97); after a causal filter C* is at most gamma e^{(l-1)/gamma}. With
the printed C_RNN the bound is 1 + gamma, for gamma <= 1 only. Proofs in repro/jiang2024/memory.py.

Checked, in rationals, for gamma = 1/log b and all kernels and filters that a search finds to try:
b^t |theta * rho(t)| <= 1, and <= b^{l-1} for causal filters, with equality for the pure delay. The
bound for gamma <= 1 in balls.
Controls: a filter of norm 2, a kernel that decays half as fast.

Readings: (99) prints e^{-beta s} for e^{-s/beta}, and = for <=. A causal filter can raise the
printed C_RNN: e^{-s}, delayed by 4, from 2 to 2 e^2.
"""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import memory as memory_
from repro.jiang2024 import recurrent as recurrent_
from repro.numerics import exact as exact_
from repro.numerics import logarithms

MOST = 8  # values of a kernel


def unit(values):
    """Divided by the sum of moduli, which makes it 1."""
    exact = exact_.rationals(values)
    return exact / sum(abs(exact))


bases = st.integers(11, 60).map(lambda k: exact_.rational(k) / 10)
parts = st.lists(st.integers(-9, 9), min_size=MOST, max_size=MOST)
filters = st.lists(st.integers(-9, 9), min_size=1, max_size=5).filter(any).map(unit)
cases = st.tuples(bases, parts, filters)


def below(b, numerators):
    """|rho(s)| <= b^-s, i.e. e^{-s/gamma} for gamma = 1/log b; (MOST, 1)."""
    values = [exact_.rational(k) / 9 / b**s for s, k in enumerate(numerators)]
    return exact_.vector(values)[:, None]


def weighed(b, kernel):
    """sup_t b^t |rho(t)|, which is sup e^{t/gamma} |rho(t)|: C* is at most gamma times it."""
    return max(b**t * abs(value) for t, value in enumerate(kernel[:, 0]))


@pytest.mark.exact
def test_the_kernels_of_both_targets_stay_below_the_exponential(claim):
    def over(case):
        b, numerators, theta = case
        rho = below(b, numerators)
        filtered = recurrent_.forward_filter(theta, rho)
        return max(weighed(b, rho) - 1, 0) + max(weighed(b, filtered) - 1, 0)

    examples = claim.at_scale(smoke=60, laptop=300, paper=20000)
    claim.for_all(
        "excess of sup e^(t/γ)|ρ(t)| over 1, before and after",
        cases,
        over,
        equation="C* ≤ γ, (97)",
        examples=examples,
    )


@pytest.mark.exact
def test_after_a_causal_filter_of_length_l(claim):
    def over(case):
        b, numerators, theta = case
        rho = np.concatenate([below(b, numerators), 0 * theta[:, None]])
        filtered = recurrent_.causal_filter(theta, rho)
        return max(weighed(b, filtered) - b ** (len(theta) - 1), 0)

    examples = claim.at_scale(smoke=60, laptop=300, paper=20000)
    claim.for_all(
        "excess of sup e^(t/γ)|ρ(t)| over e^((l−1)/γ)",
        cases,
        over,
        equation="C* ≤ γ e^((l−1)/γ)",
        examples=examples,
    )
    b, delay = exact_.rational(2), exact_.rationals([0, 0, 0, 0, 1])
    filtered = recurrent_.causal_filter(delay, below(b, [9] * MOST))
    claim.measured("sup of a delay by 4", weighed(b, filtered), equation="attained").equals(b**4)


@pytest.mark.parametrize("gamma", ["1/3", "1/2", "1"], ids="gamma={}".format)
@pytest.mark.construct
def test_for_gamma_up_to_one_the_printed_measure_is_at_most_one_plus_gamma(gamma, claim):
    memory, rng = memory_, claim.rng("kernels")
    bound, worst = logarithms.ball(gamma) + 1, flint.arb(0)
    for _ in range(claim.at_scale(smoke=20, laptop=100, paper=1000)):
        sizes = rng.uniform(-1, 1, MOST)
        values = [(-t / logarithms.ball(gamma)).exp() * v for t, v in enumerate(sizes)]
        rho = exact_.vector(values)[:, None]
        theta = unit(rng.integers(1, 9, 3).tolist())
        filtered = recurrent_.forward_filter(theta, rho)
        for kernel in (rho, filtered):
            worst = worst.max(memory.C_RNN(memory.Kernel(kernel[:, 0])))
    claim.measured("largest C_RNN", worst, equation="≤ 1 + γ").at_most(
        theorem(bound, "C_1 ≤ 1 + γ and C_2 ≤ 1, repro/jiang2024/memory.py")
    )
    whole = memory.Kernel(terms=(memory.Exponential(1, 1 / exact_.rational(gamma)),))
    claim.measured("C_1 of e^(−s/γ)", memory.C_1(whole), equation="attained").equals(
        Fraction(gamma) + 1
    )
    claim.measured("C_2 of e^(−s/γ)", memory.C_2(whole), equation="attained").equals(1)


def test_printed_the_bound_by_gamma_forgets_the_one(claim):
    memory, gamma = memory_, 2
    rho = memory.Kernel(terms=(memory.Exponential(1, Fraction(1, gamma)),))
    claim.counterexample(
        "C_RNN(H) is at most gamma if |rho(s)| is at most e^(-s/gamma)",
        input={"rho(s)": "e^(-s/2)", "gamma": gamma},
        measured=memory.C_RNN(rho),
        expected=gamma,
        relation="<=",
        equation="Proposition 6.3, (76)",
        snippet="from math import exp\n"
        "gamma = 2; C_1 = 1 + gamma          # (76): e^(t/beta) e^(-t/2) -> 0 for every beta > 2\n"
        "C_2 = max(exp(t / C_1 - t / gamma) for t in range(100))\n"
        "print(C_1 * C_2, 'is not at most', gamma)\n",
    )


def test_printed_no_bound_in_gamma_holds(claim):
    """gamma = 2: e^{-T/2} delta_T has C_1 = 1 and C_RNN = e^{T/2}, for every T."""
    memory, T = memory_, 20
    rho = memory.spike(T, flint.arb(-T // 2).exp())
    claim.counterexample(
        "C_RNN(H) is at most gamma, or any number that depends on gamma, or 10000 gamma",
        input={"rho": "e^-10 at s = 20, else 0", "gamma": 2},
        measured=memory.C_RNN(rho),
        expected=10_000 * 2,
        relation="<=",
        equation="Proposition 6.3, gamma > 1",
        snippet="from math import exp\n"
        "for T in (5, 10, 20, 40):           # rho = e^(-T/2) at s = T, else 0: below e^(-s/2)\n"
        "    print(T, 1 * exp(T / 1) * exp(-T / 2))   # C_1 = 1, so C_2 = e^T rho(T)\n\n",
    )


def test_printed_the_filtered_target_is_no_convolution(claim):
    """rho = delta_0, theta = (1/2, 1/2): H~_0(x) = (x(0) + x(1))/2; (75) has no x(1) at t = 0."""
    recurrent, half = recurrent_, exact_.rationals(["1/2", "1/2"])
    future = exact_.rationals([[0], [1]])
    delta = exact_.rationals([[1], [0]])
    claim.counterexample(
        "the target that sees the filtered input has an RNN complexity",
        input={"rho": [1, 0], "theta": ["1/2", "1/2"], "x": [0, 1], "t": 0},
        measured=recurrent.convolution(delta, recurrent.forward_filter(half, future))[0],
        expected=0,
        equation="Proposition 6.3, (75)",
        snippet="from fractions import Fraction\n"
        "x = [0, 1]                                         # nothing has happened at t = 0\n"
        "print(Fraction(1, 2) * x[0] + Fraction(1, 2) * x[1], 'is the output at t = 0')\n",
    )


def test_reading_a_causal_filter_raises_the_printed_measure(claim):
    """e^{-s} delayed by 4: C_1 = 2 still, and C_2 = e^{4/2}."""
    memory = memory_
    # e^4 e^{-t} from t = 4 on; in `first` what makes the values before it 0.
    early = [-(flint.arb(4 - t)).exp() for t in range(4)]
    delayed = memory.Kernel(early, (memory.Exponential(flint.arb(4).exp(), 1),))
    plain = memory.Kernel(terms=(memory.Exponential(1, 1),))
    claim.record("before", memory.C_RNN(plain))
    claim.record("after", memory.C_RNN(delayed))
    claim.counterexample(
        "a causal filter of norm 1 does not raise the printed C_RNN",
        input={"rho(s)": "e^-s", "theta": "delta_4"},
        measured=memory.C_RNN(delayed),
        expected=memory.C_RNN(plain),
        relation="<=",
        equation="Proposition 6.3, x(t - s)",
        printed=False,
        snippet="from math import exp\n"
        "C = lambda rho: 2 * max(exp(t / 2) * rho(t) for t in range(200))    # C_1 = 2\n"
        "print(C(lambda t: exp(-t)), C(lambda t: exp(4 - t) if t >= 4 else 0))\n",
    )


def test_control_a_filter_of_norm_two(claim):
    b = exact_.rational("3/2")
    theta = exact_.rationals([2])
    filtered = recurrent_.forward_filter(theta, below(b, [9] * MOST))
    claim.measured("sup e^(t/γ)|ρ|", weighed(b, filtered), equation="‖θ‖₁ ≤ 1").at_least(
        theorem(2, "‖θ‖₁ = 2 at t = 0")
    )


def test_control_a_kernel_that_decays_with_another_constant(claim):
    """|rho(s)| <= e^{-s/(2 gamma)}: b^t rho(t) = b^{t/2} is not bounded; b = 4."""
    b, rho = 4, below(exact_.rational(2), [9] * MOST)
    claim.measured(
        "sup e^(t/γ)|ρ|, first 8 times", weighed(b, rho), equation="|ρ| ≤ e^(−s/γ)"
    ).at_least(theorem(2**7, "4^t 2^−t at t = 7"))
