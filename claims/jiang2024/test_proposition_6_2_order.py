"""Proposition 6.2 (jiang2024, Section 6.1, proof in D.2): attention does not mind the order.

For a fixed permutation p let H~_t(x o p) = H_t(x): the target sees the permuted input and gives the
old output. Then H~ is said to have the same complexity measures C_0, C_1, C_2, because it has form
(8) with F~ = F, f~ = f and a coupling rho~ whose functions phi_i have their pieces permuted.

Checked: that is right for couplings by position, rho(u, v) = R_ts for u in I_t, v in I_s: then rho~
= R_(p^-1(t) s) does it, exactly, for all 24 permutations of 4 tokens, F and f unchanged. The
spectrum is unchanged if all I_t have the same volume. The linear target with kernel e^-s, attended
with logits clipped at -L, has the same mean square error before and after the exchange of
Appendix C.
A gap in the proof: (90) equates a function of x(p(t)) with one of x(t). For rho = u v log 2,
F = f = id, tau = 3, p = (1 2) no coupling rho~ whatever gives H~ with the same F and f. Edge case:
with rooms of different lengths the singular values change. (C_FF of permuted pieces: section-D.2.)

Not checked: the statement itself for couplings that see contents. Its measures are infima over all
representations; nothing above refutes it, and nothing proves it. Trained networks: Table 2.
"""

import itertools
from fractions import Fraction

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
    """rho~ = R_(p^-1(t) s), in rationals."""
    tau, count = 4, claim.at_scale(smoke=2, laptop=10, paper=50)
    z = rationals(claim.rng("places").integers(0, 8, (count, tau, 2))) / 7
    x, w = representation.SHIFTED.encode(z), representation.doubled_diagonal(tau)
    form = representation.Representation(H, w, d=2)
    wrong = 0
    for p in itertools.permutations(range(tau)):
        altered = model.Target(form.F, form.f, representation.by_position(w[inverse(p)]))
        wrong += int((altered(x[:, list(p)]) != H(z)).sum())
    claim.measured("outputs unlike H_t(x), for all p", wrong, equation="(80)").equals(0)


@pytest.mark.exact
def test_the_readout_tells_two_rows_of_weights_apart(claim):
    """w = (1/2 1/2; 1/3 2/3), f = 3/5 + z/5. Read by another row, a number that is q times as big
    lies 3 (q - 1) - 1 or more beyond [0, 1] if q > 1, else 3 (1 - q) - q. The larger counts: of 1/2
    and 0 for q = 3/2 and 3/4, of 1/3 and 0 for q = 2/3 and 4/3. The margin is the least, 1/3."""
    w = rationals([["1/2", "1/2"], ["1/3", "2/3"]])
    margin = representation.gap(w, exact.rational("3/5"), exact.rational("1/5"))
    claim.measured("margin of the readout", margin, equation="(80)").equals(Fraction(1, 3))
    z = rationals([[["0"], ["1"]], [["1/4"], ["1"]]])
    x = representation.SHIFTED.encode(z)
    form = representation.Representation(sorted_sums, w)
    for p in ([0, 1], [1, 0]):
        altered = model.Target(form.F, form.f, representation.by_position(w[inverse(p)]))
        outputs = [list(row) for row in altered(x[:, p])]
        claim.measured("outputs, smaller z first", outputs, equation="(80)", p=p).equals(
            [[0, 1], [Fraction(1, 4), 1]]
        )


@pytest.mark.exact
def test_the_spectrum_stays_if_all_rooms_have_the_same_length(claim):
    R = rationals(claim.rng("R").integers(-9, 10, (4, 4)))
    lengths = [flint.fmpq(3, 2)] * 4
    before = mixing.squares(R.tolist(), lengths, lengths)
    for p in itertools.permutations(range(4)):
        after = mixing.squares(R[inverse(p)].tolist(), lengths, lengths)
        claim.measured("polynomial of the squares of σ", after, equation="(88)", p=p).equals(before)


