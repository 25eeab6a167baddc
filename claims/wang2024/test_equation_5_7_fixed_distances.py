"""Equations (5)-(7) (wang2024, Section 4.1): Task I, memories at fixed distances.

y_t = f(x_t, x_{t-T_1}, ..., x_{t-T_M}), 1 <= T_1 < ... < T_M, f being Barron and Lipschitz, is
modelled by one dot-product-free layer with H heads and width m. Examples: (I) sparse Boolean
functions, (II) n-grams, T_i = i.

Checked, in rationals: all 2^(2^k) Boolean functions of k <= 3 bits and random ones of 4 and 5, and
n-grams over alphabets of 2 to 4 letters, are finite networks (repro/wang2024/tables.py), so members
of the class; a target is what (5) says, by another route; the network of Theorem 4.1 is a member of
(7), its attention does not see the tokens. A Barron function is Lipschitz: |f(x) - f(y)| <=
sum_k |a_k| |b_k|_1 |x - y|_inf, since relu moves by no more than its argument. So "and L" adds
nothing. The Barron norms of parity (16), majority (8) and x_i (2), from both sides, and their
Lipschitz constants.
Controls: the square root; a distance that is off by one; distances that do not increase.

Not checked: measures with infinitely many neurons, but for |x|_2 (Definition F.1).

Readings: f in B means a finite norm, with ReLU, as Definition F.1 has it.
"""

import itertools

import numpy as np
import pytest

from repro import numerics, wang2024

NORM = "sum over neurons of |a| (|b|_1 + |c|)"


def table(tokens, values):
    return wang2024.tables.readout("table", tokens, values)


def wrong_values(tokens, size, values):
    """Words at which the network is not the table, and its norm."""
    network = table(tokens, values).network
    assert network
    found = numerics.barron.value(network, wang2024.tables.words(tokens, size))
    return sum(bool(a != b) for a, b in zip(found, values, strict=True)), network


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5], ids="k={}".format)
@pytest.mark.exact
def test_sparse_boolean_functions_are_barron(k, claim):
    """All of them for k <= 3; delta = 2 and |w|_1 = k."""
    few = claim.at_scale(smoke=5, laptop=50, paper=1000)
    drawn = claim.rng("functions").choice([-1, 1], (few, 2**k)).tolist()
    functions = list(itertools.product([-1, 1], repeat=2**k)) if k <= 3 else drawn
    found = [wrong_values(wang2024.tables.BOOLEAN, k, values) for values in functions]
    claim.record(functions=len(functions))
    wrong = sum(count for count, _ in found)
    claim.equals(wrong, 0, "wrong values of all networks", equation="(5), example I")
    most = max(numerics.barron.path_norm(network) for _, network in found)
    stated = numerics.exact.rational(2**k * (k + abs(k - 2))) / 2
    claim.equals(most, stated, f"largest {NORM}", equation="f ∈ B")


@pytest.mark.parametrize(
    ("q", "n"), [(2, 4), (3, 2), (4, 3)], ids=["q=2-n=4", "q=3-n=2", "q=4-n=3"]
)
@pytest.mark.exact
def test_n_grams_have_T_equal_i(q, n, claim):
    """A random table over the last n letters, looked up letter by letter, against (5)."""
    rng, letters = claim.rng("n-grams"), wang2024.tables.one_hot(q)
    values = rng.integers(-9, 10, q**n).tolist()
    wrong, _ = wrong_values(letters, n, values)
    claim.equals(wrong, 0, "wrong values of the network", equation="(5), example II")
    target = wang2024.targets.Target.fixed(
        f"{n}-gram", range(1, n), table(letters, values), np.eye(q)
    )
    claim.equals(target.distances, list(range(1, n)), "distances", equation="T_i = i")
    text = rng.integers(q, size=40)
    context = np.lib.stride_tricks.sliding_window_view(text, n)[:, ::-1]  # x_t, x_{t-1}, ...
    looked_up = [values[int(np.ravel_multi_index(tuple(c), (q,) * n))] for c in context]
    found = np.rint(target(np.eye(q)[text])).astype(int).tolist()
    claim.equals(found, looked_up, "outputs along a text", equation="(5), T_i = i")


