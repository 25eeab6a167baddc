"""Equations (46) and (47) (jiang2024, Appendix A.3): the tail, seen by a sequence.

int sum_{t,s} |rho(x_t, x_s) - rho~(x_t, x_s)|^2 dx = tau^2 |rho - rho~|_2^2
                                                    <= tau^2 sum_{i > m_h} sigma_i^2.

False as printed: the terms s = t see the diagonal. One sine on both sides, tau = 2, gives 5 and not
4; under an encoding the left side has no bound in terms of the tail at all.

Corrected, for independent tokens of one law and delta = rho - rho~:
    tau (tau - 1) |delta|_2^2 + tau int delta(u, u)^2 du.
Proof. x_t and x_s are independent for s != t, so that the pair (t, s) costs |delta|_2^2; a pair
(t, t) costs int delta(u, u)^2 du.                                                              QED
With delta = sum_i d_i phi_i psi_i this is tau (c sum d_i^2 + (sum d_i)^2), c = tau - 1/2, for sines
on both sides, and tau c sum d_i^2 for sines against cosines (repro/jiang2024/rate.py, 2).
For encoded tokens, uniform in rooms of volume 1, the pairs s != t cost at most |delta|_2^2, hence
at most the tail itself, without tau^2: the pair (t, s) costs the integral of delta^2 over
I_t x I_s, and these blocks are disjoint.

Checked: the two closed forms exactly, for random rational d_i; in balls for tails of i^-alpha;
against sampled sequences. The encoded pairs in balls, the counterexamples in rationals.

Misprint: rho^ for rho~ on the right of (46). Reading: the integral over all x, of volume 1.
"""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import exactly, rounding_error, stderr, theorem
from repro.jiang2024 import couplings, rate
from repro.numerics import exact

SUM = "expected squared error, summed over all pairs"
both = pytest.mark.parametrize("key", ["sin", "cos"])


def polynomial(d, key):
    """delta(u, v) as a dictionary: exponents (of e^{2 pi i u}, of e^{2 pi i v}) -> (re, im)."""
    half, terms = Fraction(1, 2), {}
    for i, value in enumerate(d, start=1):
        if key == "sin":  # 2 sin a sin b = cos(a - b) - cos(a + b)
            some = {(i, -i): (1, 0), (-i, i): (1, 0), (i, i): (-1, 0), (-i, -i): (-1, 0)}
        else:  # 2 sin a cos b = sin(a + b) + sin(a - b)
            some = {(i, i): (0, -1), (-i, -i): (0, 1), (i, -i): (0, -1), (-i, i): (0, 1)}
        terms |= {k: (half * a * value, half * b * value) for k, (a, b) in some.items()}
    return terms


def mean_square(terms):
    """The constant term of the square of a real trigonometric polynomial."""
    return sum(a * a + b * b for a, b in terms.values())


def on_the_diagonal(terms):
    """The same polynomial at v = u, terms of one frequency added up."""
    found = {}
    for (j, k), (a, b) in terms.items():
        x, y = found.get(j + k, (0, 0))
        found[j + k] = (x + a, y + b)
    return found


def left_side(d, key, tau):
    """(46) for independent tokens: pairs s != t, and s = t."""
    delta = polynomial(d, key)
    pairs = tau * (tau - 1) * mean_square(delta)
    return pairs + tau * mean_square(on_the_diagonal(delta))


@both
@pytest.mark.exact
def test_closed_form_for_any_coefficients(key, claim):
    fractions = st.fractions(min_value=-3, max_value=3, max_denominator=20)
    cases = st.tuples(st.lists(fractions, min_size=1, max_size=6), st.integers(1, 20))

    def difference(case):
        d, tau = case
        sigma = exact.rationals(d)
        closed = rate.row_error(sigma, sigma[:0], tau, key)
        return exact.rational(left_side(d, key, tau)) - tau * closed

    examples = claim.at_scale(smoke=40, laptop=200, paper=2000)
    name = "left side of (46) minus its closed form"
    claim.for_all(name, cases, difference, equation="(46)", examples=examples)


