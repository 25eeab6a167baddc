"""(48)-(51), three entries, false."""

from fractions import Fraction as F

# two encoded tokens, f = 0 on I_1, 1 on I_2; H_2 = b/(1+b) when row 2 has the logits (0, log b)
b = F(33, 32)  # sigma = (2 log b, log b), m_h = 1 drops log b
assert (
    abs(b / (1 + b) - F(1, 2)) > 4 * (b - 1) ** 2
)  # 1/130 against tau^2 (log b)^2 < 4 (b-1)^2 = 1/256
print("tail:", b / (1 + b) - F(1, 2), "> printed", 4 * (b - 1) ** 2)
n = 100  # sigma_1 = 100 log 3, psi^ - psi = 1/100 on I_2, phi = 1 on I_2
print("sigma:", F(3, 4) - F(1, 2), "> printed", F(4, n))
assert F(1, 4) > F(4, n)
K, n = 100, 1000  # rho = 0, F = K z, f^ = f + 1/n
print("K_F:", 2 * K * F(1, n), "> printed", F(4, n))
assert 2 * K * F(1, n) > F(4, n)
