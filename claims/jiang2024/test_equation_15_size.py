"""Equation (15) (jiang2024, Section 4.3): the size of the target.

C_0(H) = inf {K_F |f| (sup_i |psi_i| + |phi_i|), 1}, printed with an infimum over the pair.

Checked: with the larger of product and 1, C_0 is 2 sqrt2 for the sines of Section 5.1; it does not
change when (F, f) becomes (F(z/eps), eps f), and it is multiplied by K when H is. Misprint:
the infimum of the pair, as printed, never exceeds 1, and the network of the proof then breaks its
bound, in exact arithmetic.

Not checked: the infimum over all representations, of which rescaling is only one.
"""

import flint
import numpy as np
import pytest

from repro.bounds import exactly, theorem
from repro.jiang2024 import complexity, couplings, model
from repro.numerics import exact, logarithms

ROOT = flint.arb(2).sqrt()
PIN = theorem(flint.fmpq(1, 10**12), "worked out by hand; 1e-12 for balls of 53 bits")


@pytest.mark.exact
def test_size_of_the_sines_is_two_root_two(claim):
    """C_0^2 = 8 in rationals: sup |phi_i|^2 = 2 at a quarter of the wave, K_F = |f| = 1."""
    at = {"sin": flint.fmpq(1, 4), "cos": flint.fmpq(0)}
    for key, crest in at.items():
        coupling = couplings.Coupling(exact.vector([flint.fmpq(1)]), key)
        height = coupling.keys(exact.rationals([[crest]]))[0, 0]
        claim.measured("sup |ψ|²", (height**2).unique_fmpz(), equation="(68)", key=key).equals(2)
        size = ((1 * 1 * 2 * height) ** 2).unique_fmpz()
        claim.measured("(K_F |f| (sup |ψ| + |φ|))²", size, equation="(15)", key=key).equals(8)
    off = abs(complexity.C_0(1, 1, 2 * ROOT) ** 2 - 8)
    claim.measured("distance of C_0² from 8", off, equation="(15)").at_most(
        theorem(flint.fmpq(1, 10**12), "balls of 53 bits")
    )


@pytest.mark.exact
def test_size_survives_rescaling_and_grows_with_the_target(claim):
    """K_F = K / eps and |f| = eps sup: all products are rational."""
    C_0 = complexity.C_0
    for K in (1, 3, 100):
        for eps in ("1/2", "1/1000"):
            e = exact.rational(eps)
            found = C_0(K / e, e, 2).unique_fmpz()
            claim.measured("C_0", found, equation="(15)", K=K, eps=eps).equals(2 * K)
    small = C_0(flint.fmpq(1, 100), 1, 2).unique_fmpz()
    claim.measured("C_0 of a small H", small, equation="(15)").equals(1)


@pytest.mark.exact
def test_both_readings_by_hand(claim):
    """2 3 5 = 30; 1/10 1/2 4 = 1/5; 1/2 3 1/4 = 3/8; 1/2 3 4 = 6: the larger and the smaller of
    these and 1."""
    half = flint.fmpq(1, 2)
    for K_F, sup_f, bases, larger, smaller in (
        (2, 3, 5, 30, 1), (half / 5, half, 4, 1, 2 * half / 5),
        (half, 3, half / 2, 1, 3 * half / 4), (half, 3, 4, 6, 1),
    ):  # fmt: skip
        at = {"equation": "(15)", "K_F": K_F, "sup_f": sup_f, "sup_bases": bases}
        found = complexity.C_0(K_F, sup_f, bases)
        claim.measured("C_0 with the larger", found, **at).within(larger, PIN)
        found = complexity.C_0_as_printed(K_F, sup_f, bases)
        claim.measured("C_0 as printed", found, **at).within(smaller, PIN)


