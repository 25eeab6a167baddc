"""Section 5.2 (jiang2024): a spectrum from samples.

The singular values of the tau x tau matrix of scores of one input are to follow those of the
coupling, so that averages over inputs estimate them (after Braun 2005).

Proof, for independent tokens with the law for which phi_i and psi_i are orthonormal, and
E |rho(x, x)| finite: the k-th value of the matrix over tau tends to sigma_k. Let rho = sum of its
first R terms + delta, Phi = [phi_i(x_t)]_{i <= R} / sqrt(tau), Psi likewise.
   (i)  For delta = 0 the matrix over tau is Phi diag(sigma) Psi^T. By Ostrowski's inequality its
        k-th value is sigma_k up to a factor between the products of the smallest and of the largest
        singular values of Phi and Psi. Phi^T Phi and Psi^T Psi tend to 1 by the law of large
        numbers, and so do the factors.
  (ii)  By Weyl's inequality delta moves each value by at most |delta(x_t, x_s)|_2 / tau, whose
        square tends to |delta|_2^2 = sum_{i > R} sigma_i^2: the pairs s != t by Hoeffding's law of
        large numbers for U-statistics (1961), the terms s = t to 0, since their sum over tau^2 is
        at most max_t |delta_tt| / tau times the mean of |delta_tt|. R is arbitrary.
                                                                                                QED
Checked: (i), Ostrowski's factors in balls; on equispaced tokens the factor is 1. The mean relative
error falls like tau^(-1/2) for equal sines, like 1/tau for sines against cosines. What averaging
cannot cure: E |matrix|^2 / tau^2 exceeds |rho|^2 by (E rho(x,x)^2 - |rho|^2) / tau.
Misprint: averages "approximate the singular values" only after a division by tau. The decay
pattern, sigma_k / sigma_1, is what the text asks for.

Not checked: Braun's theorem, which has rates for symmetric positive semidefinite kernels; tokens
that depend on each other, as those of images and sentences do.
"""

import math

import flint
import numpy as np
import pytest

from repro.bounds import chosen, stderr, theorem
from repro.numerics import pod

SIGMA = (1.0, 0.5, 0.25, 0.125)
R = len(SIGMA)


def waves(x, key):
    """phi_i or psi_i at tokens x (..., tau): (..., tau, R)."""
    angles = 2 * np.pi * x[..., None] * np.arange(1, R + 1)
    return np.sqrt(2) * (np.sin(angles) if key == "sin" else np.cos(angles))


def sampled(x, key):
    """The R largest singular values of [rho(x_t, x_s)] / tau, from triangles of size R."""
    left, right = (np.linalg.qr(waves(x, name), mode="r") for name in ("sin", key))
    scores = (left * np.array(SIGMA)) @ np.swapaxes(right, -1, -2)
    return np.linalg.svd(scores / x.shape[-1], compute_uv=False)


def in_balls(x, key):
    """phi_i or psi_i at rational tokens: (tau, R)."""
    angles = [[flint.arb(2 * i * t) for i in range(1, R + 1)] for t in x]
    root = flint.arb(2).sqrt()
    return np.array([[root * getattr(a, f"{key}_pi")() for a in row] for row in angles])


def certified(left, right):
    """The singular values of [rho(x_t, x_s)], in balls."""
    scores = (left * np.array([flint.arb(s) for s in SIGMA])) @ right.T
    return pod.singular_values(flint.arb_mat(scores.tolist()))[0]


@pytest.mark.parametrize("key", ["sin", "cos"])
@pytest.mark.certified
def test_equispaced_tokens_have_the_spectrum_itself(key, claim):
    """More than 2R tokens (j + theta) / tau: in balls, distance from sigma_k below 1e-12."""
    tau = 11
    x = [flint.fmpq(3 * j + 1, 3 * tau) for j in range(tau)]
    values = certified(in_balls(x, "sin"), in_balls(x, key))
    missed = sum(not v.overlaps(tau * flint.arb(s)) for v, s in zip(values, SIGMA, strict=False))
    claim.measured("balls without σ_k", missed, equation="Section 5.2").equals(0)
    for k, sigma in enumerate(SIGMA):
        off = abs(values[k] / tau - sigma)
        claim.measured("distance from σ_k", off, equation="Section 5.2", k=k + 1).at_most(
            theorem(flint.fmpq(1, 10**12), "discrete orthogonality; balls")
        )


@pytest.mark.parametrize("key", ["sin", "cos"])
@pytest.mark.certified
def test_sampled_values_lie_within_the_factors_of_their_gram_matrices(key, claim):
    """Random rational tokens; all singular values in balls."""
    rng = claim.rng("tokens")
    for tau in claim.at_scale(smoke=(16, 32), laptop=(16, 32, 64), paper=(16, 64, 128)):
        drawn = rng.integers(0, 10**6, tau)
        x = [flint.fmpq(int(k), 10**6) for k in drawn]
        features = in_balls(x, "sin"), in_balls(x, key)
        values = certified(*features)
        factors = [gram_factors(f, tau) for f in features]
        low, high = (a * b for a, b in zip(*factors, strict=True))
        for k, sigma in enumerate(SIGMA):
            ratio = values[k] / tau / sigma
            at = {"equation": "Section 5.2", "tau": tau, "k": k + 1}
            over = claim.measured("sampled σ_k over the true one", ratio, **at)
            over.at_least(theorem(low, "Ostrowski: s_min(Φ) s_min(Ψ)"))
            over.at_most(theorem(high, "Ostrowski: s_max(Φ) s_max(Ψ)"))


