"""Section 5.1 (jiang2024; settings in Appendix C): what the rate predicts.

With m_FF large, a coupling of finite rank r is matched perfectly as soon as m_h >= r, and for
sigma_k ~ k^-alpha the error falls like m_h^-(2 alpha - 1) down to a constant. F = f = id,
phi_i, psi_i in {sqrt2 sin 2 pi i x}, tau = 16, equations (67) and (68).

Finite rank: with s_i = sigma_i for i <= r all coefficients of rho - rho^ are 0, so H^ = H. Infinite
rank, as an upper bound of the mean square error: rate.py, 1 to 4, for encoded tokens and
alpha > 1/2, and for equal sines on one room and alpha > 1. Networks add the constant, 5 and 6.

Checked: rank r = 1, 2, 6: all coefficients of rho - rho^ are 0 for m_h >= r; in float64 the outputs
agree to round-off; with ReLU networks the error is that of the networks. The mean square has the
exponent of Theorem 4.1, for the ridge correction, and for sines against cosines without one. The
floor for one target on two encoded tokens (output_floor.py) is nearly attained, for three waves, by
a coupling of rank 1. Why alpha > 1 with equal sines on one room: for alpha <= 1 and r = infinity
the sum (68) diverges on the diagonal and nowhere else, so that H_t(x) tends to x_t as the rank
grows. The paper does not say that it used this.

Readings: the error is the mean square error. A statement about the least error of all networks it
cannot be, since a steep F^ can replace the coupling (finding rank-one-degeneracy).
"""

import math

import flint
import numpy as np
import pytest

from repro.bounds import exactly, rounding_error, theorem
from repro.jiang2024 import complexity, couplings, logit_floor, output_floor, rate
from repro.numerics import exact, roundoff

TAU = 16
ranks = pytest.mark.parametrize("r", [1, 2, 6], ids="r={}".format)


def of_rank(r, alpha=1):
    """sigma_i = i^-alpha for i <= r, in rationals, for an integer alpha."""
    return exact.rationals([flint.fmpq(1, i**alpha) for i in range(1, r + 1)])


@ranks
@pytest.mark.exact
def test_no_coefficient_is_left_once_the_head_is_large_enough(r, claim):
    """d_i = sigma_i - s_i in rationals, plain and with the ridge, since S_r = 0."""
    sigma = np.concatenate([of_rank(r), exact.rationals([0, 0])])
    for m in (r, r + 1, r + 2):
        networks = {"plain": sigma[:m], "ridge": rate.ridge(sigma, m, TAU)}
        for how, kept in networks.items():
            left = [s - k for s, k in zip(sigma, kept, strict=False)] + list(sigma[m:])
            largest, at = max(map(abs, left)), {"equation": "(68)", "how": how, "m_h": m}
            claim.measured("largest coefficient of ρ − ρ^", largest, **at).equals(0)
    cost = rate.row_error(sigma, sigma[:r], TAU, "sin")
    claim.measured("E Σ_s δ_ts²", cost, equation="(68)", m_h=r).equals(0)


@pytest.mark.exact
def test_costs_and_errors_by_hand(claim):
    """4, 2, 1, of which 3 is kept: d = 1, 2, 1, at tau = 2 a row costs 3/2 6 + 4^2, with cosines 9.
    The ridge adds 3/(1 + 3/2). Networks within e = 1, 0 of waves up to 10: 1/2 2 (20 + 1); within 3
    and 1/2, weights 2 and -5: 1/2 (2 69 + 5 (10 + 1/4)). sqrt2 (2 pi 3)^2/8 for the third wave."""
    sigma, half = exact.rationals([4, 2, 1]), flint.fmpq(1, 2)
    for name, found, by_hand in (
        ("row", rate.row_error(sigma, sigma[:1] - 1, 2, "sin"), 25),
        ("row, cosines", rate.row_error(sigma, sigma[:1] - 1, 2, "cos"), 9),
        ("ridge", rate.ridge(sigma, 1, 2)[0], 26 * half / 5 * 2),
        ("networks", rate.network_error([2 * half * 2, half * 2], 10, [1, 0]), 21),
        ("networks", rate.network_error([4 * half, -5], 10, [3, half]), flint.fmpq(757, 8)),
    ):
        value = claim.measured("value by hand", found, equation="(46), (48)", of=name)
        value.equals(flint.fmpq(by_hand))
    wave = (
        complexity.of_wave(complexity.INTERPOLATION, 3) / flint.arb(2).sqrt() / flint.arb.pi() ** 2
    )
    claim.measured("C_FF over √2 π²", wave, equation="(13)", i=3).within(
        9 * half, theorem(flint.fmpq(1, 10**12), "worked out by hand; 1e-12 for balls")
    )


