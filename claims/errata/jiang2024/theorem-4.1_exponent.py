"""Theorem 4.1, exponent, proof gap."""

from fractions import Fraction as F

# The step (47) -> (50). Two encoded tokens, sigma = (2 log b, log b), the second dropped: the L1 error is b/(1+b) - 1/2 >= (b-1)/5,
# of the order of the dropped sigma; printed is 4 (log b)^2 <= 4 (b-1)^2, of the order of its square.
for k in range(5, 60):
    b = 1 + F(1, 2**k)
    assert b / (1 + b) - F(1, 2) >= (b - 1) / 5 > 4 * (b - 1) ** 2
print("linear in the dropped sigma, where (50) is quadratic")
