"""Lemma E.3: no bump reaches x = 1, where t = 0; and the bound of the derivatives lacks 2^k."""

from fractions import Fraction

q = Fraction(199, 200)  # stands for e^-alpha; what follows holds for every 0 < q < 1


def centre(T):  # mu_T
    return q**T


def half_width(T):  # sigma_T
    return (q**T - q ** (T + 1)) / 2


# The proof begins with T = 1. All bumps then end below x = 1, so Phi(0) = 0 whatever rho(0) is.
print("the last bump ends at", float(centre(1) + half_width(1)), "and t = 0 is at x = 1")
assert centre(1) + half_width(1) < 1

# Begun with T = 0 the bumps are still disjoint, and Phi(0) = rho(0).
for T in range(50):
    assert centre(T + 1) + half_width(T + 1) < centre(T) - half_width(T)

# The factor: 1 / sigma_T^k is 2^k times the printed 1 / (e^(-alpha T) - e^(-alpha (T+1)))^k.
for T in (0, 3):
    for k in (1, 2, 5):
        printed = 1 / (q**T - q ** (T + 1)) ** k
        assert 1 / half_width(T) ** k == 2**k * printed
print("1 / sigma_T^k is 2^k times what is printed")
