"""The constants of the proofs in Appendix E: the bump, its derivatives, least bounds, numbers of heads."""

import math

import flint
import numpy as np
import pytest

from repro.numerics.exact import rational
from repro.wang2024 import printed_bounds


def bump_derivative(k, x):
    """Psi^(k)(x) from a power series around x: no numerator P_k, no zeros."""
    x = flint.arb_series([x, 1], k + 1)
    return (-1 / (1 - x**2)).exp()[k] * math.factorial(k)


@pytest.mark.parametrize("k", [0, 1, 3, 6])
def test_peaks_of_the_bump_against_a_grid_and_a_lipschitz_constant(k):
    cells = 4000
    with flint.ctx.workprec(128):
        grid = [flint.arb(i) / cells for i in range(cells)]
        largest = max(float(abs(bump_derivative(k, x))) for x in grid)
    height, steepest = (float(printed_bounds.peak(i)[0]) for i in (k, k + 1))
    assert largest <= height * (1 + 1e-12)
    assert height <= largest + steepest / (
        2 * cells
    )  # the grid reaches 1 - 1/cells, where Psi is 0


def test_a_peak_is_attained_where_it_is_said_to_be():
    for k in range(1, 10):  # a series has ten terms unless told otherwise
        height, distance = printed_bounds.peak(k)
        with flint.ctx.workprec(printed_bounds.BITS):
            there = abs(bump_derivative(k, 1 - distance))
        assert there.overlaps(height)
        assert height.rel_accuracy_bits() > 150


@pytest.mark.parametrize("m", [30, 85, 400])
def test_least_bound_is_the_minimum_over_many_n(m):
    bound = printed_bounds.exponential_delta(20, printed=True)
    values = [float(bound(m, n)) for n in range(1, 25)]
    assert float(bound.least(m)) == min(values)
    assert bound.best_n(m) == 1 + int(np.argmin(values))


def test_a_minimum_over_all_n_is_not_called_settled_too_early():
    """For 400 heads n = 3 excludes nothing: d m / growth is 13, and 13! / 13^13 is 2e-5."""
    bound = printed_bounds.exponential_delta(20, printed=True)
    assert not bound._settled(400, 3, bound(400, 3) / 2)
    assert bound._settled(400, 3, bound(400, 3) / 10**6)
    reach = float(printed_bounds.peak(3)[1] * 400 / bound.growth)
    least = min(math.factorial(l) / reach**l for l in range(40))
    assert not bound._settled(400, 3, bound(400, 3) * least * 1.01)
    assert bound._settled(400, 3, bound(400, 3) * least * 0.99)


def test_heads_are_the_first_at_which_the_bound_is_below_the_level():
    for bound, level in (
        (printed_bounds.exponential_delta(1, printed=True), 1),
        (printed_bounds.exponential_delta(7), "1/3"),
        (printed_bounds.power_delta(10, printed=True), 1),
        (printed_bounds.power_kernel(1, 5), 1),
    ):
        m = bound.heads(level)
        assert bound.least(m) < rational(level) <= bound.least(m - 1)


def test_heads_look_no_further_than_the_lemma_admits():
    """With so small a level a larger n would do better at once, and the last is the best."""
    bound, level = printed_bounds.Bound(flint.arb(1), flint.arb(100), printed_bounds.FEW + 1), 1e-30
    assert bound.last is not None
    least = min(bound._threshold(n, level) for n in range(1, bound.last + 1))
    assert bound.heads(level) == math.floor(float(least)) + 1
    m = bound.heads(level)
    assert bound.best_n(m) == bound.last


def test_heads_by_hand():
    """3 M(1) 100 / m; |Psi'| = 2x / (1 - x^2)^2 e^{-1 / (1 - x^2)} is largest where 3 x^4 = 1."""
    x = 3 ** (-1 / 4)
    steepest = 2 * x / (1 - x**2) ** 2 * math.exp(-1 / (1 - x**2))
    bound = printed_bounds.Bound(flint.arb(3), flint.arb(100), 1)
    assert bound.heads() == math.floor(300 * steepest) + 1
    deltas = [printed_bounds.exponential_delta(T).heads() for T in (1, 10, 20)]
    assert deltas == [3776, 4257, 4864]
    assert [printed_bounds.power_delta(T, printed=True).heads() for T in (1, 10)] == [7415, 142137]


def test_a_lemma_that_admits_no_n_is_refused():
    with pytest.raises(ValueError, match="admits no n"):
        printed_bounds.exponential_kernel(1, "1/100")
    with pytest.raises(ValueError, match="admits no n"):
        printed_bounds.power_kernel(1, 2)
