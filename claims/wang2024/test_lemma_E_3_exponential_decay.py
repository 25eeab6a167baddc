"""Lemma E.3 (wang2024, Appendix E.1): exponentials add up to exponential decay.

If |rho(t)| <= C e^{-beta t}, beta > 0, then for all n <= 99 beta and all m some sum phi of m
decaying exponentials has ||rho - phi|| <= C(n) / m^n in l1(N).

The lemma holds, with C(n) = C K(beta) (n / (e beta))^n for every n. Proof: by interpolation at
0, ..., m - 1 the error is at most C K(beta) e^{-beta m} (repro/wang2024/kernels.py, Enough heads),
and m^n e^{-beta m} is at most (n / (e beta))^n. So the condition n <= 99 beta is not needed.
The printed proof has a gap: Phi = rho fails at t = 0, where no bump is. If the bumps begin at
T = 0, its construction converges as well; it needs n < (beta - gamma)/alpha = 198 beta.

Reading: O hides an absolute constant C (Section 3; it is the C > 0 of the proof). Then C(n) depends
on n alone, as e^-beta t <= e^-nt/99; it is proportional to C.

Checked: our bound in balls, for four kernels and C = 1000, and for beta = 1/200, for which the
lemma admits no n at all. The optimum for exponents h/2, certified: it falls like e^{-beta m},
which for (-1)^t e^-t no m exponentials can beat. Layers in float64 on the worst input. The proof's
construction with and without T = 0. From which m on the proof's own constants say anything.
That the least error grows with rho. Controls: bumps from T = 1 on; a kernel that decays like a
power.

Not checked: the constant of Lemma F.5, which the printed proof uses (its own claim).
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from repro.bounds import rounding_error, theorem
from repro.numerics import l1, logarithms, rates
from repro.wang2024 import heads, kernels, printed_bounds
from repro.wang2024.pictures import sums as pictures

NAMES = ["e^-t cos t", "e^-t cos 3t", "(-1)^t e^-t", "e^-0.3t cos t"]
names = pytest.mark.parametrize("name", NAMES)
OURS = "‖ρ − φ‖ ≤ C K(β) e^−βm"
PROVED = "our bound, proof in repro/wang2024/kernels.py"
FEW = "rounding of the heads, derived at Fit.rounding (heads.py)"
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
ERROR = "l1 error"


def example(name):
    return kernels.EXPONENTIAL[name]


def floor(kernel, m):
    return kernels.alternating_floor(kernel, m, first=0)


@names
@pytest.mark.parametrize("C", [1, 1000], ids="C={}".format)
@pytest.mark.certified
def test_error_within_our_bound(name, C, claim):
    (kernel, beta), step = example(name), logarithms.Log(16)
    kernel = kernels.scaled(kernel, C)
    for m in claim.at_scale(smoke=(2, 8, 32), laptop=(1, 2, 4, 8, 16, 32, 64), paper=(2, 32, 128)):
        error = kernels.Interpolation(kernel, "lin", m, step).error()
        bound = C * kernels.exponential_bound(beta, m, step)
        claim.measured(ERROR, error, equation=OURS, m=m).at_most(theorem(bound, PROVED))


def by_hand(claim, name, value, stated, **place):
    found = claim.measured(name, value, **place)
    found.within(stated, rounding_error(1e-8 * stated, "worked out to nine digits and more"))


@pytest.mark.certified
def test_bounds_by_hand(claim):
    """K(β) e^-βm, K = 1/(1 − e^-β) + q/(1 − q) Σ_k q^(k(k+3)/2) e^(β(k+1)) / (q; q)².

    β = 1, q = 1/2, m = 2: (q; q)² = .0833985638, the series is e + e²/4 + e³/32 + ... = 5.30930731:
    (1.58197671 + 63.6618842) e^-2. β = 1/2, q = 1/16, m = 3: the series e^.5 + e/256 + e^1.5/16^5
    + ... = 1.65934383, (q; q)² = .871599076: (2.54149408 + .126919...) e^-1.5.

    One head 16^-t for (−1)^t e^-t: Σ_(t≥1) |(−1)^t e^-t − 16^-t| is 1/(e − 1), and 16^-t for odd t
    less that for even t, 1/17. Its bound is 1/(e − 1) + (1/15) / (q; q)², .0764877664 for the
    latter; that of two heads is e^-2 / (1 − 1/e) + .0764877664 (1/e + 1/256).

    The proof's C e / (1 − e^-γ) M(n) (2 / (1 − e^-.005) / m)^n, with M(1) = .7984297518 and
    M(2) = 7.749704941 (Lemma E.1); the 2 is lost in print.
    """
    for beta, q, m, stated in ((1, 2, 2, 8.829792495), (HALF, 16, 3, 0.5954035508)):
        bound = kernels.exponential_bound(beta, m, logarithms.Log(q))
        by_hand(claim, "bound", bound, stated, equation=OURS, beta=beta, m=m)
    kernel, beta = example("(-1)^t e^-t")
    one = kernels.Interpolation(kernel, "lin", 1, logarithms.Log(16))
    by_hand(claim, ERROR, one.error(), 0.6408002363, equation="‖ρ − φ‖", m=1)
    by_hand(claim, "bound", one.bound(), 0.6584644733, equation="‖ρ − φ‖", m=1)
    two = kernels.Interpolation(kernel, "lin", 2, logarithms.Log(16))
    by_hand(claim, "bound", two.bound(), 0.2425343228, equation="‖ρ − φ‖", m=2)
    by_hand(claim, "tail", floor(kernel, 8), 5.306940634e-4, equation="e^-8 / (1 − 1/e)")
    for C, beta, m, n, stated in ((1, 1, 1000, 1, 87.46738276), (5, 2, 40, 2, 534596.280)):
        bound = printed_bounds.exponential_kernel(C, beta)
        place = {"equation": "proof of Lemma E.3", "C": C, "beta": beta, "m": m, "n": n}
        by_hand(claim, "bound of the proof", bound(m, n), stated, **place)
        printed = printed_bounds.exponential_kernel(C, beta, printed=True)(m, n)
        by_hand(claim, "bound of the proof, printed", printed, stated / 2**n, **place)
        claim.measured("last n", bound.last, equation="n ≤ ⌊99β⌋", beta=beta).equals(99 * beta)
    last = printed_bounds.exponential_kernel(1, "1/99").last
    claim.measured("last n", last, equation="n ≤ ⌊99β⌋", beta="1/99").equals(1)


@pytest.mark.certified
def test_bounds_of_two_heads_by_hand(claim):
    """t^-4, two heads with q = e^-3: ζ(4) − 17/16, and (1/16 + q²) / (q; q)² = .0723421398 times
    q/(1 − q) for lin and 2/5 for log."""
    for rpe, stated in (("lin", 0.02361370854), ("log", 0.04876053262)):
        kernel = kernels.later(kernels.power(4)) if rpe == "lin" else kernels.power(4)
        two = kernels.Interpolation(kernel, rpe, 2, 3).bound()
        found = claim.measured("bound", two, equation="tail + C Σ", rpe=rpe, H=2)
        found.within(stated, rounding_error(1e-11, "worked out to ten digits"))


@pytest.mark.certified
def test_no_n_is_admitted_for_beta_one_in_200_yet_the_error_falls(claim):
    """(-1)^t e^{-t/200}: the bound for any number of heads, in balls; sum |rho| is 200.5."""
    beta, step = Fraction(1, 200), logarithms.Log(16)
    claim.measured("numbers n admitted", math.floor(99 * beta), equation="n ≤ ⌊99β⌋").equals(0)
    envelope = kernels.exponential(beta)
    for m in (1000, 2000, 4000):
        bound = kernels.Interpolation(kernels.alternating(envelope), "lin", m, step).bound()
        ratio = bound / envelope.ball(m)
        most = theorem(202, "K(1/200) < 202 for exponents h log 16")
        claim.measured("bound over e^−βm", ratio, equation=OURS, m=m).at_most(most)
    claim.measured("bound", bound, equation=OURS, m=4000).at_most(theorem(1e-6, "202 e^−20"))


def optimum(name, m):
    """The best coefficients for the exponents 1/2, 1, ..., m/2."""
    kernel, beta = example(name)
    family = l1.Exponentials(tuple(HALF * h for h in range(1, m + 1)))
    return l1.best(kernel, family, window=math.ceil(45 / beta))


@names
@pytest.mark.best_in_class
def test_rate_the_best_error_falls_like_e_to_the_minus_beta_m(name, claim):
    """Below K(beta) e^-beta m with q = e^-1/2, and not below the tail of (-1)^t e^-t; from m to 2m
    it falls by more than 2^n, n = 2."""
    kernel, beta = example(name)
    ms = claim.at_scale(smoke=(8, 16), laptop=(8, 16, 32), paper=(8, 16, 32, 64))
    found = [optimum(name, m) for m in ms]
    for m, best in zip(ms, found, strict=True):
        most = theorem(kernels.exponential_bound(beta, m, HALF), "interpolation with exponents h/2")
        claim.measured("best error", best.upper, equation=OURS, m=m).at_most(most)
        if name == "(-1)^t e^-t":
            least = theorem(floor(kernel, m), "finding-alternating-kernel")
            claim.measured("best error", best.lower, equation="Σ_{t≥m} e^−t", m=m).at_least(least)
    decay = math.log(found[0].error / found[-1].error) / (ms[-1] - ms[0])
    claim.record("decay per head, over β", decay / float(beta))
    fall = found[-1].upper / found[-2].lower
    number = claim.measured("last fall", fall, equation="m^−n", m=ms[-2], to=ms[-1])
    number.at_most(theorem(HALF**2, "2^-n for n = 2, which all β here admit: n ≤ 99β"))


FITS = [("e^-t cos t", 4), ("e^-t cos t", 8), ("e^-t cos 3t", 8), ("(-1)^t e^-t", 8)]


@pytest.mark.parametrize(("name", "m"), FITS, ids=[f"{name}-m={m}" for name, m in FITS])
@pytest.mark.construct
def test_float64_layers_attain_the_l1_error(name, m, claim):
    """One layer of softmax attention with lin-RPE, driven with impulses and the worst signs."""
    kernel, n = example(name)[0], 90  # e^{-n/2} is below round-off
    fit = heads.fit("lin", kernel, [HALF * h for h in range(1, m + 1)], n).seen()
    target = np.array([kernel(s) for s in range(n)])
    seen = heads.measure(fit.attention(device=claim.device), target, claim.rng("signs"))
    least = optimum(name, m).floor
    claim.record("A", fit.weight)
    claim.record(ERROR, fit.error)
    claim.record("best l1 error", least)
    most = theorem(fit.error, "|x| ≤ 1") + rounding_error(fit.rounding, FEW)
    claim.measured("largest error of the layer", seen.sup, equation="sup ≤ ‖ρ − φ‖₁").at_most(most)
    limit = theorem(least, "the worst signs add up |ρ − φ|") + rounding_error(
        -3 * fit.rounding, FEW
    )
    claim.measured("error at the worst signs", seen.worst, equation="sup ≥ E_m").at_least(limit)


def bumps(name, first):
    """The proof's sum of bumps with alpha = gamma = 1/4, which for beta = 1 admits n < 3."""
    return kernels.Bumps(example(name)[0], "lin", QUARTER, QUARTER, first)


