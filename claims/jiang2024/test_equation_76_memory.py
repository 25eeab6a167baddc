"""Equations (76)-(79) (jiang2024, D.1): the complexity of a kernel, for an RNN.

    C_1 = 1 + inf{beta > 0 : e^{t/beta} |rho(t)| -> 0},  C_2 = sup_t e^{t/C_1} |rho(t)|,
    C_RNN = C_1 C_2.

C_2 is finite whenever C_1 is. Proof. C_1 - 1 is the infimum, so some beta < C_1 has
e^{t/beta} |rho(t)| -> 0. Then e^{t/C_1} |rho(t)| is smaller, and bounded.                      QED

Checked: C_1, C_2 and C_RNN of e^{-t/gamma} in rationals: 1 + gamma, 1 and 1 + gamma; of delta_T and
of sums of exponentials in balls. The infimum, for random sums of exponentials: for factors b on
either side of e^{1/beta} the products b^t |rho(t)| vanish or explode. The kernels of stable RNNs
have a finite C_RNN.

Readings: the two numbers are not those of (12) and (14). "C_2 is small if rho has no large value
far from the origin" is not so, and C_RNN is not monotone: a spike of height e^-10 at t = 20 has
C_RNN = e^10, the larger kernel e^{-t/2} has 3. One infimum mends it (Proposition 6.3).
"""

import math
from fractions import Fraction

import flint
import pytest
from hypothesis import strategies as st

from repro.bounds import exactly, rounding_error, theorem
from repro.jiang2024 import memory, recurrent
from repro.numerics import exact, logarithms

Log = logarithms.Log


def summed(*terms, first=()):
    return memory.Kernel(first, tuple(memory.Exponential(*term) for term in terms))


def geometric(gamma):
    return summed((1, 1 / exact.rational(gamma)))


@pytest.mark.parametrize("gamma", ["1/2", "1", "2", "5", "50"], ids="gamma={}".format)
@pytest.mark.exact
def test_of_one_exponential_in_rationals(gamma, claim):
    kernel, expected = geometric(gamma), Fraction(gamma) + 1
    claim.measured("C_1", memory.C_1(kernel), equation="(76)").equals(expected)
    claim.measured("C_2", memory.C_2(kernel), equation="(77)").equals(1)
    claim.measured("C_RNN", memory.C_RNN(kernel), equation="(78)").equals(expected)


