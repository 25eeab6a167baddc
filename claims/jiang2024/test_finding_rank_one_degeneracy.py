"""Finding, on Section 4.3 (jiang2024): a coupling of rank one, of any size, is enough.

For every continuous target H on encoded inputs and every eps > 0 there is a representation (8) with
n = tau d and rho(u, v) = eps t s for u in I_t, v in I_s. On rooms of volume 1 its only singular
value is eps sum_t t^2. So C_1 of (12), an infimum over all representations, is 0 for every target,
and m_h = 1 is enough. The price is paid by F: for any f, rho and input,

    |H_t - H_t'| <= K_F diam(f) / 4 * osc_s(rho_ts - rho_t's),

since a softmax average moves by at most diam(f)/4 times the oscillation of what is added to the
logits (repro/jiang2024/softmax.py). Here that is K_F >= 4 |H_t - H_t'| / (diam f eps (tau - 1)).

Checked: with e^eps = 1 + 10^-k the error is exactly 0, in form (8) and as a Transformer (5) with
m_h = 1; the spectrum, exactly; the Lipschitz constant from both sides.

Not checked: other couplings. The proof stands in repro/jiang2024/representation.py.
"""

import flint
import numpy as np
import pytest

from repro.bounds import theorem
from repro.jiang2024 import mixing, model, representation
from repro.numerics import exact, logarithms

TAU = 8
ERROR = "largest |H_t − Ĥ_t|"
SQUARES = sum(t**2 for t in range(1, TAU + 1))  # 204


def growth(k):
    """e^eps."""
    return 1 + flint.fmpq(1, 10**k)


def H(z):
    """The t-th smallest place, minus the distance to the next: sup 1, Lipschitz constant 3."""
    return np.sort(z[..., 0], axis=-1) - abs(z - np.roll(z, -1, axis=-2))[..., 0]


def form(k):
    """a = 1/2, and the b for which delta = 1."""
    forms, half = representation, flint.fmpq(1, 2)
    w = forms.rank_one(TAU, growth(k))
    return forms.Representation(H, w, a=half, b=min(half, forms.spread(w, half)))


@pytest.mark.parametrize("k", [1, 3, 6], ids="eps=1e-{}".format)
@pytest.mark.exact
def test_the_error_is_zero_with_a_head_of_size_one(k, claim):
    forms, found = representation, form(k)
    count = claim.at_scale(smoke=2, laptop=10, paper=100)
    z = exact.rationals(claim.rng("places").integers(0, 8, (count, TAU, 1))) / 7
    x = forms.SHIFTED.encode(z)
    claim.measured(ERROR, abs(found.target()(x) - H(z)).max(), equation="(8), rank one").equals(0)
    attention = forms.one_dimensional_head(found, growth(k))
    claim.measured("m_h", attention.m_h, equation="(5)").equals(1)
    claim.measured(ERROR, abs(attention(x) - H(z)).max(), equation="(5), m_h = 1").equals(0)
    claim.measured("n", found.n, equation="n = τd").equals(TAU)


@pytest.mark.exact
def test_the_only_singular_value_is_eps_times_204(claim):
    """R = (t s) on rooms of length 1: x^7 (x - 204^2) is the polynomial of the squares."""
    R = [[t * s for s in range(1, TAU + 1)] for t in range(1, TAU + 1)]
    ones = [flint.fmpq(1)] * TAU
    x = flint.fmpq_poly([0, 1])
    found = mixing.squares(R, ones, ones)
    stated = x ** (TAU - 1) * (x - SQUARES**2)
    claim.measured("squares of σ / ε", found, equation="(10)").equals(stated)


@pytest.mark.exact
def test_three_tokens_by_hand(claim):
    """e^eps = 2: rows in the ratios 1 : 2 : 4, 1 : 4 : 16 and 1 : 8 : 64. With a = 1/2, b = 1/8 the
    image of u_2 is nearest to that of u_1: ratios 1/3, 2/3, 4/3, so delta = 4 (1 - 1/3) - 1/3, or
    7/3 (187/73 for t = 3 seen as 2, 257/73 as 1). For sup = 7 and Lip = 1 the bound of K_F is
    tau (sup / delta + Lip) / (b min w) = 3 (3 + 1) 8 73. And b = 1/2 (1 - 1/3) / (1 + 1/3) = 1/4
    has delta = 1."""
    forms, half = representation, flint.fmpq(1, 2)
    w = forms.rank_one(3, 2)
    stated = [["1/7", "2/7", "4/7"], ["1/21", "4/21", "16/21"], ["1/73", "8/73", "64/73"]]
    weights = claim.measured("weights", w.ravel().tolist(), equation="ρ = ε t s")
    weights.equals(exact.rationals(stated).ravel().tolist())
    found = forms.Representation(H, w, a=half, b=half / 4).lipschitz_bound(7, 1)
    claim.measured("bound of K_F", found, equation="K_F").equals(7008)
    claim.measured("b that makes δ one", forms.spread(w, half), equation="K_F").equals(half / 2)