def difference(claim, r, m, w=None):
    """Largest |H_t - H^_t| over sequences; with w neurons for the waves if given."""
    import torch

    coupling = couplings.Coupling(of_rank(r))
    x = torch.tensor(claim.rng("tokens").random((100, TAU, 1)), device=claim.device)
    H = coupling.target()(x)
    kept = coupling.sigma[:m]
    exact = rate.truncated(coupling, kept, x)
    network = rate.interpolated(exact, w) if w else exact
    off = network(x) - H
    assert torch.isfinite(off).all()
    return off.abs().max().item(), (off**2).mean().item()


def agreement(r):
    harmonic, u = sum(1 / i for i in range(1, r + 1)), roundoff.unit("float64")
    return 2 * ((r + 8) * 2 * harmonic + TAU + 4) * u


@ranks
@pytest.mark.construct
def test_outputs_agree_to_round_off_once_the_head_is_large_enough(r, claim):
    """Target and network add the same products in another order. A logit, below 2 H_r, is off by at
    most (r + 8) u times that, an average of x <= 1 by as much and (tau + 4) u for its weights."""
    largest, _ = difference(claim, r, r)
    claim.measured("largest error", largest, equation="(68)", m_h=r).at_most(
        rounding_error(agreement(r), "2 ((r + 8) 2 H_r + τ + 4) u: logits and averages of both")
    )


@ranks
@pytest.mark.construct
def test_networks_leave_only_their_own_error(r, claim):
    """m_h = r and w neurons: within the bound of the networks alone, which falls like w^-2."""
    scheme, sigma = complexity.INTERPOLATION, of_rank(r)
    for w in (64, 256):
        e = [complexity.of_wave(scheme, i) / w**2 for i in range(1, r + 1)]
        bound = float(rate.network_error(sigma, flint.arb(2).sqrt(), e))
        largest, _ = difference(claim, r, r, w)
        claim.measured("largest error", largest, equation="(68)", m_h=r, w=w).at_most(
            theorem(bound, "rate.py, 5")
        )


@pytest.mark.parametrize("alpha", ["3/2", "2", "3"], ids="alpha={}".format)
@pytest.mark.certified
def test_exponent_of_the_mean_square_for_infinite_rank(alpha, claim):
    """Logits in closed form, R = infinity. S_m and T_m lie between integrals from m + 1 and from m:
    costs over their power and constant lie between 1 and what this can do. The outputs are measured
    in Theorem 4.1."""
    a, c = exact.rational(alpha), TAU - flint.fmpq(1, 2)
    p, one = 2 * a - 1, 1 / (a - 1) ** 2
    for m in (16, 4096):
        found, where = logit_floor.row_costs(alpha, m, TAU), {"equation": "Section 5.1", "m_h": m}
        least = (flint.arb(m) / (m + 1)) ** flint.arb(p) * m / (m + c)
        for how, constant, power, more in (
            ("sin, ridge", c * (1 / p + one), p, 0), ("cos, plain", c / p, p, 0),
            ("sin, plain", one, p - 1, c / p / one / m),
        ):  # fmt: skip
            over = found[how] * flint.arb(m) ** flint.arb(power) / constant
            ratio = claim.measured(
                "E Σ_s δ_ts² over its power and constant", over, how=how, **where
            )
            ratio.at_most(theorem(1 + more, "integrals from m, m + c ≥ m"))
            ratio.at_least(theorem(least, "integrals from m + 1, and m/(m + c)"))


