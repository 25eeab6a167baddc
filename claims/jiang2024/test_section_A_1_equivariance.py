"""Section A.1 (jiang2024, equations (19)-(21)): shuffle in, shuffle out.

For every permutation p of [tau] and every Transformer (5) without position encoding,
    H^_t(x o p) = H^_{p(t)}(x),    where (x o p)(t) = x(p(t)).

Proof. Token s of x o p is x(p(s)). So the logits of output t are rho(x(p(t)), x(p(s))), s = 1, ...,
tau: those of output p(t) for x, in another order. The denominator of the softmax is a sum over all
s, so each weight stays with its token. The average is a sum over all s as well, so it is that of
output p(t) for x. F^ is the same for all t. Nothing of f^, F^ and the coupling was used: it holds
for every target of form (8), and for the hard maximum.                                         QED

Checked: in rationals, for random permutations, shapes and weights, and for all 24 permutations of 4
tokens of a target whose outputs are written out.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import encodings, model, networks
from repro.numerics import arrays, exact, logarithms

EQUIVARIANCE = "(19)–(21)"


def drawn(seed, d=2, n=3, m_h=2, d_v=2, tau=4):
    rng = np.random.default_rng(seed)
    return networks.drawn(rng, d, n, m_h, d_v), networks.tokens(rng, tau, d)


small = st.integers(1, 3)
seeds = st.integers(0, 2**32 - 1)
permutations = st.integers(1, 5).flatmap(lambda tau: st.permutations(range(tau)))
cases = st.tuples(seeds, small, small, small, small, permutations)


@pytest.mark.exact
def test_outputs_are_shuffled_like_inputs(claim):
    def wrong(case):
        *shape, p = case
        net, x = drawn(*shape, tau=len(p))
        H = net.transformer()
        return int((H(x[p]) != H(x)[p]).sum())

    examples = claim.at_scale(smoke=15, laptop=120, paper=4000)
    claim.for_all("outputs that differ", cases, wrong, equation=EQUIVARIANCE, examples=examples)


PLACES = [Fraction(1), Fraction(1, 2), Fraction(6), Fraction(5, 3)]


def target(sigma):
    """(8) with e^-rho = 1 + (u - 2v)^2: the maximum is at the v nearest to u/2; F a cubic."""

    def rho(u, v):
        return arrays.each(logarithms.Log, 1 / (1 + (u - 2 * v[..., 0]) ** 2))

    return model.Target(lambda z: z[..., 0] ** 3 - z[..., 0], lambda x: x / 7, rho, sigma)


def written_out(sigma):
    """The outputs at PLACES; u/2 is 1/2, 1/4, 3 and 5/6: nearest are 1/2, 1/2, 5/3 and 1."""
    for u, near in zip(PLACES, (1, 1, 3, 0), strict=True):
        e = [1 / (1 + (u - 2 * v) ** 2) for v in PLACES]
        mean = sum(w * v for w, v in zip(e, PLACES, strict=True)) / sum(e)
        z = (PLACES[near] if sigma == "hard_max" else mean) / 7
        yield z**3 - z


@pytest.mark.parametrize("sigma", ["softmax", "hard_max"])
@pytest.mark.exact
def test_all_permutations_of_four_tokens_for_a_target_of_form_8(sigma, claim):
    H, x = target(getattr(model, sigma)), exact.rationals(PLACES)[:, None]
    y = H(x)
    for t, (found, by_hand) in enumerate(zip(y, written_out(sigma), strict=True), start=1):
        claim.measured("H_t", found, equation="(8)", t=t).equals(exact.rational(by_hand))
    orders = map(list, itertools.permutations(range(4)))
    wrong = sum(int((H(x[p]) != y[p]).sum()) for p in orders)
    claim.measured("outputs of all orders that differ", wrong, equation=EQUIVARIANCE).equals(0)


def test_control_encoded_positions_break_it(claim):
    """Tokens (x, t), logits t (x(s) log 2 + s log 3), values x. For (0, 1) the powers are 3 and 18:
    18/21 and 18^2/(3^2 + 18^2); for (1, 0) they are 6 and 9, and the first output is 6/15."""
    W_Q, W_V = exact.rationals([[0, 1]]), exact.rationals([[1, 0]])
    W_K = np.array([[logarithms.Log(2), logarithms.Log(3)]], dtype=object)
    H = model.Transformer(lambda x: x, W_Q, W_K, W_V, lambda z: z[..., 0])
    x = exact.rationals([0, 1])[:, None]
    encode = encodings.appended
    before, after = H(encode(x)), H(encode(x[::-1]))
    claim.measured("outputs", [str(y) for y in before], equation="(5)").equals(["6/7", "36/37"])
    claim.measured("difference", abs(after[0] - before[1]), equation="(7)").at_least(
        theorem(exact.rational("106/185"), "36/37 − 2/5, by hand")
    )


def test_control_the_inverse_permutation_is_another(claim):
    """H(x o p) = H(x) o p^-1 for a cycle of four tokens with four outputs: it fails at each."""
    p, inverse = [1, 2, 3, 0], [3, 0, 1, 2]
    H, x = target(model.softmax), exact.rationals(PLACES)[:, None]
    wrong = int((H(x[p]) != H(x)[inverse]).sum())
    claim.measured("outputs that differ", wrong, equation=EQUIVARIANCE).equals(4)
