"""Finding (on jiang2024, Table 3): a register of tau units holds any kernel of length tau.

With c = e_1, W = sum_i e_i e_{i+1}^T and rows rho(s) in U, c^T W^s U = rho(s) for s < tau, exactly,
for every input dimension d; W is nilpotent, hence stable. Proof in repro/jiang2024/recurrent.py.

So the RNN of Table 3, with 128 units for 32 times and a kernel drawn from U[0, 1], has no error of
approximation on the original target: the printed 5.58 is one of optimisation.

Checked, in rationals, for random kernels: the register's kernel is rho,
then 0, and its outputs are those of (75). In float64, for kernels as in Table 3, to the bit. That
tau units are needed in general: for delta_{tau-1} the determinant of the Hankel matrix is +-1,
however the kernel goes on, so no fewer units do.
Controls: one unit less; a W that feeds back.
"""

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.jiang2024 import hankel, recurrent
from repro.numerics import exact, roundoff

TABLE_3_RNN = 5.58  # Table 3, original, RNN
TAU = 32  # Appendix C


@st.composite
def kernels(draw):
    tau, d = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    values = [draw(st.fractions(-3, 3, max_denominator=50)) for _ in range(tau * d)]
    return exact.rationals(values).reshape(tau, d)


@pytest.mark.exact
def test_any_kernel_is_held_without_error(claim):
    def differ(rho):
        tau, d = rho.shape
        register = recurrent.shift_register(rho)
        x = exact.rationals(np.arange(tau * d).reshape(tau, d).tolist())
        kernel = register.kernel(2 * tau)
        unlike = int((kernel[:tau] != rho).sum()) + int((kernel[tau:] != 0).sum())
        target = recurrent.convolution(rho, x)
        return unlike + int((register(x) != target).sum()) + (len(register.c) != tau)

    examples = claim.at_scale(smoke=60, laptop=200, paper=10000)
    claim.for_all("values unlike", kernels(), differ, equation="c W^s U = ρ(s)", examples=examples)


@pytest.mark.exact
def test_it_is_stable(claim):
    rho = exact.rationals([[1]] * 8)
    register = recurrent.shift_register(rho)
    power = register.W
    for _ in range(7):
        power = power @ register.W
    claim.measured(
        "entries of W^τ that are not 0", int((power != 0).sum()), equation="W^τ = 0"
    ).equals(0)
    q = recurrent.decay(register).q
    claim.measured("|c W^s U|² ≤ A q^s with q < 1", bool(q < 1), equation="|λ| < 1").equals(True)


@pytest.mark.exact
def test_no_fewer_units_hold_a_spike_at_the_end(claim):
    """[rho(i+j)], i, j < tau, for rho = (0, ..., 0, 1, then anything): the determinant is +-1."""
    after = st.lists(st.integers(-50, 50), min_size=0, max_size=6)

    def off(beyond):
        tau = len(beyond) + 1
        rho = [*[0] * (tau - 1), 1, *beyond]
        return abs(abs(flint.fmpq_mat(hankel.section(rho)).det()) - 1)

    examples = claim.at_scale(smoke=60, laptop=200, paper=10000)
    claim.for_all("||det| − 1|", after, off, equation="rank τ", examples=examples)


@pytest.mark.construct
def test_the_kernels_of_table_3_in_float64(claim):
    """U[0, 1] for every rho(s), 32 times, inputs uniform: to the bit, since nothing is added up
    in another order and every product with 0 or 1 is exact."""
    import torch

    rng, unlike, worst = claim.rng("kernels"), 0, 0.0
    for _ in range(claim.at_scale(smoke=5, laptop=50, paper=500)):
        rho = torch.tensor(rng.uniform(size=(TAU, 1)), device=claim.device)
        register = recurrent.shift_register(rho)
        unlike += int((register.kernel(TAU) != rho).sum())
        x = torch.tensor(rng.uniform(size=(20, TAU, 1)), device=claim.device)
        errors = register(x) - recurrent.convolution(rho, x)
        assert errors.isfinite().all()
        worst = max(worst, errors.square().mean().item())
    claim.measured("values of the kernel that differ", unlike, equation="c W^s U = ρ(s)").equals(0)
    # Two sums of at most 32 products below 1, in whatever order: 2 x 32 u x 32 apart at most.
    allowed = (2 * TAU**2 * roundoff.unit("float64")) ** 2
    claim.measured("mean square error", worst, equation="Table 3, RNN").at_most(
        rounding_error(allowed, "(2·32²u)², two sums of 32 terms below 1")
    )
    claim.cell("Original", "RNN", paper=TABLE_3_RNN, ours=worst, note="built: 32 units")


def test_control_one_unit_less_loses_the_last_value(claim):
    rho = exact.rationals([[3], [1], [4], [1], [5]])
    kernel = recurrent.shift_register(rho[:-1]).kernel(5)
    error = abs(kernel - rho).max()
    claim.measured("largest error of the kernel", error, equation="τ − 1 units").at_least(
        theorem(5, "ρ(4) = 5 is lost")
    )


def test_control_a_register_that_feeds_back_does_not_end(claim):
    """W with 1 in its lower left corner: a circle, c W^tau = c, and the kernel begins again."""
    rho = exact.rationals([[3], [1], [4]])
    register = recurrent.shift_register(rho)
    register.W[-1, 0] = 1
    late = abs(register.kernel(6)[3:]).max()
    claim.measured("largest value after the end", late, equation="W nilpotent").at_least(
        theorem(4, "W³ = 1, ρ̂(s + 3) = ρ(s)")
    )