def lipschitz(k):
    """K_F from below and from above, for the f and rho of `form`; sup norms.

    Below: inputs z with H_t(z) - H_t'(z) = 1 in which u_t and u_t' are as close as they get.
    """
    found, z = form(k), exact.rationals([[0]] * (TAU // 2) + [[1]] * (TAU // 2))
    u = found.target().averages(representation.SHIFTED.encode(z))
    steps, apart = abs(np.diff(H(z))), abs(np.diff(u, axis=0)).max(-1)
    return (steps / apart).max(), found.lipschitz_bound(sup=1, lipschitz=3)


@pytest.mark.construct
def test_the_price_is_a_lipschitz_constant_of_order_one_over_eps(claim):
    """As eps -> 0 a row moves by eps (s - 9/2)/8 from one t to the next, in coordinate 8 of u_t by
    eps (7/2)/8 times a = 1/2, where H_5 - H_4 = 2: from below K_F ~ 2 / (7 eps/32) = 64/(7 eps).
    The bound: delta = 1, b ~ a (7 eps/2)/2 = 7 eps/8 and min w ~ 1/8, so 8 (1 + 3) / (7 eps/64).
    Up to terms in eps: a row is 1/8 up to factors e^(+-56 eps), so the mean of s is 9/2 up to
    2 (e^(56 eps) - 1); for eps <= 1e-3 this and the rest change either by less than 110 eps.
    """
    ks = [1, 2, 3, 4, 5, 6, 7]
    eps = [logarithms.ball(logarithms.Log(growth(k))) for k in ks]
    sigma = [e * SQUARES for e in eps]
    least, most = zip(*(lipschitz(k) for k in ks), strict=True)
    for k, e, low, high in zip(ks, eps, least, most, strict=True):
        claim.measured("K_F from below", low, equation="K_F", eps=f"1e-{k}").at_most(
            theorem(high, "the bound of lipschitz_bound")
        )
        why = "|H_t − H_{t+1}| = 1 somewhere, diam f ≤ 1, osc = ε (τ − 1)"
        claim.measured("K_F from below", low, equation="K_F ≥ 4/7ε", eps=f"1e-{k}").at_least(
            theorem(4 / (e * (TAU - 1)), why)
        )
        claim.record("σ₁", float(sigma[k - 1]), eps=f"1e-{k}")
        claim.record("K_F", f"{float(low):.1e} to {float(high):.1e}", eps=f"1e-{k}")
    limits = {"below": (least, flint.fmpq(64, 7)), "above": (most, flint.fmpq(2048, 7))}
    for side, (values, limit) in limits.items():
        for k, e, value in list(zip(ks, eps, values, strict=True))[2:]:
            share = claim.measured(
                "ε K_F over its limit",
                e * value / limit,
                equation="K_F ~ c/ε",
                side=side,
                eps=f"1e-{k}",
            )
            share.within(1, theorem(110 * e, "the weights, see the docstring of the test"))
    claim.measured("σ₁", sigma[-1], equation="C_1 = 0", eps=f"1e-{ks[-1]}").at_most(
        theorem(flint.fmpq(21, 10**6), "204 log(1 + 1e-7) < 204e-7")
    )


@pytest.mark.parametrize("coupling", ["eps = 0", "eps s"])
def test_control_a_coupling_that_does_not_know_t(coupling, claim):
    """All rows of weights agree, so do all u_t: F is off by half of |H_1 - H_tau| at least."""
    forms = representation
    row = forms.rank_one(TAU, 1 if coupling == "eps = 0" else growth(1))[:1]
    w = np.repeat(row, TAU, axis=0)
    z = exact.rationals([[0], [1]] * (TAU // 2))
    target = model.Target(form(1).F, form(1).f, forms.by_position(w))
    u = target.averages(forms.SHIFTED.encode(z))
    claim.measured("|u_1 − u_8|", abs(u[0] - u[-1]).max(), equation=f"(8), {coupling}").equals(0)
    error = abs(H(z)[0] - H(z)[-1]) / 2
    claim.measured(ERROR, error, equation=f"(8), {coupling}").at_least(
        theorem(flint.fmpq(1, 2), "one F, one value; half of the distance of the two targets")
    )
    with pytest.raises(ValueError, match="needs delta > 0"):
        forms.Representation(H, w)
