"""Finding (on wang2024, Lemmas E.3 and E.6, Theorem 6.1): a kernel that no few heads can follow.

For rho(t) = (-1)^t t^-beta, beta > 1, every sum phi of H exponentials, and every sum of H powers,
whatever its exponents and weights, satisfies
    ||rho - phi|| >= sum_{t > H} t^-beta >= (H + 1)^-(beta-1) / (beta - 1)        in l1(N_+),
and for either kind of RPE some such sums come as near to sum_{t > H} t^-beta as one likes. So the
error of the best H heads is the tail, exactly; beta - 1 is the right exponent for both. The same
holds for every kernel that alternates in sign. Proof in repro/wang2024/kernels.py: from below a
certificate z, |z_t| <= 1, orthogonal to all H functions, (-1)^t beyond H; from above interpolation.

Checked: the certificate in rationals for random sets of exponentials, in balls for powers;
interpolation in balls, less than 4 % above the tail for H up to 64; small cases by hand. The best
weights for exponents h (lin) and 1/2 + h (log), certified from below and above, for beta = 2.5, 4
and 5: never below the tail; for lin at most the bound on interpolation, so of its order, and equal
to what the certificate gives where they interpolate at 1, ..., H; for log the slope -(beta - 1).
Control: a kernel that does not alternate.

Not checked: the infimum itself, which is not attained.
"""

import functools
from fractions import Fraction

import flint
import pytest
from hypothesis import strategies as st

from repro.bounds import chosen, exactly, rounding_error, theorem
from repro.numerics import l1, logarithms, rates
from repro.wang2024 import kernels
from repro.wang2024.pictures import sums as pictures

BETAS = ["5/2", "4", "5"]
betas = pytest.mark.parametrize("beta", BETAS, ids=["beta=2.5", "beta=4", "beta=5"])
rpes = pytest.mark.parametrize("rpe", ["lin", "log"])
FLOOR = "‖ρ − φ‖ ≥ Σ_{t>H} t^−β"
PROVED = "the certificate, proof in repro/wang2024/kernels.py"
FINE = rounding_error(1e-50, "balls of 192 bits")


def alternating(beta):
    return kernels.alternating(kernels.power(beta))


def floor(beta, H):
    return kernels.alternating_floor(alternating(beta), H, first=1)


@pytest.mark.exact
def test_the_certificate_for_any_exponentials_in_rationals(claim):
    """What sum_t z_t u_h^t and the sizes |z_t| <= 1 are off by; beyond H a geometric series."""

    def off(numerators):
        u, H = [flint.fmpq(b, 1009) for b in numerators], len(numerators)
        z = kernels.certificate(u)
        inner = (sum(z_t * u_h**t for t, z_t in enumerate(z, 1)) for u_h in u)
        beyond = ((-u_h) ** (H + 1) / (1 + u_h) for u_h in u)
        missed = sum(abs(a + b) for a, b in zip(inner, beyond, strict=True))
        return missed + sum(z_t * (-1) ** t < 0 or abs(z_t) > 1 for t, z_t in enumerate(z, 1))

    cases = st.lists(st.integers(1, 1008), min_size=1, max_size=12, unique=True)
    examples = claim.at_scale(smoke=60, laptop=400, paper=20000)
    claim.for_all("defect of z", cases, off, equation="Σ z_t u_h^t = 0", examples=examples)


@pytest.mark.certified
def test_the_certificate_for_powers_in_balls(claim):
    """z_1, ..., z_H from sum_t z_t t^-b_h = 0, for random b_h; each has the sign (-1)^t."""
    rng, draws = claim.rng("exponents"), claim.at_scale(smoke=5, laptop=25, paper=1000)
    sizes = []
    for _ in range(draws):
        H = int(rng.integers(1, 13))
        drawn = sorted(rng.choice(range(9, 200), H, replace=False).tolist())
        with flint.ctx.workprec(800):
            b = [flint.arb(k) / 8 for k in drawn]
            rows = flint.arb_mat([[flint.arb(t) ** -b_h for t in range(1, H + 1)] for b_h in b])
            half = [b_h.zeta(flint.arb(H + 1) / 2) - b_h.zeta(flint.arb(H + 2) / 2) for b_h in b]
            even = [flint.arb(2) ** -b_h * d for b_h, d in zip(b, half, strict=True)]
            beyond = flint.arb_mat([[(-1) ** H * e] for e in even])  # −Σ_{t>H} (−1)^t t^−b
            z = rows.solve(beyond).entries()
        sizes += [(-1) ** t * z_t for t, z_t in enumerate(z, 1)]
    least, largest = min(sizes, key=float), max(sizes, key=float)
    claim.record("systems", draws)
    claim.measured("largest |z_t|", largest, equation="|z_t| ≤ 1").at_most(theorem(1, PROVED))
    claim.measured("least (−1)^t z_t", least, equation="z_t ρ(t) ≥ 0").at_least(theorem(0, PROVED))


