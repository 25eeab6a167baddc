"""Section C.2 (wang2024, also Section 5.3): what depth saves, by Theorem 5.1 and Proposition 5.5.

For a target with M memories that do not depend on each other, M + 1 layers instead of two need
    width   max_k c_k instead of sum_k c_k,    and at equal extraction error heads in the ratio
    (H^(M+1) / H^(2))^(2n) <= sum_k b_k^2 / (sum_k b_k)^2  <=  1.
We read b_k = a_k^(n+1), a_k = e^{0.01 T_k} (lin) or T_k^1.01 (log): print does not define b_k.

Checked: both bounds at points worked out by hand. In rationals, for random costs and splits: both
bounds follow from the error a_k^(n+1) / H_k^n of each memory; Theorem 5.1 is the best split of H
heads over the memories, Proposition 5.5 gives each memory all H. The true ratio is at most the
printed one, at most 1, and for equal T it is M^-(2n+1): for M = 4 a ratio of heads of .125, .177,
.210 at n = 1, 2, 4. In the networks that are built the neurons are counted, max against sum.
Controls: the printed sum b^2 / (sum b)^2 is never below 1/M; unequal splits of the heads.

Gap: "=" is printed for the first "<=". No choice of the b_k makes it an equality: the two bounds
give M^-(2n+1) for equal T_k, and sum b^2 / (sum b)^2 >= 1/M.
Proof of "<=": with b_k = a_k^(n+1) the left side is sum b_k^2 / (sum a_k)^(2n+2), and
sum b_k <= (sum a_k)^(n+1), since a_k > 0. The ratio is at most 1, since sum b^2 <= (sum b)^2.

Readings: the two conditions on the heads are exchanged in print; Theorem 5.1 and Proposition 5.5
have them right. K is printed for M. The ratio is one of heads in each layer; the M layers that work
have M times as many in sum.

Not checked: that as many heads are necessary; both sides are upper bounds.
"""

from fractions import Fraction

import flint
import pytest
from hypothesis import strategies as st

from repro.bounds import rounding_error, theorem
from repro.numerics import exact
from repro.wang2024 import adaptive, budgets, moving, targets

costs = st.lists(st.integers(1, 24).map(lambda k: Fraction(k, 6)), min_size=1, max_size=5)
powers = st.integers(1, 5)
ROUNDED = {1: "0.125", 2: "0.177", 4: "0.210"}  # M^-(1 + 1/(2n)) for M = 4


def rationals(values):
    return exact.rationals(list(values)).tolist()


@pytest.mark.exact
def test_theorem_5_1_is_the_best_split_of_the_heads(claim):
    """sum_k a_k^(n+1) / h_k^n with sum h = 1 is at least (sum a)^(n+1), and equal at h = a / sum a;
    its square is what `complexity` has for one layer, and for M layers sum_k (a_k^(n+1))^2."""

    def violated(case):
        pairs, n = case
        a, parts = rationals(x for x, _ in pairs), rationals(y for _, y in pairs)

        def error(h):
            shares = [one / sum(h) for one in h]
            return sum(x ** (n + 1) / y**n for x, y in zip(a, shares, strict=True))

        squares = sum((x ** (n + 1)) ** 2 for x in a)
        as_stated = error(a) ** 2 == budgets.complexity([a], n)
        as_stated &= squares == budgets.complexity([[x] for x in a], n)
        return int(not (as_stated and error(parts) >= error(a)))

    share = st.integers(1, 12).map(Fraction)
    cost = st.integers(1, 24).map(lambda k: Fraction(k, 6))
    pairs = st.lists(st.tuples(cost, share), min_size=1, max_size=4)
    cases, examples = st.tuples(pairs, powers), claim.at_scale(smoke=60, laptop=500, paper=10000)
    name = "splits that do better, or another minimum"
    claim.for_all(name, cases, violated, equation="Theorem 5.1", examples=examples)


@pytest.mark.exact
def test_the_ratio_is_at_most_the_printed_one_and_at_most_1(claim):
    """With b = a^(n+1); equality for M = 1 only."""

    def violated(case):
        a, n = rationals(case[0]), case[1]
        ratio, printed = budgets.ratio(a, n), budgets.printed_ratio([x ** (n + 1) for x in a])
        equal = ratio == printed
        return int(not (ratio <= printed <= 1 and equal == (len(a) == 1)))

    cases, examples = st.tuples(costs, powers), claim.at_scale(smoke=60, laptop=500, paper=10000)
    claim.for_all("costs that violate it", cases, violated, equation="C.2", examples=examples)


@pytest.mark.parametrize("n", ROUNDED, ids="n={}".format)
@pytest.mark.exact
def test_equal_distances(n, claim):
    """(H^(M+1) / H^(2))^(2n) = M^-(2n+1), whatever the common distance; M = 4 to three digits."""
    for M, a in ((1, 3), (2, "7/3"), (4, "1/2"), (7, 5)):
        ratio = budgets.ratio(rationals([a] * M), n)
        stated = Fraction(1, M ** (2 * n + 1))
        claim.measured("ratio", ratio, equation="M^−(2n+1)", M=M).equals(stated)
    found, digits = budgets.root(budgets.ratio([1] * 4, n), n), Fraction(1, 2000)
    heads = claim.measured("heads", found, equation="M^−(1 + 1/(2n))", M=4)
    why = "M^−(1 + 1/(2n)), rounded to three digits"
    heads.within(Fraction(ROUNDED[n]), theorem(digits, why))


