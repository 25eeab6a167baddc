"""Section 4.3 (jiang2024, after Theorem 4.1): rank against width.

With m_FF fixed a larger m_h lowers the first term of the bound and raises the second, though not
necessarily the best error; the bound tends to 0 when m_h and m_FF^beta / m_h^(beta+1) tend to
infinity.

True where C_2(H, k) is bounded in k, as "finite complexity measures" in (16) can be read: then both
terms of (17) tend to 0 by their form. A representation of finite rank has it, if its basis
functions are counted up to the rank.

Gap: with bases that do not end C_2(H, m_h) grows with m_h. (10) has orthonormal bases, and k pairs
of orthonormal functions on tau rooms have C_2 >= pi^2 k^3 / (108 tau^(5/2))
(repro/jiang2024/complexity.py), so that m_FF = m_h^2, beta = 2, satisfies both conditions while the
second term is at least a multiple of m_h^2. Then m_h and m_FF^beta / (C_2 m_h^(beta+1)) must tend
to infinity; for the sines and m_FF = m_h^4 they are within sqrt2 pi^2 m_h^-2 and
m_h^-3, for all m_h. The best error does not grow with m_h: a larger head can repeat a smaller
one, with queries that are 0 in its other coordinates.

Checked: in balls, for the sines and m_FF = 64, the first term falls and the second, with C_2, rises
from m_h = 1 to 32. With one layer that all waves share the error falls and levels off (alpha = 2,
ridge, ReLU interpolation). With m_FF neurons to share out it falls and rises again: finding
rate-with-networks.

Reading: C_FF is that of interpolation, w cells in each room.
"""

import itertools

import flint
import pytest

from repro.bounds import chosen, theorem
from repro.jiang2024 import complexity, couplings, rate

TAU, R = 16, 256


def setting(claim):
    import torch

    coupling = couplings.Coupling(couplings.powers(2, R))
    draws = claim.at_scale(smoke=80, laptop=300, paper=3000)
    x = torch.tensor(claim.rng("tokens").random((draws, TAU, 1)), device=claim.device)
    return coupling, x, coupling.target()(x)


def errors(coupling, x, H, ms, w=None):
    """Mean squares with one layer of w neurons for all waves; None for exact waves."""
    found = []
    for m in ms:
        kept = rate.ridge(coupling.sigma, m, TAU)
        exact = rate.truncated(coupling, kept, x)
        network = rate.interpolated(exact, w) if w else exact
        found.append(((network(x) - H) ** 2).mean().item())
    return found


@pytest.mark.construct
def test_one_shared_layer_levels_off(claim):
    """All waves read the same w = 64 neurons: nothing is shared out, and a larger head does no more
    than stop to help. The factor m_h^beta of (17) is the price of separate networks."""
    coupling, x, H = setting(claim)
    curve = errors(coupling, x, H, (1, 2, 4, 8, 16, 32), w=64)
    claim.record("mean square errors", curve)
    ratio = curve[-1] / min(curve)
    claim.measured("last mean square error over the least", ratio, equation="(17)", m_h=32).at_most(
        chosen(2, "level: the second term of (17) has risen by far more than a factor of 2")
    )
    ratio = curve[-1] / errors(coupling, x, H, (32,))[0]
    name = "mean square error over that of exact waves"
    claim.measured(name, ratio, equation="(17)", m_h=32).at_least(
        chosen(5, "the networks, and no longer the rank, make most of the error: 1 if they did not")
    )


def second_term(m, m_FF):
    """C_2 m_h^(beta+1) / m_FF^beta for interpolation, in balls."""
    C_2 = complexity.C_2(complexity.INTERPOLATION, m)
    return C_2 * flint.arb(m) ** 3 / flint.arb(m_FF) ** 2


