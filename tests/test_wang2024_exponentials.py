"""Sums of exponentials and the constants of the proofs (Appendix E of wang2024)."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch

from repro.numerics import l1, minimax
from repro.numerics.exact import rational, rationals
from repro.training import Workspace
from repro.wang2024 import exponentials, heads, printed_bounds, trained_delta
from repro.wang2024.exponentials import Interpolant

# The bump and its derivatives


def bump_derivative(k, x):
    """Psi^(k)(x) from a power series around x: no numerator P_k, no zeros."""
    x = flint.arb_series([x, 1], k + 1)
    return (-1 / (1 - x**2)).exp()[k] * math.factorial(k)


@pytest.mark.parametrize("k", [0, 1, 3, 6])
def test_peaks_of_the_bump_against_a_grid_and_a_lipschitz_constant(k):
    cells = 4000
    with flint.ctx.workprec(128):
        grid = [flint.arb(i) / cells for i in range(cells)]
        largest = max(float(abs(bump_derivative(k, x))) for x in grid)
    height, steepest = (float(printed_bounds.peak(i).height) for i in (k, k + 1))
    assert largest <= height * (1 + 1e-12)
    assert height <= largest + steepest / (
        2 * cells
    )  # the grid reaches 1 - 1/cells, where Psi is 0


def test_a_peak_is_attained_where_it_is_said_to_be():
    for k in range(1, 10):  # a series has ten terms unless told otherwise
        peak = printed_bounds.peak(k)
        with flint.ctx.workprec(printed_bounds.BITS):
            there = abs(bump_derivative(k, 1 - peak.distance))
        assert there.overlaps(peak.height)
        assert peak.height.rel_accuracy_bits() > 150


# The bounds of the proofs


def test_explicit_constant_of_lemma_E_1_by_hand():
    M_3 = 186.39992  # max |Psi'''|, the grid above agrees
    for printed, step in ((True, 1 - math.exp(-1)), (False, 1 - math.exp(-0.01))):
        bound = printed_bounds.exponential_delta(2, printed=printed)
        by_hand = M_3 * math.e / step**3 * math.exp(0.01 * 4 * 2) / 50**3 / (1 - math.exp(-0.01))
        assert float(bound(50, 3)) == pytest.approx(by_hand, rel=1e-6)


def test_explicit_constants_of_the_other_lemmas_by_hand():
    M_2, zeta = 7.7497049, float(flint.arb("1.01").zeta())
    E_4 = printed_bounds.power_delta(3)
    by_hand = M_2 * math.e * 2**2.02 / 0.01**2 * 3 ** (1.01 + 2.02) * zeta / 40**2
    assert float(E_4(40, 2)) == pytest.approx(by_hand, rel=1e-6)
    E_3 = printed_bounds.exponential_kernel(5, 2)
    by_hand = 5 * M_2 * math.e * (2 / (1 - math.exp(-0.005)) / 40) ** 2 / (1 - math.exp(-0.02))
    assert float(E_3(40, 2)) == pytest.approx(by_hand, rel=1e-6)
    assert E_3.last == 198
    printed = printed_bounds.exponential_kernel(5, 2, printed=True)
    assert float(printed(40, 2)) == pytest.approx(by_hand / 4, rel=1e-6)
    assert printed_bounds.exponential_kernel(5, "1/99").last == 1
    E_6 = printed_bounds.power_kernel(5, "7/2")
    by_hand = 5 * M_2 * math.e * (2**2.01 / 0.01 / 40) ** 2 * float(flint.arb("1.0001").zeta())
    assert float(E_6(40, 2)) == pytest.approx(by_hand, rel=1e-6)
    assert E_6.last == 2


@pytest.mark.parametrize("m", [30, 85, 400])
def test_least_bound_is_the_minimum_over_many_n(m):
    bound = printed_bounds.exponential_delta(20, printed=True)
    values = [float(bound(m, n)) for n in range(1, 25)]
    assert float(bound.least(m)) == min(values)
    assert bound.best_n(m) == 1 + int(np.argmin(values))


def test_a_minimum_over_all_n_is_not_called_settled_too_early():
    """For 400 heads n = 3 excludes nothing: d m / growth is 13, and 13! / 13^13 is 2e-5."""
    bound = printed_bounds.exponential_delta(20, printed=True)
    assert not bound._settled(400, 3, bound(400, 3) / 2)
    assert bound._settled(400, 3, bound(400, 3) / 10**6)
    reach = float(printed_bounds.peak(3).distance * 400 / bound.growth)
    least = min(math.factorial(l) / reach**l for l in range(40))
    assert not bound._settled(400, 3, bound(400, 3) * least * 1.01)
    assert bound._settled(400, 3, bound(400, 3) * least * 0.99)


def test_heads_are_the_first_at_which_the_bound_is_below_the_level():
    for bound, level in (
        (printed_bounds.exponential_delta(1, printed=True), 1),
        (printed_bounds.exponential_delta(7), "1/3"),
        (printed_bounds.power_delta(10, printed=True), 1),
        (printed_bounds.power_kernel(1, 5), 1),
    ):
        m = bound.heads(level)
        assert bound.least(m) < rational(level) <= bound.least(m - 1)


def test_heads_look_no_further_than_the_lemma_admits():
    """With so small a level a larger n would do better at once, and the last is the best."""
    bound, level = printed_bounds.Bound(flint.arb(1), flint.arb(100), printed_bounds.FEW + 1), 1e-30
    assert bound.last is not None
    least = min(bound._threshold(n, level) for n in range(1, bound.last + 1))
    assert bound.heads(level) == math.floor(float(least)) + 1
    m = bound.heads(level)
    assert bound.best_n(m) == bound.last


def test_heads_of_a_lemma_that_admits_one_n_only():
    """3 M(1) 100 / m; |Psi'| = 2x / (1 - x^2)^2 e^{-1 / (1 - x^2)} is largest where 3 x^4 = 1."""
    x = 3 ** (-1 / 4)
    steepest = 2 * x / (1 - x**2) ** 2 * math.exp(-1 / (1 - x**2))
    bound = printed_bounds.Bound(flint.arb(3), flint.arb(100), 1)
    assert bound.heads() == math.floor(300 * steepest) + 1


