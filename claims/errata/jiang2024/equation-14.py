"""(14), false."""

from fractions import Fraction as F

# F = z, f = x(1-x), C_FF(f) = sup|f''|/8 = 1/4; the same H: F = z/eps, f_eps = eps x(1-x), C_FF = eps/4, C_FF(F) = 0 both times.
for eps in (F(1, 100), F(1, 10**6)):
    for x in (F(0), F(1, 3), F(1)):
        assert (eps * x * (1 - x)) / eps == x * (1 - x)
    print(
        "C_FF(F) + C_FF(f) =",
        float(eps / 4),
        "instead of 0.25; K_F C_FF(f) =",
        float(1 / eps * eps / 4),
    )
