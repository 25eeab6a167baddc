"""Lemma E.6 (wang2024, Appendix E.2): powers add up to polynomial decay.

If |rho(t)| <= C t^-beta, beta > 1, then for all n <= 0.99 beta - 1 and all m some sum phi of m
summable powers has ||rho - phi|| <= C(n) / m^n in l1(N_+).

The lemma holds, for every n <= beta - 1 and beta > 1, with C(n) = C max(K(beta), zeta(beta)).
Proof: for m >= 2, by interpolation at 1, ..., m with the exponents s m, 2 s m, ..., s m^2, the
error is at most C K(beta) m^-(beta-1) (repro/wang2024/kernels.py, Enough heads); for m = 1 take
phi = 0. The exponent beta - 1 cannot be improved (finding-alternating-kernel).

Reading: O hides an absolute constant C (Section 3; it is the C > 0 of the proof). Then C(n) depends
on n alone, as t^-beta <= t^-(n+1); it is proportional to C.

Checked: our bound in balls for six kernels, C = 1000, and beta = 1.5, for which the lemma
admits no n. The optimum for exponents 1/2 + h, certified, for a rough kernel and for two smooth
ones, which it follows much faster; for these, layers in float64 on the worst input. The proof's
own construction, and its arithmetic. From which m on the proof's constants say anything.
Control: a rate n above beta - 1.

Not checked: the constant of Lemma F.5, which the printed proof uses (its own claim). Layers are
measured on windows of 200 tokens; t = 0, which log-RPE does not see, is part of Theorem 6.1.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import l1, rates
from repro.wang2024 import essential, heads, kernels, printed_bounds
from repro.wang2024.pictures import sums as pictures

SMOOTH = ["(1+t)^-2.5", "t^-2.5 cos(log t)"]
ROUGH, SLOW = "(-1)^t t^-4", "(-1)^t t^-1.5"
NAMES = [*SMOOTH, ROUGH, "(-1)^t t^-2.5", "+-t^-2.5", SLOW]
names = pytest.mark.parametrize("name", NAMES)
OURS = "‖ρ − φ‖ ≤ C K(β) m^−(β−1)"
PROVED = "our bound, proof in repro/wang2024/kernels.py"
TAIL = "no m powers pass below the tail, finding-alternating-kernel"
FEW = "rounding of the heads, derived at Fit.rounding (heads.py)"
ERROR = "l1 error"
HALF, LITTLE_LESS = Fraction(1, 2), Fraction(99, 100)
S = 2  # exponents 2m, 4m, ..., 2m^2


def example(name):
    return kernels.POLYNOMIAL[name]


def floor(kernel, m):
    return kernels.alternating_floor(kernel, m, first=1)


@names
@pytest.mark.parametrize("C", [1, 1000], ids="C={}".format)
@pytest.mark.certified
def test_error_within_our_bound(name, C, claim):
    kernel, beta = example(name)
    kernel = kernels.scaled(kernel, C)
    for m in claim.at_scale(smoke=(2, 8, 16), laptop=(2, 4, 8, 16, 32), paper=(2, 8, 32, 64, 128)):
        error = kernels.Interpolation(kernel, "log", m, S).error()
        bound = C * kernels.power_bound(beta, m, S)
        claim.measured(ERROR, error, equation=OURS, m=m).at_most(theorem(bound, PROVED))


@pytest.mark.certified
def test_no_n_is_admitted_for_beta_three_halves_yet_the_rate_is_beta_minus_one(claim):
    (kernel, beta), ms = example(SLOW), [8, 64]
    admitted = math.floor(LITTLE_LESS * beta) - 1
    claim.measured("numbers n admitted", admitted, equation="n ≤ ⌊0.99β⌋ − 1").equals(0)
    first = next(k for k in range(100, 300) if math.floor(LITTLE_LESS * k / 100) >= 2)
    claim.measured("least k with an n for β = k/100", first, equation="β ≥ 2/0.99").equals(203)
    for m in ms:
        phi = kernels.Interpolation(kernel, "log", m, S)
        error = claim.measured(ERROR, phi.error(), equation="Σ_{t>m} |ρ(t)|", m=m)
        error.at_least(theorem(floor(kernel, m), TAIL)).at_most(theorem(phi.bound(), PROVED))
        error.at_least(theorem(2 / math.sqrt(m + 1), "∫ x^-3/2 from m + 1 on"))
    # With q = e^-2 the nodes add 64/127 / (q; q)² (64^-1.5 + q² 63^-1.5 + ...) = .0014 for m = 64.
    error.at_most(theorem(2 / math.sqrt(64) + 0.0015, "∫ x^-3/2 from 64 on, and what nodes add"))


@pytest.mark.certified
def test_bounds_by_hand(claim):
    """K(β) m^(1−β), K = 1/(β − 1) + Σ_k q^(k(k+3)/2) (k+1)^β / ((2s − 1) (q; q)²), q = e^-s.

    β = 5/2, s = 2, m = 4: (q; q) = .846395309, the series 1.10431710: (.666666667 + .513844...)/8.
    β = 4, s = 1, m = 2: (q; q) = .504428655, the series 3.74325353: (.333333333 + 14.7112557)/8.
    One head t^-2, and |ρ(t)| = t^-4: ζ(4) − 1 + 1/(q; q)². The tail from 5 on: ζ(4) − 1 − 1/16 −
    1/81 − 1/256. The proof's C e ζ(1.0001) M(n) (2^2.01/.01/m)^n, with M(1) = .7984297518,
    M(2) = 7.749704941 (Lemma E.1), ζ(1.0001) = 10000.57722295.
    """
    kernel = example(ROUGH)[0]
    proof = [printed_bounds.power_kernel(C, beta) for C, beta in ((1, 4), (5, "7/2"))]
    for name, found, stated in (
        ("bound", kernels.power_bound(Fraction(5, 2), 4, 2), 0.1475630580),
        ("bound", kernels.power_bound(4, 2, 1), 1.880573630),
        ("bound of one head", kernels.Interpolation(kernel, "log", 1, S).bound(), 1.478220653),
        ("tail", floor(kernel, 4), 0.003571304699),
        ("bound of the proof", proof[0](1000, 1), 8742.317050),
        ("bound of the proof", proof[1](40, 2), 106805919.1),
    ):
        number = claim.measured(name, found, equation=OURS, stated=stated)
        number.within(stated, rounding_error(1e-8 * stated, "worked out to nine digits and more"))
    fit = heads.Fit("log", (2.0, 3.0), np.array([3.0, -5.0]), 10, 0.0)
    eight = exactly(0.0, "8 · 2^-53 is a floating-point number")
    claim.measured("eps A", fit.floor, equation="A = 3 + 5").within(8 * 2.0**-53, eight)
    claim.measured("last n", [one.last for one in proof], equation="n ≤ 0.99β − 1").equals([2, 2])


@pytest.mark.certified
def test_bounds_of_two_heads_by_hand(claim):
    """t^-4, two heads with q = e^-3: ζ(4) − 17/16, and (1/16 + q²) / (q; q)² = .0723421398 times
    q/(1 − q) for lin and 2/5 for log."""
    for rpe, stated in (("lin", 0.02361370854), ("log", 0.04876053262)):
        kernel = kernels.later(kernels.power(4)) if rpe == "lin" else kernels.power(4)
        two = kernels.Interpolation(kernel, rpe, 2, 3).bound()
        found = claim.measured("bound", two, equation="tail + C Σ", rpe=rpe, H=2)
        found.within(stated, rounding_error(1e-11, "worked out to ten digits"))


def optimum(name, m, window):
    """The best coefficients for the exponents 3/2, ..., m + 1/2."""
    family = l1.Powers(tuple(HALF + h for h in range(1, m + 1)))
    return l1.best(example(name)[0], family, window=window)


@pytest.mark.parametrize("name", [*SMOOTH, ROUGH])
@pytest.mark.best_in_class
def test_rate_the_best_error_falls_at_least_as_promised(name, claim):
    """beta = 2.5 admits n = 1 and beta = 4 admits n = 2; smooth kernels are followed faster."""
    smooth, window = name in SMOOTH, claim.at_scale(smoke=300, laptop=1000, paper=4000)
    ms = (2, 4) if smooth else claim.at_scale(smoke=(4, 8), laptop=(4, 8, 16), paper=(8, 16, 32))
    found = [optimum(name, m, window) for m in ms]
    for m, best in zip(ms, found, strict=True):
        claim.record("best error", best.error, m=m)
        claim.record("best error, from below", best.floor, m=m)
    order = math.log(found[0].floor / found[-1].error) / math.log(ms[-1] / ms[0])
    n = math.floor(LITTLE_LESS * example(name)[1]) - 1
    least = theorem(n, "n = ⌊0.99 β⌋ − 1, the largest admitted")
    claim.measured("order of the fall", order, equation="m^−n", m=ms[0], to=ms[-1]).at_least(least)


FITS = {SMOOTH[0]: 1, SMOOTH[1]: 2}  # exponents 3/2 + h/spacing


def measured(claim, name, m, n=200):
    """The fit for m heads, and what its layer does in windows of n tokens."""
    kernel = example(name)[0]
    exponents = [Fraction(3, 2) + Fraction(h, FITS[name]) for h in range(m)]
    past = essential.starting_with(0, kernel)  # the lemma is about t >= 1
    fit = heads.fit("log", past, exponents, n, caps=(1e1, 1e3, 1e5)).seen()
    target = np.array([0.0, *(kernel(s) for s in range(1, n))])
    return fit, heads.measure(fit.attention(device=claim.device), target, claim.rng("signs"))


def bumps(name):
    """The proof's sum of bumps with alpha = gamma = 1/2: rate (beta - 3/2)/(3/2)."""
    return kernels.Bumps(example(name)[0], "log", HALF, HALF)


