"""Equations (92)-(98) (jiang2024, 6.2 and D.3): a filtered input is a filtered kernel.

Printed: with (theta * x)(t) = sum_{s<l} theta(s) x(t+s), H_t(theta * x) is the convolution of x
with (theta * rho)(s) = sum_{s'<l} theta(s') rho(s+s').

False as printed. With r = s - s' the double sum (95) is
    sum_{r=-(l-1)}^{t} k_t(r) x(t-r),   k_t(r) = sum_{s': 0 <= r+s' <= t} theta(s') rho(r+s').
(96) omits the future inputs, r < 0, and adds the terms with r + s' > t; we store both.
Corrected: for a causal filter, sum_{s<l} theta(s) x(t-s), it is exact with the kernel
sum_{s'} theta(s') rho(s-s'). Proof. Put r = s + s' in sum_s rho(s) sum_s' theta(s') x(t-s-s'). No
term is lost: x is 0 before time 0 and rho before 0.                                            QED

Checked, in rationals, for random kernels, filters and inputs: the corrected identity; what the
printed filter gives, k_t(r) above; for length 1 both agree. In balls, for the kernel e^-s, 32 times
and two filters of length 5: how near an RNN can come to H(theta * x), in the mean square over
uniform inputs. Under the causal filter the least error is 0, under the printed one it is positive.
So the 1.58e-7 of Table 2 cannot come from the printed filter, unless |theta(1), ..., theta(4)| <
0.002.

Not checked: which filter the paper drew, and what its program did at the last times; x is 0 there.

Misprint: Section 6.2 has the upper limit t - 1 of the filter for l - 1.
"""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.jiang2024 import ordering, recurrent
from repro.numerics import exact, logarithms

sixths = st.integers(-12, 12).map(lambda k: exact.rational(k) / 6)


def column(values):
    return exact.rationals(values)[:, None]


def sequences(most):
    return st.lists(sixths, min_size=1, max_size=most).map(exact.vector)


cases = st.tuples(sequences(6), sequences(4), sequences(6))
DIFFER = "outputs that differ"


@pytest.mark.exact
def test_a_causal_filter_of_the_input_is_one_of_the_kernel(claim):
    def differ(case):
        rho, theta, x = case
        longer = np.concatenate([rho, 0 * theta])[:, None]
        kernel = recurrent.causal_filter(theta, longer)
        filtered = recurrent.convolution(rho[:, None], recurrent.causal_filter(theta, x[:, None]))
        return int((filtered != recurrent.convolution(kernel, x[:, None])).sum())

    examples = claim.at_scale(smoke=60, laptop=300, paper=20000)
    claim.for_all(DIFFER, cases, differ, equation="(92)-(98)", examples=examples)


def double_sum(rho, theta, x, t):
    """sum_r k_t(r) x(t-r) of the docstring; rho and x are 0 beyond their ends."""
    total = 0
    for r in range(1 - len(theta), t + 1):
        inner = [s for s in range(len(theta)) if 0 <= r + s <= min(t, len(rho) - 1)]
        k = sum(theta[s] * rho[r + s] for s in inner)
        total = total + (k * x[t - r] if t - r < len(x) else 0)
    return total


@pytest.mark.exact
def test_what_the_printed_filter_gives(claim):
    def differ(case):
        rho, theta, x = case
        ours = recurrent.convolution(column(rho), recurrent.forward_filter(theta, column(x)))
        return sum(y != double_sum(rho, theta, x, t) for t, y in enumerate(ours))

    examples = claim.at_scale(smoke=60, laptop=300, paper=20000)
    claim.for_all(DIFFER, cases, differ, equation="(95)", examples=examples)


def both(rho, theta, x):
    """(92) and (97) as printed, at all times of x."""
    rho, x, theta = column(rho), column(x), exact.rationals(theta)
    left = recurrent.convolution(rho, recurrent.forward_filter(theta, x))
    return left, recurrent.convolution(recurrent.forward_filter(theta, rho), x)


