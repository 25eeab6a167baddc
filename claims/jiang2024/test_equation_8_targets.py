"""Equations (8)-(9) (jiang2024, Section 4.2): the shape of a target.

H_t(x) = F( sum_s sigma[rho(x(t), x(.))](s) f(x(s)) ) with continuous F : [0, 1]^n -> R,
f : I -> [0, 1]^n and rho : I x I -> R, the same for all t.

Checked: repro/jiang2024/model.py evaluates this formula, in rationals, for random couplings, f and
F, against the sum written out. Averages of f stay in [0, 1]^n; a function of u added to rho changes
nothing. Every Transformer (5) is of this form; conversely a target with rho = sum_k phi_k psi_k of
m_h terms is a Transformer (5) with the rows of (18). Outputs move by no more than
L_F (L_f + L_rho / 2) times the largest step of a token.

Readings: the values of (5) need not lie in [0, 1]; an affine change of f that F undoes puts them
there.
Not checked: that these targets are dense; that is Theorem A.3.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.jiang2024 import model, networks, selection
from repro.numerics import arrays, exact, logarithms

Log = logarithms.Log
unit = st.integers(0, 12).map(lambda k: Fraction(k, 12))
coefficients = st.tuples(*[st.integers(1, 5)] * 3)
polynomials = st.lists(st.integers(-3, 3), min_size=1, max_size=3)
cases = st.tuples(coefficients, polynomials, st.lists(unit, min_size=1, max_size=5))


def target(coefficients, polynomial, shift=None):
    """f = (v, 1/(1+v)); F is a polynomial of the sum; e^rho = ((a + b u + c v) / (1 + v))^2."""
    a, b, c = coefficients

    def rho(u, v):
        v = v[..., 0]
        logits = arrays.each(Log, ((a + b * u + c * v) / (1 + v)) ** 2)
        return logits if shift is None else logits + arrays.each(Log, shift(u))

    def f(x):
        return np.concatenate([x, 1 / (1 + x)], axis=-1)

    return model.Target(lambda z: sum(q * z.sum(-1) ** k for k, q in enumerate(polynomial)), f, rho)


def written_out(coefficients, polynomial, x):
    """The same in Python's fractions, sum by sum."""
    a, b, c = coefficients
    for u in x:
        e = [((a + b * u + c * v) / (1 + v)) ** 2 for v in x]
        first = sum(w * v for w, v in zip(e, x, strict=True)) / sum(e)
        second = sum(w / (1 + v) for w, v in zip(e, x, strict=True)) / sum(e)
        yield sum(q * (first + second) ** k for k, q in enumerate(polynomial))


def column(x):
    return exact.rationals(x)[:, None]


@pytest.mark.exact
def test_the_formula_is_evaluated_as_displayed(claim):
    def wrong(case):
        ours = target(*case[:2])(column(case[2]))
        return int((ours != exact.rationals(list(written_out(*case)))).sum())

    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    claim.for_all("wrong outputs", cases, wrong, equation="(8)", examples=examples)


@pytest.mark.exact
def test_averages_stay_where_F_is_given(claim):
    def outside(case):
        averages = target(*case[:2]).averages(column(case[2]))
        return sum(not 0 <= a <= 1 for a in averages.ravel())

    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    claim.for_all("averages outside of [0, 1]", cases, outside, equation="(9)", examples=examples)


@pytest.mark.exact
def test_a_function_of_the_query_changes_nothing(claim):
    """rho(u, v) + log(1 + u^2)."""

    def differ(case):
        moved = target(*case[:2], shift=lambda u: 1 + u**2)(column(case[2]))
        return int((moved != target(*case[:2])(column(case[2]))).sum())

    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    claim.for_all("outputs that differ", cases, differ, equation="(8)", examples=examples)


def relu_network(net, x):
    hidden = np.maximum(x @ net.W_1.T + net.b_1, exact.rationals([0]))
    return hidden @ net.W_2.T + net.b_2


