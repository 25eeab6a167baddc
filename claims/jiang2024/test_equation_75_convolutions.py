"""Equation (75) (jiang2024, D.1): the targets of an RNN are causal convolutions.

    H_t(x) = sum_{s=0}^{t} rho(s) . x(t-s),   t = 0, 1, ...,   and H determines rho.

Proof. For the input e_i at time 0 and 0 after it the output at time t is rho_i(t).             QED

Checked, in rationals, for random kernels: the outputs for d unit impulses at time 0 are rho;
delayed inputs give delayed outputs; later inputs do not matter. Of all 3^9 matrices of three times
with entries -1, 0, 1 those that commute with the delay are those of convolutions.

Misprint: the norm of rho(s) is said to be at most infinity, for less than. This does not make H
bounded (rho = 1); exponential decay, (79), does.
"""

import itertools

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import ordering, recurrent
from repro.numerics import exact

sixths = st.integers(-20, 20).map(lambda k: exact.rational(k) / 6)


@st.composite
def kernels(draw):
    """rho, (tau, d)."""
    tau, d = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    return exact.vector([draw(sixths) for _ in range(tau * d)]).reshape(tau, d)


def impulses(tau, d):
    """Sequence i is e_i at time 0, and 0 after it; (d, tau, d)."""
    x = np.zeros((d, tau, d), dtype=int)
    x[:, 0] = np.eye(d)
    return exact.rationals(x.tolist())


@pytest.mark.exact
def test_impulses_tell_the_kernel(claim):
    def differ(rho):
        told = recurrent.convolution(rho, impulses(*rho.shape))  # (d, tau)
        return int((rho != told.T).sum())

    examples = claim.at_scale(smoke=60, laptop=200, paper=10000)
    claim.for_all("values of ρ that differ", kernels(), differ, equation="(75)", examples=examples)


@pytest.mark.exact
def test_it_is_the_double_sum(claim):
    def differ(rho):
        tau, d = rho.shape
        rng = np.random.default_rng(tau * 10 + d)
        x = exact.rationals(rng.integers(-3, 4, (tau + 2, d)).tolist())
        ours = recurrent.convolution(rho, x)
        sums = [
            sum(rho[s, i] * x[t - s, i] for s in range(min(t + 1, tau)) for i in range(d))
            for t in range(tau + 2)
        ]
        return sum(a != b for a, b in zip(ours, sums, strict=True))

    examples = claim.at_scale(smoke=60, laptop=200, paper=10000)
    claim.for_all("outputs that differ", kernels(), differ, equation="(75)", examples=examples)


@pytest.mark.exact
def test_delays_pass_through_and_later_inputs_do_not_matter(claim):
    def differ(rho):
        tau, d = rho.shape
        x = exact.rationals(np.arange(1, tau * d + 1).reshape(tau, d).tolist())
        late, changed = np.concatenate([0 * x[:1], x]), np.concatenate([x, x[:1] + 5])
        H = recurrent.convolution
        delayed = int((H(rho, late)[1:] != H(rho, x)).sum())
        return delayed + int((H(rho, changed)[:-1] != H(rho, x)).sum())

    examples = claim.at_scale(smoke=60, laptop=200, paper=10000)
    claim.for_all("outputs that differ", kernels(), differ, equation="(75)", examples=examples)


@pytest.mark.exact
def test_whatever_commutes_with_the_delay_is_a_convolution(claim):
    """M S = S M for the delay S of three times, if and only if M is triangular and Toeplitz."""
    S, unlike, found = np.eye(3, k=-1, dtype=int), 0, 0
    for entries in itertools.product((-1, 0, 1), repeat=9):
        M = np.array(entries).reshape(3, 3)
        commutes = bool((M @ S == S @ M).all())
        convolution = ordering.is_convolution(M.astype(object))
        unlike, found = unlike + (commutes != convolution), found + convolution
    name = "matrices that commute or are convolutions, not both"
    claim.measured(name, unlike, equation="(75)").equals(0)
    claim.measured("convolutions among 3⁹ matrices", found, equation="(75)").equals(3**3)


def output_for_a_constant_kernel_and_input(t):
    """rho(s) = 1 and x(t) = 1; if H were bounded by the norm of rho(s), 1 would bound it."""
    return sum(1 * 1 for _ in range(t + 1)), 1


def test_reading_a_kernel_of_finite_norm_at_every_time(claim):
    """rho = 1: every |rho(s)| is 1, and H_99 of the constant input 1 is 100."""
    ones = exact.rationals([[1]] * 100)
    claim.counterexample(
        "a norm of rho(s) that is finite at every s bounds H_t(x) for inputs in [0, 1]",
        input={"rho(s)": 1, "x(t)": 1},
        measured=recurrent.convolution(ones, ones)[99], expected=1, relation="<=", equation="(75)",
        printed=False, program=output_for_a_constant_kernel_and_input, t=99,
    )  # fmt: skip


def test_control_on_a_horizon_the_kernel_beyond_is_free(claim):
    """tau times only: rho and rho + delta_tau have the same outputs."""
    tau = 5
    rho = exact.rationals([[1]] * (tau + 1))
    other = rho.copy()
    other[tau, 0] += 1
    outputs = [recurrent.convolution(k, impulses(tau, 1)) for k in (rho, other)]
    differ = int((outputs[0] != outputs[1]).sum())
    claim.measured("outputs that differ", differ, equation="(75)").equals(0)
    apart = abs(rho - other).max()
    claim.measured("distance of the kernels", apart, equation="(75)").at_least(
        theorem(1, "s ≤ t < τ in (75): rho(τ) is never used")
    )


def test_control_a_map_that_changes_in_time_is_not_told_by_its_impulse(claim):
    """H_t(x) = (t + 1) x(t), causal and linear: the impulse says delta_0."""
    x = exact.rationals([[1]] * 6)
    true = [(t + 1) * x[t, 0] for t in range(6)]
    told = recurrent.convolution(exact.rationals([[1]] + [[0]] * 5), x)
    worst = max(abs(a - b) for a, b in zip(true, told, strict=True))
    claim.measured("error of (75)", worst, equation="(75)").at_least(
        theorem(5, "(t + 1) − 1 at t = 5")
    )
