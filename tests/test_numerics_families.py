"""Exponentials and powers on the integers: values, tails, blocks, and where sums of them change sign."""

import math
from fractions import Fraction

import flint
import pytest

from repro.numerics import families, l1
from repro.numerics.exact import rational
from repro.numerics.logarithms import Log, ball


@pytest.mark.parametrize(
    ("exponents", "step"),
    [
        ((Fraction(1, 2), 1, Fraction(3, 2)), Fraction(1, 2)),
        ((3, 2, 1), -1),
        ((1, 2, 3, 5), None),
        ((1, 2, 4), None),
        ((1, 2), None),
        ((Log(2), Log(6), Log(18)), Log(3)),
        ((1, Log(2), 2), None),
    ],
    ids=str,
)
def test_equal_steps_are_seen_and_change_nothing(exponents, step):
    family = l1.Exponentials(exponents)
    found = families._step(family.exponents)
    assert (
        found is None
        if step is None
        else found == (step if isinstance(step, Log) else rational(step))
    )
    for row, t in zip(family.balls([0, 1, 7]), (0, 1, 7), strict=True):
        assert all(
            f.overlaps((-ball(beta) * t).exp()) for f, beta in zip(row, exponents, strict=True)
        )


@pytest.mark.parametrize("kind", [l1.Exponentials, l1.Powers])
def test_a_moved_time_has_the_values_of_the_other_functions(kind):
    mine, other = kind((2, 3), 5), kind((2, 3), 2)
    for t in (7, 10):
        moved = [mine.moved(t, other)]
        assert mine.values(moved) == pytest.approx(other.values([t]), rel=1e-14)
        assert mine.moved(t, mine) == t


def test_functions_and_their_tails_by_hand():
    shifted, scaled = l1.Exponentials((Log(2), 3), shift=1), l1.Powers((2, 3), scale=3)
    for values, wanted in [
        (shifted.values([3]), [0.25, math.exp(-6)]),
        ([[float(f) for f in shifted.balls([3])[0]]], [0.25, math.exp(-6)]),
        (scaled.values([6]), [0.25, 0.125]),
        ([[float(f) for f in scaled.balls([6])[0]]], [0.25, 0.125]),
    ]:
        assert values[0] == pytest.approx(wanted)
    assert float(shifted.tails(3)[0]) == 0.5  # 1/4 + 1/8 + ...
    assert float(scaled.tails(2)[0]) == pytest.approx(9 * (math.pi**2 / 6 - 1))
    assert (len(shifted), len(scaled)) == (2, 2)


def test_blocks_grow_by_an_eighth_up_to_a_million():
    assert l1.Exponentials((1,)).blocks(7) == [7]
    starts = l1.Powers((2,)).blocks(5)
    assert starts[:5] == [5, 6, 7, 8, 9]
    assert l1.Powers((2,)).blocks(100)[:4] == [100, 112, 125, 140]
    assert starts[-2] < 1e6 <= starts[-1] < 1.13e6
    assert l1.Powers((2,)).blocks(2 * 10**6) == [2 * 10**6]


def test_signs_change_where_blocks_are_split():
    family = l1.Powers((2, 3))
    alpha = [flint.arb(1), flint.arb("-100.5")]
    assert families.sign_changes(family, alpha, [10, 50, 60, 300, 1000]) == [10, 101]
    assert families.sign_changes(family, alpha, [200, 300]) == [200]
    for k in range(60, 80):
        alpha = [flint.arb(1), -flint.arb(k) - 0.5]
        assert families.sign_changes(family, alpha, [10, 50, 60, 300]) == [10, k + 1]


@pytest.mark.parametrize(
    ("alpha", "all_found"),
    [((1, 0, -9.5), False), ((1, 3, 2), False), ((1, -9, 18.5), True), ((1, -3, 2.21), True)],
)
def test_fewer_zeros_than_there_can_be_are_not_all(alpha, all_found):
    """1 - 9.5/t^2 has one zero t > 0, 1 + 3/t + 2/t^2 none; three powers may have two."""
    family, times = l1.Powers((2, 3, 4)), range(1, 12)
    weights = [flint.arb(a) for a in alpha]
    phi = families.combined(family, weights, times)
    assert families.all_zeros_found(family, weights, times, phi, ()) is all_found


# (times, phi, known zeros): so many zeros for certain, by hand
COUNTED = {
    "no sign changes": ((0, 1, 2), (1, 1, 1), (), 0),
    "one between": ((0, 1, 2), (1, -1, -1), (), 1),
    "two": ((0, 1, 2), (1, -1, 1), (), 2),
    "a ball tells nothing": ((0, 1, 2), (1, 0, 1), (), 0),
    "across a ball": ((0, 1, 2), (1, 0, -1), (), 1),
    "known at a time": ((0, 1, 2), (1, 0, 1), (1,), 2),  # the parity asks for another
    "known at a change": ((0, 1, 2), (1, 0, -1), (1,), 1),
    "known in between": ((0, 1, 2), (1, -1, -1), (Fraction(1, 2),), 1),
    "two known, same signs": ((0, 2), (1, 1), (Fraction(1, 2), 1), 2),
    "two known, a change": ((0, 2), (1, -1), (Fraction(1, 2), 1), 3),
    "three known, a change": ((0, 3), (1, -1), (Fraction(1, 2), 1, 2), 3),
    "known twice": ((0, 1, 2), (1, 0, -1), (1, 1), 1),
    "known after the last": ((0, 1), (1, 1), (5,), 1),
    "known before the first": ((1, 2), (1, -1), (0,), 2),
    "known at the last": ((0, 1), (1, 0), (1,), 1),
    "known in two intervals": ((0, 1, 2), (1, -1, 1), (Fraction(1, 2), Fraction(3, 2)), 2),
    "known at two neighbours": ((0, 1, 2, 3), (1, 0, 0, 1), (1, 2), 2),
}


@pytest.mark.parametrize(("times", "phi", "known", "count"), COUNTED.values(), ids=COUNTED)
def test_zeros_are_counted_by_signs_and_parity(times, phi, known, count):
    values = [flint.arb(v, 0 if v else 1) for v in phi]
    assert families._zeros_at_least(times, values, known) == count
