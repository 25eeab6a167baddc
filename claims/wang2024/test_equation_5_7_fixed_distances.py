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
from fractions import Fraction

import numpy as np
import pytest

from repro.bounds import theorem
from repro.numerics import barron, exact, logarithms
from repro.wang2024 import fixed, tables, targets


def table(tokens, values):
    return tables.readout("table", tokens, values)


def wrong_values(tokens, size, values):
    """Words at which the network is not the table, and its norm."""
    network = table(tokens, values).network
    assert network
    found = barron.value(network, tables.words(tokens, size))
    return sum(bool(a != b) for a, b in zip(found, values, strict=True)), network


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5], ids="k={}".format)
@pytest.mark.exact
def test_sparse_boolean_functions_are_barron(k, claim):
    """All of them for k <= 3; delta = 2 and |w|_1 = k."""
    few = claim.at_scale(smoke=5, laptop=50, paper=1000)
    drawn = claim.rng("functions").choice([-1, 1], (few, 2**k)).tolist()
    functions = list(itertools.product([-1, 1], repeat=2**k)) if k <= 3 else drawn
    found = [wrong_values(tables.BOOLEAN, k, values) for values in functions]
    claim.record("functions", len(functions))
    wrong = sum(count for count, _ in found)
    claim.measured("wrong values of all networks", wrong, equation="(5), example I").equals(0)
    most = max(barron.path_norm(network) for _, network in found)
    stated = exact.rational(2**k * (k + abs(k - 2))) / 2
    claim.measured("largest path norm", most, equation="f ∈ B").equals(stated)


@pytest.mark.parametrize(
    ("q", "n"), [(2, 4), (3, 2), (4, 3)], ids=["q=2-n=4", "q=3-n=2", "q=4-n=3"]
)
@pytest.mark.exact
def test_n_grams_have_T_equal_i(q, n, claim):
    """A random table over the last n letters, looked up letter by letter, against (5)."""
    rng, letters = claim.rng("n-grams"), fixed.identity(q)
    values = rng.integers(-9, 10, q**n).tolist()
    wrong, _ = wrong_values(letters, n, values)
    claim.measured("wrong values of the network", wrong, equation="(5), example II").equals(0)
    target = targets.Target.fixed(f"{n}-gram", range(1, n), table(letters, values), np.eye(q))
    claim.measured("distances", target.distances, equation="T_i = i").equals(list(range(1, n)))
    text = rng.integers(q, size=40)
    context = np.lib.stride_tricks.sliding_window_view(text, n)[:, ::-1]  # x_t, x_{t-1}, ...
    looked_up = [values[int(np.ravel_multi_index(tuple(c), (q,) * n))] for c in context]
    found = np.rint(target(np.eye(q)[text])).astype(int).tolist()
    claim.measured("outputs along a text", found, equation="(5), T_i = i").equals(looked_up)


@pytest.mark.exact
def test_the_tokens_that_a_target_reads_by_hand(claim):
    """T = (1, 3), a window 5, 4, 3, 2, 1: at 2 it reads 2, 3, 5 and at 1 it reads 1, 2, 4."""
    target, x = targets.SPARSE_PARITY, np.arange(5.0, 0, -1)[:, None]
    steps, tokens = (found.astype(int).tolist() for found in target.fetched(x))
    claim.measured("distances", steps, equation="(5)", T=(1, 3)).equals([[1, 3], [1, 3]])
    claim.measured("tokens", tokens, equation="(5)", T=(1, 3)).equals([[2, 3, 5], [1, 2, 4]])
    with pytest.raises(ValueError, match="memories reach 3 back: n=3 tokens are too few"):
        target.fetched(x[:3])


@pytest.mark.exact
def test_the_readouts_at_sums_by_hand(claim):
    """Parity of k is 1 at s = k, -1 at k - 2, 1 at k - 4, ..., and goes straight on beyond."""
    for readout, stated in (
        (targets.parity(2), [3, 2, 1, 0, -1, 0, 1, 2, 3]),  # s = -4, ..., 4
        (targets.parity(3), [-4, -3, -2, -1, 0, 1, 0, -1, 0, 1, 2, 3, 4]),  # s = -6, ..., 6
        (targets.majority(3), [-1, -1, -1, -1, -1, -1, 0, 1, 1, 1, 1, 1, 1]),
    ):
        k = readout.size
        assert readout.network is not None
        x = np.zeros((4 * k + 1, k), dtype=int)
        x[:, 0] = s = np.arange(-2 * k, 2 * k + 1)
        found = list(barron.value(readout.network, exact.rationals(x)))
        at = {"equation": "(5)", "f": readout.name}
        claim.measured("values of the network", found, sums="-2k to 2k", **at).equals(stated)
        inside = abs(s) <= k
        found = [Fraction(value) for value in readout.function(x[inside].astype(float))]
        within = claim.measured("values of f", found, sums="-k to k", **at)
        within.equals(np.array(stated)[inside].tolist())


