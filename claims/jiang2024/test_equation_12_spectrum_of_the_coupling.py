"""Equation (12) (jiang2024, Section 4.3): how fast the coupling's spectrum falls.

C_1^(alpha)(H) is the least c with sigma_s <= c s^-alpha for s >= 1, that is max_s sigma_s s^alpha,
minimised over all F, f, rho that represent H; it is finite exactly if some representation has
sigma_s = O(s^-alpha). Complexity measures are to discern the targets that are approximated
efficiently (Section 3), and C_1 those of a coupling with a fast-falling spectrum (Section 4.3).

Checked: max_s sigma_s s^alpha in exact numbers, and for the spectrum 1/s that it stays bounded for
alpha = 1. The minimum over all representations discerns nothing: it is 0 for every continuous
target. One target is represented twice, both times with error exactly 0: by the weights of (25),
tau singular values log 2 and so C_1 = tau^alpha log 2, and by a coupling of rank one with sigma_1 <
1e-6. Repaired: C_1 belongs to one representation (F, f, rho), or (12), (14) and (15) share one
joint infimum. That is not 0, since for all representations, inputs, t and t'

    K_F diam(f) sup|rho| >= |H_t - H_t'|        (two rows differ by an oscillation <= 4 sup|rho|).

Control: alpha = 2 for the spectrum 1/s.

Readings: s >= 1 for the printed s >= 0, at which s^-alpha is not defined; C_1^(alpha) for the
C_1^(g) of the next sentence.
"""

import flint
import numpy as np
import pytest

from repro import jiang2024, numerics

TAU, K = 8, 9
GROWTH = 1 + flint.fmpq(1, 10**K)
Log = numerics.logarithms.Log


def C_1(sigma, alpha):
    """max_s sigma_s s^alpha for one representation; integers alpha."""
    return max(value * s**alpha for s, value in enumerate(sigma, start=1))


def H(z):
    """The t-th smallest place."""
    return np.sort(z[..., 0], axis=-1)


def representations():
    """Of the same H: name -> (form, singular values of its coupling, sup |rho|)."""
    forms, half = jiang2024.representation, flint.fmpq(1, 2)
    w = forms.rank_one(TAU, GROWTH)
    squares = sum(t**2 for t in range(1, TAU + 1))
    return {
        "(25)": (forms.Representation(H, forms.doubled_diagonal(TAU)), [Log(2)] * TAU, Log(2)),
        "rank one": (
            forms.Representation(H, w, a=half, b=forms.spread(w, half)),
            [Log(GROWTH) * squares],
            Log(GROWTH) * TAU**2,
        ),
    }


@pytest.mark.exact
def test_the_constant_of_a_spectrum(claim):
    """sigma_s = 1/s, s <= r: C_1^(1) = 1 for all r. The weights of (25): tau^alpha log 2."""
    for r in (1, 10, 1000):
        sigma = [flint.fmpq(1, s) for s in range(1, r + 1)]
        claim.equals(C_1(sigma, 1), 1, f"C_1 of σ_s = 1/s, r={r}", equation="(12), α = 1")
    for alpha in (1, 2):
        _, sigma, _ = representations()["(25)"]
        found = numerics.logarithms.exp(C_1(sigma, alpha))
        claim.equals(found, flint.fmpq(2) ** TAU**alpha, "e^C_1", equation=f"(25), α = {alpha}")
    ones = [flint.fmpq(1)] * TAU
    identity = [[int(t == s) for s in range(TAU)] for t in range(TAU)]
    found = jiang2024.mixing.squares(identity, ones, ones)
    x = flint.fmpq_poly([0, 1])
    claim.equals(found, (x - 1) ** TAU, "squares of σ / log 2, weights of (25)", equation="(10)")


@pytest.mark.exact
def test_one_target_two_representations_both_exact(claim):
    count = claim.at_scale(smoke=2, laptop=10, paper=100)
    z = numerics.exact.rationals(claim.rng("places").integers(0, 8, (count, TAU, 1))) / 7
    x = jiang2024.representation.SHIFTED.encode(z)
    for name, (form, _, _) in representations().items():
        error = abs(form.target()(x) - H(z)).max()
        claim.equals(error, 0, f"largest |H_t − Ĥ_t|, {name}", equation="(8)")


def test_printed_the_infimum_discerns_no_targets(claim):
    """C_1 of the target is at most that of its representation of rank one; any k in place of 9."""
    found = {
        name: numerics.logarithms.ball(C_1(sigma, 1))
        for name, (_, sigma, _) in representations().items()
    }
    claim.counterexample(
        "C_1^(1) of (12) sees the 8 equal singular values of the coupling of (25)",
        input={"tau": TAU, "H_t(x)": "the t-th smallest", "e^eps": str(GROWTH), "rho": "eps t s"},
        measured=found["rank one"],
        expected=found["(25)"],
        relation=">=",
        equation="(12)",
        snippet="from math import log, log1p\n"
        "tau, eps = 8, log1p(1e-9)   # rho = eps t s represents every target, with error 0\n"
        "print('sigma_1 =', eps * sum(t * t for t in range(1, tau + 1)), 'not', tau * log(2))\n",
    )
    small = "theorem: 204 log(1 + 1e-9); eps > 0 is arbitrary, so the infimum is 0"
    claim.at_most(found["rank one"], flint.fmpq(1, 10**6), "C_1", equation="(12)", source=small)


@pytest.mark.exact
def test_repaired_a_joint_infimum_is_not_zero(claim):
    """|u_t - u_t'| <= diam(f) sup|rho|, so K_F diam(f) sup|rho| >= |H_t - H_t'|, here 1."""
    z = numerics.exact.rationals([[0]] * (TAU // 2) + [[1]] * (TAU // 2))
    x = jiang2024.representation.SHIFTED.encode(z)
    for name, (form, _, size) in representations().items():
        t = TAU // 2 - 1
        u, f = form.target().averages(x), form.f(x)
        diameter = max(abs(one - other).max() for one in f for other in f)
        moved, reach = abs(u[t] - u[t + 1]).max(), numerics.logarithms.ball(size) * diameter
        theorem = "theorem: diam(f)/4 times the oscillation, which is at most 4 sup|rho|"
        claim.at_most(moved, reach, f"|u_4 − u_5|, {name}", equation="softmax", source=theorem)
        claim.equals(
            abs(H(z)[t] - H(z)[t + 1]), flint.fmpq(1), f"|H_4 − H_5|, {name}", equation="H"
        )
        price = reach / moved  # K_F diam(f) sup|rho| for the least K_F of these two points
        claim.at_least(
            price, flint.fmpq(1), f"K_F diam f sup|ρ|, {name}", equation="repaired", source=theorem
        )


@pytest.mark.parametrize("r", [10, 100, 1000], ids="r={}".format)
def test_control_a_slower_spectrum_has_no_constant(r, claim):
    """sigma_s = 1/s and alpha = 2: C_1 of the first r values is r, so it is infinite."""
    found = C_1([flint.fmpq(1, s) for s in range(1, r + 1)], 2)
    grows = "theorem: σ_r r² = r"
    claim.at_least(found, r, "C_1 of σ_s = 1/s, α = 2", equation="(12)", source=grows)
