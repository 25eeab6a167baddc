"""Finding (sharpens wang2024, Lemma E.3, Theorem 6.1, 6.2): exponentials follow every kernel.

The sum phi of q^t, q^2t, ..., q^Ht that equals rho at 0, ..., H - 1 has, for every summable rho,
    ||rho - phi|| <= sum_{t >= H} |rho(t)| + C_q sum_{k < H} q^((k+1)(k+2)/2) |rho(H-1-k)|,
C_q = 1 / ((1 - q) (q; q)^2), in l1(N): up to a constant its tail. So the error is of order
e^{-beta H} if rho(t) = O(e^{-beta t}), and H^-(beta-1) if rho(t) = O(t^-beta), which is what
Theorem 6.1 (B) has for log-RPE: in the number of heads lin-RPE has no curse of memory.
Proof: repro/wang2024/kernels.py.

Checked: the bound in rationals, for random finite kernels; in balls for seven kernels, H up to 128,
with both orders. The optimum for the same exponents is little better. With geometric exponents
heads of weight 1 in all follow t^-2.5 faster than any power that could be measured.
Controls: weights bounded, exponents bounded from below: H^-(beta-1) ends at a certified floor. For
an alternating kernel bounded weights are enough for that.

Not checked: which of lin and log is better when weights are bounded; it depends on the kernel.
"""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import chosen, rounding_error, theorem
from repro.numerics import l1, logarithms, rates
from repro.wang2024 import exponentials, kernels
from repro.wang2024.pictures import sums as pictures

EXPONENTIAL = ["e^-t cos t", "(-1)^t e^-t", "e^-0.3t cos t"]
POLYNOMIAL = ["t^-2.5", "(-1)^t t^-2.5", "+-t^-2.5", "(-1)^t t^-4"]
BOUND = "‖ρ − φ‖ ≤ tail + C_q Σ q^{(k+1)(k+2)/2} |ρ(H−1−k)|"
PROVED = "the bound, proof in repro/wang2024/kernels.py"
ERROR = "l1 error"


def example(name):
    """The kernel from t = 0 on, and beta; a kernel on t >= 1 is moved by 1."""
    if name in EXPONENTIAL:
        return kernels.EXPONENTIAL[name]
    plain = {"t^-2.5": (kernels.power("5/2"), Fraction(5, 2))}
    kernel, beta = (plain | kernels.POLYNOMIAL)[name]
    return kernels.later(kernel), beta


def interpolation(name, H):
    return kernels.Interpolation(example(name)[0], "lin", H, logarithms.Log(2))


@pytest.mark.exact
def test_the_bound_in_rationals_for_any_finite_kernel(claim):
    """rho integer on 0, ..., 7, q = 1/2 or 1/3. From t = 60 on |alpha_h| q^ht are summed."""
    far = 60

    def beyond(case):
        rho, H, b = case
        q, rho = flint.fmpq(1, b), [*rho, *[0] * (far - len(rho))]
        rows = [[q ** (h * t) for h in range(1, H + 1)] for t in range(H)]
        values = flint.fmpq_mat([[flint.fmpq(rho[t])] for t in range(H)])
        alpha = flint.fmpq_mat(rows).solve(values).entries()
        error = sum((abs(a) * q ** (h * far) / (1 - q**h) for h, a in enumerate(alpha, 1)), q * 0)
        for t in range(H, far):
            error += abs(rho[t] - sum(a * q ** (h * t) for h, a in enumerate(alpha, 1)))
        bound = sum(abs(r) for r in rho[H:])
        for T in range(H):
            bound += abs(rho[T]) * exponentials.interpolation_bound(H - T, q)
        return max(0, error - bound)

    rhos = st.lists(st.integers(-9, 9), min_size=8, max_size=8).filter(any)
    cases = st.tuples(rhos, st.integers(1, 7), st.sampled_from([2, 3]))
    examples = claim.at_scale(smoke=30, laptop=200, paper=5000)
    claim.for_all("error above the bound", cases, beyond, equation=BOUND, examples=examples)


