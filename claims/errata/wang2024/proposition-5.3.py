"""Proposition 5.3, log case, proof gap: the heads take phi_log of log g, where g is meant."""

from fractions import Fraction
from math import factorial

below_e = sum(Fraction(1, factorial(k)) for k in range(12))  # a part of the series: less than e

# phi_log(z) = -log z for z >= 1 and -infinity below. log 1 = 0, and log 2 < 1 since 2 < e.
assert below_e > 2
print("g = 1, 2: phi_log(log g) = -infinity, since log g < 1")

# g = 3: the weight of the distance s = 3 should be (3/g)^-beta = 1. It is (3/log 3)^-beta, and
# log 3 < 3/2 since e^3 > 9.
assert below_e**3 > 9
print("g = 3, beta = 2: the weight of s = 3 is below (1/2)^2 =", Fraction(1, 4), "and should be 1")