BUMPS = [8, 16, 32, 64, 128, 256, 512]


@pytest.mark.parametrize("name", NAMES[:3])
@pytest.mark.construct
def test_rate_the_construction_converges_if_the_bumps_begin_at_zero(name, claim):
    """Polynomials in e^{-t/4} through m Chebyshev points of varphi, times e^{-t/4}."""
    kernel, Phi = example(name)[0], bumps(name, 0)
    errors = Phi.errors(BUMPS, 200)
    rate = rates.slope(BUMPS, errors, within=(32, 512))
    claim.record("exponent of m, low end", rate.low)
    claim.record("exponent of m, high end", rate.high)
    claim.record("error at the last m", errors[-1])
    most = theorem(-2, "n = 2 < (β − γ)/α = 3")
    claim.measured("exponent of m", rate.slope, equation="m^−n").at_most(most)
    for t in range(4):
        off = abs(Phi.ball(t) - kernel.ball(t))
        most = rounding_error(1e-14, "balls of 53 bits")
        claim.measured("|Φ(t) − ρ(t)|", off, equation="Φ = ρ on ℕ", t=t).at_most(most)
        height = Phi(np.array([math.exp(-t / 4)]))[0]
        found = claim.measured("Ψ_T at e^−αT", height, equation="Ψ_T = e^γT ρ(T)", T=t)
        found.within(math.exp(t / 4) * kernel(t), rounding_error(1e-12, "float64, a few u"))