@pytest.mark.parametrize("name", ["(-1)^t t^-2.5", ROUGH])
@pytest.mark.construct
def test_rate_the_construction_converges(name, claim):
    """Polynomials in t^-1/2 through m Chebyshev points of varphi, times t^-3/2."""
    ms, window = [16, 32, 64, 128, 256], claim.at_scale(smoke=2000, laptop=5000, paper=20000)
    (kernel, beta), Phi = example(name), bumps(name)
    errors = Phi.errors(ms, window)
    rate = rates.slope(ms, errors)
    claim.record("exponent of m, low end", rate.low)
    claim.record("exponent of m, high end", rate.high)
    claim.record("error at the last m", errors[-1])
    smoothness = float((beta - Fraction(3, 2)) / Fraction(3, 2))
    most = theorem(-smoothness, "(β − 1 − γ)/(1 + α) derivatives of φ are bounded")
    claim.measured("exponent of m", rate.slope, equation="m^−n").at_most(most)
    for t in range(1, 6):
        off = abs(Phi.ball(t) - kernel.ball(t))
        most = rounding_error(1e-14, "balls of 53 bits")
        claim.measured("|Φ(t) − ρ(t)|", off, equation="Φ = ρ on ℕ₊", t=t).at_most(most)
        height = Phi(np.array([t**-0.5]))[0]
        found = claim.measured("Ψ_T at T^−α", height, equation="Ψ_T = T^{1+γ} ρ(T)", T=t)
        found.within(t**1.5 * kernel(t), rounding_error(1e-12, "float64, a few u"))


