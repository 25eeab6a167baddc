"""(52), false: the tail of the squares has C_1 squared.

sigma_i = 6/i for i <= 1000, so C_1 = 6 for alpha = 1. phi_i = psi_i = sqrt 2 sin(2 pi i x),
K_F = sup|f| = 1, so C_0 = max(sqrt 2 + sqrt 2, 1) = sqrt 8. m_h = 1, and the networks are exact
(m_FF to infinity). Everything is divided by tau^2.
"""

from fractions import Fraction

tail = sum(Fraction(6, i) ** 2 for i in range(2, 1001))  # (50)
C_0 = Fraction(17, 6)
assert C_0**2 > 8  # 17/6 is a little more than sqrt 8
printed = C_0 * 6 / 1 ** (2 * 1 - 1)  # (52), first term
print(f"(50) is {float(tail):.3f}, (52) is less than {printed}")
assert tail > printed