@pytest.mark.best_in_class
def test_literal_exponents_do_next_to_nothing_with_twelve_heads(claim):
    """The exponents of the proof, .01 + .005 k: even the best coefficients keep nearly all of
    sum |rho|, and the proof's constants promise less than that for thousands of heads only."""
    kernel, beta = example("e^-t cos t")
    bound = printed_bounds.exponential_kernel(1, beta)
    norm = sum(abs(kernel.ball(t)) for t in range(60))
    audit = bound.heads(Fraction(132, 100))  # sum |rho|, to two decimals
    claim.record("m from which the proof promises something", audit)
    n, level = bound.best_n(audit), theorem(Fraction(132, 100), "Σ|ρ|, to two decimals")
    claim.record("best n", n)
    some = bound(audit, n)
    claim.measured("bound of the proof", some, equation="C(n)/m^n", m=audit, n=n).at_most(level)
    least = bound.least(audit - 1)
    claim.measured("least bound", least, equation="C(n)/m^n", m=audit - 1).at_least(level)
    ours = kernels.exponential_bound(beta, 2, logarithms.Log(16))
    for m in claim.at_scale(smoke=(12,), laptop=(4, 12), paper=(4, 12)):
        family = l1.Exponentials(tuple(Fraction(2 + k, 200) for k in range(m)))
        best = l1.best(kernel, family, window=1000).lower
        claim.record("best error over Σ|ρ|", float(best / norm), m=m)
        least = theorem(ours, "what two heads with other exponents leave at most")
        claim.measured("best error", best, equation="β_k = .01 + .005 k", m=m).at_least(least)
    most = theorem(norm, "two heads: our bound is below Σ|ρ|")
    claim.measured("our bound", ours, equation=OURS, m=2).at_most(most)


