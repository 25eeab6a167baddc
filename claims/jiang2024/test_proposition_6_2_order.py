"""Proposition 6.2 (jiang2024, Section 6.1, proof in D.2): attention does not mind the order.

For a fixed permutation p let H~_t(x o p) = H_t(x): the target sees the permuted input and gives the
old output. Then H~ is said to have the same complexity measures C_0, C_1, C_2, because it has form
(8) with F~ = F, f~ = f and a coupling rho~ whose functions phi_i have their pieces permuted.

Checked: that is right for couplings by position, rho(u, v) = R_ts for u in I_t, v in I_s: then rho~
= R_(p^-1(t) s) does it, with error exactly 0 for all 24 permutations of 4 tokens and several
targets, F and f unchanged. The spectrum is unchanged if all I_t have the same volume. The linear
target with kernel e^-s, attended with logits clipped at -L, has the same mean square error before
and after the exchange of Appendix C, in rationals for the kernel 2^-s.
As printed it fails: (90) equates a function of x(p(t)) with one of x(t); for rho = u v log 2, F = f
= id, tau = 3, p = (1 2) no coupling rho~ whatever gives H~, in rationals; and with rooms of
different lengths the singular values change. (C_1 itself, an infimum over all representations, is 0
before and after: finding-rank-one-degeneracy. C_FF of permuted pieces: section-D.2.)
Controls: rho unpermuted, rho~ with p for p^-1, (90) taken literally.

Not checked: trained networks (Table 2).
"""

import itertools

import flint
import numpy as np
import pytest

from repro.bounds import exactly, theorem
from repro.jiang2024 import mixing, model, ordering, representation
from repro.numerics import exact, logarithms

rationals = exact.rationals
ERROR = "largest |H̃_t(x∘p) − H_t(x)|"


def inverse(p):
    return list(np.argsort(p))


def sorted_sums(z):
    return np.sort(z.sum(-1), axis=-1)


def neighbours(z):
    return abs(z - np.roll(z, -1, axis=-2)).max(-1) * np.arange(1, z.shape[-2] + 1)


@pytest.mark.parametrize("H", [sorted_sums, neighbours], ids=["sorted", "neighbours"])
@pytest.mark.exact
def test_couplings_by_position_follow_every_permutation(H, claim):
    forms, tau = representation, 4
    count = claim.at_scale(smoke=2, laptop=10, paper=50)
    z = rationals(claim.rng("places").integers(0, 8, (count, tau, 2))) / 7
    x, w = forms.SHIFTED.encode(z), forms.doubled_diagonal(tau)
    form = forms.Representation(H, w, d=2)
    wrong = 0
    for p in itertools.permutations(range(tau)):
        altered = model.Target(form.F, form.f, forms.by_position(w[inverse(p)]))
        wrong += int((altered(x[:, list(p)]) != H(z)).sum())
    claim.measured("outputs unlike H_t(x), all p", wrong, equation="(80), ρ̃ = R_{p⁻¹(t)s}").equals(
        0
    )


@pytest.mark.exact
def test_the_spectrum_stays_if_all_rooms_have_the_same_length(claim):
    R = rationals(claim.rng("R").integers(-9, 10, (4, 4)))
    lengths = [flint.fmpq(3, 2)] * 4
    before = mixing.squares(R.tolist(), lengths, lengths)
    for p in itertools.permutations(range(4)):
        after = mixing.squares(R[inverse(p)].tolist(), lengths, lengths)
        claim.measured("polynomial of the squares of σ", after, equation="(88)", p=p).equals(before)


def causal(tau, base, L):
    """M: base^-(t-s) for s <= t and 0 else; K: the same, but base^-L wherever that is more."""

    def entry(t, s, clipped):
        if s > t:
            return base**-L if clipped else 0 * base
        return base ** -(min(t - s, L) if clipped else t - s)

    return (
        np.array([[entry(t, s, clipped) for s in range(tau)] for t in range(tau)])
        for clipped in (False, True)
    )


def rescaled(K, p):
    """Attention with the weights K_ts / Z_t, whose F multiplies by Z_t; f = (z, s/tau).

    For the altered target the rows of rho~ are those of p^-1; F and f are the same.
    """
    forms, tau = representation, len(K)
    Z = K.sum(-1)
    w = K / Z[:, None]
    codes = (w * rationals(np.arange(1, tau + 1))).sum(-1) / tau

    def f(x):
        s, z = forms.SHIFTED.read(x)
        return np.concatenate([z, s[..., None] / tau], axis=-1)

    def F(u):
        t = (u[..., -1:] == codes).argmax(-1)
        return Z[t] * u[..., 0]

    return model.Target(F, f, forms.by_position(w[inverse(p)]))


