"""Equation (12) (jiang2024, Section 4.3): how fast the coupling's spectrum falls.

C_1^(alpha)(H) is the least c with sigma_s <= c s^-alpha for s >= 1, that is max_s sigma_s s^alpha,
minimised over all F, f, rho that represent H. Section 3 asks of such a measure that it tells which
targets are approximated efficiently.

A gap: the minimum over all representations tells no targets apart, it is 0 for every continuous one
if n >= tau d (finding rank-one-degeneracy). Here one target is represented twice,
exactly: by the weights of (25), with tau singular values log 2 and so C_1 = tau^alpha log 2, and by
a coupling of rank one with sigma_1 < 1e-6.

Corrected: C_1 belongs to a fixed representation (F, f, rho), and is max_s sigma_s s^alpha. One
infimum of the product C_0 C_1 would do for alpha > 1 only. There it is at least
    4 sqrt2 E |H_t - H_t'| / (tau zeta(alpha)),
which two tokens attain in the limit. For 1/2 < alpha < 1 it is 0 again: couplings that are narrow
around the diagonal have the weights of (25) and C_1 as small as one likes. Proofs:
repro/jiang2024/complexity.py.

Checked: max_s sigma_s s^alpha in exact numbers, both representations of one target, and the two
bounds of the product in balls.

Not checked: one infimum for alpha = 1; n < tau d.

Readings: s >= 1 for the printed s >= 0, at which s^-alpha is not defined; C_1^(alpha) for the
C_1^(g) of the next sentence; C_0 with the maximum (equation 15).
"""

import flint
import numpy as np
import pytest

from repro.bounds import theorem
from repro.jiang2024 import complexity, encodings, mixing, model, representation
from repro.numerics import arrays, exact, logarithms

TAU, K = 8, 9
GROWTH = 1 + flint.fmpq(1, 10**K)
Log = logarithms.Log


def C_1(sigma, alpha):
    """max_s sigma_s s^alpha for one representation; integers alpha."""
    return max(value * s**alpha for s, value in enumerate(sigma, start=1))


def H(z):
    """The t-th smallest place."""
    return np.sort(z[..., 0], axis=-1)


def representations():
    """Of the same H: name -> (form, singular values of its coupling)."""
    forms, half = representation, flint.fmpq(1, 2)
    w = forms.rank_one(TAU, GROWTH)
    squares = sum(t**2 for t in range(1, TAU + 1))
    rank_one = forms.Representation(H, w, a=half, b=forms.spread(w, half))
    return {
        "(25)": (forms.Representation(H, forms.doubled_diagonal(TAU)), [Log(2)] * TAU),
        "rank one": (rank_one, [Log(GROWTH) * squares]),
    }


@pytest.mark.exact
def test_the_constant_of_a_spectrum(claim):
    """sigma_s = 1/s, s <= r: C_1^(1) = 1 for all r. The weights of (25): tau^alpha log 2."""
    for r in (1, 10, 1000):
        sigma = [flint.fmpq(1, s) for s in range(1, r + 1)]
        claim.measured("C_1 of 1/s", C_1(sigma, 1), equation="(12)", alpha=1, r=r).equals(1)
    for alpha in (1, 2):
        _, sigma = representations()["(25)"]
        found = logarithms.exp(C_1(sigma, alpha))
        stated = flint.fmpq(2) ** TAU**alpha
        claim.measured("e^C_1", found, equation="(12), (25)", alpha=alpha).equals(stated)
    ones = [flint.fmpq(1)] * TAU
    identity = [[int(t == s) for s in range(TAU)] for t in range(TAU)]
    found = mixing.squares(identity, ones, ones)
    powers = (flint.fmpq_poly([0, 1]) - 1) ** TAU
    claim.measured("polynomial with roots (σ_k / log 2)²", found, equation="(25)").equals(powers)


@pytest.mark.exact
def test_one_target_two_representations_both_exact(claim):
    count = claim.at_scale(smoke=2, laptop=10, paper=100)
    z = exact.rationals(claim.rng("places").integers(0, 8, (count, TAU, 1))) / 7
    x = representation.SHIFTED.encode(z)
    for name, (form, _) in representations().items():
        error = abs(form.target()(x) - H(z)).max()
        claim.measured("largest |H_t − Ĥ_t|", error, equation="(8)", representation=name).equals(0)


