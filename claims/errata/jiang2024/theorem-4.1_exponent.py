"""Theorem 4.1 of jiang2024, proof: (52) does not bound the L1 error of the truncation.

Two encoded tokens, f = 0 on I_1 and 1 on I_2, F = id, alpha = 2, and for a number m
    rho(u, v) = 1/100 sum_{i <= m+1} i^-2 phi_i(u) psi_i(v)   for u in I_1, v in I_2, else 0,
with phi_i = psi_i = sqrt2 cos(pi i z), z being the place in the room. So C_1 = 1/100, K_F = 1 and
C_0 = 2 sqrt2. With m_h = m terms and everything else exact, only the last wave is missing.
"""

from fractions import Fraction

c = Fraction(1, 100)

# H_1 = l(rho(x_1, x_2)), l logistic. Both logits are smaller than c * 2 * sum i^-2 < c * 2 * 5/3, and
# l' = l (1 - l) >= 1/4 - (rho / 4)^2 there.
largest = c * 2 * Fraction(5, 3)
slope = Fraction(1, 4) - (largest / 4) ** 2

# E |phi_i(x_1) psi_i(x_2)| = 2 (E |cos|)^2 = 2 (2 / pi)^2, with pi < 22/7.
mean = 2 * (2 / Fraction(22, 7)) ** 2


def error_of_the_truncation(m):
    """At least: slope times the mean of the missing wave. H_2 = 1/2 has no error."""
    return slope * c / (m + 1) ** 2 * mean


def right_side(m):
    """tau^2 C_0 C_1 / m^(2 alpha - 1), with m_FF -> infinity; sqrt2 < 1.4143."""
    return 4 * 2 * Fraction(14143, 10000) * c / m**3


for m in (64, 128, 1024):
    error, allowed = error_of_the_truncation(m), right_side(m)
    print(f"m_h = {m}: L1 error > {float(error):.2e}, (52) allows {float(allowed):.2e}")
    assert error > allowed