@pytest.mark.exact
def test_a_filter_of_length_one_is_as_printed(claim):
    def differ(case):
        rho, theta, x = case
        left, right = both(rho, theta[:1], x)
        return int((left != right).sum())

    examples = claim.at_scale(smoke=40, laptop=200, paper=5000)
    claim.for_all(DIFFER, cases, differ, equation="(92)-(98)", examples=examples)


TAU = 32  # Appendix C
TABLE_2_RNN = Fraction(158, 10**9)  # Table 2, temporal mixing, altered, RNN: 1.58e-7
BITS = 128
FLOOR = "least mean square error"
FILTERS = {  # theta, and the floors with free offsets, one offset, none, and of any causal model
    "one sign": (  # drawn from U[0, 1], divided by their sum, rounded
        ["0.076", "0.375", "0.235", "0.130", "0.184"],
        ["0.0316", "0.0339", "0.0565", "0.0315"],
    ),
    "mixed signs": (
        ["0.3", "-0.3", "0.2", "-0.1", "0.1"],
        ["0.0080", "0.0082", "0.0082", "0.0080"],
    ),
}


def exponential():
    return exact.vector([flint.arb(-s).exp() for s in range(TAU)])


def floors(theta, *, ahead):
    """Under H(theta * x) with the kernel e^-s, in balls."""
    with flint.ctx.workprec(BITS):
        M = ordering.filtered(exponential(), exact.rationals(theta), ahead=ahead)
        found = {offset: ordering.floor(M, offset) for offset in ordering.OFFSETS}
        return {**found, "causal": ordering.causal_floor(M)}


@pytest.mark.exact
def test_the_matrices_are_those_of_the_filtered_targets(claim):
    def differ(case):
        rho, theta, x = case
        tau = max(map(len, case))
        rho, x = (np.append(v, exact.rationals([0] * (tau - len(v)))) for v in (rho, x))
        wrong = 0
        for ahead, see in ((True, recurrent.forward_filter), (False, recurrent.causal_filter)):
            M = ordering.filtered(rho, theta, ahead=ahead)
            y = recurrent.convolution(rho[:, None], see(theta, x[:, None]))
            wrong += int((M @ x != y).sum())
        return wrong

    examples = claim.at_scale(smoke=40, laptop=200, paper=5000)
    claim.for_all(DIFFER, cases, differ, equation="(92)", examples=examples)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.certified
def test_the_printed_filter_has_a_floor_under_every_rnn(name, claim):
    theta, least = FILTERS[name]
    found = floors(theta, ahead=True)
    why = "repro/jiang2024/ordering.py, evaluated in balls"
    for (offset, value), digits in zip(found.items(), least, strict=True):
        claim.record(FLOOR, value, offset=offset)
        low = Fraction(digits)
        floor = claim.measured(FLOOR, value, equation="Section 6.2", offset=offset)
        floor.at_least(theorem(low, why)).at_most(theorem(low + Fraction(1, 10_000), why))


@pytest.mark.certified
def test_under_the_causal_filter_there_is_none(claim):
    """M = K Theta is a convolution: exactly 0 for the kernel 2^-s, and 0 in balls for e^-s."""
    halves = exact.vector([exact.rational("1/2") ** s for s in range(TAU)])
    for name, (theta, _) in FILTERS.items():
        M = ordering.filtered(halves, exact.rationals(theta), ahead=False)
        where = {"equation": "(98)", "filter": name}
        claim.measured(FLOOR, ordering.floor(M, "none"), kernel="2^-s", **where).equals(0)
        value = floors(theta, ahead=False)["none"].upper()
        claim.measured(FLOOR, value, kernel="e^-s", **where).at_most(
            rounding_error(1e-30, "radii of balls of 128 bits")
        )


