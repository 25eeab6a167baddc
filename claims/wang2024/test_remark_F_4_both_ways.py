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

from repro.bounds import chosen, stderr, theorem
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
        most = theorem(bound, "4√(2/n) S, barron.py")
        claim.measured("mean of the largest error", mean, equation="F.6, d = 1", n=n).at_most(most)
        at_one = off[:, -1].mean()
        spread = 4 * off[:, -1].std() / math.sqrt(len(off))
        found = claim.measured("mean of f_n(1) − f(1)", at_one, equation="E f_n = f", n=n)
        found.within(0, stderr(spread, "4 standard errors of the mean"))


@pytest.mark.parametrize("d", [2, 3], ids="d={}".format)
@pytest.mark.construct
def test_networks_for_the_euclidean_norm(d, claim):
    """Path norms tend to c_d E|b|_1 = 2d while the errors tend to 0."""
    limit = barron.barron_norm_of_norm(d)
    sizes = [15, 63, 255]
    networks = [barron.norm_network(d, m) for m in sizes]
    norms = [float(barron.path_norm(network)) for network in networks]
    errors = [barron.sup_error(network, 1.0).upper for network in networks]
    off = [abs(norm - limit) for norm in norms]
    claim.record("path_norms", norms)
    claim.record("errors", errors)
    for m, error, miss in zip(sizes, errors, off, strict=True):
        # sum_k a_k |b_kj| is f_m(e_j) + f_m(-e_j), and both are within the error of 1.
        most = theorem(2 * d * error, "Σ_j of the error at ±e_j, d terms")
        claim.measured("|path norm − 2d|", miss, equation="c_d E|b|₁ = 2d", m=m).at_most(most)
    fall = claim.measured("error over the first", errors[-1] / errors[0], equation="|y|₂", m=255)
    fall.at_most(chosen(15 / 255, "1/m from m = 15 on; an error that does not tend to 0 has 1"))


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
