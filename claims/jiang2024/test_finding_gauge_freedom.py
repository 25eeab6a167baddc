"""Finding (ours, on jiang2024, Appendix B.1): attention has a gauge.

For every continuous g >= 1, rho + log g(v), f' = (f/g, 1/g) and F'(z, z') = F(z/z') give the same H
and the same F o f: where attention is largest is not determined. But if F and f are the same, f is
injective, F is injective on the convex hull of f(I), and all sequences of tau >= 2 tokens are
admissible, then rho is determined up to a function of u, and so is where it is largest. Both proofs
stand in repro/jiang2024/gauge.py.

Checked, in rationals: H' = H, F' o f' = F o f and f' in [0, 1]^(n+1), for random targets, g and
tokens; rho(u, v) - rho(u, u) recovered exactly from one output of (u, v, u, ..., u); in float64
too. For the nearest point (54) the gauge moves attention to a farther point.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.jiang2024 import gauge, model
from repro.jiang2024.pictures import tasks as pictures
from repro.numerics import arrays, exact, logarithms

unit = st.integers(0, 12).map(lambda k: Fraction(k, 12))
coefficients = st.tuples(*[st.integers(1, 5)] * 3)
RECOVERED = "D = log(w(τ − 1)/(1 − w))"
cases = st.tuples(coefficients, coefficients, st.lists(unit, min_size=1, max_size=4))


def column(x):
    return exact.rationals(x)[:, None]


def target(coefficients):
    """F = cube of the sum, f = (v, 1 - v^2), e^rho = a + b u v + c v^2."""
    a, b, c = coefficients

    def rho(u, v):
        v = v[..., 0]
        return arrays.each(logarithms.Log, a + b * u * v + c * v**2)

    def f(x):
        return np.concatenate([x, 1 - x**2], axis=-1)

    return model.Target(lambda z: z.sum(-1) ** 3, f, rho)


def gauge_of(coefficients):
    a, b, c = coefficients
    return lambda x: (a + b * x[..., 0] + c * x[..., 0] ** 2) / a


@pytest.mark.exact
def test_the_gauge_changes_neither_H_nor_F_of_f(claim):
    def differ(case):
        some, other, x = case
        H, x = target(some), column(x)
        moved = gauge.gauged(H, gauge_of(other))
        outputs = int((H(x) != moved(x)).sum())
        return outputs + int((H.F(H.f(x)) != moved.F(moved.f(x))).sum())

    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    name = "outputs and F(f(v)) that differ"
    claim.for_all(name, cases, differ, equation="H′ = H", examples=examples)


@pytest.mark.exact
def test_the_gauged_values_stay_in_the_unit_cube(claim):
    def outside(case):
        moved = gauge.gauged(target(case[0]), gauge_of(case[1]))
        values = moved.f(column(case[2]))
        return sum(not 0 <= v <= 1 for v in values.ravel()) + (values.shape[1] != 3)

    examples = claim.at_scale(smoke=20, laptop=150, paper=5000)
    name = "values outside of [0, 1], n + 1 coordinates"
    claim.for_all(name, cases, outside, equation="f′ ∈ [0, 1]ⁿ⁺¹", examples=examples)


def first_average(rho, x):
    """Of the tokens themselves: F and f are the identity."""
    return model.Target(lambda z: z[..., 0], lambda x: x, rho)(x)[0]


@pytest.mark.exact
def test_the_coupling_is_recovered_up_to_a_function_of_u(claim):
    """e^(rho(u, v) - rho(u, u)) from H_1(u, v, u, ..., u), F = f = id; rho + log(1 + 7u) alike."""

    def off(case):
        (a, b, c), (u, v), tau = case
        log = logarithms.Log

        def rho(u, v, factor=lambda u: 1):
            v = v[..., 0]
            return arrays.each(log, (a + b * u * v + c * v**2) * factor(u))

        x = column([u, v, *[u] * (tau - 2)])
        stated = (a + b * u * v + c * v * v) / (a + b * u * u + c * u * u)
        wrong = 0
        for coupling in (rho, lambda q, k: rho(q, k, lambda u: 1 + 7 * u)):
            h = first_average(coupling, x)
            found = gauge.recovered(h, x[0, 0], x[1, 0], tau)
            wrong += found != exact.rational(stated)
        return wrong

    pairs = st.lists(unit, min_size=2, max_size=2, unique=True)
    cases = st.tuples(coefficients, pairs, st.integers(2, 5))
    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    name = "recovered differences that are wrong"
    claim.for_all(name, cases, off, equation=RECOVERED, examples=examples)


@pytest.mark.construct
def test_the_coupling_is_recovered_in_float64(claim):
    """rho = sin 3u + cos(u + 2v), tau = 6, 200 pairs at least 1/10 apart, F = exp, inverted."""
    import torch

    generator = torch.Generator().manual_seed(claim.seed("pairs"))
    u, v = torch.rand((2, 400), generator=generator, dtype=torch.float64)
    far = (u - v).abs() > 0.1
    u, v, tau = u[far], v[far], 6

    def rho(a, b):
        return torch.sin(3 * a) + torch.cos(a + 2 * b)

    H = model.Target(
        lambda z: z[..., 0].exp(), lambda x: x, lambda q, k: rho(q, k[..., 0][..., None, :])
    )
    x = torch.stack([u, v, *[u] * (tau - 2)], dim=1)[..., None]
    h = H(x.to(claim.device))[:, 0].log().cpu()
    w = (h - u) / (v - u)
    found = (w * (tau - 1) / (1 - w)).log()
    off = (found - (rho(u, v) - rho(u, u))).abs()
    finite = bool(torch.isfinite(found).all())
    claim.measured("all are finite", finite, equation=RECOVERED).equals(True)
    # A logit is off by 10u (arguments 4u, sine and cosine 4u, sum 2u), a weight by a factor 1 + 15u
    # (with the exponential), so an average of numbers in [0, 1] by 30u/4 (softmax.py), by 7u for
    # normalising and 6u for summing; exp and log add 4u: h by 25u. Then h - u and two quotients.
    in_w = (26 / (v - u).abs() + 2) / (w * (1 - w))
    allowed = 1.01 * 2**-53 * (in_w + 30)
    claim.measured(
        "largest error of D over its bound", float((off / allowed).max()), equation=RECOVERED
    ).at_most(
        rounding_error(1, "((26/|u − v| + 2)/(w(1 − w)) + 30) 2^-53, 30 for two logits and a log")
    )


U, V = Fraction(1, 2), [Fraction(98, 100), Fraction(5, 100)]


def attention_at_the_nearer_and_the_farther_point(near, far):
    """e^rho' = (1 + v) / |u - v| for u = 1/2, before the softmax."""
    from fractions import Fraction

    u, near, far = Fraction(1, 2), Fraction(near), Fraction(far)
    assert abs(u - near) < abs(u - far)
    return (1 + near) / abs(u - near), (1 + far) / abs(u - far)