def test_numbers_of_the_audit():
    deltas = [printed_bounds.exponential_delta(T).heads() for T in (1, 10, 20)]
    assert deltas == [3776, 4257, 4864]
    assert [printed_bounds.power_delta(T, printed=True).heads() for T in (1, 10)] == [7415, 142137]


def test_constants_refuse_what_the_lemmas_do_not_admit():
    with pytest.raises(ValueError, match=r"E\.1 and E\.2 need an integer T >= 1, got T = 0"):
        printed_bounds.exponential_delta(0)
    with pytest.raises(ValueError, match=r"E\.4 and E\.5 need an integer T >= 1"):
        printed_bounds.power_delta(0)
    with pytest.raises(ValueError, match=r"Lemma E\.3 admits n <= 99 beta, none for beta = 1/100"):
        printed_bounds.exponential_kernel(1, "1/100")
    with pytest.raises(
        ValueError, match=r"Lemma E\.6 admits n <= \.99 beta - 1, none for beta = 2"
    ):
        printed_bounds.power_kernel(1, 2)
    with pytest.raises(ValueError, match="1 <= n <= 3, got m=10, n=4"):
        printed_bounds.power_kernel(1, 5)(10, 4)


# The construction of the proof


def test_bump_of_the_proof_is_the_indicator_at_the_instants():
    t = np.arange(12)
    for alpha, gamma in ((0.01, 0.01), (0.5, 0.2)):
        values = np.exp(-gamma * t) * exponentials.bump(np.exp(-alpha * t), 3, alpha, gamma)
        assert values == pytest.approx(1.0 * (t == 3), abs=1e-14)


def test_error_of_the_bump_polynomial_against_its_coefficients_in_balls():
    """The Chebyshev coefficients are rationals, so the alpha_k are too: the l1 error, certified."""
    T, m, alpha = 2, 14, Fraction(1, 2)
    Q = exponentials.bump_polynomial(T, m, 0.5, 0.5)
    inner = flint.fmpq_poly([-1, 2])  # [0, 1] -> [-1, 1]
    basis = minimax.chebyshev_polynomials(m - 1, inner)
    monomials = sum(
        (rational(c) * p for c, p in zip(Q.coef, basis, strict=True)), flint.fmpq_poly([])
    )
    family = l1.Exponentials(tuple(alpha * (k + 1) for k in range(m)))
    with flint.ctx.workprec(256):
        weights = [monomials[k] for k in range(m)]
        certified = l1.l1_error(l1.indicator(T), family, weights, window=300)
    error = exponentials.bump_error(T, m, alpha=0.5, gamma=0.5)
    assert certified.lower() <= error <= float(certified.upper()) + 1e-10