def Phi_and_rho_at_zero(first):
    from fractions import Fraction

    from repro.numerics.l1 import indicator
    from repro.wang2024.kernels import Bumps

    Phi = Bumps(indicator(0), "lin", Fraction(1, 200), Fraction(1, 100), first)
    return Phi.ball(0).unique_fmpz(), indicator(0).ball(0).unique_fmpz()


@pytest.mark.exact
def test_the_constant_depends_on_rho_and_the_proof_allows_n_up_to_99_beta(claim):
    """rho = lambda I{t = 1} and m = 1: |a| + |lambda - a u| >= lambda for 0 < u < 1, with equality
    at a = 0. And with alpha = 1/200, gamma = beta/100 the proof needs n < 198 beta."""
    us = [Fraction(b, 8) for b in range(1, 8)]
    for scale in (1, 10, 1000):
        bends = [(a, u) for u in us for a in (0, scale / u)]  # where the error bends in a
        least = min(abs(a) + abs(scale - a * u) for a, u in bends)
        number = claim.measured("least error of one head", least, equation="C(n)", factor=scale)
        number.equals(scale)
    allowed = (1 - Fraction(1, 100)) / Fraction(1, 200)
    claim.measured("(β − γ)/α, in units of β", allowed, equation="n < (β − γ)/α").equals(198)


