"""Best l1 approximation on the integers: errors and optima by hand and by brute force, bounded weights."""

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from repro.numerics import l1, vertices
from repro.numerics.logarithms import Log, ball

HALVES = tuple(Log(2**k) for k in range(1, 6))  # u = 1/2, 1/4, ..., 1/32


def falling():
    """2^-t, with its tail."""
    return l1.Kernel(lambda t: flint.arb(2) ** -t, lambda start: flint.arb(2) ** (1 - start))


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


# --- the optimum -----------------------------------------------------------------------------------


def test_what_a_best_approximation_tells_of_itself():
    best = l1.Best(
        l1.Exponentials((1, 2)),
        (flint.arb(3), flint.arb(-4)),
        flint.arb(1, 0.25),
        flint.arb(2, 0.25),
        (0, 1),
    )
    assert (best.floor, best.error, float(best.weight)) == pytest.approx((0.75, 2.25, 7))


@pytest.mark.parametrize(("base", "error", "alpha"), [(4, 1 / 3, 1), (3, 1 / 2, 1), (2, 1, None)])
def test_one_exponential_against_the_closed_form(base, error, alpha):
    """|1 - a| + |a| u / (1 - u) is least at a = 1 if u < 1/2, and at a = 0 with error 1 beyond."""
    best = l1.best(l1.indicator(0), l1.Exponentials((Log(base),)), window=40)
    assert (best.floor, best.error) == pytest.approx((error, error), rel=1e-12)  # beyond: 2^-40
    if alpha:
        assert best.times == (0,)
        assert [float(a) for a in best.coefficients] == pytest.approx([alpha])


def brute_force(T, bases, window):
    """Of 0 and all phi that interpolate at H times of the window, the least error; in rationals."""
    u, H = [Fraction(1, base) for base in bases], len(bases)
    best = 1.0  # phi = 0
    for times in itertools.combinations(range(window), H):
        matrix = flint.fmpq_mat([[flint.fmpq(1, base) ** t for base in bases] for t in times])
        right = flint.fmpq_mat([[flint.fmpq(int(t == T))] for t in times])
        solved = [Fraction(int(x.p), int(x.q)) for x in matrix.solve(right).entries()]
        phi = [sum(a * x**t for a, x in zip(solved, u, strict=True)) for t in range(200)]
        error = float(sum(abs(p - (t == T)) for t, p in enumerate(phi)))
        best = min(best, error)
    return best


@pytest.mark.parametrize(
    ("T", "bases"), [(1, (2, 4)), (1, (3, 7)), (1, (2, 5, 9)), (2, (3, 9, 27)), (2, (2, 4, 9))]
)
def test_exponentials_against_all_interpolants(T, bases):
    best = l1.best(l1.indicator(T), l1.Exponentials(tuple(map(Log, bases))), window=60)
    brute = brute_force(T, bases, 9)
    assert best.floor <= brute * (1 + 1e-12)  # float64 sums of the brute force
    assert best.error == pytest.approx(brute, rel=1e-12)


def test_too_few_exponentials_leave_exactly_one():
    best = l1.best(l1.indicator(4), l1.Exponentials(HALVES[:4]), window=80)
    assert best.lower.lower() >= 1 - flint.arb(2) ** -60
    assert best.error == 1
    assert all(alpha == 0 for alpha in best.coefficients)


def test_the_optimum_vanishes_where_it_meets_a_kernel_that_does(monkeypatch):
    """And nowhere else: a zero that is none would bound the tail from the wrong side."""
    told, plain = [], l1.l1_error

    def watched(*given, zeros, **window):
        told.append(list(zeros))
        return plain(*given, zeros=zeros, **window)

    monkeypatch.setattr(l1, "l1_error", watched)
    here = {2: 1, 3: -1, 5: 1}
    kernel = l1.Kernel(
        lambda t: flint.arb(here.get(t, 0)), lambda start: flint.arb(3 if start <= 5 else 0)
    )
    found = l1.best(kernel, l1.Exponentials(HALVES), window=40)
    met = {kernel(t) != 0 for t in found.times}
    assert met == {True, False}
    assert told == [[t for t in found.times if t not in here]]


