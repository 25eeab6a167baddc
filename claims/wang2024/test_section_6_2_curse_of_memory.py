"""Section 6.2, curse of memory (wang2024): is it lifted by log-RPE?

Printed: recurrent networks need exponentially many neurons for kernels that decay like a power;
log-RPE heads need polynomially many, by Theorem 6.1.

Checked. (1) In rationals: lin-RPE heads are a diagonal linear recurrent network. (2) In discrete
time, as here, N units of a shift leave exactly the tail of the kernel beyond N, a power of N;
lin-RPE heads with the best weights follow the alternating kernel like log-RPE heads, and
N^-(beta-1) is proved to be the least possible for both. Kernels such as (1 + t)^-4 they follow
root-exponentially, even with positive weights of sum 1. (3) If the responses stay within
A e^{-bs}, the error stays above sum (|rho(s)| - A e^{-bs})_+ for every number of units, while one
log-RPE head has t^-4 exactly, with weight 1. Bounds on weights and on exponents are both needed.
(4) For an alternating kernel of order t^-beta the number of log-RPE heads grows like
eps^(-1/(beta-1)).
Controls: either bound left out; a log head, which no finite linear recurrence is.

Not checked: the theorems on recurrent networks that are cited. They are about continuous time and
have other hypotheses, so nothing here contradicts them. The sentences on length generalisation and
on T5's choice do not follow from Theorem 6.1.
"""

import functools
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.numerics import exact, l1, logarithms
from repro.wang2024 import fixed, kernels, model, recurrent
from repro.wang2024.pictures import networks as pictures

BETA = 4
UNITS = [4, 8, 16, 32]
ERROR = "l1 error"


def rough():
    """(-1)^t t^-4, t >= 1."""
    return kernels.alternating(kernels.power(BETA))


def smooth():
    """(1 + t)^-4, t >= 0."""
    return kernels.later(kernels.power(BETA))


def units(claim):
    return claim.at_scale(smoke=UNITS[:3], laptop=UNITS, paper=UNITS)


@pytest.mark.exact
def test_lin_heads_are_a_diagonal_linear_recurrence(claim):
    """Attention without normalisation, and with alpha_h times the normaliser, against the loop."""
    ninths = st.integers(-20, 20).map(lambda k: Fraction(k, 9))
    below_one = st.integers(1, 8).map(lambda k: Fraction(k, 9))
    heads = st.lists(st.tuples(below_one, ninths), min_size=1, max_size=3)
    tokens = st.lists(st.integers(-3, 3), min_size=2, max_size=6)

    def difference(case):
        pairs, x = case
        X, one, Log = exact.rationals(x)[:, None], exact.rationals([[1]]), logarithms.Log
        u, alphas = ([exact.rational(pair[i]) for pair in pairs] for i in range(2))
        p = tuple(Log(1 / factor) for factor in u)
        plain = [model.Head(one * a, p_h) for a, p_h in zip(alphas, p, strict=True)]
        sums = fixed.normalisers("lin", p, len(x))
        softmax = [model.Head(one * a * s, q) for a, s, q in zip(alphas, sums, p, strict=True)]
        recurrence = recurrent.diagonal(u, alphas)(X)
        unlike = (
            model.Attention(tuple(plain), one, "lin", normalised=False)(X) != recurrence
        ).sum()
        return int(unlike) + int(
            model.Attention(tuple(softmax), one, "lin")(X)[-1, 0] != recurrence[-1, 0]
        )

    examples = claim.at_scale(smoke=20, laptop=80, paper=3000)
    cases = st.tuples(heads, tokens)
    claim.for_all("unlike outputs", cases, difference, equation="Λ = diag(e^−p)", examples=examples)


def telescoping(t):
    """1/((t + 1)(t + 2)) = 1/(t + 1) - 1/(t + 2), of order t^-2; the tail from N on is 1/(N+1)."""
    return exact.rational(1) / ((t + 1) * (t + 2))


@pytest.mark.exact
@pytest.mark.parametrize("N", [1, 10, 100], ids="N={}".format)
def test_a_shift_with_N_units_leaves_exactly_the_tail(N, claim):
    values = [telescoping(t) for t in range(N)]
    response = recurrent.shift(values).response(2 * N)
    left = [telescoping(t) - r for t, r in enumerate(response)]
    claim.measured(
        "sum of the errors, of one sign", sum(left), equation="ρ(t) = 1/((t+1)(t+2))"
    ).equals(sum(map(abs, left)))
    beyond = 1 / exact.rational(2 * N + 1)  # the tail from 2N on
    claim.measured(ERROR, sum(left) + beyond, equation="1/(N+1)").equals(1 / exact.rational(N + 1))


@functools.cache
def best(rpe, N):
    kernel = rough()
    if rpe == "log":
        return l1.best(kernel, l1.Powers(tuple(range(2, 2 + N))), window=300)
    exponents = tuple(range(1, N + 1))
    return l1.best(kernels.later(kernel), l1.Exponentials(exponents), window=300)