@pytest.mark.certified
def test_small_cases_by_hand(claim):
    """u = 1/2: one trial of the chance 1/3. u = 1/2, 1/3: chances 1/3, 1/4, so 1/12 for two
    successes and 1/12 + 1/4 + 1/6 = 1/2 for one or two.

    The tail of t^-4 beyond 1 and 2 is zeta(4) less 1 and 17/16. (q; q) = 1 - q - q^2 + q^5 + q^7
    - ..., by Euler. The bound for t^-2 and three powers, s = 2, q = e^-2: zeta(2) - 49/36 + C (1/9
    + q^2 / 4 + q^5), C = 3 / (5 (q; q)^2). For 2^-t and two exponentials, q = 1/2: 1/2 + C (1/2 +
    1/4), C = 1 / (q; q)^2.
    """
    half, third = Fraction(1, 2), Fraction(1, 3)
    for u, by_hand in (([half], [-third]), ([half, third], [Fraction(-1, 12), half])):
        z = claim.measured("z", kernels.certificate(u), equation="(-1)^t P(N ≥ H + 1 − t)", u=u)
        z.equals(by_hand)
    with flint.ctx.workprec(kernels.BITS):
        zeta = flint.arb.pi() ** 4 / 90
        for H, head in ((1, flint.fmpq(1)), (2, flint.fmpq(17, 16))):
            tail = kernels.alternating_floor(kernels.power(4), H, first=1)
            claim.measured("tail", tail, equation=FLOOR, beta=4, H=H).within(zeta - head, FINE)
        q, half = (-flint.arb(2)).exp(), flint.arb(0.5)
        log = flint.arb.pi() ** 2 / 6 - flint.fmpq(49, 36)
        log += flint.fmpq(3, 5) / euler(q) ** 2 * (flint.fmpq(1, 9) + q**2 / 4 + q**5)
        lin = half + flint.fmpq(3, 4) / euler(half) ** 2
    two, fine = logarithms.Log(2), rounding_error(1e-36, "(q; q) is cut off after 64 factors")
    bound = kernels.Interpolation(kernels.power(2), "log", 3, 2).bound()
    claim.measured("bound", bound, equation="‖ρ − φ‖ ≤ …", rpe="log").within(log, fine)
    bound = kernels.Interpolation(kernels.exponential(two), "lin", 2, two).bound()
    claim.measured("bound", bound, equation="‖ρ − φ‖ ≤ …", rpe="lin").within(lin, fine)


