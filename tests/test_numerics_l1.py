"""l1 approximation: blocks, zeros and pieces by hand; bounded weights."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.numerics import families, l1, vertices
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


def test_a_sign_that_is_not_told_doubles_the_precision(monkeypatch):
    asked = []

    def undecided(kernel, family, times, rows, basis):
        asked.append((basis.bits, flint.ctx.prec))
        if len(asked) < 3:
            raise l1.Undecided("not yet")
        return "found"

    monkeypatch.setattr(l1, "_best", undecided)
    assert l1.best(l1.indicator(0), l1.Exponentials((1, 2)), window=9) == "found"
    assert asked == [(512, 512), (1024, 1024), (2048, 2048)]


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


def test_what_a_best_approximation_tells_of_itself():
    best = l1.Best(
        l1.Exponentials((1, 2)),
        (flint.arb(3), flint.arb(-4)),
        flint.arb(1, 0.25),
        flint.arb(2, 0.25),
        (0, 1),
    )
    assert (best.floor, best.error, float(best.weight)) == pytest.approx((0.75, 2.25, 7))


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
    kernel = l1.Kernel(lambda t: flint.arb(2) ** -t, lambda start: flint.arb(2) ** (1 - start))
    found = l1.l1_error(kernel, l1.Exponentials((Log(4),)), [flint.arb("0.5")], window=3)
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


def test_weights_under_a_bound_by_hand():
    """|5 - w| + |1 + w| is 6 for every w up to 5; with 2 |4 - w| the cap of 1 leaves 6 to both."""
    first, second = np.array([[1.0], [-1.0]]), np.ones((2, 1))
    found = l1.capped([(second, np.array([4.0, 4.0]))], 1.0)
    assert (found.weights.tolist(), found.errors, found.total) == ([1.0], (6.0,), 1.0)
    found = l1.capped([(second, np.array([-4.0, -5.0])), (second, np.array([1.0, 0.0]))], 10.0)
    assert found.weights == pytest.approx([-2])  # 9 - 2 |w| = 1 + 2 |w|
    assert found.errors == pytest.approx((5, 5))
    assert found.error == max(found.errors)
    assert l1.capped([(first, np.array([5.0, 1.0]))], 3.0).error == pytest.approx(6)
    assert l1.capped([(2 * second, np.array([4.0, 4.0]))], 1.0).errors == pytest.approx((4,))
    assert l1.Capped(np.zeros(1), (1.0, 3.0)).error == 3


def test_weights_beyond_their_bound_are_an_error(monkeypatch):
    class Found:
        x = np.array([1.0 + 1e-5, 0.0, 0.0, 0.0])

    monkeypatch.setattr(l1, "linprog", lambda *_, **__: Found())
    with pytest.raises(l1.NotConverged, match="exceed their bound"):
        l1.capped([(np.ones((1, 1)), np.ones(1))], 2.0)
    Found.x = np.array([1.0 + 1e-7, 0.0, 0.0, 0.0])  # within the solver's tolerance
    assert l1.capped([(np.ones((1, 1)), np.ones(1))], 2.0).total == pytest.approx(2)
    Found.x = np.array([0.5, 1.0, 0.0, 0.0])
    assert l1.capped([(np.ones((1, 1)), np.ones(1))], 2.0).weights == [-1.0]


# --- optima by hand ------------------------------------------------------------------------------


def test_one_exponential_by_hand():
    """|1 - a| + |a| / 3 is least at a = 1: the kernel is met at t = 0."""
    best = l1.best(l1.indicator(0), l1.Exponentials((Log(4),)), window=30)
    assert (best.floor, best.error) == pytest.approx((1 / 3, 1 / 3), rel=1e-12)
    assert best.times == (0,)
    assert [float(alpha) for alpha in best.coefficients] == pytest.approx([1])


def test_a_kernel_with_a_tail_by_hand():
    """sum |2^-t - a 4^-t| has its optimum where the kernel is met at some t: a = 2^t."""
    kernel = l1.Kernel(lambda t: flint.arb(2) ** -t, lambda start: flint.arb(2) ** (1 - start))
    best = l1.best(kernel, l1.Exponentials((Log(4),)), window=12)
    t, tail = np.arange(60.0), 2.0**-11
    errors = [np.abs(2**-t - 2.0**met * 4**-t).sum() for met in range(12)]
    assert best.floor <= min(errors) <= best.error
    assert best.error - best.floor <= 2.01 * tail
    assert best.times == (int(np.argmin(errors)),)


def test_what_lies_beyond_the_window_is_not_claimed():
    """2^-t is met by itself, everywhere: without its tail the program would prove 2^-11 > 0."""
    kernel = l1.Kernel(lambda t: flint.arb(2) ** -t, lambda start: flint.arb(2) ** (1 - start))
    family = l1.Exponentials((Log(2),))
    for best in (
        l1.best(kernel, family, window=12),
        l1.best_for_all([(kernel, family), (kernel, family)], window=12),
    ):
        assert best.floor <= 0
        assert best.floor == pytest.approx(0, abs=1e-9)  # the program of the window leaves 2^-11
        assert best.error == pytest.approx(2.0**-10, rel=1e-6)  # of the kernel, and of phi


def test_one_weight_for_two_kernels_by_hand():
    """|1 - a| + a/3 and |3 - a| + a/3, the worse of them: equal at a = 2, where both are 5/3."""
    family = l1.Exponentials((Log(4),))
    triple = l1.Kernel(lambda t: 3 * l1.indicator(0).ball(t), lambda start: flint.arb(start == 0))
    best = l1.best_for_all([(l1.indicator(0), family), (triple, family)], window=30)
    assert (best.floor, best.error) == pytest.approx((5 / 3, 5 / 3), rel=1e-8)  # the program's part
    assert best.floor <= best.error
    assert [float(alpha) for alpha in best.coefficients] == pytest.approx([2])


def test_the_worse_of_two_kernels_is_told_and_shares_are_divided_by_their_sum(monkeypatch):
    """1 at t = 0 by a 4^-t leaves 1/3, by a 16^-t only 1/15."""
    pairs = [(l1.indicator(0), l1.Exponentials((Log(base),))) for base in (4, 16)]
    best = l1.best_for_all(pairs, window=30)
    assert (best.floor, best.error) == pytest.approx((1 / 3, 1 / 3), rel=1e-8)
    assert best.family is pairs[0][1]

    def doubled(*arguments):
        chosen, alpha, z, lam = vertices.least_worst(*arguments)
        return chosen, alpha, z, [2 * share for share in lam]

    monkeypatch.setattr(l1, "least_worst", doubled)
    assert l1.best_for_all(pairs, window=30).floor == pytest.approx(1 / 6, rel=1e-8)


@pytest.mark.parametrize("share", [0.5, 2.0])
def test_tails_of_several_kernels_count_with_their_shares(share):
    """Two kernels s 2^-t and 2^-t, of one function 4^-t: the bounds hold what a search finds."""

    def kernel(s):
        return l1.Kernel(
            lambda t: s * flint.arb(2) ** -t, lambda start: s * flint.arb(2) ** (1 - start)
        )

    family, t = l1.Exponentials((Log(4),)), np.arange(60.0)
    best = l1.best_for_all(
        [(kernel(flint.arb(share)), family), (kernel(flint.arb(1)), family)], window=12
    )
    a = np.linspace(0, 5, 5001)[:, None]
    worst = max(share, 1), min(share, 1)
    found = np.maximum(*(np.abs(s * 2**-t - a * 4**-t).sum(1) for s in worst)).min()
    assert best.floor <= found * (1 + 1e-9)
    assert best.error >= found * (1 - 1e-3)
    assert best.error - best.floor <= 2.1 * max(worst) * 2.0**-11


def test_what_one_of_two_kernels_has_beyond_the_window_makes_it_the_worse():
    """By a 4^-t the first is missed by 1/3; the second, by a 16^-t, by 1/15 and by its 1 at t = 40."""
    far = l1.Kernel(
        lambda t: flint.arb(int(t in (0, 40))),
        lambda start: flint.arb((start <= 0) + (start <= 40)),
    )
    pairs = [(l1.indicator(0), l1.Exponentials((Log(4),))), (far, l1.Exponentials((Log(16),)))]
    assert l1.best_for_all(pairs, window=30).error >= 1
