"""Theorem 4.1, head numbers, proof gap."""

from fractions import Fraction as F

# a_1 < a_2, H = M = 2: the first share is below one head
a = [F(101, 100), F(103, 100)]
share = 2 * a[0] / sum(a)
print("share", share)
assert share < 1
# rounding down: if C a^(n+1)/h^n bounds the error of h >= 1 heads and 1 that of none, sum e <= max(2^n C, 1) (sum a)^(n+1)/H^n
from random import Random

rng = Random(1)
for _ in range(3000):
    M, n, H, C = rng.randint(1, 5), rng.randint(1, 4), rng.randint(1, 40), F(rng.randint(1, 90), 10)
    a = [F(rng.randint(10, 90), 10) for _ in range(M)]
    S = sum(a)
    e = [(C * x ** (n + 1) / F(h) ** n if (h := int(H * x / S)) else F(1)) for x in a]
    assert sum(e) <= max(2**n * C, 1) * S ** (n + 1) / F(H) ** n
