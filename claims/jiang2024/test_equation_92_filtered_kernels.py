"""Equations (92)-(98) (jiang2024, 6.2 and D.3): a filtered input is a filtered kernel.

Printed: with (theta * x)(t) = sum_{s<l} theta(s) x(t+s), H_t(theta * x) is the convolution of x
with (theta * rho)(s) = sum_{s'<l} theta(s') rho(s+s').

False as printed. With r = s - s' the double sum (95) is
    sum_{r=-(l-1)}^{t} k_t(r) x(t-r),   k_t(r) = sum_{s': 0 <= r+s' <= t} theta(s') rho(r+s').
(96) leaves out the future inputs, r < 0, and adds the terms with r + s' > t; both are stored.
Repaired: for a causal filter, sum_{s<l} theta(s) x(t-s), it is exact with the kernel
sum_{s'} theta(s') rho(s-s'). (Put r = s + s': no term is lost, since x is 0 before time 0.)

Checked, in rationals, for all kernels, filters and inputs that a search finds to try: the repaired
identity; what the printed filter gives, k_t(r) above; for length 1 both agree.
Controls: the forward filter; the kernel of (97) under a causal filter.

Reading: Section 6.2 prints the upper limit t - 1 of the filter for l - 1.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from repro import jiang2024, numerics

sixths = st.integers(-12, 12).map(lambda k: numerics.exact.rational(k) / 6)


def column(values):
    return numerics.exact.rationals(values)[:, None]


def sequences(most):
    return st.lists(sixths, min_size=1, max_size=most).map(numerics.exact.vector)


cases = st.tuples(sequences(6), sequences(4), sequences(6))
DIFFER = "outputs that differ"


@pytest.mark.exact
def test_a_causal_filter_of_the_input_is_one_of_the_kernel(claim):
    def differ(case):
        rho, theta, x = case
        recurrent, end = jiang2024.recurrent, 0 * theta[:, None]
        kernel = recurrent.causal_filter(theta, np.concatenate([rho[:, None], end]))
        filtered = recurrent.convolution(rho[:, None], recurrent.causal_filter(theta, x[:, None]))
        return int((filtered != recurrent.convolution(kernel, x[:, None])).sum())

    examples = claim.at_scale(smoke=60, laptop=300, paper=20000)
    claim.for_all(cases, differ, DIFFER, equation="(92)-(98), x(t − s)", examples=examples)


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
        recurrent = jiang2024.recurrent
        filtered = recurrent.forward_filter(theta, x[:, None])
        ours = recurrent.convolution(rho[:, None], filtered)
        return sum(y != double_sum(rho, theta, x, t) for t, y in enumerate(ours))

    examples = claim.at_scale(smoke=60, laptop=300, paper=20000)
    claim.for_all(cases, differ, DIFFER, equation="(95), r = s − s′", examples=examples)


@pytest.mark.exact
def test_a_filter_of_length_one_is_as_printed(claim):
    def differ(case):
        rho, theta, x = case
        recurrent, one = jiang2024.recurrent, theta[:1]
        left = recurrent.convolution(rho[:, None], recurrent.forward_filter(one, x[:, None]))
        kernel = recurrent.forward_filter(one, rho[:, None])
        return int((left != recurrent.convolution(kernel, x[:, None])).sum())

    examples = claim.at_scale(smoke=40, laptop=200, paper=5000)
    claim.for_all(cases, differ, DIFFER, equation="(92)-(98), l = 1", examples=examples)


def both(rho, theta, x):
    """(92) and (97) as printed, at all times of x."""
    recurrent = jiang2024.recurrent
    rho, x, theta = column(rho), column(x), numerics.exact.rationals(theta)
    left = recurrent.convolution(rho, recurrent.forward_filter(theta, x))
    return left, recurrent.convolution(recurrent.forward_filter(theta, rho), x)


FILTER = (
    "theta = [0, 1]\n"
    "get = lambda a, i: a[i] if 0 <= i < len(a) else 0\n"
    "mixed = lambda a, t: sum(theta[s] * get(a, t + s) for s in range(2))     # theta * a\n"
    "left = sum(get(rho, s) * mixed(x, 0 - s) for s in range(1))              # (92), t = 0\n"
    "right = sum(mixed(rho, s) * get(x, 0 - s) for s in range(1))             # (97), t = 0\n"
    "print(left, 'is not', right)\n"
)


def test_printed_future_inputs_are_dropped(claim):
    """rho = delta_0, theta = (0, 1): H_0(theta * x) = x(1), and theta * rho = 0."""
    left, right = both([1, 0], [0, 1], [0, 1])
    claim.counterexample(
        "H_t(theta * x) is the convolution of x with theta * rho: the future",
        input={"rho": [1, 0], "theta": [0, 1], "x": [0, 1], "t": 0},
        measured=left[0],
        expected=right[0],
        equation="(95) to (96)",
        snippet=f"rho, x = [1, 0], [0, 1]\n{FILTER}",
    )


def test_printed_terms_beyond_t_are_added(claim):
    """rho = delta_1, theta = (0, 1): H_0 has only rho(0) = 0, and (theta * rho)(0) = rho(1) = 1."""
    left, right = both([0, 1], [0, 1], [1, 0])
    claim.counterexample(
        "H_t(theta * x) is the convolution of x with theta * rho: beyond t",
        input={"rho": [0, 1], "theta": [0, 1], "x": [1, 0], "t": 0},
        measured=left[0],
        expected=right[0],
        equation="(95) to (96)",
        snippet=f"rho, x = [0, 1], [1, 0]\n{FILTER}",
    )


def test_reading_the_upper_limit_of_the_filter(claim):
    """sum_{s=0}^{t-1} theta(s) x(t+s), as Section 6.2 prints it, is empty at t = 0."""
    theta, x = numerics.exact.rationals([1]), column([1, 1])
    claim.counterexample(
        "a filter whose sum ends at s = t - 1 has length l",
        input={"theta": [1], "x": [1, 1], "t": 0},
        measured=sum((theta[s] * x[s, 0] for s in range(0 - 0)), numerics.exact.rational(0)),
        expected=jiang2024.recurrent.forward_filter(theta, x)[0, 0],
        equation="Section 6.2, theta * x",
        printed=False,
        snippet="theta, x, t = [1], [1, 1], 0\n"
        "print(sum(theta[s] * x[t + s] for s in range(t)), 'is not', theta[0] * x[t])\n",
    )


def test_control_a_forward_filter_is_not_a_convolution(claim):
    """The sign of s in x(t-s), nothing else: an average over two times, at t = 0."""
    left, right = both([1, 0, 0], ["1/2", "1/2"], [0, 1, 0])
    half, source = numerics.exact.rational("1/2"), "theorem: θ(1) ρ(0) x(1) = 1/2"
    off = max(abs(left - right))
    claim.at_least(off, half, "largest error", equation="x(t + s)", source=source)


def test_control_the_kernel_of_97_is_wrong_for_a_causal_filter(claim):
    """rho(s+s') for rho(s-s'): the delay of delta_0 by one time becomes nothing."""
    recurrent, theta = jiang2024.recurrent, numerics.exact.rationals([0, 1])
    rho, x = column([1, 0, 0]), column([1, 2, 3])
    left = recurrent.convolution(rho, recurrent.causal_filter(theta, x))
    right = recurrent.convolution(recurrent.forward_filter(theta, rho), x)
    source = "theorem: x(t − 1) against 0"
    claim.at_least(max(abs(left - right)), 2, "largest error", equation="ρ(s + s′)", source=source)
