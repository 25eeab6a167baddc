"""D.2, two entries, false."""

from fractions import Fraction as F
from itertools import combinations

rooms = [(0, 1), (2, 3), (4, 5)]


def C(values):
    ends = [(F(x), v) for room, v in zip(rooms, values) for x in room]
    return max(abs(v - w) / abs(x - y) for (x, v), (y, w) in combinations(ends, 2) if x != y)


print("Lipschitz constant", C([0, 1, 2]), "->", C([0, 2, 1]))
assert (C([0, 1, 2]), C([0, 2, 1])) == (1, 2)
# derivatives: 3x^2 - 2x^3 between rooms extends 0, 1, 2 with sup|Phi'| = 3/2 (6x - 6x^2 = 3/2 - 6(x - 1/2)^2);
# every extension of 0, 2, 1 has sup|Phi'| >= 2 (mean value theorem between 1 and 2)
assert 6 * F(1, 2) - 6 * F(1, 4) == F(3, 2) < 2
