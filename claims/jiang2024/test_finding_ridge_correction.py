"""Finding (on jiang2024, 5.1 and A.3): a closed form for the diagonal, as good as any coupling.

For tau independent uniform tokens and phi_i = psi_i = sqrt2 sin(2 pi i x), raising the m kept
singular values by S_m / (m + c), c = tau - 1/2, minimises E sum_s delta_ts^2 among all couplings
that are diagonal in the first m sines; the minimum is c (T_m + S_m^2 / (m + c)), which restores the
exponent 2 alpha - 1 for sigma_i <= C_1 i^-alpha, alpha > 1. And no coupling of rank m whatsoever
has less than (tau - 1) (T_m + S_m^2 / (m + tau - 1)): the closed form is within a factor
1 + 1/(2 tau - 2) of the best, for all m and all sigma.

Proof: repro/jiang2024/rate.py, 2 and 3; logit_floor.py.

Checked: the minimum and the factor exactly, for random rational sigma; the bound in balls, with
R = infinity (Hurwitz's zeta); least squares from two starts, for alpha = 1.5, 2, 3, which ends
between floor and closed form; sampled sequences.

Not checked: other orthonormal functions, for which the floor holds and the closed form does not.
"""

import math

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import stderr, theorem
from repro.jiang2024 import couplings, logit_floor, rate
from repro.jiang2024.pictures import rate as pictures
from repro.numerics import exact, lowrank

ALPHAS = ["3/2", "2", "3"]
alphas = pytest.mark.parametrize("alpha", ALPHAS, ids="alpha={}".format)
ROW = "expected squared error of a row of logits"
TAU = 16

singular_values = st.lists(
    st.fractions(min_value=0, max_value=4, max_denominator=12), min_size=2, max_size=8
).map(lambda values: exact.rationals(sorted(values, reverse=True)))


@st.composite
def cases(draw):
    """sigma, m < R, tau, and a change of the kept coefficients."""
    sigma = draw(singular_values)
    m, tau = draw(st.integers(1, len(sigma) - 1)), draw(st.integers(2, 20))
    changes = st.fractions(min_value=-1, max_value=1, max_denominator=9)
    change = exact.rationals(draw(st.lists(changes, min_size=m, max_size=m)))
    return sigma, m, tau, change


def tails(sigma, m):
    S, T = couplings.tails(sigma)
    return S[m], T[m]


@pytest.mark.exact
def test_ridge_is_the_minimum_among_diagonal_couplings(claim):
    """A change h of the coefficients raises the cost by exactly c sum h_i^2 + (sum h_i)^2."""

    def difference(case):
        sigma, m, tau, change = case
        c = tau - flint.fmpq(1, 2)
        best = rate.ridge(sigma, m, tau)
        closed = logit_floor.least_cost(*tails(sigma, m), m, c)
        rise = rate.row_error(sigma, best + change, tau, "sin") - closed
        return rise - (c * (change**2).sum() + change.sum() ** 2)

    examples = claim.at_scale(smoke=40, laptop=200, paper=5000)
    name, at = "cost minus its closed form", "(46), repaired"
    claim.for_all(name, cases(), difference, equation=at, examples=examples)


@pytest.mark.exact
def test_ridge_is_within_the_factor_of_the_floor(claim):
    """(2 tau - 2) ridge <= (2 tau - 1) floor, and floor <= ridge, in rationals."""

    def wrong(case):
        sigma, m, tau, _ = case
        kept = rate.ridge(sigma, m, tau)
        cost = rate.row_error(sigma, kept, tau, "sin")
        floor = logit_floor.row_floor(*tails(sigma, m), m, tau)
        return int(cost < floor) + int((2 * tau - 2) * cost > (2 * tau - 1) * floor)

    examples = claim.at_scale(smoke=40, laptop=200, paper=5000)
    name, at = "inequalities violated", "logit_floor.py"
    claim.for_all(name, cases(), wrong, equation=at, examples=examples)


