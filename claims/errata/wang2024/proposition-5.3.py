"""Proposition 5.3, log case, proof gap."""

from fractions import Fraction as F
from math import factorial

e_low = sum(F(1, factorial(k)) for k in range(12))  # < e
assert 2 < e_low  # log 2 < 1: phi_log(log g) = -inf for g = 1, 2
assert 9 < e_low**3  # log 3 < 3/2
# g = 3: the share of s = 3 is (log 3 / 3)^beta < (1/2)^beta, not 1
print("share of s = 3, beta = 2, below", F(1, 2) ** 2)