def rough_curves(claim):
    """Over m, for (-1)^t t^-4: the proof's construction, interpolation, the optimum, the floor."""
    many, kernel = [4, 8, 16, 32, 64, 128, 256], example(ROUGH)[0]
    few = claim.at_scale(smoke=(4, 8), laptop=(4, 8, 16), paper=(4, 8, 16, 32))
    made = [float(kernels.Interpolation(kernel, "log", m, S).error()) for m in many[:5]]
    return {
        "bumps": (many, bumps(ROUGH).errors(many, 2000)),
        "interpolation": (many[:5], made),
        "best": (few, [optimum(ROUGH, m, 150).error for m in few]),
        "floor": (many, [float(floor(kernel, m)) for m in many]),
    }


@pytest.mark.construct
def test_float64_layers_attain_the_l1_error_on_smooth_kernels(claim):
    """One layer of softmax attention with log-RPE, driven with impulses and the worst signs."""
    ms = claim.at_scale(smoke=(4, 8), laptop=(2, 4, 6, 8, 12), paper=(2, 4, 6, 8, 12))
    smooth = {name: (ms, []) for name in SMOOTH}
    for name, m in itertools.product(SMOOTH, ms):
        fit, seen = measured(claim, name, m)
        claim.record("A", fit.weight, kernel=name, m=m)
        claim.record(ERROR, fit.error, kernel=name, m=m)
        place = {"equation": "sup = ‖ρ − φ‖₁", "kernel": name, "m": m}
        most = theorem(fit.error, "|x| ≤ 1") + rounding_error(fit.rounding, FEW)
        claim.measured("largest error of the layer", seen.sup, **place).at_most(most)
        least = theorem(fit.error, "the worst signs attain it") + rounding_error(
            -3 * fit.rounding, FEW
        )
        claim.measured("error at the worst signs", seen.worst, **place).at_least(least)
        smooth[name][1].append(seen.sup)
    for name, (_, errors) in smooth.items():
        order = math.log2(errors[ms.index(4)] / errors[ms.index(8)])
        least = theorem(1.5, "the order β − 1, which no heads exceed for (-1)^t t^-2.5")
        place = {"equation": "m^−n", "kernel": name, "m": 4, "to": 8}
        claim.measured("log₂ of the fall", order, **place).at_least(least)
    claim.figure(
        pictures.rough(ROUGH, rough_curves(claim)),
        "rough",
        caption=f"l1 error of m powers against ρ(t) = {ROUGH}: no m powers pass below its tail.",
    )


