"""Proposition 5.2, the target, proof gap."""

from fractions import Fraction as F
from random import Random

assert min(x + 1 for x in (-1, 0, 1)) == 0  # class (10) asks for g >= 1
g, rng = (
    {x: x + 2 for x in (-1, 0, 1)},
    Random(2),
)  # corrected; (B): four windows with x_t in {0, 1}, g = 2, 3
for _ in range(500):
    rho = [F(rng.randint(-9, 9), 4) for _ in range(4)]
    h = {0: F(rng.randint(-9, 9), 4), 1: F(rng.randint(-9, 9), 4)}
    errors = []
    for x0 in (0, 1):
        for v in (1, -1):
            x = [x0, 0, v, -v]
            errors.append(abs(x[g[x0]] - h[x0] - sum(r * y for r, y in zip(rho[1:], x[1:]))))
    assert max(errors) >= 1
print("without dot product the error is at least 1")