@pytest.mark.exact
def test_a_transformer_is_a_target(claim):
    """rho and f are written by hand from the weights; the two forward passes agree."""

    def wrong(seed):
        rng = np.random.default_rng(seed)
        net = networks.drawn(rng, 2, 3, 2, 2)
        x = networks.tokens(rng, 4, 2)

        def f(x):
            return relu_network(net.f, x)

        def rho(u, v):
            q, k = f(u) @ net.W_Q.T, f(v) @ net.W_K.T
            return q @ k.T

        by_hand = model.Target(
            lambda z: relu_network(net.F, z)[..., 0], lambda x: f(x) @ net.W_V.T, rho
        )
        return int((by_hand(x) != net.transformer()(x)).sum())

    seeds, examples = st.integers(0, 2**32 - 1), claim.at_scale(smoke=20, laptop=100, paper=2000)
    claim.for_all("outputs that differ", seeds, wrong, equation="(5), (8)", examples=examples)


@pytest.mark.construct
def test_a_target_of_rank_m_h_is_a_transformer(claim):
    """rho = log(2) u^2 v + log(3) (1 + v): two terms, m_h = 2, n = 4 + 1, rows as in (18)."""

    def phi(u):
        return np.concatenate([u**2, u**0], axis=-1)

    def psi(v):
        return np.concatenate([v * Log(2), (1 + v) * Log(3)], axis=-1)

    def rho(u, v):
        return u**2 * (v[:, 0] * Log(2)) + (1 + v[:, 0]) * Log(3)

    def wrong(x):
        x, F, f = column(x), (lambda z: z[..., 0] ** 2), (lambda x: x / 9)
        network = selection.transformer(phi, psi, f, F, x)
        return int((network(x) != model.Target(F, f, rho)(x)).sum()) + (network.m_h != 2)

    tokens = st.lists(st.integers(0, 9), min_size=1, max_size=5)
    examples = claim.at_scale(smoke=10, laptop=80, paper=2000)
    claim.for_all("outputs that differ", tokens, wrong, equation="(8), (18)", examples=examples)


@pytest.mark.construct
def test_outputs_are_continuous(claim):
    """F(z) = sin 3z, f(v) = v^2, rho = 4 cos(u + 2v): L_F = 3, L_f = 2, |rho(u, v) - rho(u', v')|
    <= 4 |u - u'| + 8 |v - v'| <= 12 step; a change of the logits by at most 12 step, of oscillation
    24 step, moves an average of numbers in [0, 1] by at most 6 step."""
    import torch

    H = model.Target(
        lambda z: (3 * z[..., 0]).sin(),
        lambda x: x**2,
        lambda u, v: 4 * (u + 2 * v[..., 0][..., None, :]).cos(),
    )
    generator = torch.Generator().manual_seed(claim.seed("steps"))
    x = torch.rand((200, 8, 1), generator=generator, dtype=torch.float64)
    way = 2 * torch.rand((200, 8, 1), generator=generator, dtype=torch.float64) - 1
    for step in (1e-1, 1e-3, 1e-6):
        near = (x + step * way).clamp(0, 1)
        moved = (H(near.to(claim.device)) - H(x.to(claim.device))).abs().max()
        move = claim.measured("largest move of an output", float(moved), equation="(9)", step=step)
        move.at_most(
            theorem(3 * (2 + 6) * step, "L_F (L_f + 24/4) times the step, softmax.py")
            + rounding_error(1e-13, "a sine of an average of 8 numbers in [0, 1]")
        )


def test_control_the_hard_maximum_jumps(claim):
    """Tokens (0, 1/2, 1), rho = -(u - v - 1/4)^2 read by F = id: the query 1/2 sees 0 or 1/2."""
    quarter = exact.rational("1/4")

    def rho(u, v):
        return -((u - v[..., 0] - quarter) ** 2)

    H = model.Target(lambda z: z[..., 0], lambda x: x, rho, model.hard_max)
    x, step = column([0, "1/2", 1]), column([0, "1/1000000", 0])
    jump = abs(H(x + step)[1] - H(x - step)[1])
    claim.measured("move of H_2", jump, equation="(8), σ_H of (55)", step=2e-6).at_least(
        theorem(exact.rational("49/100"), "from the token 0 to the token 1/2")
    )