@pytest.mark.construct
def test_the_exchange_of_appendix_C_costs_nothing(claim):
    """tau = 32, the first ten inputs exchanged with the last ten: the same outputs, one by one."""
    tau, L = 32, 10
    M, K = causal(tau, flint.fmpq(2), L)
    p = ordering.exchange(tau, 10)
    count = claim.at_scale(smoke=2, laptop=10, paper=50)
    z = rationals(claim.rng("inputs").integers(0, 101, (count, tau, 1))) / 100
    x = representation.SHIFTED.encode(z)
    before, after = rescaled(K, range(tau))(x), rescaled(K, p)(x[:, p])
    claim.measured(
        "outputs that differ", int((before != after).sum()), equation="Ĥ and its altered"
    ).equals(0)
    claim.measured(
        "outputs unlike K z", int((before != (z[..., 0] @ K.T)).sum()), equation="Z_t u"
    ).equals(0)
    error = max(abs(before - z[..., 0] @ M.T).ravel())
    claim.measured("|H_t − Ĥ_t|", error, equation="clipped at −L").at_most(
        theorem(flint.fmpq(31, 2**10), "31 entries are off by 2^-10 at most")
    )


@pytest.mark.parametrize("L", [5, 10, 15, 20], ids="L={}".format)
@pytest.mark.certified
def test_mean_square_error_of_the_clipped_attention(L, claim):
    """Kernel e^-s, uniform inputs: |E|^2/12 + (sum E)^2/4 per row, in any order of columns."""
    tau, small = 32, flint.arb(-L).exp()
    M, K = causal(tau, flint.arb(1).exp(), L)
    rows = [sum(e * e for e in row) / 12 + sum(row) ** 2 / 4 for row in K - M]
    found = sum(rows) / tau
    claim.record("mean_square_error", float(found))
    most = 31 * small**2 / 12 + (31 * small) ** 2 / 4
    claim.measured("mean square error", found, equation="before and after").at_most(
        theorem(most, "0 ≤ E ≤ e^-L, in at most 31 entries of a row")
    )
    least = sum((j * small) ** 2 / 4 for j in range(tau)) / tau
    claim.measured("mean square error", found, equation="before and after").at_least(
        theorem(least, "row t has 32 − t future entries e^-L, so their sum squared over 4")
    )


# --- as printed ----------------------------------------------------------------------------------


def system():
    """No rho~ gives H~_1 of rho = u v log 2, F = f = id, p = (1 2), I = [0,2], [3,4], [5,6].

    y = x o p, y_1 = 3. With A(y_2) = e^(rho~(y_1,y_2) - rho~(y_1,y_1)) and B(y_3) likewise, (86) is
    A(y_2) (y_2 - T) + B(y_3) (y_3 - T) = T - y_1 with T = H_1(y_2, y_1, y_3). For y_2 = 0, 1, 2 and
    y_3 = 5, 6: six equations for A(0), A(1), A(2), B(5), B(6). The matrix, right side added.
    """
    rows = []
    for i, j in itertools.product(range(3), range(2)):
        x = rationals([i, 3, 5 + j])
        rho = np.array([logarithms.Log(2) * (x[0] * v) for v in x])
        T = (model.softmax(rho[None])[0] * x).sum()
        row = [flint.fmpq(0)] * 6
        row[i], row[3 + j], row[5] = x[0] - T, x[2] - T, T - x[1]
        rows.append(row)
    return flint.fmpq_mat(rows)


def test_printed_content_couplings_do_not_follow(claim):
    matrix = system()
    claim.measured("rank with the right side, 5 unknowns", matrix.rank(), equation="(86)").equals(6)
    claim.counterexample(
        "H~ has form (86) with F~ = F, f~ = f and some coupling rho~",
        input={
            "tau": 3,
            "p": "(1 2)",
            "rho": "u v log 2",
            "F, f": "identity",
            "y_1": 3,
            "y_2": [0, 1, 2],
            "y_3": [5, 6],
        },
        measured=matrix.det(),
        expected=0,
        equation="(86)-(90)",
        snippet="from flint import fmpq, fmpq_mat\n"
        "H = lambda x: sum(v * 2**(x[0] * v) for v in x) / fmpq(sum(2**(x[0] * v) for v in x))\n"
        "row = lambda a, b, T: [(a - T) * (a == i) for i in range(3)]"
        " + [(b - T) * (b == j) for j in (5, 6)] + [T - 3]\n"
        "M = fmpq_mat([row(a, b, H((a, 3, b))) for a in range(3) for b in (5, 6)])\n"
        "print('5 unknowns, rank with the right side:', M.rank(), ' determinant:', M.det())\n",
    )