@pytest.mark.construct
def test_the_exchange_of_appendix_C_costs_nothing(claim):
    """tau = 32, the first ten inputs exchanged with the last ten: the same outputs, one by one."""
    tau, L = 32, 10
    M, K = ordering.clipped(tau, flint.fmpq(2), L)
    p = ordering.exchange(tau, 10)
    count = claim.at_scale(smoke=2, laptop=10, paper=50)
    z = rationals(claim.rng("inputs").integers(0, 101, (count, tau, 1))) / 100
    x = representation.SHIFTED.encode(z)
    before, after = ordering.attending(K, range(tau))(x), ordering.attending(K, p)(x[:, p])
    moved, unlike = (int((before != other).sum()) for other in (after, z[..., 0] @ K.T))
    claim.measured("outputs that differ before and after", moved, equation="(80)").equals(0)
    claim.measured("outputs unlike K z", unlike, equation="(8)").equals(0)
    error = max(abs(before - z[..., 0] @ M.T).ravel())
    claim.measured("largest |H_t − Ĥ_t|", error, equation="(8)", L=L).at_most(
        theorem(flint.fmpq(31, 2**10), "31 entries are off by 2^-10 at most")
    )


@pytest.mark.parametrize("L", [5, 10, 15, 20], ids="L={}".format)
@pytest.mark.certified
def test_mean_square_error_of_the_clipped_attention(L, claim):
    """Kernel e^-s, uniform inputs: |E|^2/12 + (sum E)^2/4 per row, in any order of columns."""
    tau, small = 32, flint.arb(-L).exp()
    M, K = ordering.clipped(tau, flint.arb(1).exp(), L)
    rows = [sum(e * e for e in row) / 12 + sum(row) ** 2 / 4 for row in K - M]
    found = sum(rows) / tau
    most = 31 * small**2 / 12 + (31 * small) ** 2 / 4
    least = sum((j * small) ** 2 / 4 for j in range(tau)) / tau
    error = claim.measured("mean square error", found, equation="(75)")
    error.at_most(theorem(most, "0 ≤ E ≤ e^-L, in at most 31 entries of a row"))
    error.at_least(theorem(least, "32 − t future entries e^-L in row t, their sum squared over 4"))


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


def determinant(y_2, y_3):
    """Of the six equations for A(y_2) and B(y_3), right side added; 0 if they had a solution."""
    from flint import fmpq, fmpq_mat

    rows = []
    for a, b in ((a, b) for a in y_2 for b in y_3):
        x = (a, 3, b)
        T = fmpq(sum(v * 2 ** (a * v) for v in x)) / sum(2 ** (a * v) for v in x)
        rows.append([(a - T) * (a == i) for i in y_2] + [(b - T) * (b == j) for j in y_3] + [T - 3])
    return fmpq_mat(rows).det(), 0


def test_printed_content_couplings_do_not_follow(claim):
    matrix = system()
    name = "rank of 5 unknowns and the right side"
    claim.measured(name, matrix.rank(), equation="(86)").equals(6)
    claim.counterexample(
        "H~ has form (86) with F~ = F, f~ = f and some coupling rho~",
        input={"tau": 3, "p": "(1 2)", "rho": "u v log 2", "F, f": "identity", "y_1": 3},
        measured=matrix.det(), expected=0, equation="(86)-(90)", program=determinant, y_2=[0, 1, 2],
        y_3=[5, 6],
    )  # fmt: skip


def mixed_second_difference(y_2, y_3, h):
    """Of log w_3/w_2 in (y_2, y_3); and 0, its value if w comes from a coupling of y_1."""
    from fractions import Fraction

    def log_ratio(y_2, y_3):
        return y_2 * y_3 - y_2**2  # rho = u v, and the query is x_1 = y_2

    h = Fraction(h)
    high, low = (log_ratio(y_2 + k, y_3 + h) - log_ratio(y_2 + k, y_3) for k in (h, 0))
    return high - low, 0


def test_printed_the_weights_come_from_no_coupling(claim):
    """rho = u v: by (86) log w_3/w_2 = rho~(y_1, y_3) - rho~(y_1, y_2), without a mixed term."""
    at = {"y_2": 0, "y_3": 5, "h": "1/5"}
    mixed, none = mixed_second_difference(**at)
    claim.counterexample(
        "the weights of H~_1 come from a coupling of y_1 with each token",
        input={"tau": 3, "p": "(1 2)", "rho": "u v"},
        measured=mixed, expected=none, equation="(86)", program=mixed_second_difference, **at,
    )  # fmt: skip