def euler(q):
    return sum((-1) ** k * q ** (k * (3 * k - 1) // 2) for k in range(-12, 13))


def interpolation(rpe, beta, H):
    """Exponents h log 1000 (lin, which sees t = 1 as 0), or 64 H h (log)."""
    kernel = alternating(beta)
    if rpe == "log":
        return kernels.Interpolation(kernel, "log", H, 64)
    return kernels.Interpolation(kernels.later(kernel), "lin", H, logarithms.Log(1000))


@rpes
@betas
@pytest.mark.certified
def test_interpolation_comes_near_to_the_tail(rpe, beta, claim):
    for H in claim.at_scale(smoke=(8, 16), laptop=(4, 8, 16, 32, 64), paper=(8, 16, 32, 64, 128)):
        phi = interpolation(rpe, beta, H)
        with flint.ctx.workprec(kernels.BITS):
            excess, bound = (x / floor(beta, H) - 1 for x in (phi.error(), phi.bound()))
        claim.measured("error over tail, less 1", excess, equation=FLOOR, H=H).at_least(
            theorem(0, PROVED)
        ).at_most(theorem(bound, "the bound on interpolation, kernels.py"))
        most = theorem(Fraction(4, 100), "O(q) or O(1/64H), the bound for q = 1/1000 or e^−64")
        claim.measured("bound over tail, less 1", bound, equation=FLOOR, H=H).at_most(most)


def optimum(rpe, beta, H, window):
    """The best coefficients for the exponents 1, ..., H (lin) or 3/2, ..., H + 1/2 (log)."""
    kernel = alternating(beta)
    if rpe == "log":
        family = l1.Powers(tuple(Fraction(1, 2) + h for h in range(1, H + 1)))
        return l1.best(kernel, family, window=window)
    family = l1.Exponentials(tuple(range(1, H + 1)))
    return l1.best(kernels.later(kernel), family, window=window)


HEADS = {  # laptop and paper scale
    "lin": ((8, 12, 20, 32), (8, 16, 32, 48)),
    "log": ((8, 12, 24, 48), (8, 16, 32, 48)),
}
WINDOWS = {"5/2": 400, "4": 150, "5": 100}  # beyond which the tail is a few % of the error


@functools.cache
def curve(rpe, beta, scale):
    """H and the optimum for each: computed once, for the rate and for the figure."""
    Hs = (4, 6, 9, 16) if scale == "smoke" else HEADS[rpe][scale == "paper"]
    window = 4000 if scale == "paper" else WINDOWS[beta]
    return Hs, [optimum(rpe, beta, H, window) for H in Hs]


@betas
@pytest.mark.best_in_class
def test_the_best_coefficients_for_the_exponents_of_lin_have_the_order_of_the_tail(beta, claim):
    """Interpolation by the same exponentials, q = 1/e, is at most its bound: 1 + O(1/H) tails."""
    (Hs, best), order = curve("lin", beta, claim.scale), float(Fraction(beta)) - 1
    for H, found in zip(Hs, best, strict=True):
        tail = claim.measured("tail", floor(beta, H), equation=FLOOR, H=H)
        tail.at_least(theorem((H + 1) ** -order / order, "∫ t^−β dt from H + 1 on"))
        tail.at_most(theorem(H**-order / order, "∫ t^−β dt from H on"))
        error = claim.measured("best error, from above", found.error, equation=FLOOR, H=H)
        error.at_least(theorem(floor(beta, H), PROVED))
        bound = kernels.Interpolation(kernels.later(alternating(beta)), "lin", H, 1).bound()
        error = claim.measured("best error, from below", found.floor, equation=FLOOR, H=H)
        error.at_most(theorem(bound, "the bound on interpolation, kernels.py"))


@betas
@pytest.mark.best_in_class
def test_rate_the_best_coefficients_for_the_exponents_of_log(beta, claim):
    """No bound is known for powers that are 1 apart: here the slope is measured."""
    (Hs, best), exponent = curve("log", beta, claim.scale), 1 - float(Fraction(beta))
    for H, found in zip(Hs, best, strict=True):
        error = claim.measured("best error, from above", found.error, equation=FLOOR, H=H)
        error.at_least(theorem(floor(beta, H), PROVED))
        claim.record("best error, from below", found.floor, H=H)
    rate = rates.slope(Hs, [found.error for found in best])
    claim.record("Σ|α_h|", best[-1].weight)
    allowed = claim.at_scale(smoke=0.6, laptop=0.15, paper=0.15)
    tolerance = chosen(allowed, "less than the 1 between the exponents of β and β ± 1; finite H")
    claim.measured("exponent", rate.slope, equation="H^−(β−1)").within(exponent, tolerance)


@betas
@pytest.mark.best_in_class
def test_the_certificate_is_the_optimum_for_sixteen_exponentials(beta, claim):
    """The program chooses 1, ..., H to interpolate at; then sum |z_t rho(t)| is its value."""
    H, kernel = 16, alternating(beta)
    with flint.ctx.workprec(200):
        z = kernels.certificate([flint.arb(-h).exp() for h in range(1, H + 1)])
        first = sum(z_t * kernel.ball(t) for t, z_t in enumerate(z, 1))
        value = first + kernel.tail(H + 1)
    found = optimum("lin", beta, H, WINDOWS[beta])
    stated = tuple(range(H))
    claim.measured("times of interpolation, from 0", found.times, equation="1, …, H").equals(stated)
    why = "the enclosure by numerics.l1, which does not use z"
    number = claim.measured("Σ z_t ρ(t)", value, equation="E_H")
    number.at_most(theorem(found.error, why)).at_least(theorem(found.floor, why))


@pytest.mark.best_in_class
def test_three_curves_for_each_beta(claim):
    """Tail, interpolation, best weights: these for exponents that do not grow with H."""
    panels = {"lin": {}, "log": {}}
    for rpe in panels:
        for beta in BETAS:
            Hs, best = curve(rpe, beta, claim.scale)
            least = [float(floor(beta, H)) for H in Hs]
            ours = [float(interpolation(rpe, beta, H).error()) for H in Hs]
            errors, name = [found.error for found in best], f"{float(Fraction(beta)):g}"
            found = {"floor": least, "interpolation": ours, "best": errors}
            panels[rpe][name] = {curve: (Hs, values) for curve, values in found.items()}
            ratio, place = errors[-1] / ours[-1], {"rpe": rpe, "beta": beta, "H": Hs[-1]}
            number = claim.measured("best over interpolation", ratio, equation=FLOOR, **place)
            number.at_least(theorem(0.96, "interpolation is less than 4 % above the tail"))
    claim.figure(
        pictures.alternating(panels),
        "alternating",
        caption="l1 error against (−1)^t t^−β: nothing is below the tail Σ_{t>H} t^−β, and "
        "interpolation comes near to it, with exponents that are far apart. Fixed exponents h "
        "(lin) and 1/2 + h (log) have the same slope.",
    )


@rpes
def test_control_a_kernel_that_does_not_alternate_is_followed_below_its_floor(rpe, claim):
    """(1+t)^-2.5 for (-1)^t (1+t)^-2.5: 8 geometric exponentials, or 6 powers, are far below."""
    kernel = kernels.later(kernels.power("5/2"))
    if rpe == "lin":
        family = l1.Exponentials(tuple(Fraction(4) / 2**h for h in reversed(range(8))))
    else:
        family = l1.Powers(tuple(Fraction(1, 2) + h for h in range(1, 7)))
    error = l1.best(kernel, family, window=600).error
    least = kernels.alternating_floor(kernel, len(family), first=family.first)
    limit = exactly(1, "what the finding allows for an alternating kernel; both are certified")
    claim.measured("floor over error", least / error, equation="ρ(t) = (1+t)^−5/2").at_least(limit)