def gram_factors(features, tau):
    """The smallest and the largest singular value of [phi_i(x_t)] / sqrt(tau), through its Gram
    matrix, R x R; with room for the balls."""
    gram = features.T @ features / tau
    values = pod.singular_values(flint.arb_mat(gram.tolist()))[0]
    least, most = (flint.arb(value) for value in (values[-1].lower(), values[0].upper()))
    return least.max(flint.arb(0)).sqrt(), most.sqrt()


@pytest.mark.parametrize(("key", "power"), [("sin", -0.5), ("cos", -1)], ids=["sin", "cos"])
@pytest.mark.construct
def test_rate_the_error_falls_with_the_length(key, power, claim):
    """Mean over samples of max_k |sampled / sigma_k - 1|: like tau^(-1/2) for equal sines. Against
    cosines the first order cancels, by sin^2 + cos^2 = 1, and it falls like 1/tau."""
    taus, draws = (64, 128, 256, 512, 1024), claim.at_scale(smoke=120, laptop=400, paper=4000)
    rng, errors, relative = claim.rng("rate"), [], []
    for tau in taus:
        x = rng.random((draws, tau))
        values = sampled(x, key)
        off = abs(values / np.array(SIGMA) - 1).max(-1)
        both = (np.linalg.svd(waves(x, name), compute_uv=False) for name in ("sin", key))
        Phi, Psi = (values / tau**0.5 for values in both)
        bound = np.maximum(Phi[:, 0] * Psi[:, 0] - 1, 1 - Phi[:, -1] * Psi[:, -1])
        excess = (off - bound).max()
        claim.measured("error minus bound", excess, equation="Section 5.2", tau=tau).at_most(
            theorem(1e-12, "Ostrowski: two factors; 1e-12 for rounding")
        )
        errors.append(off.mean())
        relative.append(off.std(ddof=1) / off.mean() / math.sqrt(draws))
    fall, error = errors[0] / errors[-1], 4 * math.hypot(relative[0], relative[-1])
    why = "half-way, as exponents, from 4 for −1/2 to 16 for −1; and 4 standard errors"
    found = claim.measured("fall of the error", fall, equation="Section 5.2", tau=64, to=1024)
    if power == -1:
        found.at_least(chosen(8 * (1 + error), why))
    else:
        found.at_most(chosen(8 * (1 - error), why))


@pytest.mark.construct
def test_averaging_over_inputs_keeps_a_bias_of_one_over_tau(claim):
    """Equal sines: E |scores|^2 / tau^2 - |rho|^2 = ((sum sigma)^2 - 1/2 sum sigma^2) / tau, which
    is ((15/8)^2 - 1/2 85/64) / 16 = 365/2048."""
    tau, draws = 16, claim.at_scale(smoke=4000, laptop=40000, paper=400000)
    bias, square, where = 365 / 2048, 85 / 64, {"equation": "Section 5.2"}
    x = claim.rng("bias").random((draws, tau))
    squares = (sampled(x, "sin") ** 2).sum(-1)
    error = 4 * squares.std(ddof=1) / math.sqrt(draws)
    name, excess = "mean of Σ σ_k² of the samples minus Σ σ_k²", squares.mean() - square
    found = claim.measured(name, excess, **where)
    found.within(bias, stderr(error, f"4 standard errors of {draws} inputs"))
    found.at_least(stderr(5 * error, f"20 standard errors of {draws} inputs: it is not 0"))


def singular_value_of_ones(tau):
    """Of the matrix of scores for rho = 1, with the eigenvector (1, ..., 1); and sigma_1 of rho."""
    scores = [[1] * tau for _ in range(tau)]
    (value,) = {sum(row) for row in scores}
    return value, 1


def test_printed_averages_do_not_approximate_the_values_themselves(claim):
    """rho = 1 has sigma_1 = 1; its matrix of scores is all ones for every input, with the singular
    value tau, and so is the average. The pattern (1, 0, 0, ...) is right."""
    tau = 16
    ones = flint.fmpq_mat(tau, tau, [1] * tau**2)
    largest = ones * flint.fmpq_mat(tau, 1, [1] * tau)  # an eigenvector, of a symmetric matrix
    claim.counterexample(
        "averages of the singular values of [ρ(x_t, x_s)] approximate those of ρ",
        input={"rho": 1},
        measured=largest[0, 0], expected=1, equation="Section 5.2",
        program=singular_value_of_ones, tau=tau,
    )  # fmt: skip
    over = largest[0, 0] / tau
    claim.measured("singular value over τ", over, equation="Section 5.2").equals(flint.fmpq(1))
    claim.measured("values that are not 0", ones.rank(), equation="Section 5.2").equals(1)


def test_control_equal_tokens_show_one_singular_value_only(claim):
    """x_1 = ... = x_tau: the second value is 0 where sigma_2 = 1/2."""
    values = sampled(np.full(64, 0.1), "sin")
    off = abs(values[1] - SIGMA[1])
    claim.measured("distance from σ_k", off, equation="Section 5.2", k=2).at_least(
        theorem(0.49, "a matrix of rank 1; 0.01 for rounding and more")
    )
