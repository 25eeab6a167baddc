"""(16) of jiang2024: a continuous function on a compact set can have an infinite complexity."""

from fractions import Fraction

# sqrt is continuous on [0, 1] and not Lipschitz: its slope between 0 and 4^-k is 2^k.
for k in (1, 5, 20):
    x, root = Fraction(1, 4**k), Fraction(1, 2**k)
    assert root * root == x
    print(f"slope of sqrt between 0 and 4^-{k}:", root / x)

# Density is not in danger: polynomials with a finite Lipschitz constant, k/2, come within 2/k.
x, root, p = Fraction(1, 16), Fraction(1, 4), Fraction(0)
for k in range(1, 9):
    p += (x - p * p) / 2
    assert 0 <= root - p <= Fraction(2, k)
