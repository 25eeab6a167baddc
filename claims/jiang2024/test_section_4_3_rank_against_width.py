"""Section 4.3 (jiang2024, after Theorem 4.1): rank against width.

With m_FF fixed a larger m_h lowers the first term of the bound and raises the second, though not
necessarily the best error; the bound tends to 0 when m_h and m_FF^beta / m_h^(beta+1) tend to
infinity.

Checked, alpha = 2, ridge, ReLU interpolation: in balls, the first term falls and the second rises
with m_h; with m_FF neurons in all, m_FF / m_h for each wave, the error falls and rises again in
m_h, and the best m_h grows with m_FF; with one layer that all waves share it falls and levels off.
False as printed, for every target on [0, 1] and every representation of it: k pairs of orthonormal
functions have C_2 >= pi^2 k^3 / 108 (repro/jiang2024/complexity.py), so that m_FF = m_h^2, beta =
2, satisfies both conditions while the second term is at least pi^2 m_h^2 / 108. Repaired: m_h and
m_FF^beta / (C_2 m_h^(beta+1)) must tend to infinity. Then both terms of (17) tend to 0, by their
form; for the sines and m_FF = m_h^4 they are within sqrt2 pi^2 m_h^-2 and m_h^-3, for all m_h.
Control: exact waves, where nothing rises.
"""

import flint
import pytest

from repro import jiang2024

TAU, R = 16, 256
SQUARE = "mean square error"


def setting(claim):
    import torch

    coupling = jiang2024.couplings.Coupling(jiang2024.couplings.powers(2, R))
    draws = claim.at_scale(smoke=80, laptop=300, paper=3000)
    x = torch.tensor(claim.rng("tokens").random((draws, TAU, 1)), device=claim.device)
    return coupling, x, coupling.target()(x)


def errors(coupling, x, H, ms, width):
    """Mean squares with width(m) neurons for each wave; None for exact waves."""
    found = []
    for m in ms:
        kept = jiang2024.rate.ridge(coupling.sigma, m, TAU)
        w = width(m)
        network = (
            jiang2024.rate.interpolated(coupling, kept, w, x)
            if w
            else jiang2024.rate.truncated(coupling, kept, x)
        )
        found.append(((network(x) - H) ** 2).mean().item())
    return found


