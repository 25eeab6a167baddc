"""Proposition 6.3 of jiang2024: |rho(s)| <= e^(-s/gamma) does not give C_RNN <= gamma; gamma = 2.

C_1 = 1 + inf{beta > 0 : e^(t/beta) |rho(t)| -> 0},  C_2 = sup_t e^(t/C_1) |rho(t)|,  C_RNN = C_1 C_2.
"""

from fractions import Fraction

gamma = Fraction(2)

# rho(s) = e^(-s/2). e^(t/beta - t/2) -> 0 exactly for beta > 2.
C_1 = 1 + gamma
exponents = [t / C_1 - t / gamma for t in range(100)]  # of e^(t/C_1) rho(t)
assert max(exponents) == 0  # so C_2 = e^0 = 1
print("rho = e^(-s/2): C_RNN =", C_1, "> gamma =", gamma)
assert C_1 > gamma

# rho(T) = e^(-T/2) and 0 elsewhere. The infimum is 0: C_1 = 1, and C_2 = e^T e^(-T/2) = e^(T/2).
for T in (10, 20, 40):
    at_least = Fraction(27, 10) ** (T // 2)  # e > 2.7
    print(f"rho = e^(-T/2) at s = T = {T} alone: C_RNN >", float(at_least))
    assert at_least > 100 * gamma / 2

# Without the 1 in (76): rho(s) = e^(-T/2) e^(-(s - T)) from s = T on has C_1 = 1 and C_2 = e^(T/2).
