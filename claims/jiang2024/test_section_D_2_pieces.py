"""Section D.2 (jiang2024, equations (88)-(91)): pieces in another order.

Permuting the pieces of a function on disjoint sets is said to leave its feed-forward complexity
unchanged: for polynomials, measured by derivatives, and for ReLU networks on Hoelder functions,
measured by C and alpha of (91); Tietze's theorem is said to extend with the same C and alpha.

Checked: least Hoelder constants of piecewise linear functions, exactly (repro/jiang2024/pieces.py).
False: the part on Hoelder functions. Values 0, 1, 2 on rooms a distance 1 apart have C = 1, in the
order 0, 2, 1 they have C = 2; the exchange of Appendix C turns 1 into 21, a far piece moved
near 10/97 into 10.
Corrected, for pieces of one length: C~ <= C (D/g)^alpha with the diameter D of the whole set and
the smallest gap g (proof in pieces.py); the slopes inside the pieces stay.
Gaps: with derivatives the measure of the pieces stays, but not that of their extensions, which is
what a rate needs (the values above have steeper ones after the permutation). Tietze's theorem keeps
the sup norm only, and its extension turns 1 into 60/7 on a grid; McShane's keeps C and alpha.
Misprints: C_FF(phi_i) = max_r |phi_i| for max_r |phi_i^(r)|, as in Section 3 (the printed one has
no derivative, and does not change); "small C, alpha" are said to be easier, where a large alpha is.

Not checked: derivatives of higher order, other complexities C_FF, and networks.
"""

import itertools

import flint
import numpy as np
import pytest

from repro.bounds import exactly, theorem
from repro.jiang2024 import ordering
from repro.jiang2024 import pieces as pieces_of
from repro.numerics import exact

TAU, TEN = 32, 10  # Appendix C
CONSTANT = "Hölder constant to the power 1/α"


def in_order():
    """t on room t."""
    return pieces_of.staircase(range(1, TAU + 1))


def exchanged():
    """The first ten and the last ten of 32."""
    return ordering.exchange(TAU, TEN)


def random_pieces(rng, count):
    """Linear pieces with random rational ends, gaps and values."""
    lengths, gaps = (rng.integers(1, 9, count) for _ in range(2))
    intervals, at = [], flint.fmpq(0)
    for length, gap in zip(lengths.tolist(), gaps.tolist(), strict=True):
        at += flint.fmpq(gap, 4)
        intervals.append((at, at + flint.fmpq(length, 4)))
        at += flint.fmpq(length, 4)
    values = exact.rationals(rng.integers(-5, 6, (count, 2)))
    return pieces_of.Pieces(intervals, [tuple(row) for row in values])


def largest_quotient(points, p):
    pairs = itertools.combinations(points, 2)
    return max(abs(fx - fy) ** p / abs(x - y) for (x, fx), (y, fy) in pairs)


@pytest.mark.parametrize("p", [1, 2, 3], ids="alpha=1/{}".format)
@pytest.mark.exact
def test_the_constant_is_taken_at_ends(p, claim):
    for draw in range(claim.at_scale(smoke=4, laptop=30, paper=200)):
        pieces = random_pieces(claim.rng(f"pieces {draw}"), 4)
        found = largest_quotient(pieces.on_a_grid(8), p)
        claim.measured(CONSTANT, pieces.hoelder(p), equation="(91)", draw=draw).equals(found)


@pytest.mark.parametrize("p", [1, 2, 3], ids="alpha=1/{}".format)
@pytest.mark.exact
def test_corrected_the_constant_grows_by_the_reach_at_most(p, claim):
    """C~^p <= C^p D/g, for all 24 orders of four pieces of one length; the slopes stay."""
    for draw in range(claim.at_scale(smoke=4, laptop=30, paper=200)):
        rng = claim.rng(f"values {draw}")
        values = exact.rationals(rng.integers(-5, 6, (4, 2)))
        ends = np.cumsum(rng.integers(2, 9, 4)).tolist()
        intervals = [(flint.fmpq(end - 1), flint.fmpq(end)) for end in ends]
        pieces = pieces_of.Pieces(intervals, [tuple(row) for row in values])
        orders = [pieces.permuted(order) for order in itertools.permutations(range(4))]
        worst = max(order.hoelder(p) for order in orders)
        bound = pieces.hoelder(p) * pieces.reach()
        at = {"equation": "(91), corrected", "draw": draw}
        claim.measured(f"{CONSTANT}, worst order", worst, **at).at_most(
            theorem(bound, "g ≤ |x − y| ≤ D")
        )
        slopes = {str(order.slopes()) for order in orders}
        claim.measured("different sets of slopes", len(slopes), **at).equals(1)


def far_piece():
    """0, 0, 1 on [0, .1], [.2, .3], [10, 10.1]."""
    ends = [(0, 1), (2, 3), (100, 101)]
    return pieces_of.Pieces(
        [(flint.fmpq(a, 10), flint.fmpq(b, 10)) for a, b in ends],
        [(flint.fmpq(v), flint.fmpq(v)) for v in (0, 0, 1)],
    )


