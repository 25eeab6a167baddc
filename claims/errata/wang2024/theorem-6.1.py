"""Theorem 6.1, readout term, false: it has to grow with the kernel."""

from fractions import Fraction
from random import Random

# M = 1, f(y) = |y| = relu(y) + relu(-y), of norm at most 2, rho(s) = lam I{s = 1}: the target is
# lam |x_{t-1}|. With all other tokens 0 and m = 1 the output of a layer without dot product is
# a relu(b x_{t-1} + c), whatever its heads are: monotone in x_{t-1}. The targets at -1, 0, 1 are
# lam, 0, lam. Say it rises: then it is at most e at 0, so at most e at -1, where lam is wanted.
rng = Random(0)
for lam in (1, 1000, 10**6):
    for _ in range(500):
        a, b, c = (Fraction(rng.randint(-9, 9) * 10 ** rng.randint(0, 6)) for _ in range(3))
        errors = [abs(a * max(b * x + c, 0) - lam * abs(x)) for x in (-1, 0, 1)]
        assert max(errors) >= Fraction(lam, 2)
    print("lam =", lam, "error at least", lam / 2, "and |f|_B / sqrt(m) is at most 2")
# The number of memories is missing as well: rho_k = I{s = k} and the program of Theorem 4.1.
