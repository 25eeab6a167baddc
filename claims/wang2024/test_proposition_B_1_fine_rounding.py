"""Proposition B.1 (wang2024, Appendix B, without proof): rounding the exponential is finer.

For z >= 1: (i) |log[exp z] - z| <= 1 / (2 min{e^z, [e^z]}), whereas (ii) |[z] - z| <= 1/2.

Checked: with y = e^z and k = [y], (i) reads |log k - log y| <= 1 / (2 min{y, k}) where y is between
k - 1/2 and k + 1/2. In balls, on all of these intervals for k = 1, ..., 400 (z from log(1/2) to
5.99), cut until each piece is decided: so z >= 1 is not needed, e^z > 1/2 is enough. For larger k
the proof of two lines in repro/wang2024/rounding.py; and for what the model's own rounding makes of
rational z and rational e^z. (ii) in rationals. Sharp: at y just below k + 1/2 the sides' ratio is
above 0.9999 for k = 10000; (ii) is attained. Finer: at z = 9.2 the first moves z by at most 1e-4 of
what the second may.
Controls: the maximum for the minimum; 0.49 for 1/2; below z = log(1/2) there is no [e^z] >= 1.

Readings: at a tie either neighbour may be meant; the intervals include both of their ends.
"""

import pytest
from hypothesis import strategies as st

from repro.bounds import exactly, rounding_error, theorem
from repro.numerics import exact, logarithms
from repro.wang2024 import rounding
from repro.wang2024.pictures import sums as pictures


def pieces(k):
    """How many pieces of [k - 1/2, k + 1/2] balls need to decide (i) there; 0 if they cannot."""
    import flint

    decided = 0
    ends = [(flint.fmpq(2 * k - 1, 2), flint.fmpq(2 * k + 1, 2))]
    while ends:
        low, high = ends.pop()
        y = flint.arb(low).union(flint.arb(high))
        if rounding.movement(k, y) <= rounding.bound(k, y):
            decided += 1
        elif high - low < flint.fmpq(1, 2**40):
            return 0
        else:
            ends += [(low, (low + high) / 2), ((low + high) / 2, high)]
    return decided


@pytest.mark.certified
def test_both_sides_and_both_roundings_by_hand(claim):
    """k = 3: at y = 7/2 the left side is log(7/6), the right 1/6; at 5/2 the right is 1/5. At a tie
    the even integer; e^1 = 2.718, e^(1/10) = 1.1, e^0 = 1."""
    import flint

    q, fine = flint.fmpq, rounding_error(1e-15, "53 bits")
    for y, left, right in ((q(7, 2), flint.arb(q(7, 6)).log(), q(1, 6)), (q(5, 2), None, q(1, 5))):
        bound = rounding.bound(3, flint.arb(y))
        claim.measured("right side", bound, equation="(i)", k=3, y=str(y)).within(right, fine)
        if left is not None:
            moved = rounding.movement(3, flint.arb(y))
            claim.measured("left side", moved, equation="(i)", k=3, y=str(y)).within(left, fine)
    ties = {"1/2": 0, "3/2": 2, "5/2": 2, "7/2": 4, "-1/2": 0, "-3/2": -2, "7/3": 2, "8/3": 3}
    found = rounding.nearest(exact.rationals(list(ties))).tolist()
    claim.measured("[z]", found, equation="(ii)", z=list(ties)).equals(list(ties.values()))
    z = exact.vector([log(2), log("7/3"), log("5/2"), *exact.rationals([0, 1, "1/10"])])
    found = [logarithms_of(one) for one in rounding.nearest_logarithm(z)]
    claim.measured("[exp z]", found, equation="(i)").equals([2, 2, 2, 1, 3, 1])


def logarithms_of(z):
    """k of log k."""
    return int(logarithms.exp(z).p)


@pytest.mark.certified
def test_the_bound_holds_on_every_interval(claim):
    cells = claim.at_scale(smoke=25, laptop=400, paper=4000)
    found = [pieces(k) for k in range(1, cells + 1)]
    claim.record("intervals", cells)
    claim.record("pieces", sum(found))
    claim.measured("intervals on which it may fail", found.count(0), equation="(i)").equals(0)


def sides(z):
    """Both sides of (i), the integer being the model's; z is rational or the log of a rational."""
    import flint

    (out,) = rounding.nearest_logarithm(exact.vector([z]))
    k = logarithms_of(out)
    with flint.ctx.workprec(200):
        y = logarithms.ball(z).exp()
        return rounding.movement(k, y), rounding.bound(k, y)


def log(y):
    return logarithms.Log(y)


@pytest.mark.certified
def test_the_bound_holds_for_what_the_model_rounds(claim):
    """z rational, e^z rational, and e^z half an odd integer."""

    def beyond(z):
        moved, bound = sides(z)
        return 0 if moved <= bound else 1

    rational, halves = st.fractions(1, 12), st.integers(6, 10**4).map(lambda n: log(f"{n}/2"))
    cases = rational.map(exact.rational) | st.fractions(3, 10**6).map(log) | halves
    examples = claim.at_scale(smoke=60, laptop=500, paper=10_000)
    claim.for_all("z beyond the bound", cases, beyond, equation="(i)", examples=examples)


