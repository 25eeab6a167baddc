"""Finding (on jiang2024, 4.3 and A.3): Theorem 4.1, repaired.

Independent encoded tokens, uniform on disjoint pieces I_t of unit volume; a fixed representation
with continuous rho and sigma_i <= C_1 i^-alpha, alpha > 1/2. Attention with m_h = r + tau and exact
F, f and basis functions has
    sum_t E |H_t - H^_t|^2 <= (K_F diam f)^2 / 8  C_1^2 / ((2 alpha - 1) r^(2 alpha - 1)),
and so an L1 error, summed over t, of sqrt(tau) times the root.

Proof: repro/jiang2024/rate.py, 1 and 4. tau more query and key coordinates make the diagonal exact.

Checked: the diagonal in balls, for rational tokens, with the whole Transformer (5) of size
m_h = r + tau; the other blocks unchanged, exactly; pairs s != t cost at most T_r, and T_r at most
the bound, in balls; sampled sequences, alpha = 1.5, 2, 3, sines against sines and cosines, tau = 8,
against both bounds, with slopes; the error is C_1^2, not C_1, as rho is made smaller.
Controls: the truncation without the tau coordinates; the same coordinates with the wrong sign.

Not checked: couplings with singular values unknown; whether tau more coordinates are needed.
"""

import math

import flint
import numpy as np
import pytest

from repro import jiang2024, numerics

ALPHAS = ["3/2", "2", "3"]
alphas = pytest.mark.parametrize("alpha", ALPHAS, ids="alpha={}".format)
both = pytest.mark.parametrize("key", ["sin", "cos"])
TAU = 8
DIAGONAL = "largest error of a logit on the diagonal"


@both
@pytest.mark.certified
def test_diagonal_is_exact_and_the_other_pairs_are_as_before(key, claim):
    """Rational tokens, tau = 3, R = 5, r = 2, in balls."""
    tau, r = 3, 2
    coupling = jiang2024.couplings.Coupling(jiang2024.couplings.powers(2, 5), key, pieces=tau)
    rng = claim.rng("tokens")
    x = numerics.exact.rationals([[flint.fmpq(int(k), 101)] for k in rng.integers(0, 102, tau)])
    x = jiang2024.encodings.shifted(x)
    mended = jiang2024.rate.with_diagonal(coupling, r, x)
    plain = jiang2024.rate.truncated(coupling, coupling.sigma[:r], x)
    claim.equals(mended.m_h, r + tau, "m_h", equation="m_h = r + τ")
    claim.equals(mended.W_V.shape[1], 2 * (r + tau) + 1, "n", equation="n = 2 m_h + m_v")
    new, old = (network.target().logits(x) for network in (mended, plain))
    off = np.abs(coupling.rho(x, x) - new)
    balls = "theorem: rate.py, 4; balls of 53 bits"
    tiny = flint.fmpq(1, 10**12)
    largest = max(off.diagonal(), key=float)
    claim.at_most(largest, tiny, DIAGONAL, equation="ρ^(u, u) = ρ(u, u)", source=balls)
    apart = max((abs(new - old)[t, s] for t in range(tau) for s in range(tau) if s != t), key=float)
    claim.at_most(apart, tiny, "largest change of another pair", equation="s ≠ t", source=balls)


@alphas
@pytest.mark.certified
def test_tail_is_within_the_bound(alpha, claim):
    """T_r <= C_1^2 r^(1 - 2 alpha) / (2 alpha - 1), R = infinity, in balls; and nearly equal."""
    two = 2 * numerics.exact.rational(alpha)
    for r in (1, 2, 8, 64, 1024):
        tail = flint.arb(two).zeta(r + 1)
        ratio = tail / jiang2024.rate.encoded_bound(alpha, r)
        name, integral = f"T_r over its bound, r = {r}", "theorem: the integral of x^(−2α) from r"
        claim.at_most(ratio, 1, name, equation="T_r", source=integral)
        least = (flint.arb(r) / (r + 1)) ** flint.arb(two - 1)
        claim.at_least(ratio, least, name, equation="T_r", source="theorem: the same from r + 1")


def errors(claim, alpha, key, rs, scale=1):
    """sum_t (H_t - H^_t)^2 and sum_t |H_t - H^_t| with and without the diagonal, means, by r."""
    import torch

    R = claim.at_scale(smoke=256, laptop=768, paper=2048)
    draws = claim.at_scale(smoke=60, laptop=200, paper=2000)
    sigma = flint.fmpq(1, scale) * jiang2024.couplings.powers(alpha, R)
    coupling = jiang2024.couplings.Coupling(sigma, key, pieces=TAU)
    x = torch.tensor(claim.rng("tokens").random((draws, TAU, 1)), device=claim.device)
    x = jiang2024.encodings.shifted(x)
    H = coupling.target()(x)
    found = {"mended": [], "plain": [], "L1": []}
    for r in rs:
        off = jiang2024.rate.with_diagonal(coupling, r, x)(x) - H
        found["mended"].append((off**2).sum(-1).mean().item())
        found["L1"].append(off.abs().sum(-1).mean().item())
        off = jiang2024.rate.truncated(coupling, sigma[:r], x)(x) - H
        found["plain"].append((off**2).sum(-1).mean().item())
    return found