def test_reading_the_nearest_point_need_not_get_the_most_attention(claim):
    """u = 1/2, v = (98/100, 5/100): the nearer is 5/100. e^rho = 1/|u - v|, and g = 1 + v."""
    distances = [abs(U - v) for v in V]
    plain = [1 / d for d in distances]
    moved = [(1 + v) / d for v, d in zip(V, distances, strict=True)]
    nearer, coupling = plain[1] > plain[0], "e^ρ = 1/|u − v|"
    claim.measured("ρ is larger at the nearer point", nearer, equation=coupling).equals(True)
    average = sum(e * v for e, v in zip(plain, V, strict=True)) / sum(plain)
    shares = [e / (1 + v) for e, v in zip(moved, V, strict=True)]
    quotient = sum(e * v for e, v in zip(shares, V, strict=True)) / sum(shares)
    claim.measured("output of both", quotient, equation="H′ = H").equals(average)
    claim.counterexample(
        "equal outputs and equal F ∘ f make attention largest at the nearest point",
        input={"u": U, "v": V, "g": "1 + v"},
        measured=moved[1], expected=moved[0], relation=">=", equation="e^ρ′ = (1 + v)/|u − v|",
        printed=False, program=attention_at_the_nearer_and_the_farther_point, near="5/100",
        far="98/100",
    )  # fmt: skip


