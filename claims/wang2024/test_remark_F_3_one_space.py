"""Remark F.3 (wang2024, Appendix F.2): one Barron space B and one norm serve throughout.

It says nothing beyond Proposition F.2. What is left to show is that no use of the norm needs a
particular p. The paper uses it in three ways: f in B is Lipschitz (p = 1), a drawn neuron has a
bounded variance, which is Lemma F.6 (p = 2), and a neuron is bounded (p = infinity). For one
measure these need B_1, B_2 and B_infinity; rebalanced, all three hold with the one number B_1.

Checked: in rationals. For rebalanced measures the slope of f, the second moment and the size of a
neuron on |x|_inf <= 1 are at most S, S^2, S. A measure with B_1 <= 3 whose B_2 grows without bound
with the number of its neurons keeps S after rebalancing.
Control: that measure as it is, whose variance is beyond every multiple of B_1^2.

Not checked: the text of the paper, in which we found no norm with an index beyond F.2.
"""

import pytest

from repro.bounds import theorem
from repro.numerics import barron, exact


def heavy(K):
    """Neuron k = 1..K: probability 2^-k, a = (3/2)^k, b = 1; what is left has a = 0."""
    half, slow = exact.rational("1/2"), exact.rational("3/2")
    atoms = [(half**k, slow**k, [1], 0) for k in range(1, K + 1)]
    return barron.Measure.of([*atoms, (half**K, 0, [1], 0)])


def second_moment(rho, x):
    """E (a relu(b.x + c))^2."""
    z = rho.b @ exact.rationals(x) + rho.c
    return rho.probabilities @ [(a * max(v, 0)) ** 2 for a, v in zip(rho.a, z, strict=True)]


@pytest.mark.parametrize("K", [5, 20, 60], ids="K={}".format)
@pytest.mark.exact
def test_after_rebalancing_one_number_serves_all_three_uses(K, claim):
    rho = heavy(K)
    new, S = rho.rebalanced(), rho.moment(1)
    three = exact.rational(3)
    claim.measured("B_1", S, equation="Σ 2^−k (3/2)^k").at_most(theorem(three, "Σ (3/4)^k < 3"))
    for x in (["1/3"], [1], [-1]):
        claim.measured("f(x)", new(x), equation="F.2", x=x[0]).equals(rho(x))
    claim.measured("slope of f", new([1]) - new([0]), equation="p = 1").equals(S)
    moment = second_moment(new, [1])
    most = theorem(S**2, "F.2, the sizes are S")
    claim.measured("E (a relu(b·x + c))²", moment, equation="p = 2").at_most(most)
    claim.measured("largest neuron", new.largest(), equation="p = ∞").equals(S)


@pytest.mark.parametrize("K", [20, 60], ids="K={}".format)
def test_control_as_it_is_the_measure_needs_p_equal_to_two(K, claim):
    """E a^2 = sum (9/8)^k: with B_1 < 3 the variance passes B_1^2 by the factor (9/8)^K / 9."""
    rho = heavy(K)
    variance = second_moment(rho, [1]) - rho([1]) ** 2
    growth = exact.rational("9/8") ** K
    found = claim.measured("variance of a neuron", variance, equation="F.6", x=1)
    found.at_least(theorem(9 * growth - 18, "Σ (9/8)^k = 9 ((9/8)^K − 1), and f(1)² < 9"))
    found.at_least(theorem(3 * rho.moment(1) ** 2, "the bound of F.6 with B_1 for B_2"))
