"""Proposition B.1 (jiang2024, Appendix B.1): what the data pin down.

If two targets of form (8) agree on all inputs, then (1) F_1 o f_1 = F_2 o f_2; and, if they are not
constant, the argmax is unique and F_i o f_i are injective, rho_1 and rho_2 are largest at the same
token, both (2) with the hard maximum and (3) with the softmax and unbounded couplings.

(1) holds if constant sequences are inputs, as the proof has it: on (x, ..., x) every average is
f(x), so that F_i(f_i(x)) is the output. Edge case: under position encoding (7) no sequence is
constant, and (1) can fail: two rooms and two tokens, below.
(2) holds: H_t(x) = F_i(f_i(c_i)) for the one token c_i chosen by rho_i. By (1) F_1 o f_1 and
F_2 o f_2 are one injection, so c_1 = c_2. It holds under (7) too, if no room has an isolated point:
where rho_1 chooses x(s) and rho_2 chooses x(s'), s != s', an open set, H_t would depend on x(s)
alone and on x(s') alone.
(3) is false: adding log g(v) to rho is undone by f and F (repro/jiang2024/gauge.py). The harmonic
mean on (0, 1] is a softmax average with e^rho = 1/v and with e^rho = 1/v + 8v, both unbounded, and
their maxima differ. Corrected: with one and the same F and f, f injective and F injective on the
convex hull of its values, rho is determined up to a function of the query (gauge.py as well).

Checked, in rationals: (1) for random targets and tokens; (2) for all pairs of strict orders on
three letters, 216^2 of them, and all sequences of three; the counterexamples.

Misprint: F o rho for F o f in the proof of (2). Reading: "argmax" is the token, not its index.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from repro.bounds import theorem
from repro.jiang2024 import gauge, model
from repro.numerics import arrays, exact, logarithms
from repro.numerics.exact import rationals

unit = st.integers(0, 12).map(lambda k: Fraction(k, 12))
coefficients = st.tuples(*[st.integers(1, 5)] * 3)
sigmas = st.sampled_from(["softmax", "hard_max"])
cases = st.tuples(sigmas, coefficients, st.lists(st.integers(-3, 3), max_size=3), unit)


def target(sigma, coefficients, polynomial):
    """f = (v, v^2), F a polynomial of the sum, e^rho = a + b u + c v^2."""
    a, b, c = coefficients

    def rho(u, v):
        values = a + b * u + c * v[..., 0] ** 2
        return arrays.each(logarithms.Log, values)

    def F(z):
        return sum((q * z.sum(-1) ** k for k, q in enumerate(polynomial)), 0 * z[..., 0])

    def f(x):
        return np.concatenate([x, x**2], axis=-1)

    return model.Target(F, f, rho, getattr(model, sigma))


def few(claim):
    return claim.at_scale(smoke=10, laptop=80, paper=2000)


@pytest.mark.exact
def test_part_1_a_constant_sequence_shows_F_of_f(claim):
    """All outputs on (x, ..., x) are F(f(x)), so that H_1 = H_2 leaves F_1 o f_1 = F_2 o f_2."""

    def differ(case):
        sigma, some, polynomial, x = case
        y = target(sigma, some, polynomial)(rationals([[x]] * 3))
        stated = sum((q * (x + x * x) ** k for k, q in enumerate(polynomial)), Fraction(0))
        return sum(out != exact.rational(stated) for out in y)

    examples = claim.at_scale(smoke=20, laptop=200, paper=5000)
    claim.for_all("outputs unlike F(f(x))", cases, differ, equation="B.1 (1)", examples=examples)


LETTERS = (0, 1, 2)


def index(letters):
    return np.vectorize(lambda q: int(q.p), otypes=[int])(letters[..., 0])


def by_letters(G):
    """{all outputs: all tables of chosen letters} over the 216 couplings with strict orders."""
    orders = list(itertools.permutations(LETTERS))
    multisets = itertools.combinations_with_replacement(LETTERS, 3)  # order does not matter
    sequences = rationals(list(multisets))[..., None]
    found = {}
    for chosen in itertools.product(orders, repeat=3):
        table = rationals(chosen)  # rho(u, v)

        def rho(u, v, table=table):
            return table[index(u)[..., :, None], index(v)[..., None, :]]

        H = model.Target(lambda z: z[..., 0], G, rho, model.hard_max)
        letters = model.Target(lambda z: z[..., 0], lambda x: x, rho, H.sigma)
        outputs, argmax = (tuple(map(str, T(sequences).ravel())) for T in (H, letters))
        found.setdefault(outputs, set()).add(argmax)
    return found


def injective(x):
    return 3 * x + 1


def not_injective(x):
    """Letters 0 and 1 look the same."""
    return arrays.relu(x - 1)


@pytest.mark.exact
def test_part_2_equal_outputs_have_equal_maxima(claim):
    """G = F o f is 3x + 1. For a query u an order of three letters can be told from the others if u
    is not its top; if u is, the rest is never seen: 5 cases, and 5^3 tables of maxima."""
    found = by_letters(injective)
    several = sum(len(tables) > 1 for tables in found.values())
    claim.measured("outputs with two tables of maxima", several, equation="B.1 (2)").equals(0)
    claim.measured("different outputs", len(found), equation="B.1 (2)").equals(5**3)


@pytest.mark.exact
def test_the_hard_maximum_by_hand(claim):
    """log 3 is the largest of log 2, log 3 and log 1/2; two maxima share."""
    logits = arrays.each(logarithms.Log, rationals([[2, 3, "1/2"], [5, 1, 5]]))
    found = model.hard_max(logits).ravel().tolist()
    stated = rationals([0, 1, 0, "1/2", 0, "1/2"]).tolist()
    claim.measured("weights", found, equation="B.1 (2)").equals(stated)


def test_control_part_2_without_injectivity_over_letters(claim):
    found = by_letters(not_injective)
    several = sum(len(tables) > 1 for tables in found.values())
    claim.measured("outputs with two tables", several, equation="B.1 (2)").at_least(
        theorem(1, "where letter 2 is below both, 0 or 1 may be on top, and G does not tell")
    )


def relu_pair():
    """F o f = relu on [-1, 1]; rho_1 = v, and rho_2 = v or, below 0, -1/2 + |v + 1/2|."""
    relu = arrays.relu

    def target(of_key):
        return model.Target(
            lambda z: z[..., 0], relu, lambda u, v: 0 * u + of_key(v[..., 0]), model.hard_max
        )

    half = exact.rational("1/2")
    return target(lambda v: v), target(lambda v: np.where(v >= 0, v, abs(v + half) - half))


def test_control_part_2_without_injectivity_at_two_numbers(claim):
    """x = (-9/10, -2/5): rho_1 chooses -2/5, rho_2 -9/10; both outputs are 0, as on all inputs."""
    first, second = relu_pair()
    tenths = st.integers(-10, 10).map(lambda k: Fraction(k, 10))
    pairs = st.lists(tenths, min_size=1, max_size=4)

    def differ(x):
        column = rationals(x)[:, None]
        return int((first(column) != second(column)).sum())

    claim.for_all("outputs that differ", pairs, differ, equation="B.1 (2)", examples=few(claim))
    pair = [Fraction(-9, 10), Fraction(-2, 5)]
    claim.measured("outputs that differ at x", differ(pair), equation="B.1 (2)").equals(0)
    x = rationals(pair)[:, None]
    chosen = [T.weights(x)[0] @ x[:, 0] for T in (first, second)]
    claim.measured("distance of the maxima", chosen[0] - chosen[1], equation="B.1 (2)").at_least(
        theorem(exact.rational("1/2"), "−2/5 − (−9/10)")
    )


def compositions(x):
    """F(f_2(x)) and F(f_1(x)) on I_1 = [0, 1]; the outputs of both targets are x_1 + x_2."""
    from fractions import Fraction

    f_1 = {v: Fraction(v, 3) for v in (x, 2, 3)}
    f_2 = {v: Fraction(v + 1 if v < 2 else v - 1, 3) for v in (x, 2, 3)}
    for y in (2, 3):  # in I_2 = [2, 3]; rho = 0, so both weights are 1/2, and F(z) = 6z
        assert 3 * (f_1[x] + f_1[y]) == 3 * (f_2[x] + f_2[y]) == x + y
    return 6 * f_2[x], 6 * f_1[x]


def test_printed_part_1_under_position_encoding(claim):
    """I_1 = [0, 1], I_2 = [2, 3], rho = 0, F = 6z; f_1 = x/3, f_2 = (x + 1)/3 on I_1, (x - 1)/3 on
    I_2: what one room gains the other loses, and H_1 = H_2 = x_1 + x_2."""

    def sums(f):
        return model.Target(lambda z: 6 * z[..., 0], f, lambda u, v: 0 * u + 0 * v[..., 0])

    def f_2(x):
        return np.where(x < 2, x + 1, x - 1) / 3

    first, second = sums(lambda x: x / 3), sums(f_2)
    rooms = st.tuples(unit, unit.map(lambda v: v + 2))

    def differ(pair):
        x = rationals(pair)[:, None]
        return int((first(x) != second(x)).sum())

    claim.for_all("outputs that differ", rooms, differ, equation="B.1 (1)", examples=few(claim))
    zero = rationals([[0]])
    composed = [T.F(T.f(zero))[0] for T in (first, second)]
    claim.counterexample(
        "(1): H_1 = H_2 implies F_1 ∘ f_1 = F_2 ∘ f_2, for inputs that satisfy (7)",
        input={"I_1": "[0, 1]", "I_2": "[2, 3]", "rho": 0, "F": "6z", "f_1": "x/3",
               "f_2": "(x + 1)/3 on I_1, (x - 1)/3 on I_2"},
        measured=composed[1], expected=composed[0], equation="B.1 (1)",
        program=compositions, x=0,
    )  # fmt: skip


def harmonic():
    """The harmonic mean of tau numbers in (0, 1], e^rho = 1/v; and its gauge g = 1 + 8v^2."""
    each, Log = arrays.each, logarithms.Log
    first = model.Target(
        lambda z: z[..., 0], lambda x: x, lambda u, v: each(Log, 1 / (0 * u + v[..., 0]))
    )
    return first, gauge.gauged(first, lambda x: 1 + 8 * x[..., 0] ** 2)


def tokens_chosen(x):
    """Where e^rho_2 = 1/v + 8v and e^rho_1 = 1/v are largest; F_2 = z_1 / z_2 makes H_2 = H_1."""
    from fractions import Fraction

    x = [Fraction(v) for v in x]
    e_1, e_2 = [1 / v for v in x], [1 / v + 8 * v for v in x]
    f_2 = [(v / (1 + 8 * v * v), 1 / (1 + 8 * v * v)) for v in x]
    z_1, z_2 = (sum(e * f[k] for e, f in zip(e_2, f_2, strict=True)) for k in (0, 1))
    assert z_1 / z_2 == sum(e * v for e, v in zip(e_1, x, strict=True)) / sum(e_1)
    return x[e_2.index(max(e_2))], x[e_1.index(max(e_1))]


def test_printed_part_3_is_undone_by_a_gauge(claim):
    """x = (1/2, 1): e^rho_1 = 1/v is 2 and 1, e^rho_2 = 1/v + 8v is 6 and 9; H is 2/3 for both."""
    first, second = harmonic()
    positive = st.integers(1, 60).map(lambda k: Fraction(k, 60))
    tokens = st.lists(positive, min_size=1, max_size=4)

    def differ(x):
        column = rationals(x)[:, None]
        mean = exact.rational(len(x) / sum(1 / v for v in x))
        composed = second.F(second.f(column)) != column[:, 0]
        wrong = [first(column) != mean, second(column) != mean, composed]
        return int(np.sum(wrong))

    name = "outputs unlike the harmonic mean, F(f(v)) unlike v"
    claim.for_all(name, tokens, differ, equation="B.1 (3)", examples=few(claim))
    numbers = ["1/2", "1"]
    x = rationals(numbers)[:, None]
    rows = [T.weights(x)[0] for T in (first, second)]
    claim.measured("weights", [str(w) for row in rows for w in row], equation="(8)").equals(
        ["2/3", "1/3", "2/5", "3/5"]
    )
    chosen = [x[int(np.argmax(row)), 0] for row in rows]
    claim.counterexample(
        "(3): H_1 = H_2 with unbounded couplings implies that ρ_1 and ρ_2 are largest together",
        input={"e^rho_1": "1/v", "e^rho_2": "1/v + 8v", "F_1 o f_1": "v",
               "f_2": "(v, 1) / (1 + 8v^2)", "F_2": "z_1 / z_2"},
        measured=chosen[1], expected=chosen[0], equation="B.1 (3)",
        program=tokens_chosen, x=numbers,
    )  # fmt: skip


@pytest.mark.exact
def test_part_3_corrected_the_same_F_and_f_leave_only_a_function_of_u(claim):
    """rho + log c(u) gives the same outputs and the same maxima; rho + log(1 + v) does not."""
    first, _ = harmonic()
    each, Log = arrays.each, logarithms.Log

    def added(values):
        return model.Target(
            first.F, first.f, lambda u, v: first.rho(u, v) + each(Log, values(u, v[..., 0]))
        )

    free, other = added(lambda u, v: 1 + u**2 + 0 * v), added(lambda u, v: 1 + v + 0 * u)
    distinct = st.lists(unit.filter(lambda v: v > 0), min_size=2, max_size=4, unique=True)

    def wrong(x):
        column = rationals(x)[:, None]
        moved, unmoved = first(column) != free(column), first(column) == other(column)
        weights = first.weights(column) != free.weights(column)
        return int(moved.sum() + unmoved.sum() + weights.sum())

    name = "outputs that differ for c(u), or agree for 1 + v"
    claim.for_all(name, distinct, wrong, equation="B.1 (3), corrected", examples=few(claim))
    # (1, 1/2, 1): the mean is 3/4 = 1 - w/2, so w = 1/2 and e^D = 2 w/(1 - w) = 2, or (1/v)/(1/u)
    # (1/2, 1, 1/2, 1/2): it is 4/7 = (1 + w)/2, so w = 1/7 and e^D = 3 w/(1 - w) = 1/2
    for u, v, tau, stated in ((1, "1/2", 3, 2), ("1/2", 1, 4, "1/2")):
        x = rationals([u, v, *[u] * (tau - 2)])[:, None]
        found = gauge.recovered(first(x)[0], x[0, 0], x[1, 0], tau)
        told = claim.measured("e^D recovered", found, equation="B.1 (3), corrected", tau=tau)
        told.equals(exact.rational(stated))


def test_control_part_3_with_the_same_F_and_f_the_gauge_shows(claim):
    """rho_2 of the counterexample with F_1 and f_1 kept: at (1/2, 1) 4/5 in place of 2/3."""
    first, second = harmonic()
    kept = model.Target(first.F, first.f, second.rho)
    x = rationals(["1/2", 1])[:, None]
    off = abs(kept(x)[0] - first(x)[0])
    claim.measured("difference of H", off, equation="B.1 (3), corrected").at_least(
        theorem(exact.rational("2/15"), "4/5 − 2/3")
    )
