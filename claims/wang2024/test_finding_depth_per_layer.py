"""Finding (wang2024, on the comparison in C.2): depth saves in each layer, not in sum.

By the bounds of Theorem 5.1 and Proposition 5.5, the M working layers of the deep network have in
total M max_k c_k >= sum_k c_k neurons, and
    M H^(M+1) / H^(2) = M (sum_k a_k^(2n+2))^(1/2n) / (sum_k a_k)^((n+1)/n)
times the heads: M^(-1/2n) for equal T_k, never less, and up to M as one memory outgrows the others.

Checked, in rationals to the power 2n, for random costs: the factor lies between M^(-1/2n) and M,
both attained or approached. In balls: T = (2, 50, 200) needs 1.6 to 2.3 times the heads in total.
In built networks (T_k + 1 heads for memory k): the same total exactly.
Control: in each layer, without the factor M, depth does save.

Not checked: that the bounds are sharp. The first attention of both networks is idle, not counted.
"""

import itertools
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from repro.bounds import chosen, rounding_error, theorem
from repro.numerics import exact
from repro.wang2024 import adaptive, depth, moving, targets
from repro.wang2024.pictures import pointer as pictures

FAR = (2, 50, 200)
M = 4
cost = st.integers(1, 60).map(lambda k: Fraction(k, 6))
costs, powers = st.lists(cost, min_size=1, max_size=6), st.integers(1, 6)
BUILT = [(3, 3), (2, 5, 9), (1, 1, 1, 20)]


def total(costs, n):
    """The factor in the heads of all layers, to the power 2n."""
    return depth.total_ratio(exact.rationals(list(costs)).tolist(), n)


@pytest.mark.exact
def test_the_total_lies_between_the_power_mean_and_M(claim):
    """To the power 2n: 1/M <= total <= M^(2n)."""

    def violated(case):
        a, n = case
        found, least = total(a, n), exact.rational(Fraction(1, len(a)))
        equal = (found == least) == (len(set(a)) == 1)
        return int(not (equal and least <= found <= len(a) ** (2 * n)))

    claim.for_all(
        "costs outside, or at 1/M though unequal",
        st.tuples(costs, powers),
        violated,
        equation="M^−1/2n ≤ M H^(M+1) / H^(2) ≤ M",
        examples=claim.at_scale(smoke=60, laptop=500, paper=10000),
    )


@pytest.mark.parametrize("n", [1, 2, 4, 8], ids="n={}".format)
@pytest.mark.exact
def test_equal_distances_change_the_total_by_the_2n_th_root_of_M(n, claim):
    for count in (2, 3, 4, 10):
        found = total(["5/3"] * count, n)
        claim.measured("total heads, to the power 2n", found, equation="M^−1/2n", M=count).equals(
            Fraction(1, count)
        )


@pytest.mark.parametrize("rpe", ["lin", "log"])
@pytest.mark.certified
def test_one_far_memory_makes_the_total_grow(rpe, claim):
    """T = (2, 50, 200), n = 1 to 8, in balls; it increases with n."""
    a = [depth.cost(rpe, T) for T in FAR]
    totals = [depth.root(depth.total_ratio(a, n), n) for n in range(1, 9)]
    for n, factor in enumerate(totals, start=1):
        claim.record("total heads, deep over two layers", float(factor), n=n)
    falls = sum(not later > before for before, later in itertools.pairwise(totals))
    claim.measured("n at which it does not grow", falls, equation="M H^(M+1) / H^(2)").equals(0)
    by_hand = {"lin": ("1.62", "2.12"), "log": ("1.90", "2.32")}[rpe]
    for n, value in zip((1, 8), by_hand, strict=True):
        claim.measured(
            "total heads, deep over two layers", totals[n - 1], equation="M H^(M+1) / H^(2)", n=n
        ).within(
            Fraction(value),
            rounding_error(Fraction(1, 200), "the formula above, worked out by hand to 2 decimals"),
        )


@pytest.mark.exact
def test_a_memory_that_outgrows_the_others_costs_M_times_the_heads(claim):
    """a = (1, 1, 1, 10^k): the total to the power 2n rises and is within 1 % of M^(2n) at k = 4."""
    for n in (1, 2, 4):
        totals = [total([1] * (M - 1) + [10**k], n) for k in (0, 1, 2, 4)]
        rises = sum(b > a for a, b in itertools.pairwise(totals))
        claim.measured("rises of the total", rises, equation="→ M^(2n)", n=n).equals(3)
        least = M ** (2 * n) * (1 - (2 * n + 2) * Fraction(3, 10**4))
        claim.measured("total, to the power 2n", totals[-1], equation="→ M^(2n)", n=n).at_least(
            theorem(least, "(1 + 3 10^−4)^−(2n+2) ≥ 1 − (2n+2) 3 10^−4")
        )


def built(Ts):
    """(largest layer, all layers) in heads, for two layers and for M + 1."""
    memories = tuple(targets.constant(T) for T in Ts)
    readout = targets.coordinate(len(Ts) + 1, 1)
    target = targets.Target("several", memories, readout, targets.SIGNS)
    heads = [moving.interpolated("lin", T, "1/2") for T in Ts]
    ways = adaptive.two_layers(target), adaptive.one_by_one(target)
    counts = [depth.heads(adaptive.transformer(target, heads, way)) for way in ways]
    return [(max(count), sum(count)) for count in counts]


@pytest.mark.parametrize("Ts", BUILT, ids=lambda Ts: "T=" + ",".join(map(str, Ts)))
@pytest.mark.exact
def test_built_networks_have_the_same_heads_in_total(Ts, claim):
    shallow, deep = built(Ts)
    both = (sum(T + 1 for T in Ts),) * 2
    claim.measured("heads in total", (shallow[1], deep[1]), equation="Σ (T_k + 1)").equals(both)
    claim.measured("heads in the largest layer", deep[0], equation="max T_k + 1").equals(
        max(Ts) + 1
    )


@pytest.mark.certified
def test_figure_heads_as_one_memory_moves_away(claim):
    far, n = [5, 10, 20, 50, 100, 200, 400], 2
    totals, layers = {}, {}
    for rpe in ("lin", "log"):
        cases = [[depth.cost(rpe, T) for T in [far[0]] * (M - 1) + [last]] for last in far]
        totals[rpe] = [float(depth.root(depth.total_ratio(a, n), n)) for a in cases]
        layers[rpe] = [float(depth.root(depth.ratio(a, n), n)) for a in cases]
    least = float(M ** (-1 / (2 * n)))
    claim.measured("total heads for equal T", totals["lin"][0], equation="M^−1/2n").within(
        least, rounding_error(1e-12, "M^(−1/2n) for equal distances, in float64")
    )
    shown = {}
    for Ts in BUILT[1:]:
        name = "T = " + ", ".join(map(str, Ts))
        shown[name + "\ntwo layers"], shown[name + f"\n{len(Ts) + 1} layers"] = built(Ts)
    claim.figure(
        pictures.depth(far, totals, layers, M, shown),
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
        a = [depth.cost(rpe, T) for T in FAR]
        saved = 1 - depth.root(depth.ratio(a, n), n)
        claim.measured(
            "share saved in each layer", saved, equation="1 − H^(M+1) / H^(2)", rpe=rpe
        ).at_least(chosen(Fraction(1, 5), "a fifth of the heads; without a saving it is 0 or less"))