@pytest.mark.exact
def test_corrections_and_bounds_by_hand(claim):
    """4, 2, 1 and tau = 2, m = 1: 4 + 3/(1 + 3/2), with the trace 4 + 3; kept 3 leaves 1, 2, 1,
    which costs 3/2 6 + 4^2. S = 3, T = 5, m = 2, tau = 5: 4 (5 + 9/6). Bounds: 3/2 (1/3 + 1)/4^3
    and 3/2 3^2 (1/5 + 1/4)/4^5; an eighth of 8 (3 2)^2."""
    sigma = exact.rationals([4, 2, 1])
    for name, found, by_hand in (
        ("ridge", rate.ridge(sigma, 1, 2)[0], (26, 5)),
        ("trace, m = 1", rate.trace(sigma, 1)[0], (7, 1)),
        ("trace, m = 2", rate.trace(sigma, 2)[1], (5, 2)),
        ("row", rate.row_error(sigma, sigma[:1] - 1, 2, "sin"), (25, 1)),
        ("row, cosines", rate.row_error(sigma, sigma[:1] - 1, 2, "cos"), (9, 1)),
        ("floor", logit_floor.row_floor(flint.fmpq(3), 5, 2, 5), (26, 1)),
        ("bound of the outputs", rate.mean_square_bound(flint.fmpq(8), 3, 2), (36, 1)),
    ):
        value = claim.measured("value by hand", found, equation="(46), repaired", of=name)
        value.equals(flint.fmpq(*by_hand))
    for args, by_hand in (((2, 4, 2), (1, 32)), ((3, 4, 2, 3), (243, 40960))):
        bound = rate.ridge_bound(*args) / flint.fmpq(*by_hand)
        claim.measured("bound of a row over hand", bound, equation="(46), repaired").within(
            1, theorem(flint.fmpq(1, 10**12), "worked out by hand; 1e-12 for balls")
        )


@alphas
@pytest.mark.certified
def test_bound_exponent_and_constant_for_infinite_rank(alpha, claim):
    """In balls: cost <= bound for m = 1, ..., 2^20. S_m and T_m lie between integrals from m + 1
    and from m: costs over their power, 2 alpha - 1 for ridge, trace and floor, 2 alpha - 2 without
    a correction, tend to these constants, from m = 64 to 2^20."""
    c, a = TAU - flint.fmpq(1, 2), exact.rational(alpha)
    p, one = 2 * a - 1, 1 / (a - 1) ** 2
    for m in (1, 2, 4, 16, 64, 2**12, 2**20):
        S, T = couplings.infinite_tails(alpha, m)
        ridge = logit_floor.least_cost(S, T, m, c)
        claim.measured(ROW, ridge, equation="(46), repaired", m=m).at_most(
            theorem(rate.ridge_bound(alpha, m, TAU), "integrals for S_m and T_m")
        )
        if m < 64:
            continue
        steps = (flint.arb(m) / (m + 1)) ** flint.arb(p) * m / (m + c)
        for kind, cost, constant, power, more in (
            ("ridge", ridge, c * (1 / p + one), p, 0),
            ("trace", c * (T + S * S / m), c * (1 / p + one), p, 0),
            ("floor", logit_floor.row_floor(S, T, m, TAU), (TAU - 1) * (1 / p + one), p, 0),
            ("plain", c * T + S * S, one, p - 1, c / p / one / m),
        ):
            over = cost * flint.arb(m) ** flint.arb(power) / constant
            at = {"equation": "2α − 1 or 2α − 2", "kind": kind, "m": m}
            ratio = claim.measured("cost over its power and constant", over, **at)
            ratio.at_most(theorem(1 + more, "integrals from m, m + c ≥ m"))
            ratio.at_least(theorem(steps, "integrals from m + 1, and m/(m + c)"))


