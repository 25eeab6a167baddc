"""(38)-(39), edge case: the volume of the set that is integrated over.

tau = 1, one token x in [0, 2], F = 0 and F^ = 1/10, so that |F - F^| = 1/10 everywhere.
"""

from fractions import Fraction

error = Fraction(1, 10)
integral = 2 * error  # a constant, times the length of [0, 2]
tau = 1
print("int |F(h^) - F^(h^)| dx =", integral, "and tau |F - F^| =", tau * error)
assert integral > tau * error