def test_the_bump_halfway_by_hand():
    """At mu_T + sigma_T / 2: e^{gamma T} exp(1 - 1 / (1 - 1/4))."""
    mu, sigma = math.exp(-1.5), math.exp(-1.5) - math.exp(-2)
    for x in (mu - sigma / 2, mu + sigma / 2):
        (found,) = exponentials.bump(np.array([x]), 3, 0.5, 0.2)
        assert found == pytest.approx(math.exp(0.6 + 1 - 4 / 3), rel=1e-12)


def test_what_the_error_of_the_bump_polynomial_is_rounded_up_by():
    """|Q_m| <= sum |c|, from t = 2 + 80 on and for 4 m^2 roundings; e^{-t/2} adds up to the total."""
    Q, t = exponentials.bump_polynomial(2, 40, 0.5, 0.5), np.arange(82)
    seen = np.abs(np.exp(-t / 2) * Q(np.exp(-t / 2)) - (t == 2)).sum()
    left_out = math.exp(-41) + 4 * 40**2 * 2.0**-53
    stated = np.abs(Q.coef).sum() / (1 - math.exp(-0.5)) * left_out
    found = exponentials.bump_error(2, 40, alpha=0.5, gamma=0.5) - seen
    assert found == pytest.approx(stated, rel=1e-3, abs=0)


def test_instants_beyond_the_window_count_by_the_size_of_the_polynomial(monkeypatch):
    """With m = 1, and coefficients of 2e20 in a Q that is 0 at all 82 instants of the window."""

    class Unseen:
        coef = np.array([1e20, -1e20])

        def __call__(self, x):
            return 0 * x

    monkeypatch.setattr(exponentials, "bump_polynomial", lambda *_: Unseen())
    left_out = math.exp(-82 / 2) + 4 * 2.0**-53
    stated = 1 + 2e20 / (1 - math.exp(-0.5)) * left_out
    found = exponentials.bump_error(2, 1, alpha=0.5, gamma=0.5)
    assert found == pytest.approx(stated, rel=1e-9)


def test_smallest_constant_is_the_maximum_over_T():
    for n in (1, 2, 3, 7):
        needed = [T**n * math.exp(-0.01 * (n + 1) * T) for T in range(1, 400)]
        assert float(exponentials.smallest_constant(n)) == pytest.approx(max(needed), rel=1e-12)


# Interpolation


def test_interpolant_solves_the_linear_system():
    T, H, q = 2, 5, Fraction(2, 5)
    rows = [[q ** (h * t) for h in range(1, H + 1)] for t in range(H)]
    system = flint.fmpq_mat(rationals(rows).tolist())
    solved = system.solve(flint.fmpq_mat([[flint.fmpq(int(t == T))] for t in range(H)]))
    assert list(Interpolant(T, H, q).alphas) == solved.entries()
    small = Interpolant(1, 2, "1/2")  # x (x - 1) over its value -1/4 at x = 1/2
    assert (small.alphas, small.weight) == ((4, -4), 8)


def test_error_of_an_interpolant_against_balls():
    phi = Interpolant(4, 9, "3/5")
    family, zeros = l1.Exponentials(phi.exponents), [t for t in range(9) if t != 4]
    with flint.ctx.workprec(256):
        error = l1.l1_error(l1.indicator(4), family, phi.alphas, window=60, zeros=zeros)
        assert abs(error - phi.error) < flint.fmpq(1, 10**60)
    assert float(phi.weight) == pytest.approx(sum(abs(float(a)) for a in phi.alphas))


def test_accurate_takes_the_largest_power_of_one_half_that_serves():
    phi = exponentials.accurate(6, 7, "1/10")
    assert phi.error <= rational("1/10") < Interpolant(6, 7, 2 * phi.q).error


def test_accurate_begins_with_one_half_and_takes_a_level_that_is_met_exactly():
    assert exponentials.accurate(1, 2, 100).q == rational("1/2")
    assert exponentials.accurate(1, 3, Interpolant(1, 3, "1/2").error).q == rational("1/2")