@pytest.mark.exact
def test_plain_rounding_moves_by_at_most_a_half(claim):
    def beyond(z):
        z = exact.rational(z)
        (k,) = rounding.nearest(exact.vector([z]))
        return 0 if abs(k - z) <= exact.rational("1/2") else abs(k - z)

    cases = st.fractions(1, 1000) | st.integers(2, 2000).map(lambda n: f"{n}/2")
    examples = claim.at_scale(smoke=60, laptop=500, paper=10_000)
    claim.for_all("|[z] − z| beyond 1/2", cases, beyond, equation="(ii)", examples=examples)
    (k,) = rounding.nearest(exact.rationals(["7/2"]))
    half = exact.rational("1/2")
    claim.measured("|[7/2] − 7/2|", abs(k - exact.rational("7/2")), equation="(ii)").equals(half)


@pytest.mark.certified
def test_the_bound_is_sharp_and_finer_than_a_half(claim):
    """At y = k + 1/2 - 1e-9 the ratio is 2k log(1 + 1/(2k)) but for 1e-9: 1 - 1/(4k) and more."""
    import flint

    ks, just_below = [3, 10, 100, 1000, 10_000], flint.fmpq(1, 2) - flint.fmpq(1, 10**9)
    found = [sides(log(k + just_below)) for k in ks]
    ratios = [moved / bound for moved, bound in found]
    for k, r in zip(ks, ratios, strict=True):
        claim.record("ratio", float(r), k=k)
    least = flint.fmpq(9999, 10_000)
    number = claim.measured("left side over right side", ratios[-1], equation="(i)", k=ks[-1])
    number.at_least(theorem(least, "log(1 + x) > x (1 − x/2), x = 1/(2k), k = 10⁴"))
    moved, _ = found[-1]
    most = flint.fmpq(1, 10_000)
    finer = claim.measured("|log[exp z] − z| over 1/2", 2 * moved, equation="(i), (ii)", k=ks[-1])
    finer.at_most(theorem(most, "(i), 1/k"))


@pytest.mark.construct
def test_the_sawtooth_stays_below_its_bound_in_float64(claim):
    import torch

    z = torch.linspace(-0.65, 5, 2261, dtype=torch.float64)  # steps of 1/400
    y = z.exp()
    fine = (rounding.nearest_logarithm(z) - z).abs()
    bound, plain = 1 / (2 * y.minimum(y.round())), (rounding.nearest(z) - z).abs()
    largest = (fine / bound).max().item()
    claim.measured("left side over right side", largest, equation="(i)").at_most(
        rounding_error(1, "1e-12 (2 ulp of log k over the bound); 2k log(1 + 1/(2k)) leaves 1e-3")
    )
    claim.figure(
        pictures.sawtooth(*(v.tolist() for v in (z, fine, bound, plain))),
        "sawtooth",
        caption="How far the two roundings of (15) move z: by at most 1/2, or by less and less.",
    )


@pytest.mark.parametrize("k", [3, 5, 50], ids="k={}".format)
def test_control_the_maximum_for_the_minimum_fails(k, claim):
    """At y just below k + 1/2: log(1 + 1/(2k)) > 1/(2k + 1), by 1/(4k) of it and more at k = 50."""
    import flint

    y = k + flint.fmpq(1, 2) - flint.fmpq(1, 10**9)
    moved, _ = sides(log(y))
    excess, least = 2 * y * moved - 1, flint.fmpq(1, 5 * k)
    claim.measured(
        "left side over 1 / (2 max{e^z, [e^z]}), less 1", excess, equation="(i)"
    ).at_least(theorem(least, "(1 + x) log(1 + x) > x + x²/2 − x³/6, so an excess above 1/(5k)"))


def test_control_a_smaller_constant_fails(claim):
    """0.49 for 1/2, at k = 100: the ratio 2k log(1 + 1/(2k)) is 0.9975, not 0.98."""
    import flint

    moved, bound = sides(log(100 + flint.fmpq(1, 2) - flint.fmpq(1, 10**9)))
    ratio, least = moved / bound * 50 / 49, flint.fmpq(1017, 1000)
    limit = theorem(least, "(1 − 1/(4k))·0.50/0.49, k = 100")
    claim.measured("left side over 0.49 / min", ratio, equation="(i)").at_least(limit)


def test_control_below_log_one_half_there_is_no_integer_to_take(claim):
    """e^z = 0.49 for z >= 1: [e^z] = 0, and the right side is 1/0; at 0.51 all is well."""
    low, high = exact.rationals(["49/100", "51/100"])
    (k,) = rounding.nearest(exact.vector([low]))
    claim.measured("[e^z]", k, equation="(i)", e_z="49/100").equals(0)
    with pytest.raises(ValueError, match=r"integer >= 1: z = Log\(49/100\) gives 0"):
        sides(log(low))
    least = exactly(1, "[0.49] = 0")
    claim.measured("1 − [e^z]", 1 - k, equation="(i)", e_z="49/100").at_least(least)
    moved, bound = sides(log(high))
    left = claim.measured("left side", moved, equation="(i)", e_z="51/100")
    left.at_most(theorem(bound, "(i)"))