@pytest.mark.exact
def test_targets_are_what_the_definition_says(claim):
    """Parity as a product and majority by counting, token by token, over all windows."""
    by_hand = {
        "SPARSE_PARITY": lambda x, t: x[t] * x[t - 1] * x[t - 3],
        "TRIGRAM": lambda x, t: 1 if x[t] + x[t - 1] + x[t - 2] > 0 else -1,
    }
    for name, stated in by_hand.items():
        target, n = getattr(targets, name), claim.at_scale(smoke=8, laptop=10, paper=12)
        windows = target.windows(n)
        rows = windows[..., 0].astype(int).tolist()
        expected = [[stated(x, t) for t in range(target.reach, n)] for x in rows]
        found = np.rint(target(windows)).astype(int).tolist()
        same = claim.measured("outputs as defined", found == expected, equation="(5)", target=name)
        same.equals(True)


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.exact
def test_the_layer_is_of_class_7_and_its_attention_does_not_see_the_tokens(rpe, claim):
    target, n = targets.SPARSE_PARITY, 6
    exponents = [logarithms.Log(k) for k in (2, 3, 4)] if rpe == "lin" else [2, 3, 4]
    alphas = exact.rationals([[1, 0], [-2, 5], [3, "1/7"]])
    network = fixed.transformer(target, rpe, exponents, alphas, length=n)
    (layer,) = network.layers
    size = len(layer.attention.heads), len(layer.feed_forward.c)
    claim.measured("H and m", size, equation="(7)").equals((3, 4))
    free = [head.dot_product_free for head in layer.attention.heads]
    claim.measured("heads without dot product", free, equation="(7)").equals([True] * 3)
    one, other = (exact.rationals([[1, 0, 0]] * n), exact.rationals([[-1, 2, 7]] * n))
    differ = sum(
        bool((layer.attention.scores(h, one) != layer.attention.scores(h, other)).any())
        for h in layer.attention.heads
    )
    claim.measured("heads whose weights depend on the tokens", differ, equation="(7)").equals(0)


def drawn(rng, d, m=4):
    return targets.neurons(
        *zip(*(rng.integers(-6, 7, s).tolist() for s in (m, (m, d), m)), strict=True)
    )


@pytest.mark.exact
def test_a_barron_function_is_lipschitz(claim):
    """With sum |a| |b|_1 for |.|_inf, which |.|_2 is not below; and no more than its norm."""
    rng, violations = claim.rng("slopes"), 0
    for _ in range(claim.at_scale(smoke=100, laptop=1000, paper=20_000)):
        f = drawn(rng, 3)
        x, y = exact.rationals(rng.integers(-9, 10, (2, 3)).tolist()) / 4
        steep = (abs(f.a) * abs(f.b).sum(-1)).sum()
        moved = abs(barron.value(f, x) - barron.value(f, y))
        violations += moved > steep * max(abs(x - y))
        violations += max(abs(x - y)) ** 2 > (x - y) @ (x - y)
        violations += steep > barron.path_norm(f)
    claim.measured("violations", violations, equation="Lip f ≤ |f|_B").equals(0)


def largest_slope_and_norm():
    from fractions import Fraction as R
    from itertools import pairwise

    f = [(3, 2, R(-1)), (-5, 1, R(1, 2)), (2, -3, R(1)), (1, 4, R(-3))]  # a relu(b x + c)
    kinks = sorted(-c / b for _, b, c in f)
    values = [
        (x, sum(a * max(b * x + c, 0) for a, b, c in f))
        for x in (kinks[0] - 1, *kinks, kinks[-1] + 1)
    ]
    slopes = [abs((z - y) / (v - u)) for (u, y), (v, z) in pairwise(values)]
    return max(slopes), sum(abs(a) * (abs(b) + abs(c)) for a, b, c in f)