@pytest.mark.parametrize("alpha", ["2", "3"], ids="alpha={}".format)
@pytest.mark.best_in_class
def test_a_coupling_of_rank_one_is_near_the_floors(alpha, claim):
    """The target of output_floor.py with n = 3 terms: `rank_one` leaves the third term only, and a
    bump of width eps = 0.002. All pairs of 4000 and 16 places; no error is below its floor."""
    import torch

    corner = torch.tensor([[2.125], [4.0]], dtype=torch.float64)
    logit = output_floor.Pair(alpha, 3).target().rho(corner, corner)[0, 1].item()
    by_hand = (1 + math.sqrt(2) * 2.0 ** -int(alpha)) / 64
    claim.measured("ρ(1/8, 0), of 1 + √2 2^−α", logit, equation="(8)").within(
        by_hand, rounding_error(1e-15, "three products below 1/16")
    )
    eps, pair = 0.002, output_floor.Pair(alpha, 3)
    u, v = ((torch.arange(k).double() + 0.5) / k for k in (4000, 16))
    tokens = torch.cat([u[::300] + 2, v + 4])[:, None]
    logits = (H.rho(tokens, tokens) for H in (pair.rank_one(eps), pair.target()))
    ranks = [torch.linalg.matrix_rank(some).item() for some in logits]
    claim.measured("ranks of ρ^ and ρ at 30 tokens", ranks, equation="(68)").equals([1, 3])
    x = torch.cartesian_prod(u + 2, v + 4)[..., None]
    off = (pair.rank_one(eps)(x) - pair.target()(x)).abs()
    assert torch.isfinite(off).all()
    claim.measured("largest error of H_2", off[:, 1].max().item(), equation="(8)").at_most(
        exactly(0.0, "the weights 1/2, for every ρ^ that is 0 for u in I_2")
    )
    third, bump = float(pair.sigma[2] / pair.sigma[0]), eps / math.sqrt(2)
    square, mean = (off[:, 0] ** 2).mean().item(), off[:, 0].mean().item()
    for name, error, floor, over in (
        ("mean square", square, pair.mean_square_floor(1), 1 + bump / 2 / third**2),
        ("mean error", mean, pair.mean_floor(1), 3 * (8 / math.pi**2 + bump / third)),
    ):
        claim.measured(name, error, equation="Section 5.1").at_least(
            theorem(floor, "output_floor.py, for every coupling of rank 1; the grid is far finer")
        )
        claim.measured(
            f"{name} over its floor", error / float(floor), equation="Section 5.1"
        ).at_most(
            theorem(1.02 * over, "σ_3 e_3 e_3 and the bump, l′ ≤ 1/4; 2 % for slope and grid")
        )


@pytest.mark.parametrize("r", [2, 6], ids="r={}".format)
def test_control_one_less_than_the_rank_is_not_enough(r, claim):
    """m_h = r - 1: the mean square is that of a missing sine, far from round-off."""
    _, square = difference(claim, r, r - 1)
    allowed = agreement(r)
    claim.measured("mean square error", square, equation="(68)", m_h=r - 1).at_least(
        rounding_error(allowed**2, "the square of the round-off that m_h = r stays below")
    )


def test_control_a_wrong_frequency_is_not_enough(claim):
    """r = 2, m_h = 2, but the sines 1 and 3: every logit lacks the second."""
    sigma = exact.rationals([1, "1/2", 0])
    kept = exact.rationals([1, 0, "1/2"])
    cost = rate.row_error(sigma, kept, TAU, "sin")
    claim.measured("E Σ_s δ_ts²", cost, equation="(68)").at_least(
        exactly(7, "(31/2) (1/4 + 1/4) = 31/4")
    )


@pytest.mark.exact
def test_equal_sines_with_alpha_one_have_no_sum_on_the_diagonal(claim):
    """The diagonal at u = 1/4 is 2 (1 + 1/3 + 1/5 + ...): every doubling of R adds at least 1/2, so
    that the sum has no value there; for alpha < 1 its terms are larger still."""
    diagonal = couplings.diagonal_at_quarter
    for R in (16, 64, 256, 1024):
        added, at = diagonal(2 * R) - diagonal(R), {"equation": "(68)", "alpha": 1, "R": R}
        claim.measured("what doubling R adds to the diagonal", added, **at).at_least(
            theorem(flint.fmpq(1, 2), "R/2 terms of at least 2/(2R)")
        )


@pytest.mark.certified
def test_off_the_diagonal_the_sum_is_a_logarithm(claim):
    """log |sin pi(u + v) / sin pi(u - v)|, R = 400 terms in balls, within Abel's bound."""
    R = 400
    coupling = couplings.Coupling(of_rank(R))
    for u, v in (("1/5", "1/3"), ("1/7", "5/8"), ("2/5", "41/100")):
        a, b = (exact.rational(value) for value in (u, v))
        tokens = [exact.rationals([[value]]) for value in (a, b)]
        off = abs(coupling.rho(*tokens)[0, 0] - couplings.logarithmic(a, b))
        claim.measured("distance from the logarithm", off, equation="(68)", u=u, v=v).at_most(
            theorem(couplings.beyond(R, a, b), "Abel's summation")
        )
