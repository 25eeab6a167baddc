"""Section A.1 (jiang2024, equations (19)-(21)): shuffle in, shuffle out.

For every permutation p of [tau] and every Transformer (5) without position encoding,
    H^_t(x o p) = H^_{p(t)}(x),    where (x o p)(t) = x(p(t)).

Proof. Token s of x o p is x(p(s)). So the logits of output t are rho(x(p(t)), x(p(s))), s = 1, ...,
tau: those of output p(t) for x, in another order. The denominator of the softmax is a sum over all
s, so each weight stays with its token. The average is a sum over all s as well, so it is that of
output p(t) for x. F^ is the same for all t. Nothing of f^, F^ and the coupling was used: it holds
for every target of form (8), and for the hard maximum.                                         QED

Checked: in rationals, for random permutations, shapes and weights, and for all 24 permutations of 4
tokens. In float64 the two sides differ by no more than the derived round-off of both
(repro/jiang2024/networks.py).
"""

import itertools

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import chosen, rounding_error, theorem
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


@pytest.mark.parametrize("sigma", ["softmax", "hard_max"])
@pytest.mark.exact
def test_all_permutations_of_four_tokens_for_a_target_of_form_8(sigma, claim):
    """e^-rho = 1 + (u - 2v)^2: the maximum is at the v nearest to u/2; F a cubic."""

    def rho(u, v):
        return arrays.each(logarithms.Log, 1 / (1 + (u - 2 * v[..., 0]) ** 2))

    def F(z):
        return z[..., 0] ** 3 - z[..., 0]

    H = model.Target(F, lambda x: x / 7, rho, getattr(model, sigma))
    x = exact.rationals([1, "1/2", 6, "5/3"])[:, None]
    y, different = H(x), {"softmax": 4, "hard_max": 3}[sigma]
    claim.measured("different outputs", len(set(map(str, y))), equation="(8)").equals(different)
    orders = map(list, itertools.permutations(range(4)))
    wrong = sum(int((H(x[p]) != y[p]).sum()) for p in orders)
    claim.measured("outputs of all orders that differ", wrong, equation=EQUIVARIANCE).equals(0)


def floats(claim, stream, tau, count, d=2, n=16, m_h=4, d_v=3):
    """A network with normal weights, `count` sequences and a permutation, in float64."""
    import torch

    generator = torch.Generator().manual_seed(claim.seed(stream))

    def normal(*shape):
        draw = torch.randn(shape, generator=generator, dtype=torch.float64)
        return (draw / np.sqrt(shape[-1])).to(claim.device)

    def network(inputs, outputs):
        layers = normal(32, inputs), normal(32), normal(outputs, 32), normal(outputs)
        return networks.FeedForward(*layers)

    f, (W_Q, W_K, W_V) = network(d, n), (normal(rows, n) for rows in (m_h, m_h, d_v))
    net = networks.Networks(f, W_Q, W_K, W_V, network(d_v, 1))
    x = torch.rand((count, tau, d), generator=generator, dtype=torch.float64).to(claim.device)
    return net, x, torch.randperm(tau, generator=generator)


def encoded(x):
    return encodings.appended(x) / x.shape[-2]


@pytest.mark.construct
def test_float64_differs_by_no_more_than_round_off(claim):
    lengths, count = claim.at_scale(smoke=(4, 64), laptop=(4, 16, 64, 256), paper=(4, 64, 1024)), 8
    largest = 0.0
    for tau in lengths:
        net, x, p = floats(claim, f"plain {tau}", tau, count)
        H = net.transformer()
        off = (H(x[:, p]) - H(x)[:, p]).abs()
        bound = net.roundoff(x[:, p]) + net.roundoff(x)[:, p]
        finite, worst = bool(off.isfinite().all()), float((off / bound).max())
        claim.measured("outputs are finite", finite, equation="(5)", tau=tau).equals(True)
        claim.measured("difference over its bound", worst, equation=EQUIVARIANCE, tau=tau).at_most(
            rounding_error(1, "Networks.roundoff for both orders, derived in networks.py")
        )
        largest = max(largest, float(off.max()))
    claim.record("largest", largest)


def test_control_encoded_positions_break_it(claim):
    """Tokens (x, t), logits t x(s) log 2, values x: outputs 2/3 and 4/5 for (0, 1) and (1, 0)."""
    W_Q, W_V = exact.rationals([[0, 1]]), exact.rationals([[1, 0]])
    W_K = np.array([[logarithms.Log(2), 0]], dtype=object)
    H = model.Transformer(lambda x: x, W_Q, W_K, W_V, lambda z: z[..., 0])
    x = exact.rationals([0, 1])[:, None]
    encode = encodings.appended
    before, after = H(encode(x)), H(encode(x[::-1]))
    claim.measured("outputs", [str(y) for y in before], equation="(5)").equals(["2/3", "4/5"])
    claim.measured("difference", abs(after[0] - before[1]), equation="(7)").at_least(
        theorem(exact.rational("2/15"), "4/5 − 2/3, by hand")
    )


def test_control_encoded_positions_break_it_for_random_weights(claim):
    net, x, p = floats(claim, "encoded", 16, 8, d=3)
    H, plain = net.transformer(), x[..., :2]
    off = (H(encoded(plain[:, p])) - H(encoded(plain))[:, p]).abs().max()
    bound = float(2 * net.roundoff(encoded(plain)).max())
    claim.measured("difference", float(off), equation="(7)").at_least(
        chosen(1e6 * bound, "a million times the round-off of both sides: no rounding error")
    )


def test_control_the_inverse_permutation_is_another(claim):
    """H(x o p) = H(x) o p^-1 for a cycle of three tokens: over half of 20 models differ."""
    p, inverse, wrong = [1, 2, 0], [2, 0, 1], 0
    for seed in range(20):
        net, x = drawn(seed, tau=3)
        H = net.transformer()
        wrong += bool((H(x[p]) != H(x)[inverse]).any())
    claim.measured("models that differ", wrong, equation=EQUIVARIANCE).at_least(
        chosen(11, "over half of 20; with p for its inverse none differs")
    )
