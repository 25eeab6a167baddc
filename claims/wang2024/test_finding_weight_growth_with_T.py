"""Finding (on wang2024, Lemmas E.1 and E.2): reaching far costs huge weights.

Whatever the number of exponentials and their exponents, an l1 error eps against the indicator of T
forces sum_h |alpha_h| >= |p_T| - eps max_t |p_t| for any N >= T, where T_N(1 - 2u) = sum_t p_t u^t.
For fixed eps < 1 this grows at least like G^T / T, G = (1 + sqrt 2)^{2 sqrt 2} = 12.09...

Proof: repro/wang2024/exponentials.py, Weights; with it the explicit form
(1 - eps) T_N(3) / (N + 1) > (1 - eps) G^T / (2 (1 + sqrt 2) (N + 1)), N = floor sqrt(2T^2 + ...).

Checked: the integers p_t against the recurrence of T_N, and the bounds for T = 1 and 2 by hand; for
every T up to 60 (laptop scale) that p_T is the largest for the N of the proof, the explicit form,
and from above |p_T| <= (1 + sqrt 2)^sqrt 2 G^T, so that the inequality gives G^T and no more; that
exact interpolants, certified optima and float64 fits all obey; the least error under a bound on the
weights, by linear programming over 40 exponents, beside the error that the inequality forces; a
layer in float64 for T up to 10; eps A exceeds 1 from T = 15 on.
Controls: alternating and complex exponents; the inequality without its error term.

Not checked: that G is the true rate. The weights of the best coefficients grow faster.
"""

import functools
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import l1, minimax
from repro.numerics.logarithms import ball
from repro.wang2024 import exponentials, heads
from repro.wang2024.pictures import sums as pictures

WEIGHT, BOUND = "Σ|α_h|", "Σ|α_h| ≥ |p_T| − ε max |p_t|"
HALF = Fraction(1, 2)


def last(claim):
    return claim.at_scale(smoke=20, laptop=60, paper=200)


