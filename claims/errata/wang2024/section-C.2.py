"""C.2, equality of the ratios, false."""

from fractions import Fraction as F

# a_k = e^(0.01 T_k) equal, so 1 after scaling; eps = (sum a)^(n+1)/H2^n (two layers), sqrt(sum a^(2n+2))/HM^n (M + 1 layers)
for M in (2, 3, 5):
    for n in (1, 2, 4):
        ratio = F(M) / F(M) ** (2 * n + 2)  # (HM/H2)^(2n)
        assert ratio == F(1, M ** (2 * n + 1)) < F(1, M)
print("1/8 against", "at least 1/2")
for b in ([1, 1], [1, 7], [F(1, 3), 2]):  # Cauchy: sum b^2/(sum b)^2 >= 1/M for all b > 0
    assert sum(v * v for v in b) / F(sum(b)) ** 2 >= F(1, 2)
