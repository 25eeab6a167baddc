"""Proposition B.1 (3), false, and (1), edge case."""

from fractions import Fraction as F

x = [F(1, 2), F(1)]
e1, e2 = (
    [1 / v for v in x],
    [1 / v + 8 * v for v in x],
)  # e^rho_1, e^rho_2: both unbounded on (0, 1]
f2 = [(v / (1 + 8 * v * v), 1 / (1 + 8 * v * v)) for v in x]
z = [sum(e * f[k] for e, f in zip(e2, f2)) for k in (0, 1)]
H1, H2 = sum(e * v for e, v in zip(e1, x)) / sum(e1), z[0] / z[1]
assert H1 == H2 == F(2, 3) and all(f[0] / f[1] == v for f, v in zip(f2, x))
print("H", H1, H2, "argmax", x[e1.index(max(e1))], x[e2.index(max(e2))])
# (1) without constant sequences: rooms [0,1], [2,3], rho = 0, F = 6z
f1 = lambda v: v / 3
f3 = lambda v: (v + 1) / 3 if v < 2 else (v - 1) / 3
for a in (F(0), F(1, 3)):
    for c in (F(2), F(5, 2)):
        assert 6 * (f1(a) + f1(c)) / 2 == 6 * (f3(a) + f3(c)) / 2 == a + c
assert 6 * f1(F(0)) != 6 * f3(F(0))