def test_printed_the_weights_come_from_no_coupling(claim):
    """rho = u v: log w_3/w_2 of H~_1 has a mixed second difference in (y_2, y_3)."""
    h = flint.fmpq(1, 5)

    def log_ratio(y_2, y_3):
        """The query is x_1 = y_2."""
        return y_2 * y_3 - y_2 * y_2

    a, b = flint.fmpq(0), flint.fmpq(5)
    mixed = log_ratio(a + h, b + h) - log_ratio(a + h, b) - log_ratio(a, b + h) + log_ratio(a, b)
    claim.counterexample(
        "the weights of H~_1 come from a coupling of y_1 with each token",
        input={"tau": 3, "p": "(1 2)", "rho": "u v", "h": "1/5"},
        measured=mixed,
        expected=0,
        equation="(86): log w_3/w_2 = ρ̃(y_1, y_3) − ρ̃(y_1, y_2)",
        snippet="g = lambda y2, y3: y2 * y3 - y2**2      # log w_3/w_2, query x_1 = y_2\n"
        "h = 0.2\n"
        "print(g(h, 5 + h) - g(h, 5) - g(0, 5 + h) + g(0, 5), 'should be 0')\n",
    )


def test_printed_equation_90_compares_two_tokens(claim):
    """phi(u) = u, p = (1 2), t = 1: the left side sees x(2), the right side x(1)."""
    x, y = rationals([[0, 3, 5], [1, 3, 5]])
    claim.measured("x(p(1)) of both", x[1], equation="(90), left side").equals(y[1])
    claim.counterexample(
        "phi~(x(p(t))) = phi(x(t)) for a function phi~",
        input={"phi": "u", "p": "(1 2)", "t": 1, "x": [0, 3, 5], "and": [1, 3, 5]},
        measured=x[0],
        expected=y[0],
        equation="(90)",
        snippet="x, y = (0, 3, 5), (1, 3, 5)\n"
        "print('x(p(1)):', x[1], y[1], ' phi(x(1)):', x[0], y[0])\n",
    )


def test_printed_rooms_of_different_lengths_change_the_spectrum(claim):
    """R = ((1, 0), (0, 0)), |I_1| = 1, |I_2| = 4, p = (1 2): sigma_1 = 1 becomes 2."""
    R, lengths = [[1, 0], [0, 0]], [flint.fmpq(1), flint.fmpq(4)]
    before, after = (mixing.singular_values(A, lengths, lengths) for A in (R, R[::-1]))
    claim.measured("rank", len(before), equation="(88)").equals(len(after))
    claim.counterexample(
        "the singular values of rho~ are those of rho",
        input={"R": R, "|I_1|": 1, "|I_2|": 4, "p": "(1 2)"},
        measured=after[0],
        expected=before[0],
        equation="(88): σ_i, C_1",
        snippet="from math import sqrt\n"
        "print('before', sqrt(1 * 1) * 1, ' after', sqrt(4 * 1) * 1)   # sqrt(|I_t| |I_s|) R_ts\n",
    )


# --- controls ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["unpermuted", "p for its inverse"])
def test_control_the_rows_must_be_permuted_by_the_inverse(rows, claim):
    """p = (1 2 3): rho itself gives H_p(t); p in place of p^-1 gives another H as well."""
    forms, p = representation, [1, 2, 0]
    z = rationals([["0"], ["1/2"], ["1"]])
    w = forms.doubled_diagonal(3)
    form = forms.Representation(sorted_sums, w)
    order = [0, 1, 2] if rows == "unpermuted" else p
    altered = model.Target(form.F, form.f, forms.by_position(w[order]))
    error = abs(altered(forms.SHIFTED.encode(z)[p]) - sorted_sums(z)).max()
    claim.measured(ERROR, error, equation=f"ρ̃, {rows}").at_least(
        exactly(flint.fmpq(1, 2), "another output is given, they are 0, 1/2 and 1")
    )


def test_control_a_content_coupling_with_its_rows_moved(claim):
    """rho = u v log 2 and (90) literally: the query is moved from room p(t) to room t, z kept."""
    x = rationals([[0], [3], [5]])  # rooms [0, 2], [3, 5], [5, 7]: 3 is moved to 0, 0 to 3
    Log = logarithms.Log

    def attend(query, keys):
        w = model.softmax(np.array([[Log(2) * (query * v) for v in keys]]))[0]
        return (w * keys).sum()

    keys = x[:, 0]
    literal, stated = attend(keys[1] - 3, keys), attend(keys[0], keys)
    claim.measured("agrees where z_1 = z_2 = 0", literal, equation="(90)").equals(stated)
    error = abs(
        attend(keys[1] - 3, rationals([2, 3, 5])) - attend(flint.fmpq(2), rationals([2, 3, 5]))
    )
    claim.measured(ERROR, error, equation="(90), x(1) = 2").at_least(
        exactly(flint.fmpq(3, 2), "uniform weights, 10/3, for nearly all weight at 5")
    )
