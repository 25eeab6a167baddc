"""Equation (18) (jiang2024, Section 4.3): queries times keys is a coupling of low rank.

If f^ carries phi_1, ..., phi_{m_h} and psi_1, ..., psi_{m_h} among its coordinates and the rows of
W_Q and W_K select them, then (W_Q f^(u)) . W_K f^(v) = sum_k phi_k(u) psi_k(v).

Checked, in rationals: the identity for the corrected rows (repro/jiang2024/selection.py); values
pass W_V unchanged; n = 2 m_h + n'. For random W_Q, W_K of m_h rows the scores have rank at most
m_h, and some have it. The Transformer is the target (8) with this coupling.

Misprint: the key row e_{k+m_h+1} takes for k = m_h the first value instead of psi_{m_h}, and misses
psi_1.
"""

import flint
import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import model, selection
from repro.numerics import exact, logarithms

integers = st.integers(-3, 3)


def shapes(m_h, n_values, width=3):
    """Coefficients of polynomials of degree < width for phi, psi and f, and tokens."""
    table = st.lists(integers, min_size=width, max_size=width)
    return st.tuples(
        st.lists(table, min_size=m_h, max_size=m_h),
        st.lists(table, min_size=m_h, max_size=m_h),
        st.lists(table, min_size=n_values, max_size=n_values),
        st.lists(integers, min_size=1, max_size=4),
    )


cases = st.tuples(st.integers(1, 4), st.integers(1, 3)).flatmap(lambda shape: shapes(*shape))


def powers(x, width):
    """1, x, x^2, ... as columns."""
    return np.concatenate([x**k for k in range(width)], axis=-1)


def polynomials(table):
    coefficients = exact.rationals(table)
    return lambda x: powers(x, coefficients.shape[1]) @ coefficients.T


def value(coefficients, x):
    return sum(c * x**k for k, c in enumerate(coefficients))


def built(phi, psi, f, x):
    x = exact.rationals(x)[:, None]
    bases, values = (polynomials(phi), polynomials(psi)), polynomials(f)
    return selection.transformer(*bases, values, lambda z: z[..., 0], x), x


@pytest.mark.exact
def test_the_scores_are_the_sum_of_products(claim):
    """All scores and values, against sums of integers."""

    def wrong(case):
        (phi, psi, f, x), (network, tokens) = case, built(*case)
        target = network.target()
        scores, values = target.logits(tokens), target.f(tokens)
        pairs = list(zip(phi, psi, strict=True))
        stated = [[sum(value(a, u) * value(b, v) for a, b in pairs) for v in x] for u in x]
        carried = [[value(c, v) for c in f] for v in x]
        return int((scores != np.array(stated)).sum() + (values != np.array(carried)).sum())

    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    claim.for_all("wrong scores and values", cases, wrong, equation="(18)", examples=examples)


@pytest.mark.exact
def test_no_weight_is_wasted(claim):
    """Every coordinate of f^ is selected once: n = 2 m_h + m_v, as Theorem 4.1 has it."""
    for m_h, n_values in [(1, 1), (3, 2), (8, 5)]:
        rows = selection.rows(m_h, n_values)
        shapes = [W.shape for W in rows]
        n = 2 * m_h + n_values
        printed = [(m_h, n), (m_h, n), (n_values, n)]
        claim.measured("shapes", shapes, equation="(5)", m_h=m_h).equals(printed)
        used = np.concatenate(rows).sum(0).tolist()
        claim.measured("times selected", used, equation="(18)", m_h=m_h).equals([1] * n)


def rank(matrix):
    return flint.fmpq_mat([list(row) for row in matrix]).rank()


@pytest.mark.parametrize("m_h", [1, 2, 3, 5], ids="m_h={}".format)
@pytest.mark.exact
def test_scores_have_rank_at_most_m_h_whatever_the_weights(m_h, claim):
    """12 tokens, random W_Q and W_K, f^ of 8 monomials: the rank by rational elimination."""
    rng, n, ranks = claim.rng("weights"), 8, []
    for _ in range(claim.at_scale(smoke=5, laptop=25, paper=200)):
        W_Q, W_K = (exact.rationals(rng.integers(-4, 5, (m_h, n))) for _ in range(2))
        network = model.Transformer(lambda x: powers(x, n), W_Q, W_K, W_Q, lambda z: z[..., 0])
        x = exact.rationals(np.arange(12))[:, None] / 6
        ranks.append(rank(network.target().logits(x)))
    largest = claim.measured("largest rank", max(ranks), equation="(18)")
    largest.at_most(theorem(m_h, "a product of (12, m_h) and (m_h, 12)")).equals(m_h)


