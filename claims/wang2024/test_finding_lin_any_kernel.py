"""Finding (sharpens wang2024, Lemma E.3, Theorem 6.1, 6.2): exponentials follow every kernel.

The sum phi of q^t, q^2t, ..., q^Ht that equals rho at 0, ..., H - 1 has, for every summable rho,
    ||rho - phi|| <= sum_{t >= H} |rho(t)| + C_q sum_{k < H} q^((k+1)(k+2)/2) |rho(H-1-k)|,
C_q = 1 / ((1 - q) (q; q)^2), in l1(N): up to a constant its tail. So the error is of order
e^{-beta H} if rho(t) = O(e^{-beta t}), and H^-(beta-1) if rho(t) = O(t^-beta), which is what
Theorem 6.1 (B) has for log-RPE: in the number of heads lin-RPE has no curse of memory.
Proof: repro/wang2024/kernels.py.

Checked: the bound in rationals, for random finite kernels; in balls for seven kernels, H up to 128:
the error is off the tail by the second sum at most, to either side, so that H^-(beta-1) comes with
its constant; e^{beta H} times the error of exponential kernels is below a number worked out by
hand. The optimum for the same exponents is recorded. With geometric exponents positive heads of
weight 1 in all follow t^(-5/2) faster than interpolation does.
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

from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import l1, logarithms
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


def euler(q):
    """(q; q) = 1 - q - q^2 + q^5 + q^7 - ..., by Euler."""
    return sum((-1) ** k * q ** (k * (3 * k - 1) // 2) for k in range(-12, 13))


@pytest.mark.certified
def test_the_bounds_of_two_heads_by_hand(claim):
    """rho(t) = 2^-t, q = 1/2, H = 2: the tail 1/2, and C_q = 2 / (q; q)^2 times q rho(1) + q^3
    rho(0) = 1/4 + 1/8. (q; q) = 1 - q - q^2 + q^5 + q^7 - ..., by Euler.
    """
    with flint.ctx.workprec(kernels.BITS):
        by_hand = flint.arb(0.5) + flint.arb(0.75) / euler(flint.arb(0.5)) ** 2
    phi = kernels.Interpolation(kernels.exponential(logarithms.Log(2)), "lin", 2, logarithms.Log(2))
    fine = rounding_error(1e-36, "the product is cut off after 64 factors")
    claim.measured("bound", phi.bound(), equation=BOUND, H=2).within(by_hand, fine)
    with flint.ctx.workprec(kernels.BITS):
        by_hand = 1 / euler(flint.arb(0.5)) ** 2
        bound = exponentials.interpolation_bound(1, Fraction(1, 2))
        number = claim.measured("bound of one indicator", bound, equation="q / ((1 − q) (q; q)²)")
        number.at_least(theorem(by_hand, "2 2^-1 / (q; q)²"))
        number.within(by_hand, rounding_error(by_hand / 2**62, "rounded up to 64 bits"))


@pytest.mark.parametrize("name", [*EXPONENTIAL, *POLYNOMIAL])
@pytest.mark.certified
def test_error_within_the_bound(name, claim):
    """From H on the sums of |rho - phi| and |rho| differ by at most that of |phi|, the second sum.
    The tail of a cosine is a bound only."""
    for H in claim.at_scale(smoke=(8, 32), laptop=(8, 16, 32, 64), paper=(8, 16, 32, 64, 128)):
        phi = interpolation(name, H)
        error, bound = phi.error(), phi.bound()
        found = claim.measured(ERROR, error, equation=BOUND, H=H)
        found.at_most(theorem(bound, PROVED))
        if "cos" not in name:
            tail = phi.kernel.tail(H)
            found.at_least(theorem(2 * tail - bound, "the tail less the second sum"))
        if name.startswith("(-1)^t"):
            found.at_least(theorem(tail, "finding alternating-kernel"))


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


SECOND = {Fraction(5, 2): 36, Fraction(4): 97}  # of H^-beta, by hand


@pytest.mark.parametrize("name", POLYNOMIAL)
@pytest.mark.certified
def test_rate_polynomial_kernels_with_the_exponent_beta_minus_one(name, claim):
    """The tail of (1+t)^-beta from H on is H^-(beta-1) / (beta-1) up to (H+1) for H, and the second
    sum is of one order less: H / (H-k) <= 1 + k and 1 / (q; q)^2 < 12 for q = 1/2, so it is at most
    12 H^-beta sum_k 2^(-k(k+3)/2) (1+k)^beta. For beta = 5/2 the sum is 1 + 1.414 + 0.487 + 0.063 +
    0.004 < 3, for beta = 4 it is 1 + 4 + 2.531 + 0.5 + 0.039 + ... < 8.08.
    """
    beta = example(name)[1]
    for H in claim.at_scale(smoke=(64,), laptop=(32, 64, 128), paper=(32, 64, 128, 256)):
        error, second = interpolation(name, H).error(), SECOND[beta] * H ** -float(beta)
        low, high = ((H + one) ** (1 - float(beta)) / (float(beta) - 1) for one in (1, 0))
        found = claim.measured(ERROR, error, equation="H^−(β−1)", H=H)
        found.at_most(theorem(high + second, "H^−(β−1) / (β−1) and 36 H^−5/2 or 97 H^−4"))
        found.at_least(theorem(low - second, "the same, (H + 1)^−(β−1) / (β−1)"))


ORDER = {"e^-t cos t": 66, "(-1)^t e^-t": 66, "e^-0.3t cos t": 27}  # by hand


@pytest.mark.parametrize("name", EXPONENTIAL)
@pytest.mark.certified
def test_rate_exponential_kernels_with_the_exponent_beta(name, claim):
    """e^{beta H} times the bound for e^{-beta t} is at most 1 / (1 - e^-beta) and 11.991 times the
    sum over k of 2^(-k(k+3)/2) e^(beta (k+1)). For beta = 1: 1.582 + 11.991 (2.719 + 1.848 + 0.628
    + 0.107 + 0.010) < 66; for 0.3: 3.859 + 11.991 (1.350 + 0.456 + 0.077 + 0.007 + ...) < 27.
    """
    beta = float(example(name)[1])
    for H in (8, 16, 32):
        times = interpolation(name, H).error() * math.exp(beta * H)
        found = claim.measured("e^βH times the error", times, equation="e^−βH", H=H)
        found.at_most(theorem(ORDER[name], "1 / (1 − e^−β) + 11.991 Σ 2^(−k(k+3)/2) e^(β(k+1))"))


@pytest.mark.parametrize("name", ["t^-2.5", "(-1)^t t^-4"])
@pytest.mark.best_in_class
def test_no_coefficients_for_the_same_exponents_are_better_than_the_best(name, claim):
    for H in claim.at_scale(smoke=(8,), laptop=(8, 16), paper=(8, 16, 32)):
        phi = interpolation(name, H)
        best = l1.best(phi.kernel, phi.family, window=400)
        claim.record("interpolation over best error", phi.error() / best.lower, H=H)
        found = claim.measured("best error, from below", best.floor, equation="E_H", H=H)
        found.at_most(theorem(phi.error(), "interpolation has these exponents too"))


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
    least = min(more.coefficients, key=float)
    number = claim.measured("least α_h", least, equation="∫ dμ = 1", H=8)
    number.at_least(exactly(0, "a mixture; then Σ|α_h| = φ(0)"))
    missed = theorem(more.upper, "Σ|α_h| = φ(0), and |φ(0) − ρ(0)| is a part of the error")
    claim.measured("Σ|α_h|", more.weight, equation="∫ dμ = 1", H=8).within(1, missed)
    order = math.log2(few.floor / more.error)
    least = theorem(Fraction(3, 2), "β − 1, the order of interpolation")
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
    free = interpolation("t^-2.5", 64).error()
    what, least = "floor under error of 64 free heads", theorem(free, "of interpolation, in balls")
    claim.measured(what, floor, equation="H^−(β−1)").at_least(least)


@pytest.mark.certified
def test_floors_of_bounded_weights_by_hand(claim):
    """rho(t) = (1+t)^-2, |phi(t)| <= 2^-t: the tail from t = 6 on is pi^2/6 less 1 + 1/4 + ... +
    1/36 = 5369/3600, that of 2^-t is 1/32; from 5 or 7 on the difference is less, since 1/32 is
    more than 1/36 and 1/64 less than 1/49.
    rho(t) = (-1)^t (1+t)^-2, T_3(1 - 2u) = 1 - 18u + 48u^2 - 32u^3: the sum of p_t rho(t) is 1 +
    18/4 + 48/9 + 32/16 = 77/6, so for weight 1 the floor is (77/6 - 1) / 48 = 71/288.
    """
    kernel, fine = kernels.later(kernels.power(2)), rounding_error(1e-12, "53 bits and more")
    with flint.ctx.workprec(kernels.BITS):
        by_hand = flint.arb.pi() ** 2 / 6 - flint.fmpq(5369, 3600) - flint.fmpq(1, 32)
    found = kernels.bounded_weights_floor(kernel, logarithms.Log(2), 1)
    number = claim.measured("floor", found, equation="Σ|α_h| ≤ 1, β_h ≥ log 2")
    number.within(by_hand, fine)
    found = kernels.chebyshev_floor(kernels.alternating(kernel), 1, 3)
    number = claim.measured("floor", found, equation="Σ|α_h| ≤ 1, T_3")
    number.within(Fraction(71, 288), fine)


def test_control_bounded_weights_alone_stop_an_alternating_kernel(claim):
    """sum |alpha_h| <= 10, any exponents at all, rho(t) = -(-1)^t (1+t)^-2.5."""
    (kernel, _), window, A = example("(-1)^t t^-2.5"), 400, 10
    floor = max((kernels.chebyshev_floor(kernel, A, N) for N in range(3, 9)), key=float)
    Hs = claim.at_scale(smoke=(8, 16), laptop=(8, 16, 32, 64), paper=(8, 16, 32, 64))
    stuck = [capped(kernel, [6 * h / H for h in range(1, H + 1)], A, window) for H in Hs]
    for H, error in zip(Hs, stuck, strict=True):
        least = theorem(floor - kernel.tail(window), "Chebyshev's polynomial, in balls")
        claim.measured(ERROR, error, equation="Σ|α_h| ≤ A", A=A, H=H).at_least(least)
    free = interpolation("(-1)^t t^-2.5", 32).error()
    least = theorem(free, "of interpolation, in balls")
    claim.measured("floor", floor, equation="Σ|α_h| ≤ A", A=A, heads=32).at_least(least)
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