@pytest.mark.exact
def test_targets_are_what_the_definition_says(claim):
    """Parity as a product and majority by counting, token by token, over all windows."""
    by_hand = {
        "SPARSE_PARITY": lambda x, t: x[t] * x[t - 1] * x[t - 3],
        "TRIGRAM": lambda x, t: 1 if x[t] + x[t - 1] + x[t - 2] > 0 else -1,
    }
    for name, stated in by_hand.items():
        target, n = getattr(wang2024.targets, name), claim.at_scale(smoke=8, laptop=10, paper=12)
        windows = target.windows(n)
        rows = windows[..., 0].astype(int).tolist()
        expected = [[stated(x, t) for t in range(target.reach, n)] for x in rows]
        found = np.rint(target(windows)).astype(int).tolist()
        claim.equals(found == expected, True, f"{name}, all {2**n} windows", equation="(5)")


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.exact
def test_the_layer_is_of_class_7_and_its_attention_does_not_see_the_tokens(rpe, claim):
    target, n = wang2024.targets.SPARSE_PARITY, 6
    exponents = [numerics.logarithms.Log(k) for k in (2, 3, 4)] if rpe == "lin" else [2, 3, 4]
    alphas = numerics.exact.rationals([[1, 0], [-2, 5], [3, "1/7"]])
    network = wang2024.fixed.transformer(target, rpe, exponents, alphas, length=n)
    (layer,) = network.layers
    size = len(layer.attention.heads), len(layer.feed_forward.c)
    claim.equals(size, (3, 4), "H and m", equation="(7)")
    free = [head.dot_product_free for head in layer.attention.heads]
    claim.equals(free, [True] * 3, "heads without dot product", equation="(7)")
    one, other = (
        numerics.exact.rationals([[1, 0, 0]] * n),
        numerics.exact.rationals([[-1, 2, 7]] * n),
    )
    differ = sum(
        bool((layer.attention.scores(h, one) != layer.attention.scores(h, other)).any())
        for h in layer.attention.heads
    )
    claim.equals(differ, 0, "heads whose weights depend on the tokens", equation="(7)")


def drawn(rng, d, m=4):
    return wang2024.targets.neurons(
        *zip(*(rng.integers(-6, 7, s).tolist() for s in (m, (m, d), m)), strict=True)
    )


@pytest.mark.exact
def test_a_barron_function_is_lipschitz(claim):
    """With sum |a| |b|_1 for |.|_inf, which |.|_2 is not below; and no more than its norm."""
    rng, violations = claim.rng("slopes"), 0
    for _ in range(claim.at_scale(smoke=100, laptop=1000, paper=20_000)):
        f = drawn(rng, 3)
        x, y = numerics.exact.rationals(rng.integers(-9, 10, (2, 3)).tolist()) / 4
        steep = (abs(f.a) * abs(f.b).sum(-1)).sum()
        moved = abs(numerics.barron.value(f, x) - numerics.barron.value(f, y))
        violations += moved > steep * max(abs(x - y))
        violations += max(abs(x - y)) ** 2 > (x - y) @ (x - y)
        violations += steep > numerics.barron.path_norm(f)
    claim.equals(violations, 0, "violations", equation="Lip f ≤ |f|_B")


def test_reading_that_the_second_condition_excludes_something(claim):
    """f in B and L: a Barron function that is not L would have slopes above every multiple of its
    norm. Of a network on the line all slopes are between neighbouring kinks, and none is."""
    f = wang2024.targets.neurons((3, [2], -1), (-5, [1], "1/2"), (2, [-3], 1), (1, [4], -3))
    kinks = sorted(-c / b for b, c in zip(f.b[:, 0], f.c, strict=True))
    ends = numerics.exact.vector([kinks[0] - 1, *kinks, kinks[-1] + 1])
    values = numerics.barron.value(f, ends[:, None])
    slope = max(abs((values[1:] - values[:-1]) / (ends[1:] - ends[:-1])))
    claim.counterexample(
        "some f in B is not Lipschitz with its norm as constant",
        input={"f": "3 relu(2x-1) - 5 relu(x+1/2) + 2 relu(1-3x) + relu(4x-3)"},
        measured=slope,
        expected=numerics.barron.path_norm(f),
        relation=">",
        equation="(6): f ∈ B ∩ L",
        printed=False,
        snippet="from fractions import Fraction as R\n"
        "f = [(3, 2, R(-1)), (-5, 1, R(1, 2)), (2, -3, R(1)), (1, 4, R(-3))]   # a relu(b x + c)\n"
        "value = lambda x: sum(a * max(b * x + c, 0) for a, b, c in f)\n"
        "x = sorted(-c / b for a, b, c in f); x = [x[0] - 1, *x, x[-1] + 1]\n"
        "slopes = [(value(v) - value(u)) / (v - u) for u, v in zip(x, x[1:])]\n"
        "norm = sum(abs(a) * (abs(b) + abs(c)) for a, b, c in f)\n"
        "print(max(map(abs, slopes)), 'is not above', norm)\n",
    )


