"""Theorem 4.1, E_Attn <= 1, proof gap."""

from fractions import Fraction as F

# one head al u^s against I(s = T), T >= 1: z_T = 1, z_(T-1) = -u is orthogonal to u^s and |z| <= 1, so the l1 error is >= z_T = 1
for T in (1, 2, 5):
    for u in (F(1, 100), F(1, 2), F(99, 100)):
        assert u**T - u * u ** (T - 1) == 0
        for al in (F(0), F(1), F(-3), u**-T):
            assert sum(abs((s == T) - al * u**s) for s in range(40)) >= 1
print("H = 1, M = 2: the printed sum of errors is at least 2")