@pytest.mark.exact
def test_integers_are_those_of_the_chebyshev_polynomial(claim):
    """T_{N+1} = 2x T_N - T_{N-1} at x = 1 - 2u, coefficient by coefficient; |T_N| <= 1 on [-1, 1]
    is the only analysis in the inequality."""
    wrong, x = 0, flint.fmpq_poly([1, -2])
    for N, T_N in enumerate(minimax.chebyshev_polynomials(last(claim) * 3 // 2, x)):
        ours = exponentials.chebyshev_coefficients(N)
        wrong += ours != [int(T_N[t]) for t in range(N + 1)]
    claim.measured("degrees with other coefficients", wrong, equation="T_N(1 − 2u)").equals(0)


@pytest.mark.exact
def test_bounds_for_small_T_by_hand(claim):
    """T_N(1 - 2u) is 1 - 2u, 1 - 8u + 8u^2, 1 - 18u + 48u^2 - 32u^3, then 32, 160, 256, 128 and 50,
    400, 1120, 1280, 512, 72, ... For T = 1, 18 - 48/10 is more than 8 - 8/10 and 32 - 256/10, and
    (18 - 10) / 48 more than 22/256 and 40/1280. For error 0 the last N = 3T + 3 has 2 N^2 = 72 and,
    for T = 2, 2 N^2 (N^2 - 1) / 3 = 4320. For 60 it is (72 - 60) / 6912, the largest of 1, 72, 840,
    3584, 6912, 6144, 2048. For error 0.99 8 - 8 0.99 is left. Weight 0 has error 1.
    """
    table = {2: [1, -8, 8], 3: [1, -18, 48, -32], 4: [1, -32, 160, -256, 128]}
    found = {N: exponentials.chebyshev_coefficients(N) for N in table}
    claim.measured("p_0, …, p_N", found, equation="T_N(1 − 2u)").equals(table)
    degrees = [exponentials.degree(T) for T in (1, 2, 3, 10)]  # U = 4, 11.5, 23, 215.5
    number = claim.measured("N of the proof", degrees, equation="N² ≤ U", T=[1, 2, 3, 10])
    number.equals([2, 3, 4, 14])
    weights = {(1, "1/10"): "66/5", (1, 0): 72, (2, 0): 4320, (1, "99/100"): "2/25", (4, 1): 0}
    for (T, error), stated in weights.items():
        bound = exponentials.weight_bound(T, error)
        number = claim.measured("least Σ|α_h|", bound, equation=BOUND, T=T, error=str(error))
        number.equals(Fraction(stated))
    for weight, stated in ((10, "1/6"), (60, "12/6912"), (0, 1)):
        bound = exponentials.error_bound(1, weight)
        number = claim.measured("least error", bound, equation=BOUND, T=1, A=weight)
        number.equals(Fraction(stated))


@pytest.mark.exact
def test_explicit_form_of_the_bound_for_every_T(claim):
    """|p_T| = max |p_t| for N = degree(T), and sum |p_t| = T_N(3) has N + 1 terms. For N = T it is
    2^(2T-1), less than for degree(T); as no bound exceeds (1 - eps) |p_T|, N = T is no use.

    From above: N^2 <= 2T^2 + (3T+1)/2 <= (sqrt 2 T + 1/sqrt 2)^2, and |p_T| <= T_N(3) is at most
    (3 + 2 sqrt 2)^N = (1 + sqrt 2)^(2N)."""
    root = flint.arb(2).sqrt()
    G = (1 + root) ** (2 * root)
    not_largest, too_small, no_worse, least, most = 0, 0, 0, [], []
    for T in range(1, last(claim) + 1):
        N = exponentials.degree(T)
        sizes = [abs(p) for p in exponentials.chebyshev_coefficients(N)]
        not_largest += sizes[T] != max(sizes)
        no_worse += abs(exponentials.chebyshev_coefficients(T)[T]) >= sizes[T]
        at_3 = int(minimax.chebyshev_polynomials(N, flint.fmpq_poly([3]))[N][0])
        too_small += sum(sizes) != at_3 or sizes[T] * (N + 1) < at_3
        explicit = G**T / (4 * (1 + root) * (N + 1))
        least.append(exponentials.weight_bound(T, HALF) / explicit)
        most.append(sizes[T] / G**T)
    claim.measured("T whose p_T is not the largest", not_largest, equation="max |p_t|").equals(0)
    claim.measured("T with |p_T| < T_N(3)/(N+1)", too_small, equation="Σ|p_t| = T_N(3)").equals(0)
    claim.measured("T for which N = T is as good", no_worse, equation="N > T").equals(0)
    smallest = min(least, key=float)
    limit = theorem(1, "(1 − ε) G^T / (2 (1 + √2) (N + 1)), ε = 1/2")
    claim.measured("bound over the explicit form", smallest, equation="G^T / T").at_least(limit)
    largest, limit = max(most, key=float), theorem((1 + root) ** root, "(1 + √2)^(2N − 2√2 T)")
    claim.measured("|p_T| over G^T", largest, equation="G^T").at_most(limit)


@pytest.mark.exact
def test_bound_for_an_error_of_one_half(claim):
    """In integers. From T = 15 on eps A > 1: what rounding may cost exceeds the output itself."""
    found = {T: exponentials.weight_bound(T, HALF) for T in (1, 3, 5, 7, 8, 10, 12, 15, 20)}
    for T, bound in found.items():
        claim.record("least Σ|α_h|", float(bound), T=T)
    for T, weight in {1: 4, 3: 480, 5: 99840}.items():
        claim.measured("least Σ|α_h|", found[T], equation=BOUND, T=T).equals(weight)
    least = theorem(1, "the bound at T = 15; W_V is α_h times a normaliser above 1")
    claim.measured("eps Σ|α_h|", found[15] / 2**53, equation=BOUND, T=15).at_least(least)


def best(T, m):
    exponents = tuple(Fraction(3 * k, 2 * T) for k in range(1, m + 1))
    return l1.best(l1.indicator(T), l1.Exponentials(exponents), window=100)


@pytest.mark.exact
def test_exact_interpolants_obey(claim):
    """For every N at once: the largest of the bounds, at the exact error of the interpolant."""
    ratios = []
    for T in range(1, claim.at_scale(smoke=10, laptop=30, paper=60) + 1):
        for j in (3, 4, 6):
            phi = exponentials.Interpolant(T, T + j, HALF)
            ratios.append(phi.weight / exponentials.weight_bound(T, phi.error))
    claim.measured(
        "least weights over bound, all T and j", ball(min(ratios)), equation=BOUND
    ).at_least(theorem(1, "the inequality, in rationals"))


CERTIFIED = [(1, 4), (2, 5), (3, 6), (5, 10), (7, 14), (10, 19)]


@pytest.mark.parametrize(("T", "m"), CERTIFIED, ids=[f"T={T}-m={m}" for T, m in CERTIFIED])
@pytest.mark.certified
def test_best_coefficients_obey(T, m, claim):
    found = best(T, m)
    bound = exponentials.weight_bound(T, found.upper.upper().fmpq())
    claim.record("l1 error", found.error)
    least = theorem(ball(bound), "the inequality, with the proved l1 error")
    claim.measured(WEIGHT, found.weight, equation=BOUND).at_least(least)


@functools.cache
def fitted(T, H):
    exponents = [Fraction(3 * k, 2 * T) for k in range(1, H + 1)]
    return heads.fit("lin", l1.indicator(T), exponents, 3 * T + 30)


@pytest.mark.parametrize("T", [1, 2, 3, 5], ids="T={}".format)
@pytest.mark.construct
def test_float64_fits_obey(T, claim):
    """W_V = alpha times a normaliser above 1, and the window covers every t <= N."""
    for H in (2 * T + 2, 2 * T + 4):
        fit = fitted(T, H)
        bound = exponentials.weight_bound(T, fit.error)
        least = theorem(ball(bound), "the inequality")
        claim.measured("Σ|W_V|", fit.weight, equation=BOUND, H=H).at_least(least)


CAPS = [10.0, 1e2, 1e3, 1e4, 1e5]


@functools.cache
def under_cap(T, cap):
    """The least l1 error on t < 2T + 40 with sum |alpha| <= cap, over 40 exponents.

    Of 80, whose columns differ less, the solver gives up on some processors (T = 7, cap 1e5).
    """
    times = np.arange(2 * T + 40)
    columns = np.exp(-np.geomspace(0.02, 12, 40) * times[:, None])  # (2T + 40, 40)
    return l1.capped([(columns, 1.0 * (times == T))], cap)


@pytest.mark.parametrize("T", [1, 2, 3, 5, 7], ids="T={}".format)
@pytest.mark.best_in_class
def test_least_error_under_a_bound_on_the_weights(T, claim):
    """More heads do not help: the error is what the weights allow."""
    for cap in CAPS:
        forced = exponentials.error_bound(T, Fraction(cap) * Fraction(1000001, 1000000))
        error = under_cap(T, cap).error
        found = claim.measured("least error", error, equation="(|p_T| − A) / max |p_t|", A=cap)
        found.at_least(theorem(ball(forced), "the inequality; the solver keeps A to 1e-6 of it"))
    gap = max(under_cap(T, A).error - float(exponentials.error_bound(T, A)) for A in CAPS)
    claim.record("largest gap of least and forced error", gap)


def in_float64(T):
    """The best layer we know: optimal weights, rounded, for the m with least error and rounding."""
    length, fits = 3 * T + 30, []
    for m in range(T + 2, 2 * T + 5, 1 + T // 5):
        found = best(T, m)
        exponents = found.family.exponents
        values = heads.values("lin", exponents, found.coefficients, length).astype(float)
        betas = tuple(float(Fraction(int(b.p), int(b.q))) for b in exponents)
        fits.append(heads.Fit("lin", betas, values, length, found.error))
    return min(fits, key=lambda fit: fit.error + fit.rounding)


@pytest.mark.parametrize("T", [3, 5, 7, 10], ids="T={}".format)
@pytest.mark.construct
def test_reach_of_a_layer_in_float64(T, claim):
    """The worst signs drive the layer itself. For T = 10 rounding alone is of the size of x."""
    fit = in_float64(T)
    attention, target = fit.attention(device=claim.device), np.eye(fit.length)[T]
    error = heads.measure(attention, target, claim.rng()).sup
    claim.record("l1 error", fit.error)
    claim.record("bound on rounding", fit.rounding)
    claim.record("heads", len(fit.values))
    error = claim.measured("error of the layer", error, equation="‖I − φ‖₁")
    error.at_most(
        theorem(fit.error, "|x| ≤ 1")
        + rounding_error(fit.rounding, "of the heads, derived at Fit.rounding (heads.py)")
    )


@pytest.mark.exact
def test_figure_weights_and_errors(claim):
    Ts = range(1, 21)
    bounds = {T: float(exponentials.weight_bound(T, HALF)) for T in Ts}
    built = {T: float(exponentials.Interpolant(T, T + 3, HALF).weight) for T in Ts}
    needed = {T: float(best(T, m).weight) for T, m in ((1, 2), (2, 4), *CERTIFIED[2:])}
    capped = {T: {cap: under_cap(T, cap).error for cap in CAPS} for T in (2, 3, 5)}
    caps = np.geomspace(10, 1e5, 30)
    forced = {T: {cap: float(exponentials.error_bound(T, cap)) for cap in caps} for T in capped}
    below = sum(weight < bounds[T] for T, weight in built.items())
    claim.measured("T at which interpolation is below the bound", below, equation=BOUND).equals(0)
    claim.figure(
        pictures.weights(bounds, needed, built, capped, forced),
        "weights",
        caption="Left: the sum of |weights| for an l1 error of 1/2. Right: the least l1 error "
        "under a bound on that sum, and what the inequality forces (dashed).",
    )


def test_control_alternating_exponentials_need_no_such_weights(claim):
    """u = -1/2 beside u = 1/2, T = 1: (1/2)^t - (-1/2)^t has weights 2 and the error 1/3."""
    u, N = Fraction(1, 2), 41
    values = [u**t - (-u) ** t for t in range(N)]
    error = sum(abs(v - int(t == 1)) for t, v in enumerate(values)) + u ** (N - 1)
    bound = exponentials.weight_bound(1, error)
    least = theorem(5, "8 − 8/3 with N = 2, against weights 2; u must lie in [0, 1]")
    claim.measured("bound", bound, equation="u = ±1/2").at_least(least)


def test_control_complex_exponentials_need_no_such_weights(claim):
    """u = r i^k, k = 0, ..., 3: r^{t-3} at t = 3, 7, ..., 0 elsewhere; weights r^-3, T = 3."""
    r, N = Fraction(1, 2), 41
    powers = [(1, 0), (0, 1), (-1, 0), (0, -1)]  # of i

    def value(t):
        turns = [powers[k * (t - 3) % 4] for k in range(4)]
        return [r ** (t - 3) * Fraction(sum(turn[part] for turn in turns), 4) for part in (0, 1)]

    parts = [(abs(re - int(t == 3)), abs(im)) for t, (re, im) in enumerate(map(value, range(N)))]
    error, weights = sum(map(sum, parts)) + r ** (N - 4), 8  # the tail is below, r^-3
    bound = exponentials.weight_bound(3, error)
    least = theorem(100, "bound of 10^3 and more at an error of 1/15, against weights 8")
    claim.measured("bound over weights", bound / weights, equation="u = r i^k").at_least(least)


def test_control_without_the_error_term_the_inequality_fails(claim):
    """|p_T| alone, N = 3T + 3: the best 6 heads for T = 3 have far smaller weights."""
    T, m = 3, 6
    ratio = abs(exponentials.chebyshev_coefficients(3 * T + 3)[T]) / best(T, m).weight
    least = exactly(1, "what the inequality would allow without its error term; in balls")
    claim.measured("|p_T| over Σ|α_h|", ratio, equation="Σ|α_h| ≥ |p_T|").at_least(least)