def constants_of_one_target(tau, digits):
    """C_1 for alpha = 1 from above, for rho = eps t s with e^eps = 1 + 10^-digits, and from below,
    for the weights of (25); both represent the same target."""
    from fractions import Fraction

    eps, log_2 = Fraction(1, 10**digits), Fraction(1, 2)  # log(1 + eps) < eps, log 2 > 1/2
    return eps * sum(t * t for t in range(1, tau + 1)), tau * log_2


def test_printed_the_infimum_discerns_no_targets(claim):
    """C_1 of the target is at most that of its representation of rank one; any k in place of 9."""
    found = {name: logarithms.ball(C_1(sigma, 1)) for name, (_, sigma) in representations().items()}
    claim.counterexample(
        "C_1 of (12) is at least that of the coupling of (25), with its equal singular values",
        input={"H_t(x)": "the t-th smallest", "e^eps": str(GROWTH), "rho": "eps t s"},
        measured=found["rank one"], expected=found["(25)"], relation=">=", equation="(12)",
        program=constants_of_one_target, tau=TAU, digits=K,
    )  # fmt: skip
    most = flint.fmpq(1, 10**6)
    claim.measured("C_1", found["rank one"], equation="(12)", representation="rank one").at_most(
        theorem(most, "204 log(1 + 1e-9); eps > 0 is arbitrary, so the infimum is 0")
    )


@pytest.mark.certified
def test_both_bounds_of_the_product_by_hand(claim):
    """(a) 4 sqrt2 3 / (2 pi^2/6) and 4 sqrt2 / (3 pi^4/90). (b) log 2 / 4 times 2 (1 + 2 4/pi), and
    log 2 / 10 times the root of 3 (1 + 2 10/pi)."""
    pi, root, log = flint.arb.pi(), flint.arb(2).sqrt(), flint.arb(2).log()
    for name, found, by_hand in (
        ("(a), α = 2", complexity.joint_floor(3, 2, 2), 36 * root / pi**2),
        ("(a), α = 4", complexity.joint_floor(1, 3, 4), 120 * root / pi**4),
        ("(b), α = 1", complexity.narrow("1/4", 2, 1), log / 2 * (1 + 8 / pi)),
        ("(b), α = 1/2", complexity.narrow("1/10", 3, "1/2"), log / 10 * (3 + 60 / pi).sqrt()),
    ):
        claim.measured("bound over hand", found / by_hand, equation="(12), (15)", of=name).within(
            1, theorem(flint.fmpq(1, 10**12), "worked out by hand; 1e-12 for balls")
        )


