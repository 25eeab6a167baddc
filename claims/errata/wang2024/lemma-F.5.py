"""Lemma F.5, false."""

from fractions import Fraction as F
from math import comb, factorial


# x^N on [0,1] = 2^(1-2N) sum_k C(2N, N-k) T*_k + const. The mean over the m+1 extrema of T*_m with alternating signs (ends halved)
# has norm 1, kills degrees < m and maps T*_k to 1 if k is an odd multiple of m, else to 0 or, for lower k, 0.
def lower(N, m):
    return F(2 * sum(comb(2 * N, N - r * m) for r in range(1, N // m + 1, 2)), 4**N)


n, m = 100, 65  # f = x^101/101!: f^(k)(0) = 0 for k <= 100, f^(100) = x, M(100) = 1
r = lower(n + 1, m) / factorial(n + 1) * m**n
print("n 100, m 65: m^n E / M >=", float(r))
assert r > 6
for n in range(
    38, 201
):  # f_w with f_w^(n) = min(x/w, 1): M(n) = 1, |f_w - x^n/n!| <= w/(n-1)!, w -> 0
    assert max(lower(n, m) * m**n / factorial(n) for m in range(n // 2, n)) > 1
print("n = 38:", float(max(lower(38, m) * m**38 / factorial(38) for m in range(1, 39))))
assert lower(38, 25) * 25**38 / factorial(38) > F(102, 100)