@pytest.mark.best_in_class
def test_least_squares_over_all_couplings_ends_between_floor_and_ridge(claim):
    """R sines on 4R + 4 points, which see their products exactly, and couplings of any kind."""
    ms = claim.at_scale(smoke=(1, 4, 16), laptop=(1, 2, 4, 8, 16, 32, 64), paper=(1, 4, 16, 64))
    R, most = claim.at_scale(smoke=48, laptop=96, paper=256), 1 + 1 / (2 * TAU - 2)
    panels = {}
    for alpha in ALPHAS:
        panels[f"{float(exact.rational(alpha)):g}"] = curves = over_floor(claim, alpha, R, ms)
        for name, curve in curves.items():
            claim.record(name, curve, alpha=alpha)
        for k, m in enumerate(ms):
            best, ridge = curves["best"][k], curves["ridge"][k]
            at = {"equation": "logit_floor.py", "alpha": alpha, "m": m}
            found = claim.measured("best found over floor", best, **at)
            found.at_least(theorem(1 - 1e-9, "logit_floor.py; 1e-9 for rounding"))
            found.at_most(theorem(most, "the best has this at most; rate.py, 3, logit_floor.py"))
            claim.measured("ridge over floor", ridge, **at).at_most(
                theorem(most, "logit_floor.py: 1 + 1/(2τ − 2)")
            )
    ends = {name: (curve[0], curve[-1]) for name, curve in panels["2"].items()}
    claim.figure(
        pictures.over_floor(ms, panels, most),
        "over-floor",
        caption="By how much a row of logits costs more than the floor of all couplings of rank m "
        f"(τ = {TAU}, {R} equal sines).",
        alt=f"Cost over floor for α = 2, from m = {ms[0]} to {ms[-1]}: "
        + "; ".join(f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in ends.items())
        + f". Proved for the ridge: at most {most:.4f}.",
    )


def over_floor(claim, alpha, R, ms):
    """Costs of a row of logits over the floor, for each m: closed forms and least squares."""
    rng = claim.rng("starts")
    sigma, N = couplings.powers(alpha, R), 4 * R + 4
    waves = np.sqrt(2) * np.sin(np.outer((np.arange(N) + 0.5) / N, 2 * np.pi * np.arange(1, R + 1)))
    A = (waves * exact.to_float(sigma)) @ waves.T
    cost = lowrank.Cost(pairs=TAU - 1, diagonal=1)
    curves = {name: [] for name in ("plain", "trace", "ridge", "best", "worst")}
    for m in ms:
        floor = float(logit_floor.row_floor(*tails(sigma, m), m, TAU))
        kept = {"plain": sigma[:m], "trace": rate.trace(sigma, m)}
        kept["ridge"] = rate.ridge(sigma, m, TAU)
        costs = {how: float(rate.row_error(sigma, s, TAU, "sin")) for how, s in kept.items()}
        found = [lowrank.fit(A, start, cost).cost for start in lowrank.starts(A, m, rng)]
        for name, value in {**costs, "best": min(found), "worst": max(found)}.items():
            curves[name].append(value / floor)
    return curves


@alphas
@pytest.mark.construct
def test_sampled_sequences_cost_what_the_closed_form_says(alpha, claim):
    import torch

    m, R, draws = 8, 256, claim.at_scale(smoke=300, laptop=3000, paper=30000)
    coupling = couplings.Coupling(couplings.powers(alpha, R))
    x = torch.tensor(claim.rng("tokens").random((draws, TAU, 1)), device=claim.device)
    network = rate.truncated(coupling, rate.ridge(coupling.sigma, m, TAU), x)
    target = coupling.target()
    rows = ((target.logits(x) - network.target().logits(x)) ** 2).sum(-1)
    c = TAU - flint.fmpq(1, 2)
    closed = float(logit_floor.least_cost(*tails(coupling.sigma, m), m, c))
    error = 4 * (rows.mean(-1).std() / math.sqrt(draws)).item()
    claim.measured(ROW, rows.mean().item(), equation="(46), repaired").within(
        closed, stderr(error, f"4 standard errors of {draws} sequences")
    )
    square = ((target(x) - network(x)) ** 2).mean().item()
    claim.measured("mean square error of an output", square, equation="rate.py, 1").at_most(
        theorem(closed / 8, "(K_F diam f)²/8 times the row")
    )
    claim.record("bound_over_actual", closed / 8 / square)


@pytest.mark.parametrize(("kind", "m"), [("plain", 64), ("trace", 1)], ids=["plain", "trace"])
def test_control_other_corrections_exceed_the_factor(kind, m, claim):
    """alpha = 2, R = infinity: no correction at m = 64, the whole trace at m = 1; in balls."""
    S, T = couplings.infinite_tails(2, m)
    c = TAU - flint.fmpq(1, 2)
    cost = c * T + S**2 if kind == "plain" else c * (T + S**2 / m)
    over = cost / logit_floor.row_floor(S, T, m, TAU)
    claim.measured("cost over floor", over, equation="factor 1 + 1/(2τ − 2)", m=m).at_least(
        theorem(1 + flint.fmpq(1, 2 * TAU - 2), "the factor, which the ridge is within")
    )
