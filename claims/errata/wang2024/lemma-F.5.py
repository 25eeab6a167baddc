"""Lemma F.5: for n >= 38 there are f and m with m^n E_(m-1)(f) > M(n)."""

from fractions import Fraction
from math import comb, factorial

# The error of a polynomial from below. On [0, 1] put x = (1 + cos t) / 2. Then
#     x^N = 4^-N (C(2N, N) + 2 sum_k C(2N, N-k) cos kt).
# Take the mean over t = pi j / m, j = 0, ..., m, with signs (-1)^j and half weights at both ends.
# It has norm 1, is 0 for cos kt with k < m, and 1 for k = m, 3m, 5m, ... (0 for the others).


def error_from_below(N, m):
    """At least the distance of x^N from the polynomials of degree m - 1."""
    return Fraction(2 * sum(comb(2 * N, N - k) for k in range(m, N + 1, 2 * m)), 4**N)


n, m = 100, 65
# f = x^101 / 101!: its derivatives up to order 100 vanish at 0, and M(100) = max |f^(100)| = 1.
found = error_from_below(n + 1, m) / factorial(n + 1) * m**n
print(f"n = {n}, m = {m}: m^n E / M(n) is at least {float(found):.3f}; the lemma says at most 1")
assert found > 6

# n = 38, m = 25: let f^(38) = min(x/w, 1). Then M(38) = 1, and f is within w / 37! of x^38 / 38!.
n, m = 38, 25
found = error_from_below(n, m) / factorial(n) * m**n
print(f"n = {n}, m = {m}: at least {float(found):.4f}, up to what w costs")
w = Fraction(1, 10**100)
assert found - w / factorial(n - 1) * m**n > 1