@both
@pytest.mark.construct
def test_sequences_obey_both_bounds_and_fall_with_the_exponent(key, claim):
    rs = claim.at_scale(
        smoke=(2, 8, 32), laptop=(1, 2, 4, 8, 16, 32, 64, 128), paper=(1, 2, 4, 8, 16, 32, 64, 128)
    )
    panels = {}
    for alpha in ALPHAS:
        found = errors(claim, alpha, key, rs)
        bounds = [float(jiang2024.rate.encoded_bound(alpha, r)) / 8 for r in rs]
        for r, square, mean, bound in zip(rs, found["mended"], found["L1"], bounds, strict=True):
            where, far = f"α = {alpha}, r = {r}", "100 to 400 times larger than seen"
            claim.at_most(
                square,
                bound,
                f"summed mean square, {where}",
                equation="first bound",
                source=f"theorem: rate.py, 4; {far}",
            )
            claim.at_most(
                mean,
                math.sqrt(TAU * bound),
                f"summed L1 error, {where}",
                equation="second bound",
                source="theorem: Cauchy's inequality, twice",
            )
        ratios = [b / e for b, e in zip(bounds, found["mended"], strict=True)]
        claim.record(**{f"bound over actual, α = {alpha}": ratios})
        exponent = -2 * float(numerics.exact.rational(alpha)) + 1
        first, last = found["mended"][rs.index(8)], found["mended"][-1]
        fall = math.log(last / first) / math.log(rs[-1] / 8)
        seen = "spread: a finite R makes it fall faster from r = 8 on, by up to 0.4"
        claim.at_most(
            fall,
            exponent + 0.3,
            f"exponent from r = 8, α = {alpha}",
            equation="2α − 1",
            source=seen,
        )
        claim.at_least(
            fall,
            exponent - 0.8,
            f"exponent from r = 8, α = {alpha}",
            equation="2α − 1",
            source=seen,
        )
        panels[f"{-(exponent - 1) / 2:g}"] = {**found, "bound": bounds}
    if key == "sin":
        last = panels["2"]
        claim.figure(
            jiang2024.pictures.rate.encoded(rs, panels, TAU),
            "encoded",
            caption=f"Encoded tokens, τ = {TAU}, the same waves on both sides: {TAU} more "
            "coordinates for the diagonal change the exponent.",
            alt="Mean square error against the number of terms, for three α. "
            f"For α = 2 it falls from {last['mended'][0]:.1e} to {last['mended'][-1]:.1e} with the "
            f"diagonal mended and from {last['plain'][0]:.1e} to {last['plain'][-1]:.1e} without; "
            f"the bound falls from {last['bound'][0]:.1e} to {last['bound'][-1]:.1e}.",
        )


@pytest.mark.construct
def test_error_is_quadratic_in_the_size_of_the_coupling(claim):
    """rho / 10 has C_1 / 10: the mean square falls by 100, as C_1^2 does in the bound."""
    whole, small = (errors(claim, "2", "sin", (4,), scale)["mended"][0] for scale in (1, 10))
    claim.within(
        whole / small,
        100,
        25,
        "mean square for ρ over that for ρ/10",
        equation="C_1²",
        source="spread: softmax is linear up to the size of ρ, at most 0.4; 92 to 97 seen",
    )


@alphas
def test_control_without_the_diagonal_the_error_is_larger(alpha, claim):
    """r = 32, sines on both sides: truncation with no extra coordinates."""
    found = errors(claim, alpha, "sin", (32,))
    ratio = found["plain"][0] / found["mended"][0]
    claim.at_least(
        ratio,
        5,
        "plain over mended, r = 32",
        equation="rate.py, 4 without τ coordinates",
        source="spread: 29, 19 and 11 seen for α = 1.5, 2, 3",
    )


def test_control_the_wrong_sign_doubles_the_diagonal(claim):
    """-1{u in I_t} (rho - rho~)(u, u): the diagonal is off by twice what is missing; in balls."""
    tau, r = 2, 1
    coupling = jiang2024.couplings.Coupling(jiang2024.couplings.powers(2, 4), pieces=tau)
    x = jiang2024.encodings.shifted(numerics.exact.rationals([["1/5"], ["1/7"]]))
    mended = jiang2024.rate.with_diagonal(coupling, r, x).target().logits(x)
    plain = jiang2024.rate.truncated(coupling, coupling.sigma[:r], x).target().logits(x)
    rho = coupling.rho(x, x)
    wrong = 2 * plain - mended
    missing = min(abs(rho - plain).diagonal(), key=float)
    claim.at_least(
        min(abs(rho - wrong).diagonal(), key=float),
        missing * flint.fmpq(19, 10),
        DIAGONAL,
        equation="rate.py, 4, sign",
        source="theorem: exactly twice; balls",
    )
