"""C.2: the printed equality of the ratio of the heads is only an inequality."""

from fractions import Fraction

# The conditions on the heads, with the two displays exchanged as Theorem 5.1 and Proposition 5.5
# have them: eps = (a_1 + ... + a_M)^(n+1) / H_2^n for two layers, and
# eps^2 = (a_1^(2n+2) + ... + a_M^(2n+2)) / H_deep^(2n) for M + 1 layers.


def ratio(a, n):
    """(H_deep / H_2)^(2n)"""
    return Fraction(sum(x ** (2 * n + 2) for x in a), sum(a) ** (2 * n + 2))


def printed(b):
    return Fraction(sum(x * x for x in b), sum(b) ** 2)


for M in (2, 3, 10):
    for n in (1, 2):
        found = ratio([1] * M, n)  # all T_k equal: the common factor cancels
        print(f"M = {M}, n = {n}: the bounds give {found}, the right side is at least 1/{M}")
        assert found == Fraction(1, M ** (2 * n + 1)) < Fraction(1, M)

# The right side is at least 1/M for all positive b_k (Cauchy and Schwarz), here some of them:
for b in ([1, 1], [1, 7], [2, 3, 4], [1, 1, 1, 100]):
    assert printed(b) >= Fraction(1, len(b))
