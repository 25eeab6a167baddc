"""Theorem 6.1, false."""

from fractions import Fraction as F
from random import Random

# m = 1, f(y) = |y| (norm <= 2), rho = lam I(s=1): target lam |x_{t-1}|. Without dot product the only neuron is a relu(b x_{t-1} + c),
# whatever H: monotone, so the largest of three errors is >= lam/2.
lam, rng, worst = F(10**6), Random(0), None
for _ in range(2000):
    a, b, c = (F(rng.randint(-9, 9) * 10 ** rng.randint(0, 6)) for _ in range(3))
    e = max(abs(a * max(b * x + c, 0) - lam * abs(x)) for x in (-1, 0, 1))
    assert e >= lam / 2
assert max(abs(lam / 2 - lam * abs(x)) for x in (-1, 0, 1)) == lam / 2  # attained by a constant
print("error >=", lam / 2, "; |f|_B / sqrt(m) <= 2")
# the dimension: rho_k = I(s = k), k = 1..M, M = 2m is the program of Theorem 4.1