SUMS = {  # the kernel and its slowest rate; where there is none the decay time is 0
    "box of 10": (memory.Kernel([1] * 10), None),
    "delta_3": (memory.spike(3), None),
    "3 2^-t - 2 (-3)^-t": (summed((3, Log(2)), (-2, Log(3), -1)), Log(2)),
    "delayed": (
        summed((1, Fraction(1, 7)), (-1, Fraction(1, 3)), first=[-1, 0, 4]),
        Fraction(1, 7),
    ),
    "8 exponentials": (summed(*((1, Fraction(k, 8)) for k in range(1, 9))), Fraction(1, 8)),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.certified
def test_of_sums_of_exponentials_in_balls(name, claim):
    """C_1 from the slowest rate; C_2 against the largest of 400 values, written out."""
    kernel, rate = SUMS[name]
    with flint.ctx.workprec(128):
        c = 1 + (1 / logarithms.ball(rate) if rate else flint.arb(0))
        C_1 = logarithms.ball(memory.C_1(kernel))
        values = [(t / c).exp() * abs(kernel.ball(t)) for t in range(400)]
        C_2, C_RNN = memory.C_2(kernel), memory.C_RNN(kernel)
        off_1, off_2 = abs(C_1 - c), abs(C_2 - max(values, key=float))
    for name, value in (("C_1", C_1), ("C_2", C_2), ("C_RNN", C_RNN)):
        claim.record(name, value)
    tiny = rounding_error(1e-25, "radii of balls of 128 bits")
    claim.measured("distance of C_1 from 1 + its decay time", off_1, equation="(76)").at_most(tiny)
    claim.measured("distance of C_2 from the largest value", off_2, equation="(77)").at_most(tiny)


@pytest.mark.certified
def test_two_exponentials_by_hand(claim):
    """rho(t) = 3 2^-t - 2 (-3)^-t is 1, 13/6, 19/36, -> C_1 = 1 + 1/log 2, and C_2 is taken at
    t = 1: e^(1/C_1) 13/6 = 3.26 against 1 and e^(2/C_1) 19/36 = 1.20; later ones are smaller."""
    kernel = SUMS["3 2^-t - 2 (-3)^-t"][0]
    tiny = rounding_error(1e-14, "radii of balls of 53 bits")
    for t, value in enumerate((Fraction(1), Fraction(13, 6), Fraction(19, 36))):
        claim.measured("ρ(t)", kernel.ball(t), equation="(75)", t=t).within(value, tiny)
    log = flint.arb(2).log()
    off = abs(memory.C_2(kernel) - (log / (1 + log)).exp() * flint.fmpq(13, 6))
    claim.measured("distance of C_2 from 13/6 e^(1/C_1)", off, equation="(77)").at_most(tiny)


@pytest.mark.parametrize("a", [1, 10], ids="a={}".format)
@pytest.mark.certified
def test_the_supremum_may_be_late(a, claim):
    """a (e^-t/50 - e^-t/40), times e^(t/51), is largest where e^(t/200) is (1/40 - 1/51) over
    (1/50 - 1/51), 55/4: at t = 524, long after one of the two is below a by half."""
    kernel = summed((a, Fraction(1, 50)), (-a, Fraction(1, 40)))
    times, exp = range(2000), math.exp
    heard = max(a * exp(t / 51) * (exp(-t / 50) - exp(-t / 40)) for t in times)
    found = claim.measured("C_2", memory.C_2(kernel), equation="(77)", a=a)
    found.within(heard, rounding_error(1e-12 * a, "exponentials of arguments up to 50"))


@pytest.mark.parametrize("T", [0, 1, 3, 10], ids="T={}".format)
@pytest.mark.certified
def test_of_one_spike(T, claim):
    kernel = memory.spike(T)
    claim.measured("C_1", memory.C_1(kernel), equation="(76)").equals(1)
    with flint.ctx.workprec(128):
        off = abs(memory.C_RNN(kernel) - flint.arb(1).exp() ** T)
    claim.measured("|C_RNN − e^T|", off, equation="(78)").at_most(
        rounding_error(1e-30, "radii of balls of 128 bits")
    )


@pytest.mark.exact
def test_the_infimum_separates_what_vanishes_from_what_explodes(claim):
    """sum_i a_i r_i^t, r_1 = 9/10 the largest modulus: b = 10/9 is the border, e^{1/beta} = b."""
    t = 400
    r = st.lists(st.integers(-7, 7).filter(bool), min_size=0, max_size=3, unique=True)
    a = st.integers(1, 9)

    def wrong(case):
        coefficients, slower = case
        factors = [Fraction(9, 10), *(Fraction(k, 10) for k in slower)]
        terms = list(zip(coefficients, factors, strict=False))
        value = abs(sum(c * f**t for c, f in terms))
        below, above = (Fraction(10, 9) * (1 + Fraction(d, 10)) for d in (-1, 1))
        vanishes, explodes = below**t * value, above**t * value
        return (vanishes > Fraction(1, 10**15)) + (explodes < 10**15)

    examples = claim.at_scale(smoke=20, laptop=100, paper=2000)
    cases = st.tuples(st.tuples(a, a, a, a), r)
    name = "sides of the border on which b^400 |ρ(400)| is wrong"
    claim.for_all(name, cases, wrong, equation="(76)", examples=examples)
    kernel = summed((1, Log(Fraction(10, 9))), (5, Log(2), -1))
    border = (1 / memory.decay_time(kernel)).exp()
    off = abs(border - logarithms.ball(Fraction(10, 9)))
    claim.measured("|e^(1/β) − 10/9|", off, equation="(76)").at_most(
        rounding_error(1e-14, "radii of balls of 53 bits")
    )


@pytest.mark.certified
def test_the_kernel_of_a_stable_network_is_in_the_space(claim):
    """|c W^s U|^2 <= A q^s: C_1 <= 1 + 2/log(1/q); here the exact C_1 is known besides."""
    W = exact.rationals([["1/2", 5], [0, "-2/3"]])
    U, c = exact.rationals([[1], [1]]), exact.rationals([1, 1])
    rnn = recurrent.LinearRNN(W, U, c)
    _, q = recurrent.decay(rnn)
    slow, fast = exact.rational("-23/7"), exact.rational("37/7")
    kernel = summed((slow, Log("3/2"), -1), (fast, Log(2)))
    wrong = sum(
        value != slow * exact.rational("-2/3") ** s + fast / exact.rational(2) ** s
        for s, value in zip(range(20), rnn.kernel(20)[:, 0], strict=True)
    )
    claim.measured("values of the kernel that differ", wrong, equation="(74)").equals(0)
    C_1 = memory.C_1(kernel)
    allowed = 1 + 2 / -flint.arb(q).log()
    claim.record("C_1", C_1)
    claim.record("C_RNN", memory.C_RNN(kernel))
    claim.record("bound", allowed)
    claim.measured("C_1 of a stable RNN", C_1, equation="(79)").at_most(
        theorem(allowed, "|c W^s U|² ≤ A q^s")
    )


DECAYS = {  # W, U, c of two networks, and A, q of |c W^s U|² <= A q^s
    # P = 1 + P/4 = 4/3, so q = 1 - 3/4, A = 1: the kernel is 2^-s, and 4^-s is attained
    "one unit": (([["1/2"]], [[1]], [1]), (1, Fraction(1, 4))),
    # P = diag(1, 1 + 1/4), so q = 1 - 4/9 and A = 1 times 5/4; the kernel is 0, 1/2, 0, ...
    "one feeds the other": (
        ([[0, "1/2"], [0, 0]], [[0], [1]], [1, 0]), (Fraction(5, 4), Fraction(5, 9)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DECAYS)
@pytest.mark.exact
def test_the_decay_of_two_networks_by_hand(name, claim):
    weights, stated = DECAYS[name]
    found = recurrent.decay(recurrent.LinearRNN(*map(exact.rationals, weights)))
    claim.measured("A and q", list(found), equation="(79)").equals(list(stated))


def test_control_an_unstable_network_has_no_decay(claim):
    """W = 2: the kernel 2^s is above A q^s for every q < 1 in the end; `decay` refuses it."""
    rnn = recurrent.LinearRNN(*map(exact.rationals, ([[2]], [[1]], [1])))
    with pytest.raises(ValueError, match="every eigenvalue of W inside the unit circle"):
        recurrent.decay(rnn)
    claim.measured("c W^s U", rnn.kernel(11)[10, 0], equation="(79)", s=10).at_least(
        exactly(2**10, "2^s")
    )


def complexities_of_a_spike_and_of_a_larger_kernel(T):
    """e^(-T/2) at t = T, else 0: C_1 = 1 and C_2 = e^T e^(-T/2). e^(-t/2): C_1 = 3 and C_2 = 1."""
    import flint

    return 1 * flint.arb(T).exp() * flint.arb(-T // 2).exp(), 3 * 1


def test_reading_a_kernel_that_is_smaller_everywhere_is_not_simpler(claim):
    """e^{-T/2} delta_T <= e^{-t/2}, T = 20; C_1 drops from 3 to 1, and e^{t/C_1} grows faster."""
    T = 20
    claim.counterexample(
        "C_2 is small if rho has no large value far from the origin; C_RNN is monotone in |rho|",
        input={"rho": "e^(-T/2) at t = T, else 0", "larger kernel": "e^(-t/2)"},
        measured=memory.C_RNN(memory.spike(T, flint.arb(-T // 2).exp())),
        expected=memory.C_RNN(geometric(2)), relation="<=", equation="(76)-(78)", printed=False,
        program=complexities_of_a_spike_and_of_a_larger_kernel, T=T,
    )  # fmt: skip


def test_control_a_power_has_no_decay_time(claim):
    """rho(t) = (1 + t)^-2: e^{t/beta} rho(t) grows without end for every beta."""
    for beta in (1, 10, 100):
        t = 40 * beta
        value = flint.arb(40).exp() / (1 + t) ** 2
        claim.measured("e^(t/β) (1 + t)⁻²", value, equation="(76)", t=t, beta=beta).at_least(
            theorem(10**9, "e^40 / (1 + 40β)² > 10⁹ for β ≤ 100")
        )


def test_control_without_the_one_the_supremum_can_be_as_large_as_you_like(claim):
    """rho(t) = 1000 (2^-t - 2.002^-t) <= t 2^-t has the decay time 1/log 2, and 2^t rho(t) tends to
    1000; with the 1, C_2 is below 1.4, whatever number stands for 1000."""
    t = 20_000
    kernel = summed((1000, Log(2)), (-1000, Log(Fraction(2002, 1000))))
    loud = kernel.ball(t) * flint.arb(2) ** t
    claim.measured("e^(t/β) ρ(t)", loud, equation="(77)", t=t).at_least(
        theorem(999, "1000 (1 − 1.001^(−t)), and 1.001^20000 > 10⁸")
    )
    claim.measured("C_2 with the 1", memory.C_2(kernel), equation="(77)").at_most(
        theorem(1.4, "t e^(−at) ≤ 1/(ea), a = log 2 − 1/C_1 > 0.28")
    )