def test_a_kernel_with_a_tail_by_hand():
    """sum |2^-t - a 4^-t| has its optimum where the kernel is met at some t: a = 2^t."""
    best = l1.best(falling(), l1.Exponentials((Log(4),)), window=12)
    t, tail = np.arange(60.0), 2.0**-11
    errors = [np.abs(2**-t - 2.0**met * 4**-t).sum() for met in range(12)]
    assert best.floor <= min(errors) <= best.error
    assert best.error - best.floor <= 2.01 * tail
    assert best.times == (int(np.argmin(errors)),)


def test_what_lies_beyond_the_window_is_not_claimed():
    """2^-t is met by itself, everywhere: without its tail the program would prove 2^-11 > 0."""
    family = l1.Exponentials((Log(2),))
    for best in (
        l1.best(falling(), family, window=12),
        l1.best_for_all([(falling(), family)] * 2, window=12),
    ):
        assert best.floor <= 0
        assert best.floor == pytest.approx(0, abs=1e-9)  # the program of the window leaves 2^-11
        assert best.error == pytest.approx(2.0**-10, rel=1e-6)  # of the kernel, and of phi


def test_a_sign_that_is_not_told_doubles_the_precision(monkeypatch):
    asked = []

    def undecided(rows, values, basis):
        asked.append((basis.bits, flint.ctx.prec))
        if len(asked) < 3:
            raise l1.Undecided("not yet")
        return vertices.optimum(rows, values, basis)

    monkeypatch.setattr(l1, "optimum", undecided)
    assert l1.best(l1.indicator(0), l1.Exponentials((1, 2)), window=9).floor > 0
    assert asked == [(512, 512), (1024, 1024), (2048, 2048)]


def test_a_program_that_is_given_up_is_an_error(monkeypatch):
    class Lost:
        x, message = None, "lost"

    for module in (l1, vertices):
        monkeypatch.setattr(module, "linprog", lambda *_, **__: Lost())
    for ask in (
        lambda: l1.best(l1.indicator(1), l1.Exponentials(HALVES[:2]), window=9),
        lambda: l1.best_for_all([(l1.indicator(1), l1.Exponentials(HALVES[:2]))], window=9),
        lambda: l1.capped([(np.ones((2, 1)), np.ones(2))], 1.0),
    ):
        with pytest.raises(l1.NotConverged, match="lost"):
            ask()


# --- one set of coefficients for several kernels ---------------------------------------------------


@pytest.mark.parametrize("window", [20, 60])
def test_one_optimum_for_two_kernels_vanishes_where_it_meets_their_zeros(monkeypatch, window):
    """t^-2, ..., t^-5 for times 1, 2, ... and for their halves: a zero of one is one of the other."""
    pairs = [(l1.indicator(B), l1.Powers((2, 3, 4, 5), scale=B)) for B in (1, 2)]
    chosen, told = [], []
    solve, plain = l1.least_worst, l1.l1_error

    def solved(rows, *given):
        met, *others = solve(rows, *given)
        met = [*met, window]  # the first block beyond: its sum is 0, which tells no zero
        chosen.extend(divmod(i, len(rows) // 2) for i in met)
        return met, *others

    def watched(kernel, family, alpha, *, window, zeros):
        told.append(zeros)
        for time in zeros:
            powers = [ball(family.scale) ** b / ball(time) ** b for b in (2, 3, 4, 5)]
            assert abs(float(sum(a * p for a, p in zip(alpha, powers, strict=True)))) < 1e-20
        return plain(kernel, family, alpha, window=window, zeros=zeros)

    monkeypatch.setattr(l1, "least_worst", solved)
    monkeypatch.setattr(l1, "l1_error", watched)
    l1.best_for_all(pairs, window=window)
    met = [Fraction(i + 1, B + 1) for B, i in chosen if i < window and i != B]  # 1 at t = B + 1
    assert met
    assert told == [met, [2 * time for time in met]]


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
