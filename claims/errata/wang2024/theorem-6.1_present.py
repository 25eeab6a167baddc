"""Theorem 6.1 (B): O(t^-beta) says nothing at t = 0, where the readout term then has no bound."""

from fractions import Fraction
from random import Random

# rho(s) = lam I{s = 0}, f(y) = |y| = relu(y) + relu(-y), m = 1. With all other tokens 0 the output is
# a relu(b x_t + c): monotone in x_t, whatever the heads are. The targets at -1, 0, 1 are lam, 0, lam.
# Say it rises: then it is at most e at 0, so at most e at -1, where lam is wanted.
rng = Random(0)
for lam in (1, 1000, 10**6):
    for _ in range(500):
        a, b, c = (Fraction(rng.randint(-9, 9) * 10 ** rng.randint(0, 6)) for _ in range(3))
        errors = [abs(a * max(b * x + c, 0) - lam * abs(x)) for x in (-1, 0, 1)]
        assert max(errors) >= Fraction(lam, 2)
    print("lam =", lam, "error at least", lam / 2, "and |f|_B / sqrt(m) is at most 2")