@pytest.mark.best_in_class
def test_rate_lin_heads_and_a_recurrence_follow_a_rough_kernel_as_log_heads_do(claim):
    Ns = units(claim)
    curves = {rpe: [best(rpe, N).error for N in Ns] for rpe in ("lin", "log")}
    curves["shift"] = [float(rough().beyond(N + 1).upper()) for N in Ns]
    least = [kernels.alternating_floor(rough(), N, first=1) for N in Ns]
    curves["least"] = [float(tail.lower()) for tail in least]
    for N, tail in zip(Ns, least, strict=True):
        shift = claim.measured(ERROR, tail, equation="N^-(β−1)", units=N, rpe="shift")
        shift.at_least(theorem((N + 1) ** -3 / 3, "∫ x^-4 from N + 1 on"))
        shift.at_most(theorem(N**-3 / 3, "∫ x^-4 from N on"))
        for rpe in ("lin", "log"):
            found = claim.measured(ERROR, best(rpe, N).floor, equation="N^-(β−1)", rpe=rpe, units=N)
            found.at_least(theorem(tail, "finding alternating-kernel"))
        bound = kernels.Interpolation(kernels.later(rough()), "lin", N, 1).bound()
        found = claim.measured(ERROR, best("lin", N).error, equation="N^-(β−1)", rpe="lin", units=N)
        found.at_most(theorem(bound, "interpolation with these exponents: tail + C Σ, kernels.py"))
    # ζ(4) − 1 − 1/16 − 1/81 − 1/256, ζ(4) = 1.0823232337
    four = claim.measured("tail", least[0], equation="Σ_(t>4) t^-4")
    four.within(0.0035713047, rounding_error(5e-11, "worked out to ten decimals"))
    ahead = sum(best("log", N).error < best("lin", N).floor for N in Ns)
    claim.measured("N at which log heads are better", ahead, equation="Section 6.2").equals(0)
    mixed, (caps, floors, capped) = [mixture_error(N)[2] for N in Ns], bounded(claim)
    claim.figure(
        pictures.memory(Ns, curves, mixed, caps, floors, capped),
        "curse-of-memory",
        caption="Left: the alternating kernel (−1)^t t⁻⁴ by N heads or units. Middle: (1+t)⁻⁴ by a "
        "linear recurrence with positive weights of sum 1. Right: what bounded weights leave.",
    )


@pytest.mark.certified
def test_bounds_of_two_heads_by_hand(claim):
    """t^-4, two heads with q = e^-3: ζ(4) − 17/16, and (1/16 + q²) / (q; q)² = .0723421398 times
    q/(1 − q) for lin and 2/5 for log."""
    for rpe, stated in (("lin", 0.02361370854), ("log", 0.04876053262)):
        kernel = kernels.later(kernels.power(4)) if rpe == "lin" else kernels.power(4)
        two = kernels.Interpolation(kernel, rpe, 2, 3).bound()
        found = claim.measured("bound", two, equation="tail + C Σ", rpe=rpe, H=2)
        found.within(stated, rounding_error(1e-11, "worked out to ten digits"))


@functools.cache
def mixture_error(N):
    """Exponents, weights and the proved l1 error of the trapezoidal rule with N units."""
    exponents, alphas = recurrent.mixture(BETA, N)
    with flint.ctx.workprec(128):
        family = l1.Exponentials(tuple(exponents))
        error = l1.l1_error(smooth(), family, alphas, window=1500)
    return exponents, alphas, float(error.upper())


@pytest.mark.certified
def test_geometric_exponents_and_positive_weights_follow_a_smooth_kernel(claim):
    """e^(-pi sqrt(3N)) up to powers of N, so faster than N^-3; sum alpha is 1."""
    errors = {N: mixture_error(N) for N in units(claim)}
    for N, (_, alphas, error) in errors.items():
        least = theorem(0.0, "the trapezoidal rule for a positive integrand")
        claim.measured("least weight", min(alphas), equation="α_h > 0", N=N).at_least(least)
        claim.measured("sum of the weights", sum(alphas), equation="Σ α_h = ρ(0)", N=N).within(
            1.0, theorem(error + 1e-12, "φ(0) = Σ α_h is within the error of ρ(0); 1e-12: rounding")
        )
        if 4 * N in errors:
            fall = claim.measured("fall", errors[4 * N][2] / error, equation="e^(−π√(3N))", N=4 * N)
            fall.at_most(theorem(4.0**-3, "that of N^-(β−1), the least for the rough kernel"))
    # β = 4, N = 3: δ = π/3, e^y = 3π, 3π e^(−π/3), 3π e^(−2π/3), α = (π/3)/3! e^(4y) e^(−e^y)
    exponents, alphas = recurrent.mixture(BETA, 3)
    stated = [9.424777961, 3.307341265, 1.160611559], [0.1111303842, 0.7645983288, 0.0992150917]
    for name, found, by_hand in zip("βα", (exponents, alphas), stated, strict=True):
        for h, (one, digits) in enumerate(zip(found, by_hand, strict=True), start=1):
            number = claim.measured(name, one, equation="the trapezoidal rule", h=h, N=3)
            number.within(digits, rounding_error(5e-10, "worked out to ten digits"))


