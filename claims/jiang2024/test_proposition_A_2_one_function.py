"""Proposition A.2 (jiang2024, Appendix A.2): on disjoint sets one function acts as many.

If x_1, ..., x_tau live in pairwise disjoint sets I_1, ..., I_tau, then one g on their union has
g(x_s) = f_s(x_s) for all s and any prescribed f_s.

Proof. The sets are disjoint, so every x of the union lies in exactly one of them, I_s say. There
g(x) = f_s(x) is well defined, and has the values asked for.                                    QED

Checked, in rationals: g, which sees a number and not its index, against the f_s, for random
intervals and polynomials. For affine pieces g is Lipschitz; its constant is at most the larger of
the slopes and of the largest difference over the gap.

Not needed by the proposition, but by Theorem A.3: continuity of g does not follow from disjointness
(reading below), it needs the compactness that (7) has.
"""

import itertools
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from repro.bounds import theorem

lengths = st.integers(0, 8).map(lambda k: Fraction(k, 4))
gaps = st.integers(1, 16).map(lambda k: Fraction(k, 8))
polynomials = st.lists(st.integers(-3, 3), min_size=1, max_size=3)
pieces = st.lists(st.tuples(gaps, lengths, polynomials), min_size=1, max_size=5)


def rooms(pieces):
    """Intervals one after the other, each after its gap."""
    end = Fraction(0)
    for gap, length, _ in pieces:
        start = end + gap
        end = start + length
        yield start, end


def value(polynomial, x):
    return sum(c * x**k for k, c in enumerate(polynomial))


def one_function(pieces):
    """g of Proposition A.2: it is given a number, and finds the room."""
    table = list(zip(rooms(pieces), (polynomial for *_, polynomial in pieces), strict=True))

    def g(x):
        (mine,) = [polynomial for (a, b), polynomial in table if a <= x <= b]
        return value(mine, x)

    return g


def many(claim):
    return claim.at_scale(smoke=20, laptop=200, paper=5000)


@pytest.mark.exact
def test_one_function_acts_as_each_of_them(claim):
    def wrong(case):
        pieces, where = case
        g = one_function(pieces)
        inside = [a + where * (b - a) for a, b in rooms(pieces)]
        stated = [value(p, x) for (*_, p), x in zip(pieces, inside, strict=True)]
        return sum(g(x) != y for x, y in zip(inside, stated, strict=True))

    within = st.integers(0, 7).map(lambda k: Fraction(k, 7))
    cases = st.tuples(pieces, within)
    claim.for_all("values that differ", cases, wrong, equation="(23)", examples=many(claim))


@pytest.mark.exact
def test_compact_rooms_make_it_continuous(claim):
    """Affine pieces: |g(x) - g(y)| <= L |x - y| with L from slopes, differences and gaps."""

    def above(pieces):
        pieces = [(gap, length, polynomial[:2]) for gap, length, polynomial in pieces]
        g, ends = one_function(pieces), [x for room in rooms(pieces) for x in room]
        slopes = [abs(p[1]) for *_, p in pieces if len(p) == 2]
        values = [g(x) for x in ends]
        jumps = [(max(values) - min(values)) / gap for gap, *_ in pieces[1:]]
        L = max([*slopes, *jumps, 0])
        pairs = itertools.combinations(dict(zip(ends, values, strict=True)).items(), 2)
        return sum(abs(b - d) > L * abs(a - c) for (a, b), (c, d) in pairs)

    claim.for_all("pairs that are too steep", pieces, above, equation="(23)", examples=many(claim))


def jump(distance):
    """|g(1) - g(1 - distance)| for f_1 = 0 on [0, 1), f_2 = 1 on [1, 2]; 1/2 is allowed near 1."""
    from fractions import Fraction

    def g(x):
        return 0 if x < 1 else 1

    return abs(g(1) - g(1 - Fraction(distance))), Fraction(1, 2)


def test_reading_disjoint_rooms_are_not_enough_for_a_continuous_function(claim):
    """[0, 1) and [1, 2] are disjoint; f_1 = 0, f_2 = 1: the only g jumps at 1."""
    distance = "1/1000000000"
    left, right = jump(distance)
    claim.counterexample(
        "the pointwise function is continuous whenever the sets are disjoint",
        input={"I_1": "[0, 1)", "I_2": "[1, 2]", "f_1": 0, "f_2": 1},
        measured=left, expected=right, relation="<=", equation="Proposition A.2",
        printed=False, program=jump, distance=distance,
    )  # fmt: skip
    apart = one_function([(Fraction(1), Fraction(1), [0]), (Fraction(1, 8), Fraction(1), [1])])
    steepest = abs(apart(Fraction(17, 8)) - apart(Fraction(2))) / Fraction(1, 8)
    claim.measured("steepness with a gap", steepest, equation="(23)", gap="1/8").equals(8)


def test_control_rooms_that_share_a_point(claim):
    """I_1 = [0, 1], I_2 = [1, 2], f_1 = 0, f_2 = x: g(1) = 1/2 is least wrong, and wrong by 1/2."""
    touching = [(Fraction(0), Fraction(1), [0]), (Fraction(0), Fraction(1), [0, 1])]
    (_, end), (start, _) = rooms(touching)
    claim.measured("the common point", end, equation="(23)").equals(start)
    asked = [value(polynomial, end) for *_, polynomial in touching]
    least = Fraction(max(asked) - min(asked), 2)
    claim.measured("least error of any g", least, equation="(23)").at_least(
        theorem(Fraction(1, 2), "half of |f_1 − f_2| at the common point")
    )