# Functions of s = x_1 + ... + x_k: k, neurons (a, b, c) in s, a functional of values at s, |f|_B.
NORMS = {
    "parity": (
        3,
        [("3/2", 1, -1), ("1/2", -1, 1), ("-1/2", 1, 1), ("-3/2", -1, -1)],
        {-3: -2, -1: 6, 1: -6, 3: 2},
        16,
    ),
    "majority": (
        3,
        [("1/2", 1, 1), ("1/2", -1, -1), ("-1/2", 1, -1), ("-1/2", -1, 1)],
        {-3: 2, -1: -6, 1: 6, 3: -2},
        8,
    ),
    "x_i": (1, [(1, 1, 0), (-1, -1, 0)], {-1: -1, 1: 1}, 2),
}
BY_DEFINITION = {
    "parity": {-3: -1, -1: 1, 1: -1, 3: 1},
    "majority": {-3: -1, -1: -1, 1: 1, 3: 1},
    "x_i": {-1: -1, 1: 1},
}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.exact
def test_barron_norms_on_the_cube(name, claim):
    """From below: a functional L with |L(neuron)| <= |b|_1 + |c| has |L(f)| <= |f|_B. At the points
    s/k (1, ..., 1) a neuron is relu(beta s/k + c), |beta| <= |b|_1. L is linear between its rays,
    where beta s/k + c = 0 for some s, or beta = 0, or c = 0."""
    k, rows, functional, stated = NORMS[name]
    f = wang2024.targets.neurons(*((a, [b] * k, c) for a, b, c in rows))
    values = {
        s: numerics.barron.value(f, numerics.exact.rationals([s] * k) / k) for s in functional
    }
    claim.equals(values, BY_DEFINITION[name], "f at the sums s", equation="(5), f")
    claim.equals(numerics.barron.path_norm(f), stated, NORM, equation="|f|_B from above")
    rational = numerics.exact.rational
    rays = [(0, 1), (1, 0), *((k, -s) for s in functional)]
    sizes = []
    for (beta, c), sign in itertools.product(rays, (1, -1)):
        at = {s: max(sign * (beta * rational(s) / k + c), rational(0)) for s in functional}
        sizes.append(abs(sum(functional[s] * at[s] for s in at)) / (abs(beta) + abs(c)))
    claim.equals(max(sizes), 1, "largest |L(neuron)| / (|b|_1 + |c|)", equation="all neurons")
    found = sum(functional[s] * values[s] for s in functional)
    claim.equals(abs(found), stated, "|L(f)|", equation="|f|_B from below")


@pytest.mark.parametrize("name", ["SPARSE_PARITY", "TRIGRAM", "NEAR_AND_FAR"])
@pytest.mark.exact
def test_lipschitz_constants_and_norms_of_the_targets(name, claim):
    """A slope of 1 in the sum s of k coordinates is one of sqrt(k); all kinks are at integers s."""
    readout = getattr(wang2024.targets, name).readout
    k, norms = readout.size, {"SPARSE_PARITY": 16, "TRIGRAM": 8}
    stated = k if name in norms else 1  # |x|_2 has slope 1 in every direction
    claim.equals(round(readout.lipschitz**2), stated, "|f|_Lip squared", equation="f ∈ L")
    if readout.network:
        s = numerics.exact.rationals(range(-2 * k, 2 * k + 1))
        diagonal = s[:, None] * numerics.exact.rationals([1] * k) / k
        values = numerics.barron.value(readout.network, diagonal)
        steepest = max(abs(values[1:] - values[:-1]))
        claim.equals(steepest, 1, "largest slope in s, |x|_∞ ≤ 2", equation="|f|_Lip = √k")
    source = "theorem: the norm on the cube, above" if name in norms else "theorem: sup |f| = √2"
    lower = norms.get(name, np.sqrt(2))
    claim.at_least(readout.barron, lower, "|f|_B as it is kept", equation="f ∈ B", source=source)


@pytest.mark.parametrize("Q", [1, 10, 1000], ids="Q={}".format)
def test_control_the_square_root_is_no_readout(Q, claim):
    """f(x_t, ...) = sqrt|x_t|: between 0 and h = 1/(4Q^2) its slope is 2Q, so |f|_B > Q."""
    root, h = numerics.exact.rational(1) / (2 * Q), numerics.exact.rational(1) / (4 * Q**2)
    claim.equals(root**2, h, "√h squared", equation="h")
    twice = "theorem: Lip f ≤ |f|_B, by a factor 2"
    claim.at_least(root / h, 2 * Q, "(√h − √0)/h", equation="f ∈ B without f ∈ L", source=twice)


def test_control_a_distance_that_is_off_by_one(claim):
    """Parity with T = (1, 2) for (1, 3): x_{t-2} and x_{t-3} differ in half of all windows."""
    targets = wang2024.targets
    windows = targets.SPARSE_PARITY.windows(6)
    other = targets.Target.fixed("off by one", (1, 2), targets.parity(3))
    gaps = np.abs(other(windows)[:, -1] - targets.SPARSE_PARITY(windows)[:, -1])
    claim.equals(int((gaps > 1).sum()), 2**6 // 2, "windows with another output", equation="(5)")
    two = "theorem: the product changes its sign"
    claim.at_least(gaps.max(), 2.0, "largest difference", equation="(5), T_2", source=two)


def refused(distances):
    """Whether a target with these distances is refused, and for them."""
    targets = wang2024.targets
    try:
        targets.Target.fixed("refused", distances, targets.parity(3))
    except ValueError as error:
        return "needs distances 1 <= T_1" in str(error)
    return False


@pytest.mark.parametrize("distances", [(3, 1), (2, 2), (0, 1)], ids=str)
def test_control_distances_that_do_not_increase_are_refused(distances, claim):
    source = "theorem: 1 ≤ T_1 < ... < T_M is violated"
    claim.at_least(refused(distances), 1, "refused", equation="(5), 1 ≤ T_1 < T_2", source=source)