@pytest.mark.parametrize("name", [*EXPONENTIAL, *POLYNOMIAL])
@pytest.mark.certified
def test_error_within_the_bound(name, claim):
    for H in claim.at_scale(smoke=(8, 32), laptop=(8, 16, 32, 64), paper=(8, 16, 32, 64, 128)):
        phi = interpolation(name, H)
        error, bound = phi.error(), phi.bound()
        claim.measured(ERROR, error, equation=BOUND, H=H).at_most(theorem(bound, PROVED))


@pytest.mark.parametrize("name", [*EXPONENTIAL, *POLYNOMIAL])
@pytest.mark.certified
def test_error_and_bound_agree_with_other_ways_to_compute_them(name, claim):
    """The coefficients from a linear system, and the bound as a sum over indicators, H = 8."""
    H, phi = 8, interpolation(name, 8)
    with flint.ctx.workprec(1000):
        rows = flint.arb_mat(phi.family.balls(range(H)))
        alpha = rows.solve(flint.arb_mat([[phi.kernel.ball(t)] for t in range(H)])).entries()
        other = l1.l1_error(phi.kernel, phi.family, alpha, window=208)  # H + 200, as there
    low, high = float(other.lower()) * (1 - 1e-12), float(other.upper()) * (1 + 1e-12)
    claim.measured(ERROR, phi.error(), equation="φ = Σ α_h q^ht").at_least(
        rounding_error(low, "192 bits against 1000")
    ).at_most(rounding_error(high, "192 bits against 1000"))
    single = exponentials.interpolation_bound
    terms = (abs(phi.kernel.ball(T)) * single(H - T, Fraction(1, 2)) for T in range(H))
    whole = float(phi.kernel.tail(H) + sum(terms))
    found = claim.measured("bound", phi.bound(), equation=BOUND)
    found.within(whole, rounding_error(1e-12 * whole, "each term is rounded up to 64 bits"))


@pytest.mark.parametrize("name", POLYNOMIAL)
@pytest.mark.certified
def test_rate_polynomial_kernels_with_the_exponent_beta_minus_one(name, claim):
    Hs = claim.at_scale(smoke=(16, 24, 32, 64), laptop=(16, 32, 64, 128), paper=(32, 64, 128, 256))
    rate = rates.slope(Hs, [float(interpolation(name, H).error()) for H in Hs])
    claim.measured("exponent of H", rate.slope, equation="H^−(β−1)").within(
        1 - float(example(name)[1]),
        chosen(
            claim.at_scale(smoke=0.25, laptop=0.15, paper=0.15),
            "tells β = 2.5 from 4 by far; at finite H the second sum adds a part of order 1/H",
        ),
    )


@pytest.mark.parametrize("name", EXPONENTIAL)
@pytest.mark.certified
def test_rate_exponential_kernels_with_the_exponent_beta(name, claim):
    beta = float(example(name)[1])
    fall = interpolation(name, 16).error() / interpolation(name, 32).error()
    decay = math.log(float(fall)) / 16
    found = claim.measured("decay per head, over β", decay / beta, equation="e^−βH")
    found.within(1, chosen(0.1, "half or twice the rate would be 0.5 or 1 away; H is finite"))


@pytest.mark.parametrize("name", ["t^-2.5", "(-1)^t t^-4"])
@pytest.mark.best_in_class
def test_the_best_coefficients_for_the_same_exponents_are_little_better(name, claim):
    for H in claim.at_scale(smoke=(8,), laptop=(8, 16), paper=(8, 16, 32)):
        phi = interpolation(name, H)
        best = l1.best(phi.kernel, phi.family, window=400)
        gain = phi.error() / best.lower
        claim.record("best error, from below", best.floor, H=H)
        claim.record("best error, from above", best.error, H=H)
        claim.measured("interpolation over best error", gain, equation="E_H", H=H).at_least(
            theorem(1, "the best is the best")
        ).at_most(chosen(2, "little better: by less than a factor of two"))


def geometric(H, window):
    """The best coefficients for t^-2.5 and the exponents 4, 2, 1, ..., 2^(3-H)."""
    family = l1.Exponentials(tuple(Fraction(4) / 2**h for h in reversed(range(H))))
    return l1.best(example("t^-2.5")[0], family, window=window)