@pytest.mark.exact
def test_the_arithmetic_of_the_proof_is_right(claim):
    """alpha = 1/100, gamma = beta/10^4: both sides are affine in beta, so that two beta decide."""
    alpha, place = Fraction(1, 100), "0.99β − 1 = (β − γ)/(1 + α) − 1"
    for beta in (Fraction(0), Fraction(1)):
        gamma = beta / 10**4
        stated = LITTLE_LESS * beta - 1
        second = (beta - gamma) / (1 + alpha) - 1
        third = (beta - (1 + gamma + alpha)) / (1 + alpha)
        claim.measured("second side", second, equation=place, beta=beta).equals(stated)
        claim.measured("third side", third, equation=place, beta=beta).equals(stated)
        room = (beta - (1 + gamma)) / (1 + alpha) - third
        wanted = alpha / (1 + alpha)
        claim.measured("(β − 1 − γ)/(1 + α) less n", room, equation=place, beta=beta).equals(wanted)


@pytest.mark.certified
def test_audit_the_proofs_constants_promise_nothing_for_few_heads(claim):
    """From which m on the printed bound, at its best n, is below sum t^-beta; ours, at m = 4."""
    for beta in (Fraction(5, 2), Fraction(4), Fraction(5)):
        norm = kernels.power(beta).tail(1)
        bound = printed_bounds.power_kernel(1, beta)
        m, level = bound.heads(norm), theorem(norm, "Σ t^-β")
        place = {"equation": "C(n)/m^n < Σ|ρ|", "beta": beta}
        claim.measured("bound of the proof", bound.least(m), m=m, **place).at_most(level)
        claim.measured("bound of the proof", bound.least(m - 1), m=m - 1, **place).at_least(level)
        ours = kernels.power_bound(beta, 4, S)
        most = theorem(norm / 2, f"half of Σ|ρ|; {PROVED}")
        claim.measured("our bound", ours, equation=OURS, beta=beta, m=4).at_most(most)


@pytest.mark.exact
def test_the_constant_depends_on_rho(claim):
    """rho = lambda I{t = 2}, m = 1: |a| + |lambda - a 2^-b| >= lambda, with equality at a = 0."""
    for scale in (1, 10, 1000):
        bends = [(a, b) for b in range(2, 9) for a in (0, scale * 2**b)]  # where it bends in a
        least = min(abs(a) + abs(scale - Fraction(a, 2**b)) for a, b in bends)
        number = claim.measured("least error of one head", least, equation="C(n)", factor=scale)
        number.equals(scale)


def test_control_a_rate_above_beta_minus_one_is_not_reached(claim):
    """(-1)^t t^-1.5 and n = 1 > beta - 1 = 1/2: m times the error grows, whatever the exponents."""
    kernel = example(SLOW)[0]
    growth = 128 * floor(kernel, 128) / (8 * floor(kernel, 8))
    least = theorem(
        16 * math.sqrt(8 / 129),
        "2 (m + 1)^−1/2 ≤ Σ_(s>m) s^−3/2 ≤ 2 m^−1/2, so it is 3.98 at least",
    )
    claim.measured("growth of m floor", growth, equation="m^−n, n = 1", m=8, to=128).at_least(least)