def test_printed_Phi_is_not_rho_at_zero(claim):
    """rho = I{. = 0}: no bump at all, varphi = 0, and with it every P_m: the error stays 1."""
    Phi, rho = Phi_and_rho_at_zero(first=1)
    claim.counterexample(
        "Phi = rho on N",
        input={"rho": "I{. = 0}", "t": 0, "alpha": "1/200", "gamma": "1/100"},
        measured=Phi,
        expected=rho,
        equation="proof of Lemma E.3, Φ(t) = ρ(t) on ℕ",
        program=Phi_and_rho_at_zero,
        first=1,
    )
    claim.measured("Φ(0)", Phi_and_rho_at_zero(first=0)[0], equation="Φ = ρ", first=0).equals(1)


def test_control_bumps_from_one_on_keep_the_error_at_zero(claim):
    """As printed, for e^-t cos t, (-1)^t e^-t: whatever m, what is left is |rho(0)| = 1."""
    literal = {name: bumps(name, 1).errors(BUMPS, 200) for name in NAMES[:3]}
    for name, errors in literal.items():
        claim.record("least error over m", min(errors), kernel=name)
        with_zero = bumps(name, 0).errors(BUMPS, 200)
        no_worse = sum(a <= b for a, b in zip(errors, with_zero, strict=True) if b < 1)
        place = {"equation": "T ≥ 1", "kernel": name}
        claim.measured("m at which they do no worse than from 0 on", no_worse, **place).equals(0)
    name, kernel = NAMES[0], example(NAMES[0])[0]
    ms = claim.at_scale(smoke=(2, 4, 8, 16), laptop=(2, 4, 8, 16, 32), paper=(4, 32))
    made = [kernels.Interpolation(kernel, "lin", m, logarithms.Log(2)).error() for m in ms]
    curves = {
        "literal": (BUMPS, literal[name]),
        "repaired": (BUMPS, bumps(name, 0).errors(BUMPS, 200)),
        "interpolation": (ms, [float(error) for error in made]),
        "best": (ms, [optimum(name, m).error for m in ms]),
    }
    x = np.linspace(0.001, 1, 2000)
    claim.figure(
        pictures.bumps(x, bumps(name, 0)(x), bumps(name, 1)(x), curves),
        "bumps",
        caption="Lemma E.3 for ρ(t) = e^−t cos t. Left: the sum of bumps of its proof for "
        "α = γ = 1/4; printed without the one at x = 1, that is at t = 0. Right: the l1 error of "
        "m exponentials.",
    )


def test_control_a_power_law_does_not_fall_like_any_m_to_the_minus_two(claim):
    """rho(t) = (-1)^t (1 + t)^-2.5 is not O(e^{-beta t}): whatever the exponents and coefficients,
    m^2 times the error grows without end, like m^(1/2)."""
    kernel = kernels.later(kernels.POLYNOMIAL["(-1)^t t^-2.5"][0])
    growth = 64**2 * floor(kernel, 64) / (4**2 * floor(kernel, 4))
    least = theorem(
        256 * (4 / 65) ** 1.5,
        "2/3 (m + 1)^−3/2 ≤ Σ_(s>m) s^−5/2 ≤ 2/3 m^−3/2, so it is 3.9 at least",
    )
    claim.measured("growth of m² floor", growth, equation="m^−n, n = 2", m=4, to=64).at_least(least)
