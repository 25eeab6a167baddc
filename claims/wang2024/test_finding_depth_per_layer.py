"""Finding (wang2024, on the comparison in C.2): depth saves in each layer, not in sum.

By the bounds of Theorem 5.1 and Proposition 5.5, the M working layers of the deep network have in
total M max_k c_k >= sum_k c_k neurons, and
    M H^(M+1) / H^(2) = M (sum_k a_k^(2n+2))^(1/2n) / (sum_k a_k)^((n+1)/n)
times the heads: M^(-1/2n) for equal T_k, never less, and up to M as one memory outgrows the others.

Checked, in rationals to the power 2n, for all costs that a search finds to try: the factor lies
between M^(-1/2n) and M, both attained or approached. In balls: T = (2, 50, 200) needs 1.6 to 2.3
times the heads in total. In built networks (T_k + 1 heads for memory k): the same total exactly.
Control: in each layer, without the factor M, depth does save.

Not checked: that the bounds are sharp. The first attention of both networks is idle, not counted.
"""

import itertools
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from repro import numerics, wang2024

FAR = (2, 50, 200)
M = 4
cost = st.integers(1, 60).map(lambda k: Fraction(k, 6))
costs, powers = st.lists(cost, min_size=1, max_size=6), st.integers(1, 6)
BUILT = [(3, 3), (2, 5, 9), (1, 1, 1, 20)]


def exact(values):
    return numerics.exact.rationals(list(values)).tolist()


@pytest.mark.exact
def test_the_total_lies_between_the_power_mean_and_M(claim):
    """To the power 2n: 1/M <= total <= M^(2n)."""

    def violated(case):
        a, n = exact(case[0]), case[1]
        total, count = wang2024.depth.total_ratio(a, n), len(a)
        lowest = Fraction(1, count)
        equal = (total == numerics.exact.rational(lowest)) == (len(set(case[0])) == 1)
        between = numerics.exact.rational(lowest) <= total <= count ** (2 * n)
        return int(not (between and equal))

    examples = claim.at_scale(smoke=60, laptop=500, paper=10000)
    name = "costs outside, or at 1/M though unequal"
    claim.for_all(
        st.tuples(costs, powers), violated, name, equation="power means", examples=examples
    )


@pytest.mark.parametrize("n", [1, 2, 4, 8], ids="n={}".format)
@pytest.mark.exact
def test_equal_distances_change_the_total_by_the_2n_th_root_of_M(n, claim):
    for count in (2, 3, 4, 10):
        total = wang2024.depth.total_ratio(exact(["5/3"] * count), n)
        claim.equals(total, Fraction(1, count), f"to the power 2n, M = {count}", equation="M^−1/2n")


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.certified
def test_one_far_memory_makes_the_total_grow(rpe, claim):
    """T = (2, 50, 200), n = 1 to 8, in balls; it increases with n."""
    a = [wang2024.depth.cost(rpe, T) for T in FAR]
    totals = [wang2024.depth.root(wang2024.depth.total_ratio(a, n), n) for n in range(1, 9)]
    claim.record(**{f"n = {n}": float(total) for n, total in enumerate(totals, start=1)})
    falls = sum(not later > before for before, later in itertools.pairwise(totals))
    claim.equals(falls, 0, "n at which it does not grow", equation="total heads")
    stated = {"lin": ("1.62", "2.12"), "log": ("1.90", "2.32")}[rpe]
    digit = "spread: what was found, rounded to two decimals"
    for value, number, n in ((totals[0], stated[0], 1), (totals[-1], stated[1], 8)):
        name, half = f"heads in total, deep over two layers, n = {n}", Fraction(1, 200)
        claim.within(value, Fraction(number), half, name, equation="T = 2, 50, 200", source=digit)


@pytest.mark.exact
def test_a_memory_that_outgrows_the_others_costs_M_times_the_heads(claim):
    """a = (1, 1, 1, 10^k): the total to the power 2n rises and is within 1 % of M^(2n) at k = 4."""
    for n in (1, 2, 4):
        totals = [
            wang2024.depth.total_ratio(exact([1] * (M - 1) + [10**k]), n) for k in (0, 1, 2, 4)
        ]
        rises = sum(b > a for a, b in itertools.pairwise(totals))
        claim.equals(rises, 3, f"rises, n = {n}", equation="→ M")
        near = "theorem: (1 + 3 10^−4)^−(2n+2) ≥ 1 − (2n+2) 3 10^−4"
        least = M ** (2 * n) * (1 - (2 * n + 2) * Fraction(3, 10**4))
        claim.at_least(totals[-1], least, f"total, n = {n}", equation="→ M^(2n)", source=near)