@pytest.mark.certified
def test_the_printed_error_leaves_almost_no_future(claim):
    """The floor of all causal models is theta^T Q theta over theta(1), ..., theta(4): at least
    sum theta(s)^2 over |Q^-1|. At 1.58e-7 what the filter sees ahead has a norm below 0.002."""
    ahead = range(1, 5)
    with flint.ctx.workprec(BITS):
        units = exact.rationals(np.eye(5, dtype=int))
        Ms = [np.triu(ordering.filtered(exponential(), units[s], ahead=True), 1) for s in ahead]
        Q = flint.arb_mat([[(M * N).sum() / (12 * TAU) for M in Ms] for N in Ms])
        norm = max(sum(abs(v) for v in row) for row in Q.inv().tolist())
    bound = (norm * logarithms.ball(TABLE_2_RNN)).sqrt()
    claim.record("least floor over |θ(1), …, θ(4)|²", 1 / norm)
    claim.record("largest |θ(1), …, θ(4)|", bound)
    claim.measured("largest |θ(1), …, θ(4)|", bound, equation="Table 2").at_most(
        theorem(Fraction("0.002"), "the root of 1.58e-7 |Q⁻¹|, and a little")
    )


def filtered_input_and_filtered_kernel(rho, theta, x):
    """(92) and (97) at t = 0, where only s = 0 counts; sequences are 0 beyond their ends."""

    def mixed(a):  # (theta * a)(0)
        return sum(theta[s] * a[s] for s in range(len(theta)))

    return rho[0] * mixed(x), mixed(rho) * x[0]


WRONG = {
    # H_0(theta * x) = x(1), while theta * rho = 0.
    "the future is dropped": ([1, 0], [0, 1]),
    # H_0 has only rho(0) = 0, while (theta * rho)(0) = rho(1) = 1.
    "terms beyond t are added": ([0, 1], [1, 0]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_printed_the_kernel_is_not_theta_rho(wrong, claim):
    rho, x = WRONG[wrong]
    left, right = both(rho, [0, 1], x)
    claim.counterexample(
        "H_t(theta * x) is the convolution of x with theta * rho",
        input={"t": 0},
        measured=left[0], expected=right[0], equation="(95) to (96)",
        program=filtered_input_and_filtered_kernel, rho=rho, theta=[0, 1], x=x,
    )  # fmt: skip


def test_control_a_forward_filter_is_not_a_convolution(claim):
    """The sign of s in x(t-s), nothing else: an average over two times, at t = 0."""
    left, right = both([1, 0, 0], ["1/2", "1/2"], [0, 1, 0])
    claim.measured("largest error", max(abs(left - right)), equation="(97)").at_least(
        theorem(exact.rational("1/2"), "θ(1) ρ(0) x(1) = 1/2")
    )


def test_control_a_filter_that_sees_no_future_has_no_floor(claim):
    """theta(1), ..., theta(4) left out: all floors are gone."""
    theta, least = FILTERS["one sign"]
    gone = floors([theta[0], 0, 0, 0, 0], ahead=True)
    for (offset, value), digits in zip(gone.items(), least, strict=True):
        missing, nearly = exact.rational(digits) - value, Fraction(digits) - Fraction(1, 10**9)
        claim.measured("floor missing", missing, equation="Section 6.2", offset=offset).at_least(
            theorem(nearly, "θ(0) ρ is a kernel")
        )


def test_control_the_kernel_of_97_is_wrong_for_a_causal_filter(claim):
    """rho(s+s') for rho(s-s'): the delay of delta_0 by one time becomes nothing."""
    theta = exact.rationals([0, 1])
    rho, x = column([1, 0, 0]), column([1, 2, 3])
    left = recurrent.convolution(rho, recurrent.causal_filter(theta, x))
    right = recurrent.convolution(recurrent.forward_filter(theta, rho), x)
    claim.measured("largest error", max(abs(left - right)), equation="(97)").at_least(
        theorem(2, "x(t − 1) against 0")
    )
