"""Lemma E.1, explicit constant, proof gap."""

from fractions import Fraction as F
from math import factorial

e_low = sum(F(1, factorial(k)) for k in range(15))  # < e
lost = 1 - 1 / e_low  # < 1 - 1/e, what is printed
true = F(1, 100)  # > 1 - e^-0.01, since e^-x > 1 - x
print("factor for each n: more than", float(lost / true))
assert lost / true > 63
