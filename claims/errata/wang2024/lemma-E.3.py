"""Lemma E.3, Phi(0), and the factor 2^k, proof gaps."""

from fractions import Fraction as F

q = F(199, 200)  # e^-alpha up to rounding; any 0 < q < 1
mu, sigma = (lambda T: q**T), (lambda T: (q**T - q ** (T + 1)) / 2)
assert mu(1) + sigma(1) < 1  # sum from T = 1: no bump reaches x = 1, so Phi(0) = 0 for every rho
assert all(
    mu(T + 1) + sigma(T + 1) < mu(T) - sigma(T) for T in range(50)
)  # from T = 0 the bumps are still disjoint
for T in (0, 3):
    for k in (1, 2, 5):
        assert 1 / sigma(T) ** k == 2**k / (q**T - q ** (T + 1)) ** k
print("rho = I(t = 0): Phi(0) = 0, error 1; 1/sigma^k has 2^k")