def test_enclosures_hold_when_they_are_cut_off_early(monkeypatch):
    """With 8 bits for 256: nine factors 1 - 2^-k, the next being above 1 - 2^-9."""
    fine = exponentials.infinite_factorial("1/2"), exponentials.interpolation_limit(2, "1/2")
    monkeypatch.setattr(exponentials, "BITS", 8)
    exponentials._factorials.cache_clear()
    try:
        factorial = exponentials.infinite_factorial("1/2")
        limit = exponentials.interpolation_limit(2, "1/2")
    finally:
        exponentials._factorials.cache_clear()
    nine = [math.prod(1 - 0.5**i for i in range(1, k + 1)) for k in range(10)]
    low, high = nine[9] * (1 - 2.0**-10 / 0.5), nine[9]
    assert (float(factorial.lower()), float(factorial.upper())) == pytest.approx((low, high), 1e-9)
    total, rest = sum(4.0**-k * f for k, f in enumerate(nine)), 4.0**-10 / (1 - 1 / 4)
    ends = total / high / 4, (total + rest) / low / 4  # 2^-3 / (1 - 1/2) in front
    assert (float(limit.lower()), float(limit.upper())) == pytest.approx(ends, rel=2e-8)
    assert factorial.contains(fine[0])
    assert limit.contains(fine[1])