def tokens_compared(x, y):
    """phi(x(1)) and phi(y(1)) for phi(u) = u, where phi~ sees the same x(p(1)) = x(2) = y(2)."""
    assert x[1] == y[1]
    return x[0], y[0]


def test_printed_equation_90_compares_two_tokens(claim):
    """phi(u) = u, p = (1 2), t = 1: the left side sees x(2), the right side x(1)."""
    x, y = [0, 3, 5], [1, 3, 5]
    claim.counterexample(
        "phi~(x(p(t))) = phi(x(t)) for a function phi~",
        input={"phi": "u", "p": "(1 2)", "t": 1},
        measured=x[0], expected=y[0], equation="(90)", program=tokens_compared, x=x, y=y,
    )  # fmt: skip


def first_singular_value(R, lengths):
    """After and before p = (1 2), for R of rank one: sigma_1^2 = sum |I_t| |I_s| R_ts^2."""
    from math import isqrt

    def sigma(R):
        return isqrt(
            sum(a * b * R[t][s] ** 2 for t, a in enumerate(lengths) for s, b in enumerate(lengths))
        )

    return sigma(R[::-1]), sigma(R)


def test_printed_rooms_of_different_lengths_change_the_spectrum(claim):
    """R = ((1, 0), (0, 0)), |I_1| = 1, |I_2| = 4, p = (1 2): sigma_1 = 1 becomes 2."""
    R, lengths = [[1, 0], [0, 0]], [flint.fmpq(1), flint.fmpq(4)]
    before, after = (mixing.singular_values(A, lengths, lengths) for A in (R, R[::-1]))
    claim.measured("rank", len(before), equation="(88)").equals(len(after))
    claim.counterexample(
        "the singular values of rho~ are those of rho",
        input={"R": R, "|I_1|": 1, "|I_2|": 4, "p": "(1 2)"},
        measured=after[0], expected=before[0], equation="(88)",
        program=first_singular_value, R=R, lengths=[1, 4],
    )  # fmt: skip


@pytest.mark.parametrize("rows", ["unpermuted", "p for its inverse"])
def test_control_the_rows_must_be_permuted_by_the_inverse(rows, claim):
    """p = (1 2 3): rho itself gives H_p(t); p in place of p^-1 gives another H as well."""
    p = [1, 2, 0]
    z = rationals([["0"], ["1/2"], ["1"]])
    w = representation.doubled_diagonal(3)
    form = representation.Representation(sorted_sums, w)
    order = [0, 1, 2] if rows == "unpermuted" else p
    altered = model.Target(form.F, form.f, representation.by_position(w[order]))
    error = abs(altered(representation.SHIFTED.encode(z)[p]) - sorted_sums(z)).max()
    claim.measured(ERROR, error, equation="(80)").at_least(
        exactly(flint.fmpq(1, 2), "another output is given, they are 0, 1/2 and 1")
    )


def test_control_a_content_coupling_with_its_rows_moved(claim):
    """rho = u v log 2 and (90) literally: the query is moved from room p(t) to room t, z kept."""

    def attend(query, keys):
        w = model.softmax(np.array([[logarithms.Log(2) * (query * v) for v in keys]]))[0]
        return (w * keys).sum()

    def both(keys):  # rooms [0, 2], [3, 5], [5, 7]: 3 is moved to 0, 0 to 3
        return attend(keys[1] - 3, keys), attend(keys[0], keys)

    literal, stated = both(rationals([0, 3, 5]))
    claim.measured("output where z_1 and z_2 are 0", literal, equation="(90)").equals(stated)
    literal, stated = both(rationals([2, 3, 5]))
    claim.measured(ERROR, abs(literal - stated), equation="(90)").at_least(
        exactly(flint.fmpq(3, 2), "uniform weights, 10/3, for nearly all weight at 5")
    )