@pytest.mark.certified
def test_with_the_width_fixed_one_term_falls_and_the_other_rises(claim):
    """m_FF = 64, alpha = beta = 2, C_1 = 1 and C_2(m_h) of the sines: steps of both terms."""

    def terms(m):
        C_2 = complexity.C_2(complexity.INTERPOLATION, m)
        return [rate.printed_bound(C, (2, 2), 1, m, 64) for C in ((1, 1, 0), (1, 0, C_2))]

    steps = [[b / a for a, b in zip(terms(m), terms(m + 1), strict=True)] for m in range(1, 32)]
    wrong = sum(not (first < 1 and second > 1) for first, second in steps)
    claim.measured("steps in the wrong direction", wrong, equation="(17)").equals(0)


@pytest.mark.certified
def test_corrected_condition_makes_the_bound_small(claim):
    """m_FF = m_h^4: C_2 m_h^3 / m_FF^2 <= sqrt2 pi^2 m_h^-2, since (k + 1)(2k + 1)/6 <= k^2."""
    root = flint.arb(2).sqrt()
    for m in (1, 4, 16, 64, 256):
        bound = root * flint.arb.pi() ** 2 / m**2 * (1 + flint.fmpq(1, 10**12))
        claim.measured("second term", second_term(m, m**4), equation="(17)", m_h=m).at_most(
            theorem(bound, "(k + 1)(2k + 1)/6 ≤ k², equality at k = 1; 1e-12 for the balls")
        )


def second_terms(tau, m_h):
    """Less than that of any representation on tau rooms, more than that of the sines at m_h = 1.

    m_FF = m_h^2, beta = 2: C_2 m_h^3 / m_FF^2, C_2 >= pi^2 p^2 (m_h - 2 p tau) / (4 sqrt(tau)).
    """
    from fractions import Fraction
    from math import isqrt

    p = m_h // (3 * tau)
    least = Fraction(3**2 * p**2 * (m_h - 2 * p * tau), 4 * isqrt(tau) * m_h)  # 3 < pi < 22/7
    return least, Fraction(3, 2) * Fraction(22, 7) ** 2  # sqrt2 < 3/2


def test_printed_condition_forgets_that_the_complexity_grows(claim):
    """m_FF = m_h^2, beta = 2: m_FF^2 / m_h^3 = m_h. The second term is C_2 / m_h, which grows like
    m_h^2 for every representation of every target, whatever the number of rooms is."""
    for tau in (1, 2, 16):
        ms = [48 * tau * 10**k for k in range(3)]
        terms = {m: complexity.least_bill(m, tau) / m for m in ms}
        for before, after in itertools.pairwise(ms):
            ratio = terms[after] / terms[before]
            where = {"equation": "(17)", "tau": tau, "m_h": after}
            why = "π² m_h² / (108 τ^(5/2)), m_h ten times as large; 100 but for the balls"
            claim.measured("growth of the second term", ratio, **where).at_least(theorem(99, why))
    least = complexity.least_bill(300) / 300
    found = second_term(300, 300**2)
    claim.measured("second term of the sines", found, equation="(17)", m_h=300).at_least(
        theorem(least, "no orthonormal functions have a smaller C_2")
    )
    tau, m = 16, 10**6
    claim.counterexample(
        "some representation of some target has a smaller second term at this m_h, with "
        "m_FF²/m_h³ = m_h, than the sines at m_h = 1",
        input={"beta": 2, "C_FF": "sup |f″| / 8", "m_FF": "m_h²"},
        measured=complexity.least_bill(m, tau) / m, expected=second_term(1, 1), relation="<",
        equation="Section 4.3", program=second_terms, tau=tau, m_h=m,
    )  # fmt: skip


def test_control_exact_waves_have_no_best_rank(claim):
    """Without networks the error falls to the last m_h."""
    coupling, x, H = setting(claim)
    curve = errors(coupling, x, H, (1, 8, 64))
    fall = min(curve[0] / curve[1], curve[1] / curve[2])
    claim.measured("least fall as m_h becomes 8 times as large", fall, equation="(17)").at_least(
        chosen(50, "8^(2α − 1) = 512 in theory; 1 where networks make the error level off")
    )