@pytest.mark.construct
def test_the_transformer_is_the_target_with_this_coupling(claim):
    """e^rho = 2^(u v) 3^(u^2 v): two terms with logarithms, F a square; sums written out."""
    logs = np.array([logarithms.Log(2), logarithms.Log(3)], dtype=object)

    def wrong(x):
        tokens = exact.rationals(x)[:, None]
        network = selection.transformer(
            lambda u: np.concatenate([u, u**2], axis=-1),
            lambda v: v * logs,
            lambda v: v / 5,
            lambda z: z[..., 0] ** 2,
            tokens,
        )
        ours, wrong = network(tokens), 0
        for u, y in zip(x, ours, strict=True):
            e = [flint.fmpq(2) ** (u * v) * flint.fmpq(3) ** (u * u * v) for v in x]
            average = sum(a * v for a, v in zip(e, x, strict=True)) / (5 * sum(e))
            wrong += y != average**2
        return wrong

    tokens = st.lists(st.integers(0, 5), min_size=1, max_size=5)
    examples = claim.at_scale(smoke=15, laptop=100, paper=2000)
    claim.for_all("wrong outputs", tokens, wrong, equation="(5), (8)", examples=examples)


def score_with_the_printed_row(phi, psi, f):
    """m_h = m_v = 1, so f^ = (phi, psi, f); and the product that (18) asks for."""
    carried, k, m_h = [phi, psi, f], 1, 1
    query, key = carried[k - 1], carried[k + m_h + 1 - 1]  # rows e_k and e_(k + m_h + 1)
    return query * key, phi * psi


def test_printed_key_rows_take_a_value_for_a_basis_function(claim):
    """m_h = 1, f^ = (phi, psi, f) = (1, 5, 0): the printed key row is e_3, the score 0, not 5."""
    W_Q, W_K, W_V = (exact.rationals(W) for W in selection.rows(1, 1))
    printed = np.roll(W_K, 1, axis=1)
    claim.measured("printed row", list(printed[0]), equation="(18)", k=1, m_h=1).equals([0, 0, 1])

    def score(keys):
        carried = exact.rationals([[1, 5, 0]])
        network = model.Transformer(lambda x: carried, W_Q, keys, W_V, lambda z: z[..., 0])
        return network.target().logits(exact.rationals([[0]]))[0, 0]

    claim.counterexample(
        "[W_K]_k = e_{k + m_h + 1} gives the sum of phi_k psi_k",
        input={"m_h": 1},
        measured=score(printed), expected=5, equation="(18)", program=score_with_the_printed_row,
        phi=1, psi=5, f=0,
    )  # fmt: skip
    claim.measured("score with e_{k+m_h}", score(W_K), equation="(18)", k=1, m_h=1).equals(5)


@pytest.mark.parametrize("r", [2, 3, 5], ids="r={}".format)
def test_control_one_row_less_misses_the_last_singular_value(r, claim):
    """On r points the coupling is the identity matrix, of singular values 1, ..., 1. Every matrix
    of rank r - 1 is at least 1 away in the Frobenius norm (Eckart and Young); the cut one is 1."""
    points = exact.rationals(np.eye(r, dtype=int))  # phi_k = psi_k = 1 at point k, 0 elsewhere
    cut = selection.transformer(
        lambda x: x[:, : r - 1], lambda x: x[:, : r - 1], lambda x: x, lambda z: z[..., 0], points
    )
    scores = cut.target().logits(points)
    claim.measured("rank", rank(scores), equation="(18)", m_h=r - 1).equals(r - 1)
    off = ((scores - points) ** 2).sum()
    claim.measured("squared Frobenius error", off, equation="(11)", m_h=r - 1).at_least(
        theorem(1, "Eckart and Young, the last singular value is 1")
    )
