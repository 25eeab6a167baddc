"""Section 3.1 (wang2024), finite length: masking distant tokens.

"Our theoretical framework can be adapted to finite-length input sequences by masking distant
tokens." At position t only the distances s = 0, ..., t have a token. Attention is masked to them,
in the numerator and in the denominator of (3). Let phi(s) = sum_h alpha_h e^{-beta_h s} (lin) or
sum_h alpha_h s^-beta_h (log) be the kernel of the heads on an infinite past, W_V being alpha_h
times the infinite normaliser, and let t >= T, so that x_{t-T} exists.

Proof that the networks of Sections 4 and 5 fetch x_{t-T} as they do on an infinite past.
1. Without normalisation (Section 5) the kernel at position t is phi(s), s <= t: its l1 distance
   from I{s = T} is a part of that on N.
2. lin with softmax. The share of s is u^s (1 - u) / (1 - u^{t+1}), u = e^{-beta_h}: the kernel is
       phi_t(s) = sum_h alpha_h u_h^s / (1 - u_h^{t+1}) = sum_{i >= 0} phi(s + i (t+1)),    s <= t,
   and its distance from I{s = T} is at most that of phi on N, by the triangle inequality.
3. log with softmax. phi_t(s) = sum_h alpha_h (1 + tau_h) s^-beta_h, where tau_h, the rest of the
   normaliser beyond t over its part up to t, is at most (T+1)^-beta (1 + (T+1) / (beta - 1)), beta
   = beta_h, by an integral. Take T heads with beta_h = b h that are 1 at T and 0 at 1, ..., T - 1
   (powers.py). Their polynomial in s^-b has |alpha_h| <= R binom(T-1, h-1) T^{bh} with
   R = prod_{j < T} 1 / (1 - (j/T)^b). So masking adds at most
       sum_h |alpha_h| tau_h zeta(b h) <= zeta(b) R (1 + (T+1) / (b-1)) r (1 + r)^{T-1},
   r = (T / (T+1))^b, to the l1 error: as little as one likes for large b, at all t >= T at once.

Checked: 1 and 2 in rationals, through the model's layer at every position of a window; 3 in balls.
Control: t < T, where softmax heads fetch another token in place of the one that is missing.

Not checked: Section 6, where a masked kernel loses its tail beyond t as well.
"""

import math

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.numerics import exact
from repro.wang2024 import exponentials, model, powers

ERROR = "l1 error at position t"


def kernels_of(phi, normalised, n):
    """phi_t(s) for t = 0, ..., n - 1, by impulses through the model's layer: (t, s)."""
    one = exact.rationals([[1]])
    values = [a / (1 - phi.q**h) if normalised else a for h, a in enumerate(phi.alphas, start=1)]
    heads = [model.Head(one * v, p) for v, p in zip(values, phi.exponents, strict=True)]
    layer = model.Attention(heads, one, "lin", normalised)
    impulses = exact.rationals(np.eye(n, dtype=int))[:, :, None]
    outputs = layer(impulses)[..., 0]  # (place of the impulse, t)
    return [[outputs[t - s, t] for s in range(t + 1)] for t in range(n)]


@pytest.mark.parametrize("normalised", [True, False], ids=["softmax", "no softmax"])
@pytest.mark.exact
def test_lin_heads_err_no_more_at_any_position(normalised, claim):
    """(T, further heads, 1/q): positions t = T, ..., n - 1 with an error above that on N."""
    n = claim.at_scale(smoke=7, laptop=9, paper=14)

    def worse(case):
        T, more, base = case
        phi = exponentials.Interpolant(T, T + more, flint.fmpq(1, base))
        rows = kernels_of(phi, normalised, n)[T:]
        errors = [sum(abs(v - int(s == T)) for s, v in enumerate(row)) for row in rows]
        return sum(error > phi.error for error in errors)

    cases = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(2, 5))
    examples = claim.at_scale(smoke=12, laptop=60, paper=180)
    claim.for_all("positions with more", cases, worse, equation="3.1, 1 and 2", examples=examples)


@pytest.mark.exact
def test_the_masked_lin_kernel_is_the_periodic_sum(claim):
    """phi_t(s) = sum_i phi(s + i (t+1)), as geometric series; T = 2, three heads, q = 1/3."""
    phi, differ = exponentials.Interpolant(2, 3, flint.fmpq(1, 3)), 0
    for t, row in enumerate(kernels_of(phi, True, 7)):
        for s, value in enumerate(row):
            u = [phi.q**h for h in range(1, 4)]
            series = (a * v**s / (1 - v ** (t + 1)) for a, v in zip(phi.alphas, u, strict=True))
            differ += value != sum(series, flint.fmpq(0))
    claim.measured("values that differ", differ, equation="3.1, 2").equals(0)


