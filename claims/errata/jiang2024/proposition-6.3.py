"""Proposition 6.3, false."""

from fractions import Fraction as F

# rho(s) = r^s, r = e^(-1/gamma): by (76) C_1 = 1 + gamma, C_2 = 1. Here in logarithms: gamma rational, rho = e^(-s/gamma).
gamma = F(2)
C1 = 1 + gamma  # inf{beta : e^(t/beta - t/gamma) -> 0} = gamma
C2_exponent = max(t / C1 - t / gamma for t in range(200))  # log C_2
assert C2_exponent == 0 and C1 > gamma
print("C_RNN(e^(-s/2)) =", C1, "> gamma =", gamma)
for T in (5, 10, 20):  # rho = e^(-T/gamma) at T, else 0: inf is 0, C_1 = 1, log C_RNN = T - T/gamma
    print("T", T, "log C_RNN =", T - T / gamma)
    assert T - T / gamma > gamma
# 2.5^(T/2) < e^(T/2): already at T = 5 C_RNN > 2.5^2.5 > 9 > gamma = 2
assert F(5, 2) ** 5 > 9**2
