"""D.2, Tietze, proof gap."""

from fractions import Fraction as F

# 0 at x = 0 and 1 at x = 4: C = 1/4. An extension with the same sup norm, 0 up to 3 and then linear, has C = 1; McShane's has 1/4.
grid = [F(k, 4) for k in range(17)]
same_sup = lambda x: max(F(0), x - 3)
mcshane = lambda x: min(y + F(1, 4) * abs(x - p) for p, y in ((F(0), F(0)), (F(4), F(1))))
C = lambda f: max(abs(f(x) - f(y)) / abs(x - y) for x in grid for y in grid if x != y)
assert max(map(same_sup, grid)) == max(map(mcshane, grid)) == 1 and (C(same_sup), C(mcshane)) == (
    1,
    F(1, 4),
)
print("same sup norm: C =", C(same_sup), "; McShane: C =", C(mcshane))