@pytest.mark.construct
def test_figure_two_attentions_of_one_target(claim):
    """v = 0, 1/5, ..., 1 and u = v + 1/20, but u_6 = 19/20; e^rho = 1/|u - v|, g = (1 + v)^8.

    The nearest point has e^rho = 20, so that rho is largest on the diagonal. Times g, it is
    20, 86, 295, 859, 2204, 5120 there, against 256/|u - 1| = 269, 341, 465, 731, 1707 for v = 1:
    the first three rows change. Rows and columns are counted from 0.
    """
    import torch

    v = torch.arange(6, dtype=torch.float64) / 5
    x = torch.stack([torch.cat([v[:5] + 1 / 20, v[5:] - 1 / 20]), v], dim=1)

    def rho(q, k):
        return -(q[..., :1] - k[..., 1][..., None, :]).abs().log()

    H = model.Target(lambda z: z[..., 0], lambda x: x[..., 1:], rho)
    moved = gauge.gauged(H, lambda x: (1 + x[..., 1]) ** 8)
    off = float((H(x) - moved(x)).abs().max())
    # The same rho and g enter both. H: a weight is off by a factor 1 + 6u, which moves the average
    # by 12u/4, and 13u for normalising and summing. H': log g, its sum with rho and the difference
    # from the largest by 24u, so 26u and 52u/4, and 17u for quotients and sums.
    claim.measured("largest |H′ − H|", off, equation="H′ = H").at_most(
        rounding_error(46 * 2**-53, "16u for H and 30u for H′")
    )
    weights = {"ρ = −log |u − v|": H.weights(x), "ρ + 8 log(1 + v)": moved.weights(x)}
    largest = {name: w.argmax(-1).tolist() for name, w in weights.items()}
    by_hand = {"ρ = −log |u − v|": [0, 1, 2, 3, 4, 5], "ρ + 8 log(1 + v)": [5, 5, 5, 3, 4, 5]}
    for name, places in largest.items():
        found = claim.measured("largest weight of each row", places, equation=name)
        found.equals(by_hand[name])
    plain, changed = largest.values()
    rows = sum(a != b for a, b in zip(plain, changed, strict=True))
    claim.figure(
        pictures.attentions(
            {name: (w.numpy(), np.eye(6)[largest[name]]) for name, w in weights.items()}
        ),
        "attentions",
        caption="Two attention matrices of one target: the same outputs for all inputs and the "
        "same F∘f, the largest weight of each row (1) elsewhere.",
        alt=f"Six queries and six keys. In {rows} of 6 rows the largest weight is at another key; "
        f"the outputs differ by {off:.0e}.",
    )


def test_control_without_the_division(claim):
    """F'(z, z') = F(z): constant sequences give F(f/g), at v = 1 with g = 1 + v: 1/2 for 1."""
    log = logarithms.Log
    H = model.Target(lambda z: z[..., 0], lambda x: x,
                     lambda u, v: arrays.each(log, 1 + 0 * u + 0 * v[..., 0]))  # fmt: skip
    moved = gauge.gauged(H, lambda x: 1 + x[..., 0])
    broken = model.Target(lambda z: z[..., 0], moved.f, moved.rho)
    off, half = abs(broken(column([1]))[0] - 1), theorem(exact.rational("1/2"), "1 − 1/2")
    claim.measured("error of H", off, equation="F′(z, z′) = F(z)", v=1).at_least(half)


def test_control_F_not_injective_on_the_hull(claim):
    """I = {0, 1}, tau = 2, F = z(1 - z): e^D = 3 and 1/3 at u = 0 give one target, two maxima."""
    log = logarithms.Log

    def with_odds(r):
        def rho(u, v):
            return arrays.each(log, 1 + (r - 1) * (1 - u) * v[..., 0])

        return model.Target(lambda z: z[..., 0] * (1 - z[..., 0]), lambda x: x, rho)

    targets = [with_odds(exact.rational(r)) for r in ("3", "1/3")]
    sequences = [column(x) for x in ([0, 0], [0, 1], [1, 0], [1, 1])]
    differ = sum(int((targets[0](x) != targets[1](x)).sum()) for x in sequences)
    claim.measured("outputs that differ", differ, equation="H_1 = H_2").equals(0)
    apart = abs(targets[0].weights(sequences[1])[0, 1] - targets[1].weights(sequences[1])[0, 1])
    claim.measured("weights of token 2 apart", apart, equation="ρ_1 − ρ_2").at_least(
        theorem(exact.rational("1/2"), "weights 3/4 and 1/4")
    )