def least_lipschitz(form):
    """K_F is at least this: four places 0 and four places 1, where H_4 = 0 and H_5 = 1."""
    z = exact.rationals([[0]] * (TAU // 2) + [[1]] * (TAU // 2))
    u = form.target().averages(representation.SHIFTED.encode(z))
    t = TAU // 2 - 1
    return (H(z)[t + 1] - H(z)[t]) / abs(u[t + 1] - u[t]).max()


@pytest.mark.certified
def test_one_infimum_of_the_product_is_positive_for_alpha_above_one(claim):
    """E |H_4 - H_5| = 1/9 for sorted uniform places. All basis functions are constant on rooms, so
    that 2 / sqrt(tau) is the least their sup norms can add up to; |f| = a + b."""
    for alpha in (2, 4):
        floor = complexity.joint_floor(flint.fmpq(1, 9), TAU, alpha)
        for name, (form, sigma) in representations().items():
            product = least_lipschitz(form) * (form.a + form.b) * 2 / flint.arb(TAU).sqrt()
            constant = logarithms.ball(C_1(sigma, alpha))
            where = {"representation": name, "alpha": alpha}
            claim.record("C_1", constant, **where)
            found = product.max(flint.arb(1)) * constant
            claim.measured("C_0 C_1", found, equation="(12), (15)", **where).at_least(
                theorem(floor, "complexity.py, (a)")
            )


@pytest.mark.certified
def test_two_tokens_attain_the_joint_floor_in_the_limit(claim):
    """rho = +-sigma/2 by rooms, f = 1 and 0, F = id: C_0 = sqrt2, C_1 = sigma for every alpha, and
    H_1 - H_2 comes out of the softmax as a rational; e^sigma = 1.01^2, alpha = 12."""
    half = Log(flint.fmpq(101, 100))
    logits = np.array([[half, -1 * half], [-1 * half, half]])
    x = encodings.shifted(exact.rationals([["1/3"], ["1/2"]]))
    f = exact.rationals([[1], [0]])
    target = model.Target(lambda u: u[..., 0], lambda x: f, representation.by_rooms(logits))
    first, second = target(x)
    floor = complexity.joint_floor(first - second, 2, 12)
    product = flint.arb(2).sqrt() * 2 * logarithms.ball(half)
    why, at = "ζ(12) σ/2 / tanh(σ/2), σ = 2 log 1.01", {"equation": "(12), (15)", "alpha": 12}
    ratio = claim.measured("C_0 C_1 over its floor", product / floor, **at)
    ratio.at_least(theorem(1, why)).at_most(theorem(flint.fmpq(1001, 1000), why))


def hat(eta):
    """log 2 times 1 minus the distance over eta, in each room, closed to a circle; 1 or 0 at the
    tokens of a sequence."""

    def rho(u, v):
        (t, y), (s, z) = (representation.SHIFTED.read(x) for x in (u, v))
        apart = abs(y[..., :, None, 0] - z[..., None, :, 0])
        zero = np.array([flint.fmpq(0)])
        height = np.maximum(1 - np.minimum(apart, 1 - apart) / eta, zero)
        same = t[..., :, None] == s[..., None, :]
        heights = np.where(same, height, zero)
        return arrays.each(lambda h: Log(2) if h == 1 else h, heights)

    return rho


@pytest.mark.certified
def test_one_infimum_of_the_product_is_zero_for_alpha_below_one(claim):
    """alpha = 3/4: hats of width eta have the error 0 with the F and f of (25), whatever eta is,
    and C_1 falls like eta^(1/4)."""
    form, _ = representations()["(25)"]
    z = exact.rationals(claim.rng("narrow").integers(0, 8, (2, TAU, 1))) / 7
    x = representation.SHIFTED.encode(z)
    for k in (4, 12, 20):
        eta = flint.fmpq(1, 10**k)
        error = abs(model.Target(form.F, form.f, hat(eta))(x) - H(z)).max()
        where = {"alpha": 0.75, "eta": 10.0**-k}
        claim.measured("largest |H_t − Ĥ_t|", error, equation="(8)", **where).equals(0)
        bound = complexity.narrow(eta, TAU, "3/4")
        found = C_1_of_hats(eta, flint.fmpq(3, 4))
        why = "complexity.py, (b); the spectrum of a hat, sampled along j"
        constant = claim.measured("C_1", found, equation="(12)", **where)
        constant.at_most(theorem(bound, why)).at_least(theorem(bound / 4, why))
    claim.measured("bound of C_1", bound, equation="(12)", **where).at_most(
        theorem(flint.fmpq(1, 10**4), "log 2 (16/π)^(3/4) η^(1/4), and a little")
    )


def C_1_of_hats(eta, alpha):
    """The largest sigma_s s^alpha among j = 0, 1, 2, 4, ... up to the first zero of the spectrum,
    before which it decreases; s = tau (2 j + 1) is the last place of frequency j."""
    found, j = logarithms.ball(Log(2)) * eta * flint.arb(TAU) ** flint.arb(alpha), 1
    while j * eta < 1:
        sigma = logarithms.ball(Log(2)) * eta * flint.arb(j * eta).sinc_pi() ** 2
        found = found.max(sigma * flint.arb(TAU * (2 * j + 1)) ** flint.arb(alpha))
        j *= 2
    return found


@pytest.mark.parametrize("r", [10, 100, 1000], ids="r={}".format)
def test_control_a_slower_spectrum_has_no_constant(r, claim):
    """sigma_s = 1/s and alpha = 2: C_1 of the first r values is r, so it is infinite."""
    found = C_1([flint.fmpq(1, s) for s in range(1, r + 1)], 2)
    claim.measured("C_1 of 1/s", found, equation="(12)", alpha=2).at_least(theorem(r, "σ_r r² = r"))
