"""Proposition 5.2, the target, proof gap: g = x + 1 is not in class (10); g = x + 2 is, and works."""

from fractions import Fraction
from random import Random

tokens = (-1, 0, 1)
assert min(x + 1 for x in tokens) == 0  # class (10) asks for g >= 1
g = {x: x + 2 for x in tokens}
assert min(g.values()) == 1

# (B). Attention without dot product is h(x_t) + sum_s rho_s x_{t-s}. Four windows, with x_t = 0 or
# 1, so that x_{t-2} or x_{t-3} is asked for, and (x_{t-2}, x_{t-3}) = (1, -1) or (-1, 1).
rng = Random(2)
for _ in range(500):
    rho = [Fraction(rng.randint(-9, 9), 4) for _ in range(4)]
    h = {x: Fraction(rng.randint(-9, 9), 4) for x in tokens}
    errors = []
    for present in (0, 1):
        for v in (1, -1):
            x = [present, 0, v, -v]  # x_t, x_{t-1}, x_{t-2}, x_{t-3}
            output = h[present] + sum(rho[s] * x[s] for s in (1, 2, 3))
            errors.append(abs(x[g[present]] - output))
    # With the weights 1, -1, -1, 1 the outputs cancel and the targets add up to 4.
    assert max(errors) >= 1
print("g = x + 1 has the value 0. With g = x + 2 every output errs by at least 1 (2/3 is printed)")