@pytest.mark.construct
def test_a_fixed_budget_has_a_best_rank(claim):
    coupling, x, H = setting(claim)
    ms, budgets = (1, 2, 4, 8, 16, 32, 64), (128, 512, 2048)
    curves = {
        m_FF: errors(coupling, x, H, ms, lambda m, b=m_FF: max(b // m, 2)) for m_FF in budgets
    }
    exact = errors(coupling, x, H, ms, lambda m: None)
    best = {m_FF: ms[curve.index(min(curve))] for m_FF, curve in curves.items()}
    claim.record(**{f"best m_h, m_FF = {m_FF}": m for m_FF, m in best.items()})
    for m_FF, curve in curves.items():
        low, name = min(curve), f"{SQUARE} over the least, m_FF = {m_FF}"
        seen = "spread: 50 and more at m_h = 1, 10 and more at m_h = 64"
        claim.at_least(curve[0] / low, 10, f"{name}, m_h = 1", equation="falls", source=seen)
        claim.at_least(curve[-1] / low, 4, f"{name}, m_h = 64", equation="rises", source=seen)
    grows = [best[m_FF] for m_FF in budgets]
    claim.equals(sorted(set(grows)), grows, "best m_h, m_FF = 128, 512, 2048", equation="grows")
    claim.figure(
        jiang2024.pictures.rate.budget(ms, curves, exact),
        "budget",
        caption=f"m_FF neurons shared out among m_h waves (α = 2, τ = {TAU}, ridge): the error "
        "falls with the rank, then rises with the error of the waves.",
        alt="; ".join(
            f"m_FF = {m_FF}: {curve[0]:.1e} at m_h = 1, least {min(curve):.1e} at m_h = "
            f"{best[m_FF]}, {curve[-1]:.1e} at m_h = 64"
            for m_FF, curve in curves.items()
        ),
    )


@pytest.mark.construct
def test_one_shared_layer_levels_off(claim):
    """All waves read the same w = 64 neurons: nothing is shared out, and a larger head does no more
    than stop to help. The factor m_h^beta of (17) is the price of separate networks."""
    coupling, x, H = setting(claim)
    ms = (1, 2, 4, 8, 16, 32)
    curve = errors(coupling, x, H, ms, lambda m: 64)
    claim.record(shared_layer=curve)
    name, seen = f"{SQUARE} at m_h = 32 over the least", "spread: 1.0 to 1.3 seen; 16 if shared out"
    claim.at_most(curve[-1] / min(curve), 2, name, equation="levels off", source=seen)
    exact = errors(coupling, x, H, (32,), lambda m: None)[0]
    name, seen = f"{SQUARE} over that of exact waves, m_h = 32", "spread: 25 and more seen"
    claim.at_least(curve[-1] / exact, 5, name, equation="the second term", source=seen)


def second_term(m, m_FF):
    """C_2 m_h^(beta+1) / m_FF^beta for interpolation, in balls."""
    complexity = jiang2024.complexity
    C_2 = complexity.C_2(complexity.INTERPOLATION, m)
    return C_2 * flint.arb(m) ** 3 / flint.arb(m_FF) ** 2


@pytest.mark.certified
def test_with_the_width_fixed_one_term_falls_and_the_other_rises(claim):
    for m in range(1, 32):
        first, second = (
            [jiang2024.rate.printed_bound(C, (2, 2), 1, k, 64) for k in (m, m + 1)]
            for C in ((1, 1, 0), (1, 0, 1))
        )
        falls, rises = "theorem: m_h^−(2α − 1)", "theorem: m_h^(β + 1)"
        name = f"from m_h = {m} to {m + 1}"
        claim.at_most(first[1] / first[0], 1, f"first term {name}", equation="(17)", source=falls)
        claim.at_least(
            second[1] / second[0], 1, f"second term {name}", equation="(17)", source=rises
        )


@pytest.mark.certified
def test_repaired_condition_makes_the_bound_small(claim):
    """m_FF = m_h^4: C_2 m_h^3 / m_FF^2 <= sqrt2 pi^2 m_h^-2, since (k + 1)(2k + 1)/6 <= k^2."""
    root = flint.arb(2).sqrt()
    for m in (1, 4, 16, 64, 256):
        claim.at_most(
            second_term(m, m**4),
            root * flint.arb.pi() ** 2 / m**2 * (1 + flint.fmpq(1, 10**12)),
            f"second term, m_h = {m}",
            equation="C_2 m_h^(β+1) / m_FF^β → 0",
            source="theorem: (k + 1)(2k + 1)/6 ≤ k², equality at k = 1; 1e-12 for the balls",
        )


def test_printed_condition_forgets_that_the_complexity_grows(claim):
    """m_FF = m_h^2, beta = 2: m_FF^2 / m_h^3 = m_h. The second term is C_2 / m_h, which is at least
    pi^2 m_h^2 / 108 for every representation of every target on [0, 1]."""
    terms = {m: jiang2024.complexity.least_bill(m) / m for m in (3, 30, 300, 3000)}
    for m in (30, 300, 3000):
        claim.at_least(
            terms[m] / terms[m // 10],
            99,
            f"least second term, m_h = {m} against {m // 10}",
            equation="(17)",
            source="theorem: π² m_h² / 108; 100 but for the balls",
        )
        claim.at_least(
            second_term(m, m**2),
            terms[m],
            f"second term of the sines, m_h = {m}",
            equation="(17)",
            source="theorem: no orthonormal functions have a smaller C_2",
        )
    claim.counterexample(
        "some representation has at m_h = 3000, m_FF²/m_h³ = 3000, a smaller second term than the "
        "sines at m_h = 1",
        input={"beta": 2, "C_FF": "sup |f″| / 8", "m_FF": "m_h²", "m_h": [1, 3000]},
        measured=terms[3000],
        expected=second_term(1, 1),
        relation="<",
        equation="m_h → ∞, m_FF^β / m_h^(β+1) → ∞",
        snippet="from math import pi\n"
        "least = lambda k: pi**2 * k**3 / 108     # C_2 of any k pairs of orthonormal functions\n"
        "print([least(m) * m**3 / (m**2)**2 for m in (3, 30, 300, 3000)], 'does not tend to 0')\n",
    )


def test_control_exact_waves_have_no_best_rank(claim):
    """Without networks the error falls to the last m_h: by more than 1000 in all."""
    coupling, x, H = setting(claim)
    curve = errors(coupling, x, H, (1, 8, 64), lambda m: None)
    claim.at_least(
        min(curve[0] / curve[1], curve[1] / curve[2]),
        50,
        "fall from m_h = 1 to 8, and to 64",
        equation="the first term alone",
        source="spread: 8^(2α − 1) = 512 in theory, 340 seen",
    )
