"""Theorem 6.1, residual and D = Md, proof gap."""

from fractions import Fraction as F

x = [1, -1, 1]  # ..., x_t; rho(s) = 2^-s, one lin head with e^-p = 1/2 has it exactly
memory = sum(F(1, 2**s) * v for s, v in enumerate(reversed(x)))
block = memory + x[-1]  # (2) adds x_t to block 1 when D = Md
print("X*rho", memory, "block", block)
assert block - memory == 1
