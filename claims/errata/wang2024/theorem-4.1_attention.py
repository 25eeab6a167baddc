"""Theorem 4.1, "by choosing E_Attn <= 1", proof gap: one head leaves an error of 1 per memory."""

from fractions import Fraction

# Any sequence z with |z_s| <= 1 and sum_s z_s u^s = 0 gives, for every alpha,
#     sum_s |I{s = T} - alpha u^s| >= |sum_s z_s (I{s = T} - alpha u^s)| = |z_T|.
# Take z_T = 1 and z_{T-1} = -u: the sum over z_s u^s is u^T - u u^{T-1} = 0.
for T in (1, 2, 5):
    for u in (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)):
        assert u**T - u * u ** (T - 1) == 0
        for alpha in (Fraction(0), Fraction(1), Fraction(-3), u**-T):
            error = sum(abs((s == T) - alpha * u**s) for s in range(40))  # a part of the sum
            assert error >= 1
    print("T =", T, "a head alpha u^s is at a distance of at least 1 from I{s = T}")
print("H = 1, two memories: the printed sum of errors is at least 2, so E_Attn <= 1 is impossible")