EXAMPLES = {  # pieces, order, constant before and after
    "0, 1, 2": (lambda: pieces_of.staircase([0, 1, 2]), lambda: [0, 2, 1], 1, 2),
    "exchange of Appendix C": (in_order, exchanged, 1, 21),
    "a far piece": (far_piece, lambda: [0, 2, 1], flint.fmpq(10, 97), 10),
}


def lipschitz_constants(example):
    """After and before the pieces, constant on their rooms, are put in another order."""
    from fractions import Fraction
    from itertools import combinations

    in_order = ([(2 * t, 2 * t + 1) for t in range(1, 33)], range(1, 33))
    rooms, values, order = {
        "0, 1, 2": ([(2, 3), (4, 5), (6, 7)], [0, 1, 2], [0, 2, 1]),
        "exchange of Appendix C": (*in_order, [*range(22, 32), *range(10, 22), *range(10)]),
        "a far piece": ([(0, "1/10"), ("1/5", "3/10"), (10, "101/10")], [0, 0, 1], [0, 2, 1]),
    }[example]

    def C(values):
        ends = [(Fraction(x), v) for room, v in zip(rooms, values, strict=True) for x in room]
        return max(abs(v - w) / abs(x - y) for (x, v), (y, w) in combinations(ends, 2))

    return C([values[t] for t in order]), C(values)


@pytest.mark.parametrize("example", EXAMPLES)
def test_printed_the_hoelder_constant_changes(example, claim):
    make, reorder, before, after = EXAMPLES[example]
    pieces, order = make(), reorder()
    permuted = pieces.permuted(order).hoelder()
    claim.measured("Lipschitz constant in order", pieces.hoelder(), equation="(91)").equals(before)
    claim.measured("Lipschitz constant, permuted", permuted, equation="(91)").equals(after)
    claim.counterexample(
        "the Hoelder constant of permuted pieces is unchanged",
        input={"pieces": example, "alpha": 1},
        measured=permuted, expected=pieces.hoelder(), equation="(91)",
        program=lipschitz_constants, example=example,
    )  # fmt: skip


def steepest_extensions(tau, k):
    """Any extension, t on [2t, 2t + 1], k exchanged: a jump over a gap of 1; in order 3/2."""
    from fractions import Fraction
    from itertools import pairwise

    values = [*range(tau - k + 1, tau + 1), *range(k + 1, tau - k + 1), *range(1, k + 1)]
    return max(abs(a - b) for a, b in pairwise(values)), Fraction(3, 2)


def test_printed_derivatives_of_extensions_change(claim):
    """In order: steps 3x^2 - 2x^3 between rooms, derivative 3/2. Exchanged: 21 by mean value."""
    slope = flint.fmpq_poly([0, 0, 3, -2]).derivative()  # of the step: 6x - 6x^2, largest at 1/2
    steepest = slope(flint.fmpq(1, 2))
    square = flint.fmpq_poly([-flint.fmpq(1, 2), 1]) ** 2
    claim.measured("6x(1−x) − 3/2", slope - steepest, equation="(88)").equals(-6 * square)
    claim.counterexample(
        "C_FF of the permuted pieces, by derivatives of an extension, is that of the original",
        input={"pieces": "t on [2t, 2t+1]", "order": "first and last k of tau exchanged"},
        measured=in_order().permuted(exchanged()).hoelder(), expected=steepest, relation="<=",
        equation="(88)", program=steepest_extensions, tau=TAU, k=TEN,
    )  # fmt: skip


@pytest.mark.certified
def test_a_large_alpha_is_easier(claim):
    """x^alpha, C = 1, by constants on 64 equal cells: half of the largest change on a cell."""

    def error(alpha, cells=64):
        values = [flint.arb(flint.fmpq(k, cells)) ** alpha for k in range(cells + 1)]
        return max((b - a for a, b in itertools.pairwise(values)), key=float) / 2

    half, one = error(flint.arb("0.5")), error(flint.arb(1))
    claim.measured("error of constants", half, equation="(91)", alpha="1/2").within(
        flint.fmpq(1, 16), theorem(1e-12, "x^(1/2) changes most on the first cell, by 1/8")
    )
    claim.measured("error of constants", one, equation="(91)", alpha=1).at_most(
        theorem(half / 7, "x changes by 1/64 on a cell, an eighth of 1/8; balls")
    )


