"""Theorem 4.1, numbers of heads, proof gap: the shares are not whole; rounding them down works."""

from fractions import Fraction
from random import Random

# H = M = 2 and a_1 < a_2 (a_k stands for e^{0.01 T_k} or T_k^1.01): less than one head for k = 1.
a = [Fraction(101, 100), Fraction(103, 100)]
share = 2 * a[0] / sum(a)
assert share < 1
print("H = 2: the printed number of heads of the first memory is", share)

# If h >= 1 heads leave memory k at most C a_k^(n+1) / h^n, and no heads leave 1, then
# H_k = floor(H a_k / S), S = sum a_k, leave at most max(2^n C, 1) S^(n+1) / H^n in all.
rng = Random(1)
for _ in range(3000):
    M, n, H = rng.randint(1, 5), rng.randint(1, 4), rng.randint(1, 40)
    C = Fraction(rng.randint(1, 90), 10)
    a = [Fraction(rng.randint(10, 90), 10) for _ in range(M)]
    S, total = sum(a), Fraction(0)
    for cost in a:
        heads = int(H * cost / S)
        total += C * cost ** (n + 1) / Fraction(heads) ** n if heads else 1
    assert total <= max(2**n * C, 1) * S ** (n + 1) / Fraction(H) ** n
print("3000 random cases: whole numbers cost a factor of at most max(2^n C, 1) / C")
