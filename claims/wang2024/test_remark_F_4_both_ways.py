"""Remark F.4 (wang2024, Appendix F.2): direct and inverse approximation by finite networks.

Direct is Lemma F.6. Inverse, in our words: if networks of path norm at most Q converge pointwise to
f, then f is a Barron function with norm at most Q. Proof: rebalanced, the networks are measures on
the compact set |a| <= Q, |b|_1 + |c| = 1; some of them converge weakly, a relu(b.x + c) is
continuous there, and the limit represents f.

Supported by examples: in rationals, the interpolants of x^2 at k/m have m neurons, the path norm
3 - 2/m and the error 1/(4 m^2); their measures have all moments of the limit 2 dt on relu(x - t),
whose norm is 3, up to O(1/m). Neurons drawn from them keep to the bound of Lemma F.6. Well-spread
networks for |y|_2 have path norms that tend to 2d, the bound of its norm.
Control: networks whose path norms grow converge to a step, which is no Barron function.

Not checked: the inverse theorem itself, a statement about all sequences; the paper names it and
states no form of it.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from repro.bounds import rounding_error, stderr, theorem
from repro.numerics import barron, exact


def interpolant(m):
    """x^2 at 0, 1/m, ..., 1: slope 1/m from 0 on, and 2/m more from each k/m on."""
    k = exact.rationals(range(m))
    a = exact.rationals([1] + [2] * (m - 1)) / m
    return barron.Network(a, 0 * k[:, None] + 1, -k / m)


SIZES = pytest.mark.parametrize("m", [1, 2, 7, 64, 200], ids="m={}".format)


@SIZES
@pytest.mark.construct
def test_bounded_path_norms_and_their_limit(m, claim):
    network = interpolant(m)
    norm, three = barron.path_norm(network), exact.rational(3)
    claim.measured("path norm", norm, equation="3 − 2/m").equals(three - exact.rational(2) / m)
    # Between two knots x^2 minus its interpolant is largest in the middle.
    x = exact.rationals(range(2 * m + 1))[:, None] / (2 * m)
    errors = abs(x[:, 0] ** 2 - barron.value(network, x))
    least = exact.rational(1) / (4 * m**2)
    claim.measured("largest |x² − f_m|", max(errors), equation="1/(4m²)").equals(least)


@SIZES
@pytest.mark.construct
def test_the_measures_converge_to_that_of_the_limit(m, claim):
    """The limit has 2 dt on the kinks t in [0, 1]: its moments are 2/(j+1), its norm 2 + 1 = 3."""
    a, _, c = interpolant(m)
    for j in range(5):
        found, limit = (a * (-c) ** j).sum(), exact.rational(2) / (j + 1)
        allowed = exact.rational(2) / m
        off = claim.measured("error of a moment", abs(found - limit), equation="2/(j+1)", j=j)
        off.at_most(
            theorem(allowed, "a sum of m terms for an integral of a monotone function, off by 2/m")
        )


@pytest.mark.construct
def test_the_limit_represents_the_square(claim):
    """The integral of 2 (x - t) over [0, x] is x^2, and that of 2 (1 + t) over [0, 1] is 3."""
    import flint

    t = flint.fmpq_poly([0, 1])
    for x in (Fraction(1, 3), Fraction(1), Fraction(0)):
        point = exact.rational(x)
        found = (2 * (point - t)).integral()(point)
        claim.measured("∫ 2 relu(x − t) dt", found, equation="x²", x=x).equals(point**2)
    claim.measured("∫ 2 (|b| + |c|) dt", (2 * (1 + t)).integral()(1), equation="|x²|_B ≤ 3").equals(
        3
    )


@pytest.mark.construct
def test_direct_neurons_drawn_from_the_measure(claim):
    """n neurons of the rebalanced measure of interpolant(64); the error is largest at a knot."""
    a, b, c = interpolant(64)
    f = barron.Measure(0 * a + exact.rational("1/64"), 64 * a, b, c).rebalanced()
    S, knots = float(f.moment(1)), np.arange(65)[:, None] / 64
    target, rng = knots[:, 0] ** 2, claim.rng("neurons")
    for n in (16, 64, 256):
        drawn = (f.sample(n, rng) for _ in range(claim.at_scale(smoke=20, laptop=100, paper=1000)))
        networks = [barron.Network(*map(exact.to_float, one)) for one in drawn]
        off = np.array([barron.value(network, knots) - target for network in networks])
        mean, bound = np.abs(off).max(1).mean(), barron.sampling_bound(S**2, 1, n, 1.0)
        # S = 3 − 2/64, d = 1: 4 √(2/n) S, that is 4 · .353553391 · 2.96875 for n = 16
        stated = 4.19844651 * math.sqrt(16 / n)
        place = claim.measured("bound", bound, equation="4√((d + 1)/n) |f|_B", n=n)
        place.within(stated, rounding_error(1e-8 * stated, "worked out to nine digits"))
        most = theorem(bound, "4√(2/n) S, barron.py")
        claim.measured("mean of the largest error", mean, equation="F.6, d = 1", n=n).at_most(most)
        at_one = off[:, -1].mean()
        spread = 4 * off[:, -1].std() / math.sqrt(len(off))
        found = claim.measured("mean of f_n(1) − f(1)", at_one, equation="E f_n = f", n=n)
        found.within(0, stderr(spread, "4 standard errors of the mean"))


@pytest.mark.parametrize("d", [2, 3], ids="d={}".format)
@pytest.mark.construct
def test_networks_for_the_euclidean_norm(d, claim):
    """Path norms tend to c_d E|b|_1 = 2d, the errors to 0: Σ_k a_k |b_kj| is f(e_j) + f(−e_j).

    d = 2, m odd: f = h / sin h · cos u on the unit circle, u being the angle to the nearest of 2m
    directions, |u| ≤ h = π/(2m). So the error is 1 − h cot h on the disc, .00365808 for m = 15, and
    at most √2 times as large on the square. d = 3, m odd: the heights 1 − (2k + 1)/m give
    f(±e_3) = 4/m Σ_(k < (m−1)/2) (1 − (2k + 1)/m) = 1 − 1/m².
    """
    for m in (15, 63, 255):
        network, axes = barron.norm_network(d, m), np.concatenate([np.eye(d), -np.eye(d)])
        f, norm, at = barron.value(network, axes), barron.path_norm(network), {"m": m, "d": d}
        room = rounding_error(
            (m + 30) * 2.0**-53 * 7, "m terms that add up to 2d at most, each by 30 u"
        )
        claim.record("|path norm − 2d|", abs(norm - 2 * d), m=m)
        found = claim.measured("path norm", norm, equation="Σ_k a_k |b_k|₁", **at)
        found.within(float(f.sum()), room)
        if d == 3:
            claim.measured("f(e_3)", f[2], equation="1 − 1/m²", **at).within(1 - 1 / m**2, room)
            claim.measured("f(−e_3)", f[5], equation="1 − 1/m²", **at).within(1 - 1 / m**2, room)
            continue
        least = 1 - math.pi / (2 * m) / math.tan(math.pi / (2 * m))
        found.within(4.0, theorem(4 * least, "four points on the disc") + room)
        error = barron.sup_error(network, 1.0)
        disc, square = (
            theorem(least, "the error on the disc"),
            theorem(math.sqrt(2) * least, "√2 discs"),
        )
        claim.measured("error, from above", error.upper, equation="|y|₂", **at).at_least(disc)
        claim.measured("error, from below", error.lower, equation="|y|₂", **at).at_most(square)


@pytest.mark.parametrize("m", [4, 64, 1024], ids="m={}".format)
def test_control_unbounded_path_norms_leave_the_space(m, claim):
    """relu(m(x - 1/2)) - relu(m(x - 1/2) - 1) tends to a step at 1/2; its path norm is 3m + 1."""
    one, half = exact.rational(1), exact.rational("1/2")
    step = barron.Network(
        exact.rationals([1, -1]),
        exact.rationals([[m], [m]]),
        exact.rationals([-half * m, -half * m - 1]),
    )
    claim.measured("path norm", barron.path_norm(step), equation="3m + 1").equals(3 * m + 1)
    ends = barron.value(step, exact.vector([half, half + one / m])[:, None])
    slope = (ends[1] - ends[0]) * m
    limit = theorem(m, "Lip f ≤ B_1; the limit has a jump")
    claim.measured("slope", slope, equation="Remark F.4").at_least(limit)
    # A function of norm Q = m/2 changes by 1/2 while the step changes by 1: it misses by 1/4.
    least = (ends[1] - ends[0] - half) / 2
    found = claim.measured("error of every network of path norm m/2", least, equation="Remark F.4")
    found.at_least(theorem(one / 4, "any g with Lip g ≤ m/2, at 1/2 and 1/2 + 1/m"))