@pytest.mark.exact
def test_mcshane_by_hand(claim):
    """A point with the value 1, and 3 to 5 on [2, 4]: C = 1. On the piece it is the piece, in the
    gap min(1 + x, 3 + 2 - x, 5 + 4 - x), beyond the end at most 5 = sup |f|. And with C = 2: 0 on
    [0, 1] and 2 on [2, 3] leave min(0 + 2 (x - 1), 2 + 2 (2 - x)) between them."""
    q, cases = (
        flint.fmpq,
        (
            (
                [(0, 0), (2, 4)],
                [(1, 1), (3, 5)],
                {0: 1, 2: 3, 3: 4, "7/2": "9/2", 1: 2, "3/2": "5/2", 9: 5},
            ),
            ([(0, 1), (2, 3)], [(0, 0), (2, 2)], {"5/4": "1/2", "3/2": 1, "7/4": "3/2"}),
        ),
    )
    for intervals, values, stated in cases:
        as_rationals = ([(q(a), q(b)) for a, b in pairs] for pairs in (intervals, values))
        pieces = pieces_of.Pieces(*as_rationals)
        places, expected = (exact.rationals(list(v)) for v in (stated, stated.values()))
        found = [pieces.mcshane(x) for x in places]
        claim.measured("McShane's extension", found, equation="(91)").equals(expected.tolist())


@pytest.mark.exact
def test_mcshane_keeps_the_constant(claim):
    for name, (make, reorder, _, _) in EXAMPLES.items():
        pieces = make().permuted(reorder())
        low, high = pieces.intervals[0][0], pieces.intervals[-1][1]
        grid = [low + (high - low) * flint.fmpq(k, 60) for k in range(61)]
        points = [(x, pieces.mcshane(x)) for x in grid]
        at = {"equation": "(91)", "example": name}
        claim.measured("largest quotient of McShane", largest_quotient(points, 1), **at).at_most(
            theorem(pieces.hoelder(), "a minimum of functions with this constant")
        )
        claim.measured("sup of McShane", max(abs(v) for _, v in points), **at).at_most(
            theorem(pieces.sup(), "clipped at sup |f|")
        )
        wrong = sum(pieces.mcshane(x) != value for x, value in pieces.ends)
        claim.measured("ends at which it differs from f", wrong, **at).equals(0)


@pytest.mark.exact
def test_tietze_keeps_the_sup_norm_and_not_the_constant(claim):
    """0 on [2, 3], 1 on [4, 5], C = 1, extended as in the proof of the theorem. From 219/60 to
    220/60 it rises from 6/7 to 1: the quotient is 60/7, and 9 in the limit."""
    pieces = pieces_of.staircase([0, 1])
    claim.measured("Lipschitz constant of the pieces", pieces.hoelder(), equation="(91)").equals(1)
    points = [(x, pieces.tietze(x)) for x in (2 + flint.fmpq(k, 60) for k in range(181))]
    wrong = sum(pieces.tietze(x) != value for x, value in pieces.ends)
    claim.measured("ends at which it differs from f", wrong, equation="(91)").equals(0)
    sup, steepest = max(abs(v) for _, v in points), largest_quotient(points, 1)
    claim.measured("sup of the extension", sup, equation="(91)").equals(pieces.sup())
    claim.measured("largest quotient on a grid of 1/60", steepest, equation="(91)").equals(
        flint.fmpq(60, 7)
    )


@pytest.mark.parametrize("gap", [10, 1000, 100_000], ids="g=1/{}".format)
def test_control_without_a_gap_there_is_no_bound(gap, claim):
    """0, 0, 1 on rooms of which the first two nearly touch, the third is a distance 1 away."""
    g = flint.fmpq(1, gap)
    intervals = [(flint.fmpq(0), flint.fmpq(1)), (1 + g, 2 + g), (3 + g, 4 + g)]
    values = [(flint.fmpq(v), flint.fmpq(v)) for v in (0, 0, 1)]
    pieces = pieces_of.Pieces(intervals, values)
    ratio = pieces.permuted([0, 2, 1]).hoelder() / pieces.hoelder()
    claim.measured("C̃ / C", ratio, equation="(91), corrected").at_least(
        exactly(gap, "1/g, since C = 1 in order and 1/g after")
    )


def test_control_pieces_of_different_lengths(claim):
    """x on [0, 1] and 1 on [2, 2.001], exchanged: the rise of 1 has the length 1/1000 then."""
    zero, one, two, short = (flint.fmpq(v) / 1000 for v in (0, 1000, 2000, 1))
    intervals, values = [(zero, one), (two, two + short)], [(zero, one), (one, one)]
    pieces = pieces_of.Pieces(intervals, values)
    claim.measured("Lipschitz constant in order", pieces.hoelder(), equation="(91)").equals(1)
    bound = pieces.hoelder() * pieces.reach()
    claim.measured("C D/g", bound, equation="(91), corrected").equals(flint.fmpq(2001, 1000))
    after = pieces.permuted([1, 0]).hoelder()
    claim.measured("C̃", after, equation="(91), corrected").at_least(
        exactly(1000, "slope 1000 on the short piece")
    )
    steepest = pieces.permuted([1, 0]).slopes()[-1]
    claim.measured("steepest slope", steepest, equation="(91), corrected").equals(1000)
    claim.measured("C̃ / (C D/g)", after / bound, equation="(91), corrected").at_least(
        exactly(499, "1000/2.001 > 499")
    )