@both
@pytest.mark.certified
def test_closed_form_for_the_tails_of_powers(key, claim):
    """alpha = 3/2, m_h = 2, R = 7, in balls: sums over more than 4R equispaced points are the
    integrals of these trigonometric polynomials, on the diagonal too."""
    R, m, tau, n = 7, 2, 5, 29
    sigma = couplings.powers("3/2", R)
    tail = np.concatenate([0 * sigma[:m], sigma[m:]])
    coupling = couplings.Coupling(tail, key)
    x = exact.rationals([flint.fmpq(j, n) for j in range(n)])[:, None]
    delta = coupling.rho(x, x)
    # sin(2 pi i/4) is 1, 0, -1, 0, ...: 2 sin sin at (1/4, 1/4), 2 sin cos at (1/4, 0)
    quarter, place = exact.rationals([["1/4"]]), exact.rationals([["1/4" if key == "sin" else 0]])
    signs = {3: 1, 5: 1, 7: 1} if key == "sin" else {3: -1, 5: 1, 7: -1}
    by_hand = sum(2 * sign / flint.arb(i**3).sqrt() for i, sign in signs.items())
    off = abs(coupling.rho(quarter, place)[0, 0] - by_hand)
    claim.measured("δ(1/4, v) less its sum by hand", off, equation="(10)").at_most(
        rounding_error(flint.fmpq(1, 10**13), "balls of 53 bits")
    )
    pairs, diagonal = (delta * delta).sum() / n**2, (delta.diagonal() ** 2).sum() / n
    left = tau * (tau - 1) * pairs + tau * diagonal
    closed = tau * rate.row_error(sigma, sigma[:m], tau, key)
    S, T = (part[m] for part in couplings.tails(sigma))
    by_hand = tau * ((tau - flint.fmpq(1, 2)) * T + (S**2 if key == "sin" else 0))
    for name, stated in (("the closed form", closed), ("c T + S²", by_hand)):
        off = abs(left - stated)
        claim.measured("distance", off, equation="(46)", stated=name).at_most(
            theorem(flint.fmpq(1, 10**12), "aliasing begins at 4R + 1 > 28; balls")
        )


@both
@pytest.mark.construct
def test_sampled_sequences_agree(key, claim):
    import torch

    tau, m, draws = 16, 4, claim.at_scale(smoke=400, laptop=4000, paper=40000)
    coupling = couplings.Coupling(couplings.powers(2, 64), key)
    x = torch.tensor(claim.rng("tokens").random((draws, tau, 1)), device=claim.device)
    network = rate.truncated(coupling, coupling.sigma[:m], x)
    delta = coupling.target().logits(x) - network.target().logits(x)
    u, i = x[0].cpu().numpy(), np.arange(m + 1, 65)  # delta once more, term by term
    waves = np.sin(2 * np.pi * u * i), getattr(np, key)(2 * np.pi * u * i)
    apart = np.abs(delta[0].cpu().numpy() - 2 * (waves[0] / i**2) @ waves[1].T).max()
    claim.measured("distance of δ from its sum", apart, equation="(10)").at_most(
        rounding_error(1e-13, "900 2^-53: waves off by (2πi + 20) 2^-53 on both sides, 64 terms")
    )
    sums = (delta**2).sum((-1, -2))
    error = 4 * (sums.std() / math.sqrt(draws)).item()
    closed = tau * float(rate.row_error(coupling.sigma, coupling.sigma[:m], tau, key))
    claim.measured(SUM, sums.mean().item(), equation="(46)", sequences=draws).within(
        closed, stderr(error, "4 standard errors of the mean")
    )


@both
@pytest.mark.certified
def test_encoded_pairs_cost_no_more_than_the_tail(key, claim):
    """tau = 3 pieces, glued waves: the blocks I_t x I_s partition I x I, so that the pairs s != t
    have a part of |delta|_2^2 = T_m. In balls, on 29 points of each piece."""
    R, m, tau, n = 5, 1, 3, 29
    sigma = couplings.powers("3/2", R)
    tail = np.concatenate([0 * sigma[:m], sigma[m:]])
    coupling = couplings.Coupling(tail, key, pieces=tau)
    grid = exact.rationals([flint.fmpq(2 * j + 1, 2 * n) for j in range(n)])[:, None]
    x = np.concatenate([grid + 2 * t for t in range(1, tau + 1)])
    delta = coupling.rho(x, x)
    square = (delta * delta).reshape(tau, n, tau, n).sum((1, 3)) / n**2  # of block (t, s)
    T = couplings.tails(sigma)[1][m]
    everything, blocks = square.sum(), square.sum() - square.diagonal().sum()
    claim.measured("all blocks minus the tail", abs(everything - T), equation="(47)").at_most(
        theorem(flint.fmpq(1, 10**12), "waves of frequency 5 on 87 points; balls")
    )
    claim.measured("squared error of the pairs s ≠ t", blocks, equation="(47)").at_most(
        theorem(T, "the blocks partition I × I: no factor τ²")
    )
    claim.record("pairs over tail", blocks / T)