def built(Ts):
    """(largest layer, all layers) in heads, for two layers and for M + 1."""
    adaptive, targets = wang2024.adaptive, wang2024.targets
    memories = tuple(targets.constant(T) for T in Ts)
    readout = targets.coordinate(len(Ts) + 1, 1)
    target = targets.Target("several", memories, readout, targets.SIGNS)
    heads = [wang2024.moving.interpolated("lin", T, "1/2") for T in Ts]
    ways = adaptive.two_layers(target), adaptive.one_by_one(target)
    counts = [wang2024.depth.heads(adaptive.transformer(target, heads, way)) for way in ways]
    return [(max(count), sum(count)) for count in counts]


@pytest.mark.parametrize("Ts", BUILT, ids=lambda Ts: "T=" + ",".join(map(str, Ts)))
@pytest.mark.exact
def test_built_networks_have_the_same_heads_in_total(Ts, claim):
    shallow, deep = built(Ts)
    total = sum(T + 1 for T in Ts)
    claim.equals((shallow[1], deep[1]), (total, total), "heads in total", equation="sum T_k + 1")
    claim.equals(deep[0], max(Ts) + 1, "heads in the largest layer", equation="max T_k + 1")


@pytest.mark.certified
def test_figure_heads_as_one_memory_moves_away(claim):
    far, n = [5, 10, 20, 50, 100, 200, 400], 2
    totals, layers = {}, {}
    for rpe in ("lin", "log"):
        cases = [[wang2024.depth.cost(rpe, T) for T in [far[0]] * (M - 1) + [last]] for last in far]
        totals[rpe] = [
            float(wang2024.depth.root(wang2024.depth.total_ratio(a, n), n)) for a in cases
        ]
        layers[rpe] = [float(wang2024.depth.root(wang2024.depth.ratio(a, n), n)) for a in cases]
    least = float(M ** (-1 / (2 * n)))
    equal = "theorem: M^(−1/2n) for equal distances; rounding"
    claim.within(totals["lin"][0], least, 1e-12, "total, equal T", equation="M^−1/2n", source=equal)
    shown = {}
    for Ts in BUILT[1:]:
        name = "T = " + ", ".join(map(str, Ts))
        shown[name + "\ntwo layers"], shown[name + f"\n{len(Ts) + 1} layers"] = built(Ts)
    claim.figure(
        wang2024.pictures.pointer.depth(far, totals, layers, M, shown),
        "heads",
        caption=f"Left: heads that the bounds ask of M + 1 layers over those of two, M = {M}, "
        f"n = {n}, as one memory moves away; dotted M. Right: heads of built networks, in the "
        "largest layer and in all.",
        alt="; ".join(
            f"{rpe}: in total {totals[rpe][0]:.2f} to {totals[rpe][-1]:.2f}, in each layer "
            f"{layers[rpe][0]:.2f} to {layers[rpe][-1]:.2f}"
            for rpe in totals
        )
        + "; built: "
        + ", ".join(f"{k}: {a} of {b}".replace("\n", ", ") for k, (a, b) in shown.items()),
    )


@pytest.mark.parametrize("n", [1, 2, 4], ids="n={}".format)
def test_control_in_each_layer_depth_saves(n, claim):
    """The same quotient without the factor M, for T = (2, 50, 200): below 1, so that 1 − it > 0."""
    for rpe in ("lin", "log"):
        a = [wang2024.depth.cost(rpe, T) for T in FAR]
        saved = 1 - wang2024.depth.root(wang2024.depth.ratio(a, n), n)
        seen = "spread: 0.25 (log, n = 4) to 0.46 (lin, n = 1) were seen"
        claim.at_least(saved, Fraction(1, 5), f"saved, {rpe}", equation="per layer", source=seen)
