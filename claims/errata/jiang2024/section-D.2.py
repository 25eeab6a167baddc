"""D.2, two entries, one false and one a gap: pieces in another order have other constants.

Pieces that are constant on the rooms [0, 1], [2, 3], [4, 5].
"""

from fractions import Fraction
from itertools import combinations

rooms = [(0, 1), (2, 3), (4, 5)]


def lipschitz_constant(values):
    """Largest |f(x) - f(y)| / |x - y|; for constant pieces it is taken at ends."""
    ends = [(Fraction(x), value) for room, value in zip(rooms, values) for x in room]
    return max(abs(f - g) / abs(x - y) for (x, f), (y, g) in combinations(ends, 2))


for values in ([0, 1, 2], [0, 2, 1]):
    print(f"values {values}: Lipschitz constant {lipschitz_constant(values)}")
assert (lipschitz_constant([0, 1, 2]), lipschitz_constant([0, 2, 1])) == (1, 2)

# Derivatives of extensions. In order, the step 3x^2 - 2x^3 between two rooms makes a smooth
# extension. Its slope 6x - 6x^2 = 3/2 - 6 (x - 1/2)^2 is at most 3/2.
for k in range(11):
    x = Fraction(k, 10)
    assert 6 * x - 6 * x**2 == Fraction(3, 2) - 6 * (x - Fraction(1, 2)) ** 2 <= Fraction(3, 2)
# In the order 0, 2, 1 every extension has, by the mean value theorem, a slope (2 - 0) / (2 - 1).
print("largest slope of an extension: 3/2 in order, at least 2 after the permutation")
assert Fraction(2 - 0, 2 - 1) > Fraction(3, 2)
