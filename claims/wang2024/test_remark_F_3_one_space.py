"""Remark F.3 (wang2024, Appendix F.2): one Barron space B and one norm serve throughout.

It says nothing beyond Proposition F.2, and is proved there. The infimum matters: one measure may
have a small B_1 and a large B_2.

Checked: in rationals, a measure with B_1 <= 3, whose B_2 grows without bound with the number of its
neurons, represents a function with B_1 = B_2 = B_infinity <= 3 after rebalancing.
Control: that measure as it is.

Not checked: the text of the paper, in which we found no norm with an index beyond F.2.
"""

import pytest

from repro.bounds import theorem
from repro.numerics import barron, exact


def heavy(K):
    """Neuron k = 1..K: probability 2^-k, a = (3/2)^k / 3, b = 2, c = -1, of size (3/2)^k; what is
    left has a = 0. And one of probability 0, which counts for nothing."""
    half, slow = exact.rational("1/2"), exact.rational("3/2")
    atoms = [(half**k, slow**k / 3, [2], -1) for k in range(1, K + 1)]
    return barron.Measure.of([*atoms, (half**K, 0, [1], 0), (0, slow ** (2 * K), [1], 0)])


@pytest.mark.parametrize("K", [5, 20, 60], ids="K={}".format)
@pytest.mark.exact
def test_after_rebalancing_all_norms_are_one_number(K, claim):
    """By hand: B_1 = Σ (3/4)^k = 3 − 3 (3/4)^K, and f(x) = B_1/3 relu(2x − 1). B_∞ was (3/2)^K."""
    rho = heavy(K)
    new, S = rho.rebalanced(), 3 - 3 * exact.rational("3/4") ** K
    claim.measured("B_1", rho.moment(1), equation="Σ 2^−k (3/2)^k").equals(S)
    before = exact.rational("3/2") ** K
    claim.measured("B_∞ as it is", rho.largest(), equation="(3/2)^K").equals(before)
    for x, stated in ((["1/3"], 0 * S), ([1], S / 3), ([2], S), ([-1], 0 * S)):
        both = [rho(x), new(x)]
        claim.measured("f(x)", both, equation="F.2", x=x[0]).equals([stated, stated])
    norms = [new.moment(1), new.moment(2), new.largest()]
    claim.measured("B_1, B_2², B_∞", norms, equation="F.2").equals([S, S**2, S])
    atom = [new.a[0], new.b[0, 0], new.c[0]]
    stated = [S, exact.rational("2/3"), exact.rational("-1/3")]
    claim.measured("first neuron", atom, equation="S sign a, b/t, c/t with t = 3").equals(stated)


@pytest.mark.parametrize("K", [20, 60], ids="K={}".format)
def test_control_as_it_is_the_measure_has_no_bounded_second_norm(K, claim):
    """B_2^2 = sum over k of (9/8)^k."""
    growth = exact.rational("9/8") ** K
    found = claim.measured("B_2²", heavy(K).moment(2), equation="Σ 2^−k (9/4)^k")
    found.equals(9 * (growth - 1))
    found.at_least(theorem(exact.rational(9), "more than 3², the bound of B_1²"))