def test_reading_that_the_second_condition_excludes_something(claim):
    """f in B and L: a Barron function that is not L would have slopes above every multiple of its
    norm. Of a network on the line all slopes are between neighbouring kinks, and none is."""
    f = targets.neurons((3, [2], -1), (-5, [1], "1/2"), (2, [-3], 1), (1, [4], -3))
    kinks = sorted(-c / b for b, c in zip(f.b[:, 0], f.c, strict=True))
    ends = exact.vector([kinks[0] - 1, *kinks, kinks[-1] + 1])
    values = barron.value(f, ends[:, None])
    slope = max(abs((values[1:] - values[:-1]) / (ends[1:] - ends[:-1])))
    claim.counterexample(
        "some f in B is not Lipschitz with its norm as constant",
        input={"f": "3 relu(2x-1) - 5 relu(x+1/2) + 2 relu(1-3x) + relu(4x-3)"},
        measured=slope,
        expected=barron.path_norm(f),
        relation=">",
        equation="(6): f ∈ B ∩ L",
        printed=False,
        program=largest_slope_and_norm,
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
    f = targets.neurons(*((a, [b] * k, c) for a, b, c in rows))
    values = {s: barron.value(f, exact.rationals([s] * k) / k) for s in functional}
    claim.measured("f at the sums s", values, equation="(5)").equals(BY_DEFINITION[name])
    claim.measured("path norm", barron.path_norm(f), equation="Definition F.1").equals(stated)
    rational = exact.rational
    rays = [(0, 1), (1, 0), *((k, -s) for s in functional)]
    sizes = []
    for (beta, c), sign in itertools.product(rays, (1, -1)):
        at = {s: max(sign * (beta * rational(s) / k + c), rational(0)) for s in functional}
        sizes.append(abs(sum(functional[s] * at[s] for s in at)) / (abs(beta) + abs(c)))
    claim.measured(
        "largest |L(neuron)| / (|b|_1 + |c|)", max(sizes), equation="Definition F.1"
    ).equals(1)
    found = sum(functional[s] * values[s] for s in functional)
    claim.measured("|L(f)|", abs(found), equation="Definition F.1").equals(stated)


@pytest.mark.parametrize("name", ["SPARSE_PARITY", "TRIGRAM", "NEAR_AND_FAR"])
@pytest.mark.exact
def test_lipschitz_constants_and_norms_of_the_targets(name, claim):
    """A slope of 1 in the sum s of k coordinates is one of sqrt(k); all kinks are at integers s."""
    readout = getattr(targets, name).readout
    k, norms = readout.size, {"SPARSE_PARITY": 16, "TRIGRAM": 8}
    stated = k if name in norms else 1  # |x|_2 has slope 1 in every direction
    claim.measured("|f|_Lip squared", round(readout.lipschitz**2), equation="f ∈ L").equals(stated)
    if readout.network:
        s = exact.rationals(range(-2 * k, 2 * k + 1))
        diagonal = s[:, None] * exact.rationals([1] * k) / k
        values = barron.value(readout.network, diagonal)
        steepest = max(abs(values[1:] - values[:-1]))
        claim.measured("largest slope in s, |x|_∞ ≤ 2", steepest, equation="|f|_Lip = √k").equals(1)
    why = "|f|_B on the cube, by the test above" if name in norms else "|f|_B ≥ sup |f| = √2"
    lower = theorem(norms.get(name, np.sqrt(2)), why)
    claim.measured("bound on |f|_B", readout.barron, equation="f ∈ B").at_least(lower)


@pytest.mark.parametrize("Q", [1, 10, 1000], ids="Q={}".format)
def test_control_the_square_root_is_no_readout(Q, claim):
    """f(x_t, ...) = sqrt|x_t|: between 0 and h = 1/(4Q^2) its slope is 2Q, so |f|_B > Q."""
    root, h = exact.rational(1) / (2 * Q), exact.rational(1) / (4 * Q**2)
    claim.measured("√h squared", root**2, equation="(√h)² = h").equals(h)
    least = theorem(2 * Q, "Lip f ≤ |f|_B, by a factor 2")
    claim.measured("(√h − √0)/h", root / h, equation="(6)").at_least(least)


def test_control_a_distance_that_is_off_by_one(claim):
    """Parity with T = (1, 2) for (1, 3): x_{t-2} and x_{t-3} differ in half of all windows."""
    windows = targets.SPARSE_PARITY.windows(6)
    other = targets.Target.fixed("off by one", (1, 2), targets.parity(3))
    gaps = np.abs(other(windows)[:, -1] - targets.SPARSE_PARITY(windows)[:, -1])
    found = claim.measured("windows with another output", int((gaps > 1).sum()), equation="(5)")
    found.equals(2**6 // 2)
    least = theorem(2.0, "the product changes its sign")
    claim.measured("largest difference", gaps.max(), equation="(5), T_2").at_least(least)


def refused(distances):
    """Whether a target with these distances is refused, and for them."""
    try:
        targets.Target.fixed("refused", distances, targets.parity(3))
    except ValueError as error:
        return "needs distances 1 <= T_1" in str(error)
    return False


@pytest.mark.parametrize("distances", [(3, 1), (2, 2), (0, 1)], ids=str)
def test_control_distances_that_do_not_increase_are_refused(distances, claim):
    least = theorem(1, "1 ≤ T_1 < ... < T_M is violated")
    claim.measured("refused", refused(distances), equation="(5), 1 ≤ T_1 < T_2").at_least(least)
