"""Theorem A.3, proof gap."""

from fractions import Fraction as F
from itertools import product

# (27) at t = 1, tau = 2: u_1 = 2 psi_1(x_1) + psi_2(x_2). (28) must find psi_1(x_1) in u_1.
x, y = (F(0), F(1)), (F(1, 2), F(0))  # psi = id
assert 2 * x[0] + x[1] == 2 * y[0] + y[1] and sum(x) != sum(y)
print("u_1 equal, sums", sum(x), sum(y))
# with inner functions that do separate: psi_1 = psi/2, psi_2 = psi for any injective psi, e.g. values 7^-i on ten points
psi = [F(1, 7**i) for i in range(10)]
sums = [psi[a] / 2 + psi[b] for a, b in product(range(10), repeat=2)]
assert len(set(sums)) == 100  # psi_1(x_1) + psi_2(x_2) tells (x_1, x_2)
assert all(
    2 * psi[a] / 2 + psi[b] == 2 * psi[b] / 2 + psi[a] for a, b in product(range(10), repeat=2)
)
print("u_1 is symmetric in (a, b), though the sums of (24) separate all pairs")