def summed_square_and_the_printed_side(tau):
    """delta = 2 sin a sin b: its square has the mean 1 for independent a, b, and 3/2 for a = b."""
    from fractions import Fraction

    apart, equal = Fraction(1), Fraction(3, 2)
    return tau * (tau - 1) * apart + tau * equal, tau**2 * apart


def test_printed_equation_forgets_the_diagonal(claim):
    """sigma = (2, 1) on sines, m_h = 1: delta = 2 sin(4 pi u) sin(4 pi v), |delta|_2^2 = 1. Two
    pairs s != t cost 1 each, two pairs s = t cost 3/2 each."""
    tau = 2
    left = left_side([0, 1], "sin", tau)
    claim.measured("|ρ − ρ~|²", mean_square(polynomial([0, 1], "sin")), equation="(46)").equals(1)
    statements = {"=": "is τ²|ρ − ρ~|²", "<=": "is at most τ²|ρ − ρ~|²"}
    for relation, stated in statements.items():
        claim.counterexample(
            f"the summed squared error {stated}",
            input={"m_h": 1, "sigma": [2, 1], "phi = psi": "√2 sin 2πix"},
            measured=left, expected=tau**2, relation=relation, equation="(46)-(47)",
            program=summed_square_and_the_printed_side, tau=tau,
        )  # fmt: skip


def cost_of_one_token_and_the_printed_side(n, tau):
    """phi_2 = psi_2 = h (1 - n |y|) near the middle of I_1, with |phi_2|_2 = 1 and sigma_2 = 1."""
    from fractions import Fraction

    e = Fraction(1, n)
    h_squared = 1 / (2 * e / 3)  # int (1 - y/e)^2 = 2e/3
    return h_squared**2 * 2 * e / 5, tau**2  # int phi_2^4, the pair t = s = 1 alone


def test_printed_inequality_fails_under_an_encoding_too(claim):
    """A tail of one term, phi_2 = psi_2 a hat on I_1 of height h and half-width e, h^2 = 3 / (2e):
    |delta|_2 = 1, and the pair t = s = 1 alone costs int phi^4 = 9 / (10 e)."""
    n, tau = 100, 2
    e = flint.fmpq(1, n)
    line = flint.fmpq_poly([1, -1])
    norm, fourth = (2 * e * (line**p).integral()(1) for p in (2, 4))
    height = 1 / norm  # h^2
    claim.measured("|φ_2|²", height * norm, equation="(10)").equals(1)
    claim.counterexample(
        "the summed squared error of encoded tokens <= τ² times the tail",
        input={"m_h": 1, "phi_2 = psi_2": "hat of half-width 1/n in I_1", "sigma_2": 1},
        measured=height**2 * fourth, expected=tau**2, relation="<=", equation="(46)-(47)",
        program=cost_of_one_token_and_the_printed_side, n=n, tau=tau,
    )  # fmt: skip


def test_control_equal_tokens_see_nothing_but_the_diagonal(claim):
    """x_1 = ... = x_tau: tau^2 times the diagonal, far above what independent tokens have."""
    d, tau = [Fraction(1, i) for i in range(3, 30)], 16
    delta = polynomial(d, "sin")
    equal = tau**2 * mean_square(on_the_diagonal(delta))
    independent = left_side(d, "sin", tau)
    claim.measured(SUM, equal, equation="(46)").at_least(
        exactly(5 * independent, "τ² (Σ d_i)² and more, against τ² Σ d_i² + τ (Σ d_i)²")
    )