def masked(exponents, alphas, T, t):
    """The l1 error of log heads at position t, W_V being alpha_h zeta(beta_h); a ball."""
    kernel = [flint.arb(0)] * t
    for a, beta in zip(alphas, exponents, strict=True):
        powers_of = [flint.arb(s) ** -flint.arb(beta) for s in range(1, t + 1)]
        factor = flint.arb(beta).zeta() / sum(powers_of, flint.arb(0))
        kernel = [k + a * factor * p for k, p in zip(kernel, powers_of, strict=True)]
    return sum((abs(k - int(s == T)) for s, k in enumerate(kernel, start=1)), flint.arb(0))


def room(T, b):
    """What masking adds at most."""
    r, R = flint.arb(flint.fmpq(T, T + 1)) ** b, flint.arb(1)
    for j in range(1, T):
        R /= 1 - flint.arb(flint.fmpq(j, T)) ** b
    return flint.arb(b).zeta() * R * (1 + flint.fmpq(T + 1, b - 1)) * r * (1 + r) ** (T - 1)


@pytest.mark.certified
def test_two_log_heads_by_hand(claim):
    """b = 4, T = 2: 256 (s^-4 - s^-8) / 15 is 0 at 1 and 1 at 2. For t = 2 the masked softmax
    multiplies the powers by zeta(4) 16/17 and zeta(8) 256/257, zeta(4) = pi^4 / 90 and zeta(8) =
    pi^8 / 9450. What masking adds is at most zeta(4) 16/15 2 16/81 97/81, and for T = 1 zeta(4)
    (1 + 2/3) / 16.
    """
    phi, pi = powers.fixed(2, 2, first=4, step=4), flint.arb.pi()
    weights = claim.measured("α", phi.coefficients, equation="3.1, 3")
    weights.equals((exact.rational("256/15"), exact.rational("-256/15")))
    z4, z8 = pi**4 / 90, pi**8 / 9450
    fine = rounding_error(1e-12, "53 bits")
    for T, stated in ((1, z4 * 5 / 48), (2, z4 * flint.fmpq(16 * 2 * 16 * 97, 15 * 81 * 81))):
        claim.measured("added by masking", room(T, 4), equation="3.1, 3", T=T).within(stated, fine)
    a, b = z4 * flint.fmpq(16, 17), z8 * flint.fmpq(256, 257)
    one, two = a - b, (16 * a - b) / 15 - 1
    other = powers.fixed(
        1, 2, first=4, step=4
    ).coefficients  # (16 s^-8 - s^-4) / 15: 1 at 1, 0 at 2
    other = claim.measured("α", other, equation="3.1, 3", T=1, H=2)
    other.equals((exact.rational("-1/15"), exact.rational("16/15")))
    exponents = claim.measured("β", phi.exponents, equation="3.1, 3")
    exponents.equals((4, 8))
    beyond = (z4 - flint.fmpq(17, 16) - z8 + flint.fmpq(257, 256)) * flint.fmpq(256, 15)
    claim.measured("l1 error on N_+", phi.error(), equation="3.1, 3", T=2).within(beyond, fine)
    stated = abs(one) * flint.fmpq(256, 15) + abs(two)
    found = masked(phi.exponents, phi.coefficients, 2, 2)
    claim.measured(ERROR, found, equation="3.1, 3", T=2, t=2).within(stated, fine)


@pytest.mark.parametrize("T", [1, 2, 3, 4])
@pytest.mark.certified
def test_steep_log_heads_err_little_more_at_any_position(T, claim):
    for b in (4 * T, 16 * T):
        phi = powers.fixed(T, T, first=b, step=b)
        with flint.ctx.workprec(1024):
            errors = [masked(phi.exponents, phi.coefficients, T, t) for t in range(T, T + 9)]
            worst, bound = max(errors, key=lambda e: float(e.mid())), phi.error() + room(T, b)
        error = claim.measured(ERROR, worst, equation="3.1, 3", b=b)
        error.at_most(theorem(bound, "error on N_+, and what masking adds"))
        larger = [b * h for h in range(1, T + 1)]
        size = [math.comb(T - 1, h - 1) * T**beta for h, beta in enumerate(larger, start=1)]
        R = 1 / math.prod(
            (1 - exact.rational(j) ** b / T**b for j in range(1, T)), start=exact.rational(1)
        )
        over = sum(abs(a) > R * s for a, s in zip(phi.coefficients, size, strict=True))
        claim.measured("weights above their bound", over, equation="3.1, 3", b=b).equals(0)


@pytest.mark.parametrize("T", [2, 4])
def test_control_before_T_the_heads_fetch_another_token(T, claim):
    """t < T: x_{t-T} does not exist, and softmax moves its share, all of phi(T) = 1, elsewhere."""
    phi = exponentials.Interpolant(T, T + 2, flint.fmpq(1, 4))
    for t, row in enumerate(kernels_of(phi, True, T)):
        wrong = claim.measured(
            "sum of |phi_t(s)|, wanted 0", sum(map(abs, row)), equation="3.1, 2", t=t
        )
        wrong.at_least(theorem(1 - phi.error, "the sum of phi_t is that of phi"))