@pytest.mark.best_in_class
def test_geometric_exponents_follow_a_smooth_tail_with_weights_of_sum_one(claim):
    """(1+t)^-2.5 is a mixture of e^{-beta t}, an integral with a positive density of mass 1."""
    window = claim.at_scale(smoke=600, laptop=2000, paper=4000)
    few, more = geometric(4, window), geometric(8, window)
    claim.record("best error", few.error, H=4)
    claim.record("best error", more.error, H=8)
    most = chosen(1.01, "the mixture has mass 1; 1 % for the quadrature")
    claim.measured("Σ|α_h|", more.weight, equation="∫ dμ = 1", H=8).at_most(most)
    order = math.log2(few.floor / more.error)
    least = chosen(4, "more than twice β − 1 = 1.5, the order of interpolation")
    claim.measured("log₂ of the fall from 4 to 8 heads", order, equation="H^−(β−1)").at_least(least)


def capped(kernel, exponents, weight, window):
    """The least l1 error on the window with sum |alpha_h| <= weight, in float64."""
    columns = np.exp(-np.outer(np.arange(window), exponents))
    values = np.array([kernel(t) for t in range(window)])
    return l1.capped([(columns, values)], weight).error


def test_control_bounded_weights_and_exponents_meet_a_floor(claim):
    """beta_h >= 1 and sum |alpha_h| <= 10, rho(t) = (1+t)^-2.5: |phi(t)| <= 10 e^-t, whatever H."""
    (kernel, _), window, A = example("t^-2.5"), 400, 10
    floor = kernels.bounded_weights_floor(kernel, 1, A) - kernel.tail(window)
    for H in (8, 32):
        error = capped(kernel, [1 + 5 * h / (H - 1) for h in range(H)], A, window)
        least = theorem(floor, "|φ(t)| ≤ A e^−t, summed over the tail")
        claim.measured(ERROR, error, equation="Σ|α_h| ≤ A, β_h ≥ 1", A=A, H=H).at_least(least)
    ratio = floor / interpolation("t^-2.5", 64).error()
    least = chosen(10, "both are proved: free weights are ten times below the floor")
    claim.measured("floor over error of 64 free heads", ratio, equation="H^−(β−1)").at_least(least)


def test_control_bounded_weights_alone_stop_an_alternating_kernel(claim):
    """sum |alpha_h| <= 10, any exponents at all, rho(t) = -(-1)^t (1+t)^-2.5."""
    (kernel, _), window, A = example("(-1)^t t^-2.5"), 400, 10
    floor = max((kernels.chebyshev_floor(kernel, A, N) for N in range(3, 9)), key=float)
    Hs = claim.at_scale(smoke=(8, 16), laptop=(8, 16, 32, 64), paper=(8, 16, 32, 64))
    stuck = [capped(kernel, [6 * h / H for h in range(1, H + 1)], A, window) for H in Hs]
    for H, error in zip(Hs, stuck, strict=True):
        least = theorem(floor - kernel.tail(window), "Chebyshev's polynomial, in balls")
        claim.measured(ERROR, error, equation="Σ|α_h| ≤ A", A=A, H=H).at_least(least)
    least = chosen(0.05, "in balls; far above 0, the limit with free weights")
    claim.measured("floor", floor, equation="Σ|α_h| ≤ A", A=A).at_least(least)
    draw(claim)


def draw(claim):
    """All kernels in one figure."""
    heads = claim.at_scale(smoke=(8, 16), laptop=(8, 16, 32, 64), paper=(8, 16, 32, 64))
    curves = {}
    for name in [*EXPONENTIAL, *POLYNOMIAL]:
        phis = [interpolation(name, H) for H in heads]
        curves[name] = [float(phi.error()) for phi in phis], [float(phi.bound()) for phi in phis]
    claim.figure(
        pictures.any_kernel(
            heads,
            {
                "exponential kernels": {name: curves[name] for name in EXPONENTIAL},
                "polynomial kernels": {name: curves[name] for name in POLYNOMIAL},
            },
        ),
        "any-kernel",
        caption="Interpolation by q^t, …, q^Ht, q = 1/2, with its bound: exponential kernels "
        "(left), polynomial ones (right).",
    )