def blocks(K, a, b, kept):
    """tau = 2, encoded: rho = log a on I_1 x I_1 and log b on I_2 x I_2, else 0; f = 1 on I_2, else
    0; F(z) = K z. The outputs, in rationals; `kept` says which of the two terms are there."""
    logs = [logarithms.Log(value if keep else 1) for value, keep in zip((a, b), kept, strict=True)]
    one = logarithms.Log(1)
    logits = np.array([[logs[0], one], [one, logs[1]]])
    f, x = exact.rationals([[0], [1]]), exact.rationals([["5/2"], ["9/2"]])
    return model.Target(lambda z: K * z[..., 0], lambda x: f, lambda u, v: logits)(x)


def size_as_printed_and_the_product(K_F, sup_f, sup_bases):
    """inf{K_F |f| (sup |psi_i| + |phi_i|), 1}, and the first of the two."""
    product = K_F * sup_f * sup_bases
    return min(product, 1), product


def error_of_the_truncation_and_its_bound(K):
    """Row 2 has the logits (0, log b), truncated (0, 0); sigma = (2 log b, log b)."""
    from fractions import Fraction

    b = Fraction(33, 32)
    error = K * (b / (1 + b) - Fraction(1, 2))
    C_0, C_1 = 1, 2 * (b - 1)  # C_0 as printed; C_1 = 2 log b is smaller
    return error, 4 * C_0 * C_1  # tau^2 C_0 C_1, tau = 2 and m_h = 1


def test_printed_infimum_never_exceeds_one(claim):
    """K = 100, b = 33/32, a = b^2: sigma = (2 log b, log b), so that C_1 = 2 log b for alpha = 1.
    The truncation to m_h = 1 is off by 100/130 at t = 2; (17) with C_0 = 1 allows 8 log b."""
    K, b = 100, flint.fmpq(33, 32)
    whole, cut = (blocks(K, b**2, b, kept) for kept in ((True, True), (True, False)))
    error = sum(abs(whole - cut))
    summed = claim.measured("summed error of the truncation", error, equation="(17)")
    summed.equals(flint.fmpq(K, 130))
    for t, by_hand in enumerate((flint.fmpq(102400, 2113), flint.fmpq(660, 13))):
        at = {"equation": "(8)", "t": t + 1}  # 100/(1 + b^2) and 100 b/(1 + b)
        claim.measured("H_t", whole[t], **at).equals(by_hand)
    bound = 8 * flint.arb(b).log()  # tau^2 C_1
    claim.counterexample(
        "C_0 is at least K_F |f| (sup |ψ| + |φ|)",
        input={"tau": 2, "phi_1 = psi_1": "1 on I_1"},
        measured=complexity.C_0_as_printed(K, 1, 2), expected=2 * K, relation=">=", equation="(15)",
        program=size_as_printed_and_the_product, K_F=K, sup_f=1, sup_bases=2,
    )  # fmt: skip
    claim.counterexample(
        "the truncation of the proof satisfies (17) with C_0 as printed",
        input={"tau": 2, "m_h": 1, "sigma": "2 log(33/32), log(33/32)", "alpha": 1},
        measured=error, expected=complexity.C_0_as_printed(K, 1, 2) * bound, relation="<=",
        equation="(17)", program=error_of_the_truncation_and_its_bound, K=K,
    )  # fmt: skip
    summed.at_most(
        theorem(complexity.C_0(K, 1, 2) * bound, "(17) with the maximum, 1600 log(33/32)")
    )


def test_control_without_the_one_the_outer_network_is_not_paid_for(claim):
    """F = z/100 and F^ = F + 1: tau = 2 outputs are off by 2, and tau^2 C_0 |F - F^| with the
    product 2/100 alone is 2/25."""
    right = blocks(flint.fmpq(1, 100), 2, 3, (True, True))
    error = sum(abs((right + 1) - right))
    bare, meant = 4 * flint.fmpq(2, 100), 4 * complexity.C_0(flint.fmpq(1, 100), 1, 2)
    summed = claim.measured("summed error for F^ one above F", error, equation="(15)")
    summed.at_most(theorem(meant, "4 · 1 · 1"))
    summed.at_least(exactly(20 * bare, "2, against 2/25 without the 1"))