@pytest.mark.parametrize("q", ["1/3", "1/2", "3/4"])
def test_the_bound_on_the_error_is_rounded_up(q):
    """(q; q)_inf is the sum of (-1)^k q^(k(3k-1)/2), by Euler; beyond |k| = 30 below 1e-170."""
    x = Fraction(q)
    infinite = sum((-1) ** abs(k) * x ** (k * (3 * k - 1) // 2) for k in range(-30, 31))
    for j in (1, 2):
        exact = rational(x ** (j * (j + 1) // 2) / ((1 - x) * infinite**2))
        assert 0 < exponentials.interpolation_bound(j, q) - exact < exact / 2**50


def test_limit_and_bound_of_the_error():
    for q in ("1/3", "1/2", "3/4"):
        infinite = math.prod(1 - float(Fraction(q)) ** k for k in range(1, 400))
        assert float(exponentials.infinite_factorial(q)) == pytest.approx(infinite, rel=1e-12)
        for j in (1, 2, 5):
            limit = exponentials.interpolation_limit(j, q)
            bound, x = exponentials.interpolation_bound(j, q), float(Fraction(q))
            stated = x ** (j * (j + 1) // 2) / ((1 - x) * infinite**2)
            assert float(bound) == pytest.approx(stated, rel=1e-12)
            assert 0 < limit < bound
            T = 30 if q != "3/4" else 60
            assert float(limit) == pytest.approx(float(Interpolant(T, T + j, q).error), rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((0, 3, "1/2"), "Lemma E.1 needs an integer T >= 1, got T = 0"),
        ((3, 3, "1/2"), "needs T = 3 among the instants 0, ..., H - 1: H > T, got H = 3"),
        ((3, 6, 1), "0 < q < 1, got q = 1"),
        ((3, 6, 0), "0 < q < 1, got q = 0"),
        ((3, 6, "-1/2"), "0 < q < 1, got q = -1/2"),
    ],
)
def test_interpolants_refuse(wrong, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        Interpolant(*wrong)


def test_other_refusals():
    with pytest.raises(ValueError, match="level must be positive, got 0"):
        exponentials.accurate(3, 4, 0)
    with pytest.raises(ValueError, match="j = H - T >= 1 and 0 < q < 1, got j = 0"):
        exponentials.interpolation_bound(0, "1/2")
    for q in (0, 1, "3/2", "-1/2"):
        with pytest.raises(ValueError, match=f"0 < q < 1, got j = 1, q = {q}"):
            exponentials.interpolation_bound(1, q)
    assert exponentials.interpolation_bound(1, "1/2") > 0
    for function in (exponentials.weight_bound, exponentials.error_bound):
        with pytest.raises(ValueError, match="needs an integer T >= 1, got T = 0"):
            function(0, "1/2")
    with pytest.raises(ValueError, match="needs an integer T >= 1"):
        exponentials.bump_error(0, 8)


def test_the_proof_of_lemma_E_1_ends_with_a_hundredth():
    chosen = exponentials.bump_error(1, 12, alpha=0.01, gamma=0.01)
    assert exponentials.bump_error(1, 12) == chosen


# Lemma E.2 as a layer


def test_moving_layer_reads_B_at_the_query_only():
    phi = Interpolant(2, 5, "1/2")
    layer = exponentials.moving_attention(phi.exponents, phi.moved())
    x, B = [1, 2, -1, 3, 5], [0, 7, 9, 4, 2]  # only the last B counts for the last output
    (out,) = layer(rationals([[a, b, 1] for a, b in zip(x, B, strict=True)]), queries=1)[:, 0]
    assert out == sum((phi(s) * x[4 - s] for s in range(5)), flint.fmpq(0)) == -1
    assert not layer.normalised


# Weights


def test_degree_is_the_largest_with_its_peak_at_T():
    for T in range(1, 80):
        N = exponentials.degree(T)
        sizes, next_ones = (
            [abs(p) for p in exponentials.chebyshev_coefficients(n)] for n in (N, N + 1)
        )
        assert sizes[T] == max(sizes)
        assert next_ones[T] < max(next_ones)
        assert 2 * (2 * N + 1) ** 2 > (4 * T) ** 2  # N > sqrt(2) T - 1/2


SHIFTED = {  # the coefficients of T_N(1 - 2u)
    1: [1, -2],
    2: [1, -8, 8],
    3: [1, -18, 48, -32],
    4: [1, -32, 160, -256, 128],
    5: [1, -50, 400, -1120, 1280, -512],
}


def test_weights_and_errors_for_small_T_by_hand():
    assert {N: exponentials.chebyshev_coefficients(N) for N in SHIFTED} == SHIFTED
    bound = exponentials.weight_bound(1, "1/10")  # 18 - 48/10; 8 - 8/10 and 32 - 256/10 are less
    assert (bound.weight, bound.N) == (rational("66/5"), 3)
    assert exponentials.error_bound(1, 10) == rational("1/6")  # 8/48; 22/256 and 40/1280 are less
    exact = exponentials.weight_bound(1, 0)  # 2 N^2 grows: the last of N <= 3T + 3
    assert (exact.weight, exact.N) == (72, 6)
    later = exponentials.weight_bound(2, 0)  # and so does 2 N^2 (N^2 - 1) / 3
    assert (later.weight, later.N) == (4320, 9)
    assert exponentials.error_bound(1, 60) == rational("12/6912")  # 1, -72, 840, -3584, 6912, ...
    nearly = exponentials.weight_bound(1, "99/100")  # 8 - 8 * 0.99; 2 - 2 * 0.99 is less
    assert (nearly.weight, nearly.N) == (rational("2/25"), 2)
    assert exponentials.error_bound(1, 0) == 1


def test_what_weight_0_has_needs_no_weights():
    for T in (1, 4):
        for error in (1, "3/2"):
            found = exponentials.weight_bound(T, error)
            assert (found.weight, found.N) == (0, exponentials.degree(T))
    with pytest.raises(ValueError, match="at least 0, got -1"):
        exponentials.error_bound(1, -1)


# Trained


def test_trained_heads_are_the_layer_they_were_trained_as():
    spec = trained_delta.DeltaFit(T=2, m=3, steps=3, seed=1, length=12)
    outcome = trained_delta.train(spec, Workspace())
    fit = trained_delta.layer(spec, outcome)
    seen = heads.measure(fit.attention(), np.eye(12)[2], np.random.default_rng(0))
    assert seen.worst == pytest.approx(outcome.numbers["l1 error"], rel=1e-12)
    again = trained_delta.train(spec, Workspace())
    assert torch.equal(again.tensors["W"], outcome.tensors["W"])


def test_a_kernel_to_train_has_small_weights_and_the_sum_of_softmaxes():
    kernel = trained_delta.Kernel(500, 4, torch.Generator().manual_seed(0))
    assert kernel.W.std().item() == pytest.approx(1 / 500, rel=0.1)
    assert kernel.b.std().item() == pytest.approx(1, rel=0.1)
    two = trained_delta.Kernel(2, 4, torch.Generator().manual_seed(0))
    with torch.no_grad():
        two.b.copy_(torch.tensor([0.0, 1.0]))
        two.W.copy_(torch.tensor([3.0, -2.0]))
        found = two().tolist()
    falls = [np.exp(-math.log1p(math.exp(b)) * np.arange(4)) for b in (0, 1)]
    by_hand = 3 * falls[0] / falls[0].sum() - 2 * falls[1] / falls[1].sum()
    assert found == pytest.approx(by_hand.tolist())


def test_a_training_is_judged_by_the_distance_from_the_indicator():
    spec = trained_delta.DeltaFit(T=2, m=3, steps=1, seed=1, length=5, lr=0.0)
    outcome = trained_delta.train(spec, Workspace())
    found = trained_delta.layer(spec, outcome).kernel()
    distance = np.abs(found - [0, 0, 1, 0, 0]).sum()
    assert outcome.numbers["l1 error"] == pytest.approx(distance)
    assert outcome.curves["loss"][0] == pytest.approx(distance)
    assert trained_delta.layer(spec, outcome).beyond == 0
