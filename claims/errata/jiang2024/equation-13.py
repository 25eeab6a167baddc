"""(13), proof gap."""

from fractions import Fraction as F

# rho = 0, f = 1/2, F = 0, F^ a hat of height 1, half-width 1/n at 1/2: every output is off by 1, |F - F^|_2^2 = 2/(3n)
n = 300
print("output error 1, |F - F^|_2^2 =", F(2, 3 * n))
assert F(2, 3 * n) < 1