CAPS = [1, 10, 100, 1e4, 1e6]
SLOWEST = 1  # b: no exponent is below


def floor(A):
    found = recurrent.floor(smooth(), A, SLOWEST, window=1500)
    return float(found.lower())


def bounded(claim):
    """The caps A, the floors, and what the best of 40 exponents >= b leave under each cap."""
    times = np.arange(200)
    columns = np.exp(-np.outer(times, SLOWEST * np.geomspace(1, 40, 40)))
    rho = np.array([smooth()(int(t)) for t in times])
    caps = CAPS[:3] if claim.scale == "smoke" else CAPS
    found = [l1.capped([(columns, rho)], A).error for A in caps]
    return caps, [floor(A) for A in caps], found


@pytest.mark.certified
def test_bounded_weights_and_exponents_leave_a_floor_that_units_do_not_lower(claim):
    """No response within A e^-s is nearer; a log head with weight 1 has t^-4 without error."""
    for A, least, found in zip(*bounded(claim), strict=True):
        tail = float(smooth().beyond(200).upper())
        limit = theorem(least, "|rho - rho_N| >= |rho| - A e^{-bs}, summed in balls")
        claim.measured(ERROR, found + tail, equation="Section 6.2", A=A, units=40).at_least(limit)
    # (1 + s)^-4 > A e^-s from s = 10 on for A = 1, from 13 on for A = 10; differences to s = 1499
    for A, stated in ((1, 2.148284873e-4), (10, 9.935280015e-5)):
        found = claim.measured("floor", floor(A), equation="Σ (|ρ| − A e^-bs)_+", A=A)
        found.within(stated, rounding_error(1e-9 * stated, "worked out to ten digits"))
    two = recurrent.floor(smooth(), 0, SLOWEST, window=2)
    found = claim.measured("floor", two, equation="Σ (|ρ| − A e^-bs)_+", A=0, window=2)
    found.within(1.0625, rounding_error(1e-15, "1 + 1/16, in a ball"))
    one = exact.rationals([[1]])
    head = model.Attention((model.Head(one, BETA),), one, "log", normalised=False)
    impulses = exact.rationals(np.eye(6, dtype=int))[:, :, None]
    stored = head(impulses)[:, -1, 0][::-1][1:]
    unlike = sum(stored[s - 1] != 1 / exact.rational(s) ** BETA for s in range(1, 6))
    claim.measured("values of a log head unlike t^-4", unlike, equation="(3)").equals(0)


@pytest.mark.certified
def test_log_heads_have_the_blow_up_too(claim):
    """A tenth of the norm of (-1)^t t^-beta: eps >= tail >= (H+1)^-(beta-1) / (beta-1)."""
    for beta, least in (("3/2", 50), ("6/5", 50000), ("11/10", 10**9)):
        b = flint.arb(exact.rational(beta))
        eps = b.zeta() / 10
        heads = (1 / ((b - 1) * eps)) ** (1 / (b - 1)) - 1
        claim.record("heads, at least", float(heads.lower()), beta=beta)
        limit = theorem(least, "finding alternating-kernel, solved for H")
        claim.measured("heads", heads, equation="ε^(−1/(β−1))", beta=beta).at_least(limit)


def test_control_without_the_bound_on_the_weights(claim):
    """The exponents 1, 2, ..., 32 are still >= b = 1; the best weights come below the floor."""
    family = l1.Exponentials(tuple(SLOWEST * (h + 1) for h in range(32)))
    found = l1.best(smooth(), family, window=300)
    claim.record("sum of the weights", float(found.weight))
    number = claim.measured("floor over error", floor(1) / found.error, equation="Section 6.2")
    number.at_least(theorem(1, "below the floor for A = 1"))


def test_control_without_the_bound_on_the_exponents(claim):
    """16 units, sum alpha = 1 as in the floor for A = 1, but exponents below b = 1 are allowed."""
    exponents, _, error = mixture_error(16)
    claim.record("slowest", min(exponents))
    least = theorem(1, "below the floor for A = 1")
    claim.measured("floor over error", floor(1) / error, equation="Section 6.2").at_least(least)


def test_control_a_log_head_is_no_finite_linear_recurrence(claim):
    """log for lin: N units have Hankel matrices (rho(i + j)) of rank N at most; t^-2 has more."""
    entries = [flint.fmpq(1, (i + j + 1) ** 2) for i in range(8) for j in range(8)]
    rank = flint.fmpq_mat(8, 8, entries).rank()
    lin = [sum(flint.fmpq(1, b) ** (i + j) for b in (2, 3, 5)) for i in range(8) for j in range(8)]
    claim.measured(
        "rank for 3 lin heads", flint.fmpq_mat(8, 8, lin).rank(), equation="ρ(s) = c Λ^s B"
    ).equals(3)
    least = theorem(8, "det (1/(i+j+1)^2) > 0, t^-2 being a moment sequence")
    claim.measured("rank for one log head", rank, equation="ρ(s) = c Λ^s B").at_least(least)
