"""Theorem A.3, proof gap: F_1 of (28) subtracts what u does not show.

tau = 2 and t = 1. By (27), with one inner function psi_s for each position, F reads
u_1 = 2 psi_1(x_1) + psi_2(x_2). (28) subtracts psi_1(x_1) from it, and (24) needs the sum
psi_1(x_1) + psi_2(x_2). Is either of them a function of u_1?
"""

from fractions import Fraction
from itertools import product

# 1. psi_1 = psi_2 = id: two inputs with the same u_1 and different sums.
for x_1, x_2 in ((Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(0))):
    print(f"x = ({x_1}, {x_2}): u_1 = {2 * x_1 + x_2}, psi_1(x_1) = {x_1}, sum = {x_1 + x_2}")
    assert 2 * x_1 + x_2 == 1

# 2. psi_1 = psi / 2 and psi_2 = psi, with psi(i) = 7^-i at ten points: the sums tell all 100 pairs
#    of points apart, and u_1 is the same for (a, b) and (b, a).
psi = [Fraction(1, 7**i) for i in range(10)]
pairs = list(product(range(10), repeat=2))
sums = {psi[a] / 2 + psi[b] for a, b in pairs}
u_1 = {2 * (psi[a] / 2) + psi[b] for a, b in pairs}
print(f"{len(sums)} different sums for 100 pairs, and {len(u_1)} different u_1")
assert (len(sums), len(u_1)) == (100, 55)
