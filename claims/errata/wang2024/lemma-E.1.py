"""Lemma E.1: the proof prints (1 - 1/e)^n where (1 - e^-alpha)^n, alpha = 0.01, is right."""

from fractions import Fraction
from math import factorial

e_from_below = sum(Fraction(1, factorial(k)) for k in range(15))
printed_from_below = 1 - 1 / e_from_below  # less than 1 - 1/e
right_from_above = Fraction(1, 100)  # more than 1 - e^-0.01, since e^-x > 1 - x

factor = printed_from_below / right_from_above
print(f"the explicit constant becomes more than {float(factor):.2f}^n times as large")
assert factor > 63
