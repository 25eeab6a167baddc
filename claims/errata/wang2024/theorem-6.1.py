"""Theorem 6.1, Step II of D.1: the memories leave the box [-2, 2], and what to use instead of a box."""

from fractions import Fraction
from itertools import product
from random import Random

# rho(s) = (2/3)^s and x = 1: the memory tends to 3. f(y) = relu(y - 2) is 0 on [-2, 2].
y = sum(Fraction(2, 3) ** s for s in range(20))
print("X * rho =", float(y), "where 1 is printed; the network 0 misses f by", float(y - 2))
assert y > Fraction(299, 100)

# Instead: for signs e_j, |x_t| <= 1 and neurons a_j relu(b_j . y + c_j) with |a_j| |b_j|_1 <= 1,
#   sup over x of |sum_j e_j a_j b_j . y|  =  sum_s |sum_j e_j a_j sum_k rho_k(s) b_jk|.
# Its mean over the signs is at most sqrt(m) sum_s max_k |rho_k(s)|, for any number M of kernels.
rng, m, M = Random(0), 6, 3
rho = [[Fraction(rng.randint(-9, 9), 10 * 2**s) for s in range(8)] for _ in range(M)]
together = sum(max(abs(r[s]) for r in rho) for s in range(8))
for _ in range(5):
    b = [[Fraction(rng.randint(-9, 9)) for _ in range(M)] for _ in range(m)]
    b = [[x / max(sum(map(abs, row)), 1) for x in row] for row in b]  # a_j = 1
    at = [[sum(r[s] * x for r, x in zip(rho, row)) for row in b] for s in range(8)]
    sups = [
        sum(abs(sum(e * v for e, v in zip(signs, row))) for row in at)
        for signs in product((1, -1), repeat=m)
    ]
    mean = Fraction(sum(sups), len(sups))
    assert mean**2 <= m * together**2
print("mean of the supremum over 64 signs: at most sqrt(m) times", float(together))
