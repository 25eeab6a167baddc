"""Sums on the integers: functions, blocks, zeros, pieces, and the error of given coefficients."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.numerics import families, l1
from repro.numerics.exact import rational
from repro.numerics.logarithms import Log, ball

HALVES = tuple(Log(2**k) for k in range(1, 6))  # u = 1/2, 1/4, ..., 1/32


def falling():
    """2^-t, with its tail."""
    return l1.Kernel(lambda t: flint.arb(2) ** -t, lambda start: flint.arb(2) ** (1 - start))


# --- functions -------------------------------------------------------------------------------------


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


def test_the_rows_of_a_program_are_times_and_then_blocks():
    family = l1.Powers((2, 3))
    rows = np.array([[float(f) for f in row] for row in l1._rows(family, range(1, 5))])
    starts = family.blocks(5)
    assert len(rows) == 4 + len(starts)
    assert rows[:4] == pytest.approx(family.values([1, 2, 3, 4]))
    t = np.arange(100, 112.0)
    assert rows[4 + l1.Powers((2,)).blocks(5).index(5)] == pytest.approx([1 / 25, 1 / 125])
    wide = l1._rows(family, range(1, 100))
    assert [float(f) for f in wide[99]] == pytest.approx([(t**-2).sum(), (t**-3).sum()], rel=1e-12)
    total = [float(sum(column, flint.arb(0))) for column in zip(*wide, strict=True)]
    assert total == pytest.approx([np.pi**2 / 6, 1.2020569031595942])  # zeta(2), zeta(3)


def test_a_kernel_beyond_its_window_is_reckoned_apart():
    kernel = l1.indicator(3)
    assert [float(v) for v in l1._values(kernel, range(1, 5), 7)] == [0, 0, 1, 0, 0, 0, 0]
    assert [kernel(t) for t in (2, 3, 4)] == [0, 1, 0]
    assert [float(kernel.beyond(t)) for t in (2, 3, 4)] == [1, 1, 0]
    assert l1._times(l1.Powers((2, 3)), 3) == range(1, 4)
    assert l1._times(l1.Exponentials((2, 3)), 3) == range(3)


ENDLESS = l1.Kernel(lambda t: 1 / flint.arb(t), lambda start: flint.arb("inf"))
BAD = {
    "an exponent 0": (lambda: l1.Exponentials((1, 0)), "above 0"),
    "a negative one": (lambda: l1.Exponentials((1, -1)), "above 0"),
    "none": (lambda: l1.Exponentials(()), "above 0"),
    "equal ones": (lambda: l1.Exponentials((1, Fraction(1, 2), 1.0)), "distinct"),
    "equal logarithms": (lambda: l1.Exponentials((Log(4), Log(2), Log(4))), "distinct"),
    "no number": (lambda: l1.Exponentials((math.nan,)), "NaN"),
    "a flat power": (lambda: l1.Powers((1, 2)), "above 1"),
    "no scale": (lambda: l1.Powers((2,), scale=0), "scale"),
    "0^-2": (lambda: l1.Powers((2,)).values([0, 1]), "defined from t = 1 on, got t = 0"),
    "a ball of 0^-2": (lambda: l1.Powers((2,)).balls([0, 1]), "defined from t = 1 on, got t = 0"),
    "an indicator before 0": (lambda: l1.indicator(-1), "integer T >= 0"),
    "and between": (lambda: l1.indicator(1.5), "integer T >= 0"),  # pyright: ignore
    "no sum": (lambda: l1.best(ENDLESS, l1.Powers((2, 3)), window=10), "not summable"),
    "a short window": (
        lambda: l1.best(l1.indicator(1), l1.Exponentials(HALVES), window=5),
        "more times than functions",
    ),
    "an empty one": (
        lambda: l1.best(l1.indicator(30), l1.Exponentials(HALVES), window=20),
        "vanishes on the whole window",
    ),
    **{
        f"a bound {cap}": (
            lambda cap=cap: l1.capped([(np.ones((2, 1)), np.ones(2))], cap),
            "positive and finite",
        )
        for cap in (0, -1, math.nan, math.inf)
    },
}


@pytest.mark.parametrize(("call", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


# --- the error of given coefficients ---------------------------------------------------------------


def power_sum(alpha, exponents, start):
    """sum |phi(t)| over t >= start; beyond 2 * 10^5 by an integral, good to its first term."""
    t, far = np.arange(start, 200_000.0), 200_000 - 0.5
    phi = sum(a * t**-b for a, b in zip(alpha, exponents, strict=True))
    beyond = sum(a * far ** (1 - b) / (b - 1) for a, b in zip(alpha, exponents, strict=True))
    return np.abs(phi).sum() + abs(beyond)


@pytest.mark.parametrize(
    ("alpha", "exponents"),
    [((1,), (2,)), ((1, -100.5), (2, 3)), ((-1, 7.25), (2, 3)),
     ((1, -251, 15_125.25), (2, 3, 4)), ((-1, 105, -453.75), (2, 3, 4)),
     ((1, -3, 2.21), (2, 3, 4)), ((1, -11, 30.21), (2, 3, 4))],
)  # fmt: skip
def test_powers_that_change_sign_beyond_the_window_are_summed_in_pieces(alpha, exponents):
    """1 - 251/t + 15125.25/t^2 vanishes at 100.5, 150.5; the next at 4.51.., 100.48..

    The last two vanish at 1.3, 1.7 and at 5.3, 5.7: two zeros that no integer time tells.
    """
    found = l1.l1_error(l1.indicator(1), l1.Powers(exponents), alpha, window=10)
    inside = abs(1 - sum(alpha)) + power_sum(alpha, exponents, 2)
    assert float(found) == pytest.approx(inside, rel=1e-9)
    assert found.rad() < 1e-8 * inside


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


@pytest.mark.parametrize("window", [60, 240])
def test_what_lies_beyond_the_window_is_enclosed_however_small(window):
    """1 at 0, and 2^-t - 4^-t from 1 on: 1 + 1 - 1/3; 2^-t + 4^-t beyond the window is more."""
    family = l1.Exponentials((Log(2), Log(4)))
    with flint.ctx.workprec(1024):
        found = l1.l1_error(l1.indicator(0), family, (1, -1), window=window, zeros=(0,))
    with flint.ctx.workprec(4096):
        assert found.contains(flint.fmpq(5, 3))
    assert found.rel_accuracy_bits() > 200


def test_a_kernel_with_a_tail_leaves_the_error_open_by_it():
    """2^-t against a 4^-t: |1 - a 2^-t| 2^-t; the tail beyond the window is 2^-2, phi's a 4^-3 / 3 * 4."""
    found = l1.l1_error(falling(), l1.Exponentials((Log(4),)), [flint.arb("0.5")], window=3)
    inside = sum(abs(2.0**-t - 0.5 * 4.0**-t) for t in range(3))
    beyond = 0.5 * 4.0**-3 * 4 / 3
    assert float(found.lower()) == pytest.approx(inside, rel=1e-6)
    assert float(found.upper()) == pytest.approx(inside + beyond + 0.25, rel=1e-6)


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