@pytest.mark.exact
def test_neurons_of_the_built_networks(claim):
    """TWO_POINTERS: one neuron for g_1, three for g_2, and one for the constant, at first."""
    target = targets.TWO_POINTERS
    heads = [moving.silent("lin", T) for T in target.distances]  # the neurons are the same for all
    for stages, stated in ((adaptive.two_layers, [1 + 3 + 1]), (adaptive.one_by_one, [1 + 1, 3])):
        network = adaptive.transformer(target, heads, stages(target))
        found = budgets.widths(network)
        claim.measured("neurons", found, equation="C.2", layers=len(network.layers)).equals(stated)
    # Memories that depend on K = 0, 1, 1 others: g_i reads the token and min(i − 1, K) memories.
    for one, stated in ((target, [1, 1]), (targets.NESTED, [1, 2]), (targets.BRANCHED, [1, 2, 2])):
        reads = [one.reads(i) for i in range(1, one.M + 1)]
        claim.measured("tokens that g_i reads", reads, equation="(11)", K=one.K).equals(stated)


def test_control_the_printed_right_side_is_never_below_one_over_M(claim):
    """sum b^2 >= (sum b)^2 / M for any b, while equal T have M^-(2n+1): no b_k would do."""
    M, n = 4, 1
    least = min(
        budgets.printed_ratio(rationals(b))
        for b in ([1, 1, 1, 1], [1, 2, 3, 4], [1, 1, 1, 100], ["1/7", 2, "5/3", 9])
    )
    printed = claim.measured("sum b² / (sum b)²", least, equation="C.2")
    printed.at_least(theorem(Fraction(1, M), "Cauchy and Schwarz, equality for equal b"))
    over = claim.measured("over the true ratio", least / budgets.ratio([1] * M, n), equation="C.2")
    over.at_least(theorem(M ** (2 * n), "M^(2n), 16 here"))


@pytest.mark.certified
def test_both_bounds_at_points_worked_out_by_hand(claim):
    """E_Attn / C(1) for H = 10 heads: a = e at T = 100 (lin), a = 10^1.01 at T = 10 (log). And
    E_Attn / C(2) for H = 3: (e^.5 + e^1.5)^3 / 9 = 6.13041034^3 / 9 at T = 50 and 150, and in two
    layers (e^3 + e^9)^.5 / 9; (4^1.01 + 25^1.01)^3 / 9 = 29.8736484^3 / 9 at T = 4 and 25 (log)."""
    e, ten = flint.arb(1).exp(), flint.arb(10)
    for rpe, layers, by_hand in (
        ("lin", [[100]], e**2 / 10),
        ("lin", [[100, 100]], (2 * e) ** 2 / 10),
        ("lin", [[100], [100]], e**2 * flint.arb(2).sqrt() / 10),
        ("log", [[10]], ten ** flint.arb("2.02") / 10),
        ("log", [[10], [10]], ten ** flint.arb("2.02") * flint.arb(2).sqrt() / 10),
    ):
        found = budgets.extraction(rpe, layers, 10, 1)
        number = claim.measured("E_Attn / C(1)", found, equation="C.2", rpe=rpe, T=str(layers))
        number.within(by_hand, rounding_error(1e-12, "radii of the balls of 53 bits and more"))
    for rpe, layers, by_hand in (
        ("lin", [[50, 150]], 25.5991842),
        ("lin", [[50], [150]], 10.0142919),
        ("log", [[4, 25]], 2962.25395),
    ):
        found = budgets.extraction(rpe, layers, 3, 2)
        number = claim.measured("E_Attn / C(2)", found, equation="C.2", rpe=rpe, T=str(layers))
        number.within(by_hand, rounding_error(1e-8 * by_hand, "worked out to nine digits"))


@pytest.mark.exact
def test_the_conditions_of_the_theorems_and_not_the_exchanged_ones(claim):
    """Equal T_k, M = 2, n = 1: 1/8. With the two displays as they stand it would be 8."""
    found = budgets.ratio([1, 1], 1)
    claim.measured("ratio", found, equation="Theorem 5.1, Proposition 5.5").equals(Fraction(1, 8))
    exchanged = budgets.complexity([[1, 1]], 1) / budgets.complexity([[1], [1]], 1)
    claim.measured("ratio, displays as they stand", exchanged, equation="C.2").equals(8)


def test_control_equal_shares_for_unequal_memories(claim):
    """H_k = H/M for T = (2, 200), lin, n = 1: not the best split."""
    a = [budgets.cost("lin", T) for T in (2, 200)]
    equal = sum(x**2 for x in a) * 2
    best = budgets.root(budgets.complexity([a], 1), 1)
    worse = theorem(Fraction(3, 2), "2 (a² + b²) / (a + b)² > 3/2 for a = e^0.02, b = e²")
    claim.measured("error over that of the best split", equal / best, equation="C.2").at_least(
        worse
    )


def true_and_printed_ratio(n):
    from fractions import Fraction

    a = [1, 1]
    b = [x ** (n + 1) for x in a]
    true = Fraction(sum(x * x for x in b), sum(a) ** (2 * n + 2))
    return true, Fraction(sum(x * x for x in b), sum(b) ** 2)


def test_printed_equality_is_an_inequality(claim):
    """a = (1, 1), n = 1: 2 / 2^4 = 1/8 against 2 / 2^2 = 1/2."""
    a, b, n = [1, 1], [1, 1], 1  # b = a^(n+1)
    claim.counterexample(
        "(H^(M+1) / H^(2))^(2n) = sum b^2 / (sum b)^2",
        input={"a": a, "n": n, "b": b}, measured=budgets.ratio(a, n), equation="C.2",
        expected=budgets.printed_ratio(b), program=true_and_printed_ratio, n=n,
    )  # fmt: skip
